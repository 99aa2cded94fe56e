//! A session as the navigator has it in memory, and the thread that reads it.

use crate::cmd::shared::thread_arg::ThreadView;
use crate::cmd::shared::{after_move, write};
use crate::format::Session;
use crate::model::Ix;
use crate::ops::filter::Mode;
use crate::ops::rows::{Order, Rows};
use crate::store::oplog::Log;
use crate::store::write::Signs;
use crate::store::{self, Growing, Grown, Opened, Options, Reading, TailRequest};
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
    /// The rows of a filter, made where the session was read, and the number of the filter.
    rows: Option<(usize, Rows)>,
}

/// How a session is read.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// What is known of a file that only grew is not read again.
    pub(super) is_followed: bool,
    /// The number of the filter for which rows are made.
    pub(super) filter: usize,
}

/// What was read.
pub(super) enum News {
    Model(Box<Model>),
    /// What the session gained since the last reading.
    Grown(Box<Grown>),
}

impl News {
    fn read(growing: &mut Growing, how: How) -> anyhow::Result<News> {
        if !how.is_followed {
            return Ok(News::Model(Box::new(Model::read(growing, how.filter)?)));
        }
        Ok(match growing.read_more()? {
            Reading::Grown(grown) => News::Grown(grown),
            Reading::Whole(opened) => News::Model(Box::new(Model::new(*opened, how.filter)?)),
        })
    }
}

impl Model {
    /// Reads the session as a whole.
    pub(super) fn read(growing: &mut Growing, filter: usize) -> anyhow::Result<Model> {
        Model::new(growing.read_whole()?, filter)
    }

    /// Reads the end of a large file: enough for a screen of some rows. `None` if only the whole would do.
    pub(super) fn read_end(path: &Path, options: Options, rows: usize, filter: usize) -> Option<Model> {
        let enough = |session: &Session| session.knows_path(rows, |_| true);
        let part = TailRequest { enough: &enough, ..TailRequest::default() };
        // Whatever is wrong is reported by the reading of the whole.
        let opened = store::open_end(path, options, &part).ok().flatten()?;
        Model::new(opened, filter).ok()
    }

    fn new(opened: Opened, filter: usize) -> anyhow::Result<Model> {
        let mut read = ThreadView::unlinearized(opened);
        if !read.opened.session.partial {
            read.join()?;
        }
        let marks = read.marks()?;
        let session = &read.opened.session;
        let leaf = leaf_of(session);
        let order = Order::new(session, leaf);
        let signs = signs_of_life(&read.opened);
        let mut model = Model { opened: read.opened, order, leaf, marks, signs, rows: None };
        model.rows = Some((filter, model.rows_of(filter)));
        Ok(model)
    }

    /// Adds what the session gained, and gives the rows that a filter shows then. `rows` were those before.
    ///
    /// Gives the rows as they were if it does not fit: then the session is to be read as a whole.
    pub(super) fn grow(&mut self, grown: Grown, mut rows: Rows, filter: usize) -> Result<Rows, Rows> {
        let Some(from) = self.opened.grow(grown) else { return Err(rows) };
        let (session, before) = (&self.opened.session, self.leaf);
        let added = session.entries.len() - from;
        self.leaf = leaf_of(session);
        let last = |count: usize| count.checked_sub(1).map(|last| Ix(last as u32));
        if self.signs.is_none() {
            self.signs = signs_of_life(&self.opened);
        }
        let Some(leaf) = last(from).filter(|_| before == last(from) && self.leaf == last(from + added))
        else {
            self.order = Order::new(session, self.leaf);
            return Ok(self.rows_of(filter));
        };
        self.order.grow(added);
        let mode = Mode::ALL[filter].1;
        let is_grown = rows.grow(leaf, added, |ix| mode.shows(session, ix));
        Ok(if is_grown { rows } else { self.rows_of(filter) })
    }

    /// The rows that a filter shows.
    pub(super) fn rows_of(&self, filter: usize) -> Rows {
        let (session, mode) = (self.session(), Mode::ALL[filter].1);
        Rows::new(&session.tree, &self.order, |ix| mode.shows(session, ix))
    }

    /// Takes the rows that were made with the model, if they are those of a filter.
    pub(super) fn take_rows(&mut self, filter: usize) -> Option<Rows> {
        self.rows.take().filter(|(made, _)| *made == filter).map(|(_, rows)| rows)
    }

    /// Whether the file has changed since it was read.
    pub(super) fn has_changed(&self) -> Result<bool, store::Error> {
        store::has_changed(&self.opened)
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

/// The entry whose path comes first.
fn leaf_of(session: &Session) -> Option<Ix> {
    // A reply may go on below HEAD; then the path ends after the leaf.
    let tip = session.end();
    if tip == session.head.entry { session.head.leaf.or(tip) } else { tip }
}

fn signs_of_life(opened: &Opened) -> Option<Signs> {
    let is_link = opened.files.path(0).is_symlink();
    write::signs_of_life(&opened.files, is_link, false, Log::of_user().as_ref())
}

/// Reads a session in the background.
pub(super) struct Loader {
    growing: Arc<Mutex<Growing>>,
    /// What the reading thread gives, if one is at work.
    coming: Option<Receiver<anyhow::Result<News>>>,
    /// Whether a reading is to begin after the next frame.
    is_due: bool,
    /// Whether to read once more, since the file may have changed after the reading began.
    again: bool,
    how: How,
    began: Instant,
    took: Duration,
}

impl Loader {
    /// If the reading `is_due`, it begins with [`Loader::start_due`].
    pub(super) fn new(growing: Growing, how: How, is_due: bool) -> Loader {
        let (growing, began, took) = (Arc::new(Mutex::new(growing)), Instant::now(), Duration::ZERO);
        Loader { growing, coming: None, is_due, again: false, how, began, took }
    }

    /// Begins the reading that is due, if one is: the first frame does not share the processors with it.
    pub(super) fn start_due(&mut self, how: How) {
        if self.is_due {
            self.start(how);
        }
    }

    /// Begins to read the whole session; if that is under way, once more after it.
    ///
    /// If the session is followed, the next reading begins where this one ends.
    pub(super) fn start(&mut self, how: How) {
        (self.how, self.is_due) = (how, false);
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
            let _ = give.send(News::read(&mut growing, how));
        });
        self.coming = Some(coming);
    }

    pub(super) fn is_reading(&self) -> bool {
        self.is_due || self.coming.is_some()
    }

    /// What was read, if that is complete.
    pub(super) fn take(&mut self) -> Option<anyhow::Result<News>> {
        let read = match self.coming.as_ref()?.try_recv() {
            Ok(read) => read,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err(anyhow::anyhow!("the reading thread ended early")),
        };
        (self.coming, self.took) = (None, self.began.elapsed());
        if std::mem::take(&mut self.again) {
            self.start(self.how);
        }
        Some(read)
    }

    /// How long to wait before a growing file is read again, so that reading takes a third of the time at most.
    pub(super) fn pause(&self) -> Duration {
        2 * self.took
    }
}
