//! `bough join`: joins two copies of one session that went on apart.

use super::shared::options::Global;
use super::shared::verified::no_new_errors_of;
use super::shared::write::{self, WriteArgs};
use super::shared::write_json::{ConflictRow, More, OwnRow};
use super::shared::{session_arg, write_json};
use super::{Exit, Failure, complete};
use crate::format::Format;
use crate::model::{Change, Count, Piece, Plan, Planned, Target};
use crate::ops::Snapshot;
use crate::ops::join::{self, Heads, Joined, Relation};
use crate::store::companions;
use crate::store::conflicts::{self, Conflict};
use crate::store::write::Stamp;
use crate::store::{self, Opened};
use crate::ui::{Ui, text};
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use std::path::{Path, PathBuf};

/// Join two copies of one session that went on apart
///
/// Copies go apart if a folder is synchronized, or if two machines continue one session. The result
/// has the entries of both, each with its id, as branches. Lines without an id, e.g. titles and
/// modes, are in the order in which they were written, so that the last one counts. If both copies
/// have different content under one id, both are kept, the second under a new id, and that is
/// reported. The order of A and B does not matter, and joining again changes nothing.
///
/// A gets the result, and B stays unchanged, unless `-o` names another file. If one copy has
/// everything of the other, that is reported. Forks and other sessions are not joined.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough join [OPTIONS] A B\n       bough join --conflicts [OPTIONS] [FOLDER]")]
pub struct Args {
    /// The two copies; with `--conflicts`, the folder in which copies are looked for
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath, num_args = 0..=2, add = ArgValueCompleter::new(complete::sessions))]
    files: Vec<String>,

    /// Write the result to this file, which may be one of the copies; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "conflicts", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// The copy whose HEAD the result has
    #[arg(long, value_name = "COPY", default_value = "newest")]
    head: HeadArg,

    /// Find copies that Syncthing, Dropbox or Nextcloud left, and join each with its session
    ///
    /// By default in the stores of the agents. The copies stay, unless `--remove` is given.
    #[arg(long)]
    conflicts: bool,

    /// Remove each copy after it was joined; `bough undo` restores it
    #[arg(long, requires = "conflicts")]
    remove: bool,

    #[command(flatten)]
    writing: WriteArgs,
}

/// What `--head` takes.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum HeadArg {
    /// That of A
    A,
    /// That of B
    B,
    /// The one whose last entry is newer
    Newest,
}

impl HeadArg {
    fn heads(self, is_swapped: bool) -> Heads {
        match (self, is_swapped) {
            (HeadArg::Newest, _) => Heads::Newest,
            (HeadArg::A, false) | (HeadArg::B, true) => Heads::First,
            (HeadArg::B, false) | (HeadArg::A, true) => Heads::Second,
        }
    }
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.conflicts {
        return all_conflicts(args, global, ui);
    }
    let [a, b] = &args.files[..] else {
        return Err(Failure::Usage {
            what: format!("expected two files, got {}", args.files.len()),
            hint: "`bough join A B` adds what B has to A".into(),
        }
        .into());
    };
    let (a, b) = (session_arg::by_word(global, a)?, session_arg::by_word(global, b)?);
    if is_same(&a, &b) {
        return Err(Failure::Usage { what: "A and B are the same file".into(), hint: String::new() }.into());
    }
    let to = match args.output.as_deref() {
        None => To::File(&a),
        Some(path) if path == Path::new("-") => To::Output,
        Some(path) => To::File(path),
    };
    join_two(args, global, (&a, &b), to, ui)?;
    Ok(Exit::Done)
}

/// Where a result goes.
#[derive(Clone, Copy)]
enum To<'p> {
    Output,
    File(&'p Path),
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().ok().is_some_and(|one| other.canonicalize().ok() == Some(one))
}

/// What is to be written.
struct Made {
    joined: Joined,
    /// Files of the other copy's folder that are added, and those that are not because they differ.
    files: (usize, usize),
}

/// Joins two files; the result goes to one of them, to another file, or is printed.
fn join_two(
    args: &Args,
    global: &Global,
    files: (&Path, &Path),
    to: To<'_>,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let (a, b) = files;
    // The file that is rewritten is the first.
    let is_swapped = matches!(to, To::File(path) if is_same(path, b));
    let (one, other) = if is_swapped { (b, a) } else { (a, b) };
    let heads = args.head.heads(is_swapped);
    let mut writing = args.writing;
    // Git gives a merge driver copies that it made just now.
    writing.allow.0.live |=
        one.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".merge_file_"));
    let open = || {
        let mut opened = session_arg::by_path(global, one)?;
        opened.files.attach(other)?;
        Ok(opened)
    };
    let make = |opened: &Opened| {
        let second = session_arg::open(global, other, global.options())?;
        let stamp = |opened: &Opened, file| opened.files.stamp(file).map(Stamp::bytes);
        if stamp(&second, 0) != stamp(opened, 1) {
            let path = other.to_owned();
            return Err(store::write::Refusal::Changed { path }.into());
        }
        let sides =
            (session_arg::whole(opened), Snapshot { session: &second.session, source: &second.files });
        let joined = join::join(sides.0, sides.1, heads)?;
        let (plan, files) = plan(args, opened, &second, &joined, to)?;
        Ok((plan.clone(), (plan, Made { joined, files })))
    };
    let (opened, done, (plan, made)) = write::run_with(open, writing, None, ui, make)?;
    if ui.look.json && !writing.dry_run {
        let more = more(&made, is_swapped);
        let shown = Plan { changes: Vec::new(), ..plan };
        write_json::print(&opened, &shown, &done, more, ui)?;
    }
    ui.out().flush()?;
    print_result(&made, (one, other), writing.dry_run, ui);
    let changed = matches!(to, To::File(path) if is_same(path, one)) && !done.files.is_empty();
    if changed && made.joined.relation == Relation::SecondHasAll && !ui.look.quiet {
        ui.note(format_args!("{} has them now, too", text::one_line(&one.display().to_string())));
    }
    Ok(())
}

/// Returns what `--json` says of a join.
fn more(made: &Made, is_swapped: bool) -> More {
    let joined = &made.joined;
    let conflicts = joined.conflicts.iter();
    let conflicts = conflicts.map(|(old, new)| ConflictRow { id: old.clone(), new: new.clone() }).collect();
    let own = if is_swapped { (joined.own.1, joined.own.0) } else { joined.own };
    More {
        own: Some(OwnRow { a: own.0, b: own.1 }),
        conflicts: Some(conflicts),
        added_files: Some(made.files.0),
        ..More::default()
    }
}

/// Returns the plan, and how many files are added and left.
fn plan(
    args: &Args,
    opened: &Opened,
    second: &Opened,
    joined: &Joined,
    to: To<'_>,
) -> anyhow::Result<(Plan, (usize, usize))> {
    let (one, other) = (opened.files.path(0), second.files.path(0));
    let mut plan = Plan { verb: "join".into(), ..Plan::default() };
    let is_in_place = matches!(to, To::File(path) if is_same(path, one));
    let is_unchanged =
        matches!(joined.relation, Relation::Equal | Relation::FirstHasAll) && joined.added == 0;
    if is_in_place && is_unchanged {
        add_removal(args, opened, &mut plan);
        return Ok((plan, (0, 0)));
    }
    no_new_errors_of(&[opened, second], &Planned::new(&opened.files, &joined.pieces), one)?;
    plan.changes.extend(new_ids(joined, other));
    let mut made = (0, 0);
    let (change, target) = written(opened, joined, to, is_in_place);
    plan.changes.push(change);
    plan.targets.push(target);
    if let To::File(path) = to {
        let sources: &[&Path] = if is_in_place { &[other] } else { &[one, other] };
        made = add_companions(opened.session.format, sources, path, &mut plan)?;
    }
    add_removal(args, opened, &mut plan);
    Ok((plan, made))
}

/// Returns what is written: the change, and the target.
fn written(opened: &Opened, joined: &Joined, to: To<'_>, is_in_place: bool) -> (Change, Target) {
    let old = opened.session.files[0].bytes;
    let size: u64 = joined.pieces.iter().map(Piece::bytes).sum();
    let counts = format!(
        "{} of the first copy, {} of the second",
        Count("entry", "entries", joined.own.0),
        Count("entry", "entries", joined.own.1)
    );
    let change = |op, path: Option<PathBuf>, bytes| Change {
        op,
        path,
        bytes,
        why: counts.clone(),
        ..Change::default()
    };
    let pieces = joined.pieces.clone();
    match to {
        To::File(_) if is_in_place => {
            let change = change("rewrite", None, size as i64 - old as i64);
            (change, Target::Rewrite { file: 0, pieces })
        }
        To::File(path) => {
            let path = Some(path.to_owned());
            (change("create", path.clone(), size as i64), Target::Create { path, pieces })
        }
        To::Output => {
            (change("create", Some("-".into()), size as i64), Target::Create { path: None, pieces })
        }
    }
}

/// Returns the changes of the ids under which both copies have other content.
fn new_ids(joined: &Joined, other: &Path) -> impl Iterator<Item = Change> {
    joined.conflicts.iter().map(|(id, new)| Change {
        op: "set",
        path: Some(other.to_owned()),
        id: id.clone(),
        field: "id".into(),
        old: id.clone(),
        new: new.clone(),
        why: "both copies have other content under this id".into(),
        ..Change::default()
    })
}

/// Removes the copy, if that was asked for.
fn add_removal(args: &Args, opened: &Opened, plan: &mut Plan) {
    if !args.remove {
        return;
    }
    let bytes = opened.files.stamp(1).map_or(0, Stamp::bytes);
    plan.changes.push(Change {
        op: "remove",
        file: 1,
        bytes: -(bytes as i64),
        why: "the session has everything of it".into(),
        ..Change::default()
    });
    plan.targets.push(Target::Remove { file: 1 });
}

/// Adds the files in the folders of the copies that the result does not have; returns how many, and how many are
/// left because the result has another file of that name.
fn add_companions(
    format: Format,
    sources: &[&Path],
    to: &Path,
    plan: &mut Plan,
) -> anyhow::Result<(usize, usize)> {
    let (mut added, mut left) = (0, 0);
    let mut planned: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for source in sources {
        let Ok(source) = source.canonicalize() else { continue };
        for companion in companions::companions(&source, format, None)?.files {
            let path = companions::folder_of(to).join(&companion.inside);
            let bytes = store::read_file(&companion.path)?;
            let known = match planned.iter().find(|(known, _)| *known == path) {
                Some((_, known)) => Some(known.clone()),
                None => store::read_file(&path).ok(),
            };
            match known {
                Some(known) => left += usize::from(known != bytes),
                None => {
                    planned.push((path, bytes));
                    added += 1;
                }
            }
        }
    }
    for (path, bytes) in planned {
        create_companion(path, bytes, plan);
    }
    Ok((added, left))
}

/// Adds a file of the session to a plan, before the session itself.
fn create_companion(path: PathBuf, bytes: Vec<u8>, plan: &mut Plan) {
    plan.changes.push(Change {
        op: "create",
        path: Some(path.clone()),
        bytes: bytes.len() as i64,
        why: "belongs to the session".into(),
        ..Change::default()
    });
    plan.targets.insert(0, Target::Create { path: Some(path), pieces: vec![Piece::New(bytes)] });
}

fn print_result(made: &Made, files: (&Path, &Path), dry_run: bool, ui: &mut Ui) {
    if ui.look.quiet {
        return;
    }
    let joined = &made.joined;
    let name = |path: &Path| text::one_line(&path.display().to_string());
    let (one, other) = (name(files.0), name(files.1));
    print_relation(joined, &one, &other, dry_run, ui);
    for (id, new) in &joined.conflicts {
        ui.note(format_args!(
            "warning: both have other content under the id {}; one is kept as {}",
            text::one_line(id),
            text::one_line(new)
        ));
    }
    if let Some(head) = joined.head_id.as_ref().filter(|_| joined.relation == Relation::Diverged) {
        let from = if joined.head == Heads::Second { other } else { one };
        ui.note(format_args!("HEAD is {}, from {from}", text::one_line(head)));
    }
    if joined.is_one_compacted {
        ui.note(
            "warning: only one copy has the last compaction, which kept messages; Claude Code loads nothing \
             before it but these, so that it may not find the branch of the other copy",
        );
    }
    if made.files.1 > 0 {
        ui.note(format_args!(
            "warning: {} in the folders of both copies differ; those of the first were kept",
            Count("file", "files", made.files.1)
        ));
    }
}

/// Says which of both files has more.
fn print_relation(joined: &Joined, one: &str, other: &str, dry_run: bool, ui: &mut Ui) {
    let entries = |count| Count("entry", "entries", count);
    match joined.relation {
        Relation::Equal => ui.note(format_args!("{one} and {other} have the same lines")),
        Relation::FirstHasAll => {
            ui.note(format_args!("{one} has everything of {other}, and {} more", entries(joined.own.0)));
        }
        Relation::SecondHasAll => {
            ui.note(format_args!("{other} has everything of {one}, and {} more", entries(joined.own.1)));
        }
        Relation::Diverged => {
            let done = if dry_run { "would be joined" } else { "joined" };
            ui.note(format_args!(
                "{done}: {} only in {one}, {} only in {other}",
                entries(joined.own.0),
                entries(joined.own.1)
            ));
        }
    }
}

/// Finds conflict copies, and joins each with its session.
fn all_conflicts(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let folder = match &args.files[..] {
        [] => None,
        [folder] => Some(Path::new(folder)),
        _ => {
            return Err(Failure::Usage {
                what: "`--conflicts` takes one folder".into(),
                hint: String::new(),
            }
            .into());
        }
    };
    let found = conflicts::find(folder, &global.roots)?;
    if found.is_empty() {
        if !ui.look.quiet {
            ui.note("no conflict copies found");
        }
        return Ok(Exit::No);
    }
    let mut worst = Exit::Done;
    for Conflict { session, copy } in found {
        if let Err(error) = join_two(args, global, (&session, &copy), To::File(&session), ui) {
            worst = super::shared::exit::print_error(&error, ui);
        }
    }
    Ok(worst)
}
