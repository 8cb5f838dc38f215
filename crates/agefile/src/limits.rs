//! Limits of a header, so that a hostile header costs little memory and time.

/// Maximum number of recipients of a file.
pub const MAX_RECIPIENTS: usize = 1024;
/// Maximum length of a line with arguments. The longest specified one, of a post-quantum recipient, has 1.6 kB.
pub(crate) const MAX_LINE_BYTES: usize = 4096;
/// Maximum length of the header: [`MAX_RECIPIENTS`] with 1 KiB each.
pub(crate) const MAX_HEADER_BYTES: usize = 1 << 20;
