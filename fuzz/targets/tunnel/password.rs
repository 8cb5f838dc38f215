//! A connection to a server's socket whose log-ins are watched for passwords that the client encrypts: pieces of client and
//! server as the input interleaves them, each behind a byte that says whose it is and how long.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| tunnel::fuzzing::password(input));
