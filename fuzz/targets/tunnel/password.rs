//! A connection to a server's socket whose logins are searched for passwords that the client encrypts: parts of client
//! and server data as the input interleaves them, each after a byte with its sender and length.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| tunnel::fuzzing::password(input));
