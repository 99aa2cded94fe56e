//! `bough merge`: copies the entries that another branch adds.

use super::cherry_pick::{self as copies, Copying};
use super::shared::options::Global;
use super::shared::words;
use super::shared::write;
use super::shared::write::WriteArgs;
use super::shared::write_json::More;
use super::shared::{session_arg, time, write_json};
use super::{Exit, Failure, complete};
use crate::model::{Moved, Plan};
use crate::ops::cherry_pick;
use crate::ops::cherry_pick::Picks;
use crate::ops::merge::{self, Bring};
use crate::ops::{ids, revision};
use crate::store::{Opened, blobs};
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;

/// Cherry-pick all entries that only another branch has
///
/// Copies the entries that are on the path to REV but not on the path to HEAD, oldest first, like
/// `bough cherry-pick`. Entries that were copied before are not copied again. Unlike git, this
/// writes no merge entry. Exits with 1 if there is nothing to copy.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough merge [OPTIONS] [SESSION] REV")]
pub struct Args {
    /// The session, if the first argument is a file; then the branch, given by its leaf or any
    /// entry on it
    #[arg(value_name = "REV", required_unless_present = "from", add = ArgValueCompleter::new(complete::first_words))]
    words: Vec<String>,

    /// Copy what a branch of this session adds; without REV, its path to HEAD
    ///
    /// Both sessions must have the same format, but entries are translated between pi and oh-my-pi.
    #[arg(long, value_name = "SESSION", conflicts_with = "squash", add = ArgValueCompleter::new(complete::sessions))]
    from: Option<String>,

    /// Append one summary of the branch instead of copying its entries
    #[arg(long, requires = "summary")]
    squash: bool,

    /// Text of the summary, `-` for standard input, or `@FILE`
    #[arg(long, value_name = "TEXT", requires = "squash", allow_hyphen_values = true)]
    summary: Option<String>,

    #[command(flatten)]
    copying: Copying,

    #[command(flatten)]
    writing: WriteArgs,
}

/// The result of a merge.
enum Made {
    Copies(Picks),
    Summary(String),
    Nothing,
    Ahead,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (named, from, mut revisions) = words::split_other(global, &args.words, args.from.as_deref())?;
    if from.is_some() && revisions.is_empty() {
        revisions.push("HEAD".to_owned());
    }
    let [tip] = &revisions[..] else {
        return Err(Failure::Usage {
            what: format!("expected one branch, got {}", revisions.len()),
            hint: "`bough merge [SESSION] REV` copies what the branch of REV adds".into(),
        }
        .into());
    };
    let other = from.as_deref().map(|word| session_arg::other(global, word, ui)).transpose()?;
    let summary = args.summary.as_deref().map(write::summary).transpose()?;
    let made = |opened: &Opened| {
        make(args, opened, other.as_ref(), tip, summary.as_deref())
            .map(|(plan, made)| (plan.clone(), (plan, made)))
    };
    let (opened, done, (plan, made)) = write::run(global, args.writing, named.as_deref(), ui, made)?;
    if ui.look.json && !args.writing.dry_run && !plan.is_empty() {
        write_json::print(&opened, &plan, &done, More::default(), ui)?;
    }
    match made {
        Made::Copies(made) => {
            copies::print_copies(other.as_ref().unwrap_or(&opened), &opened, &made, args.writing, global, ui)?
        }
        Made::Summary(id) if !ui.look.quiet && !args.writing.dry_run => {
            ui.note(format_args!("summary of the branch added · HEAD is now {}", text::one_line(&id)));
        }
        Made::Summary(_) => {}
        Made::Nothing => {
            ui.note("nothing to merge: the whole branch is on the path to HEAD, or was copied before");
            return Ok(Exit::No);
        }
        Made::Ahead => {
            ui.note("nothing to merge: the branch continues from HEAD");
            ui.hint(format_args!("`bough switch {}` moves there", text::shell_word(tip)));
            return Ok(Exit::No);
        }
    }
    Ok(Exit::Done)
}

/// Plans the merge of the branch that ends with `tip`, of this session or another.
fn make(
    args: &Args,
    opened: &Opened,
    other: Option<&Opened>,
    tip: &str,
    summary: Option<&str>,
) -> anyhow::Result<(Plan, Made)> {
    let (session, source) = (&opened.session, &opened.files);
    let from = other.unwrap_or(opened);
    let tip = revision::resolve_one(&from.session, &from.files, tip)?;
    let side = session_arg::whole(opened);
    let missing = match other {
        Some(other) => merge::missing_of(side, session_arg::whole(other), tip)?,
        None => merge::missing(side, tip)?,
    };
    let picked = match missing {
        Bring::Nothing => return Ok((Plan::default(), Made::Nothing)),
        Bring::Ahead => return Ok((Plan::default(), Made::Ahead)),
        Bring::Entries(picked) => picked,
    };
    let onto = copies::head_parent(opened)?;
    if let Some(summary) = summary {
        let now = time::now();
        let (mut plan, id) = merge::squash(side, tip, onto, summary, now, &mut write::ids())?;
        let from = session.head.exact.map(|ix| ids::name(session, source, ix)).transpose()?;
        plan.moved = Some(Moved { from, to: Some(id.clone()) });
        return Ok((plan, Made::Summary(id)));
    }
    let blob = |hash: &str| std::fs::read(blobs::find(from.files.path(0), hash)?).ok();
    let none = |_: &str| None;
    let blob: &dyn Fn(&str) -> Option<Vec<u8>> = if other.is_some() { &blob } else { &none };
    let options = args.copying.options(args.writing, opened, onto, blob);
    let made = match cherry_pick::cherry_pick(
        session_arg::whole(from),
        side,
        &picked,
        &options,
        &mut write::ids(),
    ) {
        Err(cherry_pick::Refusal::Nothing { .. }) => return Ok((Plan::default(), Made::Nothing)),
        made => made?,
    };
    let mut plan = copies::with_move(opened, &made)?;
    plan.verb = "merge".into();
    Ok((plan, Made::Copies(made)))
}
