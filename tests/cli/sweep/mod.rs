//! Sweeps over all commands that write: killed, failing, beside an agent, on a full disk, at each
//! of their system calls.
//!
//! The whole sweep takes an hour, and is run by hand: `cargo test --test cli sweep::all --
//! --ignored --nocapture`, with `BOUGH_SWEEP` for the scenes whose command contains a word,
//! `BOUGH_SWEEP_KIND` for kinds, `BOUGH_SWEEP_STEP` for only each n-th trial, and `TMPDIR` on a
//! disk in memory. A sample of it runs with all other tests.

#![allow(clippy::print_stdout, reason = "the whole sweep prints its table")]

mod scenes;
mod stage;
mod stopped;
mod trials;

use scenes::{SCENES, Scene};
use stage::Stage;
use trials::{KINDS, Kind};

/// Tries scenes; prints a table, and returns what failed.
fn sweep(scenes: &[Scene], kinds: &[Kind], step: usize, prints: bool) -> Vec<String> {
    let mut failures = Vec::new();
    let mut total = vec![(0, 0); kinds.len()];
    if prints {
        println!(
            "| command | calls |{} |",
            kinds.iter().map(|kind| format!(" {kind:?} |")).collect::<String>()
        );
    }
    for scene in scenes {
        let Some(stage) = Stage::set(*scene) else {
            println!("this system can't stop programs at their calls");
            return failures;
        };
        let mut row = String::new();
        for (at, kind) in kinds.iter().enumerate() {
            let outcome = trials::try_all(&stage, *kind, step);
            total[at] = (total[at].0 + outcome.trials, total[at].1 + outcome.failures.len());
            row.push_str(&format!(" {}/{} |", outcome.trials, outcome.failures.len()));
            if prints {
                outcome.failures.iter().for_each(|failure| println!("FAILED {}", failure.trim_end()));
            }
            failures.extend(outcome.failures);
        }
        if prints {
            let first = scene.files.split(['=', ' ']).nth(1).unwrap().split('/').next().unwrap();
            println!("| {} ({first}) | {} |{row}", scene.words, stage.calls.len());
        }
    }
    if prints {
        let total: String =
            total.iter().map(|(trials, failures)| format!(" {trials}/{failures} |")).collect();
        println!("| all | |{total}");
    }
    failures
}

#[test]
#[ignore = "takes an hour"]
fn all() {
    let wanted = |variable: &str, name: &str| {
        std::env::var(variable).map_or(true, |words| words.split(',').any(|word| name.contains(word)))
    };
    let scenes: Vec<Scene> =
        SCENES.iter().copied().filter(|scene| wanted("BOUGH_SWEEP", scene.words)).collect();
    let kinds: Vec<Kind> =
        KINDS.into_iter().filter(|kind| wanted("BOUGH_SWEEP_KIND", &format!("{kind:?}"))).collect();
    let step = std::env::var("BOUGH_SWEEP_STEP").map_or(1, |step| step.parse().unwrap());
    let failures = sweep(&scenes, &kinds, step, true);
    assert!(failures.is_empty(), "{} failures", failures.len());
}

/// Tries each `step`-th trial of the scenes with a command.
fn sample(words: &str, step: usize) {
    let scenes: Vec<Scene> = SCENES.iter().copied().filter(|scene| scene.words == words).collect();
    assert_eq!(scenes.len(), 1, "{words}");
    let kinds: Vec<Kind> = KINDS.into_iter().filter(|kind| *kind != Kind::Full).collect();
    let failures = sweep(&scenes, &kinds, step, false);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn an_append_is_done_or_not() {
    sample("label s.jsonl a_name a0000001", 11);
}

#[test]
fn an_export_is_done_or_not() {
    sample("export s.jsonl -o talk.html", 7);
    sample("export s.jsonl --to jsonl -o out.jsonl --allow=overwrite", 41);
    sample(scenes::REPORT, 11);
    sample(scenes::SITE, 31);
}

#[test]
fn a_rewrite_is_done_or_not() {
    sample("migrate s.jsonl", 17);
}

#[test]
fn an_export_with_subagents_is_done_or_not() {
    sample(scenes::EXPORT, 61);
}

#[test]
fn a_move_with_subagents_is_done_or_not() {
    sample(scenes::MOVE, 41);
}

#[test]
fn a_drop_with_a_subagent_is_done_or_not() {
    sample(scenes::DROP, 61);
}

#[test]
fn a_join_of_two_copies_is_done_or_not() {
    sample(scenes::JOIN, 23);
}

#[test]
fn a_smaller_copy_is_made_or_not() {
    sample(scenes::SLIM, 61);
}

#[test]
fn an_archive_is_completed_by_another_run() {
    sample("archive", 31);
}

#[test]
fn a_restore_is_done_or_not() {
    sample(scenes::RESTORE, 41);
}

#[test]
fn an_undo_of_a_rewrite_is_done_or_not() {
    sample("undo s.jsonl --file s.jsonl", 17);
}

/// The old session is the beginning of the new one, also in the files that are left.
#[test]
fn an_undo_of_a_repair_with_a_subagent_is_done_or_not() {
    let scene = SCENES.iter().find(|scene| {
        scene.words == "undo 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl" && scene.before.len() == 3
    });
    let failures = sweep(&[*scene.unwrap()], &[Kind::Kill], 4, false);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_removal_of_operations_is_done_or_not() {
    sample("op prune --keep-days 0", 13);
}

#[test]
fn a_move_that_can_not_be_described_is_done_all_the_same() {
    let files = "s.jsonl=chimera/tools-two-branches.jsonl";
    let Some(stage) = Stage::set(Scene { files, before: &[], words: "switch s.jsonl turn:1" }) else {
        return;
    };
    stage.begin_anew();
    // What is read of the session after the last line of the operation log.
    let ends =
        stage.calls.iter().rposition(|call| call.name == "write" && call.path.ends_with("operations.jsonl"));
    let (session, ends, mut failed) = (stage.session(), ends.unwrap(), 0);
    let (output, _) = stage
        .run_stopped(stage.scene.words, |number, call| {
            if number > ends && call.name == "pread" && call.path == session {
                failed += 1;
                return stopped::Act::Fail(libc::EIO);
            }
            stopped::Act::Pass
        })
        .unwrap();
    assert_eq!(stopped::status(&output), 0, "{}", crate::support::sandbox::said(&output));
    assert!(stage.state() != stage.old && failed > 0, "{failed}");
}

/// What is in a folder that can't be listed is not known to be sound.
#[test]
fn a_folder_that_can_not_be_listed_is_reported_and_the_rest_is_repaired() {
    let scene = SCENES.iter().find(|scene| scene.words.starts_with("fsck --repair 254d")).unwrap();
    let Some(stage) = Stage::set(*scene) else { return };
    let agents = stage.session().with_extension("").join("subagents");
    for is_once in [false, true] {
        stage.begin_anew();
        let mut failed = 0;
        let (output, _) = stage
            .run_stopped(scene.words, |_, call| {
                if call.name == "getdents" && call.path == agents && !(is_once && failed > 0) {
                    failed += 1;
                    return stopped::Act::Fail(libc::EIO);
                }
                stopped::Act::Pass
            })
            .unwrap();
        let said = crate::support::sandbox::said(&output);
        assert!(failed > 0 && stopped::status(&output) == 6, "{said}");
        let reason = if is_once { "the folder could not be listed" } else { "Input/output error" };
        let words = format!("error: {}: {reason}", agents.strip_prefix(stage.work()).unwrap().display());
        assert!(said.contains(&words), "{said}");
        let now = stage.state();
        assert!(now[&stage.session()] == stage.new[&stage.session()], "{said}");
        assert!(
            now.iter().filter(|(path, _)| path.starts_with(&agents)).all(|(path, is)| stage.old[path] == *is)
        );
        let undone = stage.run("undo 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl");
        assert!(undone.status.success() && stage.state() == stage.old);
    }
}

/// The operation log is read from its end, and no further than is needed.
#[test]
fn the_length_of_the_operation_log_costs_nothing() {
    for words in
        ["label s.jsonl a_name a0000001", "switch s.jsonl generator", "undo s.jsonl", "op log s.jsonl -n 1"]
    {
        let scene = Scene {
            files: "s.jsonl=pi/two-attempts.jsonl",
            before: &["label s.jsonl b_name a0000002"],
            words,
        };
        let Some(stage) = Stage::set(scene) else { return };
        stage.begin_anew();
        let log = stage.top().join("state/bough/operations.jsonl");
        let own = std::fs::read_to_string(&log).unwrap();
        let id =
            serde_json::from_str::<serde_json::Value>(own.lines().next().unwrap()).unwrap()["op_id"].clone();
        let id = id.as_str().unwrap();
        let others =
            (0..2_000).map(|at| own.replace(id, &format!("{at:016x}")).replace("s.jsonl", "other.jsonl"));
        std::fs::write(&log, others.collect::<String>() + &own).unwrap();
        let mut reads = Vec::new();
        let (output, _) = stage
            .run_stopped(words, |_, call| {
                if call.path == log && ["read", "pread"].contains(&call.name) {
                    reads.push(call.third);
                }
                stopped::Act::Pass
            })
            .unwrap();
        assert!(output.status.success(), "{words}");
        let first =
            stage.calls.iter().filter(|call| call.path == log && ["read", "pread"].contains(&call.name));
        assert!(reads.len() <= first.count() + 1, "{words}: {reads:?}");
        assert!(reads.iter().sum::<u64>() < 1 << 20, "{words}: {reads:?}");
    }
}
