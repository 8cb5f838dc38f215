//! A server's first packet as it is shown to clients, and text of the other end as it is shown to operators.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| tunnel::fuzzing::greeting(input));
