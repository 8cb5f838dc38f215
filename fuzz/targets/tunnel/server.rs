//! A server from which TLS is requested: the first byte is the length of the client's login, then the login, then what
//! the server sends. No part of the login is sent in clear text.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tunnel::fuzzing::MaliciousPeer;

static HOSTILE: LazyLock<MaliciousPeer> = LazyLock::new(fuzz::tunnel::hostile);

fuzz_target!(|input: &[u8]| {
    let Some((count, rest)) = input.split_first() else { return };
    let (client, answers) = rest.split_at(usize::from(*count).min(rest.len()));
    HOSTILE.server(answers, client);
});
