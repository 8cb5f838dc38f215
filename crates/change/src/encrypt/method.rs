//! How each table is encrypted. No release of MySQL changes `ENCRYPTION` of a table in place or without
//! blocking its writers; so small ones are copied by the server, large ones by a tool.

use std::{path::Path, time::Duration};

use serde::Serialize;

use super::{Options, clear::ClearTable};
use crate::{
    Error, Session,
    online::{Installed, Table, Tool, unfit},
};

/// Bytes a second that the server's own copy of a table is assumed to write: measured on two slow cores.
pub const ASSUMED_RATE: u64 = 40 << 20;

/// What is used for tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The server's own copy if it fits into the budget, else a tool.
    #[default]
    Auto,
    /// The server's own copy, whatever it takes.
    Native,
    /// gh-ost where it can be used, else the server's own copy if it fits into the budget.
    GhOst,
    /// pt-online-schema-change in the same way.
    PtOsc,
    /// The server's own copy, on a replica that no client writes to, to be switched over to.
    RebuildReplica,
}

/// What is used for one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// The server's own copy.
    Copy,
    /// A tool.
    Online(Installed),
    /// Nothing, and why.
    Leave(String),
}

/// Chooses for one table after the other.
pub(super) struct Chooser<'o> {
    options: &'o Options,
    connect: &'o server::Options,
    tools: Vec<Result<Installed, String>>,
}

impl<'o> Chooser<'o> {
    /// Finds out what is there. A method that cannot be used at all is an error.
    pub(super) fn of(session: &Session<'_>, options: &'o Options, connect: &'o server::Options) -> Result<Self, Error> {
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

    /// How that table is encrypted.
    pub(super) fn choose(&self, session: &mut Session<'_>, clear: &ClearTable) -> Result<How, Error> {
        if self.options.largest_table_bytes.is_some_and(|most| clear.bytes > most) {
            return Ok(How::Leave("it is larger than --largest-table".to_owned()));
        }
        let fits = estimate(clear.bytes) <= self.options.lock_budget;
        match self.options.method {
            Method::Native | Method::RebuildReplica => return Ok(How::Copy),
            Method::Auto if fits => return Ok(How::Copy),
            // The tools would leave a table where it lies.
            _ if clear.in_system => return Ok(How::Copy),
            _ => {}
        }
        let table = Table { schema: clear.schema.clone(), name: clear.table.clone() };
        let mut reasons = Vec::new();
        for tool in &self.tools {
            match tool {
                Ok(tool) => match unfit(session, tool.tool, &table, self.connect, self.options.replicated)? {
                    None => return Ok(How::Online(tool.clone())),
                    Some(why) => reasons.push(format!("{}: {why}", tool.tool.program())),
                },
                Err(why) => reasons.push(why.clone()),
            }
        }
        if fits {
            return Ok(How::Copy);
        }
        Ok(How::Leave(format!(
            "a copy would keep writers waiting for about {} s, longer than the budget of {} s; {}; give a longer \
             --lock-budget, or encrypt it on a replica (--method rebuild-replica)",
            estimate(clear.bytes).as_secs(),
            self.options.lock_budget.as_secs(),
            reasons.join("; ")
        )))
    }
}

/// How long a copy is likely to take.
pub(super) fn estimate(bytes: u64) -> Duration {
    Duration::from_secs(bytes.div_ceil(ASSUMED_RATE))
}

/// Room for the copy of a table beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Bytes that a copy takes, and what others write meanwhile.
    pub needed_bytes: u64,
    /// Bytes that are free; `None` if that cannot be seen from here.
    pub free_bytes: Option<u64>,
}

impl Room {
    /// For a table of so many bytes.
    pub(super) fn for_copy(datadir: &Path, bytes: u64) -> Self {
        /// For the row log of the copy, redo, and what others write meanwhile.
        const SPARE: u64 = 64 << 20;
        let disk = rustix::fs::statvfs(datadir).ok();
        Self {
            needed_bytes: bytes.saturating_add(bytes / 10).saturating_add(SPARE),
            free_bytes: disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
        }
    }

    /// Whether less is free than is needed, as far as can be seen from here.
    #[must_use]
    pub fn lacks(&self) -> bool {
        self.free_bytes.is_some_and(|free| free < self.needed_bytes)
    }
}

/// Why a copy of that many bytes has no room, as far as can be seen from here.
pub(super) fn no_room(datadir: &Path, bytes: u64) -> Option<String> {
    let room = Room::for_copy(datadir, bytes);
    room.lacks().then(|| {
        let (needed, free) = (room.needed_bytes >> 20, room.free_bytes.unwrap_or(0) >> 20);
        format!(
            "its copy needs {needed} MiB, and {free} MiB are free in {}; make room and run it again",
            datadir.display()
        )
    })
}

/// A replica that clients write to is none to rebuild.
pub(super) fn is_rebuildable(session: &mut Session<'_>) -> Result<(), Error> {
    let server = session.identity().hostname.clone();
    let refuse = |reason: &str| Err(Error::Unsupported { server: server.clone(), reason: reason.to_owned() });
    if session.ask(session.replica_status())?.rows.is_empty() {
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
        assert!(no_room(&here, u64::MAX).unwrap().contains("MiB are free"));
        assert_eq!(no_room(Path::new("/no/such/place"), u64::MAX), None);
    }

    #[test]
    fn estimates_are_never_nothing() {
        assert_eq!(estimate(1), Duration::from_secs(1));
        assert_eq!(estimate(ASSUMED_RATE * 3), Duration::from_secs(3));
    }
}
