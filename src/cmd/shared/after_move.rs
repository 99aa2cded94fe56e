//! The report of a command that moved HEAD: where it is now, what the agent will see, how to
//! continue.

use super::options::Global;
use super::{session_arg, time};
use crate::format::{Content, Format};
use crate::model::{Count, Flags, Ix, Key, Kind, Source};
use crate::ops::turns::Thread;
use crate::ops::{Snapshot, ids, switch::Switch};
use crate::store::project_folder::home_of;
use crate::store::{Opened, continued, oplog::Log};
use crate::ui::{Ui, text};
use std::path::{Path, PathBuf};

/// Returns HEAD before the last switch of a session, according to the operation log: `None` if no
/// switch is known, `Some(None)` if it was before the first entry. Passes over entries that are not there any more,
/// e.g. copies whose cherry-pick was undone, and over HEAD itself.
pub(crate) fn position_before(opened: &Opened) -> std::io::Result<Option<Option<String>>> {
    let path = opened.files.path(0);
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match Log::of_user() {
        Some(log) => {
            let session = &opened.session;
            log.position_before(&real, |from| match from {
                Some(id) => {
                    let from = session.find(Key::hash(id.as_bytes()));
                    from.is_some() && from != session.head.entry
                }
                None => session.head.entry.is_some(),
            })
        }
        None => Ok(None),
    }
}

/// Says where HEAD is after a switch, and where it was. `name` is how a hint names the session.
fn place(opened: &Opened, switch: &Switch, dry_run: bool, name: &str) -> anyhow::Result<String> {
    let is = match (switch.moves, dry_run) {
        (false, _) if switch.to.is_none() => "HEAD is",
        (false, _) => "HEAD is at",
        (true, false) => "HEAD is now",
        (true, true) => "HEAD would be",
    };
    let mut words = match switch.to {
        None if switch.summarized => format!("{is} the summary, with nothing before it"),
        None => format!("{is} before the first entry"),
        Some(to) => {
            // `log` does not show the line of a label: HEAD is on the entry above it.
            let shown = opened.session.tree.ancestors(to).find(|ix| opened.session.is_conversation(*ix));
            let (path, to) = (path_length(opened, to)?, shown.unwrap_or(to));
            let what = if switch.summarized { ", below it the summary" } else { "" };
            format!("{is} {}{what} · {} on the path", described(opened, to)?, Count("entry", "entries", path))
        }
    };
    if !switch.moves {
        words.push_str(" already");
    } else if let Some(from) = switch.from {
        words.push_str(&format!(" · it was {}", short(opened, from)?));
        if !dry_run {
            words.push_str(&format!(" (`bough switch{name} -` goes back)"));
        }
    }
    Ok(words)
}

/// Reports on standard error where HEAD is after a switch.
pub(crate) fn print_move(
    global: &Global,
    opened: &Opened,
    switch: &Switch,
    dry_run: bool,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    if ui.look.quiet {
        return Ok(());
    }
    let path = opened.files.path(0);
    let name = if switch.moves { session_arg::in_hint(global, path) } else { String::new() };
    ui.note(place(opened, switch, dry_run, &name)?);
    if let Some(part) = switch.part {
        let session = &opened.session;
        let why = match session.claude.may_be_passed_over(part, session.entries.key(part)) {
            true => "contains nothing that is sent, or was retracted",
            false => "is part of a reply, which loads as a whole with its results",
        };
        ui.note(format_args!("note: {} {why}: the agent goes on here", short(opened, part)?));
    }
    if !switch.moves {
        return Ok(());
    }
    if let Some(to) = switch.to.filter(|_| switch.after_compaction) {
        ui.note(format_args!(
            "note: a compaction kept {}: the model sees its summary in place of what is before that; `bough \
             export-branch` makes a session with all of the path",
            short(opened, to)?
        ));
    }
    if let Some(tokens) = switch.to.and_then(|to| tokens(opened, to)) {
        ui.note(format_args!(
            "the model will see about {} before the next prompt",
            Count("token", "tokens", usize::try_from(tokens).unwrap_or(usize::MAX))
        ));
    }
    hint_resume(opened, ui);
    if let Some(to) = switch.to
        && switch.prompt.is_none()
        && opened.session.entries.kind(to) == Kind::User
    {
        ui.hint(format_args!(
            "this is a prompt, and the next one will follow it; `bough switch --rewind{name} {}` goes before it and \
             prints its text",
            text::shell_word(&ids::ShortIds::default().short_id(&opened.session, &opened.files, to)?)
        ));
    }
    Ok(())
}

/// Names the command that resumes a session, or says why there is none.
fn hint_resume(opened: &Opened, ui: &mut Ui) {
    let path = opened.files.path(0);
    match resume_command(opened.session.format, path) {
        Some(command) => ui.hint(format_args!("resume with: {command}")),
        None if opened.session.format == Format::Claude => {
            let name = text::one_line(&path.file_name().unwrap_or_default().to_string_lossy());
            ui.hint(format_args!(
                "Claude Code opens a session by the name of its file, and `{name}` is not a session id: it can't open \
                 this file"
            ));
        }
        None => {}
    }
}

/// How many entries `log` would show at and before an entry.
fn path_length(opened: &Opened, to: Ix) -> std::io::Result<usize> {
    let session = &opened.session;
    let whole = Snapshot { session, source: &opened.files };
    let thread = Thread::new(whole)?;
    Ok(thread.path_to(to).into_iter().filter(|ix| session.is_conversation(*ix)).count())
}

/// An entry for a sentence: `3f2a81c0 (user, 14:02)`.
fn described(opened: &Opened, ix: Ix) -> anyhow::Result<String> {
    let entries = &opened.session.entries;
    let time = time::lately(entries.time(ix), time::now());
    let time = if time.is_empty() { time } else { format!(", {time}") };
    Ok(format!("{} ({}{time})", short(opened, ix)?, entries.kind(ix).name()))
}

fn short(opened: &Opened, ix: Ix) -> std::io::Result<String> {
    Ok(text::one_line(&ids::ShortIds::default().short_id(&opened.session, &opened.files, ix)?))
}

/// Returns how many tokens the conversation had at an entry, from the last reply on its path that
/// stores it.
fn tokens(opened: &Opened, to: Ix) -> Option<u64> {
    let session = &opened.session;
    for ix in session.tree.ancestors(to).take(200) {
        let kind = session.entries.kind(ix);
        if kind == Kind::Compaction {
            return None;
        }
        if kind != Kind::Assistant || session.entries.flags(ix).has(Flags::ENDED_BADLY) {
            continue;
        }
        let line = opened.files.bytes(session.span(ix)).ok()?;
        let usage = Content::read(session.format, &line).usage()?;
        return Some(usage.tokens()).filter(|total| *total > 0);
    }
    None
}

/// Returns the command with which the agent continues a session, ready to paste into a shell.
///
/// Claude Code finds a session by the name of its file, whatever id it contains, and only if the
/// name is a session id. It looks only in the project of the current folder, so that the command goes
/// to the folder of the session first, if that is another one.
pub(crate) fn resume_command(format: Format, path: &Path) -> Option<String> {
    let command = resume(format, path)?;
    if format != Format::Claude {
        return Some(command);
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let here = std::env::current_dir().map(|here| real(&here)).unwrap_or_default();
    let folder = home_of(format.agent(), path).map(|home| PathBuf::from(home.cwd));
    Some(match folder.filter(|folder| folder.is_dir() && real(folder) != here) {
        Some(folder) => format!("cd {} && {command}", text::shell_word(folder.to_str()?)),
        None => command,
    })
}

fn resume(format: Format, path: &Path) -> Option<String> {
    match format {
        Format::Claude => {
            let stem =
                path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| continued::is_uuid(stem))?;
            Some(format!("claude --resume {}", text::shell_word(stem)))
        }
        Format::Codex => {
            let id = crate::store::locate::id_in_name(path);
            continued::is_uuid(&id).then(|| format!("codex resume {}", text::shell_word(&id)))
        }
        Format::Omp => Some(format!("omp --resume {}", text::shell_word(path.to_str()?))),
        Format::Pi | Format::PiV1 | Format::PiV2 => {
            Some(format!("pi --session {}", text::shell_word(path.to_str()?)))
        }
        _ => None,
    }
}
