//! Chunks that are sealed with the right key, in any order of lengths and marks: three bytes each, flags (1 the last one,
//! 2 damaged, 4 not whole) and a length. What comes out is held against the format's rules.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| agefile::fuzzing::payload(input));
