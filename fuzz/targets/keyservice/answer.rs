//! Any bytes as the answer of a key service.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| keyservice::fuzzing::answer(bytes));
