//! How each shell asks, and how it is answered.
//!
//! The scripts are bough's own for shells in which they can do more than a generic script: words
//! are split and quoted as in the shell, bash shows what an entry is, and completion works at `:`,
//! `=` and `@`, at which these shells split words.

use super::line;
use crate::ui::text;
use clap::Command;
use clap_complete::engine::{self, CompletionCandidate};
use clap_complete::env::{Elvish, EnvCompleter, Powershell, Shells};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// The supported shells.
pub(super) const ALL: Shells<'static> = Shells(&[&Bash, &Zsh, &Fish, &OfElvish, &OfPowershell]);

/// Returns the candidates for the last word.
fn offers(
    command: &mut Command,
    words: Vec<OsString>,
    folder: Option<&Path>,
) -> io::Result<Vec<CompletionCandidate>> {
    let words = line::read(command, words);
    let bare = words.last().is_some_and(|word| word.is_empty());
    let at = words.len() - 1;
    let mut out = engine::complete(command, words, at, folder)?;
    let is_option = |offer: &CompletionCandidate| offer.get_value().as_encoded_bytes().starts_with(b"-");
    // All options of a command are too many to look through, if there are other candidates.
    if bare && !out.iter().all(is_option) {
        out.retain(|offer| !is_option(offer));
    }
    // A label or a file may have any name. A name that is unsafe for a terminal, or would take two
    // rows, is not offered.
    out.retain(|offer| offer.get_value().to_str().is_some_and(text::is_safe));
    let mut seen = std::collections::HashSet::new();
    out.retain(|offer| seen.insert(offer.get_value().to_owned()));
    Ok(out)
}

/// Returns the value of a candidate, and its description.
fn parts(offer: &CompletionCandidate) -> (String, String) {
    let help = offer.get_help().map(|help| text::one_line(&help.to_string())).unwrap_or_default();
    (offer.get_value().to_string_lossy().into_owned(), help)
}

/// Returns whether a value is only the beginning of a word.
fn is_unfinished(value: &str) -> bool {
    value.ends_with(['/', '=']) || value.ends_with("..") || value.ends_with("::")
}

/// Writes values as a list, with their help in parentheses as far as there is room.
fn write_with_help(rows: &[(String, String)], room: usize, buf: &mut dyn Write) -> io::Result<()> {
    let width = rows.iter().map(|(value, _)| value.chars().count()).filter(|width| *width <= 32).max();
    for (value, help) in rows {
        let value = format!("{value:<width$}", width = width.unwrap_or_default());
        let help = text::fit(help, room.saturating_sub(value.chars().count() + 4));
        writeln!(buf, "{}", if help.is_empty() { value } else { format!("{value} ({help})") })?;
    }
    Ok(())
}

struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        var: &str,
        _name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        // Bash 3.2, as in macOS, supports neither `mapfile` nor `compopt`.
        let script = r#"_bough_complete() {
    COMPREPLY=()
    local offer
    while IFS= read -r offer; do
        COMPREPLY+=("$offer")
    done < <(VAR=bash COMPLETER -- "${COMP_LINE:0:COMP_POINT}" "${COMP_TYPE:-9}" "$COMP_WORDBREAKS" "${COLUMNS:-80}" 2>/dev/null)
}
if [[ ${BASH_VERSINFO[0]} -gt 4 || ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 ]]; then
    complete -o nospace -o nosort -F _bough_complete BIN
else
    complete -o nospace -F _bough_complete BIN
fi"#;
        writeln!(buf, "{}", filled_in(script, var, bin, completer))
    }

    fn write_complete(
        &self,
        command: &mut Command,
        args: Vec<OsString>,
        folder: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let arg = |at: usize| args.get(at).map(|arg| arg.to_string_lossy()).unwrap_or_default();
        let typed = split(&arg(0), &arg(2));
        // Menus insert what they show, so there must be no description.
        let listed = matches!(&*arg(1), "9" | "63" | "33" | "64");
        let room: usize = arg(3).parse().unwrap_or(80);
        let offers = offers(command, typed.words.iter().map(OsString::from).collect(), folder)?;
        let rows: Vec<(String, String)> = offers
            .iter()
            .filter_map(|offer| {
                let (value, help) = parts(offer);
                // Bash replaces only the part after the last of its word breaks.
                let rest = value.strip_prefix(&typed.kept)?.to_owned();
                let rest = quoted(&rest, typed.quote, typed.kept.is_empty());
                let end = if is_unfinished(&value) || typed.quote.is_some() { "" } else { " " };
                Some((format!("{rest}{end}"), help))
            })
            .collect();
        if rows.len() == 1 || !listed || rows.iter().all(|(_, help)| help.is_empty()) {
            return rows.iter().try_for_each(|(value, _)| writeln!(buf, "{value}"));
        }
        write_with_help(&rows, room, buf)
    }
}

/// What bash passes of a half-typed line.
#[derive(PartialEq, Eq, Debug)]
struct Split {
    /// The words, with quotes resolved; the last one is completed.
    words: Vec<String>,
    /// The quote that is open at the end.
    quote: Option<char>,
    /// The part of the last word that bash keeps: up to the last of its word breaks.
    kept: String,
}

/// Splits a line into words as a shell does; `breaks` are the characters at which bash starts a new
/// word.
fn split(line: &str, breaks: &str) -> Split {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut kept = 0;
    let mut inside = false;
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        let mut word = words.last_mut().expect("there is always a last word");
        match (sign, quote) {
            (_, Some(open)) if sign == open => quote = None,
            ('\\', None) => word.extend(signs.next()),
            ('\\', Some('"')) if signs.peek().is_some_and(|next| "\"\\$`".contains(*next)) => {
                word.extend(signs.next());
            }
            ('\'' | '"', None) => {
                quote = Some(sign);
                kept = word.len();
            }
            (' ' | '\t' | '\n', None) => {
                if inside {
                    words.push(String::new());
                    word = words.last_mut().expect("there is always a last word");
                }
                kept = word.len();
                inside = false;
                continue;
            }
            (_, None) => {
                word.push(sign);
                if breaks.contains(sign) {
                    // A word that begins with `@` could be a host, and includes the character.
                    kept = word.len() - if sign == '@' { 1 } else { 0 };
                }
            }
            (_, Some(_)) => word.push(sign),
        }
        inside = true;
    }
    if quote.is_none() && words.last().is_some_and(|word| word.len() == kept) && !inside {
        kept = 0;
    }
    let last = words.last().expect("there is always a last word");
    let kept = last[..kept].to_owned();
    Split { words, quote, kept }
}

/// Returns a value as it must be typed after an open quote, or without one.
fn quoted(value: &str, quote: Option<char>, first: bool) -> String {
    let special = match quote {
        Some('"') => "\"\\$`",
        Some(_) => "",
        None => " \t\"'\\$`|&;()<>*?[]{}!",
    };
    let mut out = String::new();
    for (at, sign) in value.char_indices() {
        let begins =
            quote.is_none() && first && at == 0 && (sign == '#' || sign == '~' && !value.starts_with("~/"));
        if special.contains(sign) || begins {
            out.push('\\');
        }
        out.push(sign);
    }
    out
}

struct Zsh;

impl EnvCompleter for Zsh {
    fn name(&self) -> &'static str {
        "zsh"
    }

    fn is(&self, name: &str) -> bool {
        name == "zsh"
    }

    fn write_registration(
        &self,
        var: &str,
        _name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let script = r#"#compdef BIN
_bough_complete() {
    local -a whole begun
    local offer
    for offer in "${(@f)$(VAR=zsh COMPLETER -- "$compstate[quote]" "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        case $offer in
            '') ;;
            +*) begun+=("${offer#?}") ;;
            *) whole+=("${offer#?}") ;;
        esac
    done
    (( $#whole )) && _describe offers whole -o nosort -Q
    (( $#begun )) && _describe offers begun -o nosort -Q -S ''
}
compdef _bough_complete BIN"#;
        writeln!(buf, "{}", filled_in(script, var, bin, completer))
    }

    /// Writes each candidate on a line: `+` or a space for whether the word continues, the value, a
    /// colon, the help.
    fn write_complete(
        &self,
        command: &mut Command,
        mut args: Vec<OsString>,
        folder: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let quote = args.remove(0).to_string_lossy().chars().next();
        for offer in offers(command, args, folder)? {
            let (value, help) = parts(&offer);
            let mark = if is_unfinished(&value) { '+' } else { ' ' };
            let value = quoted(&value, quote, true).replace('\\', "\\\\").replace(':', "\\:");
            let colon = if help.is_empty() { "" } else { ":" };
            writeln!(buf, "{mark}{value}{colon}{}", help.replace('\\', "\\\\"))?;
        }
        Ok(())
    }
}

struct Fish;

impl EnvCompleter for Fish {
    fn name(&self) -> &'static str {
        "fish"
    }

    fn is(&self, name: &str) -> bool {
        name == "fish"
    }

    fn write_registration(
        &self,
        var: &str,
        _name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let script = r#"complete --keep-order --no-files --command BIN --arguments "(VAR=fish COMPLETER -- (commandline --tokenize --current-process --cut-at-cursor) (commandline --current-token --cut-at-cursor) 2>/dev/null)""#;
        writeln!(buf, "{}", filled_in(script, var, bin, completer))
    }

    fn write_complete(
        &self,
        command: &mut Command,
        mut args: Vec<OsString>,
        folder: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        // fish resolves the quotes of all words except the last.
        if let Some(last) = args.last_mut() {
            *last = split(&last.to_string_lossy(), "").words.join(" ").into();
        }
        for offer in offers(command, args, folder)? {
            let (value, help) = parts(&offer);
            let tab = if help.is_empty() { "" } else { "\t" };
            writeln!(buf, "{value}{tab}{help}")?;
        }
        Ok(())
    }
}

/// Elvish quotes what it inserts.
struct OfElvish;

impl EnvCompleter for OfElvish {
    fn name(&self) -> &'static str {
        Elvish.name()
    }

    fn is(&self, name: &str) -> bool {
        Elvish.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        Elvish.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        args: Vec<OsString>,
        folder: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let end = std::env::var("_CLAP_IFS").unwrap_or_else(|_| "\n".into());
        let values: Vec<String> = offers(command, args, folder)?.iter().map(|offer| parts(offer).0).collect();
        write!(buf, "{}", values.join(&end))
    }
}

struct OfPowershell;

impl EnvCompleter for OfPowershell {
    fn name(&self) -> &'static str {
        Powershell.name()
    }

    fn is(&self, name: &str) -> bool {
        Powershell.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        Powershell.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        args: Vec<OsString>,
        folder: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        for offer in offers(command, args, folder)? {
            let (value, help) = parts(&offer);
            let tab = if help.is_empty() { "" } else { "\t" };
            writeln!(buf, "{}{tab}{help}", powershell_word(&value))?;
        }
        Ok(())
    }
}

/// Returns a value that PowerShell parses as one word and not as code: it inserts values unchanged.
fn powershell_word(value: &str) -> String {
    let plain = |sign: char| sign.is_alphanumeric() || "_-./:~^+=%\\".contains(sign);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    // These characters also end a word in single quotes.
    let quotes = ['\'', '\u{2018}', '\u{2019}', '\u{201A}', '\u{201B}'];
    let mut out = String::from("'");
    for sign in value.chars() {
        out.push(sign);
        if quotes.contains(&sign) {
            out.push(sign);
        }
    }
    out.push('\'');
    out
}

/// Returns a script with the placeholders in capitals filled in.
fn filled_in(script: &str, var: &str, bin: &str, completer: &str) -> String {
    let completer = shlex::try_quote(completer).unwrap_or(completer.into());
    script.replace("COMPLETER", &completer).replace("BIN", bin).replace("VAR=", &format!("{var}="))
}

#[cfg(test)]
mod tests;
