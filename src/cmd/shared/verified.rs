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
    no_new_errors_of(&[opened], &Planned::new(&opened.files, pieces), path)
}

/// Does the same for content that is made of several sessions, which may have had each error.
pub(crate) fn no_new_errors_of(sides: &[&Opened], planned: &Planned<'_>, path: &Path) -> anyhow::Result<()> {
    let Some(format) = sides.first().map(|side| side.session.format) else { return Ok(()) };
    let stem = |path: &Path| match format {
        Format::Claude => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        _ => String::new(),
    };
    let after = findings(planned, planned.bytes_in_all(), format, &stem(path))?;
    let mut before = Vec::new();
    for side in sides {
        let len = side.session.files.first().map_or(0, |file| file.bytes);
        before.push(findings(&side.files, len, format, &stem(side.files.path(0)))?);
    }
    for row in CHECKS.iter().filter(|row| row.level == Level::Error) {
        let had: u64 = before.iter().map(|findings| findings.count(row.check)).sum();
        let has = after.count(row.check);
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
