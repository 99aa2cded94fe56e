//! The inert elements of a page, deflated and encoded on all processors.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, FlushCompress, Status};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, available_parallelism};

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

    /// Writes a chunk of bodies, which is left empty. Only two chunks for each thread wait, and fewer if they are large.
    pub(super) fn chunk(&mut self, chunk: &mut Vec<u8>) -> io::Result<()> {
        let Some(threads) = threads() else {
            let encoded = encoded(chunk);
            chunk.clear();
            return self.encoded("chunk", &encoded);
        };
        let room = Vec::with_capacity(chunk.len().min(MOST / 8));
        let bytes = std::mem::replace(chunk, room);
        self.waiting.push_back((bytes.len(), threads.encode(bytes)));
        while self.waiting.len() > 2 * threads.count
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

/// A chunk to be deflated, and where the result goes.
type Job = (Vec<u8>, SyncSender<Vec<u8>>);

/// Threads that deflate. They sleep while there is nothing to do: those of a pool that looks for work would take a tenth of the
/// time that they work.
struct Threads {
    chunks: Sender<Job>,
    count: usize,
}

/// The most threads. What they deflate is made by one thread, which is busy longer.
const THREADS: usize = 4;

impl Threads {
    /// Starts as many as there are processors beside that of the caller.
    fn start() -> Option<Threads> {
        let (chunks, next) = channel::<Job>();
        let next = Arc::new(Mutex::new(next));
        let others = available_parallelism().map_or(0, |all| all.get() - 1);
        let work = move |next: &Mutex<Receiver<Job>>| {
            loop {
                // Only one of them waits for a chunk; the others wait for that one.
                let got = next.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((bytes, give)) = got else { return };
                // The other end is gone only if writing failed.
                _ = give.send(encoded(&bytes));
            }
        };
        let start = |_| {
            let next = Arc::clone(&next);
            thread::Builder::new().name("deflate".into()).spawn(move || work(&next)).ok()
        };
        let count = (0..others.min(THREADS)).map_while(start).count();
        (count > 0).then_some(Threads { chunks, count })
    }

    /// Deflates and encodes bytes; what is returned gives the result.
    fn encode(&self, bytes: Vec<u8>) -> Receiver<Vec<u8>> {
        let (give, result) = sync_channel(1);
        // If no thread took it, there is no result, which the caller notices.
        _ = self.chunks.send((bytes, give));
        result
    }
}

/// Returns the threads that deflate, which are started once, or `None` if that is impossible or there is one processor only.
fn threads() -> Option<&'static Threads> {
    static STARTED: OnceLock<Option<Threads>> = OnceLock::new();
    STARTED.get_or_init(Threads::start).as_ref()
}
