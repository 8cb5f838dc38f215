//! A server that TLS is asked of: the first byte is how long the client's log-in is, behind it that, then what the server
//! sends. Nothing of the log-in goes out in the clear.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tunnel::fuzzing::Hostile;

static HOSTILE: LazyLock<Hostile> = LazyLock::new(fuzz::tunnel::hostile);

fuzz_target!(|input: &[u8]| {
    let Some((count, rest)) = input.split_first() else { return };
    let (client, answers) = rest.split_at(usize::from(*count).min(rest.len()));
    HOSTILE.server(answers, client);
});
