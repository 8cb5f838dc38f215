//! The events of a log, one type for each kind of event.
//!
//! Source: `binlog_event.h`, `control_events.h`, `rows_event.h` of MySQL, `log_event.h` of MariaDB; confirmed against
//! `mysqlbinlog` and `mariadb-binlog` on logs of MySQL 5.6 to 9.7 and MariaDB 10.11 to 11.8.

mod annotate;
mod compressed;
mod context;
mod format_description;
mod gtid;
mod heartbeat;
mod image;
mod incident;
mod mariadb_gtid;
mod payload;
mod previous_gtids;
mod query;
mod rotate;
mod rows;
mod serialized;
mod start_encryption;
mod status;
mod table_map;
mod table_metadata;
mod view_change;
mod xa;

use std::sync::Arc;

pub use self::{
    annotate::AnnotateRows,
    context::{Intvar, IntvarKind, Rand, UserVar, UserVarValue},
    format_description::FormatDescription,
    gtid::{Gtid, GtidEvent, LogicalClock, Uuid},
    heartbeat::Heartbeat,
    image::Row,
    incident::Incident,
    mariadb_gtid::{BinlogCheckpoint, GtidList, MariaDbGtid},
    payload::{Payload, PayloadEvents},
    previous_gtids::PreviousGtids,
    query::Query,
    rotate::Rotate,
    rows::{Change, RowChange, RowChanges, Rows},
    start_encryption::StartEncryption,
    status::StatusVariables,
    table_map::{KeyPart, TableMap},
    view_change::ViewChange,
    xa::{XaPrepare, Xid},
};
use crate::EventHeader;

/// An event: its header and its content.
#[derive(Clone, Debug)]
pub struct Event<'e> {
    /// Type, length, position and origin.
    pub header: EventHeader,
    /// Content of the event, by its type.
    pub body: Body<'e>,
}

/// Content of an event. Borrows from the bytes of the event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Body<'e> {
    /// The format of all following events.
    FormatDescription(FormatDescription),
    /// Name and position of the next log.
    Rotate(Rotate<'e>),
    /// The server was stopped.
    Stop,
    /// A statement, compressed or not.
    Query(Query<'e>),
    /// Commit, with the number of the transaction in the storage engines.
    Xid(u64),
    /// GTID of MySQL, or the fact that the transaction has none.
    Gtid(GtidEvent),
    /// MySQL: the GTIDs of all logs before this one.
    PreviousGtids(PreviousGtids),
    /// GTID of MariaDB.
    MariaDbGtid(MariaDbGtid<'e>),
    /// MariaDB: the last GTIDs before this log.
    GtidList(GtidList),
    /// MariaDB: the oldest log that recovery needs.
    BinlogCheckpoint(BinlogCheckpoint<'e>),
    /// A table, which precedes its rows.
    TableMap(Arc<TableMap>),
    /// Changed rows.
    Rows(Rows<'e>),
    /// The statement of the following rows, of MySQL or MariaDB.
    RowsQuery(AnnotateRows<'e>),
    /// A number for the next statement.
    Intvar(Intvar),
    /// Seeds for the next statement.
    Rand(Rand),
    /// A user variable for the next statement.
    UserVar(UserVar<'e>),
    /// The server has no events to send.
    Heartbeat(Heartbeat<'e>),
    /// The log may lack changes.
    Incident(Incident<'e>),
    /// End of a prepared XA transaction.
    XaPrepare(XaPrepare<'e>),
    /// The members of a group changed.
    ViewChange(ViewChange<'e>),
    /// A compressed transaction.
    Payload(Payload<'e>),
    /// All following events in this file are encrypted. A server that sends events decrypts them and omits this event.
    StartEncryption(StartEncryption),
    /// An event of another type: the bytes between its header and checksum.
    Other(&'e [u8]),
}
