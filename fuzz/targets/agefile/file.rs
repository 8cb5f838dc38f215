//! Any bytes as an age file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| agefile::fuzzing::file(bytes));
