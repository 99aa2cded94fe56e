//! The commands that write, each with the sessions that it is tried on.

/// A command, and the files that exist before it.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// The files, as `name=session of the tests`, separated by spaces; the first is the session.
    pub files: &'static str,
    /// What happens before: commands, and orders of [`furnish`](super::stage).
    pub before: &'static [&'static str],
    /// The command; `_` is a space in a word.
    pub words: &'static str,
}

const PI: &str = "s.jsonl=pi/two-attempts.jsonl";
const OMP: &str = "s.jsonl=pi/omp18-branches.jsonl";
const CHIMERA: &str = "s.jsonl=chimera/tools-two-branches.jsonl";
const REWIND: &str = "8a41ccc1-b906-4425-adb7-21c6f1740617.jsonl=claude/real/rewind/8a41ccc1-b906-4425-adb7-21c6f1740617.jsonl";
const AGENTS: &str = "254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl=claude/real/subagent/254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl";
const TORN: &str = "s.jsonl=pi/two-attempts.jsonl";
const OLD: &str = "s.jsonl=pi/v1-pi030-two-compactions.jsonl";

/// Gives the session of [`AGENTS`] a tool result in a separate file.
const RESULT: &str = "!make 254d35dc-7f1f-4b42-ab66-5415aec1733e/tool-results/toolu_1.txt";
/// Truncates the last line of a file in the middle.
const CUT: &str = "!cut s.jsonl";
const CUT_AGENTS: [&str; 2] = [
    "!cut 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl",
    "!cut-below 254d35dc-7f1f-4b42-ab66-5415aec1733e/subagents",
];
/// Copies a session with its subagents and results.
pub const EXPORT: &str = "export-branch 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl -o new/11111111-1111-4111-8111-111111111111.jsonl";
/// Moves HEAD of that session to its first prompt, so that everything after it can be dropped.
const BACK: &str = "switch 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl turn:1";
/// Drops the branch that started a subagent, with the transcript of the subagent.
pub const DROP: &str = "drop 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl fa548601";
/// Replaces an older report.
pub const REPORT: &str = "export s.jsonl --check --redact-report r.json";
/// Writes pages, one after the other.
pub const SITE: &str = "export --project . -o site";
/// Two copies of a session, and what makes them go apart.
const APART: &str = "s.jsonl=pi/two-attempts.jsonl o.jsonl=pi/two-attempts.jsonl";
const APPENDED: &str = "append o.jsonl --kind message --text there";
/// Joins them into the first.
pub const JOIN: &str = "join s.jsonl o.jsonl --head b";
/// Adds a long result of a command.
const LONG: &str = "!long s.jsonl";
/// Makes a smaller copy of a session with subagents and results.
pub const SLIM: &str = "slim 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl --results=100 --subagents -o new/11111111-1111-4111-8111-111111111111.jsonl";

/// A session with subagents in a store of Claude Code.
const STORED: &str = "projects/-project/254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl=claude/real/subagent/254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl";
/// Moves that session.
pub const MOVE: &str = "move --from projects --map /project=/moved";

/// A session where Chimera keeps that of `/project`.
const OF_CHIMERA: &str = ".chimera/sessions/ea0135bca5e3.jsonl=chimera/linear.jsonl";

/// The session of Claude Code where the client keeps it.
const AT_HOME: &str = "../home/.claude/projects/-project/254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl=claude/real/subagent/254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl";
/// Removes it, with all that belongs to it.
const REMOVED: &str = "!remove ../home/.claude/projects";
/// Puts it back from the archive.
pub const RESTORE: &str = "restore 254d35dc";

/// All commands that write.
#[rustfmt::skip] // a table
pub const SCENES: &[Scene] = &[
    Scene { files: PI,      before: &[], words: "switch s.jsonl generator" },
    Scene { files: PI,      before: &[], words: "switch s.jsonl -c a_name b0000001" },
    Scene { files: PI,      before: &[], words: "switch s.jsonl --summary it_failed generator" },
    Scene { files: PI,      before: &[], words: "switch s.jsonl --rewind b0000001" },
    Scene { files: OMP,     before: &[], words: "switch s.jsonl turn:1" },
    Scene { files: CHIMERA, before: &[], words: "switch s.jsonl turn:1" },
    Scene { files: REWIND,  before: &[], words: "switch 8a41ccc1-b906-4425-adb7-21c6f1740617.jsonl turn:1" },
    Scene { files: PI,      before: &[], words: "label s.jsonl a_name a0000001" },
    Scene { files: PI,      before: &[], words: "label s.jsonl -m generator a0000001" },
    Scene { files: PI,      before: &[], words: "label s.jsonl -d generator" },
    Scene { files: REWIND,  before: &[], words: "label 8a41ccc1-b906-4425-adb7-21c6f1740617.jsonl a_name" },
    Scene { files: PI,      before: &[], words: "append -s s.jsonl --kind message --text go_on" },
    Scene { files: PI,      before: &[], words: "append -s s.jsonl --kind compaction --keep HEAD~1 --summary so_far" },
    Scene { files: OMP,     before: &[], words: "append -s s.jsonl --kind custom --type ci --text 3" },
    Scene { files: CHIMERA, before: &[], words: "append -s s.jsonl --kind message --text go_on" },
    Scene { files: REWIND,  before: &[], words: "append -s 8a41ccc1-b906-4425-adb7-21c6f1740617.jsonl --kind custom-message --type ci --hidden --text it_is_red" },
    Scene { files: PI,      before: &[], words: "cherry-pick s.jsonl b0000001..generator" },
    Scene { files: "s.jsonl=pi/two-attempts.jsonl o.jsonl=pi/pi16-linear.jsonl",
                            before: &[], words: "cherry-pick s.jsonl --from o.jsonl turn:1" },
    Scene { files: REWIND,  before: &[], words: "cherry-pick 8a41ccc1-b906-4425-adb7-21c6f1740617.jsonl turn:1" },
    Scene { files: PI,      before: &[], words: "merge s.jsonl generator" },
    Scene { files: PI,      before: &[], words: "merge s.jsonl generator --squash --summary it_failed" },
    Scene { files: PI,      before: &[], words: "export-branch s.jsonl generator -o new/out.jsonl" },
    Scene { files: PI,      before: &[], words: "export-branch s.jsonl generator --store" },
    Scene { files: "s.jsonl=pi/two-attempts.jsonl out.jsonl=pi/pi16-labels.jsonl",
                            before: &[], words: "export-branch s.jsonl generator -o out.jsonl --allow=overwrite" },
    Scene { files: CHIMERA, before: &[], words: "export-branch s.jsonl turn:1 -o out.jsonl" },
    Scene { files: PI,      before: &[], words: "convert s.jsonl --to claude -o new/out.jsonl" },
    Scene { files: "s.jsonl=pi/two-attempts.jsonl out.jsonl=pi/pi16-labels.jsonl",
                            before: &[], words: "convert s.jsonl --to codex -o out.jsonl --allow=overwrite" },
    Scene { files: PI,      before: &["convert s.jsonl --to omp -o new/out.jsonl"], words: "undo --all" },
    Scene { files: AGENTS,  before: &[RESULT], words: EXPORT },
    Scene { files: PI,      before: &[], words: "drop s.jsonl generator" },
    Scene { files: CHIMERA, before: &[], words: "drop s.jsonl --others" },
    Scene { files: AGENTS,  before: &[RESULT, BACK], words: DROP },
    Scene { files: PI,      before: &[], words: "export s.jsonl -o talk.md" },
    Scene { files: PI,      before: &[], words: "export s.jsonl -o talk.html" },
    Scene { files: "s.jsonl=pi/two-attempts.jsonl out.jsonl=pi/pi16-labels.jsonl",
                            before: &[], words: "export s.jsonl --to jsonl -o out.jsonl --allow=overwrite" },
    Scene { files: PI,      before: &["!report r.json"], words: REPORT },
    Scene { files: PI,      before: &[], words: SITE },
    Scene { files: "s.jsonl=pi/two-attempts.jsonl site/s.html=pi/pi16-labels.jsonl site/index.html=pi/pi16-labels.jsonl",
                            before: &[], words: "export --project . -o site --allow=overwrite" },
    Scene { files: APART,   before: &[APPENDED], words: JOIN },
    Scene { files: APART,   before: &[APPENDED], words: "join s.jsonl o.jsonl -o new/out.jsonl" },
    Scene { files: PI,      before: &[LONG], words: "slim s.jsonl --in-place --results=64" },
    Scene { files: PI,      before: &[LONG], words: "slim s.jsonl --results=64 -o new/out.jsonl" },
    Scene { files: AGENTS,  before: &[RESULT], words: SLIM },
    Scene { files: PI,      before: &[LONG, "append -s s.jsonl --kind message --text go_on"], words: "slim s.jsonl --append --results=64" },
    Scene { files: OLD,     before: &[], words: "migrate s.jsonl" },
    Scene { files: PI,      before: &[], words: "move -s s.jsonl --to /moved" },
    Scene { files: STORED,  before: &[], words: MOVE },
    Scene { files: STORED,  before: &[MOVE], words: "undo --all" },
    Scene { files: OF_CHIMERA, before: &[], words: "move --from .chimera/sessions /project /moved" },
    Scene { files: AT_HOME, before: &[], words: "archive" },
    Scene { files: AT_HOME, before: &[], words: "archive --hardlink" },
    Scene { files: AT_HOME, before: &["archive", REMOVED], words: RESTORE },
    Scene { files: AT_HOME, before: &["archive", REMOVED, RESTORE], words: "undo --all" },
    Scene { files: OLD,     before: &[], words: "migrate s.jsonl -o new/out.jsonl" },
    Scene { files: TORN,    before: &[CUT], words: "fsck --repair s.jsonl" },
    Scene { files: "s.jsonl=cases/empty-content/empty-prompt.jsonl",
                            before: &[], words: "fsck --repair --with empty-content s.jsonl" },
    Scene { files: OMP,     before: &[CUT], words: "fsck --repair s.jsonl" },
    Scene { files: AGENTS,  before: &CUT_AGENTS, words: "fsck --repair 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl" },
    Scene { files: PI,      before: &["switch s.jsonl generator"], words: "undo s.jsonl" },
    Scene { files: PI,      before: &["switch s.jsonl generator", "undo s.jsonl"], words: "redo s.jsonl" },
    Scene { files: PI,      before: &["export-branch s.jsonl generator -o new/out.jsonl"], words: "undo s.jsonl" },
    Scene { files: PI,      before: &["export-branch s.jsonl generator -o new/out.jsonl", "undo s.jsonl"], words: "redo s.jsonl" },
    Scene { files: AGENTS,  before: &[RESULT, EXPORT], words: "undo 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl" },
    Scene { files: OMP,     before: &[CUT, "fsck --repair s.jsonl"], words: "undo s.jsonl --file s.jsonl" },
    Scene { files: OMP,     before: &[CUT, "fsck --repair s.jsonl", "undo s.jsonl"], words: "redo s.jsonl" },
    Scene { files: AGENTS,  before: &[CUT_AGENTS[0], CUT_AGENTS[1], "fsck --repair 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl"],
                            words: "undo 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl" },
    Scene { files: OLD,     before: &["migrate s.jsonl"], words: "undo s.jsonl" },
    Scene { files: OLD,     before: &["migrate s.jsonl -o new/out.jsonl"], words: "undo s.jsonl" },
    Scene { files: PI,      before: &["append -s s.jsonl --kind message --text go_on"], words: "undo s.jsonl" },
    Scene { files: "s.jsonl=pi/two-attempts.jsonl out.jsonl=pi/pi16-labels.jsonl",
                            before: &["export s.jsonl --to jsonl -o out.jsonl --allow=overwrite"], words: "undo s.jsonl" },
    Scene { files: OLD,     before: &["migrate s.jsonl", "undo s.jsonl", "!kill"], words: "op prune --keep-days 0" },
];
