//! The log of MariaDB 10.8 and newer: its checkpoints, file offsets of LSNs, and whether a mini-transaction is valid.
//!
//! The log is one stream of bytes that wraps around the file after the header. A mini-transaction does not record its
//! position; a sequence byte distinguishes two consecutive passes over the file.
//!
//! Source: docs/formats, "Redo (`ib_logfile0`)"; `log0recv.cc` (`recv_sys_t::find_checkpoint`, `parse_mtr`).

use std::io;

use files::{ReadAt, read_bytes};

use crate::{
    bytes::{Bytes, all_zero, as_u64},
    ids::Lsn,
    page::checksum::crc32c,
    redo::records::{self, Framing, frame},
};

/// Bytes of the header.
pub(crate) const HEAD_BYTES: usize = 12288;
/// Offset of the LSN of the first byte after the header.
pub(crate) const FIRST_LSN: usize = 8;
/// Offset of the number of the key, 0 in a clear log.
pub(crate) const KEY_ID: usize = 48;
/// Offset of the checksum of the bytes before it.
pub(crate) const HEADER_CHECKSUM: usize = 508;
pub(crate) const NONCE_BYTES: usize = 8;
/// Bytes of the checksum at the end of a mini-transaction.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// A checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// LSN at which recovery starts.
    pub(crate) lsn: Lsn,
    /// LSN of the mini-transaction that completes the checkpoint.
    pub(crate) end: Lsn,
}

impl Checkpoint {
    /// Offsets of both checkpoints in the header.
    pub(crate) const OFFSETS: [u64; 2] = [4096, 8192];
    /// Bytes of a checkpoint, including the checksum at its end.
    pub(crate) const BYTES: usize = 64;
    const END: usize = 8;
    const ZEROS: usize = 16;
    /// Offset of the checksum.
    pub(crate) const CHECKSUM: usize = 60;

    /// The checkpoint in `block` of a log that begins at `first`; `None` if it is not valid.
    pub(crate) fn parse(block: &[u8], first: Lsn) -> Option<Self> {
        let (lsn, end) = (Lsn(block.be64(0)?), Lsn(block.be64(Self::END)?));
        let sound = block.be32(Self::CHECKSUM)? == crc32c(block.range(0, Self::CHECKSUM));
        let plausible = lsn >= first && end >= lsn && all_zero(block.range(Self::ZEROS, Self::CHECKSUM));
        (sound && plausible).then_some(Self { lsn, end })
    }

    /// Reads the newest valid checkpoint of a log.
    pub(crate) fn newest<R: ReadAt + ?Sized>(log: &R, first: Lsn) -> io::Result<Option<Self>> {
        let mut newest = None;
        for offset in Self::OFFSETS {
            let block = read_bytes(log, offset, Self::BYTES)?;
            newest = Self::newer(newest, Self::parse(&block, first));
        }
        Ok(newest)
    }

    /// The newer of two checkpoints; the second if both are equally new, as in the server.
    pub(crate) fn newer(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let Some(found) = other else { return one };
        one.filter(|one| one.lsn > found.lsn).or(Some(found))
    }

    /// Encodes the checkpoint as in the header.
    pub(crate) fn bytes(&self) -> [u8; Self::BYTES] {
        let mut block = [0; Self::BYTES];
        let (fields, checksum) = block.split_at_mut(Self::CHECKSUM);
        for (to, from) in fields.iter_mut().zip(self.lsn.0.to_be_bytes().into_iter().chain(self.end.0.to_be_bytes())) {
            *to = from;
        }
        checksum.copy_from_slice(&crc32c(fields).to_be_bytes());
        block
    }
}

/// Maps LSNs to file offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// LSN of the first byte after the header.
    pub(crate) first: Lsn,
    /// Bytes after the header.
    pub(crate) capacity: u64,
}

impl Geometry {
    /// Offset in the file.
    pub(crate) fn offset(&self, lsn: u64) -> u64 {
        let ahead = lsn.saturating_sub(self.first.0).checked_rem(self.capacity).unwrap_or(0);
        ahead.saturating_add(as_u64(HEAD_BYTES))
    }

    /// Number of the pass over the file, from 0.
    pub(crate) fn pass(&self, lsn: u64) -> u64 {
        lsn.saturating_sub(self.first.0).checked_div(self.capacity).unwrap_or(0)
    }

    /// The valid sequence byte of a mini-transaction at this LSN.
    pub(crate) fn sequence_byte(&self, lsn: u64) -> u8 {
        u8::from(self.pass(lsn).is_multiple_of(2))
    }

    /// Length of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.capacity.saturating_add(as_u64(HEAD_BYTES))
    }
}

/// Why there is no valid mini-transaction at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A zero where a record should start.
    Nothing,
    /// A one where a record should start; no server writes that.
    NoRecord,
    /// The records do not end within the maximum length, or within the file.
    Endless,
    /// Sequence byte of an earlier or later pass over the file.
    Sequence,
    /// Wrong checksum.
    Checksum { expected: u32, found: u32, bytes: u64 },
}

/// Bytes of a mini-transaction after its records: sequence byte, nonce, checksum.
pub(crate) const fn tail_bytes(encrypted: bool) -> usize {
    let nonce = if encrypted { NONCE_BYTES } else { 0 };
    nonce.saturating_add(1).saturating_add(CHECKSUM_BYTES)
}

/// Length of the mini-transaction at the start of `bytes`, with `tail` bytes after its records; `None` if there are
/// too few bytes.
pub(crate) fn judge(bytes: &[u8], lsn: u64, geometry: Geometry, tail: usize) -> Option<Result<usize, Fault>> {
    let records = match frame(bytes) {
        Framing::Records(records) => records,
        Framing::More => return None,
        Framing::End if bytes.first() == Some(&0) => return Some(Err(Fault::Nothing)),
        Framing::End => return Some(Err(Fault::NoRecord)),
        Framing::TooLong => return Some(Err(Fault::Endless)),
    };
    let sequence = *bytes.get(records)?;
    if sequence != geometry.sequence_byte(lsn.saturating_add(as_u64(records))) {
        return Some(Err(Fault::Sequence));
    }
    let total = records.checked_add(tail)?;
    let checksum = total.checked_sub(CHECKSUM_BYTES)?;
    let found = bytes.be32(checksum)?;
    let nonce = bytes.range(records.checked_add(1)?, checksum);
    let expected = records::checksum(bytes.range(0, records), nonce);
    if found != expected {
        return Some(Err(Fault::Checksum { expected, found, bytes: as_u64(total) }));
    }
    Some(Ok(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_reads_back() {
        let checkpoint = Checkpoint { lsn: Lsn(6000), end: Lsn(7000) };
        let mut block = checkpoint.bytes();
        assert_eq!(Checkpoint::parse(&block, Lsn(5000)), Some(checkpoint));
        assert_eq!(Checkpoint::parse(&block, Lsn(6001)), None, "before the log begins");
        block[20] = 1;
        assert_eq!(Checkpoint::parse(&block, Lsn(5000)), None);
    }

    #[test]
    fn the_log_wraps_to_the_start_of_the_file() {
        let geometry = Geometry { first: Lsn(5000), capacity: 100 };
        assert_eq!((geometry.offset(5099), geometry.offset(5100)), (12387, 12288));
        assert_eq!((geometry.sequence_byte(5099), geometry.sequence_byte(5100)), (1, 0));
    }
}
