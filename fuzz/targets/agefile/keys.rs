//! Any text as a recipient, an identity, or a file of identities.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| agefile::fuzzing::keys(text));
