//! The table of `bough sessions`: a row for each session, fitted to the width of the terminal.

use crate::cmd::shared::file_args;
use crate::cmd::shared::time::{self, DateStyle};
use crate::model::Time;
use crate::ops::sessions::Summary;
use crate::store::locate;
use crate::ui::{Ink, Ui, text};
use std::collections::HashMap;
use std::path::Path;

/// A session, as a row of the table.
#[derive(Clone, Copy)]
pub(super) struct Line<'r> {
    /// Its file.
    pub(super) path: &'r Path,
    pub(super) agent: &'r str,
    /// The bytes of the file.
    pub(super) bytes: u64,
    pub(super) modified: Time,
    pub(super) summary: &'r Summary,
    /// Whether somebody seems to be writing to it.
    pub(super) alive: bool,
    /// Whether it is outside of the stores, where its id does not find it.
    pub(super) is_outside: bool,
    /// When the agent deletes it, if it is not written any more.
    pub(super) deleted: Option<Time>,
}

impl Line<'_> {
    pub(super) fn entries(&self) -> usize {
        self.summary.counts.map_or(0, |counts| counts.entries)
    }

    pub(super) fn branches(&self) -> usize {
        self.summary.counts.map_or(0, |counts| counts.branches)
    }
}

/// The additions to a row.
#[derive(Default)]
pub(super) struct Note {
    /// The drawing before the title.
    pub(super) before: String,
    /// What is said after the title, in parentheses: the origin of the session.
    pub(super) said: String,
    /// Lines below the row.
    pub(super) below: Vec<String>,
}

/// Prints rows, with the additions of each, if there are any. `with_folder` prints the working folders:
/// within one folder that is not needed.
pub(super) fn print(
    rows: &[Line<'_>],
    notes: &[Note],
    with_folder: bool,
    date: DateStyle,
    now: Time,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let none = Note::default();
    let columns = Columns::new(rows, with_folder, date, ui.look.width);
    for (at, row) in rows.iter().enumerate() {
        let note = notes.get(at).unwrap_or(&none);
        let (mut out, used) = columns.cells(at, row, now, ui);
        out.push_str(&columns.title(row, note, used, now, ui));
        writeln!(ui.out(), "{}", out.trim_end())?;
        for line in &note.below {
            // Below the ids, if there is room.
            let indent = 4 + 1 + 8;
            let line = text::fit(line, ui.look.width.saturating_sub(indent));
            let line = format!("{:indent$}{}", "", ui.paint(Ink::Quiet, line));
            writeln!(ui.out(), "{line}")?;
        }
    }
    Ok(())
}

/// The cells of all rows before the title, and how wide they are.
struct Columns<'r> {
    date: DateStyle,
    ids: Vec<String>,
    /// Entries and branches; empty if they were not counted.
    counts: Vec<[String; 2]>,
    sizes: Vec<String>,
    folders: Vec<String>,
    /// How many rows have an id: copies of a session are told apart by the names of their files.
    times: HashMap<&'r str, usize>,
    id_width: usize,
    /// 0 if there is no room for the counts.
    entries_width: usize,
    branches_width: usize,
    size_width: usize,
    has_size: bool,
    /// 0 if folders are not shown.
    folder_width: usize,
}

impl<'r> Columns<'r> {
    /// Fits the columns to a width. Agent, id and title come first; a narrow row leaves out sizes, then folders, then
    /// counts.
    fn new(rows: &[Line<'r>], with_folder: bool, date: DateStyle, width: usize) -> Columns<'r> {
        let home = etcetera::home_dir().unwrap_or_default();
        let folders: Vec<String> = rows.iter().map(|row| folder(row.summary.cwd.as_deref(), &home)).collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        for row in rows {
            *times.entry(row.summary.id.as_deref().unwrap_or_default()).or_default() += 1;
        }
        let ids = short_ids(rows, |row| is_copy(row, &times));
        let sizes: Vec<String> = rows.iter().map(|row| file_args::size(row.bytes)).collect();
        let counts: Vec<[String; 2]> = rows
            .iter()
            .map(|row| match &row.summary.counts {
                Some(counts) => [counts.entries.to_string(), counts.branches.to_string()],
                None => [String::new(), String::new()],
            })
            .collect();
        let widest =
            |texts: &mut dyn Iterator<Item = &String>| texts.map(|cell| text::width(cell)).max().unwrap_or(0);
        let id_width = widest(&mut ids.iter());
        let size_width = widest(&mut sizes.iter());
        let entries_width = widest(&mut counts.iter().map(|[entries, _]| entries));
        let branches_width = widest(&mut counts.iter().map(|[_, branches]| branches));
        let has_size = width >= 60 || !with_folder && width >= 50;
        let entries_width = if width < 46 { 0 } else { entries_width };
        // What is left for folder and title; the title is worth more.
        let counts_width = if entries_width > 0 { 2 + entries_width + 1 + branches_width + 1 } else { 0 };
        let sizes_width = if has_size { 2 + size_width } else { 0 };
        let before = date.width() + 1 + 8 + id_width + counts_width + sizes_width + 2;
        let most = width.saturating_sub(before + 2 + TITLE).min(if width < 80 { 12 } else { 24 });
        let folder_width = match with_folder && width >= 60 && most >= FOLDER {
            true => widest(&mut folders.iter()).min(most),
            false => 0,
        };
        Columns {
            date,
            ids,
            counts,
            sizes,
            folders,
            times,
            id_width,
            entries_width,
            branches_width,
            size_width,
            has_size,
            folder_width,
        }
    }

    /// Returns the row with the number `at` up to its title, and how many cells that takes.
    fn cells(&self, at: usize, row: &Line<'_>, now: Time, ui: &Ui) -> (String, usize) {
        let Columns { id_width, entries_width, branches_width, size_width, folder_width, .. } = *self;
        let age = self.date.column(row.modified, now);
        let mut out = format!("{} {:<7} ", ui.paint(Ink::Quiet, age), row.agent);
        let id = text::pad(&self.ids[at], id_width);
        out.push_str(&ui.paint(Ink::Id, id));
        let mut used = self.date.width() + 1 + 8 + id_width;
        if entries_width > 0 {
            let [entries, branches] = &self.counts[at];
            let mark = if ui.look.ascii { "/" } else { "⑂" };
            out.push_str(&format!("  {entries:>entries_width$}"));
            // A single branch is not worth mentioning.
            let branches =
                if row.branches() > 1 { format!("{branches:>branches_width$}{mark}") } else { String::new() };
            out.push_str(&format!(" {}", text::pad(&branches, branches_width + 1)));
            used += 2 + entries_width + 1 + branches_width + 1;
        }
        if self.has_size {
            out.push_str(&format!("  {:>size_width$}", self.sizes[at]));
            used += 2 + size_width;
        }
        out.push_str("  ");
        used += 2;
        if folder_width > 0 {
            let folder = text::pad(&text::fit_end(&self.folders[at], folder_width), folder_width);
            out.push_str(&ui.paint(Ink::Quiet, folder));
            out.push_str("  ");
            used += folder_width + 2;
        }
        (out, used)
    }

    /// Returns the title of a row with what is said before and after it, fitted to what is left of the width.
    fn title(&self, row: &Line<'_>, note: &Note, mut used: usize, now: Time, ui: &Ui) -> String {
        let width = ui.look.width;
        let (mut file, mut marks) = (String::new(), String::new());
        let name = text::one_line(&row.path.file_name().unwrap_or_default().to_string_lossy());
        if (is_copy(row, &self.times) || row.is_outside) && text::width(&name) <= FILE {
            file = format!(" ({name})");
        }
        if row.summary.counts.is_some_and(|counts| counts.faults > 0) {
            marks.push_str(" (faults)");
        }
        if row.alive {
            marks.push_str(" (being written)");
        }
        if let Some(when) = row.deleted.and_then(|deleted| time::deleted_soon(deleted, now)) {
            marks.push_str(&format!(" ({when})"));
        }
        // The title is worth more than the marks, and these more than the name of the file.
        for part in [&mut marks, &mut file] {
            match used + text::width(part) + TITLE > width {
                true => part.clear(),
                false => used += text::width(part),
            }
        }
        let said = if note.said.is_empty() { String::new() } else { format!(" ({})", note.said) };
        let room = width.saturating_sub(used);
        let title = text::fit(
            &text::one_line(row.summary.title()),
            room.saturating_sub(text::width(&note.before) + text::width(&said)).max(TITLE),
        );
        let room = room.saturating_sub(text::width(&note.before) + text::width(&title));
        let said = text::fit(&said, if room < TITLE { 0 } else { room });
        let is_alone = note.before.is_empty() && title.is_empty();
        let said = if is_alone { said.trim_start().to_owned() } else { said };
        let mut out = ui.paint(Ink::Quiet, &note.before);
        out.push_str(&title);
        out.push_str(&ui.paint(Ink::Quiet, said + &file));
        if !marks.is_empty() {
            out.push_str(&ui.paint(Ink::Bad, marks));
        }
        out
    }
}

/// Returns whether another row has the same id.
fn is_copy(row: &Line<'_>, times: &HashMap<&str, usize>) -> bool {
    row.summary.id.as_deref().is_some_and(|id| times[id] > 1)
}

/// The most cells of a file name that is shown beside a title: the names in stores contain the id, and say no more.
const FILE: usize = 24;

/// The least room of a folder.
const FOLDER: usize = 6;

/// The room of a title, if what is said beside it is as long.
const TITLE: usize = 8;

/// Returns the shortest prefixes, of eight characters or more, that distinguish the sessions. A copy has
/// the id in the name of its file, if there is one: by that it is found.
fn short_ids(rows: &[Line<'_>], is_copy: impl Fn(&Line<'_>) -> bool) -> Vec<String> {
    let ids: Vec<String> = rows
        .iter()
        .map(|row| {
            let id = row.summary.id.clone().filter(|_| !(is_copy(row) && locate::has_id_in_name(row.path)));
            text::one_line(&id.unwrap_or_else(|| locate::id_in_name(row.path)))
        })
        .collect();
    let mut sorted: Vec<&str> = ids.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let shared = |one: &str, other: &str| one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    ids.iter()
        .map(|id| {
            let at = sorted.binary_search(&id.as_str()).unwrap_or(0);
            let before = at.checked_sub(1).map_or(0, |before| shared(id, sorted[before]));
            let after = sorted.get(at + 1).map_or(0, |after| shared(id, after));
            id.chars().take((before.max(after) + 1).max(8)).collect()
        })
        .collect()
}

/// Formats a folder, with the home folder as `~`.
fn folder(cwd: Option<&str>, home: &Path) -> String {
    let Some(cwd) = cwd else { return String::new() };
    let short = match Path::new(cwd).strip_prefix(home) {
        Ok(below) if !home.as_os_str().is_empty() => format!("~/{}", below.display()),
        _ => cwd.to_owned(),
    };
    text::one_line(short.trim_end_matches('/'))
}
