//! `bough append`: adds one entry, made by a script.

use super::shared::options::Global;
use super::shared::write::{self, WriteArgs};
use super::shared::write_json::More;
use super::shared::{session_arg, time, write_json};
use super::{Exit, Failure, complete};
use crate::format::Ids;
use crate::model::{Ix, Plan};
use crate::ops::append::{self, Payload};
use crate::ops::{label, revision};
use crate::store::Opened;
use crate::store::write::Done;
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;
use std::io::IsTerminal;

/// Append an entry made by a script, and print its id
///
/// Appends the entry to HEAD; the agent then continues from it. The text is read from standard
/// input or given with `--text`. If the format of the session has no such entry, nothing is
/// written, and the exit status is 5.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough append [OPTIONS] --kind <KIND> [SESSION]")]
pub struct Args {
    /// The session; if omitted, the newest of the current folder
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::session_files))]
    file: Option<String>,

    /// The kind of the entry
    #[arg(long, value_name = "KIND")]
    kind: KindArg,

    /// The entry to append to
    ///
    /// By default HEAD. For a label, the entry to label.
    #[arg(long, value_name = "REV", add = ArgValueCompleter::new(complete::revisions))]
    parent: Option<String>,

    /// The role of the message: `user`, or `assistant` for a reply as if the model had written it
    ///
    /// A reply has no usage. In pi and oh-my-pi it has the model of the reply before it; without
    /// one, the exit status is 5.
    #[arg(long, value_name = "ROLE", default_value = "user")]
    role: Role,

    /// The type of the entry, by which the program that uses it finds it
    #[arg(long = "type", value_name = "NAME")]
    ty: Option<String>,

    /// Do not show the entry in the agent's interface
    #[arg(long)]
    hidden: bool,

    /// The first entry that the model still sees after a compaction
    ///
    /// By default none: the summary replaces everything before it.
    #[arg(long, value_name = "REV", add = ArgValueCompleter::new(complete::revisions))]
    keep: Option<String>,

    /// The text of a message, the name of a label, or JSON for `custom`
    ///
    /// By default, and with `-`, it is read from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,

    /// The summary of a compaction: the text itself, `-` for standard input, or `@FILE`
    #[arg(long, value_name = "TEXT", conflicts_with = "text", allow_hyphen_values = true)]
    summary: Option<String>,

    #[command(flatten)]
    writing: WriteArgs,
}

/// What `--kind` takes.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum KindArg {
    /// A prompt, or a reply
    Message,
    /// Data of a program, as JSON; the model does not see it
    Custom,
    /// Text that the model sees although the user did not type it
    CustomMessage,
    /// A summary that replaces the messages before it
    Compaction,
    /// A label for an entry
    Label,
}

/// What `--role` takes.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// The user
    User,
    /// The model
    Assistant,
}

impl Args {
    /// Refuses options that the kind does not use, and requires those that it needs.
    fn check(&self) -> Result<(), Failure> {
        let kind = self.kind;
        let typed = matches!(kind, KindArg::Custom | KindArg::CustomMessage);
        let usage = |what: &str, hint: &str| Err(Failure::Usage { what: what.into(), hint: hint.into() });
        match () {
            () if typed && self.ty.as_deref().is_none_or(str::is_empty) => {
                usage("this kind needs a type", "`--type NAME` says which program the entry is for")
            }
            () if !typed && self.ty.is_some() => {
                usage("`--type` is for the kinds `custom` and `custom-message`", "")
            }
            () if kind != KindArg::Message && self.role == Role::Assistant => {
                usage("`--role` is for the kind `message`", "")
            }
            () if kind != KindArg::CustomMessage && self.hidden => {
                usage("`--hidden` is for the kind `custom-message`", "")
            }
            () if kind != KindArg::Compaction && (self.keep.is_some() || self.summary.is_some()) => {
                usage("`--keep` and `--summary` are for the kind `compaction`", "")
            }
            () => Ok(()),
        }
    }

    /// Returns the text of the entry.
    fn payload(&self) -> anyhow::Result<String> {
        if let Some(summary) = &self.summary {
            return write::summary(summary);
        }
        let text = match self.text.as_deref().filter(|text| *text != "-") {
            Some(text) => text.to_owned(),
            None if self.text.is_none() && std::io::stdin().is_terminal() => {
                let hint = "give `--text TEXT`, or a text on standard input";
                return Err(Failure::Usage { what: "no text given".into(), hint: hint.into() }.into());
            }
            _ => write::standard_input()?,
        };
        if text.trim().is_empty() && self.kind != KindArg::Custom {
            let hint = "give `--text TEXT`, or a text on standard input";
            return Err(Failure::Usage { what: "the text is empty".into(), hint: hint.into() }.into());
        }
        Ok(text)
    }
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    args.check()?;
    let text = args.payload()?;
    let data = if args.kind == KindArg::Custom { json_line(&text)? } else { None };
    let ty = args.ty.as_deref().unwrap_or_default();
    let seed = write::seed();
    let make = |opened: &Opened| {
        let whole = session_arg::whole(opened);
        let named = |word: &Option<String>| -> anyhow::Result<Option<Ix>> {
            Ok(match word {
                Some(word) => Some(revision::resolve_one(whole.session, whole.source, word)?),
                None => None,
            })
        };
        let (parent, now, mut fresh) = (named(&args.parent)?, time::now(), Ids::seeded(&seed));
        let payload = match args.kind {
            KindArg::Message if args.role == Role::Assistant => Payload::Reply(&text),
            KindArg::Message => Payload::Prompt(&text),
            KindArg::Custom => Payload::Custom(ty, data.as_deref()),
            KindArg::CustomMessage => Payload::CustomMessage(ty, &text, args.hidden),
            KindArg::Compaction => Payload::Compaction(&text, named(&args.keep)?),
            KindArg::Label => {
                let target = parent.map_or_else(|| label::default_target(whole.session), Ok)?;
                let options = label::LabelOptions::Set { name: &text, target, take: false, replace: false };
                let mut plan = label::plan(whole, options, &mut fresh, now)?;
                plan.verb = "append".into();
                let id = plan.changes.last().map(|change| change.id.clone()).unwrap_or_default();
                return Ok((plan.clone(), (plan, id)));
            }
        };
        let made = append::plan(whole, payload, parent, &mut fresh, now)?;
        Ok((made.plan.clone(), (made.plan, made.id)))
    };
    let (opened, done, (plan, id)): (_, _, (Plan, String)) =
        write::run(global, args.writing, args.file.as_deref(), ui, make)?;
    if args.writing.dry_run {
        return Ok(Exit::Done);
    }
    report(&opened, &plan, &done, &id, ui)?;
    Ok(Exit::Done)
}

/// Prints the id of the new entry, and says where HEAD is.
fn report(opened: &Opened, plan: &Plan, done: &Done, id: &str, ui: &mut Ui) -> anyhow::Result<()> {
    if ui.look.json {
        write_json::print(opened, plan, done, More::default(), ui)?;
    } else if !id.is_empty() {
        let id = ui.look.shown(id).into_owned();
        writeln!(ui.out(), "{id}")?;
    }
    if let Some(head) = plan.moved.as_ref().and_then(|moved| moved.to.as_ref())
        && !ui.look.quiet
    {
        ui.note(format_args!("HEAD is now {}", text::one_line(head)));
    }
    Ok(())
}

/// Returns JSON without line breaks; `None` for an empty text.
fn json_line(text: &str) -> anyhow::Result<Option<String>> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) => Ok(Some(value.to_string())),
        Err(error) => Err(Failure::Usage {
            what: format!("the data of a custom entry is JSON: {error}"),
            hint: "a text is JSON in double quotes: `'\"done\"'`".into(),
        }
        .into()),
    }
}
