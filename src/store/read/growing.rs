//! Reading a session that grows: at first as a whole, and then only what was appended.

use super::parallel;
use super::whole::{Opened, Options, begin, detect_format, is_read_once, open, read_ended, read_head};
use crate::format::{Builder, Growth, Progress};
use crate::json::{Ending, Reader};
use crate::store::Error;
use crate::store::compressed;
use crate::store::files::{Content, Files};
use crate::store::write::Stamp;
use crate::store::write::stamp;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Files up to this size are read as a whole each time: only the first lines decide the format, and
/// they may still be coming.
const SMALL: u64 = if cfg!(test) { 4096 } else { 512 << 10 };

/// How many bytes before the end have to be unchanged so that a file only grew.
const WINDOW: u64 = 16 << 10;

/// A session file that is read again and again while an agent appends to it.
///
/// Each reading gives the session that [`open()`] would give. If the file only grew since the last
/// one, only the new bytes are read. If it is another file now, was truncated, or has other bytes
/// before its last end, it is read as a whole.
pub struct Growing {
    path: PathBuf,
    options: Options,
    read: Option<SoFar>,
}

/// What was read so far.
struct SoFar {
    stamp: Stamp,
    /// Has all lines that end in a line feed.
    builder: Builder,
    /// The end of these lines.
    at: u64,
    /// Their number.
    lines: u64,
    /// The last bytes before that end.
    window: Vec<u8>,
    /// Whether what comes may be added to the session that was given last.
    may_grow: bool,
}

/// What a reading gives.
pub enum Reading {
    /// The session as it is now.
    Whole(Box<Opened>),
    /// What is to be added to the session that the last reading gave.
    Grown(Box<Grown>),
}

/// What a file gained.
pub struct Grown {
    session: Growth,
    stamp: Stamp,
}

impl Opened {
    /// Adds what the file gained since the last reading gave this session, or has been added to it. Returns the number
    /// of the first entry that was added, or `None`, having changed nothing, if it does not fit.
    pub fn grow(&mut self, grown: Grown) -> Option<usize> {
        let from = self.session.entries.len();
        let is_added = self.session.grow(grown.session);
        is_added.then(|| {
            self.files.restamp(0, grown.stamp);
            from
        })
    }
}

/// How far a file was read.
enum Advanced {
    Whole(Box<Opened>),
    /// To its end.
    ToEnd {
        file: File,
        /// How far it had been read before, if that is a part of it.
        before: Option<Progress>,
        /// A builder that also has the last line, if that has no line feed.
        torn: Option<Box<Builder>>,
    },
}

impl Growing {
    /// Prepares to read a file; nothing is read yet.
    pub fn new(path: &Path, options: Options) -> Growing {
        Growing { path: path.to_owned(), options, read: None }
    }

    /// Reads the session as it is now, as a whole, and keeps nothing for the next reading, which takes half the memory.
    ///
    /// Fails as [`open()`] does.
    pub fn read_whole(&mut self) -> Result<Opened, Error> {
        self.read = None;
        open(&self.path, self.options)
    }

    /// Reads the session as it is now.
    ///
    /// Fails as [`open()`] does; the next reading is a whole one then.
    pub fn read(&mut self) -> Result<Opened, Error> {
        Ok(match self.advance()? {
            Advanced::Whole(opened) => *opened,
            Advanced::ToEnd { file, torn, .. } => self.opened(file, torn),
        })
    }

    /// Reads what came since the last reading, or the session as it is now if that is more than turns at its end.
    ///
    /// Fails as [`open()`] does; the next reading is a whole one then.
    pub fn read_more(&mut self) -> Result<Reading, Error> {
        let (file, before, torn) = match self.advance()? {
            Advanced::Whole(opened) => return Ok(Reading::Whole(opened)),
            Advanced::ToEnd { file, before, torn } => (file, before, torn),
        };
        let so_far = self.read.as_ref().filter(|so_far| so_far.may_grow && torn.is_none());
        if let (Some(so_far), Some(before)) = (so_far, before)
            && let Some(session) = so_far.builder.growth_since(&before)
        {
            return Ok(Reading::Grown(Box::new(Grown { session, stamp: so_far.stamp.clone() })));
        }
        Ok(Reading::Whole(Box::new(self.opened(file, torn))))
    }

    /// The session of all that was read.
    fn opened(&mut self, file: File, torn: Option<Box<Builder>>) -> Opened {
        let so_far = self.read.as_mut().expect("the file was read");
        let is_torn = torn.is_some();
        let builder = torn.map_or_else(|| so_far.builder.snapshot(), |builder| *builder);
        let session = builder.finish();
        so_far.may_grow = !is_torn && session.may_grow();
        let mut files = Files::new();
        files.add(self.path.clone(), Content::File(file), Some(so_far.stamp.clone()));
        Opened { session, files }
    }

    /// Reads all that is there and was not read.
    fn advance(&mut self) -> Result<Advanced, Error> {
        let small = self.path.metadata().is_ok_and(|facts| facts.len() < SMALL);
        if small || is_read_once(&self.path) || compressed::is_named(&self.path) {
            self.read = None;
            return Ok(Advanced::Whole(Box::new(open(&self.path, self.options)?)));
        }
        let io = |source| Error::Io { path: self.path.clone(), source };
        let file = File::open(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound { path: self.path.clone() },
            _ => io(error),
        })?;
        let stamp = Stamp::take(&file).map_err(io)?;
        let kept = self.read.take().filter(|so_far| so_far.only_grew(&stamp, &file));
        let before = kept.as_ref().map(|so_far| so_far.builder.progress());
        let mut so_far = match kept {
            Some(so_far) => SoFar { stamp, ..so_far },
            None => {
                let head = read_head(&file).map_err(io)?;
                let chosen = detect_format(&self.path, &file, &head, self.options)?;
                if chosen.format.is_document() {
                    return Ok(Advanced::Whole(Box::new(open(&self.path, self.options)?)));
                }
                let len = stamp.bytes();
                let new = || {
                    let mut builder = begin(chosen, self.options);
                    builder.expect(len, &head);
                    builder
                };
                let many = match len < parallel::LARGE {
                    true => None,
                    false => parallel::read(len, &file, new).map_err(io)?,
                };
                let many = many.and_then(|builder| Some((builder.whole_lines()?, builder)));
                let ((at, lines), builder) = many.unwrap_or_else(|| ((0, 0), new()));
                SoFar { stamp, builder, at, lines, window: Vec::new(), may_grow: false }
            }
        };
        let torn = so_far.read_on(&file).map_err(io)?;
        self.read = Some(so_far);
        Ok(Advanced::ToEnd { file, before, torn })
    }
}

impl SoFar {
    /// Returns whether a file is the one that was read, and unchanged as far as it was.
    fn only_grew(&self, stamp: &Stamp, file: &File) -> bool {
        let from = self.at - self.window.len() as u64;
        self.stamp.is_of(file)
            && stamp.bytes() >= self.at
            && stamp::read_at(file, from, self.window.len()).is_ok_and(|now| now == self.window)
    }

    /// Reads everything after the known lines. If the last line has no line feed, returns a builder that has it, too.
    fn read_on(&mut self, file: &File) -> io::Result<Option<Box<Builder>>> {
        let SoFar { builder, at, lines, .. } = self;
        let mut reader: Reader = builder.reader();
        reader.restart(*at, *lines);
        read_ended(file, &mut reader, *at, |line| {
            builder.line(line);
            *lines = line.number;
            *at = line.offset + line.len + u64::from(line.ending == Ending::CrLf) + 1;
        })?;
        let mut torn = None;
        reader.finish(|line| torn.get_or_insert_with(|| Box::new(self.builder.snapshot())).line(line));
        let len = self.at.min(WINDOW);
        self.window = stamp::read_at(file, self.at - len, len as usize)?;
        Ok(torn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Session;
    use std::io::Write;

    const HEADER: &str =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/p"}"#;

    fn pi(at: u32) -> String {
        let parent = if at == 0 { "null".into() } else { format!("\"{:08}\"", at - 1) };
        format!(
            r#"{{"type":"message","id":"{at:08}","parentId":{parent},"message":{{"role":"user","content":"{at}"}}}}"#
        )
    }

    fn claude(at: u32) -> String {
        let parent = if at == 0 { "null".into() } else { format!("\"u{}\"", at - 1) };
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s","type":"user","message":{{"role":"user","content":"{at}"}},"uuid":"u{at}"}}"#
        )
    }

    /// All of a session, except that how many entries were expected depends on the length at first.
    fn shown(session: &Session) -> Vec<String> {
        let text = format!("{session:#?}");
        text.lines().filter(|line| !line.contains(" expected: ")).map(str::to_owned).collect()
    }

    /// Reads the session, and compares it with one that is read as a whole.
    fn check(growing: &mut Growing, what: &str) {
        let now = growing.read().unwrap();
        let whole = open(&growing.path, growing.options).unwrap();
        assert_eq!(shown(&now.session), shown(&whole.session), "{what}");
        assert_eq!(now.files.stamp(0), whole.files.stamp(0), "{what}");
    }

    #[test]
    fn what_is_appended_gives_the_session_of_a_whole_reading() {
        for (first, line) in [(HEADER.to_owned(), pi as fn(u32) -> String), (claude(0), claude)] {
            let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
            let path = file.path().to_owned();
            let from = u32::from(first == claude(0));
            let lines: Vec<String> = (from..100).map(line).collect();
            write!(file, "{first}\n{}\n", lines.join("\n")).unwrap();
            let mut growing = Growing::new(&path, Options::default());
            check(&mut growing, "at first");
            // Pieces of lines, broken lines, other endings, and objects over several lines.
            let next = line(100);
            let (begin, rest) = next.split_at(30);
            let pieces = [
                begin,
                rest,
                "\r\n",
                "\n\n{\"torn\":",
                "\nx\n",
                "{\n",
                "\"type\": \"custom\",\n\"id\": \"c1\"",
                ", \"parentId\": null\n}\n",
                &format!("{}\n{}\n", line(101), line(102)),
                "",
                &format!("{}\n", line(3)),
            ];
            for piece in pieces {
                write!(file, "{piece}").unwrap();
                check(&mut growing, piece);
            }
        }
    }

    /// Reads what came, and compares the session that it is added to with one that is read as a whole. Returns whether
    /// anything was added.
    fn check_more(growing: &mut Growing, known: &mut Option<Opened>, what: &str) -> bool {
        let is_grown = match growing.read_more().unwrap() {
            Reading::Whole(opened) => {
                *known = Some(*opened);
                false
            }
            Reading::Grown(grown) => {
                let from = known.as_mut().unwrap().grow(*grown);
                assert!(from.is_some(), "{what} does not fit");
                true
            }
        };
        let (now, whole) = (known.as_ref().unwrap(), open(&growing.path, growing.options).unwrap());
        assert_eq!(shown(&now.session), shown(&whole.session), "{what}");
        assert_eq!(now.files.stamp(0), whole.files.stamp(0), "{what}");
        is_grown
    }

    #[test]
    #[rustfmt::skip] // a table
    fn turns_at_the_end_are_added_to_the_session() {
        let entry = |id: &str, parent: &str, rest: &str| {
            format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},{rest}}}\n")
        };
        let turn = |id: &str, parent: &str| {
            entry(id, &format!("\"{parent}\""), "\"message\":{\"role\":\"assistant\",\"content\":\"so\"}")
        };
        let last = "00000199";
        let long = "a-long-id-of-an-entry";
        let label = format!("{{\"type\":\"label\",\"id\":\"aaaa0001\",\"parentId\":\"{last}\",\"targetId\":\"bbbb0001\",\"label\":\"x\"}}\n");
        let name = format!("{{\"type\":\"session_info\",\"id\":\"aaaa0001\",\"parentId\":\"{last}\",\"name\":\"x\"}}\n");
        let check = |appended: &[&str], wanted: &str| {
            let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
            let lines: Vec<String> = (0..200).map(pi).collect();
            write!(file, "{HEADER}\n{}\n", lines.join("\n")).unwrap();
            let (mut growing, mut known) = (Growing::new(file.path(), Options::default()), None);
            assert!(!check_more(&mut growing, &mut known, "at first"));
            let mut how = String::new();
            for piece in appended {
                write!(file, "{piece}").unwrap();
                how.push(if check_more(&mut growing, &mut known, piece) { '+' } else { 'w' });
            }
            assert_eq!(how, wanted, "{appended:?}");
        };
        let (next, after) = (turn("bbbb0001", last), turn("bbbb0002", "bbbb0001"));
        // `+` where it is added, `w` where the session is given as a whole
        check(&[&next, &after],                                     "++");
        check(&[&format!("{next}{after}"), ""],                     "++");
        check(&[&turn(long, last), &turn("bbbb0002", long)],        "++");
        check(&[&next.replace('\n', "\r\n"), &after],            "++");
        check(&[&next.replace("content", "usage\":{\"input\":1},\"content"), &after], "++");
        // A line that is not whole, and the rest of it
        check(&[&next[..30], &next[30..], &after],                  "ww+");
        check(&[next.trim_end(), "\n", &after],                    "ww+");
        // Another branch, a root, an entry without a parent
        check(&[&turn("bbbb0001", "00000003"), &after],             "w+");
        check(&[&entry("bbbb0001", "null", "\"message\":{\"role\":\"user\",\"content\":\"so\"}"), &after], "w+");
        check(&[&turn("bbbb0001", "lost"), &after],                 "w+");
        // An id that was there
        check(&[&turn("00000003", last), &turn("bbbb0002", "00000003")],   "w+");
        check(&[&next, &turn("bbbb0001", "bbbb0001")],              "+w");
        check(&[&format!("{next}{}", turn("bbbb0001", "bbbb0001"))], "w");
        // The parent of an entry that came before it, and the target of a label
        check(&[&turn("cccc0001", "bbbb0001"), &turn("bbbb0001", "cccc0001")], "ww");
        check(&[&label, &turn("bbbb0001", "aaaa0001")],             "ww");
        // Other lines
        check(&[&label, &turn("bbbb0003", "aaaa0001")],             "w+");
        check(&[&name, &turn("bbbb0001", "aaaa0001"), &after],      "w++");
        check(&["\n", &next],                                      "w+");
        check(&["x\n", &next],                                     "w+");
        check(&["{\"type\":\"custom\",\"id\":\"aaaa0001\",\"parentId\":\"00000199\",\"customType\":\"bough.switch\",\"data\":{\"to\":\"00000003\"}}\n", &turn("bbbb0001", "aaaa0001")], "w+");
    }

    #[test]
    fn only_what_was_appended_is_parsed_again() {
        let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
        let lines: Vec<String> = (0..200).map(pi).collect();
        write!(file, "{HEADER}\n{}\n", lines.join("\n")).unwrap();
        let mut growing = Growing::new(file.path(), Options::default());
        let at = |growing: &Growing| growing.read.as_ref().map(|so_far| (so_far.at, so_far.lines));
        growing.read().unwrap();
        let len = file.as_file().metadata().unwrap().len();
        assert_eq!(at(&growing), Some((len, 201)));
        // The next reading begins there, as the line that a part of it would have changed shows.
        write!(file, "{}", pi(200)).unwrap();
        growing.read().unwrap();
        assert_eq!(at(&growing), Some((len, 201)));
        writeln!(file).unwrap();
        assert_eq!(growing.read().unwrap().session.entries.len(), 201);
        assert_eq!(at(&growing), Some((len + pi(200).len() as u64 + 1, 202)));
        // A reading as a whole keeps nothing.
        assert_eq!(growing.read_whole().unwrap().session.entries.len(), 201);
        assert_eq!(at(&growing), None);
    }

    #[test]
    fn a_file_that_was_cut_or_replaced_is_read_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let text = |from: u32, to: u32| {
            let lines: Vec<String> = (from..to).map(pi).collect();
            format!("{HEADER}\n{}\n", lines.join("\n"))
        };
        std::fs::write(&path, text(0, 200)).unwrap();
        let mut growing = Growing::new(&path, Options::default());
        check(&mut growing, "at first");
        // Cut, and then longer than before with other bytes.
        std::fs::write(&path, text(0, 150)).unwrap();
        check(&mut growing, "cut");
        std::fs::write(&path, text(7, 300)).unwrap();
        check(&mut growing, "written anew");
        // Another file with more lines.
        let other = folder.path().join("other");
        std::fs::write(&other, text(0, 400)).unwrap();
        std::fs::rename(&other, &path).unwrap();
        check(&mut growing, "replaced");
        std::fs::write(&path, text(0, 2)).unwrap();
        check(&mut growing, "small");
        std::fs::write(&path, text(0, 200)).unwrap();
        check(&mut growing, "large again");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(growing.read(), Err(Error::NotFound { .. })));
    }
}
