//! Tests of splitting and quoting words.

use super::*;

#[test]
    #[rustfmt::skip] // a table
    fn a_line_is_taken_apart_as_bash_does_it() {
        let check = |line: &str, words: &[&str], quote: Option<char>, kept: &str| {
            let wanted = Split { words: words.iter().map(|word| (*word).to_owned()).collect(), quote, kept: kept.to_owned() };
            assert_eq!(split(line, " \t\n\"'@><=;|&(:"), wanted, "{line}");
        };
        //     the line                  its words                        open quote  what bash keeps of the last
        check("bough lo",                &["bough", "lo"],                None,       "");
        check("bough log ",              &["bough", "log", ""],           None,       "");
        check("bough  log  a",           &["bough", "log", "a"],          None,       "");
        check(r"bough log a\ b",         &["bough", "log", "a b"],        None,       "");
        check("bough log 'a b' c",       &["bough", "log", "a b", "c"],   None,       "");
        check("bough log 'a b",          &["bough", "log", "a b"],        Some('\''), "");
        check(r#"bough log "a \" b"#,    &["bough", "log", "a \" b"],     Some('"'),  "");
        check("bough log label:ke",      &["bough", "log", "label:ke"],   None,       "label:");
        check("bough log @..ab",         &["bough", "log", "@..ab"],      None,       "");
        check("bough log HEAD@..ab",     &["bough", "log", "HEAD@..ab"],  None,       "HEAD");
        check("bough --session=a",       &["bough", "--session=a"],       None,       "--session=");
        check(r"bough log a\:b",         &["bough", "log", "a:b"],        None,       "");
        check("bough log --kind=",       &["bough", "log", "--kind="],    None,       "--kind=");
        check("bough log ''",            &["bough", "log", ""],           None,       "");
        check("",                        &[""],                           None,       "");
    }

#[test]
    #[rustfmt::skip] // a table
    fn values_are_quoted_for_the_place_where_they_stand() {
        let check = |value: &str, quote: Option<char>, wanted: &str| assert_eq!(quoted(value, quote, true), wanted);
        check("keep this", None,       r"keep\ this");
        check("keep this", Some('"'),  "keep this");
        check("a$b",       Some('"'),  r"a\$b");
        check("a$b",       Some('\''), "a$b");
        check("~/a",       None,       "~/a");
        check("~a",        None,       r"\~a");
        check("#1",        None,       r"\#1");
        check("HEAD~1",    None,       "HEAD~1");
        check("it's",      None,       r"it\'s");
        check("{a,b}",     None,       r"\{a,b\}");
    }

#[test]
fn powershell_gets_one_word_and_no_code() {
    let check = |value: &str, wanted: &str| assert_eq!(powershell_word(value), wanted);
    check("--all", "--all");
    check("HEAD~1", "HEAD~1");
    check("keep this", "'keep this'");
    check("a;Remove-Item b", "'a;Remove-Item b'");
    check("$(a)", "'$(a)'");
    check("it's", "'it''s'");
    check("a\u{2019}b", "'a\u{2019}\u{2019}b'");
}
