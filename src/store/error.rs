//! Errors about files.

use super::locate::SHORTEST_ID;
use crate::format::Program;
use std::io;
use std::path::{Path, PathBuf};

/// Errors about files.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such file.
    #[error("{}: no such file", path.display())]
    NotFound {
        /// The path.
        path: PathBuf,
    },
    /// A folder was given instead of a file.
    #[error("{}: is a folder", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The file contains only blank lines.
    #[error("{}", match path.as_os_str() == "-" {
        true => "standard input is empty".to_owned(),
        false => format!("{}: the file is empty", path.display()),
    })]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The format of the file is unknown.
    #[error("{}: not a session of a known format", if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() })]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The program whose session it seems to be, if any.
        program: Option<Program>,
    },
    /// A folder could not be listed to its end, but can be opened.
    #[error("{}: the folder could not be listed; sessions in it may be missing", path.display())]
    Unlisted {
        /// The folder.
        path: PathBuf,
    },
    /// A folder contains no sessions.
    #[error("{}: no sessions in this folder", path.display())]
    NoneInFolder {
        /// The folder.
        path: PathBuf,
    },
    /// No session has this id or name.
    #[error("no session is named `{word}`")]
    NoSession {
        /// The argument.
        word: String,
    },
    /// The session's own file is gone, but something is left of it.
    #[error("{}", left.sentence())]
    Lost {
        /// What is left.
        left: super::remains::Remains,
    },
    /// Several sessions match.
    #[error("`{word}` could be {}", crate::model::Count("session", "sessions", candidates.len()))]
    SeveralSessions {
        /// The argument.
        word: String,
        /// The matching files.
        candidates: Vec<PathBuf>,
    },
    /// The system reported an error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl Error {
    /// Returns whether it means that a file is not a session, and not that it could not be read.
    pub fn is_no_session(&self) -> bool {
        self.not_a_session().is_some()
    }

    /// Returns the file, if the error means that it is not a session.
    pub fn not_a_session(&self) -> Option<&Path> {
        match self {
            Error::UnknownFormat { path, .. } | Error::Empty { path } => Some(path),
            _ => None,
        }
    }

    /// Returns what the user can do, if anything.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::NotFound { .. } => "`bough sessions` lists the sessions of this folder".into(),
            Error::IsFolder { .. } => "name one of the session files in it".into(),
            Error::Empty { path } if path.as_os_str() == "-" => return None,
            Error::Empty { path } => {
                let path = path.display().to_string();
                let word = shlex::try_quote(&path).unwrap_or((&*path).into());
                format!("`bough fsck {word}` shows what is left of it")
            }
            Error::UnknownFormat { program: Some(program), .. } => format!(
                "this looks like a session of {}, which bough does not read; see `bough help formats`",
                program.name()
            ),
            Error::UnknownFormat { .. } => {
                "see `bough help formats` for the known formats; `--input-format` forces one".into()
            }
            Error::NoneInFolder { .. } => "`bough sessions --all` lists the sessions of this machine".into(),
            Error::NoSession { word } if word.len() < SHORTEST_ID && word.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                "four characters or more of an id name a session; `bough sessions --all` lists those of this machine".into()
            }
            Error::NoSession { .. } => "`bough sessions --all` lists the sessions of this machine".into(),
            Error::Lost { left } => match &left.left {
                super::remains::Left::Agents(_, first) => {
                    let path = first.display().to_string();
                    let word = shlex::try_quote(&path).unwrap_or((&*path).into()).into_owned();
                    format!(
                        "`bough log {word}` shows it, and `bough export-branch --store {word}` makes it a \
                         session"
                    )
                }
                super::remains::Left::Copy(path) => {
                    let path = path.display().to_string();
                    let word = shlex::try_quote(&path).unwrap_or((&*path).into()).into_owned();
                    format!("`bough log {word}` shows what is in it")
                }
            },
            Error::SeveralSessions { candidates, .. } => one_of(candidates, &|_| None),
            Error::Io { source, .. } if super::archive::is_damage(source) => {
                "`bough archive --verify` lists what is damaged in the archive; `-o FOLDER` names another archive".into()
            }
            Error::Io { .. } | Error::Unlisted { .. } => return None,
        })
    }
}

/// Says which files an argument could mean. `told` gives the words that tell one from the others, if there are any.
pub fn one_of(candidates: &[PathBuf], told: &dyn Fn(&Path) -> Option<String>) -> String {
    let row = |path: &PathBuf| {
        let said = match super::continued::is_stub(path) {
            true => Some("no messages".to_owned()),
            false => told(path),
        };
        format!("{}{}", path.display(), said.map_or_else(String::new, |said| format!(" ({said})")))
    };
    let mut shown: Vec<String> = candidates.iter().take(8).map(row).collect();
    if candidates.len() > shown.len() {
        shown.push(format!("… {} more", candidates.len() - shown.len()));
    }
    format!("it could be one of\n  {}", shown.join("\n  "))
}
