//! Random-access reads.

use files::{ReadAt, read_up_to};

use crate::error::ScanError;

/// Fills as much of `buf` as the file has from `offset` on; returns the bytes read.
pub(crate) fn fill<'b, R: ReadAt + ?Sized>(source: &R, offset: u64, buf: &'b mut [u8]) -> Result<&'b [u8], ScanError> {
    let read =
        read_up_to(source, offset, buf).map_err(|error| ScanError::Io { offset: error.offset, source: error.source });
    Ok(buf.get(..read?).unwrap_or_default())
}

/// Length of the file in bytes.
pub(crate) fn length<R: ReadAt + ?Sized>(source: &R) -> Result<u64, ScanError> {
    source.len().map_err(|source| ScanError::Io { offset: 0, source })
}

/// Offsets of the chunks to read so that at most `max_bytes` of `[from, len)` are read: all chunks
/// in order if they fit, else evenly spread chunks, including the first and the last.
pub(crate) fn chunks(from: u64, len: u64, chunk_bytes: u64, max_bytes: u64) -> impl Iterator<Item = u64> {
    let chunk_bytes = chunk_bytes.max(1);
    let total = len.saturating_sub(from).div_ceil(chunk_bytes);
    let count = total.min(max_bytes.checked_div(chunk_bytes).unwrap_or(0).max(1));
    (0..count).map(move |i| from.saturating_add(spread(i, count, total).saturating_mul(chunk_bytes)))
}

/// The `i`-th of `count` numbers spread evenly over `0..total`, both ends included.
pub(crate) fn spread(i: u64, count: u64, total: u64) -> u64 {
    let last = u128::from(total.saturating_sub(1));
    let steps = u128::from(count.saturating_sub(1)).max(1);
    let position = u128::from(i).saturating_mul(last).checked_div(steps);
    position.and_then(|position| u64::try_from(position).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_chunks_include_first_and_last() {
        let offsets: Vec<u64> = chunks(100, 1100, 10, 50).collect();
        assert_eq!(offsets.len(), 5);
        assert_eq!(offsets.first(), Some(&100));
        assert_eq!(offsets.last(), Some(&1090));
    }

    #[test]
    fn all_chunks_in_order_when_they_fit() {
        assert_eq!(chunks(0, 25, 10, 1000).collect::<Vec<_>>(), [0, 10, 20]);
        assert_eq!(chunks(30, 25, 10, 1000).count(), 0);
    }
}
