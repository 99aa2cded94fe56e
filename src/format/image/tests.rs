//! Tests of the size of an image.

use super::*;

#[test]
#[rustfmt::skip] // a table
fn the_first_bytes_tell_the_size() {
    let check = |base64: &str, size: Option<(u32, u32)>| assert_eq!(pixels(base64.as_bytes()), size, "{base64}");
    check("iVBORw0KGgoAAAANSUhEUgAAIygAAAABCAIAAAA=",              Some((9000, 1)));
    check("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAIygAAAABCAIAAAA=", Some((9000, 1)));
    check("R0lGODlhKCMBAPAAAA==",                                   Some((9000, 1)));
    check("/9j/4AAQSkZJRgABAQAAAQABAAD/wAARCAABIygDASIA",           Some((9000, 1)));
    check("UklGRiQAAABXRUJQVlA4TBcAAAAvJ6MAAA==",                   Some((9000, 3)));
    check("aGVsbG8=",                                               None);
    check("",                                                       None);
    check("iVBO",                                                   None);
}

#[test]
fn a_long_line_is_looked_at_piece_by_piece() {
    let long = "A".repeat(6 << 20);
    let line = format!(
        r#"{{"x":"{}","data":1,"content":[{{"type":"image","data":"{long}"}},{{"type":"document","source":{{"x":"{}","data":"{long}"}}}},{{"type":"image","source":{{"data": "iVBORw0KGgoAAAANSUhEUgAAIygAAAABCAIAAAA="}}}}]}}"#,
        "y".repeat((1 << 20) - 10),
        "z".repeat(400),
    );
    let read = |from: u64, len: usize| Ok(line.as_bytes()[from as usize..from as usize + len].to_vec());
    let seen = look_piecewise(line.len() as u64, read).unwrap();
    assert_eq!(seen, inspect(line.as_bytes()));
    assert_eq!(seen, Seen { oversize: 2, blob: false });
}

#[test]
fn only_pictures_are_looked_at() {
    let line =
        br#"{"data":"x","content":[{"type":"image","data" : "iVBORw0KGgoAAAANSUhEUgAAIygAAAABCAIAAAA="}]}"#;
    assert_eq!(inspect(line), Seen { oversize: 1, blob: false });
    assert_eq!(inspect(br#"{"data":"blob:sha256:00"}"#), Seen { oversize: 0, blob: true });
    assert_eq!(inspect(br#"{"data":"iVBORw0KGgoAAAANSUhEUgAAACgAAAABCAIAAAA="}"#), Seen::default());
}
