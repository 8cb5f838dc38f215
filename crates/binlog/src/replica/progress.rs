//! How far a stream of events has come: position and GTIDs.

use innodb::binlog::LogPosition;
use replication::gtid::{
    mariadb::{Gtid as MariaDbGtid, GtidPosition},
    mysql::GtidSet,
};

use super::Start;
use crate::{Body, Event, event::Gtid};

/// Position and transactions that a stream has delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Position after the last event whose end is known. MariaDB 11.4 and newer state it only at the end of a
    /// transaction.
    pub position: LogPosition,
    /// Position after the last whole transaction, or the start of the log. A stream can begin here.
    pub boundary: LogPosition,
    /// MySQL: transactions that were delivered whole, and those before the start of the stream.
    pub mysql: GtidSet,
    /// MariaDB: the last transaction of each domain that was delivered whole or was before the start of the stream.
    pub mariadb: GtidPosition,
    /// The transaction that is being delivered.
    pending: Option<Pending>,
    /// Whether the next statements belong to a transaction.
    inside: bool,
    /// Whether events of a transaction were delivered, but not its end.
    open: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pending {
    MySql(Gtid),
    MariaDb(MariaDbGtid),
}

impl Progress {
    /// Progress before the first event.
    #[must_use]
    pub fn new(start: &Start) -> Self {
        let mut progress = Self::default();
        match start {
            Start::Position(position) => {
                progress.position = position.clone();
                progress.boundary = position.clone();
            }
            Start::MySql(set) => progress.mysql = set.clone(),
            Start::MariaDb(position) => progress.mariadb = position.clone(),
        }
        progress
    }

    /// Records the next event of the stream or log.
    pub fn note(&mut self, event: &Event<'_>) {
        if let Body::Rotate(rotate) = &event.body {
            let file = String::from_utf8_lossy(rotate.file).into_owned();
            self.position = LogPosition { file, offset: rotate.position };
            // A transaction that a crash has cut off has no end in its log.
            (self.pending, self.inside, self.open) = (None, false, false);
            self.boundary = self.position.clone();
            return;
        }
        if !event.header.is_artificial() && event.header.end_position != 0 && !matches!(event.body, Body::Heartbeat(_))
        {
            self.position.offset = unwrapped(self.position.offset, event.header.end_position);
        }
        self.transaction(&event.body);
    }

    /// Whether the stream is between transactions, so that the delivered events can be kept. Unlike [`Self::boundary`],
    /// this includes events between transactions, such as those at the beginning of a log.
    #[must_use]
    pub const fn is_between_transactions(&self) -> bool {
        !self.open
    }

    fn transaction(&mut self, body: &Body<'_>) {
        self.open |= opens_transaction(body);
        match body {
            Body::Gtid(event) => self.begin(event.gtid.clone().map(Pending::MySql), false),
            Body::MariaDbGtid(event) => {
                self.begin(Some(Pending::MariaDb(event.gtid)), !event.is_standalone());
            }
            Body::Query(query) if begins_transaction(&query.statement) => self.inside = true,
            body if ends_transaction(body, self.inside) => self.end(),
            _ => {}
        }
    }

    fn begin(&mut self, pending: Option<Pending>, inside: bool) {
        self.pending = pending;
        self.inside = inside;
        self.open = true;
    }

    fn end(&mut self) {
        match self.pending.take() {
            Some(Pending::MySql(gtid)) => self.mysql.insert(&gtid.uuid.to_string(), &gtid.tag, gtid.number),
            Some(Pending::MariaDb(gtid)) => self.mariadb.advance(gtid),
            None => {}
        }
        (self.inside, self.open) = (false, false);
        self.boundary = self.position.clone();
    }
}

/// Whether an event belongs to a transaction, even if no GTID event precedes it.
const fn opens_transaction(body: &Body<'_>) -> bool {
    matches!(
        body,
        Body::Query(_)
            | Body::TableMap(_)
            | Body::Rows(_)
            | Body::RowsQuery(_)
            | Body::Intvar(_)
            | Body::Rand(_)
            | Body::UserVar(_)
    )
}

fn begins_transaction(statement: &[u8]) -> bool {
    let statement = statement.trim_ascii();
    statement == b"BEGIN" || statement.starts_with(b"XA START")
}

/// The first position from `before` on whose low 32 bits are `low`.
fn unwrapped(before: u64, low: u32) -> u64 {
    const WRAP: u64 = 1 << 32;
    let candidate = (before & !(WRAP.wrapping_sub(1))) | u64::from(low);
    if candidate < before { candidate.saturating_add(WRAP) } else { candidate }
}

/// Whether an event is a whole transaction, or ends one.
fn ends_transaction(body: &Body<'_>, inside: bool) -> bool {
    match body {
        Body::Xid(_) | Body::XaPrepare(_) | Body::Payload(_) => true,
        Body::Query(query) => match query.statement.trim_ascii() {
            b"COMMIT" | b"ROLLBACK" => true,
            // DDL, or a statement of MariaDB outside of a transaction.
            _ => !inside,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_beyond_4_gib_are_unwrapped() {
        assert_eq!(unwrapped(4, 300), 300);
        assert_eq!(unwrapped(u64::from(u32::MAX), 100), (1 << 32) + 100);
        assert_eq!(unwrapped((1 << 32) + 100, 200), (1 << 32) + 200);
    }
}
