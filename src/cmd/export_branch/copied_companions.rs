//! The files of the new session beside it.

use crate::format::Format;
use crate::format::claude::stored_results;
use crate::model::{Change, Piece, Plan, Span, Target};
use crate::ops::export::{self, Export};
use crate::store;
use crate::store::Opened;
use crate::store::companions::{self, Companion};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Returns the stored results that are copied with the new session.
pub(in crate::cmd) fn moved_results(
    named: &Path,
    from: Option<&Path>,
    to: &Path,
    all: &[Companion],
) -> Option<export::MovedResults> {
    let results = all.iter().filter(|file| file.inside.starts_with(stored_results::FOLDER));
    let names = results.filter_map(|file| Some(file.inside.file_name()?.to_str()?.to_owned())).collect();
    // The agent names the folder as it was given, which may contain a link.
    let old = [from.map(Path::to_owned), std::path::absolute(named).ok()];
    let old: Vec<PathBuf> = old.into_iter().flatten().map(|file| companions::folder_of(&file)).collect();
    export::MovedResults::new(&old, &companions::folder_of(&std::path::absolute(to).ok()?), names)
}

/// Adds the files that belong to the session: subagents' transcripts with the new id, the others
/// unchanged. The session itself is written last, so that an incomplete export is not a session.
///
/// A subagent is left out if it was started by an entry that is not copied.
pub(super) fn add_companions(
    opened: &mut Opened,
    all: Vec<Companion>,
    to: &Path,
    options: &export::ExportOptions,
    export: &mut Export,
) -> anyhow::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let (changes, targets) = (export.plan.changes.len(), export.plan.targets.len());
    let (whole, files) = (&opened.session, &opened.files);
    let ours = export::claude::anchors(whole, files, export.taken.iter())?;
    let everywhere: Vec<_> = whole.entries.all().filter(|ix| !export.taken.contains(ix)).collect();
    let mut elsewhere = export::claude::anchors(whole, files, everywhere.iter())?;
    elsewhere.retain(|anchor| !ours.contains(anchor));
    let left = agents_elsewhere(&all, &elsewhere);
    let old = opened.session.id();
    for companion in all {
        if companion.agent().is_some_and(|agent| left.contains(agent)) {
            continue;
        }
        let file = opened.files.attach(&companion.path)?;
        let rewritten = opened.session.format == Format::Claude
            && companion.inside.extension().is_some_and(|extension| extension == "jsonl");
        let pieces = if rewritten {
            let lines = lines_of(&companion.path, file)?;
            export::claude::under_new_id(
                &opened.files,
                &lines,
                old.as_deref(),
                &options.session,
                options.moved.as_ref(),
                options.cwd.as_deref(),
            )?
        } else {
            let len = opened.files.stamp(file).map_or(0, store::write::Stamp::bytes);
            vec![Piece::Keep(Span { file, offset: 0, len })]
        };
        add_file(&mut export.plan, companions::folder_of(to).join(&companion.inside), pieces);
    }
    export.plan.changes.rotate_left(changes);
    export.plan.targets.rotate_left(targets);
    Ok(())
}

pub(in crate::cmd) fn add_file(plan: &mut Plan, to: PathBuf, pieces: Vec<Piece>) {
    plan.changes.push(Change {
        op: "create",
        path: Some(to.clone()),
        bytes: export::size_of(&pieces),
        why: "belongs to the session".into(),
        ..Change::default()
    });
    plan.targets.push(Target::Create { path: Some(to), pieces });
}

/// Returns the subagents that were started by entries that are not copied.
pub(in crate::cmd) fn agents_elsewhere(all: &[Companion], elsewhere: &HashSet<String>) -> HashSet<String> {
    let mut out: HashSet<String> = elsewhere.clone();
    for sidecar in all.iter().filter_map(Companion::sidecar) {
        if sidecar.tool_use.is_some_and(|call| elsewhere.contains(&call)) {
            out.insert(sidecar.agent);
        }
    }
    out
}

/// Returns the lines of a subagent's transcript.
pub(in crate::cmd) fn lines_of(path: &Path, file: u16) -> anyhow::Result<Vec<Span>> {
    let opened =
        match store::open(path, store::Options { format: Some(Format::Claude), ..Default::default() }) {
            Ok(opened) => opened,
            Err(store::Error::Empty { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
    let session = &opened.session;
    let mut lines: Vec<Span> = session.entries.all().map(|ix| session.span(ix)).collect();
    lines.extend(session.others.iter().map(|other| other.span));
    lines.sort_by_key(|span| span.offset);
    Ok(lines.into_iter().map(|span| Span { file, ..span }).collect())
}
