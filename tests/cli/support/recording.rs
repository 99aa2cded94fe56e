//! Recordings of what the agents' own programs answered. The first lines of each, which begin with `# `,
//! name the programs, their versions, and the day on which they were asked.

use super::files::project;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Returns the path of a recording, which is named by its path below `tests/cli/sessions`.
fn path(name: &str) -> PathBuf {
    project().join("tests/cli/sessions").join(name)
}

/// Reads the lines of a recording.
pub fn read(name: &str) -> String {
    let text = fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let head: usize =
        text.split_inclusive('\n').take_while(|line| line.starts_with("# ")).map(str::len).sum();
    assert!(head > 0, "{name} says which programs were asked, and when");
    text[head..].to_owned()
}

/// Writes the lines of a recording for which some programs were just asked.
pub fn write(name: &str, lines: &str, programs: &[&str]) {
    let script = project().join("tests/oracles/programs.py");
    let head = Command::new("python3").arg(script).args(programs).output().unwrap();
    assert!(head.status.success(), "{head:?}");
    fs::write(path(name), String::from_utf8(head.stdout).unwrap() + lines).unwrap();
}

/// Formats 1, 2, 3, 7 as `1-3 7`.
pub fn runs(numbers: impl Iterator<Item = u64>) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => runs.push((number, number)),
        }
    }
    let words = |(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    runs.iter().map(words).collect::<Vec<_>>().join(" ")
}

/// The messages that the programs were seen to send, in `messages.tsv`: each has a number, by which the
/// recordings name it.
pub struct Messages(HashMap<(String, String), u64>);

impl Messages {
    /// Reads the table.
    pub fn read() -> Messages {
        let text = read("messages.tsv");
        let row = |row: &str| {
            let [number, role, text] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
            let text: String = serde_json::from_str(&format!("\"{text}\"")).unwrap();
            ((role.to_owned(), text), number.parse().unwrap())
        };
        Messages(text.lines().skip(1).map(row).collect())
    }

    /// Returns the recorded text of a role that begins in some way; of a long one, as it was cut.
    pub fn beginning(&self, role: &str, start: &str) -> Option<&str> {
        self.0.keys().find(|(of, text)| of == role && text.starts_with(start)).map(|(_, text)| &**text)
    }

    /// Returns the numbers of messages, each of a role and a text, in the form of the recordings. One
    /// that no program sent is written out.
    pub fn runs(&self, messages: &[(String, String)]) -> String {
        let number = |(role, text): &(String, String)| self.0.get(&(role.clone(), short(text))).copied();
        match messages.iter().map(number).collect::<Option<Vec<u64>>>() {
            Some(numbers) if numbers.is_empty() => "none".into(),
            Some(numbers) => runs(numbers.into_iter()),
            None => {
                let word = |message: &(String, String)| match number(message) {
                    Some(number) => number.to_string(),
                    None => format!("{}:{:?}", message.0, short(&message.1)),
                };
                messages.iter().map(word).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// Returns a text, or the beginning of a long one with its length and a digest, as `programs.py` does.
fn short(text: &str) -> String {
    let count = text.chars().count();
    if count <= 240 {
        return text.to_owned();
    }
    let (head, digest) =
        (text.chars().take(160).collect::<String>(), super::messages::sha256(text.as_bytes()));
    format!("{head} … [{count} characters, {}]", &digest[..16])
}
