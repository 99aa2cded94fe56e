//! What pi and oh-my-pi put around the texts that they send: commands that the user ran, summaries, files
//! that the user mentioned.
//!
//! The words are short, and part of what the model reads. Where oh-my-pi adds whole paragraphs (before a
//! handoff, its notes, or what the user said in between), they are not repeated here: a patch names them.

use super::{Block, Message, Origin, Part, Patch, text};
use crate::format::{Format, blocks_of_item};
use crate::json::{each_item, member, string};
use std::borrow::Cow;

/// The kind of compaction of oh-my-pi whose summary was written by the agent for itself.
const HANDOFF: &str = "handoff";

/// The messages of other people in a session that is shared, in the name of the user.
const OF_PEERS: &str = "collab-prompt";

/// Returns what is sent for a message if that is not what is stored; `line` is its line.
pub(super) fn sent_blocks<'l>(format: Format, message: &Message, line: &'l [u8]) -> Option<Vec<Block<'l>>> {
    let is_omp = format == Format::Omp;
    let is_pi =
        matches!(format, Format::Pi | Format::PiV1 | Format::PiV2 | Format::Harness | Format::HarnessV4);
    if !is_omp && !is_pi {
        // What derives from these has words of its own.
        return None;
    }
    let stored = member(line, "message").unwrap_or_default();
    let one = |text: String| Some(vec![Block::Text(text.into())]);
    match (&*message.role, &message.part) {
        ("compactionSummary" | "branchSummary", Part::Summary) => one(summary(is_omp, message.origin, line)),
        ("bashExecution", Part::Message) => {
            let mut blocks = one(command(is_omp, stored))?;
            let images = member(stored, "images").filter(|_| is_omp).unwrap_or_default();
            blocks.extend(each_item(images).flat_map(blocks_of_item));
            Some(blocks)
        }
        ("pythonExecution", Part::Message) if is_omp => one(python(stored)),
        ("fileMention", Part::Message) if is_omp => Some(files(member(stored, "files").unwrap_or_default())),
        (_, Part::Notes) => {
            let notes = member(line, "data").map(|data| text(data, "text")).unwrap_or_default();
            one(tidied_below(&notes))
        }
        ("user", Part::Message) if is_omp && is_interjection(stored) => Some(interjection(stored)),
        ("custom" | "hookMessage", Part::Message) if is_omp => custom(stored),
        ("custom", Part::Content) if is_omp => custom(line),
        _ => None,
    }
}

/// Returns what oh-my-pi adds to a message that is not repeated here, if it adds anything; `line` is its
/// line.
pub(super) fn added(message: &Message, line: &[u8]) -> Option<Patch> {
    let stored = member(line, "message").unwrap_or_default();
    let what = match (&*message.role, &message.part) {
        ("compactionSummary", _) if has_archive(line) => "what was compacted, as texts and images",
        ("compactionSummary", _) if is_handoff(line) => "an introduction to the handoff",
        ("bashExecution" | "pythonExecution", _) if has_notices(stored) => "a note on what the output lacks",
        ("user", Part::Message) if is_interjection(stored) => INTERJECTION,
        ("custom", Part::Message) if is_of_peer(stored) => INTERJECTION,
        ("custom", Part::Content) if is_of_peer(line) => INTERJECTION,
        (_, Part::Notes) => "an introduction to its notes",
        _ => return None,
    };
    Some(Patch::Added { what })
}

const INTERJECTION: &str = "a notice that the user speaks while it works";

/// Returns a summary with the words around it.
fn summary(is_omp: bool, origin: Origin, line: &[u8]) -> String {
    let summary = text(line, "summary");
    match (origin == Origin::Compaction, is_omp) {
        (true, false) => format!(
            "The conversation history before this point was compacted into the following summary:\n\n<summary>\n{summary}\n</summary>"
        ),
        (false, false) => format!(
            "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{summary}</summary>"
        ),
        (true, true) if has_archive(line) => summary.into_owned(),
        (true, true) if is_handoff(line) => tidied(&format!("<handoff>\n{summary}\n</handoff>")),
        (true, true) => tidied(&format!(
            "Prior model work/tool state available.\nMUST build on prior work; NEVER duplicate prior work.\n\n<summary>\n{summary}\n</summary>"
        )),
        (false, true) => tidied(&format!("Branch-return summary:\n\n<summary>\n{summary}\n</summary>")),
    }
}

fn is_handoff(line: &[u8]) -> bool {
    text(line, "method") == HANDOFF
}

/// Returns whether a compaction keeps what it replaced as texts and images that are sent after its summary.
fn has_archive(line: &[u8]) -> bool {
    let archive = member(line, "preserveData").and_then(|data| member(data, "snapcompact"));
    archive.is_some_and(|archive| {
        ["text", "textHead", "textTail"].iter().any(|key| !text(archive, key).is_empty())
            || each_item(member(archive, "frames").unwrap_or_default())
                .any(|frame| !text(frame, "data").is_empty())
    })
}

/// Returns a command that the user ran, and its output.
fn command(is_omp: bool, stored: &[u8]) -> String {
    let mut out = format!("Ran `{}`\n", text(stored, "command"));
    out += &output(stored, "", "(command cancelled)", "Command exited");
    let (path, is_cut) = (text(stored, "fullOutputPath"), member(stored, "truncated") == Some(b"true"));
    if !is_omp && is_cut && !path.is_empty() {
        out += &format!("\n\n[Output truncated. Full output: {path}]");
    }
    out
}

/// Returns Python code that the user ran, and its output.
fn python(stored: &[u8]) -> String {
    let code = text(stored, "code");
    let output = output(stored, "Output:\n", "(execution cancelled)", "Execution failed");
    format!("Ran Python:\n```python\n{code}\n```\n{output}")
}

/// Returns the output of what the user ran, and how it ended.
fn output(stored: &[u8], title: &str, cancelled: &str, failed: &str) -> String {
    let mut out = match &*text(stored, "output") {
        "" => "(no output)".to_owned(),
        output => format!("{title}```\n{output}\n```"),
    };
    let exit = member(stored, "exitCode").filter(|code| !matches!(*code, b"null" | b"0"));
    if member(stored, "cancelled") == Some(b"true") {
        out += &format!("\n\n{cancelled}");
    } else if let Some(exit) = exit {
        let code = string(exit).unwrap_or_else(|| String::from_utf8_lossy(exit));
        out += &format!("\n\n{failed} with code {code}");
    }
    out
}

/// Returns whether oh-my-pi adds notes to an output: on what was cut off, or found in files.
fn has_notices(stored: &[u8]) -> bool {
    let Some(meta) = member(stored, "meta") else { return false };
    let found = member(meta, "diagnostics").and_then(|found| member(found, "messages")).unwrap_or_default();
    member(meta, "truncation").is_some_and(|cut| cut.starts_with(b"{"))
        || !text(meta, "artifactError").is_empty()
        || ["matchLimit", "resultLimit", "headLimit", "columnTruncated"].iter().any(|limit| {
            member(meta, "limits")
                .and_then(|limits| member(limits, limit))
                .is_some_and(|limit| limit != b"null")
        })
        || each_item(found).next().is_some()
}

/// Returns the files that the user mentioned: those without an image, and those with one, which come last.
fn files(files: &[u8]) -> Vec<Block<'_>> {
    let (mut texts, mut with_image, mut images) = (Vec::new(), Vec::new(), Vec::new());
    for file in each_item(files) {
        let content = match text(file, "content") {
            content if content.is_empty() => "\n".to_owned(),
            content => format!("\n{content}\n"),
        };
        let wrapped = format!("<file path=\"{}\">{content}</file>", text(file, "path"));
        match member(file, "image").filter(|image| image.starts_with(b"{")) {
            None => texts.push(wrapped),
            Some(image) => {
                with_image.push(wrapped);
                images.extend(blocks_of_item(image));
            }
        }
    }
    let texts = [texts, with_image].into_iter().filter(|texts| !texts.is_empty());
    let texts = texts.map(|texts| Block::Text(texts.join("\n").into()));
    texts.chain(images).collect()
}

/// Returns whether the user said something while the agent worked.
fn is_interjection(stored: &[u8]) -> bool {
    member(stored, "steering") == Some(b"true") && !all_text(stored).is_empty()
}

fn is_of_peer(stored: &[u8]) -> bool {
    text(stored, "customType") == OF_PEERS
        && text(stored, "attribution") == "user"
        && !all_text(stored).is_empty()
}

/// Returns the texts of a content, joined by line breaks.
fn all_text(stored: &[u8]) -> Cow<'_, str> {
    let content = member(stored, "content").unwrap_or_default();
    super::message_text::text_of_blocks(content, |block| text(block, "type") == "text")
}

/// Returns what the user said while the agent worked, without the notice before it: one text, and the
/// images.
fn interjection(stored: &[u8]) -> Vec<Block<'_>> {
    let content = member(stored, "content").unwrap_or_default();
    let images = each_item(content).filter(|block| text(block, "type") == "image").flat_map(blocks_of_item);
    std::iter::once(Block::Text(tidied_below(&all_text(stored)).into())).chain(images).collect()
}

/// Returns what is sent for a message of an extension: images come after the texts, with a title.
fn custom(stored: &[u8]) -> Option<Vec<Block<'_>>> {
    if is_of_peer(stored) {
        return Some(interjection(stored));
    }
    let content = member(stored, "content").filter(|content| content.starts_with(b"["))?;
    let of_type =
        |wanted: &'static str| each_item(content).filter(move |block| text(block, "type") == wanted);
    of_type("image").next()?;
    let ty = text(stored, "customType");
    if ty == "skill-prompt" && text(stored, "attribution") == "user" {
        return None;
    }
    let title = Block::Text(format!("Images attached to {ty}.").into());
    let texts = of_type("text").flat_map(blocks_of_item);
    Some(texts.chain([title]).chain(of_type("image").flat_map(blocks_of_item)).collect())
}

/// Returns a text as oh-my-pi's templates lay it out: blanks at the ends of lines, runs of blank lines,
/// and blank lines at the start, at the end, and before closing tags are removed; rows of tables have no
/// blanks around their cells. Code is left as it is, but for blanks at the ends of lines.
fn tidied(words: &str) -> String {
    let lines: Vec<&str> = words.split('\n').collect();
    let is_blank = |line: &str| line.chars().all(is_space);
    let mut out: Vec<Cow<'_, str>> = Vec::with_capacity(lines.len());
    let mut is_code = false;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let line = line.trim_end_matches(is_space);
        at += 1;
        let start = line.trim_start_matches(is_space);
        let indent = &line[..line.len() - start.len()];
        let is_fence = start.starts_with("```") || start.starts_with("~~~");
        is_code ^= is_fence;
        if is_fence || is_code {
            out.push(line.into());
            continue;
        }
        if start.is_empty() {
            if lines.get(at).is_none_or(|next| is_blank(next)) {
                drop_blank(&mut out);
                while lines.get(at).is_some_and(|next| is_blank(next)) {
                    at += 1;
                }
                continue;
            }
            if out.last().is_none_or(|last| last.is_empty()) {
                continue;
            }
        } else if is_closing_tag(start) {
            drop_blank(&mut out);
        } else if let Some(row) = table_row(start) {
            out.push(format!("{indent}{row}").into());
            continue;
        }
        out.push(line.into());
    }
    drop_blank(&mut out);
    out.join("\n")
}

/// Does the same for a text that comes below a line that is not returned.
fn tidied_below(words: &str) -> String {
    let all = tidied(&format!("-\n{words}"));
    all.strip_prefix("-\n").unwrap_or_default().to_owned()
}

/// Removes blank lines at the end.
fn drop_blank(lines: &mut Vec<Cow<'_, str>>) {
    while lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
}

/// Returns whether a character is a blank to JavaScript.
fn is_space(c: char) -> bool {
    c == '\u{feff}' || c.is_whitespace() && c != '\u{85}'
}

fn is_closing_tag(line: &str) -> bool {
    let name = line.strip_prefix("</").and_then(|rest| rest.strip_suffix('>'));
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '-'))
    })
}

/// Returns the row of a table without blanks around its cells; `None` if the line is none.
fn table_row(line: &str) -> Option<String> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    let is_rule = !inner.is_empty() && inner.chars().all(|c| matches!(c, '-' | ':' | '|') || is_space(c));
    if !is_rule {
        let has_break = inner.contains(['\r', '\u{2028}', '\u{2029}']);
        let cells = line.split('|').map(|cell| cell.trim_matches(is_space));
        return (!has_break).then(|| cells.collect::<Vec<_>>().join("|"));
    }
    let cells = line.split('|').map(|cell| cell.trim_matches(is_space)).filter(|cell| !cell.is_empty());
    let rules = cells.map(|cell| match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => ":---:",
        (true, false) => ":---",
        (false, true) => "---:",
        (false, false) => "---",
    });
    Some(format!("|{}|", rules.collect::<Vec<_>>().join("|")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of oh-my-pi 18.2.3 itself.
    #[test]
    #[rustfmt::skip] // a table
    fn a_text_is_laid_out_as_by_the_templates_of_oh_my_pi() {
        let check = |words: &str, wanted: &str| assert_eq!(tidied(words), wanted, "{words:?}");
        check("a  \n\tb\u{3000}\nc\u{85}",                    "a\n\tb\nc\u{85}");
        check("\n\na\n\nb\n\n\nc\n \n",                      "a\n\nb\nc");
        check("a\n\n</x>\n\n  </y-z>\n\n</Z>",               "a\n</x>\n  </y-z>\n\n</Z>");
        check("| a |  b |\n|:--|--:|:-:| - |\n |c| d |",      "|a|b|\n|:---|---:|:---:|---|\n |c|d|");
        check("```\n\n\n| a | b |  \n```\n| a | b |",          "```\n\n\n| a | b |\n```\n|a|b|");
        check("**MUST NOT** -> ... <= x",                      "**MUST NOT** -> ... <= x");
        check("",                                               "");
    }
}
