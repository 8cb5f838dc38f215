//! The first packet of a server, as its payload.

#![no_main]

use libfuzzer_sys::fuzz_target;
use server::greeting::{FirstPacket, parse};

fuzz_target!(|data: &[u8]| {
    if let Some(FirstPacket::Greeting(greeting)) = parse(data) {
        let _ = greeting.server_version();
    }
});
