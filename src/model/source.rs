use std::io;

/// One stretch of a session's files: a line without its line ending, mostly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Which file of the session, counted from 0; the main file is 0.
    pub file: u16,
    /// The first byte, counted from the start of the file.
    pub offset: u64,
    /// How many bytes.
    pub len: u64,
}

/// Gives the bytes of a span: the one way in which anything but `store` reaches a file.
pub trait Source {
    /// Puts the bytes of `span` into `into`, whose old content is dropped.
    ///
    /// Fails where the file can't be read, or has become shorter than the span.
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()>;

    /// Returns the bytes of `span`; a shorthand for [`Source::read`] where one line is wanted.
    fn bytes(&self, span: Span) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read(span, &mut bytes)?;
        Ok(bytes)
    }
}

/// Files in memory: what tests and standard input are read from.
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
