//! `bough export --to html`: the page of one session.

use super::output::Output;
use super::redaction::Redaction;
use super::{Args, WhichImages};
use crate::cmd::shared::config::Config;
use crate::cmd::shared::thread_arg::{self, ThreadView};
use crate::context::Context;
use crate::format::claude::stored_results;
use crate::format::{Content, Format, Session};
use crate::model::{Count, Ix, Source};
use crate::ops::page::{self, Beside, Images, Link, Options, ResultText, Started, Written};
use crate::ops::redact::Redact;
use crate::ops::revision;
use crate::store::write::Group;
use crate::store::{Opened, ResultFiles};
use crate::ui::Ui;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// The most bytes of a result in a file that a page has.
const MOST: u64 = 16 << 20;

/// The most characters of a title that is a prompt.
pub(super) const TITLE: usize = 80;

/// A page to be written.
pub(super) struct Page<'p> {
    pub(super) read: &'p ThreadView,
    /// The entries that are in it.
    pub(super) chosen: &'p [Ix],
    /// What the agent would send at HEAD.
    pub(super) context: Option<Context>,
    /// Links to other pages.
    pub(super) links: HashMap<Ix, Vec<Link>>,
    /// The file of the page that lists all sessions.
    pub(super) home: Option<String>,
}

impl Page<'_> {
    /// Learns the secrets of everything that the page shows.
    pub(super) fn learn(&self, redaction: &mut Redaction) -> io::Result<()> {
        let opened = &self.read.opened;
        redaction.learn_entries(opened, self.chosen)?;
        if opened.session.format != Format::Claude || !redaction.is_on() {
            return Ok(());
        }
        let files = ResultReader::new(opened);
        let mut line = Vec::new();
        for ix in self.chosen {
            if files.folder.is_none() {
                break;
            }
            opened.files.read(opened.session.span(*ix), &mut line)?;
            for text in files.texts(&line, &Content::read(Format::Claude, &line)).into_iter().flatten() {
                redaction.learn_text(&text.text.unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Writes the page to a file, or prints it.
    pub(super) fn write(
        self,
        args: &Args,
        config: &Config,
        redaction: &mut Redaction,
        output: Option<&Path>,
        group: Option<&Group>,
        ui: &mut Ui,
    ) -> anyhow::Result<Written> {
        let (session, files) = (&self.read.opened.session, &self.read.opened.files);
        let cwd =
            session.header.as_ref().and_then(|header| header.cwd.clone()).or(session.claude.cwd.clone());
        let title = title(&self.read.opened, self.chosen, TITLE, redaction)?;
        let options = Options {
            title,
            cwd: cwd.unwrap_or_default(),
            home: self.home,
            images: match args.images {
                WhichImages::All => Images::All,
                WhichImages::Small => Images::Small,
                WhichImages::None => Images::None,
            },
            results: args.results,
            no_thinking: args.no_thinking,
            prices: config.prices(),
            notes: Vec::new(),
        };
        let results = ResultReader::new(&self.read.opened);
        let beside = Beside {
            notes: self.read.marks()?,
            started: started(self.read),
            links: self.links,
            context: self.context,
            result_texts: &|_, line, content| results.texts(line, content),
        };
        let written = match output {
            Some(path) => {
                let mut out = Output::create(path)?;
                let written =
                    page::write(session, files, self.chosen, beside, &options, redaction, &mut out)?;
                out.finish(&self.read.opened, group, ui)?;
                written
            }
            None => page::write(session, files, self.chosen, beside, &options, redaction, ui.out())?,
        };
        ui.out().flush()?;
        Ok(written)
    }
}

/// Returns the title of what is exported: the name of the session, else the first words of the first prompt that is exported,
/// at most so many characters; empty if there is neither. What is redacted goes before the rest is cut, for the half of a secret
/// is one too.
pub(super) fn title(
    opened: &Opened,
    chosen: &[Ix],
    most: usize,
    redaction: &mut Redaction,
) -> io::Result<String> {
    let session = &opened.session;
    if let Some(name) = session.name.as_ref().filter(|name| !name.trim().is_empty()) {
        return Ok(redaction.text(name).into_owned());
    }
    let Some(first) = chosen.iter().copied().find(|ix| revision::is_prompt(session, *ix)) else {
        return Ok(String::new());
    };
    let line = opened.files.bytes(session.span(first))?;
    let mut content = Content::read(session.format, &line);
    content.text = redaction.text(&content.text).into_owned().into();
    let summary = content.summary_by("", &|text| page::first_words(text, most + 1));
    Ok(match summary.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &summary[..end]),
        None => summary,
    })
}

/// Returns what the agent would send at HEAD of a session with its links as stored.
pub(super) fn context_at_head(opened: &Opened) -> io::Result<Option<Context>> {
    let session: &Session = &opened.session;
    Context::build(session, &opened.files, Context::position(session)).map(Some)
}

/// The subagents whose entries were read, by the entry that started each.
fn started(read: &ThreadView) -> HashMap<Ix, Vec<Started>> {
    let mut out: HashMap<Ix, Vec<Started>> = HashMap::new();
    let (Some(reading), Some(layout)) = (&read.reading, &read.layout) else { return out };
    for agent in &read.agents {
        let Some(at) = agent.anchored.entry() else { continue };
        let strands = || reading.strands.iter().filter(|strand| strand.file == agent.file);
        let first = strands().find_map(|strand| strand.entries.first());
        let last = strands().filter_map(|strand| strand.entries.last()).max();
        if let (Some(first), Some(last)) = (first, last) {
            let entries = strands().map(|strand| strand.entries.len()).sum();
            let name = thread_arg::agent_name(layout, agent);
            out.entry(reading.stand_in(at)).or_default().push(Started {
                first: *first,
                last: *last,
                entries,
                name,
            });
        }
    }
    out
}

/// Reads tool results that Claude Code keeps in files beside the session.
struct ResultReader {
    folder: Option<ResultFiles>,
}

impl ResultReader {
    fn new(opened: &Opened) -> ResultReader {
        let is_claude = opened.session.format == Format::Claude;
        ResultReader { folder: ResultFiles::of_session(opened.files.path(0)).filter(|_| is_claude) }
    }

    /// Returns the text of each result of an entry that is in a file.
    fn texts(&self, line: &[u8], content: &Content<'_>) -> Vec<Option<ResultText>> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let text = |named: String| {
            let name = stored_results::file_name(&named);
            let file = folder.read(name, MOST).ok()?;
            let size = Count("byte", "bytes", usize::try_from(file.bytes).unwrap_or(usize::MAX));
            let heading = format!("{}/{name}, {size}", stored_results::FOLDER);
            Some(ResultText { heading, text: file.text, more: file.more })
        };
        stored_results::paths(line, content).into_iter().map(|path| path.and_then(text)).collect()
    }
}
