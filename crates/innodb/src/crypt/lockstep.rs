//! Sealing many runs of bytes at once.
//!
//! Cipher block chaining is serial within a run: each block waits for the one before, and a core
//! does about 1 GB/s. Runs do not wait for each other, so one block of each of many runs goes
//! through the cipher together, and the core's pipelines stay full.

use std::fmt;

use aes::{
    Aes128Enc, Aes256Enc, Block as CipherBlock,
    cipher::{BlockCipherEncrypt, KeyInit},
};

use crate::crypt::aes::{BLOCK, Block, KeyLength};

/// Runs that go through the cipher together: enough to fill its pipelines, few enough for the
/// blocks to stay in registers and first-level cache.
pub const LANES: usize = 64;

/// A key expanded for sealing in lockstep. Wiped on drop.
pub struct Lockstep {
    cipher: Cipher,
}

enum Cipher {
    Aes128(Box<Aes128Enc>),
    Aes256(Box<Aes256Enc>),
}

impl fmt::Debug for Lockstep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lockstep")
    }
}

/// Bytes to seal in place, whole blocks of them, and the vector to begin with.
#[derive(Debug)]
pub struct Run<'b> {
    /// What the first block is chained to.
    pub iv: Block,
    /// The bytes; those that fill no block stay as they are.
    pub data: &'b mut [u8],
}

impl Lockstep {
    /// Expands a key of 16 or 32 bytes, the two that pages are sealed with.
    ///
    /// # Errors
    /// [`KeyLength`] for any other length.
    pub fn new(key: &[u8]) -> Result<Self, KeyLength> {
        let cipher = match key.len() {
            16 => Cipher::Aes128(Box::new(Aes128Enc::new_from_slice(key).map_err(|_| KeyLength)?)),
            32 => Cipher::Aes256(Box::new(Aes256Enc::new_from_slice(key).map_err(|_| KeyLength)?)),
            _ => return Err(KeyLength),
        };
        Ok(Self { cipher })
    }

    /// Seals every run in cipher block chaining. Runs of one length are fastest.
    pub fn cbc_seal(&self, runs: &mut [Run<'_>]) {
        for lanes in runs.chunks_mut(LANES) {
            match &self.cipher {
                Cipher::Aes128(cipher) => seal_lanes(cipher.as_ref(), lanes),
                Cipher::Aes256(cipher) => seal_lanes(cipher.as_ref(), lanes),
            }
        }
    }
}

/// Block `n` of every lane, for every `n`. Lanes that have ended are left out.
fn seal_lanes<C: BlockCipherEncrypt<BlockSize = aes::cipher::consts::U16>>(cipher: &C, lanes: &mut [Run<'_>]) {
    lanes.sort_by_key(|lane| std::cmp::Reverse(lane.data.len()));
    let mut chains = [CipherBlock::default(); LANES];
    for (chain, lane) in chains.iter_mut().zip(&*lanes) {
        chain.0 = lane.iv;
    }
    let mut open: Vec<_> = lanes.iter_mut().map(|lane| lane.data.as_chunks_mut::<BLOCK>().0.iter_mut()).collect();
    let mut blocks: Vec<&mut Block> = Vec::with_capacity(LANES);
    loop {
        blocks.clear();
        blocks.extend(open.iter_mut().map_while(Iterator::next));
        if blocks.is_empty() {
            return;
        }
        let (active, _) = chains.split_at_mut(blocks.len().min(LANES));
        for (chain, block) in active.iter_mut().zip(&blocks) {
            chain.0.iter_mut().zip(block.iter()).for_each(|(chain, byte)| *chain ^= byte);
        }
        cipher.encrypt_blocks(active);
        for (chain, block) in active.iter().zip(&mut blocks) {
            **block = chain.0;
        }
    }
}
