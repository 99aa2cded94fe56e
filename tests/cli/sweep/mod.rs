//! Sweeps over all commands that write: killed, failing, beside an agent, on a full disk, at each of their system calls.
//!
//! The whole sweep takes an hour, and is run by hand: `cargo test --test cli sweep::all -- --ignored --nocapture`, with
//! `BOUGH_SWEEP` for the scenes whose command contains a word, `BOUGH_SWEEP_KIND` for kinds, and `TMPDIR` on a disk in memory.
//! A sample of it runs with all other tests.

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
        println!("| command | calls |{} |", kinds.iter().map(|kind| format!(" {kind:?} |")).collect::<String>());
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
        let total: String = total.iter().map(|(trials, failures)| format!(" {trials}/{failures} |")).collect();
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
    let scenes: Vec<Scene> = SCENES.iter().copied().filter(|scene| wanted("BOUGH_SWEEP", scene.words)).collect();
    let kinds: Vec<Kind> = KINDS.into_iter().filter(|kind| wanted("BOUGH_SWEEP_KIND", &format!("{kind:?}"))).collect();
    let failures = sweep(&scenes, &kinds, 1, true);
    assert!(failures.is_empty(), "{} failures", failures.len());
}
