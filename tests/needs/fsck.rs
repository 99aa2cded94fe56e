//! The findings and repairs of `fsck` in the reference files.

use crate::support::fsck_cases::{
    check_all, check_command, check_findings, check_repair, counts, examine_beside,
};
use crate::support::need::reference_files;
use crate::support::sessions::sessions_below;
use bough::internals::fsck::{Level, Surroundings};
use bough::internals::model::Key;
use bough::internals::store;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

pub fn each_shared_case_has_the_findings_that_it_names() {
    check_all(&reference_files().join("cases"), check_findings);
}

pub fn each_shared_case_is_mended_as_it_says() {
    check_all(&reference_files().join("cases"), check_repair);
}

pub fn the_command_does_to_each_shared_case_what_it_says() {
    check_all(&reference_files().join("cases"), check_command);
}

/// A session file with the files around it.
struct Beside(PathBuf, String);

impl Beside {
    fn of(path: &Path) -> Beside {
        Beside(path.to_owned(), path.file_stem().unwrap().to_string_lossy().into_owned())
    }
}

impl Surroundings for Beside {
    fn stem(&self) -> &str {
        &self.1
    }

    fn elsewhere(&self, links: &[(Key, Key)]) -> HashSet<Key> {
        let mut files = sessions_below(self.0.parent().unwrap());
        files.retain(|file| *file != self.0);
        let options = store::Options::default();
        let sessions = files.iter().filter_map(|file| store::open(file, options).ok());
        let lean = sessions.flat_map(|opened| {
            let known: HashSet<Key> = opened.session.entries.keys().iter().copied().collect();
            let lean =
                links.iter().filter(|(entry, parent)| known.contains(parent) && !known.contains(entry));
            lean.map(|(entry, _)| *entry).collect::<Vec<_>>()
        });
        lean.collect()
    }

    fn agents(&self) -> Option<Vec<String>> {
        None
    }

    fn has_result_file(&self, _: &str) -> bool {
        true
    }

    fn has_blob(&self, _: &str) -> bool {
        true
    }
}

/// Files of the corpus that raise an alarm, and why that is right.
const ALARMS: &[(&str, &str)] = &[
    // Intentional damage.
    ("chimera/edge-", "made to try damage"),
    ("pi/edge-", "made to try damage"),
    ("claude-code/bad-lines", "made to try damage"),
    ("claude-code/cycle-", "made to try damage"),
    ("claude-code/self-loop", "made to try damage"),
    ("claude-code/orphan-chain", "made to try damage"),
    ("claude-code/root-attachment", "its orphan is made on purpose"),
    ("claude-code/root-progress-orphan", "its orphan is made on purpose"),
    ("claude-code/root-unexpected-orphan", "its orphan is made on purpose"),
    ("claude-code/same-file-duplicate", "its repeated id is made on purpose"),
    ("claude-code/compact-reappended", "a boundary was written again, without lists of what it keeps"),
    ("claude-code/leaf-copied-line", "a line was copied to move the leaf"),
    ("claude-code/r3-dead-end-depth", "tool results without calls are made on purpose"),
    ("claude-code/r5-foreign-result", "a tool result without a call is made on purpose"),
    ("claude-code/upstream/record-samples", "single records of many sessions"),
    ("pi/merge-picked-compaction-bad", "a compaction was picked without what it keeps"),
    ("pi/merge-picked-result-only", "a tool result was picked without its call"),
    ("pi/omp18-fork.branched-broken", "oh-my-pi leaves a link to a dropped label"),
    ("pi/pi073-fork-orphans.branched-broken", "pi 0.73 leaves a link to a dropped label"),
    ("pi/v1-hand-compaction-after-bad-line", "made to try damage"),
    ("pi/v1-hand-no-version-but-ids.migrated", "pi gives new ids, and its labels name the old ones"),
    ("pi/v2-hand-design-doc-uuid", "a sample without times; what pi makes of it has no ids"),
    // Intact files that cause warnings nevertheless.
    ("claude-code/r7-rewind-first-prompt", "a rewind to the start is a root in the middle"),
    ("claude-code-real/rewind-to-start", "a rewind to the start is a root in the middle"),
    ("claude-code/subagent-interrupted", "the call of a killed agent has no result"),
    ("claude-code-real/killed-in-tool", "the call of a killed tool has no result"),
    ("claude-code-real/old-2.0.76/6b3df817", "an empty file"),
    ("claude-code-real/old-2.0.76/bad42fce", "an empty file"),
    (
        "claude-code/workflow-run/5e550001-0000-4000-8000-000000000001/subagents/workflows",
        "a journal, no session",
    ),
    ("pi/harness084-v4", "version 4 is only recognized"),
    ("pi/harness087-v4", "version 4 is only recognized"),
    ("pi/omp18-custom", "an aborted reply has a call without a result"),
    ("pi/omp18-usage-on-other-branch", "the last line is bookkeeping on another branch"),
    ("pi/pi16-multi-root", "the last line is bookkeeping before the first message"),
    ("pi/real-v1-", "calls of aborted replies have no results"),
    ("pi/switch-label", "a label on another branch is the last line"),
    ("pi/switch-sessioninfo", "a name on another branch is the last line"),
];

pub fn no_sound_file_raises_an_alarm() {
    let corpus = reference_files().join("corpus");
    let files = sessions_below(&corpus);
    let mut alarms = Vec::new();
    let mut meant: BTreeMap<&str, usize> = ALARMS.iter().map(|(name, _)| (*name, 0)).collect();
    for file in &files {
        let name = file.strip_prefix(&corpus).unwrap().to_string_lossy().into_owned();
        let found = match examine_beside(file, &Beside::of(file)) {
            Ok((examined, _)) => counts(&examined, &[Level::Error, Level::Warning]),
            Err(error) => BTreeMap::from([(error.to_string(), 1)]),
        };
        if found.is_empty() {
            continue;
        }
        match ALARMS.iter().find(|(known, _)| name.starts_with(known)) {
            Some((known, _)) => *meant.get_mut(known).unwrap() += 1,
            None => alarms.push(format!("{name}: {found:?}")),
        }
    }
    assert!(alarms.is_empty(), "{}\n{} of {}", alarms.join("\n"), alarms.len(), files.len());
    meant.retain(|_, count| *count == 0);
    assert!(meant.is_empty(), "these raise no alarm: {:?}", meant.keys());
}
