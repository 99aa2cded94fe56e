//! `bough tree`: the tree in the terminal, and acting on it.

mod commands;
mod draw;
mod keys;
mod line_edit;
mod markdown;
mod navigator;
mod pager;
mod picker;
mod screen;
mod session;
mod terminal;

use self::commands::Bough;
use super::shared::config::Config;
use super::shared::options::{Global, session_variable};
use super::shared::session_arg;
use super::{Exit, Failure, complete};
use crate::ops::filter::Mode;
use crate::store::locate::{self, Found};
use crate::store::{self, Growing, Options};
use crate::ui::{Look, Ui, text};
use clap_complete::engine::ArgValueCompleter;
use keys::Key;
use navigator::{Kept, Leave, Navigator, Step, Summaries, Then, Use};
use picker::{Picked, Picker, Scope};
use screen::{Input, Screen, Script};
use session::{How, Loader, Model, News};
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use terminal::Terminal;

/// Browse a session's tree in the terminal, and act on it
///
/// Shows the tree as the agents' own tree views do: roots down, the branch with HEAD first, with
/// the same filters. The entry under the cursor is shown beside the tree. Keys switch, label, copy,
/// export, compare, undo and redo. Each of them runs the command of that name and can be undone; all
/// but the label show their plan first. `g?` lists the keys. Browsing writes nothing.
///
/// Without a session, lists the sessions of the current folder, or of the nearest above it that has
/// any; Enter opens one.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough tree [OPTIONS] [SESSION]")]
pub struct Args {
    /// The session: a file, a folder with sessions, an id or id prefix, a name, or `latest`
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
    word: Option<String>,

    /// List the sessions of all projects first
    #[arg(long, conflicts_with_all = ["word", "project"])]
    all: bool,

    /// List the sessions of the current folder first, even if a session is set
    #[arg(long, conflicts_with = "word")]
    project: bool,

    /// Choose an entry and print its id; with `many`, the ids of all marked entries
    ///
    /// Draws on the terminal even if the output goes elsewhere, e.g. `bough switch "$(bough tree
    /// --select)"`. If the session was chosen from a list and other commands would not use it, the
    /// id is printed as `ID@SESSION`. Leaving without a choice has exit status 1.
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "one", value_parser = ["one", "many"])]
    select: Option<String>,

    /// Begin with this filter
    #[arg(long, value_name = "FILTER", default_value = "default", value_parser = Mode::ALL.map(|(name, _)| name))]
    filter: String,

    /// Scroll with the mouse wheel
    ///
    /// The terminal then can't select text with the mouse, except with Shift in most terminals.
    #[arg(long)]
    mouse: bool,

    /// Take these keys instead of those of the terminal, and print the screen after them, for tests
    #[arg(long, value_name = "KEYS", hide = true)]
    keys: Option<String>,

    /// The size of the screen that `--keys` has, e.g. `80x24`
    #[arg(long, value_name = "SIZE", hide = true, requires = "keys", default_value = "80x24", value_parser = size)]
    size: (u16, u16),
}

fn size(word: &str) -> Result<(u16, u16), String> {
    let parsed =
        word.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    parsed.ok_or_else(|| "expected a size such as 80x24".into())
}

pub(super) fn run(args: &Args, global: &Global, config: &Config, ui: &mut Ui) -> anyhow::Result<Exit> {
    let purpose = match args.select.as_deref() {
        None => Use::Act,
        Some("many") => Use::SelectMany,
        Some(_) => Use::SelectOne,
    };
    if args.keys.is_none() {
        check_terminal(purpose)?;
    }
    let chosen = chosen(args, global, ui)?;
    // The screen has a width, even if the output is a pipe.
    text::cut_to_width();
    let look = if args.keys.is_some() {
        Look { color: false, ..ui.look }
    } else {
        drawn_look(ui.look, global, config)
    };
    let mut screen: Box<dyn Screen> = match &args.keys {
        Some(keys) => Box::new(Script::new(keys, args.size)),
        None => Box::new(Terminal::enter(args.mouse)?),
    };
    let options = global.options();
    let mut chosen = match chosen {
        Chosen::Session(path) => Start::Session(path),
        Chosen::List(found, scope) => Start::List(Box::new(Picker::new(found, options, scope))),
    };
    let mode =
        Mode::ALL.into_iter().find(|(name, _)| *name == args.filter).map_or(Mode::Default, |(_, mode)| mode);
    let mut printed = String::new();
    // The session from which an entry is chosen, if the user took it from the list.
    let mut listed = None;
    let left = loop {
        let path = match &mut chosen {
            Start::Session(path) => path.clone(),
            Start::List(picker) => match picker.pick(&look, &mut *screen)? {
                Picked::Session(path) => path,
                Picked::Other(scope) => {
                    picker.list(listed_in(global, scope), scope);
                    continue;
                }
                Picked::Nothing => break Ok(Left::By(Leave::Quit)),
                Picked::Ended => break Ok(Left::Ended),
                Picked::Signal(signal) => break Ok(Left::Signal(signal)),
            },
        };
        let has_list = matches!(chosen, Start::List(_));
        listed = Some(path.clone()).filter(|_| has_list);
        let left = Browser { screen: &mut *screen, path: &path, options, purpose, look, has_list }
            .browse(Kept::new(mode));
        match (left, &mut chosen) {
            (Ok((Left::By(Leave::Back), kept)), Start::List(_)) => printed.push_str(&kept.printed),
            (Err(error), Start::List(picker)) => picker.report(&error),
            (left, _) => {
                break left.map(|(left, kept)| {
                    printed.push_str(&kept.printed);
                    left
                });
            }
        }
    };
    let last = screen.last();
    // The terminal is given back before anything is printed.
    drop(screen);
    match left? {
        Left::Ended => print_screen(last, ui)?,
        Left::Signal(signal) => terminal::end_by(signal)?,
        Left::By(Leave::Quit | Leave::Back) if purpose != Use::Act => return Ok(Exit::No),
        Left::By(Leave::Quit | Leave::Back) => {}
        Left::By(Leave::Chosen(ids)) => {
            let session = listed.and_then(|path| session_arg::word_for(global, &path));
            let at = session.map_or_else(String::new, |session| format!("@{session}"));
            for id in ids {
                writeln!(ui.out(), "{id}{at}")?;
            }
        }
        Left::By(Leave::Resume(command)) => {
            let printed = ui.look.shown(&printed).into_owned();
            write!(ui.out(), "{printed}")?;
            ui.finish()?;
            return Err(Command::new("sh").args(["-c", &command]).exec().into());
        }
    }
    let printed = ui.look.shown(&printed).into_owned();
    write!(ui.out(), "{printed}")?;
    Ok(Exit::Done)
}

fn print_screen(last: Option<String>, ui: &mut Ui) -> io::Result<()> {
    write!(ui.out(), "{}", last.unwrap_or_default())
}

/// Refuses to run where nobody could see it.
fn check_terminal(purpose: Use) -> Result<(), Failure> {
    if std::env::var_os("TERM").is_some_and(|name| name == "dumb") {
        let what = "`bough tree` needs a terminal with a cursor, and TERM is `dumb`".into();
        return Err(Failure::Usage { what, hint: PRINTED.into() });
    }
    let sees = if purpose == Use::Act { io::stdout().is_terminal() } else { true };
    let has_terminal = std::fs::File::open("/dev/tty").is_ok();
    if sees && has_terminal {
        return Ok(());
    }
    Err(Failure::Usage { what: "`bough tree` needs a terminal".into(), hint: PRINTED.into() })
}

/// What does without a terminal.
const PRINTED: &str = "`bough log --graph --reverse` prints the tree";

/// How the terminal is drawn on: its colors count, even if the output goes elsewhere.
fn drawn_look(look: Look, global: &Global, config: &Config) -> Look {
    use super::shared::options::When;
    let (when, _) = global.color_in_force(config);
    Look { color: when != When::Never, ..look }
}

/// What is shown first.
enum Chosen {
    Session(PathBuf),
    List(Vec<Found>, Scope),
}

/// Where the user begins, and comes back to.
enum Start {
    Session(PathBuf),
    List(Box<Picker>),
}

fn chosen(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Chosen> {
    if args.all {
        if global.session.is_some() {
            let hint = "leave out one of them".to_owned();
            return Err(Failure::Usage {
                what: "`--all` lists all sessions, and `-s` names one".into(),
                hint,
            }
            .into());
        }
        return Ok(Chosen::List(listed_in(global, Scope::All), Scope::All));
    }
    let named = global.session.as_deref().or(args.word.as_deref());
    if let Some(folder) =
        named.map(Path::new).filter(|path| path.is_dir() && session_arg::has_several(global, path))
    {
        let found = session_arg::in_folder(global, folder);
        let found = found.into_iter().filter_map(Found::from_path).collect();
        return Ok(Chosen::List(found, Scope::Folder));
    }
    if named.is_none() && (args.project || session_variable().is_none()) {
        let found = listed_in(global, Scope::Project);
        return match found.is_empty() {
            true => Err(Failure::NoSession.into()),
            false => Ok(Chosen::List(found, Scope::Project)),
        };
    }
    let path = session_arg::path(global, args.word.as_deref(), ui)?;
    if store::is_read_once(&path) {
        let hint = "name a file".to_owned();
        return Err(Failure::Usage { what: "can't browse standard input or a pipe".into(), hint }.into());
    }
    Ok(Chosen::Session(path))
}

/// The sessions of the stores, of all projects or of this one.
fn listed_in(global: &Global, scope: Scope) -> Vec<Found> {
    match scope {
        Scope::All => locate::stores(&global.roots).iter().flat_map(locate::sessions).collect(),
        Scope::Project | Scope::Folder => session_arg::of_project(global, locate::Worktrees::Listed),
    }
}

/// How the navigator ended.
enum Left {
    By(Leave),
    /// The keys were at an end.
    Ended,
    Signal(i32),
}

/// What comes after a session as it is in memory.
enum Next {
    News(News),
    Leave(Left),
}

/// One session on a screen.
struct Browser<'b> {
    screen: &'b mut dyn Screen,
    path: &'b Path,
    options: Options,
    purpose: Use,
    look: Look,
    /// Whether the session was chosen from a list.
    has_list: bool,
}

/// A changed file is looked at this often while it is followed.
const LOOK: Duration = Duration::from_millis(50);

/// Whether an agent is at work is asked this often, at most.
const ASK: Duration = Duration::from_secs(3);

/// A command that ends within this time is not said to be at work.
const SOON: Duration = Duration::from_millis(300);

/// What a pager showed for this time only, nobody has seen.
const FLASH: Duration = Duration::from_millis(150);

/// While a command is at work, keys are looked at this often.
const TURN: Duration = Duration::from_millis(20);

impl Browser<'_> {
    fn browse(&mut self, mut kept: Kept) -> anyhow::Result<(Left, Kept)> {
        let bough = Bough::new(self.path)?;
        let mut growing = Growing::new(self.path, self.options);
        // As many entries as the screen has rows fill it.
        let (rows, how) = (self.screen.live_height(), kept.how());
        let first = rows.and_then(|rows| Model::read_end(self.path, self.options, rows.into(), how.filter));
        let (mut model, is_whole) = match first {
            Some(model) => (model, false),
            None => (Model::read(&mut growing, how.filter)?, true),
        };
        let mut loader = Loader::new(growing, how, !is_whole);
        let mut rows = model.take_rows(kept.filter).unwrap_or_else(|| model.rows_of(kept.filter));
        let mut summaries = Summaries::new();
        loop {
            let mut navigator = Navigator::new(&model, rows, &bough, self.purpose, kept);
            navigator.summaries = summaries;
            navigator.has_list = self.has_list;
            let next = self.drive(&mut navigator, &mut loader)?;
            (kept, rows, summaries) = navigator.keep();
            match next {
                Next::News(News::Model(read)) => {
                    let old = std::mem::replace(&mut model, *read);
                    summaries.clear();
                    let new = model.take_rows(kept.filter).unwrap_or_else(|| model.rows_of(kept.filter));
                    let old = (old, std::mem::replace(&mut rows, new));
                    // Millions of entries take longer to free than a frame.
                    std::thread::spawn(move || drop(old));
                }
                Next::News(News::Grown(grown)) => {
                    rows = model.grow(*grown, rows, kept.filter).unwrap_or_else(|rows| {
                        loader.start(How { is_followed: false, ..kept.how() });
                        rows
                    });
                }
                Next::Leave(left) => return Ok((left, kept)),
            }
        }
    }

    /// Takes keys and draws until the session was read anew, or is left.
    fn drive(&mut self, navigator: &mut Navigator<'_>, loader: &mut Loader) -> anyhow::Result<Next> {
        let (mut is_stale, mut looked, mut asked) = (true, Instant::now(), Instant::now());
        let mut has_pressed = false;
        // What was said of a file that is followed and is gone, until it is there again.
        let mut failed: Option<String> = None;
        loop {
            // A search goes on in the rows that it began in; it takes no longer than a reading.
            match if navigator.is_searching() { None } else { loader.take() } {
                Some(Ok(news)) => return Ok(Next::News(news)),
                Some(Err(error)) => {
                    navigator.kept.message = format!("{error:#}");
                    is_stale = true;
                }
                None => {}
            }
            if navigator.kept.follow && !loader.is_reading() && looked.elapsed() >= LOOK.max(loader.pause()) {
                looked = Instant::now();
                let changed = navigator.model.has_changed();
                if changed.is_ok()
                    && let Some(said) = failed.take()
                    && said == navigator.kept.message
                {
                    navigator.kept.message.clear();
                    is_stale = true;
                }
                match changed {
                    Ok(true) => loader.start(navigator.kept.how()),
                    Ok(false) => {}
                    Err(error) => {
                        navigator.kept.message = error.to_string();
                        failed = Some(navigator.kept.message.clone());
                        is_stale = true;
                    }
                }
            }
            if asked.elapsed() >= ASK {
                asked = Instant::now();
                // What is followed, or read just now, is not old.
                let has_changed = !navigator.kept.follow
                    && !loader.is_reading()
                    && navigator.model.has_changed().unwrap_or(false);
                let is_news = has_changed != navigator.has_changed;
                is_stale |= is_news;
                navigator.has_changed = has_changed;
                // To look for a program takes longer than to look at a file.
                if navigator.is_agent_running || is_news || std::mem::take(&mut has_pressed) {
                    let is_running = navigator.model.is_agent_running();
                    is_stale |= is_running != navigator.is_agent_running;
                    navigator.is_agent_running = is_running;
                }
            }
            is_stale |= navigator.work(Duration::from_millis(8));
            let is_busy = loader.is_reading() || navigator.is_searching();
            if is_stale {
                let status = if loader.is_reading() { "reading…" } else { "" };
                let look = self.look;
                self.screen.draw(&mut |buffer| draw::screen(navigator, status, &look, buffer))?;
                is_stale = false;
                loader.start_due(navigator.kept.how());
            }
            let wait = match (navigator.is_searching(), loader.is_reading(), navigator.kept.follow) {
                (true, ..) => Duration::ZERO,
                (_, true, _) => Duration::from_millis(10),
                (_, _, true) => LOOK,
                // A change of the file is noticed, and an agent that ends.
                _ => ASK,
            };
            match self.screen.next(wait, is_busy)? {
                Input::Nothing => {}
                Input::Redraw => is_stale = true,
                Input::End => return Ok(Next::Leave(Left::Ended)),
                Input::Signal(signal) => return Ok(Next::Leave(Left::Signal(signal))),
                Input::Paste(text) => {
                    is_stale = true;
                    navigator.paste(&text);
                }
                Input::Key(key) => {
                    is_stale = true;
                    has_pressed = true;
                    let step = navigator.press(key).and_then(|step| self.take_step(step, navigator, loader));
                    match step {
                        Ok(Some(left)) => return Ok(Next::Leave(left)),
                        Ok(None) => {}
                        Err(error) => navigator.kept.message = text::one_line(&format!("{error:#}")),
                    }
                }
            }
        }
    }

    /// Does what a key asked for outside of the tree. Gives how the navigator is left, if it is.
    fn take_step(
        &mut self,
        step: Step,
        navigator: &mut Navigator<'_>,
        loader: &mut Loader,
    ) -> anyhow::Result<Option<Left>> {
        match step {
            Step::Stay => {}
            Step::Reread => loader.start(navigator.kept.how()),
            Step::Leave(leave) => return Ok(Some(Left::By(leave))),
            Step::Run(words, then) => return self.run(&words, then, navigator, loader),
            Step::Suspend => self.screen.suspend()?,
            Step::Redraw => self.screen.forget(),
            Step::Copy(text) => self.screen.copy(&text)?,
            Step::Page(words) => {
                let began = Instant::now();
                // A text that fits on the screen would be gone at once.
                let ended = self.screen.run(navigator.bough.command(&words).env("LESS", "R"))?;
                // So would one that is only printed.
                if ended.success() && began.elapsed() < FLASH && self.screen.live_height().is_some() {
                    return self.run(&words, Then::Show, navigator, loader);
                }
                if !ended.success() {
                    navigator.kept.message = format!("`{}` failed: {ended}", navigator.bough.spelled(&words));
                }
            }
            Step::Edit(text) => _ = self.edit(&text, Purpose::Read)?,
            Step::Summarize(mut words) => {
                let written = self.edit(&format!("\n{SUMMARY_NOTE}\n"), Purpose::Write)?;
                let summary = written.replace(SUMMARY_NOTE, "").trim().to_owned();
                if summary.is_empty() {
                    navigator.kept.message = "no summary was written; nothing was changed".into();
                    return Ok(None);
                }
                words.splice(1..1, ["--summary".to_owned(), summary]);
                let step = Navigator::plan("Switch here, with this summary?", words);
                return self.take_step(step, navigator, loader);
            }
        }
        Ok(None)
    }

    /// Runs a command, and does what comes after it. Meanwhile, the last line says what is waited for, and the user can
    /// give up. Gives how the navigator is left, if it is.
    fn run(
        &mut self,
        words: &[String],
        then: Then,
        navigator: &mut Navigator<'_>,
        loader: &mut Loader,
    ) -> anyhow::Result<Option<Left>> {
        let mut running = navigator.bough.start(words)?;
        let mut ran = running.ends_within(SOON)?;
        let look = self.look;
        let mut is_stale = false;
        while ran.is_none() {
            let said = running.waits_for();
            // A script has no key for a command that only takes long.
            let is_busy = said.is_none();
            let said = said.unwrap_or_else(|| format!("`bough {}` is at work", words[0]));
            // The end of a long line is cut.
            let message = format!("Esc gives up · {said}");
            if is_stale || navigator.kept.message != message {
                navigator.kept.message = message;
                self.screen.draw(&mut |buffer| draw::screen(navigator, "", &look, buffer))?;
                is_stale = false;
            }
            let left = match self.screen.next(Duration::ZERO, is_busy)? {
                Input::Key(Key::Esc | Key::Ctrl('c')) => {
                    let printed = running.give_up()?;
                    if matches!(then, Then::Show | Then::ShowAndReread) && !printed.out.is_empty() {
                        navigator.ran(words, Then::Show, &printed);
                    }
                    navigator.kept.message = format!("gave up: `bough {}` was ended", words[0]);
                    loader.start(navigator.kept.how());
                    return Ok(None);
                }
                Input::End => Some(Left::Ended),
                Input::Signal(signal) => Some(Left::Signal(signal)),
                Input::Redraw => {
                    is_stale = true;
                    None
                }
                Input::Key(_) | Input::Paste(_) | Input::Nothing => None,
            };
            if left.is_some() {
                running.give_up()?;
                return Ok(left);
            }
            ran = running.ends_within(TURN)?;
        }
        navigator.kept.message.clear();
        let step = ran.map_or(Step::Stay, |ran| navigator.ran(words, then, &ran));
        self.take_step(step, navigator, loader)
    }

    /// Lets the user edit a text, and gives what it is then.
    fn edit(&mut self, text: &str, purpose: Purpose) -> anyhow::Result<String> {
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.trim().is_empty());
        let editor = variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or_else(|| "vi".into());
        let file = Scratch::new(text, purpose)?;
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(&file.path);
        let ended = self.screen.run(&mut command)?;
        if !ended.success() {
            anyhow::bail!("the editor `{editor}` failed: {ended}");
        }
        Ok(std::fs::read_to_string(&file.path)?)
    }
}

/// What a summary is written above, in the editor.
const SUMMARY_NOTE: &str = "<!-- Write above what the model should know of the branch that is left. Without a text, nothing \
                            is changed. This line is left out. -->";

/// What a text is in the editor for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Read,
    Write,
}

/// A file for the editor that is removed in the end.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new(text: &str, purpose: Purpose) -> io::Result<Scratch> {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        let name = format!("bough-{}-{}.md", std::process::id(), uuid::Uuid::new_v4().simple());
        let path = std::env::temp_dir().join(name);
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes())?;
        // An editor says of such a file that changes to it are lost.
        if purpose == Purpose::Read {
            file.set_permissions(std::fs::Permissions::from_mode(0o400))?;
        }
        Ok(Scratch { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
