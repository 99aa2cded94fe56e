//! Compares the rows of a session with those in the tree views of pi and oh-my-pi.
//!
//! `sessions/rows.tsv` contains one question a row: a session, the program that was asked, a
//! filter, and the line of a folded row, if one was folded. The answer is the line on which the
//! cursor started, and the lines that were shown, in order. `tests/tree-views` asks the programs.

use crate::support::{files, recording};
use bough::internals::format::Format;
use bough::internals::model::Ix;
use bough::internals::ops::filter::Mode;
use bough::internals::ops::rows::{Folds, Order, Rows};
use bough::internals::store::{self, Options};
use std::collections::HashMap;
use std::path::Path;

#[test]
fn rows_are_those_of_the_agents_own_tree_views() {
    let counts = check();
    for (program, least) in [("pi", 900), ("omp", 80)] {
        assert!(counts.get(program).is_some_and(|count| *count >= least), "{program}: {counts:?}");
    }
}

/// Compares the answers; returns how many of each program there are.
fn check() -> HashMap<String, usize> {
    let sessions = files::project().join("tests/cli/sessions");
    let table = recording::read("rows.tsv");
    let (mut counts, mut wrong) = (HashMap::new(), Vec::new());
    for line in table.lines() {
        let [session, program, question, cursor, rows] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("five fields: {line}");
        };
        let path = sessions.join(session);
        let Some(answer) = answer(&path, program, question) else { continue };
        *counts.entry(program.to_owned()).or_default() += 1;
        if answer != format!("{cursor}\t{rows}") {
            wrong.push(format!(
                "{program}\t{session}\t{question}\n  theirs {cursor}\t{rows}\n  ours   {answer}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    counts
}

/// Returns what bough shows, in the form of the table.
///
/// Returns `None` if the programs show something that is not in the file: of an id on two lines,
/// one of them twice; and for a cycle of links nothing at all.
fn answer(path: &Path, program: &str, question: &str) -> Option<String> {
    let session = store::open(path, Options::default()).unwrap().session;
    let wanted = if program == "omp" { Format::Omp } else { Format::Pi };
    assert_eq!(session.format, wanted, "{}: the table has sessions of the program only", path.display());
    let (mode, folded) = question.split_once(' ').map_or((question, None), |(mode, line)| (mode, Some(line)));
    let mode = Mode::ALL.into_iter().find(|(name, _)| *name == mode).unwrap().1;
    if session.tree.shadowed().len() > 0 || session.tree.cycle_cuts().len() > 0 {
        return None;
    }
    let leaf = session.head.leaf;
    let rows = Rows::new(&session.tree, &Order::new(&session, leaf), |ix| mode.shows(&session, ix));
    let line = |ix: Ix| session.entries.line(ix);
    let mut folds = Folds::default();
    if let Some(folded) = folded {
        let row = (0..rows.len()).find(|row| line(rows.entry(*row)).to_string() == folded).unwrap();
        if !folds.toggle(&rows, row) {
            return Some("can't be folded".into());
        }
    }
    if rows.is_empty() {
        return Some("-\t-".into());
    }
    let cursor = folds.row(folds.index(rows.start(leaf)));
    let shown: Vec<u64> = (0..folds.visible(&rows)).map(|index| line(rows.entry(folds.row(index)))).collect();
    Some(format!("{}\t{}", line(rows.entry(cursor)), ranges(&shown)))
}

/// 1 2 3 7 as "1-3 7".
fn ranges(lines: &[u64]) -> String {
    let runs = lines.chunk_by(|one, next| one + 1 == *next);
    let run = |run: &[u64]| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    runs.map(run).collect::<Vec<_>>().join(" ")
}
