//! Sequential reads that fill a buffer.

use std::io::{self, ErrorKind, Read};

use zeroize::Zeroizing;

/// Reads until `buffer` is full or the source ends. `filled` counts the bytes in `buffer`: reading starts after them,
/// and the new ones are added, also if an error follows.
///
/// # Errors
/// Errors of the source, except interruptions.
pub fn fill(source: &mut (impl Read + ?Sized), buffer: &mut [u8], filled: &mut usize) -> io::Result<()> {
    while let Some(room) = buffer.get_mut(*filled..).filter(|room| !room.is_empty()) {
        match source.read(room) {
            Ok(0) => break,
            Ok(count) => *filled = filled.saturating_add(count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads the rest of a secret into memory that is wiped, first into a buffer of `first_bytes`. `None` if it is longer
/// than `max_bytes`.
///
/// # Errors
/// Errors of the source, except interruptions.
pub fn read_wiped(
    source: &mut impl Read,
    first_bytes: usize,
    max_bytes: usize,
) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let mut bytes = Zeroizing::new(vec![0; first_bytes.max(1)]);
    let mut filled = 0_usize;
    loop {
        fill(source, &mut bytes, &mut filled)?;
        if filled > max_bytes {
            return Ok(None);
        }
        if filled < bytes.len() {
            bytes.truncate(filled);
            return Ok(Some(bytes));
        }
        // Copied: a vector that reallocates by itself does not wipe the old memory.
        let larger = bytes.len().saturating_mul(2).min(max_bytes.saturating_add(1));
        let mut copy = Zeroizing::new(vec![0; larger]);
        copy.iter_mut().zip(bytes.iter()).for_each(|(to, from)| *to = *from);
        bytes = copy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_completely_or_not_at_all() {
        for bytes in [0, 1, 7, 8, 9, 63, 64] {
            let secret = vec![3; bytes];
            let read = read_wiped(&mut secret.as_slice(), 8, 64).unwrap();
            assert_eq!(read.as_deref(), Some(&secret), "{bytes}");
        }
        for bytes in [65, 128, 1000] {
            assert_eq!(read_wiped(&mut vec![3; bytes].as_slice(), 8, 64).unwrap(), None, "{bytes}");
        }
    }

    /// Gives one byte for each read, after an interruption.
    struct Slow(u8, bool);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            match (self.1, self.0) {
                (true, _) => Err(ErrorKind::Interrupted.into()),
                (false, 0) => Err(ErrorKind::TimedOut.into()),
                (false, left) => {
                    buffer[0] = left;
                    self.0 -= 1;
                    Ok(1)
                }
            }
        }
    }

    #[test]
    fn a_buffer_is_filled_as_far_as_the_source_has_bytes() {
        let (mut buffer, mut filled) = ([0; 4], 0);
        fill(&mut [7, 8].as_slice(), &mut buffer, &mut filled).unwrap();
        assert_eq!((buffer, filled), ([7, 8, 0, 0], 2));
        fill(&mut Slow(9, false), &mut buffer, &mut filled).unwrap();
        assert_eq!((buffer, filled), ([7, 8, 9, 8], 4));
    }

    #[test]
    fn bytes_read_before_an_error_are_kept() {
        let (mut buffer, mut filled) = ([0; 4], 0);
        assert!(fill(&mut Slow(2, false), &mut buffer, &mut filled).is_err());
        assert_eq!((buffer, filled), ([2, 1, 0, 0], 2));
    }
}
