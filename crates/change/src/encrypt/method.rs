//! How each table is encrypted. No release of MySQL changes `ENCRYPTION` of a table in place or without blocking
//! writers, so the server copies small tables and an online tool copies large ones.

use std::{path::Path, time::Duration};

use files::quantity::sizes;
use serde::Serialize;

use super::{Options, clear::ClearTable};
use crate::{
    Error, Session,
    schema_change_tools::{Installed, Table, Tool, unsupported_reason},
};

/// Assumed speed of the server's copy, in bytes per second: measured on two slow cores.
pub const ASSUMED_RATE: u64 = 40 << 20;

/// How tables are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The server's copy if it fits into the lock budget, otherwise an online tool.
    #[default]
    Auto,
    /// Always the server's copy.
    Native,
    /// gh-ost where possible, otherwise the server's copy if it fits into the budget.
    GhOst,
    /// pt-online-schema-change where possible, otherwise the server's copy if it fits into the budget.
    PtOsc,
    /// The server's copy, on a replica without writing clients that will replace the source.
    RebuildReplica,
}

/// How one table is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableMethod {
    /// The server's copy.
    Copy,
    /// An online tool.
    Online(Installed),
    /// Not at all, with the reason.
    Leave(String),
}

/// Chooses the method for each table.
pub(super) struct MethodPlanner<'o> {
    options: &'o Options,
    connect: &'o server::Options,
    tools: Vec<Result<Installed, String>>,
}

impl<'o> MethodPlanner<'o> {
    /// Checks what is installed. A method that cannot be used at all is an error.
    pub(super) fn new(
        session: &Session<'_>,
        options: &'o Options,
        connect: &'o server::Options,
    ) -> Result<Self, Error> {
        let version = session.identity().version.clone();
        let wanted: &[Tool] = match options.method {
            Method::Auto => &[Tool::GhOst, Tool::PtOsc],
            Method::GhOst => &[Tool::GhOst],
            Method::PtOsc => &[Tool::PtOsc],
            Method::Native | Method::RebuildReplica => &[],
        };
        let tools: Vec<_> = wanted.iter().map(|tool| tool.find(&version)).collect();
        let server = || session.identity().hostname.clone();
        if options.method != Method::Auto
            && let [Err(why)] = &tools[..]
        {
            return Err(Error::Unsupported { server: server(), reason: why.clone() });
        }
        Ok(Self { options, connect, tools })
    }

    /// The method for a table.
    pub(super) fn choose(&self, session: &mut Session<'_>, clear: &ClearTable) -> Result<TableMethod, Error> {
        if self.options.largest_table_bytes.is_some_and(|most| clear.bytes > most) {
            return Ok(TableMethod::Leave("it is larger than --largest-table".to_owned()));
        }
        let fits = estimate(clear.bytes) <= self.options.lock_budget;
        match self.options.method {
            Method::Native | Method::RebuildReplica => return Ok(TableMethod::Copy),
            Method::Auto if fits => return Ok(TableMethod::Copy),
            // Online tools would leave a table in its tablespace.
            _ if clear.in_system => return Ok(TableMethod::Copy),
            _ => {}
        }
        let table = Table { schema: clear.schema.clone(), name: clear.table.clone() };
        let mut reasons = Vec::new();
        for tool in &self.tools {
            match tool {
                Ok(tool) => {
                    match unsupported_reason(session, tool.tool, &table, self.connect, self.options.replicated)? {
                        None => return Ok(TableMethod::Online(tool.clone())),
                        Some(why) => reasons.push(format!("{}: {why}", tool.tool.program())),
                    }
                }
                Err(why) => reasons.push(why.clone()),
            }
        }
        if fits {
            return Ok(TableMethod::Copy);
        }
        Ok(TableMethod::Leave(format!(
            "a copy would keep writers waiting for about {} s, longer than the budget of {} s; {}; give a longer \
             --lock-budget, or encrypt it on a replica (--method rebuild-replica)",
            estimate(clear.bytes).as_secs(),
            self.options.lock_budget.as_secs(),
            reasons.join("; ")
        )))
    }
}

/// Estimated duration of a copy.
pub(super) fn estimate(bytes: u64) -> Duration {
    Duration::from_secs(bytes.div_ceil(ASSUMED_RATE))
}

/// Disk space for the copy of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Bytes that the copy takes, including concurrent writes.
    pub needed_bytes: u64,
    /// Free bytes; `None` if unknown.
    pub free_bytes: Option<u64>,
}

impl Room {
    /// Disk space for the copy of a table of `bytes` bytes.
    pub(super) fn for_copy(datadir: &Path, bytes: u64) -> Self {
        /// For the row log of the copy, redo, and concurrent writes.
        const SPARE: u64 = 64 << 20;
        Self {
            needed_bytes: bytes.saturating_add(bytes / 10).saturating_add(SPARE),
            free_bytes: files::free_bytes(datadir).ok(),
        }
    }

    /// Whether the free space is known to be insufficient.
    #[must_use]
    pub fn lacks(&self) -> bool {
        self.free_bytes.is_some_and(|free| free < self.needed_bytes)
    }
}

/// Why a copy of `bytes` bytes does not fit on the disk, if it does not.
pub(super) fn no_room(datadir: &Path, bytes: u64) -> Option<String> {
    let room = Room::for_copy(datadir, bytes);
    room.lacks().then(|| {
        let [needed, free] = sizes(room.needed_bytes, room.free_bytes.unwrap_or(0));
        format!("its copy needs {needed}, and {free} are free in {}; make room and run it again", datadir.display())
    })
}

/// Fails unless this is a replica to which clients cannot write.
pub(super) fn is_rebuildable(session: &mut Session<'_>) -> Result<(), Error> {
    let server = session.identity().hostname.clone();
    let refuse = |reason: &str| Err(Error::Unsupported { server: server.clone(), reason: reason.to_owned() });
    if session.query(session.replica_status())?.rows.is_empty() {
        return refuse("it is no replica, so it cannot be rebuilt as one (--method rebuild-replica)");
    }
    match session.value("SELECT @@GLOBAL.read_only")?.as_deref() {
        Some("1") => Ok(()),
        _ => refuse("clients may write to this replica; set super_read_only before it is rebuilt"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_asked_of_the_disk() {
        let here = std::env::temp_dir();
        assert_eq!(no_room(&here, 0), None);
        assert!(no_room(&here, u64::MAX).unwrap().contains("iB are free"));
        assert_eq!(no_room(Path::new("/no/such/place"), u64::MAX), None);
    }

    #[test]
    fn estimates_are_never_nothing() {
        assert_eq!(estimate(1), Duration::from_secs(1));
        assert_eq!(estimate(ASSUMED_RATE * 3), Duration::from_secs(3));
    }
}
