//! Checks of the content of entries: empty texts, images, and files of images.

use super::Finder;
use crate::format::{NoteKind, image};
use crate::fsck::table::Check;
use crate::model::{Source, Span};
use std::io;

impl Finder<'_> {
    /// Checks the contents of entries.
    pub(crate) fn content(&mut self) -> io::Result<()> {
        let words = |kind| {
            Some(match kind {
                NoteKind::EmptyText => (Check::EmptyTextBlock, "a text block has no text"),
                NoteKind::EmptyContent => (Check::EmptyContent, "the content is an empty string"),
                NoteKind::ObjectContent => (Check::ObjectContent, "the content is an object, not a list"),
                NoteKind::WideImage => (Check::OversizeImage, "an image is larger than providers accept"),
                _ => return None,
            })
        };
        let mut found: Vec<_> =
            self.notes().filter_map(|note| Some((note.entry, words(note.kind)?))).collect();
        for note in self.notes_of(NoteKind::Long) {
            let seen = image::look_piecewise(note.len, |from, len| {
                let offset = note.offset + from;
                self.source.bytes(Span { file: note.file, offset, len: len as u64 })
            })?;
            found.extend((0..seen.oversize).filter_map(|_| Some((note.entry, words(NoteKind::WideImage)?))));
        }
        for (ix, (check, words)) in found {
            if self.session.tree.is_in_tree(ix) {
                self.entry(check, ix, None, |_, _| Ok(words.into()))?;
            }
        }
        for note in self.notes_of(NoteKind::Blob) {
            let line = self.line(note.entry)?;
            for at in memchr::memmem::find_iter(&line, b"blob:sha256:") {
                let hash = &line[at + b"blob:sha256:".len()..];
                let len = hash.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
                let hash = String::from_utf8_lossy(&hash[..len]);
                if len > 0 && !self.around.has_blob(&hash) {
                    self.entry(Check::MissingBlob, note.entry, None, |_, _| {
                        Ok(format!("the file of image `{hash}` is missing"))
                    })?;
                }
            }
        }
        Ok(())
    }
}
