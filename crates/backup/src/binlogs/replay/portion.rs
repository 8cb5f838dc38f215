//! Events that are applied at once: whole transactions, limited by the free memory.

use binlog::{EventType, event::Query};

use crate::{Error, binlogs::events::LogEvent};

/// Bytes of events that are in memory at once, at least and at most, unless a single transaction is longer.
const PORTION_BYTES: (u64, u64) = (4 << 20, 128 << 20);

/// Size of a portion: a quarter of the free memory. The server's temporary files and its copies of the events need
/// room, too.
pub(super) fn portion_bytes(free: u64) -> usize {
    let (least, most) = PORTION_BYTES;
    usize::try_from((free / 4).clamp(least, most)).unwrap_or(usize::MAX)
}

/// Events of a log.
pub(super) struct Log {
    pub(super) file: String,
    pub(super) bytes: Vec<u8>,
}

/// Events that are not applied yet, by log.
#[derive(Default)]
pub(super) struct Portion {
    pub(super) logs: Vec<Log>,
    /// The first events of the current log, which describe it.
    head: Vec<u8>,
    server: String,
    file: String,
    pub(super) bytes: usize,
    pub(super) transactions: u64,
    pub(super) has_gtids: bool,
    pub(super) has_anonymous: bool,
}

impl Portion {
    /// Adds an event; `is_before`: the backup has its transaction.
    pub(super) fn add(&mut self, event: &LogEvent<'_>, is_before: bool) {
        if (self.server.as_str(), self.file.as_str()) != (event.server, event.file) {
            event.server.clone_into(&mut self.server);
            event.file.clone_into(&mut self.file);
            self.head.clear();
            self.logs.push(Log { file: self.file.clone(), bytes: Vec::new() });
        }
        match event.kind {
            EventType::FORMAT_DESCRIPTION | EventType::PREVIOUS_GTIDS => {
                self.head.extend_from_slice(event.bytes);
                self.push(event.bytes);
            }
            // These belong to the log, not to a transaction.
            EventType::ROTATE | EventType::STOP | EventType::GTID_LIST | EventType::BINLOG_CHECKPOINT => {}
            _ if is_before => {}
            kind => {
                self.has_gtids |= matches!(kind, EventType::GTID | EventType::GTID_TAGGED);
                self.has_anonymous |= kind == EventType::ANONYMOUS_GTID;
                self.push(event.bytes);
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(log) = self.logs.last_mut() {
            log.bytes.extend_from_slice(bytes);
            self.bytes = self.bytes.saturating_add(bytes.len());
        }
    }

    /// Replaces the last event, a statement, by others, which keep its GTID.
    pub(super) fn replace_last(&mut self, event: &LogEvent<'_>, statements: &[&[u8]]) -> Result<(), Error> {
        let fault =
            |fault| Error::Binlog(binlog::Error::Stream { file: event.file.to_owned(), position: event.start, fault });
        if let Some(log) = self.logs.last_mut() {
            log.bytes.truncate(log.bytes.len().saturating_sub(event.bytes.len()));
            for statement in statements {
                log.bytes.extend(Query::with_statement(event.bytes, statement).map_err(fault)?);
            }
        }
        Ok(())
    }

    pub(super) fn end_transaction(&mut self, is_new: bool) {
        self.transactions = self.transactions.saturating_add(u64::from(is_new));
    }

    /// Takes all events. The next portion begins in the same log.
    pub(super) fn take(&mut self) -> Self {
        let log = Log { file: self.file.clone(), bytes: self.head.clone() };
        let (server, file) = (self.server.clone(), self.file.clone());
        let next = Self { logs: vec![log], head: self.head.clone(), server, file, ..Self::default() };
        std::mem::replace(self, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portion_leaves_room_in_memory() {
        const MIB: usize = 1 << 20;
        assert_eq!(portion_bytes(64 << 20), 16 * MIB);
        assert_eq!(portion_bytes(8 << 20), 4 * MIB);
        assert_eq!(portion_bytes(u64::MAX), 128 * MIB);
    }
}
