//! Compressed transactions of MySQL (`binlog_transaction_compression`).
//!
//! Source: "Transaction_payload_event" in `control_events.h` of MySQL: fields with type, length and value; field 0 ends
//! them, and the payload follows.

use std::io::{BufReader, Read};

use crate::{
    Fault, HEADER_BYTES, Limits,
    bytes::{Bytes, as_u64, as_usize},
    header::EventHeader,
};

const WHAT: &str = "compressed transaction";

/// Compression of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Zstd,
    None,
}

/// The events of a transaction, compressed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'e> {
    compression: Compression,
    /// Length of the decompressed events.
    uncompressed_bytes: u64,
    compressed: &'e [u8],
}

impl<'e> Payload<'e> {
    pub(crate) fn parse(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        const END: u64 = 0;
        const SIZE: u64 = 1;
        const COMPRESSION: u64 = 2;
        const UNCOMPRESSED_SIZE: u64 = 3;
        let (mut size, mut algorithm, mut uncompressed_bytes) = (None, None, None);
        loop {
            let field = bytes.length_encoded()?;
            if field == END {
                break;
            }
            let mut value = Bytes::new(bytes.counted()?, WHAT);
            match field {
                SIZE => size = Some(value.length_encoded()?),
                COMPRESSION => algorithm = Some(value.length_encoded()?),
                UNCOMPRESSED_SIZE => uncompressed_bytes = Some(value.length_encoded()?),
                _ => {}
            }
        }
        let compression = match algorithm {
            Some(0) => Compression::Zstd,
            Some(255) => Compression::None,
            Some(algorithm) => return Err(Fault::Algorithm { what: WHAT, algorithm }),
            None => return Err(bytes.malformed()),
        };
        let size = as_usize(size.ok_or_else(|| bytes.malformed())?);
        let compressed = bytes.take(size)?;
        let uncompressed_bytes = uncompressed_bytes.unwrap_or_else(|| as_u64(size));
        Ok(Self { compression, uncompressed_bytes, compressed })
    }

    /// The events, decompressed one at a time to limit memory.
    ///
    /// # Errors
    /// [`Fault::Compression`] if no decompressor can be created.
    pub fn events(&self, limits: &Limits) -> Result<PayloadEvents<'e>, Fault> {
        let source = match self.compression {
            Compression::None => Source::Clear(self.compressed),
            Compression::Zstd => {
                let failed = |_| Fault::Compression { what: WHAT };
                let mut decoder = zstd::Decoder::with_buffer(self.compressed).map_err(failed)?;
                decoder.window_log_max(limits.window_log).map_err(failed)?;
                Source::Zstd(Box::new(BufReader::new(decoder)))
            }
        };
        Ok(PayloadEvents { source, left: self.uncompressed_bytes, event: Vec::new(), limit: limits.event_bytes })
    }
}

enum Source<'e> {
    Clear(&'e [u8]),
    Zstd(Box<BufReader<zstd::Decoder<'static, &'e [u8]>>>),
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Clear(bytes) => bytes.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

/// Decompresses the events of a transaction.
pub struct PayloadEvents<'e> {
    source: Source<'e>,
    /// Number of decompressed bytes that remain.
    left: u64,
    event: Vec<u8>,
    limit: u64,
}

impl PayloadEvents<'_> {
    /// The bytes of the next event, for [`Decoder::decode_inside`](crate::Decoder::decode_inside); `None` after the
    /// last.
    ///
    /// # Errors
    /// [`Fault`] if the stream is damaged, longer or shorter than announced, or an event exceeds the limit.
    pub fn next_event(&mut self) -> Result<Option<&[u8]>, Fault> {
        if self.left == 0 {
            let mut more = [0];
            let ended = self.source.read(&mut more).map_err(|_| Fault::Compression { what: WHAT })? == 0;
            return if ended { Ok(None) } else { Err(Fault::Malformed { what: WHAT }) };
        }
        self.event.clear();
        self.read(as_u64(HEADER_BYTES))?;
        let bytes = u64::from(EventHeader::parse(&self.event)?.event_bytes);
        if bytes > self.limit {
            return Err(Fault::TooLarge { what: "event", bytes, limit: self.limit });
        }
        self.read(bytes.saturating_sub(as_u64(HEADER_BYTES)))?;
        Ok(Some(&self.event))
    }

    /// Appends `count` bytes to the event. Its memory grows only with the bytes that arrive.
    fn read(&mut self, count: u64) -> Result<(), Fault> {
        self.left = self.left.checked_sub(count).ok_or(Fault::Short { what: WHAT })?;
        let found = self.source.by_ref().take(count).read_to_end(&mut self.event);
        let found = found.map_err(|_| Fault::Compression { what: WHAT })?;
        if as_u64(found) == count { Ok(()) } else { Err(Fault::Short { what: WHAT }) }
    }
}

impl std::fmt::Debug for PayloadEvents<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PayloadEvents").field("left", &self.left).finish_non_exhaustive()
    }
}
