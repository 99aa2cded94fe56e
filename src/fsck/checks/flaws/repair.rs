//! Repairs of fields that an agent can't read or can't send.

use crate::format::flaws::{Cure, flaws};
use crate::fsck::checks::check_of;
use crate::fsck::repair::Round;
use crate::fsck::repair::draft::Draft;
use crate::fsck::table::Check;
use crate::json::member_at;
use crate::model::Ix;
use std::io;

impl Round<'_> {
    /// Repairs the findings of one check in an entry.
    pub(crate) fn flaws(&self, draft: &mut Draft<'_>, ix: Ix, check: Check) -> io::Result<()> {
        if draft.is_gone(ix) {
            return Ok(());
        }
        let of_check = |line: &[u8]| {
            let found = flaws(self.session.format, line).into_iter();
            found.filter(|flaw| check_of(flaw.kind) == check).collect::<Vec<_>>()
        };
        /// Each repair changes the line on which the next one is based; few lines have more than
        /// one flaw.
        const MOST: usize = 16;
        for _ in 0..MOST {
            let line = draft.bytes(ix)?;
            let Some(flaw) = of_check(&line).into_iter().next() else { return Ok(()) };
            match flaw.cure {
                Cure::SetAside => return self.remove_entry(draft, ix, check),
                Cure::Set(path, new) => draft.set(ix, path, &new, check)?,
                Cure::TakeOut(path, gone) if gone.contains(&false) || says_more(&line, path) => {
                    draft.take_items_out(ix, path, &gone, check)?;
                }
                Cure::TakeOut(..) => return self.remove_entry(draft, ix, check),
            }
        }
        Ok(())
    }
}

/// Returns whether a message contains more than its calls, if these have a list of their own.
fn says_more(line: &[u8], path: &[&str]) -> bool {
    let content = member_at(line, &["message", "content"]);
    path == ["message", "tool_calls"] && !matches!(content, None | Some(b"null" | b"\"\"" | b"[]"))
}
