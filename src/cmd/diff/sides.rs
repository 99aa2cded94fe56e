//! The compared sessions, and the entries in them.

use super::Args;
use crate::cmd::Failure;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::session_arg;
use crate::cmd::shared::thread_arg::ThreadView;
use crate::cmd::shared::words::{self, Use};
use crate::model::Ix;
use crate::ops::Snapshot;
use crate::ops::revision;
use crate::store::Opened;
use crate::ui::{Ui, text};
use std::path::Path;

/// Returns how two sessions are compared, if the second word names one, and no entry of the first.
fn hint_for_two(global: &Global, words: &[String], other: &str) -> Option<String> {
    let first = words.first()?;
    let opened = session_arg::by_path(global, &session_arg::by_word(global, first).ok()?).ok()?;
    let is_entry = revision::resolve_one(&opened.session, &opened.files, other).is_ok();
    let is_session = || session_arg::by_word(global, other).is_ok();
    (!is_entry && is_session()).then(|| {
        let [one, other] = [first, other].map(text::shell_word);
        format!("`bough diff --from {one} --to {other}` compares two sessions")
    })
}

/// The compared sessions, and the entries in them.
pub(super) struct Sides {
    pub(super) one: ThreadView,
    /// The second session; `None` if both sides are in the same one.
    pub(super) other: Option<ThreadView>,
    pub(super) tip_a: Ix,
    pub(super) tip_b: Ix,
}

impl Sides {
    pub(super) fn open(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Sides> {
        let (one, other, words) = Sides::sessions(args, global, ui)?;
        let (a, b) = revision_pair(&words, &one)?;
        let two = other.is_some();
        let at = |opened: &Opened, word: Option<&str>| match word {
            Some(word) => revision::resolve_one(&opened.session, &opened.files, word),
            None => revision::head(&opened.session),
        };
        // One revision is compared with HEAD; of two sessions, each side has its own HEAD.
        let (a, b) = match (a, b, two) {
            (None, None, false) => {
                return Err(Failure::Usage {
                    what: "nothing to compare with".into(),
                    hint: "`bough diff [SESSION] REV` compares REV with HEAD".into(),
                }
                .into());
            }
            (a, b, _) => (a, b),
        };
        let tip_a = at(&one, a.as_deref())?;
        let tip_b = at(other.as_ref().unwrap_or(&one), b.as_deref())?;
        let mut sides = Sides {
            one: ThreadView::unlinearized(one),
            other: other.map(ThreadView::unlinearized),
            tip_a,
            tip_b,
        };
        if !args.context {
            sides.linearize()?;
        }
        Ok(sides)
    }

    /// Opens the named sessions; returns them with the words that name revisions in them.
    pub(super) fn sessions(
        args: &Args,
        global: &Global,
        ui: &mut Ui,
    ) -> anyhow::Result<(Opened, Option<Opened>, Vec<String>)> {
        let two = match args.to {
            None => words::two_sessions(global, &args.words)?,
            Some(_) => None,
        };
        Ok(match (&args.from, &args.to) {
            _ if let Some([(path_a, a), (path_b, b)]) = two => {
                let open = |path: &Path, ui: &mut Ui| -> anyhow::Result<Opened> {
                    let opened = session_arg::by_path(global, path)?;
                    session_arg::warn(&opened, ui);
                    Ok(opened)
                };
                let other = if path_a == path_b { None } else { Some(open(&path_b, ui)?) };
                (open(&path_a, ui)?, other, vec![a, b])
            }
            (None, None) => {
                let words = words::split(global, &args.words, Use::Reads)?;
                if let (Some(_), [other]) = (words.session(), &words.revisions[..])
                    && let Some(hint) = hint_for_two(global, &args.words, other)
                {
                    let what = format!("`{other}` is a session, too, and no entry of the first");
                    return Err(Failure::Usage { what, hint }.into());
                }
                (session_arg::session(global, words.session(), ui)?, None, words.revisions)
            }
            (from, Some(to)) => {
                let one = match from {
                    Some(from) => open_word(from, global, ui)?,
                    None => session_arg::session(global, None, ui)?,
                };
                (one, Some(open_word(to, global, ui)?), args.words.clone())
            }
            (Some(_), None) => unreachable!("clap wants both"),
        })
    }

    /// Makes both sides read as in `log`: Claude Code stores parts of a turn beside the path.
    fn linearize(&mut self) -> anyhow::Result<()> {
        let stand_in =
            |read: &ThreadView, tip: Ix| read.reading.as_ref().map_or(tip, |found| found.stand_in(tip));
        self.one.join()?;
        self.tip_a = stand_in(&self.one, self.tip_a);
        if let Some(other) = &mut self.other {
            other.join()?;
        }
        self.tip_b = stand_in(self.other.as_ref().unwrap_or(&self.one), self.tip_b);
        Ok(())
    }

    pub(super) fn a(&self) -> Snapshot<'_> {
        session_arg::whole(&self.one.opened)
    }

    pub(super) fn b(&self) -> Snapshot<'_> {
        session_arg::whole(&self.other.as_ref().unwrap_or(&self.one).opened)
    }
}

fn open_word(word: &str, global: &Global, ui: &mut Ui) -> anyhow::Result<Opened> {
    let opened = session_arg::by_path(global, &session_arg::by_word(global, word)?)?;
    session_arg::warn(&opened, ui);
    Ok(opened)
}

/// Returns the revisions that the words name: two words, or one with dots in between.
fn revision_pair(words: &[String], opened: &Opened) -> anyhow::Result<(Option<String>, Option<String>)> {
    let side = |word: &str| Some(word.to_owned()).filter(|word| !word.is_empty());
    match words {
        [] => Ok((None, None)),
        [only] => {
            let whole = revision::is_set(&opened.session, &opened.files, only)?;
            let cut = only.split_once("...").or_else(|| only.split_once(".."));
            match cut.filter(|_| whole) {
                Some((a, b)) => Ok((side(a).or(side("HEAD")), side(b).or(side("HEAD")))),
                None => Ok((side(only), None)),
            }
        }
        [a, b] => Ok((side(a), side(b))),
        _ => Err(Failure::Usage {
            what: format!("expected two entries, got {}", words.len()),
            hint: "quote a revision that contains spaces".into(),
        }
        .into()),
    }
}
