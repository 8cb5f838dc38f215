//! Key stores of every kind.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = keyring::recognise(bytes, "", bytes.len() as u64);
    let _ = keyring::inspect(bytes);
});
