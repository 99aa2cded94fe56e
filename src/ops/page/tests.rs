//! The page's own files, and what a page consists of.

use super::*;
use crate::model::Table;
use crate::ops::redact::Redact;
use std::borrow::Cow;
use std::collections::HashMap;

/// Changes nothing.
struct Unredacted;

impl Redact for Unredacted {
    fn line<'l>(&mut self, line: &'l [u8]) -> Cow<'l, [u8]> {
        Cow::Borrowed(line)
    }

    fn value<'t>(&mut self, _: &str, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }
}

fn page(lines: &[String]) -> String {
    let bytes = (lines.join("\n") + "\n").into_bytes();
    let session = Session::read(&bytes).unwrap();
    let entries: Vec<Ix> = session.entries.all().collect();
    let mut out = Vec::new();
    let options = Options { title: "<b>\"&'".into(), ..Options::default() };
    let beside = Beside {
        notes: HashMap::new(),
        started: HashMap::new(),
        links: HashMap::new(),
        context: None,
        result_texts: &|_, _, _| Vec::new(),
    };
    write(&session, &Table(vec![bytes]), &entries, beside, &options, &mut Unredacted, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_fixed_part_of_a_page_is_small_and_makes_no_markup_of_texts() {
    let all = [HTML, CSS, JS[0], JS[1], JS[2]];
    let fixed = all.iter().map(|text| without_comments(text).len()).sum::<usize>();
    assert!(fixed <= 48 * 1024, "{fixed}");
    for word in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "</script",
        "http-equiv=\"refresh",
        "//cdn",
        "import(",
    ] {
        assert!(JS.iter().all(|text| !text.contains(word)), "{word}");
    }
    // Nothing is loaded: the only addresses are names of namespaces.
    for text in all {
        for (at, _) in text.match_indices("://") {
            let rest = &text[at.saturating_sub(8)..(at + 20).min(text.len())];
            assert!(rest.contains("http://www.w3.org/") || rest.contains("https?://["), "{rest}");
        }
    }
}

#[test]
fn a_page_has_the_hashes_of_its_script_and_style_and_nothing_of_a_session_outside_of_its_elements() {
    let text = "</script><img src=x onerror=alert(1)> only-here";
    let message = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":{}}}}}"#,
            serde_json::to_string(text).unwrap()
        )
    };
    let page = page(&[
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}"#.into(),
        message("aaaa", "null"),
        message("bbbb", "\"aaaa\""),
    ]);
    assert!(!page.contains("only-here") && page.contains("<title>&lt;b&gt;&quot;&amp;&#39;</title>"));
    let between =
        |from: &str, to: &str| page.rsplit_once(from).unwrap().1.split_once(to).unwrap().0.to_owned();
    assert!(page.contains(&format!("script-src 'sha256-{}'", hash(&between("<script>", "</script>")))));
    assert!(page.contains(&format!("style-src 'sha256-{}'", hash(&between("<style>", "</style>")))));
}

/// The same session makes the same page.
#[test]
fn what_is_known_beside_entries_is_in_the_order_of_the_page() {
    let of: HashMap<Ix, Vec<u32>> = (0..40).map(|at| (Ix(at), vec![at, 99])).collect();
    let numbered = |ix: Ix| (ix.index() != 7).then(|| 100 - ix.index());
    let map = index::numbered_map(&of, &numbered, &mut |item| (*item != 99).then(|| (*item).into()));
    let keys: Vec<String> = map.keys().cloned().collect();
    let wanted: Vec<String> =
        (61..=100).filter(|number| *number != 93).map(|number| number.to_string()).collect();
    assert_eq!((keys, &map["61"]), (wanted, &serde_json::json!([39])));
}
