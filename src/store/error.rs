use std::io;
use std::path::PathBuf;

/// What can go wrong with files.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such file.
    #[error("{}: no such file", path.display())]
    NotFound {
        /// What was looked for.
        path: PathBuf,
    },
    /// A folder stands where a file is wanted.
    #[error("{}: is a folder", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The file has nothing but blank lines.
    #[error("{}: the file is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is of no format that is known.
    #[error("{}: no session that is known", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// What the user can do, if anything.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::NotFound { .. } => "`bough sessions` lists the sessions of this folder".into(),
            Error::IsFolder { .. } => "name one of the session files in it".into(),
            Error::Empty { path } => format!("`bough fsck {}` says what is left of it", path.display()),
            Error::UnknownFormat { .. } => "`--input-format` forces a format".into(),
            Error::Io { .. } => return None,
        })
    }
}
