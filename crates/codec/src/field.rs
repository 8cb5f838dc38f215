//! Message fields: integers in network byte order, byte strings preceded by their length.

/// A message does not follow the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed message")]
pub struct Malformed;

/// Reads fields from the front of a message.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'b>(pub &'b [u8]);

impl<'b> Fields<'b> {
    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`Malformed`] if there are fewer.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*first)
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// [`Malformed`] if there are fewer.
    pub fn bytes(&mut self, count: usize) -> Result<&'b [u8], Malformed> {
        let (first, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(first)
    }

    /// An integer of one byte.
    ///
    /// # Errors
    /// [`Malformed`] if the message has no more bytes.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// An integer of two bytes.
    ///
    /// # Errors
    /// [`Malformed`] if the message has fewer bytes.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    /// An integer of four bytes.
    ///
    /// # Errors
    /// [`Malformed`] if the message has fewer bytes.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    /// An integer of eight bytes.
    ///
    /// # Errors
    /// [`Malformed`] if the message has fewer bytes.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    /// A byte string preceded by its length in two bytes.
    ///
    /// # Errors
    /// [`Malformed`] if the message has fewer bytes.
    pub fn length_prefixed(&mut self) -> Result<&'b [u8], Malformed> {
        let count = self.u16()?;
        self.bytes(usize::from(count))
    }

    /// All remaining bytes.
    pub fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.0)
    }

    /// Checks that no bytes remain.
    ///
    /// # Errors
    /// [`Malformed`] if there are some.
    pub const fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

/// Appends the length in two bytes and the byte string, truncated to 65,535 bytes.
pub fn put_length_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    let count = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    out.extend(count.to_be_bytes());
    out.extend(bytes.iter().take(usize::from(count)));
}
