//! Any bytes as the answer of a key service.

pub(crate) fn run(bytes: &[u8]) {
    keyservice::fuzzing::answer(bytes);
}
