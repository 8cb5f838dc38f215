//! Shared by the targets: keys, and repair of checksums.
//!
//! Checksums stop a fuzzer: with one changed byte, nothing after the first check is reached. So most
//! inputs end with a control byte that says what is put right or encrypted before the file is verified;
//! 0 leaves the file as it is.

pub mod keys;
pub mod repair;

/// Removes the control byte from an input.
#[must_use]
pub fn control(input: &[u8]) -> Option<(u8, &[u8])> {
    input.split_last().map(|(control, file)| (*control, file))
}

/// Whether bit `bit` of a control byte is set.
#[must_use]
pub const fn is_set(control: u8, bit: u8) -> bool {
    control >> bit & 1 == 1
}
