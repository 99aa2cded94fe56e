//! `bough switch`: moves the position.

use super::writing::{self, Writing};
use super::{Exit, Failure, clock, complete, global::Global, landing, open};
use crate::model::Ix;
use crate::ops::{revision, switch};
use crate::store::Opened;
use crate::ui::Ui;
use clap_complete::engine::ArgValueCompleter;

/// Move HEAD, so that the agent goes on from another entry
///
/// The move is written into the session: the agent, when it loads the session next, is at that entry and the model sees
/// the path to it. The branch that is left stays as it is; `bough switch -` goes back. Switching to where one is does
/// nothing.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough switch [OPTIONS] [SESSION] [REV]")]
pub struct Args {
    /// The session, if it looks like a file; then the entry to go to
    ///
    /// `-` is the position before the last switch.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::words))]
    words: Vec<String>,

    /// Label the entry, too
    #[arg(short, long = "create", value_name = "NAME")]
    create: Option<String>,

    /// Take the label from the entry that has it
    #[arg(short = 'm', long = "move", requires = "create")]
    take: bool,

    /// Go to before a prompt, and print its text
    ///
    /// The next prompt then takes the place of the old one.
    #[arg(long, conflicts_with = "root")]
    rewind: bool,

    /// Go to before the first entry
    #[arg(long)]
    root: bool,

    /// Tell the model what was on the branch that is left
    ///
    /// The text itself, `-` for standard input, or `@FILE`.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,

    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (named, words) = open::split_for_writing(global, &args.words);
    let wish = switch::Wish {
        rewind: args.rewind,
        summary: args.summary.as_deref().map(writing::summary).transpose()?,
        label: args.create.clone().map(|name| (name, args.take)),
    };
    let make = |opened: &Opened| {
        let to = wanted(args.root, words, opened)?;
        let switch = switch::plan(open::whole(opened), to, &wish, &mut writing::ids(), clock::now())?;
        Ok((switch.plan.clone(), switch))
    };
    let (opened, _, switch) = writing::run(global, args.writing, named, ui, make)?;
    if let Some(prompt) = &switch.prompt
        && !args.writing.dry_run
    {
        let prompt = ui.look.shown(prompt).into_owned();
        writeln!(ui.out(), "{prompt}")?;
    }
    landing::tell(&opened, &switch, args.writing.dry_run, ui)?;
    Ok(Exit::Done)
}

/// Where to go, by the words of the command line.
fn wanted(root: bool, words: &[String], opened: &Opened) -> anyhow::Result<switch::To> {
    let usage = |what: &str, hint: &str| Failure::Usage { what: what.into(), hint: hint.into() };
    match words {
        [] if root => Ok(switch::To::Start),
        [] => Err(usage("no entry is named to go to", "`bough log --all` lists the entries").into()),
        [_, ..] if root => Err(usage("`--root` goes before the first entry; it takes no other", "").into()),
        [only] if only == "-" || only == "@{-1}" => match landing::position_before(opened)? {
            Some(None) => Ok(switch::To::Start),
            _ => Ok(switch::To::Entry(one(opened, only)?)),
        },
        [only] => Ok(switch::To::Entry(one(opened, only)?)),
        _ => Err(usage("one entry is what one can go to", "quote a revision that has blanks").into()),
    }
}

fn one(opened: &Opened, word: &str) -> anyhow::Result<Ix> {
    Ok(revision::one(&opened.session, &opened.files, word)?)
}
