//! The inert elements of a page, deflated and encoded on all processors.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, FlushCompress, Status};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, sync_channel};

/// How much effort goes into deflating: more costs far more time than it saves bytes.
const EFFORT: u32 = 1;

/// The most bytes of chunks that wait.
const MOST: usize = 4 << 20;

/// Writes a page, and counts its bytes.
pub(super) struct Writer<'w> {
    out: &'w mut dyn Write,
    pub(super) bytes: u64,
    /// Chunks that are deflated meanwhile, oldest first, each with its size.
    waiting: VecDeque<(usize, Receiver<Vec<u8>>)>,
}

impl<'w> Writer<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Writer<'w> {
        Writer { out, bytes: 0, waiting: VecDeque::new() }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Writes a chunk of bodies, which is left empty. Only two chunks for each processor wait, and fewer if they are large.
    pub(super) fn chunk(&mut self, chunk: &mut Vec<u8>) -> io::Result<()> {
        let Some(threads) = threads() else {
            let encoded = encoded(chunk);
            chunk.clear();
            return self.encoded("chunk", &encoded);
        };
        let room = Vec::with_capacity(chunk.len().min(MOST / 8));
        let bytes = std::mem::replace(chunk, room);
        let len = bytes.len();
        let (send, receive) = sync_channel(1);
        // The other end is gone only if writing failed.
        threads.spawn(move || _ = send.send(encoded(&bytes)));
        self.waiting.push_back((len, receive));
        while self.waiting.len() > 2 * threads.current_num_threads()
            || self.waiting.iter().map(|(len, _)| len).sum::<usize>() > MOST
        {
            self.oldest()?;
        }
        Ok(())
    }

    /// Writes all chunks that wait.
    pub(super) fn finish_chunks(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            self.oldest()?;
        }
        Ok(())
    }

    /// Writes the chunk that waits longest.
    fn oldest(&mut self) -> io::Result<()> {
        let Some((_, chunk)) = self.waiting.pop_front() else { return Ok(()) };
        let encoded = chunk.recv().map_err(io::Error::other)?;
        self.encoded("chunk", &encoded)
    }

    /// Writes bytes as an inert element, deflated.
    pub(super) fn element(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.encoded(name, &encoded(bytes))
    }

    /// Writes an inert element whose content is encoded already.
    pub(super) fn encoded(&mut self, name: &str, encoded: &[u8]) -> io::Result<()> {
        self.write(format!("<script type=\"application/x-bough-{name}\">").as_bytes())?;
        self.write(encoded)?;
        self.write(b"</script>\n")
    }
}

/// Deflates bytes in memory that is used again.
struct Deflater {
    state: Compress,
    /// What was deflated last.
    deflated: Vec<u8>,
}

thread_local! {
    static DEFLATER: RefCell<Deflater> =
        RefCell::new(Deflater { state: Compress::new(Compression::new(EFFORT), false), deflated: Vec::new() });
}

impl Deflater {
    /// Deflates and encodes bytes.
    fn encoded(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.state.reset();
        self.deflated.clear();
        loop {
            self.deflated.reserve(bytes.len() / 3 + 1024);
            let rest = &bytes[self.state.total_in() as usize..];
            let status = self.state.compress_vec(rest, &mut self.deflated, FlushCompress::Finish);
            match status.expect("the state was just begun") {
                Status::StreamEnd => break,
                Status::Ok | Status::BufError => {}
            }
        }
        let mut encoded = vec![0; self.deflated.len().div_ceil(3) * 4];
        let len =
            STANDARD.encode_slice(&self.deflated, &mut encoded).expect("there is room for three in four");
        debug_assert_eq!(len, encoded.len());
        // What a large element took is given back.
        if self.deflated.capacity() > MOST {
            self.deflated = Vec::new();
        }
        encoded
    }
}

/// Deflates and encodes bytes.
fn encoded(bytes: &[u8]) -> Vec<u8> {
    DEFLATER.with_borrow_mut(|deflater| deflater.encoded(bytes))
}

/// Returns the threads that deflate, which are started once, or `None` if that is impossible or there is one processor only.
fn threads() -> Option<&'static ThreadPool> {
    static THREADS: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let start = || ThreadPoolBuilder::new().build().ok().filter(|threads| threads.current_num_threads() > 1);
    THREADS.get_or_init(start).as_ref()
}
