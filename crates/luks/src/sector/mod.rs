//! Encrypts sectors as dm-crypt does, in this process, to measure what a cipher costs the processor without
//! device-mapper.
//!
//! Each sector is encrypted on its own. Its IV is derived from its number, which counts units of 512 bytes whatever the
//! size of a sector. Source: Linux `drivers/md/dm-crypt.c` (`crypt_iv_*_gen`) and
//! `Documentation/admin-guide/device-mapper/dm-crypt.rst`; XTS is IEEE Std 1619-2007.

mod xts;

use std::fmt;

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::{
    BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend, BlockCipherEncClosure,
    BlockCipherEncrypt, BlockSizeUser, InOut, InOutBuf, KeyInit,
};
use aes::{Aes128, Aes256, Block};
use aws_lc_rs::digest::{SHA256, digest};

use self::xts::Xts;
use crate::cipher::Cipher as Specification;

/// Size of an AES block.
const BLOCK_BYTES: usize = 16;
/// Blocks that go through the cipher together: enough for implementations that process 64 at once, even with small
/// sectors, and few enough to stay in the first-level cache with their tweaks.
const BATCH_BLOCKS: usize = 256;

/// Why sectors cannot be encrypted here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SectorFault {
    /// An algorithm other than AES, a mode other than XTS, CBC and ECB, or an IV that is not one of dm-crypt's common
    /// ones.
    #[error("{0} is not supported here; AES in XTS, CBC and ECB is")]
    Unknown(String),
    /// XTS splits its key in two halves, and this half is no valid AES key length.
    #[error("XTS takes two keys, and half of {0} bits is not a length of AES keys")]
    HalfKey(u32),
    /// Not a valid AES key length.
    #[error("{0} bits is not a length of AES keys")]
    KeyBits(u32),
}

/// A cipher with its key and IV mode, ready to encrypt sectors. The keys are wiped on drop.
pub struct SectorCipher {
    mode: Mode,
}

enum Mode {
    Xts { data: Aes, tweak: Aes },
    Cbc { data: Aes, iv: Iv },
    Ecb { data: Aes },
}

enum Aes {
    Of128(Box<Aes128>),
    Of256(Box<Aes256>),
}

enum Iv {
    Null,
    /// The low 32 bits of the sector number, little-endian.
    Plain,
    /// All 64 bits of the sector number, little-endian.
    Plain64,
    /// The number of the cipher block, starting at 1, big-endian at the end of the IV.
    Benbi,
    /// The sector number, encrypted with the hash of the key.
    Essiv(Box<Aes256>),
}

impl fmt::Debug for SectorCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SectorCipher")
    }
}

impl SectorCipher {
    /// Creates the cipher of a specification such as `aes-xts-plain64`, with a volume key.
    ///
    /// # Errors
    /// [`SectorFault`].
    pub fn new(specification: &str, key: &[u8]) -> Result<Self, SectorFault> {
        let parsed = Specification::parse(specification);
        let unknown = || SectorFault::Unknown(specification.to_owned());
        if !parsed.is_aes() {
            return Err(unknown());
        }
        let mode = match (parsed.mode(), parsed.iv()) {
            ("xts", "plain64") => {
                let (data, tweak) = key.split_at(key.len() / 2);
                let half = |_| SectorFault::HalfKey(bits(key));
                Mode::Xts { data: Aes::new(data).map_err(half)?, tweak: Aes::new(tweak).map_err(half)? }
            }
            // ECB has no IV: dm-crypt ignores its name.
            ("ecb", _) => Mode::Ecb { data: Aes::new(key)? },
            ("cbc", iv) => {
                let iv = match iv {
                    "null" => Iv::Null,
                    "plain" => Iv::Plain,
                    "plain64" => Iv::Plain64,
                    "benbi" => Iv::Benbi,
                    "essiv" if specification.ends_with("essiv:sha256") => Iv::essiv(key),
                    _ => return Err(unknown()),
                };
                Mode::Cbc { data: Aes::new(key)?, iv }
            }
            _ => return Err(unknown()),
        };
        Ok(Self { mode })
    }

    /// Encrypts the sectors in `data`. `first` is the number, in units of 512 bytes, of the first one on the volume. An
    /// incomplete sector at the end stays unchanged.
    pub fn encrypt(&self, first: u64, sector_bytes: usize, data: &mut [u8]) {
        let sectors = Sectors::new(first, sector_bytes, data);
        match &self.mode {
            Mode::Xts { data, tweak } => data.encrypt_with(Xts::new(sectors, tweak)),
            Mode::Cbc { data, iv } => data.encrypt_with(Chain { ivs: iv.all(&sectors), sectors }),
            Mode::Ecb { data } => data.encrypt_with(Each(sectors.blocks)),
        }
    }

    /// Decrypts the sectors in `data`, as [`Self::encrypt`].
    pub fn decrypt(&self, first: u64, sector_bytes: usize, data: &mut [u8]) {
        let sectors = Sectors::new(first, sector_bytes, data);
        match &self.mode {
            Mode::Xts { data, tweak } => data.decrypt_with(Xts::new(sectors, tweak)),
            Mode::Cbc { data, iv } => data.decrypt_with(Chain { ivs: iv.all(&sectors), sectors }),
            Mode::Ecb { data } => data.decrypt_with(Each(sectors.blocks)),
        }
    }
}

fn bits(key: &[u8]) -> u32 {
    u32::try_from(key.len()).unwrap_or(u32::MAX).saturating_mul(8)
}

/// Consecutive sectors.
struct Sectors<'d> {
    blocks: &'d mut [Block],
    /// Blocks per sector.
    each: usize,
    /// Number of the first sector, and the distance between the numbers of two sectors.
    first: u64,
    step: u64,
}

impl<'d> Sectors<'d> {
    fn new(first: u64, bytes: usize, data: &'d mut [u8]) -> Self {
        let each = (bytes / BLOCK_BYTES).max(1);
        let (blocks, _) = Array::slice_as_chunks_mut(data);
        let whole = blocks.len().saturating_sub(blocks.chunks_exact(each).remainder().len());
        let (blocks, _) = blocks.split_at_mut(whole);
        Self { blocks, each, first, step: u64::try_from(bytes / 512).unwrap_or_default().max(1) }
    }

    /// Sector numbers, in units of 512 bytes.
    fn numbers(&self) -> impl Iterator<Item = u64> + use<> {
        let (first, step) = (self.first, self.step);
        let count = u64::try_from(self.blocks.chunks_exact(self.each).len()).unwrap_or_default();
        (0..count).map(move |at| first.wrapping_add(at.wrapping_mul(step)))
    }

    /// Number of blocks, in whole sectors, that go through the cipher together.
    fn batch_blocks(&self) -> usize {
        self.each.saturating_mul(BATCH_BLOCKS.checked_div(self.each).unwrap_or_default().max(1))
    }
}

impl Aes {
    fn new(key: &[u8]) -> Result<Self, SectorFault> {
        let refused = |_| SectorFault::KeyBits(bits(key));
        match key.len() {
            16 => Aes128::new_from_slice(key).map(|cipher| Self::Of128(Box::new(cipher))).map_err(refused),
            32 => Aes256::new_from_slice(key).map(|cipher| Self::Of256(Box::new(cipher))).map_err(refused),
            _ => Err(SectorFault::KeyBits(bits(key))),
        }
    }

    fn encrypt_with(&self, work: impl BlockCipherEncClosure<BlockSize = U16>) {
        match self {
            Self::Of128(cipher) => cipher.encrypt_with_backend(work),
            Self::Of256(cipher) => cipher.encrypt_with_backend(work),
        }
    }

    fn decrypt_with(&self, work: impl BlockCipherDecClosure<BlockSize = U16>) {
        match self {
            Self::Of128(cipher) => cipher.decrypt_with_backend(work),
            Self::Of256(cipher) => cipher.decrypt_with_backend(work),
        }
    }
}

/// Encrypts independent blocks, as many at once as the implementation takes.
#[inline(always)]
fn encrypt_all<B: BlockCipherEncBackend<BlockSize = U16>>(backend: &B, blocks: &mut [Block]) {
    let (many, few) = InOutBuf::from(blocks).into_chunks();
    for blocks in many {
        backend.encrypt_par_blocks(blocks);
    }
    backend.encrypt_tail_blocks(few);
}

/// Decrypts independent blocks.
#[inline(always)]
fn decrypt_all<B: BlockCipherDecBackend<BlockSize = U16>>(backend: &B, blocks: &mut [Block]) {
    let (many, few) = InOutBuf::from(blocks).into_chunks();
    for blocks in many {
        backend.decrypt_par_blocks(blocks);
    }
    backend.decrypt_tail_blocks(few);
}

/// Independent blocks.
struct Each<'d>(&'d mut [Block]);

impl BlockSizeUser for Each<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Each<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        encrypt_all(backend, self.0);
    }
}

impl BlockCipherDecClosure for Each<'_> {
    #[inline(always)]
    fn call<B: BlockCipherDecBackend<BlockSize = U16>>(self, backend: &B) {
        decrypt_all(backend, self.0);
    }
}

/// Cipher block chaining, run inside the cipher's backend, where the processor's wide registers can be used.
struct Chain<'d> {
    sectors: Sectors<'d>,
    /// IV of each sector.
    ivs: Vec<Block>,
}

impl BlockSizeUser for Chain<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Chain<'_> {
    /// Each block depends on the previous one.
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        for (sector, iv) in self.sectors.blocks.chunks_exact_mut(self.sectors.each).zip(&self.ivs) {
            let mut previous = *iv;
            for block in sector {
                xor_block(&mut previous, block);
                backend.encrypt_block(InOut::from(&mut previous));
                *block = previous;
            }
        }
    }
}

impl BlockCipherDecClosure for Chain<'_> {
    /// Decrypts many blocks at once: the ciphertext that each one needs is already there.
    #[inline(always)]
    fn call<B: BlockCipherDecBackend<BlockSize = U16>>(self, backend: &B) {
        let (batch_blocks, each) = (self.sectors.batch_blocks(), self.sectors.each);
        let mut encrypted = vec![Block::default(); batch_blocks];
        let mut ivs = self.ivs.iter();
        for blocks in self.sectors.blocks.chunks_mut(batch_blocks) {
            encrypted.iter_mut().zip(&*blocks).for_each(|(kept, block)| *kept = *block);
            decrypt_all(backend, blocks);
            for ((sector, encrypted), iv) in
                blocks.chunks_exact_mut(each).zip(encrypted.chunks_exact(each)).zip(&mut ivs)
            {
                let Some((first, others)) = sector.split_first_mut() else { continue };
                xor_block(first, iv);
                xor_all(others, encrypted);
            }
        }
    }
}

/// XORs as one array of bytes: compilers vectorise that, but not blocks or integers.
#[inline(always)]
fn xor_all(blocks: &mut [Block], with: &[Block]) {
    let bytes = Array::slice_as_flattened_mut(blocks).iter_mut();
    bytes.zip(Array::slice_as_flattened(with)).for_each(|(byte, with)| *byte ^= with);
}

#[inline(always)]
fn xor_block(block: &mut Block, with: &Block) {
    block.0.iter_mut().zip(&with.0).for_each(|(byte, with)| *byte ^= with);
}

impl Iv {
    /// `essiv:sha256`: a 256-bit key, whatever the size of the data's key.
    fn essiv(key: &[u8]) -> Self {
        let salt: [u8; 32] = digest(&SHA256, key).as_ref().try_into().unwrap_or([0; 32]);
        Self::Essiv(Box::new(Aes256::new(&Array(salt))))
    }

    /// IV of each sector.
    fn all(&self, sectors: &Sectors<'_>) -> Vec<Block> {
        let mut ivs: Vec<Block> = sectors.numbers().map(|number| Array(self.for_sector(number))).collect();
        if let Self::Essiv(cipher) = self {
            cipher.encrypt_blocks(&mut ivs);
        }
        ivs
    }

    /// IV of a sector, as bytes; for ESSIV, before it is encrypted.
    fn for_sector(&self, number: u64) -> [u8; BLOCK_BYTES] {
        match self {
            Self::Null => [0; BLOCK_BYTES],
            Self::Plain => (u128::from(number) & u128::from(u32::MAX)).to_le_bytes(),
            Self::Plain64 | Self::Essiv(_) => u128::from(number).to_le_bytes(),
            // 512 bytes hold 32 blocks of 16 bytes.
            Self::Benbi => u128::from(number.wrapping_mul(32).wrapping_add(1)).to_be_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::cipher::{AES_128, AES_256, DecryptingKey, DecryptionContext, UnboundCipherKey};

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digit).collect()
    }

    #[test]
    fn xts_vectors_of_the_standard() {
        // IEEE Std 1619-2007, annex B, vector 2; the first and the last blocks of vectors 4 and 10.
        let key = hex("1111111111111111111111111111111122222222222222222222222222222222");
        let mut data = vec![0x44; 32];
        SectorCipher::new("aes-xts-plain64", &key).unwrap().encrypt(0x33_3333_3333, 32, &mut data);
        assert_eq!(data, hex("c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"));

        let key = hex("2718281828459045235360287471352631415926535897932384626433832795");
        let plain: Vec<u8> = (0..512).map(|at| (at % 256) as u8).collect();
        let (cipher, mut data) = (SectorCipher::new("aes-xts-plain64", &key).unwrap(), plain.clone());
        cipher.encrypt(0, 512, &mut data);
        assert_eq!(data[..16], hex("27a7479befa1d476489f308cd4cfa6e2"));
        assert_eq!(data[496..], hex("0a282df920147beabe421ee5319d0568"));
        cipher.decrypt(0, 512, &mut data);
        assert_eq!(data, plain);

        let key = hex(
            "27182818284590452353602874713526624977572470936999595749669676273141592653589793238462643383279502884197169399375105820974944592",
        );
        let (cipher, mut data) = (SectorCipher::new("aes-xts-plain64", &key).unwrap(), plain);
        cipher.encrypt(0xff, 512, &mut data);
        assert_eq!(data[..16], hex("1c3b3a102f770386e4836c99e370cf9b"));
        assert_eq!(data[496..], hex("c4f36ffda9fcea70b9c6e693e148c151"));
    }

    /// XTS as the standard describes it: block by block.
    fn textbook_xts(key: &[u8], number: u64, sector: &mut [u8]) {
        let (data, tweak) = key.split_at(32);
        let (data, tweak) = (Aes256::new_from_slice(data).unwrap(), Aes256::new_from_slice(tweak).unwrap());
        let mut factor = Array(u128::from(number).to_le_bytes());
        tweak.encrypt_block(&mut factor);
        for bytes in sector.chunks_exact_mut(16) {
            let mut block = Array(std::array::from_fn(|at| bytes[at] ^ factor.0[at]));
            data.encrypt_block(&mut block);
            bytes
                .iter_mut()
                .zip(block.0.iter().zip(factor.0))
                .for_each(|(byte, (block, factor))| *byte = block ^ factor);
            let carries = factor.0.map(|byte| byte >> 7);
            factor.0.iter_mut().for_each(|byte| *byte <<= 1);
            factor.0.iter_mut().skip(1).zip(carries).for_each(|(byte, carry)| *byte |= carry);
            factor.0[0] ^= 0x87 * carries[15];
        }
    }

    #[test]
    fn sectors_encrypted_together_equal_sectors_encrypted_alone() {
        let key: Vec<u8> = (0..64).collect();
        let plain: Vec<u8> = (0..5 * 4096 + 1536).map(|at: u32| ((at * 37) >> 4) as u8).collect();
        let cipher = SectorCipher::new("aes-xts-plain64", &key).unwrap();
        for sector_bytes in [32, 512, 1024, 2048, 4096, 8192] {
            let (number, step) = (0xffff_ff01, (sector_bytes as u64 / 512).max(1));
            let mut expected = plain.clone();
            for (sector, at) in expected.chunks_exact_mut(sector_bytes).zip(0..) {
                textbook_xts(&key, number + at * step, sector);
            }
            let mut data = plain.clone();
            cipher.encrypt(number, sector_bytes, &mut data);
            assert!(data == expected, "{sector_bytes}");
            cipher.decrypt(number, sector_bytes, &mut data);
            assert!(data == plain, "{sector_bytes}");
        }
    }

    /// Decrypts encrypted sectors with another implementation, one at a time.
    fn decrypted_by_another(key: &[u8], iv: [u8; 16], encrypted: &[u8]) -> Vec<u8> {
        let algorithm = if key.len() == 16 { &AES_128 } else { &AES_256 };
        let key = DecryptingKey::cbc(UnboundCipherKey::new(algorithm, key).unwrap()).unwrap();
        let mut data = encrypted.to_vec();
        key.decrypt(&mut data, DecryptionContext::Iv128(iv.into())).unwrap().to_vec()
    }

    #[test]
    fn another_implementation_decrypts_cbc_sectors_with_the_iv_of_dm_crypt() {
        let plain: Vec<u8> = (0..8192u32).map(|at| ((at * 31) >> 3) as u8).collect();
        let number = 0x1_0000_0007u64;
        // With sectors of 4096 bytes, the second sector's number is 8 higher.
        let last = |number: u64| -> [(&str, [u8; 16]); 4] {
            let mut benbi = [0; 16];
            benbi[8..].copy_from_slice(&(number * 32 + 1).to_be_bytes());
            let mut plain = [0; 16];
            plain[..4].copy_from_slice(&number.to_le_bytes()[..4]);
            [
                ("aes-cbc-null", [0; 16]),
                ("aes-cbc-plain", plain),
                ("aes-cbc-plain64", u128::from(number).to_le_bytes()),
                ("aes-cbc-benbi", benbi),
            ]
        };
        for key in [vec![7; 16], vec![9; 32]] {
            for ((name, iv), (_, next)) in last(number).into_iter().zip(last(number + 8)) {
                let cipher = SectorCipher::new(name, &key).unwrap();
                let mut data = plain.clone();
                cipher.encrypt(number, 4096, &mut data);
                assert_eq!(decrypted_by_another(&key, iv, &data[..4096]), plain[..4096], "{name}");
                assert_eq!(decrypted_by_another(&key, next, &data[4096..]), plain[4096..], "{name}");
                cipher.decrypt(number, 4096, &mut data);
                assert_eq!(data, plain, "{name}");
            }
        }
    }

    #[test]
    fn essiv_encrypts_the_sector_number_with_the_hash_of_the_key() {
        let key = vec![3; 32];
        let mut iv = [Array(5u128.to_le_bytes())];
        Aes::new(digest(&SHA256, &key).as_ref()).unwrap().encrypt_with(Each(&mut iv));
        let plain = vec![1; 512];
        let cipher = SectorCipher::new("aes-cbc-essiv:sha256", &key).unwrap();
        let mut data = plain.clone();
        cipher.encrypt(5, 512, &mut data);
        assert_eq!(decrypted_by_another(&key, iv[0].0, &data), plain);
        cipher.decrypt(5, 512, &mut data);
        assert_eq!(data, plain);
    }

    #[test]
    fn ecb_ignores_the_iv_and_repeats_equal_blocks() {
        let mut data = vec![0; 1024];
        SectorCipher::new("aes-ecb-benbi", &[1; 16]).unwrap().encrypt(9, 512, &mut data);
        assert!(data.chunks(16).all(|block| block == &data[..16]) && data[..16] != [0; 16]);
    }

    #[test]
    fn a_bare_algorithm_means_cbc_plain() {
        let encrypt_with = |name: &str| {
            let mut data = vec![0; 512];
            SectorCipher::new(name, &[1; 16]).unwrap().encrypt(9, 512, &mut data);
            data
        };
        assert_eq!(encrypt_with("aes"), encrypt_with("aes-cbc-plain"));
    }

    #[test]
    fn unsupported_ciphers_are_refused() {
        let error = |name: &str, bytes: usize| SectorCipher::new(name, &vec![0; bytes]).unwrap_err();
        assert_eq!(error("aes-xts-plain64", 16), SectorFault::HalfKey(128));
        assert_eq!(error("aes-cbc-plain", 24), SectorFault::KeyBits(192));
        for name in ["serpent-xts-plain64", "aes-ctr-plain64", "aes-cbc-essiv:sha1", "xchacha12,aes-adiantum-plain64"] {
            assert!(matches!(error(name, 32), SectorFault::Unknown(_)), "{name}");
        }
    }
}
