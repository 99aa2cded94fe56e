//! `bough export --project`: the pages of several sessions, and a page that lists them.

use super::html::{self, Page};
use super::output::Output;
use super::redaction::Redaction;
use super::{Args, Failure};
use crate::cmd::Exit;
use crate::cmd::sessions::{self, Relative};
use crate::cmd::shared::config::Config;
use crate::cmd::shared::exit::Failures;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::thread_arg::{self, ReadOptions, ThreadView, short};
use crate::cmd::shared::{session_arg, time};
use crate::format::Format;
use crate::model::{Count, Ix, Key};
use crate::ops::page::{Link, Listed};
use crate::ops::redact::Redact;
use crate::store::locate::Found;
use crate::store::write::{Group, Refusal, leftovers};
use crate::store::{self, Opened, locate};
use crate::ui::{Ui, text};
use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::Path;

/// The page that lists the others.
const HOME: &str = "index.html";

/// The most characters of a title in that list.
const TITLE: usize = 200;

/// Writes a page for each session, and one that lists them.
pub(super) fn write(
    args: &Args,
    found: &[Found],
    redaction: &mut Redaction,
    global: &Global,
    config: &Config,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let folder = folder_of(args)?;
    let (family, mut failures) = learn(args, found, redaction, global, ui)?;
    store::make_folder(folder)?;
    let names = page_names(&family, redaction);
    let links = links(&family, &names, global);
    // One command is one operation, however many pages it replaces.
    let group = Group::default();
    let (mut listed, mut first) = (Vec::new(), None);
    for (at, session) in family.iter().enumerate() {
        let opened =
            session_arg::by_path(global, &session.path).map_err(|error| failures.add(error, false, ui));
        let Ok(opened) = opened else { continue };
        let context = html::context_at_head(&opened)?;
        let read = thread_arg::read_opened(opened, manner(args), ui)?;
        let chosen: Vec<Ix> = read.opened.session.entries.all().collect();
        let page = Page {
            context,
            links: placed(&links[at], &read),
            home: Some(HOME.to_owned()),
            chosen: &chosen,
            read: &read,
        };
        page.write(args, config, redaction, Some(&folder.join(&names[at])), Some(&group), ui)?;
        let title = html::title(&read.opened, &chosen, TITLE, redaction)?;
        listed.push(row(session, title, &names[at], redaction));
        first.get_or_insert(read.opened);
    }
    write_home(folder, &listed, first.as_ref(), &group, ui)?;
    group.end();
    if !ui.look.quiet {
        let folder = text::one_line(&folder.display().to_string());
        ui.note(format_args!("exported {} to {folder}", Count("session", "sessions", listed.len())));
    }
    redaction.print_counts(ui);
    Ok(failures.or(Exit::Done))
}

/// Returns the folder for the pages; refuses one with other files in it.
fn folder_of(args: &Args) -> anyhow::Result<&Path> {
    let Some(folder) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        let what = "several pages need a folder".into();
        let option = if args.all { "--all" } else { "--project" };
        let hint = format!("`bough export {option} -o FOLDER` writes them into a new folder");
        return Err(Failure::Usage { what, hint }.into());
    };
    // What a killed export left is not a page.
    let left = leftovers(folder);
    let is_used = folder.symlink_metadata().is_ok_and(|facts| !facts.is_dir())
        || folder.read_dir().is_ok_and(|inside| inside.flatten().any(|file| !left.contains(&file.path())));
    if is_used && !args.overwrites() {
        return Err(Refusal::Exists { path: folder.to_owned() }.into());
    }
    Ok(folder)
}

/// Writes the page that lists the others.
fn write_home(
    folder: &Path,
    listed: &[Listed],
    first: Option<&Opened>,
    group: &Group,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let title = match listed.first() {
        Some(first) if listed.iter().all(|row| row.folder == first.folder) && !first.folder.is_empty() => {
            format!("Sessions of {}", first.folder)
        }
        _ => "Sessions".to_owned(),
    };
    let (home, text) = (folder.join(HOME), crate::ops::page::sessions(&title, listed));
    match first {
        Some(opened) => {
            let mut out = Output::create(&home)?;
            out.write_all(text.as_bytes())?;
            out.finish(opened, Some(group), ui)?;
        }
        None => store::replace_file(&home, text.as_bytes())?,
    }
    Ok(())
}

/// Reads all sessions once, and learns their secrets, so that each has the same mark on all pages.
pub(super) fn learn(
    args: &Args,
    found: &[Found],
    redaction: &mut Redaction,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<(Vec<Relative>, Failures)> {
    let mut failures = Failures::default();
    let family = sessions::family(found, global, &mut failures, ui)?;
    if family.is_empty() && failures.is_empty() {
        return Err(Failure::NoSession.into());
    }
    let is_on = redaction.is_on();
    for session in family.iter().filter(|_| is_on) {
        let Ok(opened) = session_arg::by_path(global, &session.path) else { continue };
        let read = thread_arg::read_opened(opened, manner(args), ui)?;
        let chosen: Vec<Ix> = read.opened.session.entries.all().collect();
        Page { read: &read, chosen: &chosen, context: None, links: HashMap::new(), home: None }
            .learn(redaction)?;
    }
    Ok((family, failures))
}

fn manner(args: &Args) -> ReadOptions {
    ReadOptions { agents: !args.no_agents, ..ReadOptions::default() }
}

fn row(session: &Relative, title: String, href: &str, redaction: &mut Redaction) -> Listed {
    let mut facts = vec![session.format.agent().to_owned(), time::date(session.modified)];
    if let Some(counts) = session.summary.counts {
        facts.push(Count("entry", "entries", counts.entries).to_string());
        if counts.branches > 1 {
            facts.push(Count("branch", "branches", counts.branches).to_string());
        }
    }
    facts.extend(session.origin.as_ref().map(sessions::Origin::phrase));
    let facts = facts.iter().map(|fact| redaction.text(fact).into_owned()).collect();
    Listed {
        depth: session.depth,
        href: href.to_owned(),
        title: title.chars().take(TITLE + 1).collect(),
        facts,
        folder: redaction.text(session.summary.cwd.as_deref().unwrap_or_default()).into_owned(),
    }
}

/// The names of the pages: those of the session files, in signs that need no escape in any address or file system.
fn page_names(family: &[Relative], redaction: &mut Redaction) -> Vec<String> {
    let mut taken: HashSet<String> = ["index".to_owned()].into();
    let mut name = |session: &Relative| {
        let stem = session.path.file_stem().unwrap_or_default().to_string_lossy();
        let plain = plain_name(&redaction.text(&stem));
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let free = std::iter::once(plain.clone()).chain(numbered);
        let free = free.into_iter().find(|name| taken.insert(name.to_lowercase()));
        format!("{}.html", free.expect("there are more numbers than sessions"))
    };
    family.iter().map(&mut name).collect()
}

/// A name in letters, digits, `_`, `.` and `-`.
fn plain_name(name: &str) -> String {
    let plain = |sign: char| if sign.is_ascii_alphanumeric() || "_.-".contains(sign) { sign } else { '-' };
    let name: String = name.chars().take(100).map(plain).collect();
    match name.trim_matches(['.', '-']) {
        "" => "session".to_owned(),
        name => name.to_owned(),
    }
}

/// A link of a page, before the entry is looked up.
struct Junction {
    /// The id of the entry; `None` for the first one.
    at: Option<String>,
    link: Link,
}

/// The links of each page to the one that it comes from, and back.
fn links(family: &[Relative], names: &[String], global: &Global) -> Vec<Vec<Junction>> {
    let mut out: Vec<Vec<Junction>> = family.iter().map(|_| Vec::new()).collect();
    for (at, session) in family.iter().enumerate() {
        let Some(parent) = session.parent else { continue };
        let (own, other) = (name_of(session), name_of(&family[parent]));
        let (verb, back, junction, own_at) = match &session.origin {
            Some(origin) => {
                let back = if origin.how == "forks" { "forked" } else { "continued" };
                (origin.how, back, origin.at.clone(), None)
            }
            None => {
                let last = last_shared(&session.path, &family[parent].path, global);
                ("forks", "forked", last.clone(), last)
            }
        };
        let hash =
            junction.as_deref().filter(|id| is_plain_id(id)).map_or(String::new(), |id| format!("#{id}"));
        let words = format!("{verb} {}", short(&other));
        out[at].push(Junction { at: own_at, link: Link { href: format!("{}{hash}", names[parent]), words } });
        let words = format!("{back} by {}", short(&own));
        out[parent].push(Junction { at: junction, link: Link { href: names[at].clone(), words } });
    }
    out
}

fn name_of(session: &Relative) -> String {
    session.summary.id.clone().unwrap_or_else(|| locate::id_in_name(&session.path))
}

fn is_plain_id(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The last of the entries at the start of a session that are copies of another's: they have its ids.
fn last_shared(path: &Path, other: &Path, global: &Global) -> Option<String> {
    let (own, other) =
        (store::open(path, global.options()).ok()?, store::open(other, global.options()).ok()?);
    if own.session.format == Format::Claude {
        return None;
    }
    let known: HashSet<Key> = other.session.entries.all().map(|ix| other.session.entries.key(ix)).collect();
    let entries = &own.session.entries;
    let shared =
        entries.all().take_while(|ix| entries.key(*ix).is_some() && known.contains(&entries.key(*ix)));
    crate::ops::ids::name(&own.session, &own.files, shared.last()?).ok()
}

/// The links of a page by its entries.
fn placed(junctions: &[Junction], read: &ThreadView) -> HashMap<Ix, Vec<Link>> {
    let session = &read.opened.session;
    let stand_in = |ix: Ix| read.reading.as_ref().map_or(ix, |reading| reading.stand_in(ix));
    let mut out: HashMap<Ix, Vec<Link>> = HashMap::new();
    for junction in junctions {
        let named = junction.at.as_ref().and_then(|id| session.find(Key::hash(id.as_bytes())));
        let first = || session.tree.entries_in_tree().find(|ix| session.is_in_any_conversation(*ix));
        if let Some(ix) = named.map(stand_in).or_else(first) {
            out.entry(ix).or_default().push(junction.link.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn names_of_pages_need_no_escape() {
        let check = |name: &str, wanted: &str| assert_eq!(plain_name(name), wanted);
        check("2026-01-01T00-00-00_5e55", "2026-01-01T00-00-00_5e55");
        check("a b/\"<c>&.d",             "a-b---c--.d");
        check("..",                       "session");
        check("",                         "session");
        check("-rf",                      "rf");
        check("日本",                      "session");
        check(&"x".repeat(300),           &"x".repeat(100));
    }
}
