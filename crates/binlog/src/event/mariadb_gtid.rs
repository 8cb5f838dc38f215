//! GTIDs of MariaDB.

use replication::gtid::mariadb::Gtid;

use crate::{Fault, bytes::Bytes, event::Xid};

/// Begins a transaction of MariaDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MariaDbGtid<'e> {
    /// The GTID; its server is in the event's header.
    pub gtid: Gtid,
    /// Flags, see the constants.
    pub flags: u8,
    /// Transactions with the same number were committed together.
    pub commit_id: Option<u64>,
    /// Name of a prepared XA transaction, or of one that is completed.
    pub xid: Option<Xid<'e>>,
}

impl<'e> MariaDbGtid<'e> {
    /// One statement without an end: no commit follows.
    pub const STANDALONE: u8 = 1;
    /// The event has a [`Self::commit_id`].
    pub const GROUP_COMMIT: u8 = 2;
    /// DDL.
    pub const DEFINITION: u8 = 32;
    /// `XA PREPARE`.
    pub const PREPARED_XA: u8 = 64;
    /// `XA COMMIT` or `XA ROLLBACK` of a prepared transaction.
    pub const COMPLETED_XA: u8 = 128;

    pub(crate) fn parse(mut bytes: Bytes<'e>, server: u32) -> Result<Self, Fault> {
        let (sequence, domain, flags) = (bytes.u64()?, bytes.u32()?, bytes.u8()?);
        let has = |flag: u8| flags & flag != 0;
        let commit_id = if has(Self::GROUP_COMMIT) { Some(bytes.u64()?) } else { None };
        let xid = if has(Self::PREPARED_XA | Self::COMPLETED_XA) { Some(xid(&mut bytes)?) } else { None };
        // Padding, or further flags with their fields, may follow.
        Ok(Self { gtid: Gtid { domain, server, sequence }, flags, commit_id, xid })
    }

    /// Whether the transaction consists of one statement, without a commit after it.
    #[must_use]
    pub(crate) const fn is_standalone(&self) -> bool {
        self.flags & Self::STANDALONE != 0
    }
}

fn xid<'e>(bytes: &mut Bytes<'e>) -> Result<Xid<'e>, Fault> {
    let (format, global, branch) = (bytes.u32()?, bytes.u8()?, bytes.u8()?);
    Ok(Xid { format, global: bytes.take(usize::from(global))?, branch: bytes.take(usize::from(branch))? })
}

/// The last GTIDs of each domain and server in the logs before this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GtidList {
    /// The GTIDs; the last of a domain is its newest.
    pub gtids: Vec<Gtid>,
}

impl GtidList {
    pub(crate) fn parse(mut bytes: Bytes<'_>) -> Result<Self, Fault> {
        // The upper four bits are flags.
        let count = bytes.u32()? & 0x0fff_ffff;
        let mut gtids = Vec::new();
        for _ in 0..count {
            gtids.push(Gtid { domain: bytes.u32()?, server: bytes.u32()?, sequence: bytes.u64()? });
        }
        Ok(Self { gtids })
    }
}

/// The oldest log that recovery after a crash needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinlogCheckpoint<'e> {
    /// Name of that log.
    pub file: &'e [u8],
}

impl<'e> BinlogCheckpoint<'e> {
    pub(crate) fn parse(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        Ok(Self { file: bytes.prefixed(4)? })
    }
}
