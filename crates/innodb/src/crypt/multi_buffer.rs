//! Encrypts many runs of bytes at once.
//!
//! CBC encryption is serial within a run: each block waits for the one before, and a core reaches
//! about 1 GB/s. Different runs are independent, so one block of each of many runs goes through the
//! cipher together, which keeps the core's pipelines full.

use std::fmt;

use aes::{
    Aes128Enc, Aes256Enc, Block as CipherBlock,
    cipher::{
        BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InOutBuf, KeyInit, consts::U16,
    },
};

use crate::crypt::aes::{BLOCK, Block, KeyLength};

/// Runs encrypted together: enough to fill the pipelines, few enough to stay in registers and
/// first-level cache.
pub const LANES: usize = 64;

/// A key expanded for CBC encryption of many runs together (multi-buffer). Wiped on drop.
pub struct MultiBufferCbc {
    cipher: Cipher,
}

enum Cipher {
    Aes128(Box<Aes128Enc>),
    Aes256(Box<Aes256Enc>),
}

impl fmt::Debug for MultiBufferCbc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MultiBufferCbc")
    }
}

/// One run: whole blocks to encrypt in place, and their initialisation vector.
#[derive(Debug)]
pub struct Run<'b> {
    /// Initialisation vector of the first block.
    pub iv: Block,
    /// Bytes to encrypt; those after the last whole block stay as they are.
    pub data: &'b mut [u8],
}

impl MultiBufferCbc {
    /// Expands a key of 16 or 32 bytes, the lengths of page keys.
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

    /// Encrypts every run in CBC mode. Runs of equal length are fastest.
    pub fn cbc_encrypt(&self, runs: &mut [Run<'_>]) {
        for lanes in runs.chunks_mut(LANES) {
            match &self.cipher {
                Cipher::Aes128(cipher) => cipher.encrypt_with_backend(Encrypt { lanes }),
                Cipher::Aes256(cipher) => cipher.encrypt_with_backend(Encrypt { lanes }),
            }
        }
    }
}

/// Runs inside the cipher's back end, which prepares its round keys once for all lanes.
struct Encrypt<'l, 'd> {
    lanes: &'l mut [Run<'d>],
}

/// Blocks of a lane processed before the next ones are fetched. Pages lie a power of two apart, so
/// one block of each of 64 pages would compete for one set of the first-level cache.
const ROWS: usize = 16;

/// One block of every lane.
type Row = [CipherBlock; LANES];

impl BlockSizeUser for Encrypt<'_, '_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Encrypt<'_, '_> {
    /// Fetches some blocks of every lane, encrypts them row by row, and writes them back.
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
                encrypt_row(backend, row, &mut chains, open.len());
            }
            put_back(&mut open, &tile, rows);
        }
    }
}

#[inline(always)]
fn fetch(open: &[&mut [Block]], tile: &mut [Row; ROWS], rows: usize) {
    for (lane, blocks) in open.iter().enumerate() {
        for (row, block) in tile.iter_mut().zip(blocks.iter().take(rows)) {
            if let Some(slot) = row.get_mut(lane) {
                slot.0 = *block;
            }
        }
    }
}

#[inline(always)]
fn put_back(open: &mut [&mut [Block]], tile: &[Row; ROWS], rows: usize) {
    for (lane, blocks) in open.iter_mut().enumerate() {
        let (done, rest) = std::mem::take(blocks).split_at_mut(rows);
        for (row, block) in tile.iter().zip(done) {
            if let Some(slot) = row.get(lane) {
                *block = slot.0;
            }
        }
        *blocks = rest;
    }
}

/// Chains and encrypts one block of every unfinished lane.
#[inline(always)]
fn encrypt_row<B: BlockCipherEncBackend<BlockSize = U16>>(backend: &B, row: &mut Row, chains: &mut Row, open: usize) {
    // Back ends are fastest with a full row, even if part of the result is discarded.
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
