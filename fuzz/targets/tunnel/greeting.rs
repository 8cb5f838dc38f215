//! A server's first packet as shown to clients, and text of the other end as shown to operators.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| tunnel::fuzzing::greeting(input));
