//! Checksums in the form of checksum lists.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;

/// SHA-256 in lower-case hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(digest(&SHA256, bytes).as_ref())
}
