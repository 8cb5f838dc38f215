//! Group Replication: a group of two MySQL servers, on loopback unless other addresses are given.

use std::net::Ipv4Addr;

use crate::{Error, Server, ServerBuilder, limit, within};

/// Time limit until a member is online.
const SECONDS: u64 = 60;

/// Account that members use for recovery.
const ACCOUNT: &str = "recovery";
const PASSWORD: &str = "Recovery-1";

const STATE: &str =
    "SELECT MEMBER_STATE FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid";

/// Addresses of the members of a group.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    addresses: [Ipv4Addr; 2],
    ports: [u16; 2],
}

impl Group {
    /// A group without members.
    ///
    /// # Errors
    /// If there are no free ports.
    pub fn new() -> Result<Self, Error> {
        Self::at([Ipv4Addr::LOCALHOST; 2])
    }

    /// A group without members, whose members will have these addresses.
    ///
    /// # Errors
    /// If there are no free ports.
    pub fn at(addresses: [Ipv4Addr; 2]) -> Result<Self, Error> {
        Ok(Self { addresses, ports: ports::free_ports().map_err(Error::file("127.0.0.1"))? })
    }

    /// Gives a server the options of the first member, or of the second.
    #[must_use]
    pub fn member(&self, first: bool, builder: ServerBuilder) -> ServerBuilder {
        let [one, other] = [0, 1].map(|member| format!("{}:{}", self.addresses[member], self.ports[member]));
        let (host, current) = if first { (self.addresses[0], &one) } else { (self.addresses[1], &other) };
        builder
            .options(["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog"])
            .option(format!("--report-host={host}"))
            .option("--plugin-load-add=group_replication.so")
            .option("--loose-group-replication-group-name=7d3ff1a6-25f5-4f0c-9a8e-5ea1a4700001")
            .option(format!("--loose-group-replication-local-address={current}"))
            .option(format!("--loose-group-replication-group-seeds={one},{other}"))
            .option("--loose-group-replication-start-on-boot=OFF")
    }
}

/// Starts a group with this server as its only member, and creates the account that other members use for recovery.
///
/// # Errors
/// Those of the server; [`Error::TimedOut`] if it does not come online.
pub fn begin(server: &Server) -> Result<(), Error> {
    let account = account(server)?;
    server.sql(&format!(
        "CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{PASSWORD}'; \
         GRANT REPLICATION SLAVE ON *.* TO {account}; \
         SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION; \
         SET GLOBAL group_replication_bootstrap_group = OFF"
    ))?;
    wait_until_online(server)
}

/// Lets a fresh server join the group of `member`, and waits until it has all data. It gets the data by clone if the
/// binary logs of the member are no longer complete.
///
/// # Errors
/// As [`begin`].
pub fn join(member: &Server, server: &mut Server) -> Result<(), Error> {
    let account = account(member)?;
    member.sql(&format!("GRANT BACKUP_ADMIN ON *.* TO {account}"))?;
    joined(server)?;
    member.sql(&format!("REVOKE BACKUP_ADMIN ON *.* FROM {account}")).map(drop)
}

/// The account for recovery; on loopback only for clients there.
fn account(member: &Server) -> Result<String, Error> {
    let host = member.value("SELECT @@report_host")?;
    let from = if host == Ipv4Addr::LOCALHOST.to_string() { host } else { "%".to_owned() };
    Ok(format!("'{ACCOUNT}'@'{from}'"))
}

fn joined(server: &mut Server) -> Result<(), Error> {
    server.sql("RESET BINARY LOGS AND GTIDS")?;
    recover(server)?;
    // A clone ends with a restart. A server without a supervisor cannot restart itself.
    let limit = limit(SECONDS);
    let online = within(limit, || match server.value(STATE) {
        Ok(state) if state == "ONLINE" => Ok(true),
        Err(_) if server.has_ended() => Ok(false),
        other => Err(format!("{other:?}")),
    });
    match online {
        Ok(true) => Ok(()),
        Ok(false) => {
            server.start()?;
            recover(server)?;
            wait_until_online(server)
        }
        Err(state) => Err(Error::TimedOut { what: format!("group member to be online: {state}"), limit }),
    }
}

fn recover(server: &Server) -> Result<(), Error> {
    server
        .sql(&format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_USER='{ACCOUNT}', SOURCE_PASSWORD='{PASSWORD}' \
             FOR CHANNEL 'group_replication_recovery'; START GROUP_REPLICATION"
        ))
        .map(drop)
}

/// Whether a server is an online member of a group; false without the plug-in.
#[must_use]
pub fn is_online(server: &Server) -> bool {
    server.value(STATE).is_ok_and(|state| state == "ONLINE")
}

/// Waits until this member is online, and so has all data of the group.
///
/// # Errors
/// [`Error::TimedOut`] with the state it is in.
pub fn wait_until_online(server: &Server) -> Result<(), Error> {
    let limit = limit(SECONDS);
    within(limit, || match server.value(STATE) {
        Ok(state) if state == "ONLINE" => Ok(()),
        Ok(state) => Err(state),
        Err(error) => Err(error.to_string()),
    })
    .map_err(|state| Error::TimedOut { what: format!("group member to be online: {state}"), limit })
}
