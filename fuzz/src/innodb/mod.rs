//! What the targets share: keys, and bytes put right again.
//!
//! Checksums stop a fuzzer: one changed byte, and nothing behind the first check is reached. So most
//! inputs end with a control byte that says what is put right or sealed before the file is verified;
//! 0 leaves the file as it is.

pub mod keys;
pub mod repair;

/// Takes the control byte off an input.
#[must_use]
pub fn control(input: &[u8]) -> Option<(u8, &[u8])> {
    input.split_last().map(|(control, file)| (*control, file))
}

/// Whether bit `bit` of a control byte is set.
#[must_use]
pub const fn is_set(control: u8, bit: u8) -> bool {
    control >> bit & 1 == 1
}
