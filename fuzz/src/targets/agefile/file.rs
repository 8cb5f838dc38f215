//! Any bytes as an age file.

pub(crate) fn run(bytes: &[u8]) {
    agefile::fuzzing::file(bytes);
}
