//! Searches bytes for text. Comparing every window of 100 MiB would take seconds in a debug build.

use memchr::memmem;

/// Whether `bytes` contain `text`.
#[must_use]
pub fn contains(bytes: &[u8], text: &[u8]) -> bool {
    find(bytes, text).is_some()
}

/// Offset of the first occurrence of `text` in `bytes`.
#[must_use]
pub fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    memmem::find(bytes, text)
}
