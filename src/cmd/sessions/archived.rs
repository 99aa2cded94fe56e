//! `bough sessions --archived`: the sessions of the archive.

use super::table::{self, Line, Note};
use super::{Args, Sort};
use crate::cmd::archive;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::{rows, time};
use crate::cmd::{Exit, Failure, shared};
use crate::model::Time;
use crate::ops::sessions::Summary;
use crate::store::archive::{Archived, Item};
use crate::store::locate;
use crate::ui::{Ui, text};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// A session of the archive: sessions --archived.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.archived/1")]
pub(in crate::cmd) struct ArchivedRow<'a> {
    /// The id of the session.
    session: &'a str,
    /// The agent.
    agent: &'a str,
    /// Where the session file was.
    file: String,
    /// Whether it is still there.
    exists: bool,
    /// Whether a store has the session in another place now, since it was moved.
    moved: bool,
    /// Its size.
    bytes: u64,
    /// Its name, or else its first prompt, when it was archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// When it was archived.
    archived: &'a str,
    /// When it was last written.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    /// Its working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
}

/// A listed session of the archive.
struct Row<'a> {
    item: &'a Item,
    file: PathBuf,
    /// Whether the file is still where it was.
    exists: bool,
    /// Whether a store has the session in another place.
    is_elsewhere: bool,
    summary: Summary,
}

impl Row<'_> {
    fn new(item: &Item) -> Row<'_> {
        let file = item.origin();
        let summary = Summary {
            id: Some(item.session.clone()),
            name: item.title.clone(),
            cwd: item.cwd.clone(),
            ..Summary::default()
        };
        Row { item, exists: file.exists(), is_elsewhere: false, file, summary }
    }

    fn line(&self) -> Line<'_> {
        Line {
            path: &self.file,
            agent: &self.item.agent,
            bytes: self.item.bytes,
            modified: modified(self.item),
            summary: &self.summary,
            alive: false,
            is_outside: false,
            deleted: None,
        }
    }

    /// Returns what the table says of where the session is now.
    fn note(&self) -> Note {
        let said = match (self.exists, self.is_elsewhere) {
            (true, _) => "",
            (false, true) => "moved since",
            (false, false) => "only in the archive",
        };
        Note { said: said.to_owned(), ..Note::default() }
    }

    fn json_row(&self) -> ArchivedRow<'_> {
        let item = self.item;
        ArchivedRow {
            session: &item.session,
            agent: &item.agent,
            file: self.file.display().to_string(),
            exists: self.exists,
            moved: self.is_elsewhere,
            bytes: item.bytes,
            title: item.title.as_deref(),
            archived: &item.archived,
            modified: time::iso(modified(item)),
            cwd: item.cwd.as_deref(),
        }
    }
}

/// Returns when the file of a session was last changed before it was archived.
fn modified(item: &Item) -> Time {
    Time(item.mtime / 1_000_000)
}

/// Notes which sessions are in another place of a store now.
fn note_moved(rows: &mut [Row<'_>], global: &Global) {
    let stores = locate::stores(&global.roots);
    let live: HashSet<String> =
        stores.iter().flat_map(locate::sessions).map(|found| locate::session_id(&found.path)).collect();
    for row in rows {
        row.is_elsewhere = !row.exists && live.contains(&row.item.session);
    }
}

/// Returns the sessions that are listed. One whose file is gone is left out only if all of it is in another one that is
/// listed: one that is still there, or that was archived later.
fn listed<'c>(all: &[Archived<'c>]) -> Vec<&'c Item> {
    let mut of_id: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, one) in all.iter().enumerate() {
        of_id.entry(&one.main.session).or_default().push(at);
    }
    let is_listed = |at: usize| {
        let twins = &of_id[&*all[at].main.session];
        let stays = |other: &usize| *other != at && (*other > at || !all[*other].is_missing());
        let is_in = |other: &usize| stays(other) && all[at].is_contained_in(&all[*other]);
        twins.len() == 1 || !all[at].is_missing() || !twins.iter().any(is_in)
    };
    (0..all.len()).filter(|at| is_listed(*at)).map(|at| all[at].main).collect()
}

/// Prints the sessions of the archive.
pub(super) fn list(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    if let [_, other, ..] = &args.folders[..] {
        let what = format!("`{}`: expected one archive", text::one_line(&other.display().to_string()));
        return Err(Failure::Usage { what, hint: String::new() }.into());
    }
    let contents = archive::read(&archive::open(args.folders.first().map(PathBuf::as_path))?)?;
    let now = time::now();
    let since = args.since.as_deref().map(|since| time::parse(since, now)).transpose()?;
    let until = args.until.as_deref().map(|until| time::parse(until, now)).transpose()?;
    let is_wanted = |item: &&Item| {
        args.agent.as_ref().is_none_or(|agent| *agent == item.agent)
            && since.is_none_or(|since| modified(item) >= since)
            && until.is_none_or(|until| modified(item) <= until)
    };
    let sessions = contents.sessions();
    let mut rows: Vec<Row<'_>> = listed(&sessions).into_iter().filter(is_wanted).map(Row::new).collect();
    if rows.iter().any(|row| !row.exists) {
        note_moved(&mut rows, global);
    }
    Sort::parse(&args.sort)?.rows(&mut rows, Row::line);
    rows.truncate(args.max_count.unwrap_or(usize::MAX));
    if rows.is_empty() {
        return Ok(shared::scope::none_found(ui));
    }
    if ui.look.json {
        let end = if args.null { '\0' } else { '\n' };
        for row in &rows {
            write!(ui.out(), "{}{end}", rows::to_json(&row.json_row()))?;
        }
        return Ok(Exit::Done);
    }
    let lines: Vec<Line<'_>> = rows.iter().map(Row::line).collect();
    let notes: Vec<Note> = rows.iter().map(Row::note).collect();
    table::print(&lines, &notes, true, args.date.date, now, ui)?;
    Ok(Exit::Done)
}
