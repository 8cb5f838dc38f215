//! Decodes the bytes of events, in the order of the log.

use std::sync::Arc;

use crate::{
    Checksum, EventHeader, EventType, Fault, HEADER_BYTES, Limits,
    bytes::{Bytes, as_u64},
    event::{
        AnnotateRows, BinlogCheckpoint, Body, Event, FormatDescription, GtidEvent, GtidList, Heartbeat, Incident,
        Intvar, MariaDbGtid, Payload, PreviousGtids, Query, Rand, Rotate, Rows, StartEncryption, TableMap, UserVar,
        ViewChange, XaPrepare,
    },
    tables::Tables,
};

/// Decodes the events of a log or stream, one after the other.
///
/// It keeps the facts that later events depend on: the checksum algorithm, lengths of headers, and the tables of the
/// current statement.
#[derive(Debug, Default)]
pub struct Decoder {
    limits: Limits,
    checksum: Checksum,
    format: Option<FormatDescription>,
    tables: Tables,
}

impl Decoder {
    /// A decoder for the start of a log or stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Sets the checksum algorithm of the events before the first format description event. A server sends one such
    /// event to a replica, a rotate event, with a checksum if the replica has requested checksums.
    pub(crate) const fn expect_checksum(&mut self, checksum: Checksum) {
        self.checksum = checksum;
    }

    /// The format description event of the current log.
    #[must_use]
    pub const fn format(&self) -> Option<&FormatDescription> {
        self.format.as_ref()
    }

    /// The limits that were given to [`Self::new`].
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Decodes an event.
    ///
    /// # Errors
    /// [`Fault`]. An event of an unknown type is not a fault, see [`Body::Other`]. After a fault the decoder can decode
    /// the next event, but the tables of the statement may be missing.
    pub fn decode<'e>(&mut self, event: &'e [u8]) -> Result<Event<'e>, Fault> {
        let header = self.header(event)?;
        let covered = match header.kind {
            EventType::FORMAT_DESCRIPTION => FormatDescription::checksum_of(event)?.strip(event)?,
            kind => self.checksum.strip(event, kind)?,
        };
        let body = self.body(&header, covered)?;
        if let Body::FormatDescription(format) = &body {
            self.checksum = format.checksum;
            self.format = Some(format.clone());
            self.tables.clear();
        }
        Ok(Event { header, body })
    }

    /// Decodes an event of a [`Payload`]; these have no checksum of their own.
    ///
    /// # Errors
    /// As [`Self::decode`], and [`Fault::Misplaced`] for an event that does not occur in transactions.
    pub fn decode_inside<'e>(&mut self, event: &'e [u8]) -> Result<Event<'e>, Fault> {
        let header = self.header(event)?;
        if matches!(header.kind, EventType::FORMAT_DESCRIPTION | EventType::TRANSACTION_PAYLOAD | EventType::ROTATE) {
            return Err(Fault::Misplaced(header.kind));
        }
        let body = self.body(&header, event)?;
        Ok(Event { header, body })
    }

    fn header(&self, event: &[u8]) -> Result<EventHeader, Fault> {
        let (bytes, limit) = (as_u64(event.len()), self.limits.event_bytes);
        if bytes > limit {
            return Err(Fault::TooLarge { what: "event", bytes, limit });
        }
        let header = EventHeader::parse(event)?;
        if u64::from(header.event_bytes) == bytes { Ok(header) } else { Err(Fault::Malformed { what: "event length" }) }
    }

    /// Decodes the part after the header; `covered` has no checksum.
    fn body<'e>(&mut self, header: &EventHeader, covered: &'e [u8]) -> Result<Body<'e>, Fault> {
        let (_, content) = covered.split_at_checked(HEADER_BYTES).ok_or(Fault::Short { what: "event" })?;
        let kind = header.kind;
        let bytes = |what| Bytes::new(content, what);
        Ok(match kind {
            EventType::FORMAT_DESCRIPTION => Body::FormatDescription(FormatDescription::parse(content)?),
            EventType::ROTATE => Body::Rotate(Rotate::parse(bytes("rotate event"))?),
            EventType::STOP => Body::Stop,
            EventType::QUERY => Body::Query(Query::parse(bytes("query event"), self.post_header(kind))?),
            EventType::QUERY_COMPRESSED => {
                Body::Query(Query::decompress(bytes("query event"), self.limits.event_bytes)?)
            }
            EventType::XID => Body::Xid(bytes("commit event").u64()?),
            EventType::GTID | EventType::ANONYMOUS_GTID => {
                Body::Gtid(GtidEvent::parse(bytes("GTID event"), kind == EventType::GTID)?)
            }
            EventType::GTID_TAGGED => Body::Gtid(GtidEvent::parse_tagged(bytes("tagged GTID event"))?),
            EventType::PREVIOUS_GTIDS => Body::PreviousGtids(PreviousGtids::parse(bytes("previous GTIDs"))?),
            EventType::GTID_MARIADB => Body::MariaDbGtid(MariaDbGtid::parse(bytes("GTID event"), header.server_id)?),
            EventType::GTID_LIST => Body::GtidList(GtidList::parse(bytes("GTID list"))?),
            EventType::TABLE_MAP => Body::TableMap(self.table_map(header, content)?),
            EventType::ROWS_QUERY => Body::RowsQuery(AnnotateRows::parse_rows_query(bytes("statement of rows"))?),
            EventType::ANNOTATE_ROWS => Body::RowsQuery(AnnotateRows { statement: content }),
            EventType::INTVAR => Body::Intvar(Intvar::parse(bytes("intvar event"))?),
            EventType::RAND => Body::Rand(Rand::parse(bytes("rand event"))?),
            EventType::USER_VAR => Body::UserVar(UserVar::parse(bytes("user variable"))?),
            EventType::HEARTBEAT => Body::Heartbeat(Heartbeat::parse(content, header)),
            EventType::HEARTBEAT_V2 => Body::Heartbeat(Heartbeat::parse_v2(bytes("heartbeat"))?),
            EventType::INCIDENT => Body::Incident(Incident::parse(bytes("incident event"))?),
            EventType::XA_PREPARE => Body::XaPrepare(XaPrepare::parse(bytes("XA prepare event"))?),
            EventType::VIEW_CHANGE => Body::ViewChange(ViewChange::parse(bytes("view change event"))?),
            EventType::TRANSACTION_PAYLOAD => Body::Payload(Payload::parse(bytes("compressed transaction"))?),
            EventType::BINLOG_CHECKPOINT => {
                Body::BinlogCheckpoint(BinlogCheckpoint::parse(bytes("binlog checkpoint"))?)
            }
            EventType::START_ENCRYPTION | EventType::START_ENCRYPTION_PERCONA => {
                Body::StartEncryption(StartEncryption::parse(bytes("start encryption event"))?)
            }
            kind if Rows::change_of(kind).is_some() => self.rows(kind, content)?,
            _ => Body::Other(content),
        })
    }

    /// Length of the fixed part after the header of this type, if the log states it.
    fn post_header(&self, kind: EventType) -> Option<u8> {
        self.format.as_ref()?.post_header_bytes(kind)
    }

    fn table_map(&mut self, header: &EventHeader, content: &[u8]) -> Result<Arc<TableMap>, Fault> {
        let mariadb = self.format.as_ref().is_some_and(FormatDescription::is_mariadb);
        let bytes = Bytes::new(content, "table map");
        let table = Arc::new(TableMap::parse(bytes, self.post_header(header.kind), mariadb)?);
        self.tables.insert(&table, u64::from(header.event_bytes), self.limits.table_bytes)?;
        Ok(table)
    }

    fn rows<'e>(&mut self, kind: EventType, content: &'e [u8]) -> Result<Body<'e>, Fault> {
        let mut rows = Rows::parse(kind, content, self.post_header(kind), self.limits.event_bytes)?;
        rows.table = self.tables.find(rows.table_id);
        if rows.ends_statement() {
            self.tables.clear();
        }
        Ok(Body::Rows(rows))
    }
}
