//! The common part of all commands that write: `--dry-run`, `--force`, the retry, the report.

use super::options::Global;
use super::{rows, session_arg, time};
use crate::cmd::Failure;
use crate::format::{Format, Ids};
use crate::model::{Change, Plan, Target};
use crate::store::agents;
use crate::store::archive::is_unpacked;
use crate::store::oplog::Log;
use crate::store::write::signs_of_life as signs_of_life_since;
use crate::store::write::{
    Allow, Done, Group, Proof, Refusal, Signs, WriteOptions, carry_out, changed_by_bough, last_own_change,
};
use crate::store::{Files, Opened};
use crate::ui::{Ui, text};
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// What every command that writes takes.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct WriteArgs {
    /// Print exactly what would be written, and write nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Override safety checks
    ///
    /// Writes even if an agent is using the session, its last line is truncated, the target exists
    /// or has other hard links, or the file changed since it was read. If there is no folder for
    /// the operation log, the operation is not recorded. A file that another program holds open is
    /// still not replaced, and an overwritten file is still backed up.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) allow: Allowed,

    /// Wait at most so long for an agent that is writing to the session; 0 refuses at once
    ///
    /// If a session changed a moment ago, bough waits until it has been quiet for 2 seconds, and goes
    /// on with what is there then. If it has not been quiet after 15 seconds, or as many as are given,
    /// nothing is written. With `--allow=live`, bough waits as long for a program that holds the file
    /// open for writing, before it gives up to replace it.
    #[arg(long, value_name = "SECONDS", default_value_t = 15.0, hide_default_value = true, value_parser = seconds)]
    pub(crate) wait: f64,
}

impl WriteArgs {
    /// Refuses a new session whose file exists already, unless the user allows to replace it.
    pub(crate) fn check_is_new(&self, path: Option<&Path>) -> Result<(), Refusal> {
        let overwrites = self.force || self.allow.0.overwrite;
        match path.filter(|path| !overwrites && path.symlink_metadata().is_ok()) {
            Some(path) => Err(Refusal::Exists { path: path.to_owned() }),
            None => Ok(()),
        }
    }

    /// Refuses to print a new session to a terminal.
    pub(crate) fn check_is_redirected(&self, ui: &Ui) -> Result<(), Failure> {
        if !ui.look.terminal || self.dry_run {
            return Ok(());
        }
        Err(Failure::Usage {
            what: "the new session is not printed to a terminal".into(),
            hint: "`--store` makes it a session that the agent can resume, `-o FILE` writes a file, `-o -` prints it".into(),
        })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: Option<f64> = text.parse().ok();
    seconds
        .filter(|seconds| (0.0..1e6).contains(seconds))
        .ok_or_else(|| "expected a number of seconds".into())
}

/// The safety checks that `--allow` overrides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowed(pub(crate) Allow);

/// The values of `--allow`, and what they mean.
const ALLOWS: [(&str, &str); 5] = [
    (
        "live",
        "an agent is using the session; if it holds the file open, what it writes meanwhile is carried over",
    ),
    ("truncated", "the last line is truncated: a new line is started after it"),
    ("overwrite", "the target exists: it is backed up and replaced"),
    ("hardlink", "the file has other hard links, which will keep the old contents"),
    ("changed", "the file grew since it was read: lines are appended to its current contents"),
];

impl clap::FromArgMatches for Allowed {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Allowed, clap::Error> {
        let mut allow = Allow::default();
        for word in matches.get_many::<String>("allow").into_iter().flatten() {
            match &**word {
                "live" => allow.live = true,
                "truncated" => allow.truncated = true,
                "overwrite" => allow.overwrite = true,
                "hardlink" => allow.hardlink = true,
                _ => allow.changed = true,
            }
        }
        Ok(Allowed(allow))
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Allowed::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Allowed {
    fn augment_args(command: clap::Command) -> clap::Command {
        let values = ALLOWS.map(|(name, help)| clap::builder::PossibleValue::new(name).help(help));
        let parser = clap::builder::PossibleValuesParser::new(values);
        command.arg(
            clap::Arg::new("allow")
                .long("allow")
                .value_name("WHAT")
                .action(clap::ArgAction::Append)
                .value_delimiter(',')
                .value_parser(parser)
                .help("Override one safety check; `--force` overrides most of them"),
        )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Allowed::augment_args(command)
    }
}

/// Returns why a session seems to be written to by somebody, if it does; bough's own changes are
/// not a sign of that.
///
/// `is_link` says whether its path is a symbolic link, `is_unlocked` whether it is known that
/// oh-my-pi holds no lock on it.
pub(crate) fn signs_of_life(
    files: &Files,
    is_link: bool,
    is_unlocked: bool,
    log: Option<&Log>,
) -> Option<Signs> {
    let (file, stamp) = (files.handle(0)?, files.stamp(0)?);
    let path = match is_link {
        true => &files.path(0).canonicalize().ok()?,
        false => files.path(0),
    };
    let signs = |own| signs_of_life_since(path, file, stamp, own, SystemTime::now(), is_unlocked);
    match signs(None) {
        // The log is read only if it could explain the sign. It contains the real names of files.
        Some(Signs::Fresh) => signs(last_own_change(log, &path.canonicalize().ok()?)),
        other => other,
    }
}

/// Opens a session, makes a plan for it, and carries it out; all of that once more if the file
/// changed in the meantime.
///
/// With `--dry-run`, checks whether the plan could be carried out, and prints its changes.
pub(crate) fn run<M>(
    global: &Global,
    writing: WriteArgs,
    named: Option<&str>,
    ui: &mut Ui,
    make: impl Fn(&Opened) -> anyhow::Result<(Plan, M)>,
) -> anyhow::Result<(Opened, Done, M)> {
    let path = session_arg::path(global, named, ui)?;
    run_on(&path, global, writing, None, ui, make)
}

/// Does the same for a known file.
pub(crate) fn run_on<M>(
    path: &Path,
    global: &Global,
    writing: WriteArgs,
    group: Option<&Group>,
    ui: &mut Ui,
    make: impl Fn(&Opened) -> anyhow::Result<(Plan, M)>,
) -> anyhow::Result<(Opened, Done, M)> {
    run_with(|| session_arg::by_path(global, path), writing, group, ui, make)
}

/// Does the same for a session that `open` opens.
pub(crate) fn run_with<M>(
    mut open: impl FnMut() -> anyhow::Result<Opened>,
    writing: WriteArgs,
    group: Option<&Group>,
    ui: &mut Ui,
    make: impl Fn(&Opened) -> anyhow::Result<(Plan, M)>,
) -> anyhow::Result<(Opened, Done, M)> {
    retry(writing, ui, |round, ui| {
        let opened = open()?;
        if round.is_first {
            session_arg::warn(&opened, ui);
        }
        let (plan, more) = make(&opened)?;
        let (files, format) = (&opened.files, opened.session.format);
        let done = finish_in(group, writing, files, format, &plan, None, round.is_last, ui)?;
        Ok((opened, done, more))
    })
}

/// One of several attempts to read, plan and write.
#[derive(Clone, Copy)]
pub(crate) struct Round {
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
}

/// Reads, plans and writes, and all of that again if the file changed in the meantime.
///
/// Other bough processes finish soon, however many there are; after the second attempt, bough gives
/// way to an agent. A file that changed a moment ago is waited for, as [`WriteArgs::wait`] says.
pub(crate) fn retry<T>(
    writing: WriteArgs,
    ui: &mut Ui,
    mut once: impl FnMut(Round, &mut Ui) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut round = Round { is_first: true, is_last: false };
    let mut others = 0;
    let limit = Instant::now() + Duration::from_secs_f64(writing.wait);
    loop {
        let error = match once(round, ui) {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        round.is_first = false;
        match error.downcast_ref() {
            Some(Refusal::Changed { path })
                if others < 50 && changed_by_bough(Log::of_user().as_ref(), path) =>
            {
                others += 1;
            }
            Some(Refusal::Changed { .. }) if !round.is_last => round.is_last = true,
            Some(Refusal::Alive { path, signs: Signs::Fresh }) if becomes_quiet(path, limit, ui) => {}
            _ => return Err(error),
        }
    }
}

/// Waits until a file has not changed for a while, at most until `limit`. Returns whether it became
/// quiet while it was waited for.
fn becomes_quiet(path: &Path, limit: Instant, ui: &mut Ui) -> bool {
    // The time at which the write will be judged has milliseconds only.
    let (began, quiet) = (Instant::now(), WriteOptions::QUIET + Duration::from_millis(5));
    let (mut is_noted, mut has_waited) = (false, false);
    loop {
        let Ok(changed) = std::fs::metadata(path).and_then(|facts| facts.modified()) else { return false };
        // A time in the future is from another clock.
        let age = changed.elapsed().unwrap_or(quiet);
        let left = limit.saturating_duration_since(Instant::now());
        if age >= quiet || left.is_zero() {
            return age >= quiet && has_waited;
        }
        if !is_noted && began.elapsed() >= quiet / 2 && !ui.look.quiet {
            is_noted = true;
            let path = text::one_line(&path.display().to_string());
            ui.note(format_args!(
                "note: waiting for an agent that is writing to {path} (`--wait=0` does not wait)"
            ));
        }
        has_waited = true;
        std::thread::sleep((quiet - age).min(left).min(quiet / 8).max(Duration::from_millis(1)));
    }
}

/// Carries out one plan, or prints it with `--dry-run`.
pub(crate) fn finish(
    writing: WriteArgs,
    files: &Files,
    format: Format,
    plan: &Plan,
    prove: Option<&Proof<'_>>,
    last_try: bool,
    ui: &mut Ui,
) -> anyhow::Result<Done> {
    finish_in(None, writing, files, format, plan, prove, last_try, ui)
}

/// Does the same for a plan that is a part of an operation on several files.
#[allow(clippy::too_many_arguments, reason = "as many as a write needs")]
pub(crate) fn finish_in(
    group: Option<&Group>,
    writing: WriteArgs,
    files: &Files,
    format: Format,
    plan: &Plan,
    prove: Option<&Proof<'_>>,
    last_try: bool,
    ui: &mut Ui,
) -> anyhow::Result<Done> {
    refuse_unpacked(files, plan)?;
    let log = Log::of_user();
    let options = WriteOptions { group, ..options(writing, log.as_ref(), prove, last_try) };
    let done = carry_out(files, format, plan, &options, ui.out()).map_err(|refusal| {
        match refusal {
            // A reader that is gone is distinguished from other failures by its own error.
            Refusal::Output(error) => anyhow::Error::from(error),
            refusal => refusal.into(),
        }
    })?;
    if writing.dry_run {
        show(&plan.changes, |file| files.path(file), ui)?;
    } else {
        report_kept_files(&done, ui);
        tell_running(files.path(0), &done, ui);
        if done.op_id.is_empty() && !done.files.is_empty() {
            ui.note("warning: this operation is not recorded and can't be undone");
        }
    }
    Ok(done)
}

/// Says that an agent runs in the project, which has read the session perhaps, and will not see the change.
fn tell_running(session: &Path, done: &Done, ui: &mut Ui) {
    let is_changed = || {
        let real = session.canonicalize().unwrap_or_else(|_| session.to_owned());
        done.files.iter().any(|file| *file == real || file == session)
    };
    if ui.look.quiet || !is_changed() {
        return;
    }
    for agent in agents::running_beside(session) {
        ui.note(format_args!(
            "note: `{}` (pid {}) runs in this folder; a session that it has open will not see the change until it is \
             resumed",
            agent.name, agent.pid
        ));
    }
}

/// Returns a file that a plan changes although it was only unpacked from the archive to be read.
fn unpacked_target<'f>(files: &'f Files, plan: &Plan) -> Option<&'f Path> {
    let changed = plan.targets.iter().filter_map(|target| match target {
        Target::Append { file, .. } | Target::Rewrite { file, .. } | Target::Remove { file } => {
            Some(files.path(*file))
        }
        Target::Move { file, copies: false, .. } => Some(files.path(*file)),
        Target::Create { .. } | Target::Move { .. } => None,
    });
    changed.into_iter().find(|path| is_unpacked(path))
}

/// Refuses to change a session that was read from the archive.
fn refuse_unpacked(files: &Files, plan: &Plan) -> Result<(), Failure> {
    let Some(path) = unpacked_target(files, plan) else { return Ok(()) };
    let what = format!("{}: the session is only in the archive", path.display());
    let hint = "`bough restore ID` puts it back, so that it can be changed";
    Err(Failure::Refused { what, hint: hint.into() })
}

/// Names the old files that are kept beside new ones.
pub(crate) fn report_kept_files(done: &Done, ui: &mut Ui) {
    for kept in &done.kept {
        let kept = text::one_line(&kept.display().to_string());
        ui.note(format_args!("warning: no folder for backups; the old file is kept as {kept}"));
    }
}

/// Returns how plans are carried out in this run.
pub(crate) fn options<'a>(
    writing: WriteArgs,
    log: Option<&'a Log>,
    prove: Option<&'a Proof<'a>>,
    last_try: bool,
) -> WriteOptions<'a> {
    WriteOptions {
        force: writing.force,
        allow: writing.allow.0,
        dry_run: writing.dry_run,
        last_try,
        now: time::now(),
        log,
        group: None,
        quiet: WriteOptions::QUIET,
        patience: Duration::from_secs_f64(writing.wait),
        keep_added: false,
        prove,
    }
}

/// Prints the changes of a plan.
pub(crate) fn show<'p>(
    changes: &[Change],
    path: impl Fn(u16) -> &'p Path,
    ui: &mut Ui,
) -> std::io::Result<()> {
    for change in changes {
        let file = change.path.as_deref().unwrap_or_else(|| path(change.file)).display().to_string();
        if ui.look.json {
            fn said(value: &str) -> Option<&str> {
                Some(value).filter(|value| !value.is_empty())
            }
            let row = ChangeRow {
                op: change.op,
                file,
                id: said(&change.id),
                field: said(&change.field),
                old: said(&change.old),
                new: said(&change.new),
                why: said(&change.why),
                line: Some(change.line).filter(|line| *line > 0),
                bytes: change.bytes,
                guess: change.is_guess,
            };
            rows::print(&row, ui)?;
            continue;
        }
        let at = if change.line > 0 { format!(":{}", change.line) } else { String::new() };
        let field = if change.field.is_empty() { String::new() } else { format!(" {}", change.field) };
        let why = if change.why.is_empty() { String::new() } else { format!(" ({})", change.why) };
        writeln!(
            ui.out(),
            "{}{at}: {}{}",
            text::safe(&file),
            change.op,
            text::safe(&format!("{field}{why}"))
        )?;
        for (sign, lines) in [('-', &change.old), ('+', &change.new)] {
            for line in lines.lines() {
                writeln!(ui.out(), "{sign} {}", text::safe(line))?;
            }
        }
    }
    Ok(())
}

/// A change that is made, or would be: every --dry-run, fsck --repair.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.change/1")]
pub(crate) struct ChangeRow<'a> {
    /// What is done: `append`, `set`, `remove`, `split`, and so on.
    op: &'static str,
    /// The file.
    file: String,
    /// The entry that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// The field that is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    /// What was there, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'a str>,
    /// What is put there, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<&'a str>,
    /// Why: the check of fsck, or words.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    /// The line of the old file; absent for new lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// How many bytes are added, or removed if negative.
    bytes: i64,
    /// Whether another value would be as good: the file does not say which one is right.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    guess: bool,
}

/// Returns the text of a summary, which is given literally, on standard input, or in a file; an
/// empty one is an error.
pub(crate) fn summary(word: &str) -> anyhow::Result<String> {
    let text = match word.strip_prefix('@') {
        Some(file) => {
            std::fs::read_to_string(file).map_err(|error| anyhow::anyhow!(error).context(file.to_owned()))?
        }
        None if word == "-" => standard_input()?,
        None => word.to_owned(),
    };
    let text = text.trim_end_matches(['\n', '\r']);
    if text.trim().is_empty() {
        return Err(Failure::Usage { what: "the summary is empty".into(), hint: String::new() }.into());
    }
    Ok(text.to_owned())
}

/// Reads a text from standard input, without the ends of its last lines.
pub(crate) fn standard_input() -> std::io::Result<String> {
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    Ok(text)
}

/// Returns a generator of new ids; a test sets its seed with `BOUGH_IDS`.
pub(crate) fn ids() -> Ids {
    Ids::seeded_or_random(std::env::var("BOUGH_IDS").ok().as_deref())
}

/// Returns a seed for new ids, for callers that must know them in advance: that of [`ids`] if a
/// test sets it, or else a random one.
pub(crate) fn seed() -> String {
    std::env::var("BOUGH_IDS").unwrap_or_else(|_| Ids::random().uuid())
}
