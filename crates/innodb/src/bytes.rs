//! Reads integers from untrusted bytes without indexing.

pub(crate) use files::all_zero;

/// Integers at an offset; `None` if they do not fit.
pub(crate) trait Bytes {
    /// `N` bytes from `at`.
    fn array_at<const N: usize>(&self, at: usize) -> Option<[u8; N]>;
    /// Bytes from `at` (inclusive) to `end` (exclusive); empty if there are none.
    fn range(&self, at: usize, end: usize) -> &[u8];

    fn be16(&self, at: usize) -> Option<u16> {
        self.array_at(at).map(u16::from_be_bytes)
    }
    fn be32(&self, at: usize) -> Option<u32> {
        self.array_at(at).map(u32::from_be_bytes)
    }
    fn be64(&self, at: usize) -> Option<u64> {
        self.array_at(at).map(u64::from_be_bytes)
    }
    fn le16(&self, at: usize) -> Option<u16> {
        self.array_at(at).map(u16::from_le_bytes)
    }
    fn le32(&self, at: usize) -> Option<u32> {
        self.array_at(at).map(u32::from_le_bytes)
    }
}

impl Bytes for [u8] {
    fn array_at<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.get(at..)?.first_chunk::<N>().copied()
    }

    fn range(&self, at: usize, end: usize) -> &[u8] {
        self.get(at..end.min(self.len())).unwrap_or_default()
    }
}

/// Text up to the first NUL, only printable ASCII kept; `None` if nothing is left.
pub(crate) fn ascii_text(bytes: &[u8]) -> Option<String> {
    let text: String = bytes
        .iter()
        .take_while(|byte| **byte != 0)
        .map(|byte| char::from(*byte))
        .filter(|c| c.is_ascii_graphic() || *c == ' ')
        .collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Adds one without wrapping.
pub(crate) fn bump(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

/// Converts a length or position in memory to a file offset.
pub(crate) fn as_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Writes `value` at `at`, if all of it fits.
pub(crate) fn put<const N: usize>(bytes: &mut [u8], at: usize, value: &[u8; N]) {
    if let Some(to) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<N>) {
        *to = *value;
    }
}

/// Converts a file offset or length to a length in memory, saturating.
pub(crate) fn as_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
