//! Preparing a new file.

use super::{Action, Ready, open, replace};
use crate::store::oplog::{State, Step, StepKind};
use crate::store::write::folders::{Folders, first_folder};
use crate::store::write::guard::Guard;
use crate::store::write::sink::{Fill, Sink};
use crate::store::write::stamp::{self, Stamp};
use crate::store::write::temp::Temp;
use crate::store::write::{Record, Refusal, WriteOptions, sys, unix};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Checks whether a new file may be created; returns the one that it would overwrite.
pub(in crate::store::write) fn check_create(
    path: &Path,
    options: &WriteOptions<'_>,
) -> Result<Option<File>, Refusal> {
    let io = |source| Refusal::io(path, source);
    match fs::metadata(path) {
        Ok(facts) if !facts.is_file() && options.allows().overwrite => {
            return Err(Refusal::NotAFile { path: path.to_owned() });
        }
        Ok(_) if !options.allows().overwrite => return Err(Refusal::Exists { path: path.to_owned() }),
        Ok(_) => return open(path).map(Some).map_err(io),
        Err(_) => {}
    }
    if options.dry_run && !unix::may_write(first_folder(path)) {
        return Err(io(io::ErrorKind::PermissionDenied.into()));
    }
    Ok(None)
}

/// Prepares a new file. It is complete before it gets its name.
pub(crate) fn create(
    path: &Path,
    mode: u32,
    time: Option<i64>,
    fill: &mut Fill<'_>,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Ready, Refusal> {
    let io = |source| Refusal::io(path, source);
    if let Some(file) = check_create(path, options)? {
        let stamp = Stamp::take(&file).map_err(io)?;
        drop(file);
        let guard = Guard::take(path, false, options.force)?;
        crate::store::write::checks::look_for_handles(&guard, options)?;
        return replace(&guard, &stamp, fill, time, options, record);
    }
    // Declared before the file, so that a failure removes the folders after the file.
    let place = Place::make(path, record)?;
    let filled = Filled::new(path, mode, time, fill)?;
    created(place, filled, options, record)
}

/// Where a new file will be: its folder is there.
pub(in crate::store::write) struct Place {
    path: PathBuf,
    folders: Folders,
}

impl Place {
    /// Makes the folder of a path that is free.
    pub(in crate::store::write) fn make(path: &Path, record: &mut Record<'_>) -> Result<Place, Refusal> {
        let folders = Folders::make(sys::folder_of(path)).map_err(|source| Refusal::io(path, source))?;
        record.note_folder(sys::folder_of(path));
        Ok(Place { path: path.to_owned(), folders })
    }

    /// Returns the folders that were made, the outermost first.
    pub(in crate::store::write) fn made(&self) -> &[PathBuf] {
        &self.folders.made
    }
}

/// A new file that has its content and a temporary name.
pub(in crate::store::write) struct Filled {
    temp: Temp,
    sha256: String,
}

impl Filled {
    /// Writes a file beside a path, in a folder that is there.
    pub(in crate::store::write) fn new(
        path: &Path,
        mode: u32,
        time: Option<i64>,
        fill: &mut Fill<'_>,
    ) -> Result<Filled, Refusal> {
        let io = |source| Refusal::io(path, source);
        let temp = Temp::new(path, 0o600).map_err(io)?;
        let file = temp.file().map_err(io)?;
        let mut sink = Sink::to_file(file);
        fill(&mut sink).map_err(io)?;
        let sha256 = sink.finish().map_err(io)?;
        if mode & 0o777 != 0o600 {
            sys::set_mode(file, mode & 0o777).map_err(io)?;
        }
        if let Some(time) = time {
            stamp::restore_time(file, time).map_err(io)?;
        }
        sys::begin_writeback(file);
        Ok(Filled { temp, sha256 })
    }
}

/// Prepares the step in which a new file gets its name.
pub(in crate::store::write) fn created(
    place: Place,
    filled: Filled,
    options: &WriteOptions<'_>,
    record: &mut Record<'_>,
) -> Result<Ready, Refusal> {
    // The folders are removed after the file if this fails.
    let Place { path, folders } = place;
    let Filled { temp: mut new, sha256 } = filled;
    let io = |source| Refusal::io(&path, source);
    let file = new.file().map_err(io)?;
    record.sync(file).map_err(io)?;
    if let Some(Err(why)) = options.prove.map(|prove| prove(new.path())) {
        return Err(Refusal::Unproved { path, why });
    }
    let real = match fs::canonicalize(sys::folder_of(&path)) {
        Ok(folder) => folder.join(path.file_name().unwrap_or_default()),
        Err(_) => path.clone(),
    };
    let after = State { sha256: Some(sha256), ..State::read(file).map_err(io)? };
    new.is_written();
    let step = Step {
        after: Some(after),
        folders: folders.made.clone(),
        temp: Some(new.path().to_owned()),
        ..Step::new(&real, StepKind::Create)
    };
    Ok(Ready { step, action: Action::Create { new, folders } })
}
