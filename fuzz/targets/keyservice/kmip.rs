//! Any bytes as the answer of a KMIP service.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| keyservice::fuzzing::kmip(bytes));
