//! The fence `read-only`: the server itself refuses writes.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use server::{
    Connection, Flavor,
    dialect::{
        statement::{READ_ONLY_OFF, READ_ONLY_ON, SUPER_READ_ONLY_OFF, SUPER_READ_ONLY_ON, connected_writers},
        variable::{READ_ONLY, SUPER_READ_ONLY},
    },
};

use super::{not_ready, set_lock_wait};
use crate::{
    Error, Side,
    link::{flavor, variable},
};

/// Longest time for which a session that has ended is listed.
const LINGERING: Duration = Duration::from_secs(2);
/// Pause between readings of sessions.
const PAUSE: Duration = Duration::from_millis(20);
/// Stands for a variable that the server does not have, in the state.
const NONE: &str = "-";

/// The settings of a server before it was fenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Before {
    /// `None` if the server does not have it.
    super_read_only: Option<bool>,
    read_only: bool,
}

impl Before {
    pub(super) fn read(source: &mut Connection) -> Result<Self, Error> {
        let mut value = |name| variable(source, Side::Source, name);
        let (super_read_only, read_only) = (value(SUPER_READ_ONLY)?, value(READ_ONLY)?);
        let super_read_only = (!super_read_only.is_empty()).then(|| super_read_only == "1");
        Ok(Self { super_read_only, read_only: read_only == "1" })
    }

    /// The statements that restore these settings.
    pub(super) fn statements(self) -> Vec<String> {
        let super_read_only = (self.super_read_only == Some(false)).then_some(SUPER_READ_ONLY_OFF);
        let all = super_read_only.into_iter().chain((!self.read_only).then_some(READ_ONLY_OFF));
        all.map(str::to_owned).collect()
    }

    /// Two fields of the stored state.
    pub(super) fn fields(self) -> (String, String) {
        let super_read_only = self.super_read_only.map_or(NONE, |on| if on { "1" } else { "0" });
        (super_read_only.to_owned(), u8::from(self.read_only).to_string())
    }

    pub(super) fn parse(super_read_only: &str, read_only: &str) -> Self {
        Self {
            super_read_only: (super_read_only != NONE).then_some(super_read_only != "0"),
            read_only: read_only != "0",
        }
    }
}

/// The variable that blocks writes, and the statement that sets it. MariaDB has only `read_only`, in spite of which
/// accounts with READ_ONLY ADMIN can write.
const fn write_block(flavor: Flavor) -> (&'static str, &'static str) {
    match flavor {
        Flavor::MariaDb => (READ_ONLY, READ_ONLY_ON),
        Flavor::MySql | Flavor::Percona => (SUPER_READ_ONLY, SUPER_READ_ONLY_ON),
    }
}

/// Blocks all writes of clients.
pub(crate) fn block(server: &mut Connection) -> Result<(), Error> {
    let (_, block) = write_block(flavor(server));
    set_lock_wait(server)?;
    server.query(block).map(drop).map_err(Error::at(Side::Source))
}

/// Checks that the server still refuses writes.
///
/// # Errors
/// [`Error::NotReady`].
pub(super) fn require_held(source: &mut Connection) -> Result<(), Error> {
    let (name, _) = write_block(flavor(source));
    match variable(source, Side::Source, name)?.as_str() {
        "1" => Ok(()),
        _ => Err(not_ready(format!("{name} was turned off at the source"))),
    }
}

/// Checks that nobody is connected who can write in spite of MariaDB's `read_only`.
///
/// # Errors
/// [`Error::NotReady`].
pub(super) fn no_privileged_sessions(source: &mut Connection, reader: &Connection) -> Result<(), Error> {
    let users = privileged_users(source, reader)?;
    if users.is_empty() {
        return Ok(());
    }
    // A session keeps the privileges that it began with.
    Err(not_ready(format!(
        "{}: connected to the source with READ_ONLY ADMIN, and can write in spite of read_only (REVOKE READ_ONLY ADMIN, \
         and end these sessions)",
        users.join(", ")
    )))
}

/// The users whose sessions, other than these two, can write in spite of `read_only`. A session that has just ended, such
/// as one of an earlier command, is listed for a moment longer.
fn privileged_users(source: &mut Connection, reader: &Connection) -> Result<Vec<String>, Error> {
    let sql = connected_writers(&[source.greeting().connection_id, reader.greeting().connection_id]);
    let began = Instant::now();
    loop {
        let users = source.query(&sql).map_err(Error::at(Side::Source))?;
        let users: Vec<_> = users.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
        if users.is_empty() || began.elapsed() > LINGERING {
            return Ok(users);
        }
        sleep(PAUSE);
    }
}
