//! The processor's part: one thread encrypts or decrypts sectors in memory.

use std::time::{Duration, Instant};

use luks::sector::SectorCipher;
use rustix::time::{ClockId, clock_gettime};

use crate::{Arm, Work};

/// Encrypts or decrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As writes do.
    Encrypt,
    /// As reads do.
    Decrypt,
}

/// Small enough for the second-level cache: memory is not what is measured.
const BUFFER_BYTES: usize = 128 << 10;
/// What the kernel encrypts begins at a page.
const PAGE_BYTES: usize = 4096;

/// Works on sectors of so many bytes for `span`, each with the number after the one before. Its seconds are those that the
/// thread had a processor, not those that it waited for one.
pub fn sectors<'a>(
    name: impl Into<String>,
    cipher: &'a SectorCipher,
    sector_bytes: usize,
    way: Way,
    span: Duration,
) -> Arm<'a> {
    let mut memory = vec![0; BUFFER_BYTES + PAGE_BYTES];
    let page = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
    let per_buffer = u64::try_from(BUFFER_BYTES).unwrap_or_default();
    Arm::timing_itself(name, move || {
        let buffer = &mut memory[page..page + BUFFER_BYTES];
        let (begin, cpu, mut bytes) = (Instant::now(), thread_seconds(), 0_u64);
        loop {
            match way {
                Way::Encrypt => cipher.encrypt(bytes / 512, sector_bytes, buffer),
                Way::Decrypt => cipher.decrypt(bytes / 512, sector_bytes, buffer),
            }
            bytes += per_buffer;
            if begin.elapsed() >= span {
                return Ok(Work { amount: bytes, seconds: Some(thread_seconds() - cpu), detail: None });
            }
        }
    })
}

/// Processor time of this thread.
#[allow(clippy::cast_precision_loss, reason = "a duration, not a count")]
fn thread_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
