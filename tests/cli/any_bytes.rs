//! The properties of the fuzz targets hold for the sessions of the project. So the targets compile, and can be run at any time.

use crate::support::any_bytes;
use crate::support::sessions::sessions;
use std::fs;

#[test]
fn the_properties_of_any_bytes_hold_for_the_sessions() {
    let mut tried = 0;
    for path in sessions() {
        let bytes = fs::read(path).unwrap();
        if bytes.len() > 64 << 10 {
            continue;
        }
        tried += 1;
        any_bytes::session(&bytes);
        any_bytes::repair(&bytes);
        // The first byte is the size of the pieces.
        any_bytes::lines(&[&[tried as u8][..], &bytes].concat());
    }
    assert!(tried > 400, "{tried}");
}
