//! Fuzz target: the reader, line by line.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bough_fuzz::lines(data));
