//! Which entries `log` prints.

use super::{Args, follow};
use crate::cmd::Failure;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::thread_arg::ThreadView;
use crate::cmd::shared::{session_arg, time};
use crate::format::{Content, Session};
use crate::model::{Ix, Kind, Source, Time};
use crate::ops::filter;
use crate::ops::filter::Mode;
use crate::ops::log_rows::RowWalk;
use crate::ops::{revision, tool_calls};
use crate::store::{Opened, TailRequest};
use crate::ui::Ui;
use regex::{Regex, RegexBuilder};
use std::collections::HashSet;
use std::io;

/// Which of the entries chosen by revisions are kept.
#[derive(Clone)]
pub(super) struct Filter {
    kinds: Vec<Kind>,
    mode: Option<Mode>,
    all: bool,
    agents: bool,
    since: Option<Time>,
    until: Option<Time>,
    grep: Option<Regex>,
    /// Whether a call is part of the row of its result.
    pub(super) joins_calls: bool,
}

impl Filter {
    pub(super) fn new(args: &Args) -> Result<Filter, Failure> {
        let time =
            |text: &Option<String>| text.as_deref().map(|text| time::parse(text, time::now())).transpose();
        let is_long = args.full || args.raw || matches!(args.format.as_deref(), Some("full" | "raw"));
        let is_chosen = args.all || args.filter.is_some() || args.grep.is_some() || !args.kinds.is_empty();
        Ok(Filter {
            // What is asked for by its kind or its text has a row of its own, and so has what is printed whole or with its tokens.
            joins_calls: !is_long && !is_chosen && !args.stat && !args.follow,
            kinds: args.kinds.iter().filter_map(|kind| Kind::from_name(kind)).collect(),
            mode: args.filter.as_deref().and_then(|name| {
                Mode::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, mode)| mode)
            }),
            all: args.all,
            agents: args.agents,
            since: time(&args.since)?,
            until: time(&args.until)?,
            grep: args.grep.as_deref().map(pattern).transpose()?,
        })
    }

    /// Returns whether the whole conversation is kept.
    pub(super) fn is_plain(&self) -> bool {
        let by_kind = self.mode.is_some() || !self.kinds.is_empty();
        !by_kind && self.since.is_none() && self.until.is_none() && self.grep.is_none()
    }

    /// Does the same over all entries, whatever their type.
    pub(super) fn of_everything(&self) -> Filter {
        Filter { all: true, joins_calls: false, ..self.clone() }
    }

    /// Returns whether an entry was requested, as far as its kind is concerned.
    pub(super) fn asks_for(&self, session: &Session, ix: Ix) -> bool {
        let of_kind = || {
            self.kinds.contains(&session.entries.kind(ix))
                || self.kinds.contains(&filter::shown_kind(session, ix))
        };
        match (self.mode, self.kinds.is_empty()) {
            (Some(mode), true) => mode.shows(session, ix),
            (Some(mode), false) => mode.shows(session, ix) && of_kind(),
            (None, false) => of_kind(),
            (None, true) => self.all || self.is_in_any_conversation(session, ix),
        }
    }

    /// Returns whether an entry belongs to the conversation, i.e. is listed by default.
    pub(super) fn is_in_any_conversation(&self, session: &Session, ix: Ix) -> bool {
        filter::conversation(session, ix) || self.agents && filter::any_conversation(session, ix)
    }

    /// Returns whether an entry is kept. Reads its line only if its text decides.
    pub(super) fn takes(&self, opened: &Opened, ix: Ix, line: &mut Vec<u8>) -> io::Result<bool> {
        let (session, entries) = (&opened.session, &opened.session.entries);
        // An entry without a time is never in a range of times.
        let time = entries.time(ix);
        let in_time = (self.since.is_none() && self.until.is_none())
            || time.is_some()
                && self.since.is_none_or(|since| time >= since)
                && self.until.is_none_or(|until| time <= until);
        if !self.asks_for(session, ix) || !in_time {
            return Ok(false);
        }
        let Some(grep) = &self.grep else { return Ok(true) };
        opened.files.read(session.span(ix), line)?;
        let content = Content::read(session.format, line);
        Ok(grep.is_match(&content.text)
            || content
                .calls()
                .any(|(_, name, arguments)| grep.is_match(&crate::format::call_words(name, arguments))))
    }

    /// Whether a prompt that is in no entry is kept: by its text, and only if no time is asked for, since it has none.
    pub(super) fn takes_text(&self, text: &str) -> bool {
        self.since.is_none()
            && self.until.is_none()
            && self.grep.as_ref().is_none_or(|grep| grep.is_match(text))
    }

    /// The entry whose path is listed where no revision says so: the leaf where the agent's own filters are
    /// asked for, since these may show what stands between HEAD and the leaf.
    pub(super) fn end_of_path(&self, opened: &Opened) -> Option<Ix> {
        let session = &opened.session;
        let end = session.end();
        // If a reply continues below HEAD, it ends after the leaf, too.
        let at_leaf = self.mode.is_some() && end == session.head.entry;
        if at_leaf { session.head.leaf.or(end) } else { end }
    }
}

/// Compiles a pattern; one without capital letters ignores case.
fn pattern(text: &str) -> Result<Regex, Failure> {
    let small = !text.chars().any(char::is_uppercase);
    RegexBuilder::new(text).case_insensitive(small).multi_line(true).build().map_err(|error| Failure::Usage {
        what: format!("invalid regular expression `{text}`: {}", crate::cmd::grep::reason(&error)),
        hint: String::new(),
    })
}

/// Opens the session, and reads only its end if only the end of the path to HEAD is needed.
pub(super) fn open_some(
    args: &Args,
    global: &Global,
    named: Option<&str>,
    revisions: &[String],
    keep: &Filter,
    ui: &mut Ui,
) -> anyhow::Result<Opened> {
    // Line numbers are not known from the end, and a text or a time may match anywhere.
    let whole = args.graph || args.all || global.json || !revisions.is_empty();
    let anywhere = keep.grep.is_some() || keep.since.is_some() || keep.until.is_some();
    let count = args.count.or(args.follow.then_some(follow::FIRST));
    let Some(count) = count.filter(|_| !whole && !anywhere) else {
        return session_arg::session(global, named, ui);
    };
    let count = count.saturating_add(args.skip);
    let enough = |session: &Session| has_rows(session, keep, count);
    // A label comes after the entry that it names, so labels of entries at the end are also at the
    // end.
    let part = TailRequest { side: true, enough: &enough, ..TailRequest::default() };
    session_arg::part(global, named, &part, ui)
}

/// Returns whether a part of a session has the last rows of its path, with their calls.
fn has_rows(session: &Session, keep: &Filter, count: usize) -> bool {
    let row = || {
        let mut walk = keep.joins_calls.then(RowWalk::default);
        move |ix: Ix| keep.asks_for(session, ix) && walk.as_mut().is_none_or(|walk| walk.is_row(session, ix))
    };
    let mut row_of_path = row();
    let is_row = move |ix: &Ix| row_of_path(*ix);
    let path = session.head.leaf.into_iter().flat_map(|leaf| session.tree.ancestors(leaf));
    session.knows_path(count, row()) && tool_calls::are_known(session, path.filter(is_row).take(count))
}

/// The choice of revisions.
pub(super) enum Selection {
    /// There are no revisions.
    Nothing,
    /// The entries on paths, and those of sets.
    Entries(HashSet<Ix>),
}

impl Selection {
    /// Returns whether revisions choose no entry at all.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Selection::Entries(chosen) if chosen.is_empty())
    }

    /// Resolves revisions: a single one means its path, a set means itself.
    ///
    /// Single revisions are resolved by the stored links, as in all commands, and sets after
    /// linearizing Claude Code's sessions, unless the stored links are requested.
    pub(super) fn resolve(
        read: &mut ThreadView,
        revisions: &[String],
        dag: bool,
    ) -> anyhow::Result<Selection> {
        let (mut singles, mut sets) = (Vec::new(), Vec::new());
        for revision in revisions {
            let opened = &read.opened;
            if revision::is_set(&opened.session, &opened.files, revision)? {
                sets.push(revision.clone());
            } else {
                singles.push(revision::resolve_one(&opened.session, &opened.files, revision)?);
            }
        }
        if !dag {
            read.join()?;
        }
        let opened = &read.opened;
        let mut entries = HashSet::new();
        for set in sets {
            entries.extend(revision::set(&opened.session, &opened.files, &[set])?);
        }
        for ix in singles {
            let end = read.reading.as_ref().map_or(ix, |reading| reading.stand_in(ix));
            entries.extend(opened.session.tree.ancestors(opened.session.end_at(end)));
        }
        Ok(if revisions.is_empty() { Selection::Nothing } else { Selection::Entries(entries) })
    }
}
