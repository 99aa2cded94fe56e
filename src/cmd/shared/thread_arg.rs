//! Session arguments that are linearized: sessions of Claude Code with their subagents, and whole
//! projects.

use super::exit::Failures;
use super::options::Global;
use super::session_arg;
use crate::cmd::Failure;
use crate::format::{Format, Head, Layout, Session};
use crate::json::string_of;
use crate::model::{Count, Ix, Source};
use crate::ops::claude_code_log::{self, Document};
use crate::ops::thread;
use crate::ops::thread::{Agent, Aside, How, Reading, StrandKind};
use crate::ops::{self, revision};
use crate::store::{self, Opened, locate, project};
use crate::ui::Ui;
use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A session, or a project, as a command shows it.
pub(crate) struct ThreadView {
    /// The session; its tree is that of the thread, if there is one.
    pub(crate) opened: Opened,
    /// The thread; `None` for other formats, and if stored links are requested.
    pub(crate) reading: Option<Reading>,
    /// Its files, if more than the main one were read.
    pub(crate) layout: Option<Layout>,
    /// The subagents whose files were read.
    pub(crate) agents: Vec<Agent>,
    /// Errors about some of several files.
    pub(crate) failures: Failures,
}

/// How a session is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReadOptions {
    /// By the stored links only.
    pub(crate) dag: bool,
    /// With the subagents' files.
    pub(crate) agents: bool,
}

/// Returns the project folder that a command was given instead of a session, or `None` if it was
/// given a session.
///
/// A folder with one session means that session.
pub(crate) fn folder(global: &Global, named: Option<&str>) -> Option<PathBuf> {
    let word = global.session.as_deref().or(named)?;
    let path = Path::new(word);
    let is_project = path.is_dir() && project::is_project(path);
    (is_project && session_arg::has_several(global, path)).then(|| path.to_owned())
}

/// Returns the sessions of the folder that a command was given instead of one, if they are not to
/// be read together, or `None` if it was given one session, or a project.
pub(crate) fn sessions(global: &Global, named: Option<&str>) -> Option<Vec<PathBuf>> {
    let path = Path::new(global.session.as_deref().or(named)?);
    let is_working_directory = || locate::project_at(&locate::stores(&global.roots), path).is_some();
    if !path.is_dir() || project::is_project(path) || is_working_directory() {
        return None;
    }
    Some(session_arg::in_folder(global, path)).filter(|found| found.len() > 1)
}

/// Opens the session that a command works on, or the project.
pub(crate) fn read(
    global: &Global,
    named: Option<&str>,
    manner: ReadOptions,
    ui: &mut Ui,
) -> anyhow::Result<ThreadView> {
    if let Some(folder) = folder(global, named) {
        let (mut layout, failures) = layout(&folder, ui)?;
        if !manner.agents {
            layout.files.truncate(layout.mains);
        }
        let mut read = ThreadView { failures, ..whole(layout)? };
        if !manner.dag {
            read.join()?;
        }
        return Ok(read);
    }
    read_opened(session_arg::session(global, named, ui)?, manner, ui)
}

/// Reads what belongs to an open session, as a command shows it.
pub(crate) fn read_opened(opened: Opened, manner: ReadOptions, ui: &mut Ui) -> anyhow::Result<ThreadView> {
    let mut read = ThreadView::unlinearized(opened);
    if manner.agents
        && let Some(more) = with_agents(&read.opened, ui)?
    {
        read = more;
    }
    if !manner.dag {
        read.join()?;
    }
    Ok(read)
}

/// Returns the session with the files of its subagents, or `None` if it has none.
fn with_agents(opened: &Opened, ui: &mut Ui) -> anyhow::Result<Option<ThreadView>> {
    let path = opened.files.path(0);
    if opened.session.format != Format::Claude || store::is_read_once(path) {
        return Ok(None);
    }
    let mut unread = Vec::new();
    let layout = project::of_session(path, &mut unread)?;
    let failures = report_unread(unread, ui)?;
    report_left_out(&layout, ui);
    if layout.files.len() < 2 && failures.is_empty() {
        return Ok(None);
    }
    let mut read = ThreadView { failures, ..whole(layout)? };
    // The main file comes first, so its entries have the same indexes.
    let (alone, session) = (&opened.session, &mut read.opened.session);
    (session.head, session.beside, session.previous) =
        (alone.head, alone.beside.clone(), alone.previous.clone());
    Ok(Some(read))
}

/// Returns the entries that revisions name, in their order, with the session that contains them: if
/// the main file has no such entries, those of its subagents are searched, too.
pub(crate) fn entries_named(
    opened: Opened,
    revisions: &[String],
    ui: &mut Ui,
) -> anyhow::Result<(Opened, Vec<Ix>)> {
    let all = |opened: &Opened| -> Result<Vec<Ix>, ops::Error> {
        let one = |word| revision::set(&opened.session, &opened.files, std::slice::from_ref(word));
        Ok(revisions.iter().map(one).collect::<Result<Vec<_>, _>>()?.concat())
    };
    let error = match all(&opened) {
        Ok(entries) => return Ok((opened, entries)),
        Err(error) => error,
    };
    if matches!(error, ops::Error::NoRevision { .. })
        && let Some(read) = with_agents(&opened, ui)?
    {
        let entries = all(&read.opened)?;
        return Ok((read.opened, entries));
    }
    Err(error.into())
}

/// Returns the readable files of a project, and the errors about the others.
pub(crate) fn layout(folder: &Path, ui: &mut Ui) -> anyhow::Result<(Layout, Failures)> {
    let mut unread = Vec::new();
    let layout = project::readable_layout(folder, &mut unread)?;
    report_left_out(&layout, ui);
    Ok((layout, report_unread(unread, ui)?))
}

/// Reports why files can't be read.
fn report_unread(unread: Vec<store::Error>, ui: &mut Ui) -> anyhow::Result<Failures> {
    let mut failures = Failures::default();
    for error in unread {
        failures.add(error.into(), false, ui)?;
    }
    Ok(failures)
}

/// Reports how many files of a project are too many to be read together.
pub(crate) fn report_left_out(layout: &Layout, ui: &mut Ui) {
    if layout.left_out > 0 {
        ui.note(format_args!(
            "warning: {} left out: at most {} are read together; `-s` or FILE reads one session",
            Count("file is", "files are", layout.left_out),
            Layout::MOST
        ));
    }
}

/// Reads all files of a layout, with links as stored.
fn whole(layout: Layout) -> anyhow::Result<ThreadView> {
    let mut opened = project::open(&layout, false)?;
    let agents = thread::agents(&opened.session, &opened.files, &layout)?;
    if layout.mains != 1 {
        opened.session.head = Head { rule: "a project has no HEAD", ..Head::default() };
    }
    Ok(ThreadView { opened, reading: None, layout: Some(layout), agents, failures: Failures::default() })
}

/// Returns for each file whether it is a subagent's, and to which entry it is attached.
pub(crate) fn anchors<'a>(
    agents: &'a [Agent],
    layout: &Layout,
) -> impl Fn(u16) -> Option<Option<Ix>> + use<'a> {
    let mut of_file: Vec<Option<Option<Ix>>> = vec![None; layout.files.len()];
    for agent in agents {
        of_file[usize::from(agent.file)] = Some(agent.anchored.entry());
    }
    move |file| of_file.get(usize::from(file)).copied().flatten()
}

/// Returns the linearized session, next to the one with the stored links, or `None` for formats
/// that need no linearization.
pub(crate) fn joined(session: &Session, source: &dyn Source) -> io::Result<Option<(Session, Reading)>> {
    if session.format != Format::Claude {
        return Ok(None);
    }
    let reading = thread::read(session, source)?;
    let mut joined = session.clone();
    joined.tree = reading.tree();
    joined.is_thread = true;
    stand_in(&mut joined, &reading);
    Ok(Some((joined, reading)))
}

/// Moves HEAD to the entry that represents it in a thread.
fn stand_in(session: &mut Session, reading: &Reading) {
    for place in [&mut session.head.entry, &mut session.head.exact, &mut session.head.leaf] {
        *place = place.map(|ix| reading.stand_in(ix));
    }
    session.beside.iter_mut().for_each(|ix| *ix = reading.stand_in(*ix));
}

impl ThreadView {
    /// Wraps a session that was opened, with links as stored.
    pub(crate) fn unlinearized(opened: Opened) -> ThreadView {
        ThreadView { opened, reading: None, layout: None, agents: Vec::new(), failures: Failures::default() }
    }

    /// Returns whether it consists of several sessions.
    pub(crate) fn is_project(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| layout.mains != 1)
    }

    /// Linearizes the entries of Claude Code.
    pub(crate) fn join(&mut self) -> io::Result<()> {
        let session = &mut self.opened.session;
        if session.format != Format::Claude || self.reading.is_some() {
            return Ok(());
        }
        let found = match &self.layout {
            Some(layout) => thread::read_with(session, &self.opened.files, &anchors(&self.agents, layout))?,
            None => thread::read(session, &self.opened.files)?,
        };
        session.tree = found.tree();
        session.is_thread = true;
        stand_in(session, &found);
        self.reading = Some(found);
        Ok(())
    }

    /// Returns the notes about entries in parentheses: where subagents began, and where sessions
    /// came from.
    pub(crate) fn marks(&self) -> io::Result<HashMap<Ix, Vec<String>>> {
        let mut marks: HashMap<Ix, Vec<String>> = HashMap::new();
        let (session, files) = (&self.opened.session, &self.opened.files);
        let Some(reading) = &self.reading else { return Ok(marks) };
        for ix in &reading.holes {
            marks.entry(*ix).or_default().push("its parent is missing".into());
        }
        if let Some(layout) = &self.layout {
            for agent in &self.agents {
                let name = agent_name(layout, agent);
                if let Some(at) = agent.anchored.entry() {
                    marks.entry(reading.stand_in(at)).or_default().push(format!("starts {name}"));
                }
                let first = reading.strands.iter().find(|strand| strand.file == agent.file);
                if let Some(first) = first {
                    marks.entry(first.entries[0]).or_default().push(name);
                }
            }
            if layout.mains > 1 {
                for kin in thread::family(session, files, layout, reading)? {
                    let first = reading.strands.iter().find(|strand| strand.file == kin.file);
                    let Some(first) = first.map(|line| line.entries[0]) else { continue };
                    let mut words = format!("session {}", short(layout.files[usize::from(kin.file)].stem()));
                    if let Some(origin) = kin.origin {
                        let other = short(layout.files[usize::from(origin.file)].stem()).to_owned();
                        words += &format!(", {} {other}", origin.how.name());
                        if let Some(at) = origin.at {
                            let verb = if origin.how == How::Forks { "forked" } else { "continued" };
                            let own = short(layout.files[usize::from(kin.file)].stem());
                            marks.entry(at).or_default().push(format!("{verb} by {own}"));
                        }
                    }
                    marks.entry(first).or_default().push(words);
                }
            }
        } else if let Some(first) = session.entries.all().next().filter(|_| !session.partial) {
            let line = files.bytes(session.span(first))?;
            let stands = reading.stand_in(first);
            if let Some((other, _)) = thread::forked_from(&line) {
                marks.entry(stands).or_default().push(format!("forked from {}", short(&other)));
            } else if let Some(words) = self.continued_from(first, &line) {
                marks.entry(stands).or_default().push(words);
            }
        }
        Ok(marks)
    }

    /// Returns where a session continues from, if its first entry names a parent that it does not
    /// contain.
    fn continued_from(&self, first: Ix, line: &[u8]) -> Option<String> {
        let session = &self.opened.session;
        let parent = session.entries.parent_key(first).filter(|parent| parent.is_some())?;
        if session.find(parent).is_some() {
            return None;
        }
        let parent = string_of(line, "parentUuid")?;
        let other = project::session_with(self.opened.files.path(0), &parent)?;
        let stem = other.file_stem()?.to_string_lossy().into_owned();
        Some(format!("continues {} at {}", short(&stem), short(&parent)))
    }

    /// Returns the entries on the path to `end`, newest first, with the entries of subagents that
    /// were started on it in their places.
    pub(crate) fn path_with_agents(&self, end: Option<Ix>) -> Vec<Ix> {
        let Some(reading) = &self.reading else { return Vec::new() };
        let tree = &self.opened.session.tree;
        let mut on_path = vec![false; self.opened.session.entries.len()];
        for ix in end.into_iter().flat_map(|end| tree.ancestors(end)) {
            on_path[ix.index()] = true;
        }
        // A subagent may have been started by another, and that by a third; each strand is checked
        // once.
        let mut known: Vec<Option<bool>> = vec![None; reading.strands.len()];
        for strand in 0..reading.strands.len() {
            let (mut way, mut at) = (Vec::new(), strand);
            let started = loop {
                if let Some(started) = known[at] {
                    break started;
                }
                // Strands that are attached to each other are started by nothing.
                known[at] = Some(false);
                way.push(at);
                let Some((above, place)) = reading.strands[at].above else { break false };
                if reading.strands[at].kind == StrandKind::Agent && on_path[place.index()] {
                    break true;
                }
                at = above as usize;
            };
            way.into_iter().for_each(|at| known[at] = Some(started));
        }
        let taken: Vec<bool> = known.into_iter().map(|started| started == Some(true)).collect();
        let mut order = reading.order();
        order.retain(|ix| {
            on_path[ix.index()] || reading.strand_of(*ix).is_some_and(|strand| taken[strand as usize])
        });
        order.reverse();
        order
    }

    /// Returns the entries that were set aside.
    pub(crate) fn aside(&self) -> &[Aside] {
        self.reading.as_ref().map_or(&[], |reading| &reading.aside)
    }
}

/// Returns the title of a subagent: `agent explorer`, by its name, its type, or its id.
pub(crate) fn agent_name(layout: &Layout, agent: &Agent) -> String {
    let id = layout.files[usize::from(agent.file)].agent().unwrap_or_default();
    let sidecar = agent.sidecar.map(|at| &layout.sidecars[at]);
    let called = sidecar.and_then(|sidecar| sidecar.name.as_deref().or(sidecar.ty.as_deref()));
    match called {
        Some(called) => format!("agent {called} {}", short_agent(id)),
        None => format!("agent {}", short_agent(id)),
    }
}

/// Returns the first characters of the id of a subagent; the whole id if it says what the subagent
/// is for, as in `acompact-f5ecdb`.
pub(crate) fn short_agent(id: &str) -> &str {
    if id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') { short(id) } else { id }
}

/// Returns the first characters of an id.
pub(crate) fn short(id: &str) -> &str {
    id.char_indices().nth(8).map_or(id, |(at, _)| &id[..at])
}

/// A project, or the session in one file, by the documented rules.
pub(crate) struct Documented {
    /// The result of the rules.
    pub(crate) document: Document,
    /// All files, with unknown types of lines counting as entries.
    pub(crate) opened: Opened,
    /// The entry of each node.
    pub(crate) entries: Vec<Option<Ix>>,
    /// Errors about some of several files.
    pub(crate) failures: Failures,
}

/// Reads the session or project that a command was given by the documented rules.
pub(crate) fn documented(global: &Global, named: Option<&str>, ui: &mut Ui) -> anyhow::Result<Documented> {
    let path = match folder(global, named) {
        Some(folder) => folder,
        None => {
            let path = session_arg::path(global, named, ui)?;
            let word = global.session.as_deref().or(named).map(Path::new);
            // A folder with one session is still a folder: its files are read together.
            word.filter(|word| word.is_dir() && project::is_project(word)).map_or(path, Path::to_owned)
        }
    };
    if store::is_read_once(&path) {
        let hint = "name a file or a project folder".into();
        return Err(
            Failure::Usage { what: "the documented order can't be read from a pipe".into(), hint }.into()
        );
    }
    if !path.is_dir() {
        let format =
            store::search_lines(&path, global.options(), None, &mut |_, _, _| ControlFlow::Break(()))?;
        if format != Format::Claude {
            return Err(Failure::Usage {
                what: format!("sessions of {} have no documented order", format.agent()),
                hint: "only Claude Code sessions have one; omit `--order`".into(),
            }
            .into());
        }
    }
    let (layout, failures) = layout(&path, ui)?;
    let mut opened = project::open(&layout, true)?;
    if layout.mains != 1 {
        opened.session.head = Head { rule: "a project has no HEAD", ..Head::default() };
    }
    let document = claude_code_log::document(&layout, &opened.files)?;
    let entries = &opened.session.entries;
    let at = |node: &claude_code_log::DocumentNode| {
        let range = entries.of_file(node.span.file);
        let (mut from, mut to) = (range.start, range.end);
        while from < to {
            let middle = from + (to - from) / 2;
            if entries.span(Ix(middle)).offset < node.span.offset {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        (from < range.end && entries.span(Ix(from)).offset == node.span.offset).then_some(Ix(from))
    };
    let found = document.nodes.iter().map(at).collect();
    Ok(Documented { document, entries: found, opened, failures })
}
