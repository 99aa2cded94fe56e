//! Claude Code's list of all prompts, `history.jsonl`: it outlives the sessions.
//!
//! Each line has the text as it was shown (`display`), what was pasted into it (`pastedContents`, by the
//! number in `[Pasted text #1 +20 lines]`), the time, the working directory (`project`), and, in newer
//! clients, the session. (Seen in client 2.1.332.)

use super::{Error, clients, locate};
use crate::model::Time;
use std::collections::{BTreeMap, HashSet};

/// A prompt of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prompt {
    /// When it was sent.
    pub time: Time,
    /// Its text, with what was pasted.
    pub text: String,
}

/// A session of which only the prompts are left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lost {
    /// The id of the session.
    pub session: String,
    /// The working directory.
    pub cwd: String,
    /// The prompts, in the order of the list.
    pub prompts: Vec<Prompt>,
}

/// Returns the sessions whose prompts are in the list and whose files are gone, the newest first, and
/// how many prompts name no session.
///
/// Empty if there is no list.
pub fn lost() -> Result<(Vec<Lost>, usize), Error> {
    let config = clients::config_folder();
    let path = config.join("history.jsonl");
    let bytes = match super::read_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        read => read.map_err(|source| Error::Io { path, source })?,
    };
    let store = locate::Store { agent: "claude", root: config.join("projects") };
    let kept: HashSet<String> =
        locate::sessions(&store).into_iter().map(|found| locate::session_id(&found.path)).collect();
    let (by_session, unnamed) = prompts(&bytes);
    let mut out: Vec<Lost> =
        by_session.into_values().filter(|session| !kept.contains(&session.session)).collect();
    out.sort_by_key(|session| std::cmp::Reverse(session.prompts.last().map(|prompt| prompt.time)));
    Ok((out, unnamed))
}

/// Returns the prompts of a list by session, and how many name no session. Lines that can't be read are
/// passed over.
fn prompts(bytes: &[u8]) -> (BTreeMap<String, Lost>, usize) {
    let (mut out, mut unnamed) = (BTreeMap::new(), 0);
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
        let Some(display) = line["display"].as_str() else { continue };
        let Some(session) = line["sessionId"].as_str() else {
            unnamed += 1;
            continue;
        };
        let lost = out.entry(session.to_owned()).or_insert_with(|| Lost {
            session: session.to_owned(),
            cwd: line["project"].as_str().unwrap_or_default().to_owned(),
            prompts: Vec::new(),
        });
        let time = line["timestamp"].as_i64().map_or(Time::NONE, Time);
        lost.prompts.push(Prompt { time, text: with_pasted(display, &line["pastedContents"]) });
    }
    (out, unnamed)
}

/// Returns a text with what was pasted in the place of `[Pasted text #1 +20 lines]`.
fn with_pasted(display: &str, pasted: &serde_json::Value) -> String {
    const START: &str = "[Pasted text #";
    let (mut out, mut rest) = (String::new(), display);
    while let Some(at) = rest.find(START) {
        let inside = &rest[at + START.len()..];
        let number: String = inside.chars().take_while(char::is_ascii_digit).collect();
        let content = pasted[&number]["content"].as_str();
        let (Some(content), Some(end)) = (content, inside.find(']')) else {
            out.push_str(&rest[..at + START.len()]);
            rest = inside;
            continue;
        };
        out.push_str(&rest[..at]);
        out.push_str(content);
        rest = &inside[end + 1..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_found_by_session() {
        let list = [
            r#"{"display":"one","pastedContents":{},"timestamp":5,"project":"/w","sessionId":"a"}"#,
            "not JSON",
            r#"{"display":"old","timestamp":1,"project":"/w"}"#,
            r#"{"display":"two [Pasted text #2 +1 lines] and [Pasted text #3]","pastedContents":{"2":{"content":"x\ny"}},"timestamp":7,"project":"/w","sessionId":"a"}"#,
        ]
        .join("\n");
        let (found, unnamed) = prompts(list.as_bytes());
        assert_eq!((found.len(), unnamed), (1, 1));
        let texts: Vec<&str> = found["a"].prompts.iter().map(|prompt| &*prompt.text).collect();
        assert_eq!(texts, ["one", "two x\ny and [Pasted text #3]"]);
        assert_eq!((found["a"].prompts[1].time, &*found["a"].cwd), (Time(7), "/w"));
    }
}
