//! A session as the navigator has it in memory, and the thread that reads it.

use crate::cmd::shared::thread_arg::ThreadView;
use crate::cmd::shared::{after_move, write};
use crate::format::Session;
use crate::model::Ix;
use crate::ops::rows::Order;
use crate::store::oplog::Log;
use crate::store::write::Signs;
use crate::store::{self, End, Growing, Opened, Options, TailRequest};
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A session that was read.
pub(super) struct Model {
    pub(super) opened: Opened,
    pub(super) order: Order,
    /// The entry whose path comes first, and which every filter shows.
    pub(super) leaf: Option<Ix>,
    /// What is said of entries beside their labels.
    pub(super) marks: HashMap<Ix, Vec<String>>,
    /// Why an agent seems to be at work on the file.
    pub(super) signs: Option<Signs>,
    /// The end of the file as it was read.
    pub(super) end: End,
}

/// The rows that are read first of a large file.
const FIRST_ROWS: usize = 200;

impl Model {
    /// Reads the session as a whole. While it is followed, what is known of a file that only grew is not read again.
    pub(super) fn read(growing: &mut Growing, is_followed: bool) -> anyhow::Result<Model> {
        Model::new(if is_followed { growing.read()? } else { growing.read_whole()? })
    }

    /// Reads the end of a large file: enough for a screen of rows. `None` if only the whole would do.
    pub(super) fn read_end(path: &Path, options: Options) -> Option<Model> {
        let enough = |session: &Session| session.knows_path(FIRST_ROWS, |_| true);
        let part = TailRequest { enough: &enough, ..TailRequest::default() };
        // Whatever is wrong is reported by the reading of the whole.
        let opened = store::open_end(path, options, &part).ok().flatten()?;
        Model::new(opened).ok()
    }

    fn new(opened: Opened) -> anyhow::Result<Model> {
        let end = End::take(&opened);
        let mut read = ThreadView::unlinearized(opened);
        if !read.opened.session.partial {
            read.join()?;
        }
        let marks = read.marks()?;
        let session = &read.opened.session;
        // A reply may go on below HEAD; then the path ends after the leaf.
        let tip = session.end();
        let leaf = if tip == session.head.entry { session.head.leaf.or(tip) } else { tip };
        let order = Order::new(session, leaf);
        let signs = signs_of_life(&read.opened);
        Ok(Model { opened: read.opened, order, leaf, marks, signs, end })
    }

    pub(super) fn session(&self) -> &Session {
        &self.opened.session
    }

    /// Whether an agent seems to be at work on the file now.
    pub(super) fn is_agent_running(&self) -> bool {
        signs_of_life(&self.opened).is_some()
    }

    pub(super) fn path(&self) -> &Path {
        self.opened.files.path(0)
    }

    /// The command by which the agent resumes the session.
    pub(super) fn resume_command(&self) -> Option<String> {
        after_move::resume_command(self.session().format, self.path())
    }
}

fn signs_of_life(opened: &Opened) -> Option<Signs> {
    let is_link = opened.files.path(0).is_symlink();
    write::signs_of_life(&opened.files, is_link, false, Log::of_user().as_ref())
}

/// Reads a session in the background.
pub(super) struct Loader {
    growing: Arc<Mutex<Growing>>,
    /// What the reading thread gives, if one is at work.
    coming: Option<Receiver<anyhow::Result<Model>>>,
    /// Whether to read once more, since the file may have changed after the reading began.
    again: bool,
    is_followed: bool,
    began: Instant,
    took: Duration,
}

impl Loader {
    pub(super) fn new(growing: Growing) -> Loader {
        let growing = Arc::new(Mutex::new(growing));
        let (coming, again, is_followed) = (None, false, false);
        Loader { growing, coming, again, is_followed, began: Instant::now(), took: Duration::ZERO }
    }

    /// Begins to read the whole session; if that is under way, once more after it.
    ///
    /// If the session is followed, the next reading begins where this one ends.
    pub(super) fn start(&mut self, is_followed: bool) {
        self.is_followed = is_followed;
        if self.coming.is_some() {
            self.again = true;
            return;
        }
        self.began = Instant::now();
        let (give, coming) = channel();
        let growing = self.growing.clone();
        std::thread::spawn(move || {
            // Nobody waits for it if the navigator was left meanwhile.
            let mut growing = growing.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = give.send(Model::read(&mut growing, is_followed));
        });
        self.coming = Some(coming);
    }

    pub(super) fn is_reading(&self) -> bool {
        self.coming.is_some()
    }

    /// What was read, if that is complete.
    pub(super) fn take(&mut self) -> Option<anyhow::Result<Model>> {
        let read = match self.coming.as_ref()?.try_recv() {
            Ok(read) => read,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err(anyhow::anyhow!("the reading thread ended early")),
        };
        (self.coming, self.took) = (None, self.began.elapsed());
        if std::mem::take(&mut self.again) {
            self.start(self.is_followed);
        }
        Some(read)
    }

    /// How long to wait before a growing file is read again, so that reading takes a third of the time at most.
    pub(super) fn pause(&self) -> Duration {
        2 * self.took
    }
}
