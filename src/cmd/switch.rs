//! `bough switch`: moves HEAD.

use super::shared::options::Global;
use super::shared::words::{self, Use};
use super::shared::write;
use super::shared::write::WriteArgs;
use super::shared::write_json::More;
use super::shared::{after_move, session_arg, time, write_json};
use super::{Exit, Failure, complete};
use crate::model::Ix;
use crate::ops::{ids, revision, switch};
use crate::store::Opened;
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;

/// Move HEAD, so that the agent continues from another entry
///
/// The move is written to the session file: when the agent next loads the session, it continues
/// from that entry, and the model sees the path to it. The branch that is left stays unchanged;
/// `bough switch -` goes back. Switching to the current entry does nothing.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough switch [OPTIONS] [SESSION] [REV]")]
pub struct Args {
    /// The session, if the first argument is a file; then the entry to move to
    ///
    /// `-` is the entry where HEAD was before the last switch.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words))]
    words: Vec<String>,

    /// Also label the entry
    #[arg(short, long = "create", value_name = "NAME")]
    create: Option<String>,

    /// Move the label if another entry has it
    #[arg(short = 'm', long = "move", requires = "create")]
    take: bool,

    /// Replace another label of the entry
    #[arg(long, requires = "create")]
    replace: bool,

    /// Move to the parent of a prompt and print the prompt, to be edited and sent again
    ///
    /// The next prompt then follows that parent, and the old prompt stays on its own branch.
    #[arg(long, conflicts_with = "root")]
    rewind: bool,

    /// Move to before the first entry
    #[arg(long)]
    root: bool,

    /// Give the model a summary of the branch that is left
    ///
    /// The text itself, `-` for standard input, or `@FILE`.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,

    #[command(flatten)]
    writing: WriteArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = if args.rewind { words::session_first(&args.words) } else { (&args.words[..]).into() };
    let words = words::split(global, &words, Use::Writes)?;
    let (named, words) = (words.session(), &words.revisions[..]);
    if let (Some(name), [], false) = (&args.create, words, args.root) {
        let what = "no entry given".into();
        let hint = format!("`bough label {}` labels HEAD and stays there", text::shell_word(name));
        return Err(Failure::Usage { what, hint }.into());
    }
    let options = switch::SwitchOptions {
        rewind: args.rewind,
        summary: args.summary.as_deref().map(write::summary).transpose()?,
        label: args.create.clone().map(|name| switch::Label { name, take: args.take, replace: args.replace }),
    };
    let make = |opened: &Opened| {
        let to = target(args.root, words, opened)?;
        let switch = switch::plan(session_arg::whole(opened), to, &options, &mut write::ids(), time::now())?;
        Ok((switch.plan.clone(), switch))
    };
    let (opened, done, switch) = write::run(global, args.writing, named, ui, make)?;
    if ui.look.json && !args.writing.dry_run {
        let more = More { prompt: switch.prompt.clone(), ..More::default() };
        write_json::print(&opened, &switch.plan, &done, more, ui)?;
    } else if let Some(prompt) = &switch.prompt
        && !args.writing.dry_run
    {
        let prompt = ui.look.shown(prompt).into_owned();
        writeln!(ui.out(), "{prompt}")?;
    }
    match after_move::print_move(global, &opened, &switch, args.writing.dry_run, ui) {
        // What was written stands, even if the session can't be read again.
        Err(error) if !args.writing.dry_run => {
            ui.note(format_args!("warning: HEAD has moved; {}", text::one_line(&format!("{error:#}"))));
        }
        other => other?,
    }
    if let (Some(name), Some(to), false) = (&args.create, switch.to, ui.look.quiet || args.writing.dry_run) {
        let id = ids::ShortIds::default().short_id(&opened.session, &opened.files, to)?;
        ui.note(format_args!("{} is labeled `{}`", text::one_line(&id), text::one_line(name)));
    }
    Ok(Exit::Done)
}

/// Returns the target of the switch, from the words of the command line.
fn target(root: bool, words: &[String], opened: &Opened) -> anyhow::Result<switch::To> {
    let usage = |what: &str, hint: &str| Failure::Usage { what: what.into(), hint: hint.into() };
    match words {
        [] if root => Ok(switch::To::Start),
        [] => Err(usage("no entry given", "`bough log --all` lists the entries").into()),
        [_, ..] if root => {
            Err(usage("`--root` moves to before the first entry and takes no revision", "").into())
        }
        [only] if only == "-" || only == "@{-1}" => match after_move::position_before(opened)? {
            Some(None) => Ok(switch::To::Start),
            _ => Ok(switch::To::Entry(resolve_target(opened, only)?)),
        },
        [only] => Ok(switch::To::Entry(resolve_target(opened, only)?)),
        _ => Err(usage("expected exactly one entry", "quote a revision that contains spaces").into()),
    }
}

fn resolve_target(opened: &Opened, word: &str) -> anyhow::Result<Ix> {
    Ok(revision::resolve_one(&opened.session, &opened.files, word)?)
}
