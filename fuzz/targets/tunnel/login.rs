//! A log-in whose packets are renumbered: the first byte is how many bytes come at once, behind it is what a client, or a
//! server, sends. Nothing is lost or made, but a header that is not complete.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some((piece, bytes)) = input.split_first() {
        tunnel::fuzzing::login(bytes, usize::from(*piece));
    }
});
