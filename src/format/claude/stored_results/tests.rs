//! Tests of the names of stored results, and of the text that an entry has of them.

use super::*;

#[test]
#[rustfmt::skip] // a table
fn a_text_says_which_file_a_result_is_in() {
    let check = |text: &str, wanted: Option<(&str, &str, &str, &str)>| {
        let found = StoredResult::in_text(text);
        assert_eq!(found.map(|it| (it.path, it.name(), it.size, it.preview)), wanted, "{text}");
    };
    let long = |path: &str| format!("<persisted-output>\nOutput too large (61.2KB). Full output saved to: {path}\n\nPreview (first 2KB):\nline 1\n\nline 2\n...\n</persisted-output>");
    check(&long("/p/s/tool-results/b1.txt"),     Some(("/p/s/tool-results/b1.txt", "b1.txt", "61.2KB", "line 1\n\nline 2")));
    check(&long("/a b/s/tool-results/b1.txt"),   Some(("/a b/s/tool-results/b1.txt", "b1.txt", "61.2KB", "line 1\n\nline 2")));
    check(&long(r"C:\p\s\tool-results\b1.txt"),  Some((r"C:\p\s\tool-results\b1.txt", "b1.txt", "61.2KB", "line 1\n\nline 2")));
    check("Error: too many characters. Output has been saved to /p/tool-results/mcp-x-1.json.\nFormat: JSON", Some(("/p/tool-results/mcp-x-1.json", "mcp-x-1.json", "", "")));
    check("report (saved to /p/tool-results/r.txt)", Some(("/p/tool-results/r.txt", "r.txt", "", "")));
    check("saved to /p/tool-results/../x.jsonl", None);     // not out of the folder
    check("saved to /p/tool-results/.env",       None);
    check("saved to /p/tool-results/a/../../b",  Some(("/p/tool-results/a", "a", "", "")));
    check("saved to /p/tool-results/",           None);
    check("saved to tool-results",               None);
    check("saved to /p/my-tool-results/x.txt",   None);
    check("ls /p/tool-results/b1.txt",           None);     // nothing was saved there
    check("saved to x\n/p/tool-results/b1.txt",  None);
    check("",                                    None);
}

#[test]
#[rustfmt::skip] // a table
fn a_result_in_a_file_is_words() {
    let check = |text: &str, wanted: Option<&str>| assert_eq!(shortened(text).as_deref(), wanted, "{text}");
    let long = |path: &str, preview: &str| format!("<persisted-output>\nOutput too large (61.2KB). Full output saved to: {path}\n{preview}</persisted-output>");
    let preview = "\nPreview (first 2KB):\n\n  line 1\nline 2\n...\n";
    check(&long("/p/s/tool-results/b1.txt", preview), Some("line 1 (61.2KB in tool-results/b1.txt)"));
    check(&long("/p/s/tool-results/b1.txt", ""),      Some("61.2KB in tool-results/b1.txt"));
    check(&long("/p/elsewhere/b1.txt", preview),      Some("line 1 (61.2KB in a file)"));
    check("<persisted-output>\n</persisted-output>",  Some("in a file"));
    check("saved to /p/tool-results/b1.txt",          None);
}

#[test]
fn a_result_whose_text_is_gone_is_found_by_its_object() {
    let check = |path: &str, wanted: &[&str]| {
        let line = format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c","content":"cleared"}}]}},"toolUseResult":{{"persistedOutputPath":"{path}"}}}}"#
        );
        assert_eq!(names(line.as_bytes()), wanted, "{path}");
    };
    check("/p/tool-results/b1.txt", &["b1.txt"]);
    check("/p/tool-results/b1.txt/x", &[]);
    check("/p/other/b1.txt", &[]);
}
