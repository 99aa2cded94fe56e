//! Fuzz target: checking and repairing a session.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bough_fuzz::repair(data));
