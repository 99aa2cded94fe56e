//! `bough merge`: what another branch has, brought over.

use super::cherry_pick::{self, Copying};
use super::writing::{self, Writing};
use super::{Exit, Failure, clock, complete, global::Global, open};
use crate::model::{Moved, Plan};
use crate::ops::merge::{self, Bring};
use crate::ops::pick::{self, Picks};
use crate::ops::{ids, revision};
use crate::store::Opened;
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;

/// Bring over what another branch has
///
/// Copies what the path to REV has and the path to HEAD has not, oldest first, as `bough cherry-pick` does; what an
/// earlier pick brought over is not brought twice. Exits with 1 if there is nothing to bring.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough merge [OPTIONS] [SESSION] REV")]
pub struct Args {
    /// The session, if it looks like a file; then the other branch, by its leaf or any entry on it
    #[arg(value_name = "REV", required = true, add = ArgValueCompleter::new(complete::words))]
    words: Vec<String>,

    /// Bring one summary of the branch instead of its entries
    #[arg(long, requires = "summary")]
    squash: bool,

    /// The summary: its text, `-` for standard input, or `@FILE`
    #[arg(long, value_name = "TEXT", requires = "squash", allow_hyphen_values = true)]
    summary: Option<String>,

    #[command(flatten)]
    copying: Copying,

    #[command(flatten)]
    writing: Writing,
}

/// What a merge comes to.
enum Made {
    Copies(Picks),
    Summary(String),
    Nothing,
    Ahead,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (named, revisions) = open::split_for_writing(global, &args.words);
    let [tip] = revisions else {
        return Err(Failure::Usage {
            what: format!("one branch is merged at a time, and {} are named", revisions.len()),
            hint: "`bough merge [SESSION] REV` brings over what the branch of REV has".into(),
        }
        .into());
    };
    let summary = args.summary.as_deref().map(writing::summary).transpose()?;
    let make = |opened: &Opened| {
        let (session, source) = (&opened.session, &opened.files);
        let tip = revision::one(session, source, tip)?;
        let side = open::whole(opened);
        let picked = match merge::missing(side, tip)? {
            Bring::Nothing => return Ok((Plan::default(), Made::Nothing)),
            Bring::Ahead => return Ok((Plan::default(), Made::Ahead)),
            Bring::Entries(picked) => picked,
        };
        let onto = cherry_pick::here(opened)?;
        if let Some(summary) = &summary {
            let now = clock::now();
            let (mut plan, id) = merge::squash(side, tip, onto, summary, now, &mut writing::ids())?;
            let from = session.head.entry.map(|ix| ids::name(session, source, ix)).transpose()?;
            plan.moved = Some(Moved { from, to: Some(id.clone()) });
            return Ok((plan, Made::Summary(id)));
        }
        let none = |_: &str| None;
        let options = args.copying.options(args.writing, opened, onto, &none);
        let made = match pick::cherry_pick(side, side, &picked, &options, &mut writing::ids()) {
            Err(pick::Refusal::Nothing { .. }) => return Ok((Plan::default(), Made::Nothing)),
            made => made?,
        };
        let mut plan = cherry_pick::with_move(opened, &made)?;
        plan.verb = "merge".into();
        Ok((plan, Made::Copies(made)))
    };
    let (opened, _, made) = writing::run(global, args.writing, named, ui, make)?;
    match made {
        Made::Copies(made) => cherry_pick::say(&opened, &opened, &made, args.writing, global, ui)?,
        Made::Summary(id) if !ui.look.quiet && !args.writing.dry_run => {
            ui.note(format_args!("the branch is summed up · HEAD is now {}", text::one_line(&id)));
        }
        Made::Summary(_) => {}
        Made::Nothing => {
            ui.note(
                "nothing to merge: all of that branch is on the path to HEAD, or was brought over before",
            );
            return Ok(Exit::No);
        }
        Made::Ahead => {
            ui.note("nothing to merge: that branch goes on from HEAD");
            ui.hint(format_args!("`bough switch {}` goes there", text::shell_word(tip)));
            return Ok(Exit::No);
        }
    }
    Ok(Exit::Done)
}
