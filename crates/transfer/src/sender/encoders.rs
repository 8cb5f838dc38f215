//! Encoders shared by all connections: the higher the level, the fewer compress at the same time,
//! so that no combination of options exceeds the memory limit.

use std::{
    ops::{Deref, DerefMut},
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use ::codec::compression::CompressionLevel;
use zeroize::Zeroizing;

use crate::{
    codec::{Encoder, page::MAX_DESCRIPTION_BYTES},
    error::Error,
    hash::CHUNK_BYTES,
};

/// Memory for compression and connections together. The limit of the process is 256 MiB, and
/// everything else takes some 40 MiB.
const SHARED_BYTES: usize = 208 << 20;
/// Memory of one connection: a chunk, and data on its way to the socket.
const CONNECTION_BYTES: usize = 1280 << 10;
/// Memory of one encoder besides its contexts: its output, decrypted pages, and these encrypted
/// again.
const ENCODER_BYTES: usize = 3 * (CHUNK_BYTES + MAX_DESCRIPTION_BYTES);

/// An encoder and buffers for decrypted pages. `Debug` does not show their content.
#[derive(Default)]
pub(super) struct Encoding {
    pub(super) encoder: Encoder,
    /// Pages in clear text.
    pub(super) pages: Zeroizing<Vec<u8>>,
    /// The same pages, encrypted again for comparison.
    pub(super) check: Vec<u8>,
}

impl std::fmt::Debug for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Encoding")
    }
}

/// As many encoders as fit into memory.
#[derive(Debug)]
pub(super) struct Encoders {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug)]
struct State {
    idle: Vec<Encoding>,
    /// Number of encoders that may still be created.
    remaining: usize,
}

/// An encoder in use; dropping this returns it.
#[derive(Debug)]
pub(super) struct EncoderGuard<'e> {
    encoders: &'e Encoders,
    encoding: Encoding,
}

impl Encoders {
    /// For this many connections, with a level of at most `highest`.
    pub(super) fn new(streams: usize, highest: CompressionLevel) -> Self {
        let remaining = Self::count(streams, highest);
        Self { state: Mutex::new(State { idle: Vec::new(), remaining }), returned: Condvar::new() }
    }

    fn count(streams: usize, highest: CompressionLevel) -> usize {
        let left = SHARED_BYTES.saturating_sub(streams.saturating_mul(CONNECTION_BYTES));
        (left / (ENCODER_BYTES + highest.context_bytes())).clamp(1, streams.max(1))
    }

    /// Takes an encoder, and waits for one if necessary. `alive` is called regularly during the
    /// wait.
    ///
    /// # Errors
    /// Errors of `alive`.
    pub(super) fn acquire(
        &self,
        pause: Duration,
        mut alive: impl FnMut() -> Result<(), Error>,
    ) -> Result<EncoderGuard<'_>, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(encoding) = state.idle.pop() {
                return Ok(EncoderGuard { encoders: self, encoding });
            }
            if let Some(remaining) = state.remaining.checked_sub(1) {
                state.remaining = remaining;
                return Ok(EncoderGuard { encoders: self, encoding: Encoding::default() });
            }
            let (woken, waited) = self.returned.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if waited.timed_out() {
                drop(state);
                alive()?;
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl Deref for EncoderGuard<'_> {
    type Target = Encoding;

    fn deref(&self) -> &Encoding {
        &self.encoding
    }
}

impl DerefMut for EncoderGuard<'_> {
    fn deref_mut(&mut self) -> &mut Encoding {
        &mut self.encoding
    }
}

impl Drop for EncoderGuard<'_> {
    fn drop(&mut self) {
        let encoding = std::mem::take(&mut self.encoding);
        self.encoders.state.lock().unwrap_or_else(PoisonError::into_inner).idle.push(encoding);
        self.encoders.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_combination_of_options_exceeds_the_memory_limit() {
        let levels = (1..=19).map(CompressionLevel::Zstd).chain([CompressionLevel::None, CompressionLevel::Lz4]);
        for level in levels {
            for streams in 1..=64 {
                let count = Encoders::count(streams, level);
                let bytes = streams * CONNECTION_BYTES + count * (ENCODER_BYTES + level.context_bytes());
                assert!((1..=streams).contains(&count) && bytes <= SHARED_BYTES, "{level:?}, {streams}: {count}");
            }
        }
        assert_eq!(Encoders::count(4, CompressionLevel::Zstd(19)), 4);
        assert!(Encoders::count(16, CompressionLevel::Zstd(9)) > 8);
    }

    #[test]
    fn a_waiting_thread_gets_the_returned_encoder_and_sends_keepalives() {
        let encoders = Encoders::new(1, CompressionLevel::Lz4);
        let first = encoders.acquire(Duration::from_millis(1), || Ok(())).unwrap();
        let mut signs = 0;
        let given_up = encoders.acquire(Duration::from_millis(1), || {
            signs += 1;
            if signs < 3 { Ok(()) } else { Err(Error::Stopped) }
        });
        assert!(given_up.is_err() && signs == 3);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| encoders.acquire(Duration::from_secs(10), || Ok(())).is_ok());
            drop(first);
            assert!(waiting.join().unwrap());
        });
    }
}
