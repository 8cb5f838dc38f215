//! A message of the X Protocol: its type, then its body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use server::probe::x_messages::parse;

fuzz_target!(|data: &[u8]| {
    if let Some((kind, body)) = data.split_first() {
        let _ = parse(*kind, body);
    }
});
