//! What Claude Code would be sent according to bough, in the form of the recordings.

use bough::internals::format::claude::request::{self, Made, Part};
use bough::internals::model::{Ix, Source};
use bough::internals::store::Opened;
use serde_json::Value;

/// Returns whether the sent blocks are those recorded: of equal blocks, the recording does not say
/// which one it was.
pub fn fits(recorded: &str, ours: &[String]) -> bool {
    ours.len() == recorded.split(' ').filter(|block| !block.is_empty()).count()
        && ours.iter().zip(recorded.split(' ')).all(|(ours, block)| {
            let (lines, kind) = block.split_at(block.len() - 1);
            ours.ends_with(kind) && lines.split('|').any(|line| line == &ours[..ours.len() - 1])
        })
}

/// Returns the parent turn of the next prompt (empty if it has no id), and what is sent, in the
/// form of `measured.tsv`.
pub fn answer(opened: &Opened) -> (Option<String>, Vec<String>) {
    let sending = request::sending(&opened.session, &opened.files, None).unwrap();
    assert_eq!(sending.leaf.turn, opened.session.head.entry);
    let mut out = Vec::new();
    for message in &sending.messages {
        for part in &message.parts {
            let Some(kind) = kind(opened, message.entry, part) else { continue };
            match (part, message.entry) {
                (Part::Made(_), _) | (_, None) => out.push(format!("?{kind}")),
                (_, Some(ix)) => out.push(format!("{}{kind}", opened.session.entries.line(ix))),
            }
        }
    }
    (opened.session.head.entry.map(|ix| id(opened, ix)), out)
}

/// Returns a letter for the kind of a part; `None` for attachments, which were not recorded.
pub fn kind(opened: &Opened, entry: Option<Ix>, part: &Part) -> Option<&'static str> {
    Some(match part {
        Part::Rendered(_) | Part::Attached => return None,
        Part::Made(Made::Result(_)) | Part::Texts(_) => "r",
        Part::Made(_) | Part::Command => "t",
        Part::Stored(at) => {
            let line = opened.files.bytes(opened.session.span(entry.unwrap())).unwrap();
            let block = request::block(&line, *at).unwrap();
            match serde_json::from_slice::<Value>(block).map(|block| block["type"].clone()) {
                Ok(ty) if ty == "tool_use" => "c",
                Ok(ty) if ty == "tool_result" => "r",
                _ => "t",
            }
        }
    })
}

/// Returns the id of an entry as it is stored.
pub fn id(opened: &Opened, ix: Ix) -> String {
    let line = opened.files.bytes(opened.session.span(ix)).unwrap();
    let id = bough::internals::json::member_at(&line, &["uuid"]).unwrap_or_default();
    bough::internals::json::string(id)
        .map_or_else(|| String::from_utf8_lossy(id).into_owned(), |id| id.into_owned())
}

/// Parses `1-3 7` as 1, 2, 3, 7.
pub fn numbers(text: &str) -> impl Iterator<Item = usize> {
    text.split(' ').flat_map(|run| {
        let (from, to) = run.split_once('-').unwrap_or((run, run));
        from.parse::<usize>().unwrap()..=to.parse::<usize>().unwrap()
    })
}
