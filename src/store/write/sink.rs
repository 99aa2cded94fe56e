//! Where the content of a new file goes: to a file in blocks, or to a stream; its hash is made on the way.

use super::sys;
use crate::store::oplog::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write};

/// How many bytes of a new file are written at a time.
const BLOCK: usize = 256 * 1024;

/// The destination of the content of a new file.
pub(crate) struct Sink<'a> {
    into: Into<'a>,
    hash: Sha256,
    /// What is not yet written to a file.
    waiting: Vec<u8>,
}

enum Into<'a> {
    File(&'a File),
    Stream(&'a mut dyn Write),
}

/// Writes the content of a new file.
pub(crate) type Fill<'f> = dyn FnMut(&mut Sink<'_>) -> io::Result<()> + 'f;

impl<'a> Sink<'a> {
    pub(crate) fn to(stream: &'a mut dyn Write) -> Sink<'a> {
        Sink { into: Into::Stream(stream), hash: Sha256::new(), waiting: Vec::new() }
    }

    pub(super) fn to_file(file: &'a File) -> Sink<'a> {
        Sink { into: Into::File(file), hash: Sha256::new(), waiting: Vec::new() }
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Into::Stream(stream) = &mut self.into {
            return stream.write_all(bytes);
        }
        if self.waiting.len() + bytes.len() > BLOCK {
            self.flush()?;
        }
        match bytes.len() < BLOCK {
            true => self.waiting.extend_from_slice(bytes),
            false => self.put(bytes)?,
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        if !waiting.is_empty() {
            self.put(&waiting)?;
        }
        waiting.clear();
        self.waiting = waiting;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        match &mut self.into {
            Into::File(file) => sys::write_new(file, bytes),
            Into::Stream(stream) => stream.write_all(bytes),
        }
    }

    /// Writes what is waiting; returns the SHA-256 of the content.
    pub(super) fn finish(mut self) -> io::Result<String> {
        self.flush()?;
        Ok(hex(&self.hash.finalize()))
    }
}
