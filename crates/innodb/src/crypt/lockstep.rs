//! Sealing many runs of bytes at once.
//!
//! Cipher block chaining is serial within a run: each block waits for the one before, and a core
//! does about 1 GB/s. Runs do not wait for each other, so one block of each of many runs goes
//! through the cipher together, and the core's pipelines stay full.

use std::fmt;

use aes::{
    Aes128Enc, Aes256Enc, Block as CipherBlock,
    cipher::{
        BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InOutBuf, KeyInit, consts::U16,
    },
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
                Cipher::Aes128(cipher) => cipher.encrypt_with_backend(Seal { lanes }),
                Cipher::Aes256(cipher) => cipher.encrypt_with_backend(Seal { lanes }),
            }
        }
    }
}

/// Seals lanes from inside the cipher's back end, which prepares its keys once for all of them.
struct Seal<'l, 'd> {
    lanes: &'l mut [Run<'d>],
}

/// Blocks of a lane that are worked on before the next ones are fetched. Pages lie a power of two
/// apart, so one block of each of 64 pages would use one set of the first-level cache over and over.
const ROWS: usize = 16;

/// One block of every lane.
type Row = [CipherBlock; LANES];

impl BlockSizeUser for Seal<'_, '_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Seal<'_, '_> {
    /// Fetches some blocks of every lane, seals them row by row, and puts them back.
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        self.lanes.sort_by_key(|lane| std::cmp::Reverse(lane.data.len()));
        let mut chains: Row = [CipherBlock::default(); LANES];
        for (chain, lane) in chains.iter_mut().zip(&*self.lanes) {
            chain.0 = lane.iv;
        }
        let mut open: Vec<&mut [Block]> =
            self.lanes.iter_mut().map(|lane| lane.data.as_chunks_mut::<BLOCK>().0).collect();
        let mut tile: [Row; ROWS] = [chains; ROWS];
        loop {
            open.truncate(open.partition_point(|blocks| !blocks.is_empty()));
            let Some(rows) = open.last().map(|shortest| shortest.len().min(ROWS)) else { return };
            fetch(&open, &mut tile, rows);
            for row in tile.iter_mut().take(rows) {
                seal_row(backend, row, &mut chains, open.len());
            }
            put_back(&mut open, &tile, rows);
        }
    }
}

#[inline(always)]
fn fetch(open: &[&mut [Block]], tile: &mut [Row; ROWS], rows: usize) {
    for (lane, blocks) in open.iter().enumerate() {
        for (row, block) in tile.iter_mut().zip(blocks.iter().take(rows)) {
            if let Some(place) = row.get_mut(lane) {
                place.0 = *block;
            }
        }
    }
}

#[inline(always)]
fn put_back(open: &mut [&mut [Block]], tile: &[Row; ROWS], rows: usize) {
    for (lane, blocks) in open.iter_mut().enumerate() {
        let (done, rest) = std::mem::take(blocks).split_at_mut(rows);
        for (row, block) in tile.iter().zip(done) {
            if let Some(place) = row.get(lane) {
                *block = place.0;
            }
        }
        *blocks = rest;
    }
}

/// Chains and seals one block of every open lane.
#[inline(always)]
fn seal_row<B: BlockCipherEncBackend<BlockSize = U16>>(backend: &B, row: &mut Row, chains: &mut Row, open: usize) {
    // Back ends are quickest with a full row, even if part of it is for nothing.
    let wanted = if open > LANES / 2 { LANES } else { open };
    let (blocks, _) = row.split_at_mut(wanted.min(LANES));
    for (block, chain) in blocks.iter_mut().zip(&*chains) {
        block.0 = (u128::from_ne_bytes(block.0) ^ u128::from_ne_bytes(chain.0)).to_ne_bytes();
    }
    let (many, few) = InOutBuf::from(&mut *blocks).into_chunks();
    for blocks in many {
        backend.encrypt_par_blocks(blocks);
    }
    backend.encrypt_tail_blocks(few);
    chains.iter_mut().zip(&*blocks).for_each(|(chain, block)| *chain = *block);
}
