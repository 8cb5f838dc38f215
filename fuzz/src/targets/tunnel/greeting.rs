//! A server's first packet as shown to clients, and text of the other end as shown to operators.

pub(crate) fn run(input: &[u8]) {
    tunnel::fuzzing::greeting(input);
}
