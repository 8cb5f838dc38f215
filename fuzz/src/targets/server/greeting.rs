//! The first packet of a server, as its payload.

use server::greeting::{FirstPacket, parse};

pub(crate) fn run(data: &[u8]) {
    if let Some(FirstPacket::Greeting(greeting)) = parse(data) {
        let _ = greeting.server_version();
    }
}
