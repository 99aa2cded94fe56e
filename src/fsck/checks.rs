//! The one table of checks: what each is called, how bad it is, whether it can be mended, and what it means.

use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Worth knowing; nothing is wrong.
    Info,
    /// Something may be wrong, or is and does no harm to most.
    Warning,
    /// Something is lost, or an agent can't follow.
    Error,
}

impl Level {
    /// The level as one word.
    pub fn word(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// Whether a repair mends what a check finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mend {
    /// There is no repair.
    No,
    /// Every repair does it.
    ByDefault,
    /// A repair does it where `--with` names the check.
    OnRequest,
}

impl Mend {
    /// The answer as a few words.
    pub fn words(self) -> &'static str {
        match self {
            Mend::No => "no",
            Mend::ByDefault => "by default",
            Mend::OnRequest => "on request",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The check.
    pub check: Check,
    /// Its name on the command line and in what is printed.
    pub id: &'static str,
    /// How bad a finding is.
    pub level: Level,
    /// Whether it can be mended.
    pub mend: Mend,
    /// What is found, in one sentence.
    pub what: &'static str,
    /// What it means, where it comes from, and what a repair does.
    pub why: &'static str,
    /// The strategies that a repair can take, the default first; empty where there is one way alone.
    pub strategies: &'static [&'static str],
}

macro_rules! checks {
    ($($name:ident $id:literal $level:ident $mend:ident $([$($strategy:literal)+])? $what:literal $why:literal)+) => {
        /// A check; [`CHECKS`] says what it is.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the table below says what each is")]
        pub enum Check { $($name),+ }

        /// The table of all checks, in the order in which they are listed.
        pub static CHECKS: &[Row] = &[$(Row {
            check: Check::$name,
            id: $id,
            level: Level::$level,
            mend: Mend::$mend,
            what: $what,
            why: $why,
            strategies: &[$($($strategy),+)?],
        }),+];
    };
}

checks! {
// Lines.
EmptyFile "empty-file" Warning No
    "The file holds nothing but blank lines."
    "A process died before its first write reached the disk, or the disk was full. There is nothing to mend, and nothing \
     is written."
Utf16 "utf-16" Error ByDefault
    "The file is UTF-16, which no agent reads."
    "An editor or a shell saved it so. The repair writes the same text as UTF-8 with line feeds; the old bytes are in the \
     backup."
Bom "bom" Warning ByDefault
    "A byte order mark stands at the start."
    "pi then takes the first line for garbage and refuses the file; others pass over it. The repair takes the three bytes \
     out."
Crlf "crlf" Info No
    "Lines end in carriage return and line feed."
    "All agents read such lines. A repair leaves them as they are."
BlankLine "blank-line" Info No
    "A line is blank."
    "All agents pass over blank lines."
NulBytes "nul-bytes" Error ByDefault
    "NUL bytes stand in a line."
    "A crash left a hole where a block never reached the disk. The repair takes the NULs out and keeps the record, if one \
     is left; else the line is set aside."
InvalidUtf8 "invalid-utf8" Error ByDefault
    "A record has bytes that are not UTF-8."
    "Text came in by a tool that knows another encoding. The repair puts U+FFFD in the place of each such byte; the line as \
     it was is set aside."
GluedLines "glued-lines" Error ByDefault
    "Two or more whole records stand on one line."
    "A writer left out a line ending, or ends its lines with a carriage return alone. Agents lose the line, or all but its \
     first record. The repair puts each record on a line of its own; what stands between them is set aside."
SplicedLine "spliced-line" Error ByDefault
    "A line ends in whole records but begins with a piece of another."
    "A writer was stopped in the middle of a line, and another went on behind it. Agents lose the whole line. The repair \
     keeps the records and sets the piece aside."
SplitRecord "split-record" Error ByDefault
    "A record is spread over several lines."
    "A raw line feed stands in a string, or the record was printed over several lines. The repair joins the lines, with \
     `\\n` where the break is inside a string, if that gives a whole record."
TornLine "torn-line" Error ByDefault
    "A line begins with `{` and is no JSON."
    "A writer was stopped in the middle. If nothing but raw control characters in strings is wrong, the repair escapes \
     them; records in front of the torn piece are kept; the rest is set aside. Brackets are never closed by guess. A line that \
     is whole, and nested deeper than bough reads, stays as it is, since agents may read it."
GarbageLine "garbage-line" Error ByDefault
    "A line is something else than a record: text, the back half of one, JSON that is no object with a type."
    "Text of another program, a marker of a merge, a bare `null` (which stops pi). The repair takes records out of a \
     list; anything else is set aside. pi and oh-my-pi take an object with an id for an entry though it has no type: it stays."
DeepNesting "deep-nesting" Error No
    "Values of a line are nested deeper than they are read."
    "pi and Claude Code read any depth, bough 131,072 levels. Python gives up at some 1,000, and Chimera can't load the \
     session then. No repair takes such a line out."
LoneSurrogate "lone-surrogate" Error ByDefault
    "A string has half of a surrogate pair."
    "Text was cut in the middle of an emoji. Strict readers refuse the line, and providers each request that has it. The \
     repair puts `\\ufffd` in the place of the half."
NoFinalNewline "no-final-newline" Warning ByDefault
    "The last line holds a whole record and does not end in a line feed."
    "The next line that is appended would be glued to it, and both lost. The repair adds the line feed."
// Headers.
MissingHeader "missing-header" Error ByDefault
    "There is no header where the format has one, or it has no id that is a string."
    "The file was deleted under a running agent, or its first line is damaged. pi and oh-my-pi refuse such a file. The \
     repair puts a header above the entries, with what is left of the old one, the id in the file's name or a new one, and \
     the time of the first entry; a header that is there gets the id alone."
TitleSlot "title-slot" Error ByDefault
    "The title slot is not as oh-my-pi writes it."
    "oh-my-pi then takes the line for something else than a slot, and refuses the file. The repair writes the fields that are \
     missing or wrong and keeps the 256 bytes; where there is no room for them, the slot is set aside, and the title in the \
     header counts."
HeaderNotFirst "header-not-first" Error ByDefault
    "An entry stands before the header."
    "pi and oh-my-pi refuse such a file. The repair moves the header to the top."
DuplicateHeader "duplicate-header" Warning ByDefault
    "There is a further header."
    "A writer put its whole buffer behind a file that held it already, or two files are in one. The repair drops headers \
     that equal the first; one that differs is only reported."
UnsupportedVersion "unsupported-version" Warning No
    "The header names a version that is newer than those known."
    "The file is read as far as it can be, and never written."
LegacyVersion "legacy-version" Info No
    "The file is of an older version of its format."
    "Agents take it to their own version when they load it; `bough migrate` does the same."
ForkOfV1 "fork-of-v1" Info No
    "Entries of version 1 stand under a header of a later version."
    "pi's fork of a version 1 session writes such files, and its loader then shows nothing. See `missing-id`."
ForeignMarker "foreign-marker" Info No
    "The last line has no id, so the agent would begin anew behind it."
    "Another program appended a mark of its own. The agent loads an empty session, and all else looks lost. See \
     `missing-id`."
MissingId "missing-id" Error ByDefault
    "An entry has no id that is a string, under a header of version 2 or later."
    "Such an entry can't be a parent, and as the last line it hides the session; a number leads on where it is spelled in the \
     same way. The repair gives back the id that the next entry hangs under, if that is nowhere. Else it writes a number as a \
     string, and gives others an id, and where they name no parent, the entry before."
// The tree.
DanglingParent "dangling-parent" Error ByDefault ["nearest" "root"]
    "The parent of an entry is nowhere in the file."
    "The line was lost, torn or never written, or what stands there is no id; all above it is out of the agent's sight, \
     silently. The repair hangs the \
     entry under the parent of the lost line where a torn line still shows it, else under the nearest earlier turn in \
     the file, of the same session, never across a sidechain; where there is none it becomes a root. All children of one lost \
     parent get the same. The strategy `root` makes roots of them."
ParentCycle "parent-cycle" Error ByDefault
    "Parent links run in a ring."
    "Two entries share an id, or an upgrade went wrong. pi and Chimera hang on it. The repair cuts the link that points \
     forward in the file, since a child is written behind its parent, and mends that as a lost parent."
DuplicateId "duplicate-id" Error ByDefault
    "A further entry has an id that is used already, and other content."
    "Ids were cut too short, or an old message was appended again with another parent. Agents take the last one, and the \
     way up goes astray. The repair sets a copy with the same message aside; one with another message gets an id of its \
     own, and children stay with the first."
DuplicateEntry "duplicate-entry" Warning ByDefault
    "A further entry equals the first with its id."
    "A writer flushed twice, or a resume copied the history. The repair keeps the first and sets the copies aside. \
     If Claude Code went on after a copy because it was the last line, a pointer keeps HEAD at the entry."
IdCase "id-case" Error ByDefault
    "A parent differs from an entry's id in case alone."
    "Ids are compared byte for byte, so the entry is an orphan. The repair spells the parent as the entry does."
UnknownTypeLink "unknown-type-link" Error ByDefault
    "The parent of an entry is a line of a type that has no place in the tree."
    "Claude Code passes over types that it does not know, also as links: all above is lost. The repair hangs the entry \
     under the parent of that line."
MissingUuid "missing-uuid" Info No
    "A turn of Claude Code has no `uuid`."
    "It is loaded, but nothing can hang below it: its child is an orphan (`dangling-parent`), whose repair gives the id back."
ForwardParent "forward-parent" Info No
    "An entry stands above its parent in the file."
    "Lines were flushed out of order, or files merged. All readers that look ids up take it."
ParentElsewhere "parent-elsewhere" Info No
    "The parent of an entry is in another session file of the same project."
    "Claude Code 1.0 went on with a session in a new file so. The history before it is in the other file, and is not sent. \
     If the entry is a reply, the next request begins with it and is refused: continue in the other file."
UnexpectedRoot "unexpected-root" Warning OnRequest
    "A root stands in the middle of the session."
    "All before it is out of the agent's sight. It may be a rewind to the start, which is sound, or a lost link. On \
     request the repair mends it as a lost parent."
DanglingLeaf "dangling-leaf" Error ByDefault
    "A leaf entry names an entry that is not in the file."
    "A strict loader refuses the session. The repair sets the leaf entry aside; the position is then the last entry."
StaleTail "stale-tail" Warning No
    "The last entry is bookkeeping on a branch without the newest message."
    "Another process wrote a name or a setting from an old position, and agents go on from the last line. Nothing is lost: \
     `bough branches` shows the branches, `bough switch` goes back."
DanglingLabel "dangling-label" Warning No
    "A label names an entry that is not in the file."
    "A fork left the entry out. The label does no harm."
DanglingBranchFrom "dangling-branch-from" Info No
    "A branch summary is about an entry that is not in the file."
    "The field is for information alone."
// Compactions.
DanglingKept "dangling-kept" Warning OnRequest
    "The first entry that a compaction keeps is not in the file."
    "The kept messages are in the file and silently left out of what the model is sent. On request the repair names the \
     nearest entry on the path instead."
KeptOffPath "kept-off-path" Warning OnRequest
    "The first entry that a compaction keeps does not stand above it."
    "The kept messages are silently left out. On request the repair names the nearest prompt on the path instead."
MissingKept "missing-kept" Error ByDefault
    "A message that a compaction of Claude Code keeps is not in the file."
    "The client then leaves out all kept messages. The repair takes the missing ones out of the lists, where a \
     summary stands behind the compaction."
DanglingLogicalParent "dangling-logical-parent" Warning No
    "A `logicalParentUuid` is not in the file."
    "The part before a compaction is in another file, or gone. Nothing follows the field."
// Tools.
UnpairedToolUse "unpaired-tool-use" Warning OnRequest
    "A tool call has no result anywhere in the file."
    "The agent was stopped while the tool ran. Most make a result up when they load it. On request the repair appends a \
     result that says it was lost, and hangs what followed the call below it. A reply that failed or was broken off is not sent \
     by pi and oh-my-pi: its calls need no results, and get none."
OrphanToolResult "orphan-tool-result" Warning OnRequest
    "A tool result has no call anywhere in the file."
    "Providers refuse a request with it. On request the repair sets the entry aside and hangs its children under its \
     parent; where more stands in the entry, the result alone."
DuplicateToolResult "duplicate-tool-result" Warning OnRequest
    "A tool call has a further result on the same path."
    "Two processes answered, or a made-up result came before the real one. On request the repair keeps the first and sets \
     the further one aside. Results of one call on different branches are each the answer of their branch."
MisplacedToolResult "misplaced-tool-result" Warning OnRequest
    "Another message stands between a tool call and its result."
    "Providers want a result right behind its call. On request the repair hangs the result under its call, and what stood \
     between below the result. From another branch the result alone is taken."
BrokenPair "broken-pair" Warning OnRequest
    "At HEAD, a tool result is sent without its call, or a call without its result."
    "Both are in the file, and one of them is not sent: its reply failed, a compaction or an edit cut it off, or it is on another \
     branch. Providers refuse such a request. On request the repair sets a result aside and hangs its children under its \
     parent, if it is on no other branch."
NamelessCall "nameless-call" Warning OnRequest
    "A tool call has no id or no name, or a tool result names no call."
    "A reply was cut off while it was streamed. Providers refuse each request with it; oh-my-pi leaves such calls out, and \
     nothing is reported there. On request a call without \
     an id is set aside, and the whole entry if nothing else is in it; one without a name is called `unknown`. A result that \
     names no call is set aside, and its children hang under its parent."
DuplicateToolId "duplicate-tool-id" Error ByDefault
    "Two tool calls on one path have the same id."
    "Claude Code then destroys the second call and its result. The repair gives both a fresh id."
// Content.
EmptyTextBlock "empty-text-block" Warning OnRequest
    "A text block has no text."
    "The service refuses the request. On request the repair takes the block out; one that stands alone gets a short text."
EmptyContent "empty-content" Warning OnRequest
    "The content of a turn is an empty string."
    "The service refuses the request. On request the repair puts a short text there."
ObjectContent "object-content" Error ByDefault
    "The content of a turn is an object."
    "Claude Code does not send such a turn. The repair puts the object in a list."
NoMessage "no-message" Error ByDefault
    "An entry of the type `message` has no message."
    "pi, oh-my-pi and Chimera read a field of the message without asking whether there is one, and end: the session can't be \
     opened. The repair sets the entry aside and hangs its children under its parent."
UnreadableField "unreadable-field" Error ByDefault
    "A field is missing, or is not of the kind that the agent reads."
    "The agent ends when it opens the session, or when it shows its tree. In pi these are `arguments` of a tool call, \
     `content` of an extension's message, `summary` of a branch summary, `replacement` of an edit and `command` of a \
     command; in oh-my-pi `content` of a reply, `injectedRules`, and usage without `cost`; in Chimera `tool_calls`. The repair writes an \
     empty value of the right kind: `{}`, `[]`, zeros or a text; an item that is not a block is set aside."
UnsendableContent "unsendable-content" Warning OnRequest
    "The content of a message is of a kind with which the agent can't make a request."
    "The session opens, and each request fails. On request the repair puts a text, or a block by itself, into a list, writes \
     an empty list or text instead of other values, and sets items aside that are not blocks."
UnsentRole "unsent-role" Warning OnRequest
    "A message has no role, or one that the agent does not know."
    "pi and oh-my-pi leave the message out; Chimera sends it without a role, and providers refuse that. On request the \
     repair sets the entry aside and hangs its children under its parent."
MissingUsage "missing-usage" Warning OnRequest
    "Usage that pi adds up is missing, or has no cost."
    "pi adds up the usage of all entries when it draws its footer, and ends there. `pi -p` goes on. Importers from other \
     agents write such files. A reply that names no model either is not reported. On request the repair writes zeros."
OversizeImage "oversize-image" Warning OnRequest
    "A picture is over 8000 pixels a side, or 5 MiB of base64."
    "Each request that has it is refused, those about other things too. On request the repair puts a note in its place."
BadTimestamp "bad-timestamp" Warning No
    "The time of an entry is missing or can't be read."
    "Order comes from links, so nothing is lost; lists that are sorted by time go astray."
TimeRegress "time-regress" Info No
    "An entry is older than its parent."
    "A clock was set back, or labels were rebuilt. Order comes from links."
NoConversation "no-conversation" Info No
    "Nothing was said in the session."
    "It holds bookkeeping alone."
// Claude Code.
ForeignSession "foreign-session" Warning No
    "An entry is of another session, and no ancestor of this one's entries."
    "Two processes wrote into one file. `bough export-branch` takes each set out."
InheritedPrefix "inherited-prefix" Info No
    "An entry of another session is an ancestor of this one's entries."
    "The session was resumed or forked from there."
SessionIdMismatch "session-id-mismatch" Warning No
    "The file is named after an id that is not the session's."
    "The file was copied or renamed, and is found under the wrong id. Which of the two is right is the user's to say."
PointerToSidechain "pointer-to-sidechain" Error ByDefault
    "The last pointer names an entry of a sidechain."
    "Claude Code can't open the session. The repair appends a pointer to the end of the conversation."
NoHead "no-head" Error No
    "Claude Code finds no turn to go on from."
    "If all turns are marked as a sidechain, the client says that there is no such conversation. If what is left for it after the last \
     compaction has no turn, it opens the session and sends nothing of it. \
     `fsck --repair --with sidechain-trunk` sets wrong marks right; `bough export-branch` of a turn makes a session that opens."
AssistantFirst "assistant-first" Error No
    "At HEAD, the request of Claude Code begins with a reply."
    "What was before the reply is lost, or it was never linked to it. The service refuses such a request, so the session can't \
     be used. `bough switch` to another branch goes on there; the prompt can be put back with `bough cherry-pick`."
ExplicitNullPointer "explicit-null-pointer" Info OnRequest
    "The last pointer says that the conversation is empty."
    "`bough switch --root` writes it; Claude Code then begins with nothing, without a word. On request the repair appends a \
     pointer to the end of the conversation."
StalePointer "stale-pointer" Info OnRequest
    "The last pointer holds the position on a branch, and the conversation went on elsewhere."
    "It may be the user's wish. On request the repair appends a pointer to the newest turn."
SidechainTrunk "sidechain-trunk" Info OnRequest
    "Entries of the conversation itself are marked as a sidechain."
    "Claude Code does not send them where they are last, or can't open the session. On request the repair sets the mark to \
     false; entries of real agents are left alone."
ForeignSummary "foreign-summary" Info No
    "A summary line is about an entry that is not in the file."
    "Old versions wrote the titles of other sessions into a new file."
SnapshotIdOverlap "snapshot-id-overlap" Info No
    "A line that keeps files names an entry."
    "By design: without it the agent could not take files back."
// Around the file.
Coverage "coverage" Error No
    "An entry is reached neither from a root nor set aside."
    "Each entry of a session is walked, or set aside with a reason. One that is neither is a fault of bough's own."
Ownership "ownership" Info No
    "An id stands in more than one of the sessions at hand."
    "Forks keep the ids of what they copy. Tools that look ids up over a whole project must know which session is meant."
AgentWithoutAnchor "agent-without-anchor" Info No
    "No tool call of the session leads to an agent's file."
    "The call was lost, or the agent was started in another way."
AnchorWithoutAgent "anchor-without-agent" Info No
    "A tool result names an agent whose file is not there."
    "The file was not copied along, or was cleaned up."
MissingBlob "missing-blob" Info No
    "A picture's file is not there."
    "oh-my-pi keeps pictures in a folder beside its sessions. The reference stays as it is."
MissingResultFile "missing-result-file" Info No
    "The file that holds a tool's result is not there."
    "Claude Code keeps long results in a folder beside the session."
}

impl Check {
    /// Whether what it finds is a fault: damage, and not only something that may be wrong.
    pub fn is_fault(self) -> bool {
        let is_damage = matches!(
            self,
            Check::Bom | Check::NoFinalNewline | Check::DuplicateEntry | Check::DuplicateHeader
        );
        self.level() == Level::Error || is_damage
    }

    /// How many checks there are.
    pub const COUNT: usize = Check::MissingResultFile as usize + 1;

    /// What the table says of the check.
    pub fn row(self) -> &'static Row {
        &CHECKS[self as usize]
    }

    /// The name of the check.
    pub fn id(self) -> &'static str {
        self.row().id
    }

    /// How bad a finding is.
    pub fn level(self) -> Level {
        self.row().level
    }

    /// Whether a repair mends it.
    pub fn mend(self) -> Mend {
        self.row().mend
    }

    /// The check of a name.
    pub fn named(id: &str) -> Option<Check> {
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
    /// All checks.
    pub fn all() -> Set {
        CHECKS.iter().map(|row| row.check).collect()
    }

    /// Whether a check is in the set.
    pub fn has(self, check: Check) -> bool {
        self.0 >> check as u8 & 1 == 1
    }

    /// Puts a check into the set.
    pub fn insert(&mut self, check: Check) {
        self.0 |= 1 << check as u8;
    }

    /// Takes a check out of the set.
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
            assert_eq!(Check::named(row.id), Some(row.check));
            assert!(row.what.ends_with('.') && row.why.ends_with('.'), "{}", row.id);
            assert!(row.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{}", row.id);
            assert!(!row.why.contains("  "), "{}", row.id);
        }
    }
}
