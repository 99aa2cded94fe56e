//! Prints two texts that differ: by words, or beside each other.

use crate::ui::{Ink, Ui, text};
use similar::{ChangeTag, TextDiff};
use std::time::Duration;

/// How many columns a terminal needs for showing two sides next to each other.
pub(super) const WIDE: usize = 100;

/// Prints a text that is only on one side.
pub(super) fn whole(sign: char, said: &str, ui: &mut Ui) -> anyhow::Result<()> {
    for line in said.lines() {
        let painted = ui
            .paint(if sign == '-' { Ink::Bad } else { Ink::Good }, format!("{sign}   {}", text::safe(line)));
        writeln!(ui.out(), "{}", painted.trim_end())?;
    }
    Ok(())
}

/// The time limit for comparing two texts; the rest counts as changed.
const PATIENCE: Duration = Duration::from_millis(500);

/// Prints how a text changed, with some unchanged lines; changed words are highlighted if colors
/// are used.
pub(super) fn changed(old: &str, new: &str, ui: &mut Ui) -> anyhow::Result<()> {
    let texts = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    for (at, group) in texts.grouped_ops(2).iter().enumerate() {
        if at > 0 {
            let gap = ui.paint(Ink::Quiet, "    ⋮");
            writeln!(ui.out(), "{gap}")?;
        }
        for op in group {
            for change in texts.iter_inline_changes(op) {
                let (sign, ink) = match change.tag() {
                    ChangeTag::Equal => (' ', None),
                    ChangeTag::Delete => ('-', Some(Ink::Bad)),
                    ChangeTag::Insert => ('+', Some(Ink::Good)),
                };
                let mut out = match ink {
                    Some(ink) => ui.paint(ink, format!("{sign}   ")),
                    None => "    ".into(),
                };
                for (stands_out, part) in change.iter_strings_lossy() {
                    let part = text::safe(part.trim_end_matches(['\n', '\r']));
                    match ink {
                        Some(ink) if stands_out => out.push_str(&strong(ink, &part, ui)),
                        Some(ink) => out.push_str(&ui.paint(ink, part)),
                        None => out.push_str(&part),
                    }
                }
                writeln!(ui.out(), "{}", out.trim_end())?;
            }
        }
    }
    Ok(())
}

/// Paints words that changed within a line.
fn strong(ink: Ink, part: &str, ui: &Ui) -> String {
    ui.paint(Ink::Strong, ui.paint(ink, part))
}

/// Prints two texts next to each other.
pub(super) fn both(old: &str, new: &str, ui: &mut Ui) -> anyhow::Result<()> {
    let cells = (ui.look.width - 3) / 2;
    let texts = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let (olds, news) = (texts.old_slices(), texts.new_slices());
    for op in texts.ops() {
        let (in_old, in_new) = (op.old_range(), op.new_range());
        let same = op.tag() == similar::DiffTag::Equal;
        for at in 0..in_old.len().max(in_new.len()) {
            let of_old = in_old.clone().nth(at).map(|line| olds[line].trim_end_matches(['\n', '\r']));
            let of_new = in_new.clone().nth(at).map(|line| news[line].trim_end_matches(['\n', '\r']));
            row(of_old, of_new, same, cells, ui)?;
        }
    }
    Ok(())
}

/// Prints a line of each side, on as many rows as the longer one needs.
fn row(old: Option<&str>, new: Option<&str>, same: bool, cells: usize, ui: &mut Ui) -> anyhow::Result<()> {
    let wrapped = |line: Option<&str>| match line {
        Some(line) => text::wrap(&text::safe(line), cells),
        None => Vec::new(),
    };
    let (olds, news) = (wrapped(old), wrapped(new));
    let bar = ui.paint(Ink::Quiet, if ui.look.ascii { "|" } else { "│" });
    for at in 0..olds.len().max(news.len()) {
        let cell = |lines: &[String], ink: Ink| {
            let line = lines.get(at).map(String::as_str).unwrap_or_default();
            let padded = text::pad(line, cells);
            if same || line.is_empty() { padded } else { ui.paint(ink, padded) }
        };
        let row = format!("{} {bar} {}", cell(&olds, Ink::Bad), cell(&news, Ink::Good));
        writeln!(ui.out(), "{}", row.trim_end())?;
    }
    Ok(())
}
