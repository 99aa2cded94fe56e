//! Reading a session that grows: at first as a whole, and then only what was appended.

use super::parallel;
use super::whole::{Opened, Options, begin, detect_format, is_read_once, open, read_ended, read_head};
use crate::format::Builder;
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
        let small = self.path.metadata().is_ok_and(|facts| facts.len() < SMALL);
        if small || is_read_once(&self.path) || compressed::is_named(&self.path) {
            self.read = None;
            return open(&self.path, self.options);
        }
        let io = |source| Error::Io { path: self.path.clone(), source };
        let file = File::open(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound { path: self.path.clone() },
            _ => io(error),
        })?;
        let stamp = Stamp::take(&file).map_err(io)?;
        let kept = self.read.take().filter(|so_far| so_far.only_grew(&stamp, &file));
        let mut so_far = match kept {
            Some(so_far) => SoFar { stamp, ..so_far },
            None => {
                let head = read_head(&file).map_err(io)?;
                let chosen = detect_format(&self.path, &file, &head, self.options)?;
                if chosen.format.is_document() {
                    return open(&self.path, self.options);
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
                SoFar { stamp, builder, at, lines, window: Vec::new() }
            }
        };
        let session = so_far.read_on(&file).map_err(io)?.finish();
        let mut files = Files::new();
        files.add(self.path.clone(), Content::File(file), Some(so_far.stamp.clone()));
        self.read = Some(so_far);
        Ok(Opened { session, files })
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

    /// Reads everything after the known lines. Returns the builder of the session as it is now,
    /// which may have a last line that is not complete.
    fn read_on(&mut self, file: &File) -> io::Result<Builder> {
        let SoFar { builder, at, lines, .. } = self;
        let mut reader: Reader = builder.reader();
        reader.restart(*at, *lines);
        read_ended(file, &mut reader, *at, |line| {
            builder.line(line);
            *lines = line.number;
            *at = line.offset + line.len + u64::from(line.ending == Ending::CrLf) + 1;
        })?;
        let mut now = self.builder.snapshot();
        reader.finish(|line| now.line(line));
        let len = self.at.min(WINDOW);
        self.window = stamp::read_at(file, self.at - len, len as usize)?;
        Ok(now)
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

    /// Reads the session, and compares it with one that is read as a whole.
    fn check(growing: &mut Growing, what: &str) {
        let now = growing.read().unwrap();
        let whole = open(&growing.path, growing.options).unwrap();
        // How many entries were expected depends on the length at first.
        let shown = |session: &Session| -> Vec<String> {
            let text = format!("{session:#?}");
            text.lines().filter(|line| !line.contains(" expected: ")).map(str::to_owned).collect()
        };
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
