//! Any bytes as the answer of a bucket.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| store::s3::fuzzing::answer(bytes));
