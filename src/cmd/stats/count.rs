//! Counting: a session with the files of its subagents, and the groups of `--by`.

use super::By;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::thread_arg;
use crate::cmd::shared::time::{self, Window};
use crate::format::{Format, Session};
use crate::json::string_of;
use crate::model::{Ix, Source};
use crate::ops::branches;
use crate::ops::stats::{self, Facts, Fresh, Item, Models, Prices, Sum, Total};
use crate::ops::{BranchOf, ids};
use crate::store::{self, Opened};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// A counted session, with the files of its subagents.
pub(super) struct Counted {
    pub(super) files: Vec<(PathBuf, Opened, Facts)>,
    pub(super) row: Row,
    /// The total, and which part of the file is in it, if it is the only file.
    pub(super) alone: Option<(Total, Fresh)>,
}

/// A session in short.
pub(super) struct Row {
    pub(super) file: String,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) format: Format,
    pub(super) branches: usize,
    pub(super) sum: Sum,
    /// The number of its files, including those of its subagents.
    pub(super) files: usize,
}

impl Row {
    /// Creates the row of a session, with the sum over its files.
    fn new(path: &Path, opened: &Opened, sum: Sum, files: usize) -> Result<Row, store::Error> {
        let session = &opened.session;
        let branches = branches::count(session, &opened.files)
            .map_err(|source| store::Error::Io { path: path.to_owned(), source })?;
        Ok(Row {
            file: path.display().to_string(),
            id: session.id(),
            name: session.name.clone(),
            format: session.format,
            branches,
            sum,
            files,
        })
    }
    /// Returns what the session is known by in groups: its id, or its file if it has none.
    pub(super) fn key(&self) -> String {
        self.id.clone().unwrap_or_else(|| self.file.clone())
    }

    /// Returns that, and its name if it has one.
    pub(super) fn named(&self) -> Option<(String, &str)> {
        Some((self.key(), self.name.as_deref()?))
    }
}

/// A group of `--by`.
#[derive(Default)]
pub(super) struct Group {
    /// Its names, one for each of the requested groupings.
    pub(super) names: Vec<String>,
    pub(super) sum: Sum,
    pub(super) current: bool,
    pub(super) file: String,
    pub(super) leaf: Option<String>,
    /// The tokens and the cost of the branch's whole path.
    pub(super) path: Option<(u64, u64, Option<f64>)>,
}

/// Adds a session to a total, as far as it is of the wanted time; returns which part that is.
pub(super) fn add(total: &mut Total, session: &Session, facts: &Facts, window: &Window) -> Fresh {
    match window.is_open() {
        true => total.add(session, facts),
        false => total.add_between(session, facts, |time| window.has(time)),
    }
}

impl Counted {
    pub(super) fn count(
        files: &[PathBuf],
        is_only: bool,
        prices: &Prices,
        window: &Window,
        global: &Global,
    ) -> Result<Counted, store::Error> {
        let mut counted = Vec::new();
        let (mut sum, mut last) = (Total::default(), None);
        for path in files {
            let opened = match store::open(path, global.options()) {
                // A session counts without a subagent's file that is still empty.
                Err(error) if error.is_no_session() && !counted.is_empty() => continue,
                opened => opened?,
            };
            let facts = Facts::read(&opened.session, &opened.files, prices, is_only)
                .map_err(|source| store::Error::Io { path: path.clone(), source })?;
            last = Some(add(&mut sum, &opened.session, &facts, window));
            counted.push((path.clone(), opened, facts));
        }
        let (path, opened, _) = &counted[0];
        let row = Row::new(path, opened, sum.sum.clone(), counted.len())?;
        let alone = last.filter(|_| is_only).map(|fresh| (sum, fresh));
        Ok(Counted { files: counted, row, alone })
    }

    /// Returns the branch of each entry of the main file, by the label or id of its leaf; `None` if
    /// no grouping needs it.
    pub(super) fn branches(&self, what: &[By]) -> Result<Vec<Option<String>>, store::Error> {
        if what.len() < 2 || !what.contains(&By::Branch) {
            return Ok(Vec::new());
        }
        let (path, opened, _) = &self.files[0];
        let (session, source) = (&opened.session, &opened.files);
        let io = |source| store::Error::Io { path: path.clone(), source };
        let joined = thread_arg::joined(session, source).map_err(io)?;
        let owners = BranchOf::build(joined.as_ref().map_or(session, |(joined, _)| joined));
        let short = ids::ShortIds::default();
        let mut names: HashMap<Ix, String> = HashMap::new();
        let mut out = Vec::with_capacity(session.entries.len());
        for ix in session.entries.all() {
            let tip = match &joined {
                Some((_, reading)) => owners.tip(ix).or_else(|| owners.tip(reading.stand_in(ix))),
                None => owners.tip(ix),
            };
            let Some(tip) = tip else {
                out.push(None);
                continue;
            };
            if let Entry::Vacant(vacant) = names.entry(tip) {
                vacant.insert(match session.labels.label(tip) {
                    Some(name) => name.to_owned(),
                    None => short.short_id(session, source, tip).map_err(io)?,
                });
            }
            out.push(names.get(&tip).cloned());
        }
        Ok(out)
    }

    /// Counts one of its files in the requested groups.
    pub(super) fn grouped(
        &self,
        number: usize,
        fresh: &Fresh,
        what: &[By],
        is_whole: bool,
        branches: &[Option<String>],
        by: &mut BTreeMap<Vec<String>, Group>,
    ) {
        let (_, opened, facts) = &self.files[number];
        let session = &opened.session;
        let models = if what.contains(&By::Model) { Models::new(session, facts) } else { Models::default() };
        let (project, session_key) = (self.project(), self.row.key());
        let name = |place: u32| facts.names[place as usize].clone();
        let key = |what: By, item: Item<'_>| -> Option<String> {
            let ix = item.entry();
            let date = || time::date(session.entries.time(ix));
            let date = |len: usize| date().get(..len).map(str::to_owned);
            Some(match what {
                By::Branch => branches.get(ix.index())?.clone()?,
                By::Model => match item {
                    Item::Spent(_) => models.model(session, item).map(name).unwrap_or_default(),
                    _ => name(models.model(session, item)?),
                },
                By::Tool => match item {
                    Item::Call(call) => name(call.tool),
                    Item::Answer(answer) => answer.tool.map(name).unwrap_or_default(),
                    Item::File(call) => name(call.tool),
                    _ => return None,
                },
                By::File => match item {
                    Item::File(call) => relative(&name(call.file), &project),
                    _ => return None,
                },
                By::Type => session.entries.kind(ix).name().to_owned(),
                By::Session => session_key.clone(),
                By::Project => project.clone(),
                By::Agent => session.format.agent().to_owned(),
                By::Day => date(10)?,
                By::Week => time::monday(session.entries.time(ix))?,
                By::Month => date(7)?,
            })
        };
        let group = |item: Item<'_>| what.iter().map(|what| key(*what, item)).collect::<Option<Vec<_>>>();
        // A whole session is in one of these groups.
        let is_together =
            is_whole && what.iter().all(|by| matches!(by, By::Session | By::Project | By::Agent));
        for (names, mut sum) in stats::grouped_by(session, facts, fresh, group) {
            if is_together {
                sum.take_own_total(fresh);
            }
            let group = by.entry(names.clone()).or_default();
            group.names = names;
            group.sum.join(sum);
        }
    }

    /// Returns the working directory of the session.
    fn project(&self) -> String {
        let (_, opened, _) = &self.files[0];
        let session = &opened.session;
        let of_header = session.header.as_ref().and_then(|header| header.cwd.clone());
        let first = || {
            let ix = session.entries.all().find(|ix| session.entries.kind(*ix).is_turn())?;
            string_of(&opened.files.bytes(session.span(ix)).ok()?, "cwd")
        };
        of_header.or_else(first).unwrap_or_default()
    }

    /// Counts each branch of the main file: each entry once, at the branch with which it is shown.
    pub(super) fn by_branch(&self, by: &mut BTreeMap<Vec<String>, Group>) -> Result<(), store::Error> {
        let (path, opened, facts) = &self.files[0];
        let (session, source) = (&opened.session, &opened.files);
        let io = |source| store::Error::Io { path: path.clone(), source };
        let joined = thread_arg::joined(session, source).map_err(io)?;
        let talked = joined.as_ref().map_or(session, |(joined, _)| joined);
        let owners = BranchOf::build(talked);
        let on_path = OnPath::sum(talked, facts);
        let short = ids::ShortIds::default();
        // An entry that was set aside counts where its representative is.
        let owner = |ix: Ix| match &joined {
            Some((_, reading)) => owners.tip(ix).or_else(|| owners.tip(reading.stand_in(ix))),
            None => owners.tip(ix),
        };
        for (tip, sum) in stats::grouped(session, facts, owner) {
            let leaf = ids::name(session, source, tip).map_err(io)?;
            let name = match session.labels.label(tip) {
                Some(name) => name.to_owned(),
                None => short.short_id(session, source, tip).map_err(io)?,
            };
            let current = owners.on_head(tip);
            let file = path.display().to_string();
            let key = vec![path.display().to_string(), format!("{:010}", tip.0)];
            let path = Some(on_path.up_to(tip));
            by.insert(key, Group { names: vec![name], sum, current, file, leaf: Some(leaf), path });
        }
        Ok(())
    }
}

/// The sums over the path to each entry: entries, tokens, cost.
struct OnPath(Vec<(u64, u64, Option<f64>)>);

impl OnPath {
    fn sum(session: &Session, facts: &Facts) -> OnPath {
        let count = session.entries.len();
        let mut sums = vec![(0, 0, None); count];
        for spent in &facts.spent {
            if let Some(usage) = &spent.usage {
                let sum = &mut sums[spent.entry.index()];
                *sum = (0, sum.1 + usage.tokens(), added(sum.2, usage.cost));
            }
        }
        let forest = crate::ops::Forest::new(&session.tree, count, |_| true);
        for ix in forest.parents_first() {
            let above = forest.parent(ix).map_or((0, 0, None), |parent| sums[parent.index()]);
            let sum = &mut sums[ix.index()];
            *sum = (above.0 + 1, above.1 + sum.1, added(above.2, sum.2));
        }
        OnPath(sums)
    }

    fn up_to(&self, ix: Ix) -> (u64, u64, Option<f64>) {
        self.0[ix.index()]
    }
}

/// Adds two costs, if either is known.
fn added(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

/// Returns a path relative to the working directory, if it is inside that.
fn relative(path: &str, folder: &str) -> String {
    let below = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    below.filter(|rest| !rest.is_empty() && !folder.is_empty()).unwrap_or(path).to_owned()
}
