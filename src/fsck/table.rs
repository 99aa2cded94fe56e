//! The table of checks: the name, level and repair of each, and what it means.

use std::fmt;

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Level {
    /// Worth knowing; nothing is wrong.
    Info,
    /// Something may be wrong, or is wrong but mostly harmless.
    Warning,
    /// Something is lost, or an agent can't follow.
    Error,
}

impl Level {
    /// Returns the name of the level.
    pub fn name(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// Whether the findings of a check can be repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RepairMode {
    /// There is no repair.
    No,
    /// Every repair includes it.
    ByDefault,
    /// A repair includes it if `--with` names the check.
    OnRequest,
}

impl RepairMode {
    /// Returns a short description.
    pub fn phrase(self) -> &'static str {
        match self {
            RepairMode::No => "no",
            RepairMode::ByDefault => "by default",
            RepairMode::OnRequest => "on request",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The check.
    pub check: Check,
    /// Its name on the command line and in output.
    pub id: &'static str,
    /// How bad a finding is.
    pub level: Level,
    /// Whether it can be repaired.
    pub repair: RepairMode,
    /// What it finds, in one sentence.
    pub what: &'static str,
    /// What it means, where it comes from, and what a repair does.
    pub why: &'static str,
    /// The strategies of its repair, the default first; empty if there is only one.
    pub strategies: &'static [&'static str],
}

macro_rules! checks {
    ($($name:ident $id:literal $level:ident $repair:ident $([$($strategy:literal)+])? $what:literal $why:literal)+) => {
        /// A check; [`CHECKS`] describes it.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the table below documents each")]
        #[non_exhaustive]
        pub enum Check { $($name),+ }

        /// The table of all checks, in the order in which they are listed.
        pub static CHECKS: &[Row] = &[$(Row {
            check: Check::$name,
            id: $id,
            level: Level::$level,
            repair: RepairMode::$repair,
            what: $what,
            why: $why,
            strategies: &[$($($strategy),+)?],
        }),+];
    };
}

checks! {
// Lines.
EmptyFile "empty-file" Warning No
    "The file contains only blank lines."
    "A process died before its first write reached the disk, or the disk was full. There is nothing to \
     repair, and bough writes nothing."
Utf16 "utf-16" Error ByDefault
    "The file is UTF-16, which no agent reads."
    "An editor or a shell saved the file in that encoding. The repair writes the same text as UTF-8 with \
     line feeds; the backup has the old bytes."
Bom "bom" Warning ByDefault
    "The file starts with a byte order mark."
    "pi can't read the first line then, and refuses the file; other agents ignore the mark. The repair \
     removes the three bytes."
Crlf "crlf" Info No
    "Lines end with carriage return and line feed."
    "All agents read such lines. A repair does not change them."
BlankLine "blank-line" Info No
    "A line is blank."
    "All agents ignore blank lines."
NulBytes "nul-bytes" Error ByDefault
    "A line contains NUL bytes."
    "A block never reached the disk because of a crash. The repair removes the NUL bytes. It keeps the JSON \
     object if one remains; otherwise it sets the line aside."
InvalidUtf8 "invalid-utf8" Error ByDefault
    "A line has bytes that are not UTF-8."
    "The text came from a tool that uses another encoding. The repair replaces each such byte with U+FFFD \
     and sets the old line aside."
GluedLines "glued-lines" Error ByDefault
    "A line contains two or more complete JSON objects."
    "A writer omitted a line ending, or ends its lines with only a carriage return. Agents lose the line, \
     or all but its first object. The repair writes each object on its own line and sets aside any bytes \
     between them."
SplicedLine "spliced-line" Error ByDefault
    "A line starts with a fragment of an object and ends with complete ones."
    "A writer was stopped in the middle of a line, and another writer appended to it. Agents lose the whole \
     line. The repair keeps the complete objects and sets the fragment aside."
SplitRecord "split-record" Error ByDefault
    "A JSON object spans several lines."
    "A string contains a raw line feed, or the object was pretty-printed. If joining the lines gives a \
     complete object, the repair joins them; a break inside a string becomes `\\n`."
TornLine "torn-line" Error ByDefault
    "A line starts with `{` but is not valid JSON."
    "A writer was stopped in the middle. If the only fault is raw control characters in strings, the repair \
     escapes them. Otherwise it keeps complete objects before the truncated one and sets the rest aside. \
     bough never guesses missing brackets. A complete line that is nested too deeply for bough is not \
     changed, since agents may read it."
GarbageLine "garbage-line" Error ByDefault
    "A line is not an entry: it is text, the second half of an object, or JSON that is not an object with a \
     type."
    "Examples are output of another program, a merge conflict marker, and a bare `null` (which crashes pi). \
     The repair extracts objects from a list and sets anything else aside. It keeps an object that has an \
     id but no type, since pi and oh-my-pi treat it as an entry."
DeepNesting "deep-nesting" Error No
    "The values of a line are nested too deeply."
    "pi and Claude Code read any depth; bough reads 131,072 levels. Python reads about 1,000, so Chimera \
     can't load a session with deeper values. A repair never removes such a line."
LoneSurrogate "lone-surrogate" Error ByDefault
    "A string contains half of a surrogate pair."
    "A text was cut in the middle of an emoji. Strict readers reject the line, and providers reject each \
     request that contains it. The repair replaces the half with `\\ufffd`."
NoFinalNewline "no-final-newline" Warning ByDefault
    "The last line is complete but does not end with a line feed."
    "The next appended line would be joined to it, and both would be lost. The repair adds the line feed."
// Headers.
MissingHeader "missing-header" Error ByDefault
    "The format requires a header, but the file has none, or its id is not a string."
    "The file was deleted while an agent was running, or its first line is damaged. pi and oh-my-pi refuse \
     such a file. The repair writes a header before the entries: with the remaining fields of the old one, \
     the id from the file's name (or a new id), and the time of the first entry. If there is a header, the \
     repair only adds the id."
TitleSlot "title-slot" Error ByDefault
    "The title slot is not as oh-my-pi writes it."
    "oh-my-pi does not recognize the line as a title slot then, and refuses the file. The repair corrects \
     the missing or wrong fields and keeps the length of 256 bytes. If they do not fit, the repair sets the \
     slot aside, and the title in the header is used."
HeaderNotFirst "header-not-first" Error ByDefault
    "An entry is before the header."
    "pi and oh-my-pi refuse such a file. The repair moves the header to the top."
DuplicateHeader "duplicate-header" Warning ByDefault
    "The file has more than one header."
    "A writer appended its whole buffer to a file that already contained it, or two files were \
     concatenated. The repair removes headers that equal the first; a different header is only reported."
UnsupportedVersion "unsupported-version" Warning No
    "The header has a version that is newer than bough knows."
    "bough reads as much of the file as it can, and never writes to it."
LegacyVersion "legacy-version" Info No
    "The file is of an older version of its format."
    "Agents upgrade the file when they load it; `bough migrate SESSION` does the same."
ForkOfV1 "fork-of-v1" Info No
    "Entries of version 1 follow a header of a later version."
    "pi writes such a file when it forks a session of version 1, and then shows an empty session. See \
     `missing-id`."
ForeignMarker "foreign-marker" Info No
    "The last line has no id, so the agent would start a new session after it."
    "Another program appended its own line. The agent loads an empty session, and everything else seems \
     lost. See `missing-id`."
MissingId "missing-id" Error ByDefault
    "The id of an entry is missing or not a string, in a file of version 2 or later."
    "Such an entry can't be a parent, and as the last line it hides the session. (A number works as an id \
     if its children spell it in the same way.) If the parent of the next entry is not in the file, the repair uses \
     the id that the next entry names. Otherwise it turns a number into a string and gives other entries a \
     new id; an entry without a parent is attached to the entry before it."
// The tree.
DanglingParent "dangling-parent" Error ByDefault ["nearest" "root"]
    "The parent of an entry is not in the file."
    "The parent's line was lost, truncated or never written, or the parent is not an id. The agent silently \
     loses everything before the entry. If a truncated line still shows the lost parent's own parent, the \
     repair attaches the entry to it. Otherwise the repair attaches it to the nearest earlier turn of the \
     same session in the file, but never across a sidechain. If there is none, the entry becomes a root. \
     All children of one lost parent get the same new parent. The strategy `root` makes them roots."
ParentCycle "parent-cycle" Error ByDefault
    "Parent links form a cycle."
    "Two entries share an id, or an upgrade went wrong. pi and Chimera loop forever. The repair cuts the \
     link that points forward in the file, since a child is written after its parent, and then treats that \
     parent as lost."
DuplicateId "duplicate-id" Error ByDefault
    "Two entries with different contents have the same id."
    "Ids were cut too short, or an old message was appended again with another parent. Agents use the last \
     entry, and the path leads to the wrong branch. The repair sets aside a copy with the same message. An \
     entry with another message gets a new id, and children stay with the first entry."
DuplicateEntry "duplicate-entry" Warning ByDefault
    "An entry is an exact copy of an earlier one."
    "A writer flushed twice, or a resume copied the history. The repair keeps the first entry and sets the \
     copies aside. If Claude Code continued after a copy because it was the last line, the repair appends a \
     pointer that keeps HEAD at the entry."
IdCase "id-case" Error ByDefault
    "A parent differs from an entry's id only in case."
    "Ids are compared byte for byte, so the entry is an orphan. The repair changes the parent to the \
     entry's spelling."
UnknownTypeLink "unknown-type-link" Error ByDefault
    "The parent of an entry is a line that is not part of the tree."
    "Claude Code ignores lines of unknown types, even as links, and loses everything before them. The \
     repair attaches the entry to the parent of that line."
MissingUuid "missing-uuid" Info No
    "A turn of Claude Code has no `uuid`."
    "The turn is loaded, but it can't have children: its child is an orphan. The repair of \
     `dangling-parent` restores the id."
ForwardParent "forward-parent" Info No
    "An entry comes before its parent in the file."
    "Lines were flushed out of order, or files were merged. All readers that look up ids accept this."
ParentElsewhere "parent-elsewhere" Info No
    "The parent of an entry is in another session file of the same project."
    "Claude Code 1.0 continued a session in a new file in this way. The earlier history is in the other \
     file and is not sent. If the entry is a reply, the next request begins with it and is rejected: \
     continue in the other file."
UnexpectedRoot "unexpected-root" Warning OnRequest
    "A root is in the middle of the session."
    "The agent does not see anything before it. It is either a rewind to the start, which is valid, or a \
     lost link. On request the repair treats it as a lost parent."
DanglingLeaf "dangling-leaf" Error ByDefault
    "A leaf entry names an entry that is not in the file."
    "A strict loader refuses the session. The repair sets the leaf entry aside; HEAD is then the last entry."
StaleTail "stale-tail" Warning No
    "The last entry is bookkeeping on a branch without the newest message."
    "Another process, still at an older entry, wrote a name or a setting, and agents continue from the last \
     line. Nothing is lost: `bough branches` shows the branches, and `bough switch` moves HEAD to the right \
     one."
DanglingLabel "dangling-label" Warning No
    "A label names an entry that is not in the file."
    "A fork left the entry out. The label does no harm."
DanglingBranchFrom "dangling-branch-from" Info No
    "A branch summary is about an entry that is not in the file."
    "The field is only informational."
// Compactions.
DanglingKept "dangling-kept" Warning OnRequest
    "The first entry that a compaction keeps is not in the file."
    "The kept messages are in the file, but the context silently omits them. On request the repair names \
     the nearest entry on the path instead."
KeptOffPath "kept-off-path" Warning OnRequest
    "The first entry that a compaction keeps is not an ancestor of it."
    "The context silently omits the kept messages. On request the repair names the nearest prompt on the \
     path instead."
MissingKept "missing-kept" Error ByDefault
    "A message that a compaction of Claude Code keeps is not in the file."
    "The agent omits all kept messages then. If a summary follows the compaction, the repair removes the \
     missing messages from the lists."
DanglingLogicalParent "dangling-logical-parent" Warning No
    "A `logicalParentUuid` is not in the file."
    "The part before a compaction is in another file, or lost. No agent follows this field."
// Tools.
UnpairedToolUse "unpaired-tool-use" Warning OnRequest
    "A tool call has no result anywhere in the file."
    "The agent was stopped while the tool was running. Most agents synthesize a result when they load the \
     session. On request the repair adds a result that says that the real one was lost, and attaches the \
     entries that followed the call to it. pi and oh-my-pi do not send a reply that failed or was \
     interrupted, so its calls need no results and get none."
OrphanToolResult "orphan-tool-result" Warning OnRequest
    "A tool result has no call anywhere in the file."
    "Providers reject a request that contains it. On request the repair sets the entry aside and attaches \
     its children to its parent. If the entry has other content, the repair only removes the result."
DuplicateToolResult "duplicate-tool-result" Warning OnRequest
    "A tool call has more than one result on the same path."
    "Two processes wrote a result, or a synthesized result came before the real one. On request the repair \
     keeps the first result and sets the others aside. Results of one call on different branches are not \
     duplicates: each belongs to its branch."
MisplacedToolResult "misplaced-tool-result" Warning OnRequest
    "Another message is between a tool call and its result."
    "Providers require a result directly after its call. On request the repair attaches the result to its \
     call, and the entries between them to the result. If the result is on another branch, the repair moves \
     only the result."
BrokenPair "broken-pair" Warning OnRequest
    "At HEAD, a tool result is sent without its call, or a call without its result."
    "Both are in the file, but one of them is not sent: its reply failed, a compaction or an edit removed \
     it, or it is on another branch. Providers reject such a request. In sessions of other agents that are only \
     read, the other half may be nowhere in the file. On request the repair sets the result \
     aside and attaches its children to its parent, unless another branch contains it."
NamelessCall "nameless-call" Warning OnRequest
    "A tool call has no id or no name, or a tool result names no call."
    "A reply was truncated while it was streamed. Providers reject each request that contains it. oh-my-pi \
     omits such calls, so they are not reported there. On request the repair removes a call without an id, \
     or sets the whole entry aside if it contains nothing else. A call without a name is named `unknown`. A \
     result that names no call is set aside, and its children are attached to its parent."
DuplicateToolId "duplicate-tool-id" Error ByDefault
    "Two tool calls on one path have the same id."
    "Claude Code then drops the second call and its result. The repair gives that call and its result a new id."
// Content.
EmptyTextBlock "empty-text-block" Warning OnRequest
    "A text block has no text."
    "The service rejects the request. On request the repair removes the block; if it is the only block, the \
     repair writes a short text into it."
EmptyContent "empty-content" Warning OnRequest
    "The content of a turn is an empty string."
    "The service rejects the request. On request the repair writes a short text instead."
ObjectContent "object-content" Error ByDefault
    "The content of a turn is an object."
    "Claude Code does not send such a turn. The repair wraps the object in a list."
NoMessage "no-message" Error ByDefault
    "An entry of the type `message` has no message."
    "pi, oh-my-pi and Chimera read a field of the message without a check and crash: the session can't be \
     opened. The repair sets the entry aside and attaches its children to its parent."
UnreadableField "unreadable-field" Error ByDefault
    "A field is missing or has the wrong type."
    "The agent crashes when it opens the session or shows its tree. In pi the fields are `arguments` of a \
     tool call, `content` of an extension's message, `summary` of a branch summary, `replacement` of an \
     edit and `command` of a command; in oh-my-pi `content` of a reply, `injectedRules`, and usage without \
     `cost`; in Chimera `tool_calls`. The repair writes an empty value of the right type: `{}`, `[]`, zeros \
     or a text. An item that is not a block is set aside."
UnsendableContent "unsendable-content" Warning OnRequest
    "The agent can't build a request from the content of a message."
    "The session opens, but each request fails. On request the repair wraps a text or a single block in a \
     list, replaces other values with an empty list or text, and sets aside items that are not blocks."
UnsentRole "unsent-role" Warning OnRequest
    "A message has no role, or a role that the agent does not know."
    "pi and oh-my-pi omit the message. Chimera sends it without a role, and providers reject the request. \
     On request the repair sets the entry aside and attaches its children to its parent."
MissingUsage "missing-usage" Warning OnRequest
    "Usage that pi adds up is missing, or has no cost."
    "pi adds up the usage of all entries when it draws its footer, and crashes there; `pi -p` still works. \
     Tools that import sessions of other agents write such files. A reply that also names no model is not \
     reported. On request the repair writes zeros."
OversizeImage "oversize-image" Warning OnRequest
    "An image is more than 8000 pixels wide or high, or larger than 5 MiB in base64."
    "Providers reject each request that contains it, whatever its subject. On request the repair replaces \
     the image with a note."
BadTimestamp "bad-timestamp" Warning No
    "The time of an entry is missing or can't be read."
    "The order comes from links, so nothing is lost, but lists sorted by time are wrong."
TimeRegress "time-regress" Info No
    "An entry is older than its parent."
    "A clock was set to an earlier time, or labels were rebuilt. The order comes from links."
NoConversation "no-conversation" Info No
    "The session has no messages."
    "It contains only bookkeeping."
// Claude Code.
ForeignSession "foreign-session" Warning No
    "An entry belongs to another session, and is not an ancestor of entries of this one."
    "Two processes wrote to one file. `bough export-branch` extracts each set of entries."
InheritedPrefix "inherited-prefix" Info No
    "An entry of another session is an ancestor of entries of this one."
    "The session was resumed or forked from the other one."
SessionIdMismatch "session-id-mismatch" Warning No
    "The file is named after an id that is not the session's."
    "The file was copied or renamed, and agents find it by the wrong id. bough can't know which of the two \
     ids is right."
PointerToSidechain "pointer-to-sidechain" Error ByDefault
    "The last pointer names an entry of a sidechain."
    "Claude Code can't open the session. The repair appends a pointer to the end of the conversation."
NoHead "no-head" Error No
    "Claude Code finds no turn to continue from."
    "If all turns are marked as a sidechain, the agent reports that there is no such conversation. If no \
     turn remains after the last compaction, it opens the session but sends nothing of it. `fsck --repair \
     --with sidechain-trunk` corrects wrong flags; `bough export-branch` of a turn creates a session that \
     opens."
AssistantFirst "assistant-first" Error No
    "At HEAD, the request of Claude Code begins with a reply."
    "The prompt before the reply is lost, or was never linked to it. The service rejects such a request, so \
     the session can't be used. `bough switch` moves to another branch; `bough cherry-pick` can restore the \
     prompt."
ExplicitNullPointer "explicit-null-pointer" Info OnRequest
    "The last pointer says that the conversation is empty."
    "`bough switch --root` writes this pointer; Claude Code then silently starts an empty conversation. On \
     request the repair appends a pointer to the end of the conversation."
StalePointer "stale-pointer" Info OnRequest
    "The last pointer keeps HEAD on a branch, but the conversation continued on another."
    "This may be intended. On request the repair appends a pointer to the newest turn."
SidechainTrunk "sidechain-trunk" Info OnRequest
    "Entries of the main conversation are marked as a sidechain."
    "Claude Code does not send them if they are last, or can't open the session. On request the repair sets \
     the flag to false; entries of real subagents are not changed."
ForeignSummary "foreign-summary" Info No
    "A summary line is about an entry that is not in the file."
    "Old versions of Claude Code wrote the titles of other sessions into a new file."
SnapshotIdOverlap "snapshot-id-overlap" Info No
    "A file snapshot names an entry."
    "This is by design: the agent needs the line to restore files."
// Around the file.
Coverage "coverage" Error No
    "An entry is neither reached from a root nor left out with a reason."
    "The order of claude-code-log either contains an entry or gives a reason for leaving it out. If neither \
     is the case, bough has a bug."
Ownership "ownership" Info No
    "An id is in more than one of the given sessions."
    "Forks keep the ids of the entries that they copy. A tool that looks up ids in a whole project must \
     know which session is meant."
AgentWithoutAnchor "agent-without-anchor" Info No
    "A file contains a subagent that no tool call of the session started."
    "The call was lost, or the subagent was started in another way."
AnchorWithoutAgent "anchor-without-agent" Info No
    "A tool result names a subagent whose file is missing."
    "The file was not copied with the session, or was cleaned up."
MissingBlob "missing-blob" Info No
    "The file of an image is missing."
    "oh-my-pi keeps images in a folder next to its sessions. The reference is not changed."
MissingResultFile "missing-result-file" Info No
    "The file that contains a tool's result is missing."
    "Claude Code keeps long results in a folder next to the session."
}

impl Check {
    /// Returns whether its findings are faults: damage, and not just something that may be wrong.
    #[doc(hidden)]
    pub fn is_fault(self) -> bool {
        let is_damage = matches!(
            self,
            Check::Bom | Check::NoFinalNewline | Check::DuplicateEntry | Check::DuplicateHeader
        );
        self.level() == Level::Error || is_damage
    }

    /// The number of checks.
    pub(crate) const COUNT: usize = Check::MissingResultFile as usize + 1;

    /// Returns the table row of the check.
    pub(crate) fn row(self) -> &'static Row {
        &CHECKS[self as usize]
    }

    /// Returns the name of the check.
    pub fn id(self) -> &'static str {
        self.row().id
    }

    /// Returns the level of its findings.
    pub fn level(self) -> Level {
        self.row().level
    }

    /// Returns whether its findings can be repaired.
    pub(crate) fn repair_mode(self) -> RepairMode {
        self.row().repair
    }

    /// Returns the check with a name.
    pub fn from_id(id: &str) -> Option<Check> {
        CHECKS.iter().find(|row| row.id == id).map(|row| row.check)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A set of checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Set(u128);

impl Set {
    /// Returns all checks.
    pub fn all() -> Set {
        CHECKS.iter().map(|row| row.check).collect()
    }

    /// Returns whether a check is in the set.
    pub fn has(self, check: Check) -> bool {
        self.0 >> check as u8 & 1 == 1
    }

    /// Adds a check to the set.
    pub fn insert(&mut self, check: Check) {
        self.0 |= 1 << check as u8;
    }

    /// Removes a check from the set.
    pub fn remove(&mut self, check: Check) {
        self.0 &= !(1 << check as u8);
    }
}

impl FromIterator<Check> for Set {
    fn from_iter<I: IntoIterator<Item = Check>>(checks: I) -> Set {
        let mut set = Set::default();
        for check in checks {
            set.insert(check);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_says_each_thing_once() {
        const { assert!(Check::COUNT <= 128, "a set has a bit for each check") };
        assert_eq!(CHECKS.len(), Check::COUNT);
        for (at, row) in CHECKS.iter().enumerate() {
            assert_eq!(row.check as usize, at);
            assert_eq!(Check::from_id(row.id), Some(row.check));
            assert!(row.what.ends_with('.') && row.why.ends_with('.'), "{}", row.id);
            assert!(row.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{}", row.id);
            assert!(!row.why.contains("  "), "{}", row.id);
        }
    }
}
