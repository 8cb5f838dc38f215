//! Turns a server that runs on a copy of the source's data into a replica or a group member.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::gtid::{Executed, mariadb::GtidPosition, mysql::GtidSet};
use crate::statements::{self, Source, Statements};
use crate::{
    Error, Peers,
    status::{self, ChannelStatus},
};
use server::dialect::variable::GTID_EXECUTED;
use server::dialect::{
    gtid,
    statement::{self, replica_status},
};
use server::{FIRST_EVENT, quote, switch::is_on};

/// Role of the new server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A replica, with GTIDs and TLS.
    Replica,
    /// A member of the source's replication group; MySQL only.
    GroupMember,
}

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The new server will not verify its source, which the caller permits.
    SourceUnverified,
    /// The copy's replication position.
    Position(String),
    /// The server is in the group already, in this state; nothing is changed.
    AlreadyMember(String),
    /// The replica has caught up with the source.
    CaughtUp,
    /// The member is ONLINE.
    Online,
}

impl Event {
    /// Human-readable text; the servers are named by their addresses.
    #[must_use]
    pub fn text(&self, new: &str, source: &str) -> String {
        match self {
            Self::SourceUnverified => Error::Unverified.to_string(),
            Self::Position(position) => format!("the copy is at {position}"),
            Self::AlreadyMember(state) => {
                format!("{new} is a member of the group already, {state}: nothing is changed")
            }
            Self::CaughtUp => format!("{new} follows {source} and has caught up"),
            Self::Online => format!("{new} is ONLINE in the group of {source}"),
        }
    }

    /// Whether the user should know it even if everything succeeds.
    #[must_use]
    pub const fn is_warning(&self) -> bool {
        matches!(self, Self::SourceUnverified)
    }
}

/// The next step for the user who sees the statements of a [`Provision::plan`].
pub const AFTER_PLAN: &str = "run them on the new server, or run this again with --yes and --replication-password-file";

/// Receives the events; the caller prints them.
pub type Report<'a> = &'a mut dyn FnMut(&Event);

/// What to set up.
#[derive(Clone, Debug)]
pub struct Provision {
    /// Role of the new server.
    pub role: Role,
    /// The source and the account for it. Without a password, statements can be shown but not run.
    pub source: Source,
    /// Permits a source whose certificate no authority verifies. The new server then logs in repeatedly to anyone who
    /// answers at that address, who can obtain the password.
    pub allow_unverified: bool,
    /// How long to wait until the server has caught up.
    pub wait: Duration,
}

/// State of a server in its group; no row if it is in none.
const MEMBER_STATE: &str = "SELECT MEMBER_STATE FROM performance_schema.replication_group_members \
                            WHERE MEMBER_ID = @@GLOBAL.server_uuid";

/// Length of one wait for a position, so that errors of replication are noticed in between.
const WAIT_STEP_SECONDS: u32 = 2;

impl Provision {
    /// The statements that [`Self::run`] would execute; `None` if the server already is a member of its group.
    ///
    /// # Errors
    /// The copy has no position, the source cannot serve it from there, or a server does not answer.
    pub fn plan(&self, peers: &mut Peers, report: Report<'_>) -> Result<Option<Statements>, Error> {
        if self.is_member(peers, report)? {
            return Ok(None);
        }
        self.check_verified(peers, report)?;
        let position = position(peers)?;
        report(&Event::Position(position.clone()));
        let mut statements = self.end_channels(peers)?;
        statements.extend(self.begin(peers, &position)?);
        Ok(Some(statements))
    }

    /// Sets up replication, and waits until the new server has caught up or is an ONLINE member.
    ///
    /// # Errors
    /// Those of [`Self::plan`], before anything is changed. Then: a statement was refused, replication stopped, or the
    /// time ran out.
    pub fn run(&self, peers: &mut Peers, report: Report<'_>) -> Result<(), Error> {
        if !self.is_member(peers, report)? {
            self.check_verified(peers, report)?;
            position(peers)?;
            // The quoting of texts in the statements requires it.
            peers.new.value("SET SESSION sql_mode = ''")?;
            let end = self.end_channels(peers)?;
            run_all(peers, &end)?;
            // A server that was a replica until now may have advanced meanwhile.
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

    /// Whether the server is in the group, or joining it. Then nothing needs to be changed, and it may be ahead of the
    /// source.
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

    /// Whether the new server verifies its source: by a given authority, or by its own options for recovery.
    fn check_verified(&self, peers: &mut Peers, report: Report<'_>) -> Result<(), Error> {
        const RECOVERY: &str = "SELECT @@GLOBAL.group_replication_recovery_ssl_verify_server_cert \
                                AND @@GLOBAL.group_replication_recovery_ssl_ca <> ''";
        if self.source.ca.is_some() || self.role == Role::GroupMember && is_on(&peers.new.value(RECOVERY)?) {
            return Ok(());
        }
        if !self.allow_unverified {
            return Err(Error::Unverified);
        }
        report(&Event::SourceUnverified);
        Ok(())
    }

    /// The statements that remove existing channels, such as those copied from a replica.
    fn end_channels(&self, peers: &mut Peers) -> Result<Statements, Error> {
        if self.role == Role::GroupMember {
            return Ok(Statements::new());
        }
        let version = peers.new.identity().version.clone();
        let status = peers.new.rows(replica_status(&version))?;
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

/// The copy's position, if the source can serve it from there.
fn position(peers: &mut Peers) -> Result<String, Error> {
    if peers.new.is_mysql() { position_of_mysql(peers) } else { position_of_mariadb(peers) }
}

fn position_of_mysql(peers: &mut Peers) -> Result<String, Error> {
    // `ON_PERMISSIVE` is not on: transactions without a GTID may remain.
    if !is_on(&peers.source.value("SELECT @@GLOBAL.gtid_mode")?) {
        return Err(Error::NoGtidMode { server: peers.source.name().to_owned() });
    }
    let copied: GtidSet = peers.new.gtids(gtid::MYSQL_EXECUTED)?;
    let server = || peers.new.name().to_owned();
    if copied.is_empty() {
        return Err(Error::NoPosition { server: server(), variable: GTID_EXECUTED });
    }
    // The source's set only grows: read after the copy's set, it contains all of it.
    let executed: GtidSet = peers.source.gtids(gtid::MYSQL_EXECUTED)?;
    if !copied.is_subset_of(&executed) {
        return Err(Error::Ahead { server: server(), transactions: copied.without(&executed).to_string() });
    }
    let purged: GtidSet = peers.source.gtids(gtid::MYSQL_PURGED)?;
    if !purged.is_subset_of(&copied) {
        return Err(Error::Purged { server: peers.source.name().to_owned() });
    }
    Ok(copied.to_string())
}

fn position_of_mariadb(peers: &mut Peers) -> Result<String, Error> {
    // Read before the log's position: a running replica advances meanwhile, and logs what it applies.
    let applied: GtidPosition = peers.new.gtids(gtid::MARIADB_APPLIED)?;
    let copied: GtidPosition = peers.new.gtids(gtid::MARIADB_LOGGED)?;
    let server = peers.new.name().to_owned();
    if copied.is_empty() {
        return Err(Error::NoPosition { server, variable: "gtid_binlog_pos" });
    }
    if let Some(beyond) = applied.first_beyond(&copied) {
        return Err(Error::LogBehind { server, applied: beyond.to_string(), logged: copied.to_string() });
    }
    let newest: GtidPosition = peers.source.gtids(gtid::MARIADB_LOGGED)?;
    if let Some(beyond) = copied.first_beyond(&newest) {
        return Err(Error::Ahead { server, transactions: beyond.to_string() });
    }
    if oldest_of_mariadb(peers)?.first_beyond(&copied).is_some() {
        return Err(Error::Purged { server: peers.source.name().to_owned() });
    }
    Ok(copied.to_string())
}

/// Position at which the source's oldest binary log begins.
fn oldest_of_mariadb(peers: &mut Peers) -> Result<GtidPosition, Error> {
    let oldest = quote::text(&peers.source.value(statement::SHOW_BINARY_LOGS)?);
    peers.source.gtids(&format!("SELECT BINLOG_GTID_POS({oldest}, {FIRST_EVENT})"))
}

/// Group replication needs MySQL, and TLS for recovery must be enabled explicitly.
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
    if is_on(&peers.new.value("SELECT @@GLOBAL.group_replication_recovery_use_ssl")?) {
        return Ok(());
    }
    Err(Error::ClearRecovery { server })
}

/// Waits for the transactions that the source has now; later ones follow by replication.
fn wait_until_caught_up(peers: &mut Peers, wait: Duration) -> Result<(), Error> {
    let flavor = peers.new.identity().flavor();
    let newest = peers.source.gtids::<Executed>(gtid::logged(flavor))?.to_string();
    let applied = gtid::wait_until_applied(flavor, &newest, WAIT_STEP_SECONDS);
    let until = Instant::now().checked_add(wait);
    let version = peers.new.identity().version.clone();
    while peers.new.value(&applied)? != "0" {
        let channels = ChannelStatus::all(&version, &peers.new.rows(replica_status(&version))?);
        if let Some(reason) = channels.first().and_then(ChannelStatus::last_error) {
            return Err(Error::Stopped { server: peers.new.name().to_owned(), reason: reason.to_owned() });
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
