//! The check that a rewritten session has no errors that the old one did not have.

use crate::cmd::Failure;
use crate::format::Format;
use crate::fsck::{self, CHECKS, Findings, Level};
use crate::model::{Count, Piece, Planned, Source};
use crate::store::Opened;
use std::path::Path;

/// Fails if `fsck` finds errors in planned content that it does not find in the session.
///
/// `path` is the file that gets the content: Claude Code takes the id of a session from its name.
pub(crate) fn no_new_errors(opened: &Opened, pieces: &[Piece], path: &Path) -> anyhow::Result<()> {
    let format = opened.session.format;
    let stem = |path: &Path| match format {
        Format::Claude => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        _ => String::new(),
    };
    let planned = Planned::new(&opened.files, pieces);
    let after = findings(&planned, planned.bytes_in_all(), format, &stem(path))?;
    let len = opened.session.files.first().map_or(0, |file| file.bytes);
    let before = findings(&opened.files, len, format, &stem(opened.files.path(0)))?;
    for row in CHECKS.iter().filter(|row| row.level == Level::Error) {
        let (had, has) = (before.count(row.check), after.count(row.check));
        if has > had {
            let new = Count("error", "errors", usize::try_from(has - had).unwrap_or(usize::MAX));
            return Err(Failure::Unproven(format!("the result would have {new} of `{}`", row.id)).into());
        }
    }
    Ok(())
}

fn findings(source: &dyn Source, len: u64, format: Format, stem: &str) -> anyhow::Result<Findings> {
    match fsck::examine(None, source, len, Some(format), &fsck::NoSurroundings(stem)) {
        Ok(examined) => Ok(examined.findings),
        Err(fsck::Unreadable::Io(error)) => Err(error.into()),
        Err(fsck::Unreadable::Unknown | fsck::Unreadable::Foreign(_)) => {
            Err(Failure::Unproven("the result would not be a session".into()).into())
        }
    }
}
