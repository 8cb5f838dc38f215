//! A login whose packets are renumbered: the first byte is how many bytes arrive at once, then the bytes that a client,
//! or a server, sends. Nothing is lost or added, except an incomplete header.

pub(crate) fn run(input: &[u8]) {
    if let Some((piece, bytes)) = input.split_first() {
        tunnel::fuzzing::login(bytes, usize::from(*piece));
    }
}
