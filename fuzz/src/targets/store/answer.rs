//! Any bytes as the answer of a bucket.

pub(crate) fn run(bytes: &[u8]) {
    store::s3::fuzzing::answer(bytes);
}
