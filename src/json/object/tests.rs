//! Tests of reading and editing an object.

use super::*;

#[test]
fn a_list_is_split_in_the_pass_over_its_object() {
    let check = |text: &str, wanted: &[(&str, &str)]| {
        let (outer, items) = Members::with_list(text.as_bytes(), "parts", "state");
        let got: Vec<_> = items
            .iter()
            .map(|(part, state)| (part.text("a").into_owned(), state.text("s").into_owned()))
            .collect();
        let wanted: Vec<_> =
            wanted.iter().map(|(part, state)| (part.to_string(), state.to_string())).collect();
        assert_eq!(got, wanted, "{text}");
        // Nothing else is read otherwise.
        assert_eq!(format!("{outer:?}"), format!("{:?}", Members::new(text.as_bytes())), "{text}");
    };
    check(
        r#"{"x":1, "parts" : [ {"a":"1","state":{"s":"z]"}} , {"a":"2"} ] ,"y":{"parts":[{"a":"9"}]}}"#,
        &[("1", "z]"), ("2", "")],
    );
    check(r#"{"parts":[]}"#, &[]);
    check(r#"{"parts":[{"a":"1"}],"parts":[{"a":"2"}]}"#, &[("2", "")]);
    check(r#"{"parts":{"a":"1"},"z":2}"#, &[]);
    check(r#"{"parts":"[{","z":2}"#, &[]);
    check(r#"{"parts":[{"a":"1"},null,{"a":"3"}],"z":2}"#, &[("1", ""), ("", ""), ("3", "")]);
    check("[]", &[]);
}

#[test]
    #[rustfmt::skip] // a table
    fn members_and_items_are_cut_where_they_stand() {
        let members = |text: &str, wanted: &[(&str, &str)]| {
            let got: Vec<_> = each_member(text.as_bytes())
                .map(|(key, value)| (key.into_owned(), String::from_utf8(value.to_vec()).unwrap()))
                .collect();
            let wanted: Vec<_> = wanted.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            assert_eq!(got, wanted, "{text}");
        };
        members(r#" { "a" : 1.0 , "b":{"x":[1,{"y":"}\"]"}]} ,"\u0063":null}"#,
            &[("a", "1.0"), ("b", r#"{"x":[1,{"y":"}\"]"}]}"#), ("c", "null")]);
        members("{}", &[]);
        members("[1]", &[]);
        members("", &[]);
        members(r#"{"a":1,"b":"#, &[("a", "1")]);
        members(r#"{"a":1,,"b":2}"#, &[("a", "1")]);
        members(r#"{"a":"\"#, &[]);
        // The end of a string is found wherever it is.
        for len in 0..80 {
            for tail in ["", "\\\"", "\\\\", "\\\\\\\"x"] {
                let value = format!("\"{}{tail}\"", "x".repeat(len));
                members(&format!("{{\"a\":{value},\"b\":{value}}}"), &[("a", &value), ("b", &value)]);
            }
            members(&format!("{{\"a\":\"{}", "x".repeat(len)), &[]);
        }
        let items = |text: &str| -> Vec<String> {
            each_item(text.as_bytes()).map(|item| String::from_utf8(item.to_vec()).unwrap()).collect()
        };
        assert_eq!(items(r#"[1, "a,b" ,[2,3],{"c":[]} ]"#), ["1", r#""a,b""#, "[2,3]", r#"{"c":[]}"#]);
        assert!(items("[]").is_empty());
        assert!(items("{}").is_empty());
        assert_eq!(items("[1,\"2"), ["1"]);
        assert_eq!(items("[}"), [""; 0]);
    }

#[test]
fn the_last_of_repeated_keys_counts() {
    let object = br#"{"a":"x","b":[1],"\u0061":"y\n","c":1}"#;
    let members = Members::new(object);
    for key in ["a", "b", "c", "d"] {
        assert_eq!(member(object, key), members.get(key), "{key}");
        assert_eq!(text(object, key), members.text(key), "{key}");
        assert_eq!(string_of(object, key).as_deref(), members.string(key).as_deref(), "{key}");
    }
    assert_eq!(text(object, "a"), "y\n");
    assert_eq!(text(object, "b"), "");
    assert_eq!(place_in(object, member(object, "b").unwrap()), 13..16);
    assert_eq!(member(br#"{"a":1,"a""#, "a"), Some(&b"1"[..]));
}

#[test]
    #[rustfmt::skip] // a table
    fn a_value_is_found_by_its_path() {
        let line = br#" { "a" : 1.0 , "m":{"role":"user","x":[1,{"y":2}]}, "a":1E2, "\u0062":"\ud83d" } "#;
        let text = |path: &[&str]| member_at(line, path).map(|bytes| std::str::from_utf8(bytes).unwrap());
        assert_eq!(text(&["m", "role"]), Some("\"user\""));
        assert_eq!(text(&["m", "x"]),    Some(r#"[1,{"y":2}]"#));
        assert_eq!(text(&["a"]),         Some("1E2"));
        assert_eq!(text(&["b"]),         Some(r#""\ud83d""#));
        assert_eq!(text(&["c"]),         None);
        assert_eq!(text(&["a", "b"]),    None);
    }

#[test]
    #[rustfmt::skip] // a table
    fn a_cut_object_has_no_members_of_a_whole() {
        let check = |object: &str, of_any: Option<&str>, of_whole: Option<&str>| {
            let text = |value: Option<&[u8]>| value.map(|value| String::from_utf8(value.to_vec()).unwrap());
            assert_eq!(text(member(object.as_bytes(), "a")).as_deref(), of_any, "{object}");
            assert_eq!(text(member_of_whole(object.as_bytes(), "a")).as_deref(), of_whole, "{object}");
        };
        check(r#"{"a":1,"b":2}"#,     Some("1"), Some("1"));
        check(r#"{"a":1,"b":2} x"#,   Some("1"), Some("1"));
        check(r#"{"a":1,"b":"x"#,     Some("1"), None);
        check(r#"{"a":1,"b""#,        Some("1"), None);
        check(r#"{"a":1,"b" 2}"#,     Some("1"), None);
        check(r#"{"a":1 "b":2"#,      Some("1"), None);
        check(r#"{"b":2}"#,           None,      None);
        check(r#"["a"]"#,             None,      None);
        check("",                     None,      None);
    }

/// Each text is split in one pass, and object by object.
#[test]
fn nested_objects_are_split_as_one_by_one() {
    let texts = [
        r#"{"a":1,"m":{"x":"\\\"","y":[1]},"z":2}"#,
        r#"{"m":{"x":1},"m":{"x":2}}"#,
        r#"{"m":{"x":1},"m":[2]}"#,
        r#"{"m":{"x":1},"m":{"x":2"#,
        r#"{"m":{"x":1,,"y":2},"z":3}"#,
        r#"{"m": { } ,"z":3}"#,
        r#"{"m":"{\"x\":1}"}"#,
        r#"{"m":{"x":1}"#,
        r#"{"\u006d":{"x":1}}"#,
        "[{}]",
        "",
    ];
    for text in texts {
        let (outer, inner) = Members::with_nested(text.as_bytes(), "m");
        let alone = Members::new(text.as_bytes());
        assert_eq!(outer.0, alone.0, "{text}");
        assert_eq!(inner.0, Members::new(alone.get("m").unwrap_or_default()).0, "{text}");
        let list = format!("[{text},{text}, 1,[{text}]]");
        let items: Vec<_> = each_object(list.as_bytes()).map(|item| item.0).collect();
        let alone: Vec<_> = each_item(list.as_bytes()).map(|item| Members::new(item).0).collect();
        assert_eq!(items, alone, "{list}");
    }
}

#[test]
fn a_quote_is_escaped_by_an_odd_number_of_backslashes() {
    for backslashes in 0..9 {
        let text = format!(r#""a{}"b" "#, "\\".repeat(backslashes));
        let end = if backslashes % 2 == 0 { text.len() - 3 } else { text.len() - 1 };
        assert_eq!(end_of_string(text.as_bytes(), 0), Some(end), "{text}");
    }
    assert_eq!(end_of_string(br#"\""#, 1), None);
    assert_eq!(end_of_string(br#"\"""#, 1), Some(3));
    assert_eq!(end_of_string(b"\"", 0), None);
    assert_eq!(end_of_string(b"\"", 1), None);
}

#[test]
fn depth_is_no_recursion() {
    let deep = [vec![b'['; 1_000_000], vec![b']'; 1_000_000]].concat();
    assert_eq!(each_item(&deep).count(), 1);
}
