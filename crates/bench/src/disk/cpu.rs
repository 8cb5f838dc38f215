//! CPU cost: one thread encrypts or decrypts sectors in memory.

use std::time::{Duration, Instant};

use luks::sector::SectorCipher;

use crate::{Arm, Work, processor::thread_seconds};

/// Direction of the cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CipherDirection {
    /// Encrypt, as for writes.
    Encrypt,
    /// Decrypt, as for reads.
    Decrypt,
}

/// Fits in the second-level cache, so that memory speed does not matter.
const BUFFER_BYTES: usize = 128 << 10;
/// Alignment of the buffer: the kernel encrypts whole pages.
const PAGE_BYTES: usize = 4096;

/// Processes sectors of `sector_bytes` bytes for `span`, with consecutive sector numbers. The time is the thread's CPU
/// time, without waiting.
pub fn sectors<'a>(
    name: impl Into<String>,
    cipher: &'a SectorCipher,
    sector_bytes: usize,
    direction: CipherDirection,
    span: Duration,
) -> Arm<'a> {
    let mut memory = vec![0; BUFFER_BYTES + PAGE_BYTES];
    let page = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
    let per_buffer = u64::try_from(BUFFER_BYTES).unwrap_or_default();
    Arm::self_timed(name, move || {
        let buffer = &mut memory[page..page + BUFFER_BYTES];
        let (begin, cpu, mut bytes) = (Instant::now(), thread_seconds(), 0_u64);
        loop {
            match direction {
                CipherDirection::Encrypt => cipher.encrypt(bytes / 512, sector_bytes, buffer),
                CipherDirection::Decrypt => cipher.decrypt(bytes / 512, sector_bytes, buffer),
            }
            bytes += per_buffer;
            if begin.elapsed() >= span {
                return Ok(Work { amount: bytes, seconds: Some(thread_seconds() - cpu), ..Work::default() });
            }
        }
    })
}
