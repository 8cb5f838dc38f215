//! Any bytes as the answer of AWS KMS.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| keyservice::fuzzing::kms(bytes));
