//! Strings and numbers in the encoding of SSH (RFC 4251, section 5).

/// Reads fields from the front of a slice.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl<'b> Fields<'b> {
    pub(super) fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    pub(super) fn string(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (string, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(string)
    }
}

/// Appends a string with its length.
pub(super) fn put(out: &mut Vec<u8>, string: &[u8]) {
    out.extend(u32::try_from(string.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(string);
}
