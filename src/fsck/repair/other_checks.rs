//! Repairs of all checks except links and tool calls.

mod header;
mod ids;
mod kept;

use super::draft::{Draft, json};
use super::{RepairOptions, Round};
use crate::format::claude::write;
use crate::format::{Format, Ids, image};
use crate::fsck::checks::{own_session, tip};
use crate::fsck::examine::{Examined, ProvedHead};
use crate::fsck::finding::Finding;
use crate::fsck::table::Check;
use crate::json::{each_item, member_at, place_in, set_field};
use crate::model::{Flags, Ix, Time};
use kept::Lines;
use std::io;

impl Round<'_> {
    /// Drafts the repairs of all findings that should be repaired.
    pub(in crate::fsck) fn all(
        &self,
        draft: &mut Draft<'_>,
        findings: &[Finding],
        options: &RepairOptions,
        ids: &mut Ids,
    ) -> io::Result<()> {
        let wanted: Vec<&Finding> = findings.iter().filter(|finding| options.wants(finding)).collect();
        self.headers(draft, &wanted, ids)?;
        self.missing_ids(draft, &wanted, ids)?;
        self.repeated_ids(draft, &wanted, ids)?;
        self.links(draft, findings, options)?;
        self.tools(draft, &wanted, options, ids)?;
        let mut lines = Lines::default();
        for finding in wanted {
            match (finding.check, finding.entry) {
                (Check::DanglingLeaf, Some(ix)) => self.remove_entry(draft, ix, finding.check)?,
                (Check::MissingKept, Some(ix)) => self.kept(draft, ix)?,
                (Check::DanglingKept | Check::KeptOffPath, Some(ix)) => {
                    self.first_kept(draft, finding, ix, &mut lines)?
                }
                (Check::ObjectContent, Some(ix)) => {
                    let line = draft.bytes(ix)?;
                    if let Some(content) =
                        member_at(&line, &["message", "content"]).filter(|c| c.starts_with(b"{"))
                    {
                        let list = [b"[", content, b"]"].concat();
                        draft.set(ix, &["message", "content"], &list, finding.check)?;
                    }
                }
                (Check::EmptyContent, Some(ix)) => {
                    draft.set(ix, &["message", "content"], b"\"(empty)\"", finding.check)?;
                }
                (Check::EmptyTextBlock, Some(ix)) => self.empty_text(draft, ix)?,
                (Check::OversizeImage, Some(ix)) => self.image(draft, ix)?,
                (Check::BrokenPair, Some(ix)) => self.remove_entry(draft, ix, finding.check)?,
                (
                    Check::NoMessage
                    | Check::UnreadableField
                    | Check::UnsendableContent
                    | Check::UnsentRole
                    | Check::NamelessCall
                    | Check::MissingUsage,
                    Some(ix),
                ) => self.flaws(draft, ix, finding.check)?,
                (Check::SidechainTrunk, Some(ix)) => self.no_sidechain(draft, ix)?,
                (Check::PointerToSidechain | Check::ExplicitNullPointer | Check::StalePointer, _) => {
                    self.append_pointer(draft, finding.check)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes an entry, and makes its children those of its parent.
    pub(in crate::fsck) fn remove_entry(
        &self,
        draft: &mut Draft<'_>,
        ix: Ix,
        check: Check,
    ) -> io::Result<()> {
        if draft.is_gone(ix) {
            return Ok(());
        }
        let names = self.session.format.names();
        let line = draft.bytes(ix)?;
        let parent = member_at(&line, &[names.parent]).unwrap_or(b"null").to_vec();
        let children: Vec<Ix> = self.session.tree.children(ix).collect();
        for child in children {
            draft.set(child, &[names.parent], &parent, check)?;
        }
        draft.set_aside(ix, check)
    }

    /// Removes empty text blocks; the only block of a message gets a text instead.
    fn empty_text(&self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<()> {
        let line = draft.bytes(ix)?;
        let Some(content) = member_at(&line, &["message", "content"]) else { return Ok(()) };
        let is_empty = |block: &&[u8]| {
            member_at(block, &["type"]) == Some(b"\"text\"") && member_at(block, &["text"]) == Some(b"\"\"")
        };
        let blocks: Vec<&[u8]> = each_item(content).collect();
        let left: Vec<&[u8]> = blocks.iter().copied().filter(|block| !is_empty(block)).collect();
        if left.len() == blocks.len() {
            return Ok(());
        }
        let only;
        let left = match (&left[..], blocks.first()) {
            ([], Some(first)) => {
                only = set_field(first, &["text"], b"\"(empty)\"").unwrap_or_default();
                vec![&only[..]]
            }
            _ => left,
        };
        let list = [b"[", &left.join(&b","[..])[..], b"]"].concat();
        draft.set(ix, &["message", "content"], &list, Check::EmptyTextBlock)
    }

    /// Replaces each image that is too large with a note.
    fn image(&self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<()> {
        let line = draft.bytes(ix)?;
        let Some(content) = member_at(&line, &["message", "content"]) else { return Ok(()) };
        let new = without_wide_images(content);
        draft.set(ix, &["message", "content"], &new, Check::OversizeImage)
    }

    /// Removes the sidechain mark of an entry and its descendants, except those of subagents.
    fn no_sidechain(&self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<()> {
        for ix in self.session.tree.subtree(ix) {
            let line = draft.bytes(ix)?;
            if self.session.entries.flags(ix).has(Flags::SIDECHAIN)
                && member_at(&line, &["isSidechain"]) == Some(b"true")
                && member_at(&line, &["agentId"]).is_none()
            {
                draft.set(ix, &["isSidechain"], b"false", Check::SidechainTrunk)?;
            }
        }
        Ok(())
    }

    /// Appends a pointer to the end of the conversation.
    fn append_pointer(&self, draft: &mut Draft<'_>, check: Check) -> io::Result<()> {
        let Some(tip) = tip(self.session) else { return Ok(()) };
        let Some(id) = draft.link_to(tip)? else { return Ok(()) };
        let line = pointer(self.session, self.around.stem(), &id, false);
        draft.append(line, check);
        Ok(())
    }
}

/// Returns a pointer of Claude Code to an entry, without its line ending. `id` is JSON.
fn pointer(session: &crate::format::Session, stem: &str, id: &[u8], pin: bool) -> Vec<u8> {
    let own = own_session(session, stem).map(|own| session.entries.sessions()[own].as_str());
    let mut line = write::pointer(None, Some(id), pin, own);
    line.pop();
    line
}

/// The maximum number of entries above a missing HEAD that are looked up; each costs a pass over
/// the ids.
const MOST_LOOKED_UP: usize = 1000;

/// The maximum number of entries above HEAD that may be below it after a repair.
const MOST_RISEN: usize = 64;

/// Moves HEAD back to where it was before a repair.
pub(in crate::fsck) fn return_to(
    draft: &mut Draft<'_>,
    examined: &Examined,
    aim: ProvedHead,
    ids: &mut Ids,
    now: Option<Time>,
    why: Check,
) -> io::Result<()> {
    let before = &examined.session;
    let Some(head) = aim.head else { return Ok(()) };
    // If that entry was removed, to the nearest ancestor that is left. If an ancestor is now below
    // it, to the lowest one.
    let left = |ix: Ix| {
        Some(before.entries.key(ix)).filter(|key| key.is_some()).and_then(|key| draft.session.find(key))
    };
    let mut places = before.tree.ancestors(head).take(MOST_LOOKED_UP).filter_map(left);
    let Some(first) = places.next() else { return Ok(()) };
    let depth = |ix: &Ix| draft.session.tree.ancestors(*ix).count();
    let lower = places.take(MOST_RISEN).max_by_key(depth).filter(|lower| depth(lower) > depth(&first));
    let head = lower.unwrap_or(first);
    let Some(id) = draft.link_to(head)? else { return Ok(()) };
    let line = match draft.session.format {
        Format::Claude => Some(pointer(draft.session, "", &id, true)),
        format => {
            let fresh = ids.entry(format, draft.session.entries.keys());
            let new = crate::format::New { id: &fresh, parent: Some(&id), now: now.unwrap_or(Time(0)) };
            let mut line = format.dialect().marker(&new, None, Some(&id));
            // The draft adds line endings.
            line.as_mut().map(Vec::pop);
            line
        }
    };
    // HEAD would otherwise be an entry on a damaged line.
    let line_check = examined.recovery.findings.first().map(|finding| finding.check);
    let why = if aim.stood { line_check.unwrap_or(Check::SplicedLine) } else { why };
    line.into_iter().for_each(|line| draft.append(line, why));
    Ok(())
}

/// Returns a list of blocks in which each image that is too large is replaced with a note.
fn without_wide_images(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len().min(1 << 20));
    let mut from = 0;
    for block in each_item(content) {
        let at = place_in(content, block);
        let new = match member_at(block, &["type"]) {
            Some(b"\"image\"") if image::inspect(block).oversize > 0 => {
                let data =
                    member_at(block, &["source", "data"]).or(member_at(block, &["data"])).unwrap_or_default();
                let size = match image::pixels(data.strip_prefix(b"\"").unwrap_or(data)) {
                    Some((wide, high)) => format!("{wide} × {high} pixels"),
                    None => format!("{} bytes of base64", data.len()),
                };
                let note = format!("[A picture of {size} was taken out: it is larger than providers take.]");
                [b"{\"type\":\"text\",\"text\":", &json(Some(&note))[..], b"}"].concat()
            }
            Some(b"\"tool_result\"") => match member_at(block, &["content"]) {
                Some(inner) if image::inspect(inner).oversize > 0 => {
                    set_field(block, &["content"], &without_wide_images(inner))
                        .unwrap_or_else(|| block.to_vec())
                }
                _ => continue,
            },
            _ => continue,
        };
        out.extend_from_slice(&content[from..at.start]);
        out.extend_from_slice(&new);
        from = at.end;
    }
    out.extend_from_slice(&content[from..]);
    out
}
