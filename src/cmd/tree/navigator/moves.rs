//! The cursor of the navigator: where it goes, what is folded, and the search.

use super::Navigator;
use crate::model::{Ix, Kind, grouped};
use crate::ops::filter::Mode;
use crate::ops::revision;
use crate::ops::rows::{Scan, Scanned, Search};
use crate::store;
use crate::ui::text;
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// How many rows are searched before the clock is looked at.
const CLOCK: usize = 16;

/// How many calls of one reply are looked at. In a chain of results without a reply, all would be looked at for each.
const CALLS: usize = 64;

/// A search under way. It goes on after the first match, to count the others.
pub(super) struct Running {
    pub(super) scan: Scan,
    /// The row that is looked at next, and how many are left.
    pub(super) next: usize,
    pub(super) left: usize,
    pub(super) down: bool,
    /// The reply of the last result that was looked at, and whether the words may be in it.
    pub(super) reply: Option<(Ix, bool)>,
    /// The row from which the search went out.
    pub(super) from: usize,
    /// The rows that match, in the order in which they were found.
    pub(super) found: Vec<usize>,
    pub(super) since: Instant,
    /// When the screen said last how far it is.
    pub(super) said: Instant,
}

impl<'m> Navigator<'m> {
    pub(super) fn go_to(&mut self, row: usize) {
        self.cursor = row.min(self.rows.len().saturating_sub(1));
    }

    pub(super) fn go_to_index(&mut self, index: usize) {
        self.go_to(self.folds.row(index.min(self.visible().saturating_sub(1))));
    }

    /// Goes to a row that may be in a folded part.
    pub(super) fn jump(&mut self, row: Option<usize>, none: &str) {
        match row {
            Some(row) => {
                self.folds.reveal(&self.rows, row);
                self.go_to(row);
            }
            None => self.kept.message = none.into(),
        }
    }

    pub(super) fn prompt(&self, after: bool) -> Option<usize> {
        let session = self.model.session();
        let is_prompt = |row: &usize| revision::is_prompt(session, self.rows.entry(*row));
        match after {
            true => (self.cursor + 1..self.rows.len()).find(is_prompt),
            false => (0..self.cursor).rev().find(is_prompt),
        }
    }

    pub(super) fn fold_or_up(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        if !self.folds.is_folded(self.cursor) && self.folds.toggle(&self.rows, self.cursor) {
            return;
        }
        self.go_to(self.rows.branch_start_above(self.cursor));
    }

    pub(super) fn unfold_or_down(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        if self.folds.is_folded(self.cursor) {
            self.folds.toggle(&self.rows, self.cursor);
            return;
        }
        self.go_to(self.rows.branch_start_below(self.cursor));
    }

    /// Folds all branches but the first of each root, and goes to the row that is left of the one with the cursor.
    pub(super) fn fold_all(&mut self) {
        self.folds.fold_all(&self.rows);
        self.go_to_index(self.folds.index(self.cursor));
    }

    pub(super) fn unfold_all(&mut self) {
        self.folds.clear();
    }

    pub(super) fn set_filter(&mut self, filter: usize) {
        // The entry is not forgotten while the filters are tried.
        let here = match self.before_filter {
            Some((row, ix)) if row == self.cursor => Some(ix),
            _ => self.cursor_entry(),
        };
        self.kept.filter = filter;
        self.folds.clear();
        self.matches = None;
        self.rows = self.model.rows_of(filter);
        let (session, mode) = (self.model.session(), self.filter().1);
        self.view.mark(|ix| mode.shows(session, ix));
        self.cursor = match here.and_then(|here| self.rows.row_at_or_above(here)) {
            Some(row) => row,
            None => self.rows.len().saturating_sub(1),
        };
        self.before_filter = here.map(|here| (self.cursor, here));
    }

    /// Begins to search from the cursor.
    pub(super) fn search(&mut self, down: bool) {
        if self.kept.search.is_empty() {
            self.kept.message = "nothing was searched for yet".into();
            return;
        }
        let search = match Search::parse(&self.kept.search) {
            Ok(search) => search,
            Err(error) => {
                let reason = crate::cmd::grep::reason(&error);
                self.kept.message = format!("invalid regular expression: {reason}");
                return;
            }
        };
        let count = self.rows.len();
        if count == 0 || search.is_empty() {
            return;
        }
        self.kept.shows_matches = true;
        if let Some((words, matches)) = &self.matches
            && *words == self.kept.search
        {
            let at = match down {
                true => matches.iter().find(|row| **row > self.cursor).or(matches.first()),
                false => matches.iter().rfind(|row| **row < self.cursor).or(matches.last()),
            };
            if let Some(row) = at.copied() {
                self.go_to_match(row, self.cursor, down);
                return;
            }
        }
        let next = if down { self.cursor + 1 } else { self.cursor + count - 1 } % count;
        self.kept.message = "searching…".into();
        self.running = Some(Running {
            scan: Scan::new(search),
            next,
            left: count,
            down,
            reply: None,
            from: self.cursor,
            found: Vec::new(),
            since: Instant::now(),
            said: Instant::now(),
        });
    }

    /// Searches on for some time. Gives whether something changed on the screen.
    pub(crate) fn work(&mut self, time: Duration) -> bool {
        let Some(mut running) = self.running.take() else { return false };
        let until = Instant::now() + time;
        let (session, files) = (self.model.session(), &self.model.opened.files);
        let (count, down) = (self.rows.len(), running.down);
        let ahead = |part, prefilter: &_| store::lines_in(files, part, prefilter);
        let scanned = Scanned { session, source: files, ahead: &ahead, down };
        while running.left > 0 {
            let row = running.next;
            let ix = self.rows.entry(row);
            let found = match running.scan.finds(scanned, ix) {
                Ok(found) => found || self.is_in_call(&mut running, scanned, ix),
                Err(error) => {
                    // The file was cut, or written anew.
                    self.kept.message = error.to_string();
                    return true;
                }
            };
            running.left -= 1;
            running.next = if down { row + 1 } else { row + count - 1 } % count;
            if found {
                running.found.push(row);
                if running.found.len() == 1 {
                    self.go_to_match(row, running.from, down);
                    self.running = Some(running);
                    return true;
                }
            }
            if running.left.is_multiple_of(CLOCK) && Instant::now() >= until {
                // A search that takes long says how far it is. A frame for each step would take the time of the search.
                let mut is_news = false;
                let is_long = running.since.elapsed() > Duration::from_millis(300);
                if running.found.is_empty() && is_long && running.said.elapsed() > Duration::from_millis(100)
                {
                    running.said = Instant::now();
                    let done = (count - running.left) * 100 / count;
                    let message = format!("searching… {done} %");
                    is_news = message != self.kept.message;
                    self.kept.message = message;
                }
                self.running = Some(running);
                return is_news;
            }
        }
        let Running { mut found, from, .. } = running;
        let Some(row) = found.first().copied() else {
            self.kept.message = match self.row_of_revision(&self.kept.search) {
                Some((row, ix)) => {
                    self.jump(Some(row), "");
                    let typed = text::one_line(&self.kept.search);
                    match self.rows.entry(row) == ix {
                        true => format!("no text has it; this is the entry `{typed}`"),
                        false => format!("this filter does not show `{typed}`, which is below this entry"),
                    }
                }
                None => self.not_found(),
            };
            return true;
        };
        found.sort_unstable();
        self.matches = Some((self.kept.search.clone(), found));
        self.go_to_match(row, from, down);
        true
    }

    /// Whether all words are in the call of a result, which is shown before the result.
    fn is_in_call(&mut self, running: &mut Running, scanned: Scanned<'_>, ix: Ix) -> bool {
        let session = self.model.session();
        if session.entries.kind(ix) != Kind::Tool {
            return false;
        }
        // The results of one reply follow each other.
        let is_reply = |above: &Ix| session.entries.kind(*above) != Kind::Tool;
        let mut above = session.tree.ancestors(ix).skip(1).take(CALLS);
        let Some(reply) = above.find(is_reply) else { return false };
        if running.scan.lacks(reply) {
            return false;
        }
        if running.reply.is_none_or(|(known, _)| known != reply) {
            running.reply = Some((reply, running.scan.may_find(scanned, reply).unwrap_or(false)));
        }
        let may_be_in = running.reply.is_some_and(|(_, may)| may);
        may_be_in && self.view.summary(ix).is_ok_and(|shown| running.scan.is_in_text(&shown))
    }

    /// The entry that a typed revision names, e.g. an id, a label, `HEAD~2`; and its row, or that of the nearest shown one above it.
    pub(super) fn row_of_revision(&self, typed: &str) -> Option<(usize, Ix)> {
        let (opened, typed) = (&self.model.opened, typed.trim());
        if opened.session.partial || revision::is_set(&opened.session, &opened.files, typed).unwrap_or(true) {
            return None;
        }
        let ix = revision::resolve_one(&opened.session, &opened.files, typed).ok()?;
        Some((self.rows.row_at_or_above(ix)?, ix))
    }

    /// What is said of a search without a match.
    fn not_found(&self) -> String {
        let (name, mode) = self.filter();
        let what = text::one_line(&self.kept.search);
        match mode {
            Mode::Default | Mode::All => format!("not found: {what}"),
            _ => format!("not found with the filter {name}: {what}"),
        }
    }

    /// Goes to a row that matches, from another one, and says which of the matches it is, if they were counted.
    fn go_to_match(&mut self, row: usize, from: usize, down: bool) {
        let wrapped = match (row.cmp(&from), down) {
            (Ordering::Equal, _) => "no other match",
            (Ordering::Less, true) => "the search went on at the first row",
            (Ordering::Greater, false) => "the search went on at the last row",
            _ => "",
        };
        let rows =
            self.matches.as_ref().filter(|(words, _)| *words == self.kept.search).map(|(_, rows)| rows);
        let counted = match rows.map_or(0, Vec::len) {
            1 if row != from => Some("the only match".to_owned()),
            0 | 1 => None,
            all => {
                let at = rows.map_or(0, |rows| rows.partition_point(|other| *other < row)) + 1;
                Some(format!("match {} of {}", grouped(at), grouped(all)))
            }
        };
        let said = counted.iter().map(String::as_str).chain(Some(wrapped).filter(|words| !words.is_empty()));
        self.kept.message = said.collect::<Vec<_>>().join(" · ");
        self.jump(Some(row), "");
    }
}
