//! Makes a server that runs on a copy of another's data follow that other server.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::gtid::{mariadb::GtidPosition, mysql::GtidSet};
use crate::statements::{self, Source, Statements};
use crate::{Error, Peers, status};

/// What the new server is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A replica, by GTID and TLS.
    Replica,
    /// A member of the source's replication group; MySQL only.
    GroupMember,
}

/// How far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Where the copy is.
    Position(String),
    /// It is in the group already, in this state: nothing is changed.
    AlreadyMember(String),
    /// It follows the source and has all that the source had.
    CaughtUp,
    /// It is a member of the group that takes part.
    Online,
}

/// Who says what comes next: the caller prints it.
pub type Report<'a> = &'a mut dyn FnMut(&Event);

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Provision {
    /// What the new server becomes.
    pub role: Role,
    /// Where it gets changes from. Without a password, statements can be shown and not run.
    pub source: Source,
    /// Permits a source without an authority to know it by: the new server logs in by itself, over and over again, and whoever
    /// answers there can get the password.
    pub allow_unverified: bool,
    /// How long to wait until it has caught up.
    pub wait: Duration,
}

/// What a server is in its group; nothing if it is in none.
const MEMBER_STATE: &str = "SELECT MEMBER_STATE FROM performance_schema.replication_group_members \
                            WHERE MEMBER_ID = @@GLOBAL.server_uuid";

/// How long one wait for a position takes, so that errors of replication are seen meanwhile.
const WAIT_STEP_SECONDS: u32 = 2;

impl Provision {
    /// The statements that [`Self::run`] would run; none if the server is a member of its group already.
    ///
    /// # Errors
    /// The copy has no position, the source cannot be followed from there, or a server does not answer.
    pub fn plan(&self, peers: &mut Peers, report: Report<'_>) -> Result<Option<Statements>, Error> {
        if self.is_member(peers, report)? {
            return Ok(None);
        }
        self.check_verified(peers)?;
        let position = position(peers)?;
        report(&Event::Position(position.clone()));
        let mut statements = self.end_channels(peers)?;
        statements.extend(self.begin(peers, &position)?);
        Ok(Some(statements))
    }

    /// Sets replication up and waits until the new server has caught up, or is a member.
    ///
    /// # Errors
    /// As [`Self::plan`], before anything is changed; and: a statement was refused, replication stopped, or the time was not
    /// enough.
    pub fn run(&self, peers: &mut Peers, report: Report<'_>) -> Result<(), Error> {
        if !self.is_member(peers, report)? {
            self.check_verified(peers)?;
            position(peers)?;
            // As the texts in the statements are quoted.
            peers.new.value("SET SESSION sql_mode = ''")?;
            let end = self.end_channels(peers)?;
            run_all(peers, &end)?;
            // A server that was a replica until now may have gone on since.
            let position = position(peers)?;
            report(&Event::Position(position.clone()));
            let begin = self.begin(peers, &position)?;
            run_all(peers, &begin)?;
        }
        match self.role {
            Role::GroupMember => wait_until_online(peers, self.wait)?,
            Role::Replica => wait_until_caught_up(peers, self.wait)?,
        }
        report(if self.role == Role::GroupMember { &Event::Online } else { &Event::CaughtUp });
        Ok(())
    }

    /// Whether it is in the group already, or on its way: then there is nothing to change, and it may have got ahead of
    /// the source.
    fn is_member(&self, peers: &mut Peers, report: Report<'_>) -> Result<bool, Error> {
        if self.role != Role::GroupMember {
            return Ok(false);
        }
        check_group(peers)?;
        let state = peers.new.value(MEMBER_STATE)?;
        let is_member = matches!(state.as_str(), "ONLINE" | "RECOVERING");
        if is_member {
            report(&Event::AlreadyMember(state));
        }
        Ok(is_member)
    }

    /// Whether the new server is to know its source, by an authority given here or by its own options for recovery.
    fn check_verified(&self, peers: &mut Peers) -> Result<(), Error> {
        const RECOVERY: &str = "SELECT @@GLOBAL.group_replication_recovery_ssl_verify_server_cert \
                                AND @@GLOBAL.group_replication_recovery_ssl_ca <> ''";
        let known = self.source.ca.is_some() || self.allow_unverified;
        if known || self.role == Role::GroupMember && peers.new.value(RECOVERY)? == "1" {
            return Ok(());
        }
        Err(Error::Unverified)
    }

    /// What ends the channels by which it follows others already, such as came with the copy of a replica.
    fn end_channels(&self, peers: &mut Peers) -> Result<Statements, Error> {
        if self.role == Role::GroupMember {
            return Ok(Statements::new());
        }
        let version = peers.new.identity().version.clone();
        let status = peers.new.rows(status::query(&version))?;
        Ok(statements::end_channels(&version, &status::channels(&version, &status)))
    }

    fn begin(&self, peers: &mut Peers, position: &str) -> Result<Statements, Error> {
        let version = peers.new.identity().version.clone();
        Ok(match self.role {
            Role::GroupMember => {
                let failed = peers.new.value(MEMBER_STATE)? == "ERROR";
                statements::group_member(&version, &self.source, failed)
            }
            Role::Replica => statements::replica(&version, &self.source, position),
        })
    }
}

fn run_all(peers: &mut Peers, statements: &Statements) -> Result<(), Error> {
    statements.iter().try_for_each(|statement| peers.new.run(statement))
}

/// Where the copy is, if it can go on from there.
fn position(peers: &mut Peers) -> Result<String, Error> {
    if peers.new.is_mysql() { position_of_mysql(peers) } else { position_of_mariadb(peers) }
}

fn position_of_mysql(peers: &mut Peers) -> Result<String, Error> {
    if peers.source.value("SELECT @@GLOBAL.gtid_mode")? != "ON" {
        return Err(Error::NoGtidMode { server: peers.source.name().to_owned() });
    }
    let copied: GtidSet = peers.new.gtids("SELECT @@GLOBAL.gtid_executed")?;
    let server = || peers.new.name().to_owned();
    if copied.is_empty() {
        return Err(Error::NoPosition { server: server(), variable: "gtid_executed" });
    }
    // The source's set only grows: one that is read after the copy's holds all of it.
    let executed: GtidSet = peers.source.gtids("SELECT @@GLOBAL.gtid_executed")?;
    if !copied.is_subset_of(&executed) {
        return Err(Error::Ahead { server: server(), transactions: copied.without(&executed).to_string() });
    }
    let purged: GtidSet = peers.source.gtids("SELECT @@GLOBAL.gtid_purged")?;
    if !purged.is_subset_of(&copied) {
        return Err(Error::Purged { server: peers.source.name().to_owned() });
    }
    Ok(copied.to_string())
}

fn position_of_mariadb(peers: &mut Peers) -> Result<String, Error> {
    const LOGGED: &str = "SELECT @@GLOBAL.gtid_binlog_pos";
    // Before the log's position: a replica that runs already goes on meanwhile, and what it applies it has logged.
    let applied: GtidPosition = peers.new.gtids("SELECT @@GLOBAL.gtid_slave_pos")?;
    let copied: GtidPosition = peers.new.gtids(LOGGED)?;
    let server = peers.new.name().to_owned();
    if copied.is_empty() {
        return Err(Error::NoPosition { server, variable: "gtid_binlog_pos" });
    }
    if let Some(beyond) = applied.first_beyond(&copied) {
        return Err(Error::LogBehind { server, applied: beyond.to_string(), logged: copied.to_string() });
    }
    let newest: GtidPosition = peers.source.gtids(LOGGED)?;
    if let Some(beyond) = copied.first_beyond(&newest) {
        return Err(Error::Ahead { server, transactions: beyond.to_string() });
    }
    if oldest_of_mariadb(peers)?.first_beyond(&copied).is_some() {
        return Err(Error::Purged { server: peers.source.name().to_owned() });
    }
    Ok(copied.to_string())
}

/// Where the source's oldest binary log begins.
fn oldest_of_mariadb(peers: &mut Peers) -> Result<GtidPosition, Error> {
    /// Behind the magic number.
    const FIRST_EVENT: u32 = 4;
    let oldest = statements::text(&peers.source.value("SHOW BINARY LOGS")?);
    peers.source.gtids(&format!("SELECT BINLOG_GTID_POS({oldest}, {FIRST_EVENT})"))
}

/// Group replication is MySQL's, and recovery goes over TLS only if that is said.
fn check_group(peers: &mut Peers) -> Result<(), Error> {
    if !peers.new.is_mysql() {
        return Err(Error::NoGroups);
    }
    let name = "SELECT @@GLOBAL.group_replication_group_name";
    let ours = peers.new.value(name)?;
    let theirs = peers.source.value(name).unwrap_or_default();
    let server = || peers.new.name().to_owned();
    if ours.is_empty() || ours != theirs {
        return Err(Error::OtherGroup { server: server() });
    }
    let server = server();
    if peers.new.value("SELECT @@GLOBAL.group_replication_recovery_use_ssl")? == "1" {
        return Ok(());
    }
    Err(Error::ClearRecovery { server })
}

/// Waits for what the source has now; what comes later comes by the same way.
fn wait_until_caught_up(peers: &mut Peers, wait: Duration) -> Result<(), Error> {
    let (newest, function) = if peers.new.is_mysql() {
        let executed: GtidSet = peers.source.gtids("SELECT @@GLOBAL.gtid_executed")?;
        (executed.to_string(), "WAIT_FOR_EXECUTED_GTID_SET")
    } else {
        let logged: GtidPosition = peers.source.gtids("SELECT @@GLOBAL.gtid_binlog_pos")?;
        (logged.to_string(), "MASTER_GTID_WAIT")
    };
    let until = Instant::now().checked_add(wait);
    let status = status::query(&peers.new.identity().version);
    while peers.new.value(&format!("SELECT {function}('{newest}', {WAIT_STEP_SECONDS})"))? != "0" {
        if let Some(reason) = status::last_error(&peers.new.rows(status)?) {
            return Err(Error::Stopped { server: peers.new.name().to_owned(), reason });
        }
        if until.is_some_and(|until| Instant::now() > until) {
            return Err(Error::NotCaughtUp { server: peers.new.name().to_owned(), seconds: wait.as_secs() });
        }
    }
    Ok(())
}

fn wait_until_online(peers: &mut Peers, wait: Duration) -> Result<(), Error> {
    let until = Instant::now().checked_add(wait);
    loop {
        let state = peers.new.value(MEMBER_STATE)?;
        let server = || peers.new.name().to_owned();
        match state.as_str() {
            "ONLINE" => return Ok(()),
            "ERROR" => return Err(Error::GroupRefused { server: server() }),
            _ if until.is_some_and(|until| Instant::now() > until) => {
                return Err(Error::NotOnline { server: server(), state, seconds: wait.as_secs() });
            }
            _ => sleep(Duration::from_millis(200)),
        }
    }
}
