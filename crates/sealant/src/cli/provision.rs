//! `sealant provision`: a copy becomes a replica or a member of a group.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ::server::replication::{self, Source, Statements};
use ::server::{Connection, Endpoint, Identity, Options, Password, Target, TlsOptions, describe};
use clap::{Args, ValueEnum};

use super::connect::{Login, about, connection, from_file};
use super::snapshot;
use super::transfer::parse_time;
use super::verify::forbid_dumps;
use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::{Failure, hint, info, warning};

/// Make a server that runs on a copy of another's data follow that other server
///
/// The copy comes from `sealant send --live` or `sealant snapshot`, and its server runs, with a server_id of its
/// own. The position is the copy's own: MySQL's comes with the copied binary log, MariaDB's is its
/// gtid_binlog_pos. If none is found, or the source no longer has the changes since, nothing is done. Without
/// --yes the statements are written to standard output, with dots in place of the password.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct Provision {
    /// The server whose data was copied: mysql://USER@HOST:PORT
    #[arg(long, value_name = "URL")]
    source: String,
    /// Data directory of the new server
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// What it is to become
    #[arg(long = "as", value_enum)]
    role: Role,
    /// Socket of the new server
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Account on the new server, by its socket
    #[arg(long, value_name = "NAME", default_value = "root")]
    local_user: String,
    /// Password of that account, in a file
    #[arg(long, value_name = "FILE")]
    local_password_file: Option<PathBuf>,
    /// Account on the source that replication uses
    #[arg(long, value_name = "NAME")]
    replication_user: String,
    /// Its password, in a file
    #[arg(long, value_name = "FILE")]
    replication_password_file: Option<PathBuf>,
    /// Authorities that the source's certificate has to come from, PEM, for the replication link
    #[arg(long, value_name = "FILE")]
    replication_ca: Option<PathBuf>,
    /// Run the statements, and wait until the new server has caught up
    #[arg(long)]
    yes: bool,
    /// Wait so long for that
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_time)]
    wait: Duration,
    #[command(flatten)]
    login: Login,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Role {
    /// A replica, by GTID and TLS
    Replica,
    /// A member of the source's replication group
    GroupMember,
    /// A node of the source's Galera cluster
    Galera,
}

const EXAMPLES: &str = "\
Examples:
  sealant provision --source mysql://admin@db1:3306 --into /var/lib/mysql --socket /run/mysqld/mysqld.sock \\
      --as replica --replication-user repl --replication-ca ca.pem
  sealant provision … --replication-password-file pw --yes

Exit codes:
  0  done, or the statements were written
  1  not done: no position, or the server did not catch up
  2  wrong usage";

impl Provision {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        if self.role == Role::Galera {
            return Err(Failure::usage("a Galera node needs no statements: it joins by state transfer")
                .hint("set wsrep_sst_method=sealant on it and start it"));
        }
        if self.yes && self.replication_password_file.is_none() {
            return Err(Failure::usage("--yes needs --replication-password-file"));
        }
        let mut pair = self.connect()?;
        if self.role == Role::GroupMember {
            pair.check_group()?;
            if pair.is_member()? {
                if self.yes {
                    pair.wait_until_online(self.wait)?;
                }
                return Ok(Exit::Clean);
            }
        }
        let position = pair.position()?;
        info(&format!("the copy is at {}", position.replace('\n', "")));
        if self.replication_ca.is_none() {
            warning(
                "without --replication-ca the link is encrypted, but whoever answers at the source's address is believed",
            );
        }
        if !self.yes {
            self.show(&self.statements(&mut pair, &position, None)?)?;
            return Ok(Exit::Clean);
        }
        let password = self.replication_password_file.as_deref().map(from_file).transpose()?;
        let statements = self.statements(&mut pair, &position, password)?;
        pair.carry_out(&statements)?;
        match self.role {
            Role::GroupMember => pair.wait_until_online(self.wait)?,
            _ => pair.wait_until_caught_up(self.wait)?,
        }
        Ok(Exit::Clean)
    }

    fn connect(&self) -> Result<Pair, Failure> {
        let datadir = ::snapshot::DataDir::at(&self.into).map_err(snapshot::failure)?;
        let socket = self.socket.clone();
        let server = datadir.socket(socket.clone()).server().map_err(snapshot::failure)?;
        let (Some(_), Some(socket)) = (server, socket) else {
            if self.into.join("auto.cnf").exists() {
                hint("remove auto.cnf before the first start: two servers must not have one uuid");
            }
            return Err(Failure::new(format!(
                "{}: no server runs on it, or --socket was not given",
                self.into.display()
            ))
            .hint("start it with a server_id of its own, and give its --socket"));
        };
        let nothing = ["no source is named", "give --source mysql://USER@HOST:PORT"];
        let (from, options) = connection(Some(&self.source), None, &self.login, nothing)?;
        let Endpoint::Tcp { host, port } = from.endpoint.clone() else {
            return Err(Failure::usage("the source has to be named by host and port: replication goes over TCP"));
        };
        let to = Target { endpoint: Endpoint::Socket(socket), user: self.local_user.clone() };
        let password = self.local_password_file.as_deref().map(from_file).transpose()?;
        let read_only = options.clone();
        let local = Options { password, tls: TlsOptions::default(), changes: true, ..options };
        Pair::open(&from, &read_only, &to, &local, (host, port))
    }

    fn statements(&self, pair: &mut Pair, position: &str, password: Option<Password>) -> Result<Statements, Failure> {
        let (host, port) = pair.address.clone();
        let source =
            Source { host, port, user: self.replication_user.clone(), password, ca: self.replication_ca.clone() };
        let channels = if self.role == Role::Replica { pair.channels()? } else { Vec::new() };
        Ok(match self.role {
            Role::GroupMember => {
                let failed = pair.ask_new(MEMBER_STATE)? == "ERROR";
                replication::group_member(&pair.identity.version, &source, failed)
            }
            _ => replication::replica(&pair.identity.version, &source, position, &channels),
        })
    }

    fn show(&self, statements: &Statements) -> Result<(), Failure> {
        to_stdout(&|out| statements.iter().try_for_each(|statement| writeln!(out, "{};", statement.as_str())))?;
        hint("run them on the new server, or run this again with --yes and --replication-password-file");
        Ok(())
    }
}

/// What a server is in its group; nothing if it is in none.
const MEMBER_STATE: &str = "SELECT MEMBER_STATE FROM performance_schema.replication_group_members \
                            WHERE MEMBER_ID = @@GLOBAL.server_uuid";

/// The source and the new server.
struct Pair {
    source: Connection,
    new: Connection,
    names: (String, String),
    identity: Identity,
    address: (String, u16),
}

impl Pair {
    fn open(
        from: &Target,
        options: &Options,
        to: &Target,
        local: &Options,
        address: (String, u16),
    ) -> Result<Self, Failure> {
        let open = |target: &Target, options: &Options| {
            Connection::open(target, options).map_err(|error| about(&target.endpoint, error.into()))
        };
        let (mut source, mut new) = (open(from, options)?, open(to, local)?);
        let names = (from.endpoint.to_string(), to.endpoint.to_string());
        let who = |connection: &mut Connection, name: &str| {
            describe(connection).map_err(|error| Failure::new(format!("{name}: {error}")))
        };
        let (theirs, identity) = (who(&mut source, &names.0)?, who(&mut new, &names.1)?);
        let pair = Self { source, new, names, identity, address };
        pair.check(&theirs)?;
        Ok(pair)
    }

    fn check(&self, source: &Identity) -> Result<(), Failure> {
        let wrong = |what: String| Err(Failure::new(format!("{}: {what}", self.names.1)));
        if source.flavor().is_mysql_like() != self.identity.flavor().is_mysql_like() {
            return wrong(format!("is {}, and the source is {}", self.identity.version, source.version));
        }
        if source.server_id == self.identity.server_id {
            return wrong(format!("has the source's server_id, {}; each needs its own", source.server_id));
        }
        if source.server_uuid.is_some() && source.server_uuid == self.identity.server_uuid {
            return wrong("has the source's server_uuid; stop it, remove auto.cnf and start it again".to_owned());
        }
        Ok(())
    }

    fn is_mysql(&self) -> bool {
        self.identity.flavor().is_mysql_like()
    }

    fn ask_source(&mut self, sql: &str) -> Result<String, Failure> {
        let rows = self.source.query(sql).map_err(|error| Failure::new(format!("{}: {error}", self.names.0)))?;
        Ok(rows.scalar().unwrap_or_default().to_owned())
    }

    fn ask_new(&mut self, sql: &str) -> Result<String, Failure> {
        let rows = self.new.query(sql).map_err(|error| Failure::new(format!("{}: {error}", self.names.1)))?;
        Ok(rows.scalar().unwrap_or_default().to_owned())
    }

    /// Where the copy is, if it can go on from there.
    fn position(&mut self) -> Result<String, Failure> {
        if self.is_mysql() { self.position_of_mysql() } else { self.position_of_mariadb() }
    }

    fn position_of_mysql(&mut self) -> Result<String, Failure> {
        if self.ask_source("SELECT @@GLOBAL.gtid_mode")? != "ON" {
            return Err(Failure::new(format!(
                "{}: gtid_mode is not ON, so there is no position to go on from",
                self.names.0
            )));
        }
        let executed = self.ask_new("SELECT @@GLOBAL.gtid_executed")?;
        if executed.is_empty() {
            return Err(self.no_position("gtid_executed is empty"));
        }
        let executed = gtids(executed, &self.names.1)?;
        if self.ask_source(&format!("SELECT GTID_SUBSET('{executed}', @@GLOBAL.gtid_executed)"))? != "1" {
            return Err(Failure::new(format!(
                "{}: has transactions that the source does not have ({executed}), so it is not a copy of it, or was \
                 written to",
                self.names.1
            )));
        }
        if self.ask_source(&format!("SELECT GTID_SUBSET(@@GLOBAL.gtid_purged, '{executed}')"))? != "1" {
            return Err(self.purged());
        }
        Ok(executed)
    }

    fn position_of_mariadb(&mut self) -> Result<String, Failure> {
        let position = gtids(self.ask_new("SELECT @@GLOBAL.gtid_binlog_pos")?, &self.names.1)?;
        if position.is_empty() {
            return Err(self.no_position("gtid_binlog_pos is empty"));
        }
        let applied = self.ask_new("SELECT @@GLOBAL.gtid_slave_pos")?;
        if let Some(ahead) = unreached(&applied, &position) {
            return Err(Failure::new(format!(
                "{}: has applied {ahead} as a replica, and its binary log is at {position}: what lies between would be \
                 applied twice",
                self.names.1
            ))
            .hint("a replica that is to be copied, or set up again, has to run with log_slave_updates"));
        }
        let newest = self.ask_source("SELECT @@GLOBAL.gtid_binlog_pos")?;
        if let Some(own) = unreached(&position, &newest) {
            return Err(Failure::new(format!(
                "{}: is at {own}, which the source has not reached ({newest}), so it is not a copy of it, or was \
                 written to",
                self.names.1
            )));
        }
        self.check_logs_of_mariadb(&position)?;
        Ok(position)
    }

    /// The source's oldest binary log begins where the copy is, or before.
    fn check_logs_of_mariadb(&mut self, position: &str) -> Result<(), Failure> {
        let oldest = self.ask_source("SHOW BINARY LOGS")?;
        let quoted = oldest.replace('\\', "\\\\").replace('\'', "''");
        // Behind the magic number.
        let purged = self.ask_source(&format!("SELECT BINLOG_GTID_POS('{quoted}', 4)"))?;
        if unreached(&purged, position).is_some() { Err(self.purged()) } else { Ok(()) }
    }

    fn purged(&self) -> Failure {
        let what = "has purged the binary logs since the copy, so it cannot be followed from there";
        Failure::new(format!("{}: {what}", self.names.0)).hint("take a new copy")
    }

    /// Names of the channels that the new server follows others by: the copy of a replica has the replica's.
    fn channels(&mut self) -> Result<Vec<String>, Failure> {
        let (list, column) = replication::channels(&self.identity.version);
        let rows = self.new.query(list).map_err(|error| Failure::new(format!("{}: {error}", self.names.1)))?;
        let names = (0..rows.rows.len()).map(|row| rows.value(row, column).unwrap_or_default().to_owned());
        // Those of a group are the group's own affair.
        Ok(names.filter(|name| !name.starts_with("group_replication_")).collect())
    }

    fn no_position(&self, what: &str) -> Failure {
        Failure::new(format!("{}: {what}, so there is no position to go on from", self.names.1)).hint(
            "the source has to write a binary log with GTIDs, and the copy and its server's log_bin have to include it",
        )
    }

    fn carry_out(&mut self, statements: &Statements) -> Result<(), Failure> {
        // As the texts in the statements are quoted.
        self.ask_new("SET SESSION sql_mode = ''")?;
        for statement in statements {
            self.new
                .query(statement)
                .map_err(|error| Failure::new(format!("{}: {}", self.names.1, unquoted(&error))))?;
        }
        Ok(())
    }

    /// Group replication is MySQL's, and recovery goes over TLS only if that is said.
    fn check_group(&mut self) -> Result<(), Failure> {
        if !self.is_mysql() {
            return Err(Failure::usage("--as group-member is for MySQL").hint("a MariaDB takes --as replica"));
        }
        let name = "SELECT @@GLOBAL.group_replication_group_name";
        let ours = self.ask_new(name)?;
        let theirs = self.ask_source(name).unwrap_or_default();
        if ours.is_empty() || ours != theirs {
            let failure = format!("{}: its group_replication_group_name is not that of the source", self.names.1);
            return Err(Failure::new(failure).hint("give it the settings of a member of the source's group"));
        }
        if self.ask_new("SELECT @@GLOBAL.group_replication_recovery_use_ssl")? == "1" {
            return Ok(());
        }
        let failure = Failure::new(format!("{}: recovery from the group would go in clear text", self.names.1));
        Err(failure.hint("SET PERSIST group_replication_recovery_use_ssl = ON"))
    }

    /// Whether it is in the group already, or on its way: then there is nothing to change, and it may have got ahead of the source.
    fn is_member(&mut self) -> Result<bool, Failure> {
        let state = self.ask_new(MEMBER_STATE)?;
        let is = matches!(state.as_str(), "ONLINE" | "RECOVERING");
        if is {
            info(&format!("{} is a member of the group already, {state}: nothing is changed", self.names.1));
        }
        Ok(is)
    }

    /// Waits for what the source has now; what comes later comes by the same way.
    fn wait_until_caught_up(&mut self, patience: Duration) -> Result<(), Failure> {
        let (variable, wait) = if self.is_mysql() {
            ("gtid_executed", "WAIT_FOR_EXECUTED_GTID_SET")
        } else {
            ("gtid_binlog_pos", "MASTER_GTID_WAIT")
        };
        let newest = gtids(self.ask_source(&format!("SELECT @@GLOBAL.{variable}"))?, &self.names.0)?;
        let until = Instant::now() + patience;
        while self.ask_new(&format!("SELECT {wait}('{newest}', 2)"))? != "0" {
            if let Some(error) = self.error_of_replication()? {
                return Err(Failure::new(format!("{}: {error}", self.names.1)));
            }
            if Instant::now() > until {
                return Err(Failure::new(format!("{}: has not caught up in {} s", self.names.1, patience.as_secs()))
                    .hint("replication is set up and may still be working; look at its status"));
            }
        }
        info(&format!("{} follows {} and has caught up", self.names.1, self.names.0));
        Ok(())
    }

    fn error_of_replication(&mut self) -> Result<Option<String>, Failure> {
        let (status, _) = replication::channels(&self.identity.version);
        let rows = self.new.query(status).map_err(|error| Failure::new(format!("{}: {error}", self.names.1)))?;
        let text = |column: &str| rows.value(0, column).filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(text("Last_SQL_Error").or_else(|| text("Last_IO_Error")))
    }

    fn wait_until_online(&mut self, patience: Duration) -> Result<(), Failure> {
        let until = Instant::now() + patience;
        loop {
            match self.ask_new(MEMBER_STATE)?.as_str() {
                "ONLINE" => break,
                "ERROR" => {
                    return Err(Failure::new(format!("{}: the group refused it; see its error log", self.names.1))
                        .hint("mend what it names, and run this again"));
                }
                state if Instant::now() > until => {
                    let failure = format!("{}: is {state} and not ONLINE after {} s", self.names.1, patience.as_secs());
                    return Err(Failure::new(failure).hint("it goes on by itself; run this again to wait for it"));
                }
                _ => std::thread::sleep(Duration::from_millis(200)),
            }
        }
        info(&format!("{} is ONLINE in the group of {}", self.names.1, self.names.0));
        Ok(())
    }
}

/// Whether a MariaDB GTID (`domain-server-number`) is reached by a position, which has one for each domain.
fn is_reached(gtid: &str, position: &str) -> bool {
    let parts = |gtid: &str| -> Option<(u64, u64)> {
        let mut parts = gtid.trim().split('-');
        Some((parts.next()?.parse().ok()?, parts.nth(1)?.parse().ok()?))
    };
    let Some((domain, number)) = parts(gtid) else { return false };
    position.split(',').filter_map(parts).any(|(of, reached)| of == domain && reached >= number)
}

/// The first of some MariaDB GTIDs that a position has not reached.
fn unreached<'g>(gtids: &'g str, position: &str) -> Option<&'g str> {
    gtids.split(',').filter(|gtid| !gtid.trim().is_empty()).find(|gtid| !is_reached(gtid, position))
}

/// A set of GTIDs, made sure to be one: it becomes part of a statement on the other server. They hold digits, letters of
/// tags, and `-`, `:`, `_` and commas.
fn gtids(text: String, of: &str) -> Result<String, Failure> {
    let is_one = |c: char| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || matches!(c, '-' | ':' | '_' | ',');
    if text.chars().all(is_one) { Ok(text) } else { Err(Failure::new(format!("{of}: gives a position that is none"))) }
}

/// What the server said, without its words: those of a syntax error quote the statement, and with it the password.
fn unquoted(error: &server::Error) -> String {
    match error {
        server::Error::Server { code, .. } => {
            format!("the server refuses a statement with error {code}; without --yes the statements are shown")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_compared_domain_by_domain() {
        assert!(is_reached("0-1-77", "0-2-80,1-1-5"));
        assert!(!is_reached("0-1-81", "0-2-80,1-1-5"));
        assert!(!is_reached("2-1-1", "0-2-80,1-1-5"));
        assert!(!is_reached("nonsense", "0-2-80"));
        assert_eq!(unreached("0-1-77, 1-1-6", "0-2-80,1-1-5"), Some(" 1-1-6"));
        assert_eq!(unreached("", "0-2-80"), None);
    }

    #[test]
    fn what_is_no_position_is_not_put_into_a_statement() {
        for good in ["", "0-1-77,1-1-5", "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-3:tag_1:5-7,\n"] {
            assert_eq!(gtids(good.to_owned(), "db1").ok().as_deref(), Some(good));
        }
        for bad in ["0-1-1'; DROP DATABASE mysql; -- ", "0-1-1\\", "0-1-1\"", "(0)"] {
            assert!(gtids(bad.to_owned(), "db1").is_err(), "{bad}");
        }
    }
}
