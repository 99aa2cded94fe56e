//! Tests that need something a machine may lack: a program, a right, a file system, or the folder of
//! reference files.
//!
//! Each looks for it when it runs, and is reported as ignored if it is missing, with the reason. The
//! harness of the standard library can't do that. `BOUGH_REQUIRE` lists needs whose lack is a
//! failure instead: `BOUGH_REQUIRE=tmux,reference-files cargo test --test needs`. As usual,
//! `--ignored` runs what would be ignored.

mod attributes;
mod claude_facts;
mod context;
mod corpus;
mod disks;
mod exported_page;
mod fsck;
mod joins;
mod migrate;
mod reference;
mod shells;
#[allow(dead_code, reason = "the tests in `tests/cli` use the rest")]
#[path = "../cli/support/mod.rs"]
mod support;
mod tree;
mod users;

use libtest_mimic::{Arguments, Completion, Trial};
use support::need::{Need, why_not};

/// A test: its name, what it needs, and its function.
struct Test {
    name: &'static str,
    needs: &'static [Need],
    run: fn(),
}

/// Lists functions after what they need. A function that is missing here is dead code.
macro_rules! tests {
    ($($needs:expr => $($path:path),+;)+) => {
        vec![$($(Test { name: stringify!($path), needs: &$needs, run: $path },)+)+]
    };
}

fn tests() -> Vec<Test> {
    use Need::*;
    tests! {
        [ReferenceFiles] =>
            claude_facts::facts_of_cases,
            context::what_chimera_would_send_is_what_chimera_says,
            context::what_omp_would_send_is_what_omp_says,
            context::what_pi_would_send_is_what_pi_says,
            corpus::chimera,
            corpus::facts_of_damaged_files,
            corpus::filters,
            corpus::pi_and_omp,
            corpus::the_harness_is_followed,
            fsck::each_shared_case_has_the_findings_that_it_names,
            fsck::each_shared_case_is_mended_as_it_says,
            fsck::no_sound_file_raises_an_alarm,
            fsck::the_command_does_to_each_shared_case_what_it_says,
            migrate::real_files_of_version_1_are_what_pi_makes_of_them,
            migrate::the_stated_facts_hold,
            reference::all_commands_agree_on_the_reference_files,
            reference::the_formats_of_all_reference_files_are_as_recorded,
            reference::the_same_in_sessions_that_stay_outside;

        [Program("bash"), Program("tmux")] => shells::bash_completes;
        [Program("fish"), Program("tmux")] => shells::fish_completes;
        [Program("zsh"), Program("tmux")] => shells::zsh_completes;

        [Program("tmux")] =>
            tree::a_growing_file_is_followed_and_a_cut_one_is_survived,
            tree::a_changed_file_is_noticed_without_a_key,
            tree::a_pasted_text_is_a_text,
            tree::an_agent_that_ends_is_noticed,
            tree::an_entry_that_is_only_printed_is_shown,
            tree::what_a_command_printed_stays_if_it_is_given_up,
            tree::an_entry_is_chosen_while_the_output_goes_elsewhere,
            tree::browsing_writes_nothing,
            tree::colors_are_as_the_terminal_has_them,
            tree::no_escape_of_a_session_reaches_the_terminal,
            tree::rows_that_grow_are_those_of_the_whole_session,
            tree::the_screen_follows_the_size_of_the_terminal,
            tree::the_terminal_is_as_it_was_however_the_tree_ends,
            tree::the_tree_is_suspended_and_resumed;

        [Program("git")] => joins::as_a_merge_driver_of_git;

        [Program("chromium"), Program("node")] =>
            exported_page::a_browser_shows_pages_and_runs_nothing_of_a_session;

        [Mounts] =>
            disks::a_file_is_not_made_anew_on_a_full_disk,
            disks::a_full_disk_changes_nothing,
            disks::a_read_only_disk_changes_nothing;

        [OtherUsers] =>
            users::a_group_that_can_not_be_kept_has_no_rights,
            users::what_the_user_may_not_write_is_not_written;

        [Attributes] => attributes::extended_attributes_outlive_a_repair_and_its_undo;
        [AccessLists] => attributes::access_lists_outlive_a_repair_and_its_undo;
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let asked_for = arguments.ignored || arguments.include_ignored;
    let trial = |test: Test| {
        let why_not = why_not(test.needs);
        // Only then it is one of those that `--ignored` is about.
        let is_ignored = arguments.ignored && matches!(why_not, Ok(Some(_)));
        let run = move || match why_not {
            Err(failure) => Err(failure.into()),
            Ok(Some(reason)) if !asked_for => Ok(Completion::ignored_with(reason)),
            Ok(_) => {
                (test.run)();
                Ok(Completion::Completed)
            }
        };
        Trial::ignorable_test(test.name, run).with_ignored_flag(is_ignored)
    };
    libtest_mimic::run(&arguments, tests().into_iter().map(trial).collect()).exit();
}
