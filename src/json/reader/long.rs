//! Lines that are too long to hold in memory.

use super::{At, Ending, Line, Notes, PYTHONS_DEPTH, bom_len};
use crate::json::bytewise::{Limits, Machine};
use crate::json::fields::{Fields, Found};

/// A line that is too long to hold in memory: the state that the machine does not keep.
pub(super) struct Long {
    number: u64,
    offset: u64,
    len: u64,
    /// Whether the last byte was a carriage return. It is held back, because it may be part of the
    /// line ending.
    carriage_return: bool,
    utf8: Utf8,
    notes: Notes,
}

impl Long {
    /// Starts a line at the byte `offset` of the file.
    pub(super) fn begin(
        number: u64,
        offset: u64,
        start: &[u8],
        machine: &mut Machine,
        found: &mut Found,
    ) -> Long {
        let bom = bom_len(number, start);
        let notes = Notes { bom: bom > 0, ..Notes::default() };
        let offset = offset + bom as u64;
        let mut long = Long { number, offset, len: 0, carriage_return: false, utf8: Utf8::default(), notes };
        machine.start(Limits::LONG, found);
        long.feed(&start[bom..], machine, found);
        long
    }

    /// Ends the line and yields it.
    pub(super) fn end(
        mut self,
        newline: bool,
        machine: &mut Machine,
        found: &mut Found,
        each: &mut impl FnMut(&Line<'_>),
    ) {
        let ending = match (newline, self.carriage_return) {
            (true, true) => Ending::CrLf,
            (true, false) => Ending::Lf,
            (false, _) => {
                self.feed_held(machine, found);
                Ending::None
            }
        };
        let shape = machine.finish(found);
        let notes = Notes {
            invalid_utf8: !self.utf8.is_valid(),
            lone_surrogate: machine.lone_surrogate(),
            deep: machine.deepest() > PYTHONS_DEPTH,
            ..self.notes
        };
        let fields = Fields { bytes: machine.copies(), found };
        let at = At { number: self.number, offset: self.offset, ending };
        each(&at.line(self.len, shape, notes, fields, None));
    }

    /// Reads the next bytes of the line.
    pub(super) fn feed(&mut self, piece: &[u8], machine: &mut Machine, found: &mut Found) {
        let Some((last, before)) = piece.split_last() else { return };
        self.feed_held(machine, found);
        self.carriage_return = *last == b'\r';
        let piece = if self.carriage_return { before } else { piece };
        self.len += piece.len() as u64;
        self.notes.nul |= memchr::memchr(0, piece).is_some();
        self.utf8.feed(piece);
        machine.feed(piece, found);
    }

    fn feed_held(&mut self, machine: &mut Machine, found: &mut Found) {
        if std::mem::take(&mut self.carriage_return) {
            self.len += 1;
            self.utf8.feed(b"\r");
            machine.feed(b"\r", found);
        }
    }
}

/// Checks UTF-8 in pieces.
#[derive(Default)]
struct Utf8 {
    invalid: bool,
    /// The first bytes of a character whose other bytes are still missing.
    begun: [u8; 4],
    have: usize,
}

impl Utf8 {
    fn feed(&mut self, mut piece: &[u8]) {
        while self.have > 0 && !self.invalid {
            let Some((next, rest)) = piece.split_first() else { return };
            piece = rest;
            self.begun[self.have] = *next;
            self.have += 1;
            match std::str::from_utf8(&self.begun[..self.have]) {
                Ok(_) => self.have = 0,
                Err(error) => self.invalid = error.error_len().is_some(),
            }
        }
        if self.invalid {
            return;
        }
        if let Err(error) = simdutf8::compat::from_utf8(piece) {
            let rest = &piece[error.valid_up_to()..];
            self.invalid = error.error_len().is_some();
            self.have = rest.len().min(3);
            self.begun[..self.have].copy_from_slice(&rest[..self.have]);
        }
    }

    fn is_valid(&self) -> bool {
        !self.invalid && self.have == 0
    }
}
