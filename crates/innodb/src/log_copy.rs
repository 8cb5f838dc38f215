//! The redo log of a running MariaDB (10.8 and newer), copied from a checkpoint on.
//!
//! The server writes its log in a ring in one file. If copying the data files takes longer than one pass over that
//! file, the copy needs more of the log than the file holds at any moment. So the log is read while it is written,
//! mini-transaction by mini-transaction, and written to a separate file that never wraps: its first byte after the
//! header is the checkpoint, and every sequence byte is that of the first pass. The only byte of a mini-transaction
//! that depends on the pass is the sequence byte, which no checksum and no cipher covers, so the copy needs no key.
//!
//! The log is read only up to the position that the server reports as written. Blocks after it still hold earlier
//! content of the log buffer: old mini-transactions with valid checksums. A reader that sees such a block while it is
//! being written may miss the zero that ends the log before them. Seen on 10.11: a copy that read ahead continued with
//! such a mini-transaction.
//!
//! Source: docs/formats, "Redo (`ib_logfile0`)"; `log0recv.cc` (`recv_sys_t::find_checkpoint`, `parse_mtr`). MariaDB
//! 10.11 recovered copies made this way, clear and encrypted.

use std::io;

use files::{ReadAt, read_up_to};
use thiserror::Error;

use crate::{
    bytes::{Bytes, as_u64, as_usize, put},
    ids::Lsn,
    page::checksum::crc32c,
    redo::{
        RedoFormat,
        phys::{Checkpoint, FIRST_LSN, Geometry, HEAD_BYTES, HEADER_CHECKSUM, KEY_ID, judge, tail_bytes},
        recognise,
        records::MAX_BYTES,
    },
};

/// Why a log cannot be copied.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogCopyFault {
    /// The log cannot be read.
    #[error("the redo log cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The log has another format, or is damaged.
    #[error("the redo log cannot be copied: {0}")]
    Unusable(&'static str),
    /// The server replaced the log with another file.
    #[error("the redo log was resized while it was copied")]
    Resized,
    /// The server overwrote part of the log before it was copied.
    #[error(
        "the server overwrote its redo log before it was copied: the copy is at LSN {position}, the checkpoint at \
         {checkpoint}"
    )]
    Overrun {
        /// LSN up to which the log was copied.
        position: Lsn,
        /// The server's newest checkpoint.
        checkpoint: Lsn,
    },
}

/// Bytes read at once. The window grows while the copy lags.
const MIN_WINDOW: usize = 64 << 10;
const MAX_WINDOW: usize = 4 * MAX_BYTES;

/// A log that is being copied.
#[derive(Debug)]
pub struct LogCopy {
    head: Vec<u8>,
    geometry: Geometry,
    encrypted: bool,
    checkpoint: Checkpoint,
    /// The checkpoint in the copy's header.
    recover_from: Checkpoint,
    position: u64,
    window_bytes: usize,
}

impl LogCopy {
    /// Starts a copy at the newest checkpoint of a log in use.
    ///
    /// # Errors
    /// [`LogCopyFault::Unusable`] if it is not a log of MariaDB 10.8 or newer, or has no checkpoint;
    /// [`LogCopyFault::Io`].
    pub fn begin<R: ReadAt + ?Sized>(log: &R) -> Result<Self, LogCopyFault> {
        let mut head = vec![0; HEAD_BYTES];
        read_exact(log, 0, &mut head)?;
        let format = recognise(&head);
        let encrypted = match format {
            Some(RedoFormat::MariaDbPhys) => head.be32(KEY_ID) != Some(0),
            Some(RedoFormat::MariaDbEncrypted) => true,
            _ => return Err(LogCopyFault::Unusable("it is not of MariaDB 10.8 or newer")),
        };
        if head.be32(HEADER_CHECKSUM) != Some(crc32c(head.range(0, HEADER_CHECKSUM))) {
            return Err(LogCopyFault::Unusable("the checksum of its header does not match"));
        }
        let first = Lsn(head.be64(FIRST_LSN).unwrap_or_default());
        let geometry = Geometry { first, capacity: log.len()?.saturating_sub(as_u64(HEAD_BYTES)) };
        if geometry.capacity == 0 {
            return Err(LogCopyFault::Unusable("it has no bytes after its header"));
        }
        let checkpoint = Checkpoint::newest(log, first)?;
        let checkpoint = checkpoint.ok_or(LogCopyFault::Unusable("it has no checkpoint"))?;
        let (position, window_bytes) = (checkpoint.lsn.0, MAX_WINDOW);
        Ok(Self { head, geometry, encrypted, checkpoint, recover_from: checkpoint, position, window_bytes })
    }

    /// LSN at which the copy begins: the checkpoint.
    #[must_use]
    pub const fn start(&self) -> Lsn {
        self.checkpoint.lsn
    }

    /// LSN up to which the log was copied.
    #[must_use]
    pub const fn position(&self) -> Lsn {
        Lsn(self.position)
    }

    /// Appends the next few MiB of whole mini-transactions before `written` to `out`. `written` is the LSN up to which
    /// the server had written its log before this call. Appends nothing if nothing can be read yet.
    ///
    /// # Errors
    /// [`LogCopyFault::Overrun`], [`LogCopyFault::Resized`], [`LogCopyFault::Io`]: the copy is lost.
    pub fn advance<R: ReadAt + ?Sized>(
        &mut self,
        log: &R,
        written: Lsn,
        out: &mut Vec<u8>,
    ) -> Result<(), LogCopyFault> {
        let ahead = written.0.saturating_sub(self.position);
        let mut window = self.read_window(log)?;
        window.truncate(as_usize(ahead));
        self.check_not_overrun(log)?;
        let mut at = 0;
        while let Some((records, bytes)) = self.mini_transaction(window.range(at, window.len())) {
            let found = window.range(at, at.saturating_add(bytes));
            out.extend_from_slice(found.range(0, records));
            // In the copy every mini-transaction belongs to the first pass.
            out.push(1);
            out.extend_from_slice(found.range(records.saturating_add(1), bytes));
            at = at.saturating_add(bytes);
            self.position = self.position.saturating_add(as_u64(bytes));
        }
        // The window may end in the middle of the next mini-transaction.
        let behind = ahead > as_u64(at);
        self.window_bytes = if behind { self.window_bytes.saturating_mul(4).min(MAX_WINDOW) } else { MIN_WINDOW };
        Ok(())
    }

    /// Makes recovery begin at the newest checkpoint in the copied log. For tests only: **data files that were copied
    /// before that checkpoint are then wrong**.
    ///
    /// # Errors
    /// [`LogCopyFault::Io`].
    #[doc(hidden)]
    pub fn recover_from_newest<R: ReadAt + ?Sized>(&mut self, log: &R) -> Result<(), LogCopyFault> {
        let newest = Checkpoint::newest(log, self.geometry.first)?.filter(|newest| newest.end.0 < self.position);
        self.recover_from = newest.unwrap_or(self.checkpoint);
        Ok(())
    }

    /// The header of the copy. It has one checkpoint, at the first position.
    #[must_use]
    pub fn head(&self) -> Vec<u8> {
        let mut head = vec![0; HEAD_BYTES];
        let (header, checkpoints) = head.split_at_mut(as_usize(Checkpoint::OFFSETS[0]));
        for (to, from) in header.iter_mut().zip(&self.head) {
            *to = *from;
        }
        put(header, FIRST_LSN, &self.checkpoint.lsn.0.to_be_bytes());
        let sum = crc32c(header.range(0, HEADER_CHECKSUM));
        put(header, HEADER_CHECKSUM, &sum.to_be_bytes());
        put(checkpoints, 0, &self.recover_from.bytes());
        head
    }

    /// Length of a log file with `copied` bytes of log after its header: whole blocks, with space for the zero that
    /// ends the log, and at least the shortest length that servers use.
    #[must_use]
    pub fn file_bytes(copied: u64) -> u64 {
        const BLOCK_BYTES: u64 = 4096;
        const MIN_BYTES: u64 = 4 << 20;
        let bytes = as_u64(HEAD_BYTES).saturating_add(copied).saturating_add(1);
        bytes.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(bytes).max(MIN_BYTES)
    }

    fn read_window<R: ReadAt + ?Sized>(&self, log: &R) -> Result<Vec<u8>, LogCopyFault> {
        let wanted = as_usize(self.geometry.capacity).min(self.window_bytes);
        let mut window = vec![0; wanted];
        let offset = self.geometry.offset(self.position);
        let to_end = as_usize(self.geometry.file_bytes().saturating_sub(offset)).min(wanted);
        let (before, behind) = window.split_at_mut(to_end);
        read_exact(log, offset, before)?;
        read_exact(log, as_u64(HEAD_BYTES), behind)?;
        Ok(window)
    }

    /// Checks that the checkpoint is less than one pass ahead of the copy. The server never writes more than one pass
    /// ahead of its checkpoint, so data of the next pass has another sequence byte and cannot be mistaken for data of
    /// this one.
    fn check_not_overrun<R: ReadAt + ?Sized>(&self, log: &R) -> Result<(), LogCopyFault> {
        let mut first = [0; 8];
        read_exact(log, as_u64(FIRST_LSN), &mut first)?;
        if u64::from_be_bytes(first) != self.geometry.first.0 || log.len()? != self.geometry.file_bytes() {
            return Err(LogCopyFault::Resized);
        }
        let Some(newest) = Checkpoint::newest(log, self.geometry.first)? else { return Ok(()) };
        if newest.lsn.0 >= self.position.saturating_add(self.geometry.capacity) {
            return Err(LogCopyFault::Overrun { position: self.position(), checkpoint: newest.lsn });
        }
        Ok(())
    }

    /// Parses the valid mini-transaction at the start of `bytes`. Returns the lengths of its records and of all of it.
    fn mini_transaction(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let tail = tail_bytes(self.encrypted);
        let all = judge(bytes, self.position, self.geometry, tail)?.ok()?;
        Some((all.checked_sub(tail)?, all))
    }
}

fn read_exact<R: ReadAt + ?Sized>(log: &R, offset: u64, buf: &mut [u8]) -> io::Result<()> {
    let read = read_up_to(log, offset, buf)?;
    if read < buf.len() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bytes::all_zero, keys::NoKeys, verify::redo::verify};

    const FIRST: u64 = 5000;

    /// A mini-transaction of that many bytes at a position.
    fn mini_transaction(lsn: u64, bytes: usize, capacity: u64) -> Vec<u8> {
        let payload = bytes - 6;
        assert!(payload < 16);
        let mut unit = vec![0x30 | u8::try_from(payload).unwrap()];
        unit.extend((0..payload).map(|byte| 2 + byte as u8));
        let sum = crc32c(&unit);
        let round = (lsn + unit.len() as u64 - FIRST) / capacity;
        unit.push(u8::from(round.is_multiple_of(2)));
        unit.extend(sum.to_be_bytes());
        unit
    }

    struct Server {
        file: Vec<u8>,
        capacity: u64,
        lsn: u64,
    }

    impl Server {
        fn new(capacity: u64) -> Self {
            let mut file = vec![0; HEAD_BYTES + capacity as usize];
            put(&mut file, 0, b"Phys");
            put(&mut file, FIRST_LSN, &FIRST.to_be_bytes());
            put(&mut file, 16, b"MariaDB 10.11.19");
            let sum = crc32c(&file[..HEADER_CHECKSUM]);
            put(&mut file, HEADER_CHECKSUM, &sum.to_be_bytes());
            let mut server = Self { file, capacity, lsn: FIRST };
            server.checkpoint(FIRST, 0);
            server
        }

        fn checkpoint(&mut self, lsn: u64, number: usize) {
            let block = Checkpoint { lsn: Lsn(lsn), end: Lsn(lsn) }.bytes();
            put(&mut self.file, Checkpoint::OFFSETS[number] as usize, &block);
        }

        fn write(&mut self, bytes: usize) {
            let unit = mini_transaction(self.lsn, bytes, self.capacity);
            for byte in unit {
                let at = (self.lsn - FIRST) % self.capacity;
                self.file[HEAD_BYTES + at as usize] = byte;
                self.lsn += 1;
            }
        }
    }

    #[test]
    fn a_log_that_wrapped_becomes_one_that_does_not() {
        let mut server = Server::new(1000);
        let mut copy = LogCopy::begin(server.file.as_slice()).unwrap();
        let mut out = Vec::new();
        for number in 0..500 {
            server.write(7 + number % 15);
            server.checkpoint(server.lsn - 7, number % 2);
            if number % 3 == 0 {
                copy.advance(server.file.as_slice(), Lsn(server.lsn), &mut out).unwrap();
            }
        }
        copy.advance(server.file.as_slice(), Lsn(server.lsn), &mut out).unwrap();
        assert_eq!(copy.position(), Lsn(server.lsn));
        assert_eq!(out.len() as u64, server.lsn - FIRST);
        let mut file = copy.head();
        file.extend_from_slice(&out);
        file.resize(as_usize(LogCopy::file_bytes(out.len() as u64)), 0);
        let report = verify(file.as_slice(), &NoKeys, None).unwrap();
        assert_eq!((report.checkpoint_lsn, report.end_lsn), (Some(Lsn(FIRST)), Some(Lsn(server.lsn))), "{report:?}");
        assert_eq!(report.file.units.total, 500);
    }

    #[test]
    fn a_partly_written_mini_transaction_is_not_copied_yet() {
        let mut server = Server::new(1000);
        let mut copy = LogCopy::begin(server.file.as_slice()).unwrap();
        let before = server.file.clone();
        server.write(20);
        let mut half = server.file.clone();
        half[HEAD_BYTES + 10..HEAD_BYTES + 20].copy_from_slice(&before[HEAD_BYTES + 10..HEAD_BYTES + 20]);
        let mut out = Vec::new();
        copy.advance(half.as_slice(), Lsn(server.lsn), &mut out).unwrap();
        assert!(out.is_empty());
        copy.advance(server.file.as_slice(), Lsn(server.lsn), &mut out).unwrap();
        assert_eq!(out.len(), 20);
    }

    #[test]
    fn nothing_beyond_the_written_lsn_is_copied() {
        let mut server = Server::new(1000);
        let mut copy = LogCopy::begin(server.file.as_slice()).unwrap();
        server.write(20);
        let written = Lsn(server.lsn);
        server.write(20);
        let mut out = Vec::new();
        copy.advance(server.file.as_slice(), written, &mut out).unwrap();
        assert_eq!((out.len(), copy.position()), (20, written));
    }

    #[test]
    fn a_copy_that_the_server_overran_fails() {
        let mut server = Server::new(1000);
        let mut copy = LogCopy::begin(server.file.as_slice()).unwrap();
        let mut out = Vec::new();
        (0..60).for_each(|_| server.write(20));
        copy.advance(server.file.as_slice(), Lsn(server.lsn), &mut out).unwrap();
        assert!(out.is_empty(), "the first round is overwritten, and the next one is not taken for it");
        (0..60).for_each(|_| server.write(20));
        server.checkpoint(server.lsn, 1);
        let ended = copy.advance(server.file.as_slice(), Lsn(server.lsn), &mut out);
        assert!(matches!(ended, Err(LogCopyFault::Overrun { .. })), "{ended:?}");
    }

    #[test]
    fn a_replaced_log_file_ends_the_copy() {
        let mut server = Server::new(1000);
        let mut copy = LogCopy::begin(server.file.as_slice()).unwrap();
        server.file.resize(HEAD_BYTES + 2000, 0);
        let ended = copy.advance(server.file.as_slice(), Lsn(server.lsn), &mut Vec::new());
        assert!(matches!(ended, Err(LogCopyFault::Resized)), "{ended:?}");
        assert!(matches!(LogCopy::begin([0; 20000].as_slice()), Err(LogCopyFault::Unusable(_))));
        assert!(matches!(LogCopy::begin([0; 200].as_slice()), Err(LogCopyFault::Io(_))));
        assert!(all_zero(&copy.head()[8192..]));
    }
}
