//! Any bytes as the answer of AWS KMS.

pub(crate) fn run(bytes: &[u8]) {
    keyservice::fuzzing::kms(bytes);
}
