//! The answers of the real programs after bough had written, and whether bough still writes what
//! they were asked about.
//!
//! `sessions/peers.tsv` contains one question a row: a copy of a session is switched to an entry,
//! or labeled, or gets an entry of `bough append`, or the path to an entry is exported. `wrote`
//! contains the bytes that were added, with a fixed clock and fixed ids; then come the programs
//! that were asked, the lines of the path to their HEAD (for Claude Code the line of the turn), and
//! what they send to the model: the messages by their numbers in `messages.tsv` (for Claude Code each
//! block, as in `claude/measured.tsv`). `tests/oracles/positions.py --record` asks the programs, checks
//! whether their HEAD is right, and writes the file.

use crate::support::written::check_written;

#[test]
fn what_is_written_today_leads_the_programs_where_they_were_seen() {
    let counts = check_written(|session| !session.starts_with("shared/"));
    for (program, least) in
        [("pi", 1000), ("pi-old", 300), ("omp", 1000), ("harness", 40), ("chimera", 120), ("claude", 120)]
    {
        assert!(counts.get(program).is_some_and(|count| *count >= least), "{program}: {counts:?}");
    }
}
