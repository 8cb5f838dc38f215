//! A server from which TLS is requested: the first byte is the length of the client's login, then the login, then what
//! the server sends. No part of the login is sent in clear text.

use std::sync::LazyLock;

use tunnel::fuzzing::MaliciousPeer;

static HOSTILE: LazyLock<MaliciousPeer> = LazyLock::new(crate::tunnel::hostile);

pub(crate) fn run(input: &[u8]) {
    let Some((count, rest)) = input.split_first() else { return };
    let (client, answers) = rest.split_at(usize::from(*count).min(rest.len()));
    HOSTILE.server(answers, client);
}
