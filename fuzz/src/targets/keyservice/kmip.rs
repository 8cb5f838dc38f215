//! Any bytes as the answer of a KMIP service.

pub(crate) fn run(bytes: &[u8]) {
    keyservice::fuzzing::kmip(bytes);
}
