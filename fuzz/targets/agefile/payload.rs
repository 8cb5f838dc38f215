//! Chunks encrypted with the right key, with any lengths and flags: three bytes each, flags (1 the last one, 2 damaged,
//! 4 truncated) and a length. The output is checked against the format's rules.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| agefile::fuzzing::payload(input));
