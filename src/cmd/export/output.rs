//! The file that an export is written to.

use crate::cmd::shared::write::{self, Allowed, WriteArgs};
use crate::model::{Piece, Plan, Target};
use crate::store::oplog::Log;
use crate::store::write::{Allow, Group};
use crate::store::{NewFile, Opened};
use crate::ui::Ui;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is complete, or is not there at all.
pub(super) enum Output {
    New(NewFile),
    /// A file that exists: it is backed up and replaced, and `undo` restores it.
    Replaced {
        path: PathBuf,
        bytes: Vec<u8>,
    },
}

impl Output {
    pub(super) fn create(path: &Path) -> anyhow::Result<Output> {
        Ok(match path.symlink_metadata() {
            Ok(_) => Output::Replaced { path: path.to_owned(), bytes: Vec::new() },
            Err(_) => Output::New(NewFile::create(path)?),
        })
    }

    /// Gives the file its name. `opened` is the session that was exported; `group` the operation that
    /// this is a part of, if there are several files.
    pub(super) fn finish(self, opened: &Opened, group: Option<&Group>, ui: &mut Ui) -> anyhow::Result<()> {
        let (path, bytes) = match self {
            Output::New(file) => return Ok(file.finish()?),
            Output::Replaced { path, bytes } => (path, bytes),
        };
        let target = Target::Create { path: Some(path), pieces: vec![Piece::New(bytes)] };
        let plan = Plan { verb: "export".into(), targets: vec![target], ..Plan::default() };
        // Without a folder for backups, the old file is kept beside the new one.
        let writing = WriteArgs {
            dry_run: false,
            force: Log::of_user().is_none(),
            allow: Allowed(Allow { overwrite: true, ..Allow::default() }),
            wait: 0.0,
        };
        write::finish_in(group, writing, &opened.files, opened.session.format, &plan, None, true, ui)?;
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        match self {
            Output::New(file) => file.write(part),
            Output::Replaced { bytes, .. } => bytes.write(part),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::New(file) => file.flush(),
            Output::Replaced { .. } => Ok(()),
        }
    }
}
