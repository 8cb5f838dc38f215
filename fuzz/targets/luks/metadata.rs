//! Any bytes as the JSON of a LUKS2 header whose checksums are right.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|json: &[u8]| fuzz::luks::judge(&fuzz::luks::header(json)));
