//! Everything after the header of an encrypted MySQL log: one stream in counter mode.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use crate::{
    bytes::{Bytes, as_usize},
    crypt::aes::{Aes, BLOCK, Block, CipherFault},
};

/// Encrypts and decrypts everything after the header of an encrypted MySQL log.
pub struct MySqlStream {
    pub(super) key: Aes,
    /// First half of every counter block; the second counts blocks from 0.
    pub(super) start: [u8; 8],
}

impl MySqlStream {
    /// Encrypts or decrypts `data`, which starts at `offset` of the stream: the same operation in
    /// counter mode. Offset 0 of the stream is offset 512 of the file.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn apply(&self, offset: u64, data: &mut [u8]) -> Result<(), CipherFault> {
        const BLOCK_BYTES: u64 = 16;
        let block = offset.checked_div(BLOCK_BYTES).unwrap_or(0);
        let inside = as_usize(offset.checked_rem(BLOCK_BYTES).unwrap_or(0));
        if inside == 0 {
            return self.key.ctr(&self.counter(block), data);
        }
        let (first, rest) = data.split_at_mut(data.len().min(BLOCK.saturating_sub(inside)));
        let mut mask = Zeroizing::new([0; BLOCK]);
        self.key.ctr(&self.counter(block), mask.as_mut_slice())?;
        first.iter_mut().zip(mask.range(inside, BLOCK)).for_each(|(byte, mask)| *byte ^= mask);
        if rest.is_empty() { Ok(()) } else { self.key.ctr(&self.counter(block.saturating_add(1)), rest) }
    }

    fn counter(&self, block: u64) -> Block {
        let counter = (u128::from(u64::from_be_bytes(self.start)) << 64) | u128::from(block);
        counter.to_be_bytes()
    }
}

impl fmt::Debug for MySqlStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MySqlStream")
    }
}

impl Drop for MySqlStream {
    fn drop(&mut self) {
        self.start.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use crate::crypt::binlog::{PASSWORD_BYTES, StreamKey};

    #[test]
    fn a_stream_can_be_decrypted_from_any_offset() {
        let stream = StreamKey::derive(&[5; PASSWORD_BYTES]).unwrap().stream().unwrap();
        let clear = (0_u8..200).collect::<Vec<_>>();
        let mut whole = clear.clone();
        stream.apply(0, &mut whole).unwrap();
        for (from, to) in [(0, 1), (1, 3), (15, 16), (15, 18), (16, 40), (33, 200), (199, 200)] {
            let mut part = whole[from..to].to_vec();
            stream.apply(from as u64, &mut part).unwrap();
            assert_eq!(part, clear[from..to], "{from}..{to}");
        }
    }
}
