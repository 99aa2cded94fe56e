//! Access to the bytes of a session's files.

use std::io;

/// A range of bytes in one of a session's files, usually a line without its line ending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Which file of the session, counted from 0; the main file is 0.
    pub file: u16,
    /// The offset from the start of the file.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}

/// Reads the bytes of a span. Everything except `store` reaches files only through this trait.
pub trait Source {
    /// Reads the bytes of `span` into `into`, replacing its content.
    ///
    /// Fails if the file can't be read, or has become shorter than the span.
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()>;

    /// Returns the bytes of `span`; a shorthand for [`Source::read`] when only one line is needed.
    fn bytes(&self, span: Span) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read(span, &mut bytes)?;
        Ok(bytes)
    }
}

/// Files in memory, used by tests and for standard input.
#[derive(Default)]
pub struct Table(pub Vec<Vec<u8>>);

impl Source for Table {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        let end = span.offset + span.len;
        let bytes =
            self.0.get(usize::from(span.file)).and_then(|file| file.get(span.offset as usize..end as usize));
        into.clear();
        into.extend_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}
