//! XTS, the mode of most volumes: the blocks of a sector are XORed with tweaks before and after the cipher.

use aes::Block;
use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::{
    BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherEncBackend, BlockCipherEncClosure, BlockSizeUser,
};

use super::{Aes, Each, Sectors, decrypt_all, encrypt_all, xor_all};

/// XTS, run inside the cipher's backend.
pub(super) struct Xts<'d> {
    sectors: Sectors<'d>,
    /// Tweak of the first block of each sector.
    tweaks: Vec<Block>,
}

impl BlockSizeUser for Xts<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Xts<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        self.xor_around(|blocks| encrypt_all(backend, blocks));
    }
}

impl BlockCipherDecClosure for Xts<'_> {
    #[inline(always)]
    fn call<B: BlockCipherDecBackend<BlockSize = U16>>(self, backend: &B) {
        self.xor_around(|blocks| decrypt_all(backend, blocks));
    }
}

/// Number of tweaks that are computed in parallel: each is x⁸ times the one eight blocks before.
const CHAINS: usize = 8;

/// Tweaks of consecutive blocks, stored as halves so that compilers vectorise the code.
#[derive(Clone, Copy)]
struct Tweaks {
    low: [u64; CHAINS],
    high: [u64; CHAINS],
}

impl Tweaks {
    /// Starts with the given tweak; each next one is the previous times x, modulo x¹²⁸ + x⁷ + x² + x + 1.
    #[inline(always)]
    fn from(first: u128) -> Self {
        let mut next = first;
        let all = [(); CHAINS].map(|()| {
            let current = next;
            next = (current << 1) ^ (0u128.wrapping_sub(current >> 127) & 0x87);
            current
        });
        let half = |tweak: u128| u64::try_from(tweak & u128::from(u64::MAX)).unwrap_or_default();
        Self { low: all.map(half), high: all.map(|tweak| half(tweak >> 64)) }
    }

    /// Advances to the next blocks: bits shifted out at the top are added back, times x⁷ + x² + x + 1.
    #[inline(always)]
    fn step(&mut self) {
        for (low, high) in self.low.iter_mut().zip(&mut self.high) {
            let out = *high >> 56;
            *high = (*high << 8) | (*low >> 56);
            *low = (*low << 8) ^ out ^ (out << 1) ^ (out << 2) ^ (out << 7);
        }
    }

    /// Writes the tweaks as bytes, one after the other.
    #[inline(always)]
    fn write(&self, blocks: &mut [Block; CHAINS]) {
        for (block, (low, high)) in blocks.iter_mut().zip(self.low.iter().zip(&self.high)) {
            let (first, second) = block.0.split_at_mut(8);
            first.copy_from_slice(&low.to_le_bytes());
            second.copy_from_slice(&high.to_le_bytes());
        }
    }

    /// Writes the tweaks of a whole sector.
    #[inline(always)]
    fn fill(mut self, sector: &mut [Block]) {
        let (many, few) = sector.as_chunks_mut();
        for blocks in many {
            self.write(blocks);
            self.step();
        }
        let mut last = [Block::default(); CHAINS];
        self.write(&mut last);
        few.iter_mut().zip(last).for_each(|(block, tweak)| *block = tweak);
    }
}

impl<'d> Xts<'d> {
    pub(super) fn new(sectors: Sectors<'d>, cipher: &Aes) -> Self {
        let mut tweaks: Vec<Block> = sectors.numbers().map(|number| Array(u128::from(number).to_le_bytes())).collect();
        cipher.encrypt_with(Each(&mut tweaks));
        Self { sectors, tweaks }
    }

    /// XORs the tweaks into the blocks before and after `turn`. Each tweak is that of the block before times x in
    /// GF(2¹²⁸).
    #[inline(always)]
    fn xor_around(self, turn: impl Fn(&mut [Block])) {
        let (batch_blocks, each) = (self.sectors.batch_blocks(), self.sectors.each);
        let mut tweaks = vec![Block::default(); batch_blocks];
        let mut firsts = self.tweaks.iter();
        for blocks in self.sectors.blocks.chunks_mut(batch_blocks) {
            for (sector, first) in
                tweaks.chunks_exact_mut(each).zip(firsts.by_ref().take(blocks.chunks_exact(each).len()))
            {
                Tweaks::from(u128::from_le_bytes(first.0)).fill(sector);
            }
            xor_all(blocks, &tweaks);
            turn(blocks);
            xor_all(blocks, &tweaks);
        }
    }
}
