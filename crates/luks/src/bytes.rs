//! Fields of binary headers: big-endian integers and NUL-terminated text.

/// `N` bytes from `at`.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

pub(crate) fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_be_bytes)
}

/// Text of a field of `length` bytes. Like cryptsetup, treats the last byte as the terminator. The error describes the
/// problem without repeating the text, which may be hostile.
pub(crate) fn text(bytes: &[u8], at: usize, length: usize) -> Result<String, &'static str> {
    let field = bytes.get(at..).and_then(|rest| rest.get(..length)).ok_or("is cut off")?;
    let field = field.split_last().map_or(field, |(_, before)| before);
    let text = field.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = std::str::from_utf8(text).map_err(|_| NOT_PRINTABLE)?;
    printable(text).map(str::to_owned)
}

const NOT_PRINTABLE: &str = "holds text that is not printable";

/// Accepts text that is safe to print on a terminal: no control characters and nothing that changes the direction of
/// text.
pub(crate) fn printable(text: &str) -> Result<&str, &'static str> {
    let drives = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if text.chars().any(drives) { Err(NOT_PRINTABLE) } else { Ok(text) }
}
