//! The positional arguments of a command: which one names the session, and which are revisions.

use super::options::Global;
use super::session_arg;
use crate::cmd::Failure;
use crate::format::Previous;
use crate::model::Key;
use crate::ops::revision;
use crate::store::{self, Opened, locate};
use crate::ui::{Ui, text};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What a command does with the session that its words name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// It reads, so that it may take any session that its first word names.
    Reads,
    /// It writes: the first word names a session only if it looks like a file, and `-` is a revision.
    Writes,
    /// It writes, and its first word is a new name, not a revision.
    WritesName,
    /// It writes what it copies, perhaps from another session: `REV@SESSION`.
    Copies,
}

/// The words of a command, taken apart.
pub(crate) struct Words {
    /// The session that they name.
    pub(crate) session: Option<String>,
    /// The other words.
    pub(crate) revisions: Vec<String>,
}

impl Words {
    /// The session that the words name.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

/// A session that was opened to see whether it has a revision; the command takes it from here, so that it is not read twice.
#[derive(Clone, Default)]
pub(crate) struct AlreadyOpened(Arc<Mutex<Option<(PathBuf, Opened)>>>);

impl AlreadyOpened {
    fn put(&self, path: PathBuf, opened: Opened) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((path, opened));
    }

    /// Takes the session in a file, if it was opened.
    pub(crate) fn take(&self, path: &Path) -> Option<Opened> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, opened) = kept.take_if(|(kept, _)| kept == path)?;
        Some(opened)
    }
}

impl fmt::Debug for AlreadyOpened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AlreadyOpened")
    }
}

/// Takes the words of a command apart.
///
/// The first names the session if it looks like a file, or if it is not a revision of the session that would be used
/// otherwise, and a session has that id or name. `REV@SESSION` names the session of all revisions.
pub(crate) fn split(global: &Global, words: &[String], usage: Use) -> anyhow::Result<Words> {
    let none = |words: &[String]| Words { session: None, revisions: words.to_vec() };
    let Some(first) = words.first() else { return Ok(none(words)) };
    let writes = usage != Use::Reads;
    let is_file = |word: &str| session_arg::looks_like_a_file(word) && !(writes && word == "-");
    if global.session.is_none() && is_file(first) {
        if let Some(second) = words[1..].iter().find(|word| word.ends_with(".jsonl") && is_file(word)) {
            let what = format!("`{}` and `{}`: expected one session", first, second);
            let hint = "`bough diff --from A --to B` compares two sessions".into();
            return Err(Failure::Usage { what, hint }.into());
        }
        return Ok(Words { session: Some(first.clone()), revisions: words[1..].to_vec() });
    }
    if let Some(file) = words[1..].iter().find(|word| word.ends_with(".jsonl") && Path::new(word).exists()) {
        let what = format!("`{file}`: the session comes first");
        return Err(Failure::Usage { what, hint: moved_first(file) }.into());
    }
    // A new name may have any sign in it.
    let (names, others) = words.split_at(usize::from(usage == Use::WritesName));
    if let Some(mut found) = at_sessions(global, others)? {
        found.revisions.splice(0..0, names.iter().cloned());
        return Ok(found);
    }
    if global.session.is_some() {
        return Ok(none(words));
    }
    if usage == Use::WritesName {
        return match is_id_of_session(global, first) {
            true => Err(session_needs_option(first, words, "NAME").into()),
            false => Ok(none(words)),
        };
    }
    if !may_be_session(first) {
        return Ok(none(words));
    }
    let default = session_arg::default_session(global);
    if let Ok((path, _)) = &default {
        let opened = session_arg::by_path(global, path)?;
        let found = revision::set(&opened.session, &opened.files, std::slice::from_ref(first));
        global.opened.put(path.clone(), opened);
        if !matches!(found, Err(crate::ops::Error::NoRevision { .. })) {
            return Ok(none(words));
        }
    }
    if first == "latest" {
        if writes {
            return Err(session_needs_option(first, words, "REV").into());
        }
        let path = session_arg::latest(global)?;
        return Ok(Words { session: Some(path.display().to_string()), revisions: words[1..].to_vec() });
    }
    match session_arg::named_by_first_word(global, first) {
        Ok(_) if usage == Use::Copies => Err(copies_from(first).into()),
        Ok(_) if writes => Err(session_needs_option(first, words, "REV").into()),
        Ok(path) => Ok(Words { session: Some(path.display().to_string()), revisions: words[1..].to_vec() }),
        Err(error @ store::Error::SeveralSessions { .. }) => Err(error.into()),
        Err(_) if let Some(path) = session_arg::archived(first)? => match writes {
            true => Err(session_needs_option(first, words, "REV").into()),
            false => Ok(Words { session: Some(path.display().to_string()), revisions: words[1..].to_vec() }),
        },
        Err(_) => neither(first, words, writes, default.ok().map(|(path, _)| path)),
    }
}

/// Says of a first word that it names neither an entry of the session that would be used, nor another
/// session; returns the words if they may be something else to the command.
fn neither(first: &str, words: &[String], writes: bool, default: Option<PathBuf>) -> anyhow::Result<Words> {
    match default {
        _ if Path::new(first).exists() => {
            let what = format!("`{first}` is neither an entry nor a session");
            let name = text::shell_word(&format!("./{first}"));
            let name = format!("`{name}`");
            Err(Failure::NotFound { what, hint: format!("{name} names the file or folder") }.into())
        }
        Some(path) if !writes => {
            let session: String = locate::session_id(&path).chars().take(8).collect();
            let what = format!("`{first}` is neither an entry of session {session} nor another session");
            let hint = "`bough log --all` lists the entries, and `bough sessions` the sessions; see `bough help \
                            revisions` for how to name an entry";
            Err(Failure::NotFound { what, hint: hint.into() }.into())
        }
        Some(_) => Ok(Words { session: None, revisions: words.to_vec() }),
        None => {
            let what =
                format!("no session is named `{first}`, and no agent has a session for the current folder");
            let file = format!("{first}.jsonl");
            let hint = match Path::new(&file).is_file() {
                true => format!("`{}` is a file of this folder", text::shell_word(&file)),
                false => "`bough sessions --all` lists the sessions of this machine; any other is named by its file"
                    .into(),
            };
            Err(Failure::NotFound { what, hint }.into())
        }
    }
}

/// The words of a command with `--rewind`, the session first: `--rewind turn:2 s.jsonl` is what many type, as if the option took the
/// revision.
pub(crate) fn session_first(words: &[String]) -> Cow<'_, [String]> {
    match words {
        [revision, session]
            if !session_arg::looks_like_a_file(revision)
                && session.ends_with(".jsonl")
                && Path::new(session).exists() =>
        {
            vec![session.clone(), revision.clone()].into()
        }
        _ => words.into(),
    }
}

/// The words of a command whose first word names the session only if it looks like a file.
pub(crate) fn file_first<'w>(global: &Global, words: &'w [String]) -> (Option<&'w str>, &'w [String]) {
    match words.split_first() {
        Some((first, rest)) if global.session.is_none() && session_arg::looks_like_a_file(first) => {
            (Some(first), rest)
        }
        _ => (None, words),
    }
}

/// The words of a command that takes revisions of another session: the session that is worked on, the other, the revisions.
pub(crate) fn split_other(
    global: &Global,
    words: &[String],
    other: Option<&str>,
) -> anyhow::Result<(Option<String>, Option<String>, Vec<String>)> {
    let (file, rest) = match words.first() {
        Some(first) if first == "-" => (None, words),
        _ => file_first(global, words),
    };
    let without = Global { session: other.map(str::to_owned), ..global.clone() };
    if let Some(found) = at_sessions(&without, rest)? {
        return Ok((file.map(str::to_owned), found.session, found.revisions));
    }
    if other.is_some() {
        return Ok((file.map(str::to_owned), other.map(str::to_owned), rest.to_vec()));
    }
    let words = split(global, words, Use::Copies)?;
    Ok((words.session, None, words.revisions))
}

/// The sessions and the revisions of `A@SESSION B@SESSION`; a revision without a session is in the one that is used otherwise.
///
/// `None` if neither names a session.
pub(crate) fn two_sessions(
    global: &Global,
    words: &[String],
) -> anyhow::Result<Option<[(PathBuf, String); 2]>> {
    let [a, b] = words else { return Ok(None) };
    let cut = |word| cut_session(word).filter(|_| !is_label(global, word));
    if cut(a).is_none() && cut(b).is_none() {
        return Ok(None);
    }
    let side = |word| -> anyhow::Result<(PathBuf, String)> {
        let path = match (cut(word), &global.session) {
            (Some((_, session)), _) => session_arg::by_word(global, session)?,
            (None, Some(session)) => session_arg::by_word(global, session)?,
            (None, None) => session_arg::default_session(global)?.0,
        };
        Ok((path, cut(word).map_or(word, |(revision, _)| revision).to_owned()))
    };
    Ok(Some([side(a)?, side(b)?]))
}

/// The session, and the revision without it, of an option whose value may be `REV@SESSION`.
pub(crate) fn of_option(
    global: &Global,
    session: Option<&str>,
    revision: &str,
) -> anyhow::Result<(Option<String>, String)> {
    let given = session.map(str::to_owned).or(global.session.clone());
    let among = Global { session: given, ..global.clone() };
    Ok(match at_sessions(&among, &[revision.to_owned()])? {
        Some(mut words) => (words.session, words.revisions.swap_remove(0)),
        None => (session.map(str::to_owned), revision.to_owned()),
    })
}

/// Whether a word could be an id or a name of a session, and not only a revision.
fn may_be_session(word: &str) -> bool {
    !word.is_empty() && revision::taken(word).is_none()
}

/// Whether a word is the beginning of the id of a session: eight characters or more.
pub(crate) fn is_id_of_session(global: &Global, word: &str) -> bool {
    let is_id = word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_id
        && locate::stores(&global.roots)
            .iter()
            .flat_map(locate::sessions)
            .any(|found| locate::id_in_name(&found.path).starts_with(word))
}

/// Cuts `REV@SESSION`; `None` if a word is not of that form.
pub(crate) fn cut_session(word: &str) -> Option<(&str, &str)> {
    let (revision, session) = word.rsplit_once('@')?;
    let is_name = |first: char| first.is_alphanumeric() || matches!(first, '.' | '/' | '_');
    let is_session = session.starts_with(is_name) && !has_operator(session);
    (!revision.is_empty() && !revision.starts_with(":/") && is_session).then_some((revision, session))
}

/// Whether `..` or `::` is in a word, other than as the folder above in a path: `../other/s.jsonl`.
fn has_operator(word: &str) -> bool {
    let is_folder = |at: usize| (at == 0 || word[..at].ends_with('/')) && word[at + 2..].starts_with('/');
    word.contains("::") || word.match_indices("..").any(|(at, _)| !is_folder(at))
}

/// Cuts `REV@SESSION`, or a range of which both ends name one session.
fn cut_range(word: &str) -> Option<(Cow<'_, str>, &str)> {
    for sign in ["...", ".."] {
        for (at, _) in word.match_indices(sign) {
            if let (Some((from, session)), Some((to, other))) =
                (cut_session(&word[..at]), cut_session(&word[at + sign.len()..]))
                && session == other
            {
                return Some((Cow::Owned(format!("{from}{sign}{to}")), session));
            }
        }
    }
    let (revision, session) = cut_session(word)?;
    Some((Cow::Borrowed(revision), session))
}

/// The words without the session that `REV@SESSION` among them names; `None` if there is no such word.
fn at_sessions(global: &Global, words: &[String]) -> anyhow::Result<Option<Words>> {
    let mut session: Option<(PathBuf, &str)> = None;
    let mut revisions = Vec::new();
    for word in words {
        let Some((revision, name)) = cut_range(word).filter(|_| !is_label(global, word)) else {
            revisions.push(word.clone());
            continue;
        };
        let path = session_arg::by_word(global, name)?;
        if let Some((other, first)) = &session
            && *other != path
        {
            let what = format!("`{first}` and `{name}` are two sessions; expected one");
            let hint = "`bough diff A@SESSION B@SESSION` compares two".into();
            return Err(Failure::Usage { what, hint }.into());
        }
        session.get_or_insert((path, name));
        revisions.push(revision.into_owned());
    }
    let Some((path, name)) = session else { return Ok(None) };
    refuse_second_session(global, words, &path, name)?;
    Ok(Some(Words { session: Some(path.display().to_string()), revisions }))
}

/// Refuses words without `@SESSION` beside words with it, and an option that names another session.
fn refuse_second_session(global: &Global, words: &[String], path: &Path, name: &str) -> anyhow::Result<()> {
    if let Some(word) = words.iter().find(|word| cut_range(word).is_none()) {
        let what = format!("`{word}` is not in the session of `{name}`");
        let hint = format!("`{}` is", text::one_line(&format!("{word}@{name}")));
        return Err(Failure::Usage { what, hint }.into());
    }
    if let Some(given) = &global.session
        && session_arg::by_word(global, given)? != path
    {
        let what = format!("`-s {given}` and `@{name}` are two sessions");
        return Err(Failure::Usage { what, hint: String::new() }.into());
    }
    Ok(())
}

/// Whether a whole word is a label of the session that a command uses without `@SESSION`.
fn is_label(global: &Global, word: &str) -> bool {
    let path = match &global.session {
        Some(session) => session_arg::by_word(global, session),
        None => session_arg::default_session(global).map(|(path, _)| path),
    };
    let opened = path.ok().and_then(|path| store::open(&path, global.options()).ok());
    opened.is_some_and(|opened| opened.session.labels.entries(word).next().is_some())
}

/// The error of a command that writes, and whose first word is a session.
fn session_needs_option(word: &str, words: &[String], missing: &str) -> Failure {
    let rest = match words {
        [_] => retyped(word, &["-s", word, missing]),
        _ => retyped(word, &["-s", word]),
    };
    let what = format!("`{word}` is a session and not an entry; a command that writes takes it with `-s`");
    Failure::Usage { what, hint: format!("`{rest}`") }
}

/// The error of a command that copies entries, and whose first word is a session.
fn copies_from(word: &str) -> Failure {
    let what = format!("`{word}` is a session and not an entry");
    let from = retyped(word, &[&format!("REV@{word}")]);
    let hint = format!("`{from}` copies an entry of it; `-s {}` copies into it", text::shell_word(word));
    Failure::Usage { what, hint }
}

/// The hint for a session that is not the first word.
fn moved_first(file: &str) -> String {
    let mut words: Vec<String> = std::env::args().skip(1).filter(|word| word != file).collect();
    words.insert(words.len().min(1), file.to_owned());
    let words: Vec<String> = words.iter().map(|word| text::shell_word(word)).collect();
    format!("`bough {}`", words.join(" "))
}

/// The command line that was typed, with other words in the place of the first that is `word`.
fn retyped(word: &str, others: &[&str]) -> String {
    let mut out = vec!["bough".to_owned()];
    let mut is_done = false;
    for typed in std::env::args().skip(1) {
        if typed == word && !is_done {
            is_done = true;
            out.extend(others.iter().map(|word| text::shell_word(word)));
        } else {
            out.push(text::shell_word(&typed));
        }
    }
    out.join(" ")
}

/// Looks up where a session stood before its last switch, if a revision asks for it.
pub(crate) fn look_back(global: &Global, opened: &mut Opened) {
    if !global.asks_back {
        return;
    }
    opened.session.previous = match super::after_move::position_before(opened) {
        Ok(before) => before.flatten().map_or(Previous::Unknown, |id| Previous::At(Key::hash(id.as_bytes()))),
        // Few commands ask for it: only to those it is an error.
        Err(error) => Previous::Unread(error.to_string()),
    };
}

/// Says which session is used, if none is named.
pub(crate) fn note_session(path: &Path, ui: &mut Ui) {
    if !ui.look.quiet && Ui::talks_to_a_person() {
        ui.note(format_args!("session: {}", text::one_line(&path.display().to_string())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn a_revision_may_name_its_session() {
        let check = |word: &str, wanted: &str| {
            let got = cut_session(word).map_or("-".to_owned(), |(revision, session)| format!("{revision} {session}"));
            assert_eq!(got, wanted, "{word}");
        };
        check("turn:3@e21b37ca",      "turn:3 e21b37ca");
        check("HEAD~2@Fix login",     "HEAD~2 Fix login");
        check("a..b@e21b37ca",        "a..b e21b37ca");
        check("@~2@e21b37ca",         "@~2 e21b37ca");
        check("9d1c@./s.jsonl",       "9d1c ./s.jsonl");
        check("@{-1}@e21b37ca",       "@{-1} e21b37ca");
        check("a@b@e21b37ca",         "a@b e21b37ca");
        check("HEAD",                 "-");
        check("@",                    "-");
        check("@~2",                  "-");
        check("@{-1}",                "-");
        check("HEAD@{1}",             "-");
        check("HEAD@",                "-");
        check("9d1c@../s.jsonl",      "9d1c ../s.jsonl");
        check("a..b@../../a/s.jsonl", "a..b ../../a/s.jsonl");
        check("9d1c@/a/../s.jsonl",   "9d1c /a/../s.jsonl");
        check("a@s..b",               "-");
        check("a@s../b",              "-");
        check("a@..b",                "-");
        check("a@..",                 "-");
        check("a@.../b",              "-");
        check("@..generator",         "-");
        check(":/mail me@home",       "-");
    }

    #[test]
    #[rustfmt::skip] // a table
    fn a_range_may_name_one_session_at_both_ends() {
        let check = |word: &str, wanted: &str| {
            let got = cut_range(word).map_or("-".to_owned(), |(revision, session)| format!("{revision} {session}"));
            assert_eq!(got, wanted, "{word}");
        };
        check("a@s1..b@s1",                 "a..b s1");
        check("a@s1...b@s1",                "a...b s1");
        check("a..b@s1",                    "a..b s1");
        check("a@s1..b@s2",                 "a@s1..b s2");
        check("a@../s.jsonl..b@../s.jsonl", "a..b ../s.jsonl");
        check("a@../s.jsonl...b@../s.jsonl","a...b ../s.jsonl");
        check("a..b@../s.jsonl",            "a..b ../s.jsonl");
        check("HEAD@../s.jsonl",            "HEAD ../s.jsonl");
        check("a..b",                       "-");
    }
}
