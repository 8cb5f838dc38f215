//! A server that applies events as relay logs of a replication channel.
//!
//! The restored server may have channels of its own, whose settings are in the directory. The replay uses a separate
//! channel, of which nothing remains.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use files::quantity::size;
use innodb::binlog::FIRST_EVENT;
use innodb::binlog::MAGIC_CLEAR;
use replication::status::ChannelStatus;
use server::{
    Rows, ServerVersion,
    dialect::{
        channel,
        statement::{replica_status, replication_terms},
    },
    program,
};

use super::{Replayer, portion::Portion};
use crate::{
    Error,
    prove::{
        memory,
        private_server::{PrivateServer, Start},
    },
};

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long an applier may report that it is not running, as it does while it starts.
const STOPPED_LIMIT: Duration = Duration::from_secs(10);
/// A number that no server has by chance: a replica skips events with its own `server_id`.
const SERVER_ID: &str = "--server-id=4294900001";
const RELAY: &str = "relay";
/// Name of the channel.
const CHANNEL: &str = "sealant";

/// GTIDs and disabled events of a server after a portion.
pub(super) struct Applied {
    /// Its GTIDs; empty if it has none.
    pub(super) gtid: String,
    /// MariaDB: its GTIDs, including those that it has applied as a replica.
    pub(super) executed: String,
    /// MySQL: scheduled events that the portion has disabled, as a replica does.
    pub(super) disabled_events: BTreeSet<String>,
}

/// Lets servers apply portions.
pub(super) struct Applier<'a> {
    pub(super) replayer: &'a Replayer<'a>,
    pub(super) datadir: &'a Path,
    pub(super) version: &'a ServerVersion,
    pub(super) found: Vec<String>,
}

impl Applier<'_> {
    /// Starts a server, lets it apply a portion, and stops it. Without transactions, the server only recovers the
    /// directory and reports its GTIDs.
    pub(super) fn apply(&self, portion: &Portion) -> Result<Applied, Error> {
        let channel = Channel::new(self.version);
        let prepare = |secrets: &Path| {
            let logs = channel.write_relay_logs(secrets, portion)?;
            let mut options = self.found.clone();
            options.extend(channel.options(secrets));
            if self.version.flavor.is_mysql_like() && portion.has_gtids {
                // A portion with both kinds of transactions is from a source that was switching `gtid_mode` on or off.
                let mode = if portion.has_anonymous { "--gtid-mode=ON_PERMISSIVE" } else { "--gtid-mode=ON" };
                options.extend([mode, "--enforce-gtid-consistency=ON"].map(str::to_owned));
            }
            Ok((options, logs))
        };
        let Replayer { prover, server_uuid, .. } = self.replayer;
        let start = Start { datadir: self.datadir, version: self.version, prover, server_uuid: *server_uuid };
        let (mut server, logs) = start.in_memory(prepare)?;
        let before = self.events(&mut server)?;
        if portion.transactions > 0 {
            self.run(&mut server, &channel, portion, &logs).map_err(|error| match error {
                Error::Prove { program, reason } => Error::Replay { program, reason },
                other => other,
            })?;
        }
        if server.has_new_keys() {
            return Err(Error::NewKeys { program: prover.mysqld.clone() });
        }
        let gtid = server.gtids(self.version.flavor)?;
        let disabled_events = self.events(&mut server)?.difference(&before).cloned().collect();
        let executed = server.executed(self.version.flavor)?;
        server.stop()?;
        Ok(Applied { gtid, executed, disabled_events })
    }

    fn events(&self, server: &mut PrivateServer) -> Result<BTreeSet<String>, Error> {
        if self.version.flavor.is_mysql_like() { server.events_of_source() } else { Ok(BTreeSet::new()) }
    }

    fn run(
        &self,
        server: &mut PrivateServer,
        channel: &Channel<'_>,
        portion: &Portion,
        logs: &[(String, u64)],
    ) -> Result<(), Error> {
        let (last, end) = logs.last().cloned().unwrap_or_default();
        // Without it, the applier could not execute statements on accounts. It must not be in the binary log, where it
        // would take the GTID of the first transaction.
        server.query("FLUSH NO_WRITE_TO_BINLOG PRIVILEGES")?;
        server.query(&channel.change())?;
        server.query(&channel.statement("START", "SQL_THREAD"))?;
        let (mut reached, mut since) = (String::new(), Instant::now());
        loop {
            let status = channel.status(&server.rows(replica_status(self.version))?);
            // MariaDB begins another relay log when it starts, and continues in it.
            let file = status.relay_log;
            if let Some((number, text)) = status.applier_error {
                let log = logs.iter().zip(&portion.logs).find(|((name, _), _)| *name == file);
                let log = log.map_or("its logs", |(_, log)| log.file.as_str());
                return Err(server.refused(&fault(number, &text, log, status.source_position.unwrap_or(0))));
            }
            if file > last || file == last && status.relay_position == Some(end) {
                break;
            }
            let now = format!("{file}:{}", status.relay_position.unwrap_or(0));
            if now != reached {
                (reached, since) = (now, Instant::now());
            }
            let limit = if status.applier_runs { self.replayer.prover.limit } else { STOPPED_LIMIT };
            if since.elapsed() > limit {
                let reason = format!("its applier made no progress for {} s at {reached}", limit.as_secs());
                return Err(server.refused(&reason));
            }
            thread::sleep(POLL_INTERVAL);
        }
        server.query(&channel.statement("STOP", ""))?;
        server.query(&channel.statement("RESET", "ALL"))?;
        Ok(())
    }
}

/// The message about an error of an applier. The server's own text may contain values of rows, or whole statements.
fn fault(number: u16, text: &str, log: &str, position: u64) -> String {
    let on_table = text.strip_prefix("Could not execute ").and_then(|text| text.split_once(" event on table "));
    let table = on_table.and_then(|(_, text)| text.split_once(';'));
    let table = table.map_or_else(String::new, |(table, _)| format!(" on table {table}"));
    format!("error {number}{table}, behind {log}:{position}")
}

/// The replication channel, with the syntax of a server version.
struct Channel<'v> {
    version: &'v ServerVersion,
    /// Empty before MySQL 5.7, which has only one channel.
    name: &'static str,
}

impl<'v> Channel<'v> {
    fn new(version: &'v ServerVersion) -> Self {
        let is_alone = version.flavor.is_mysql_like() && !version.at_least(5, 7, 6);
        Self { version, name: if is_alone { "" } else { CHANNEL } }
    }

    /// Options of the server. `directory` has the server's files about the channel. The restored files with settings of
    /// channels (those of MariaDB, and of old versions of MySQL) are not read, and stay as they are.
    fn options(&self, directory: &Path) -> Vec<String> {
        let path = |option: &str, name: &str| program::option(option, &directory.join(name));
        let mut options = vec![
            SERVER_ID.to_owned(),
            path("relay-log", RELAY),
            path("relay-log-index", &format!("{RELAY}.index")),
            path("loose-master-info-file", "master.info"),
            path("loose-relay-log-info-file", "relay-log.info"),
        ];
        options.extend(["--loose-log-replica-updates=ON", "--loose-log-slave-updates=ON"].map(str::to_owned));
        if self.version.flavor.is_mysql_like() && !self.name.is_empty() {
            // A named channel requires tables for these repositories.
            let tables = ["--loose-master-info-repository=TABLE", "--loose-relay-log-info-repository=TABLE"];
            options.extend(tables.map(str::to_owned));
        }
        options
    }

    /// Common beginning of the names of its relay logs and of their index.
    fn base(&self) -> String {
        if self.name.is_empty() { RELAY.to_owned() } else { format!("{RELAY}-{}", self.name) }
    }

    /// The statement that makes the channel.
    fn change(&self) -> String {
        let prefix = replication_terms(self.version).prefix;
        // Options that are omitted keep the channel's last values.
        let no_gtids = if self.version.flavor.is_mysql_like() {
            format!("{prefix}_AUTO_POSITION = 0")
        } else {
            "MASTER_USE_GTID = no".to_owned()
        };
        self.in_statements().change(&format!(
            "{prefix}_HOST = 'archive', RELAY_LOG_FILE = '{}.000001', RELAY_LOG_POS = {FIRST_EVENT}, {no_gtids}",
            self.base()
        ))
    }

    /// A statement on the channel alone.
    fn statement(&self, verb: &str, rest: &str) -> String {
        self.in_statements().statement(verb, rest)
    }

    fn in_statements(&self) -> channel::Channel<'_> {
        if self.name.is_empty() {
            channel::Channel::only(self.version)
        } else {
            channel::Channel::named(self.version, self.name)
        }
    }

    fn status(&self, status: &Rows) -> ChannelStatus {
        let channels = ChannelStatus::all(self.version, status);
        channels.into_iter().find(|channel| channel.name == self.name).unwrap_or_default()
    }

    /// Writes a relay log for each log of a portion, and their index; returns their names and lengths.
    fn write_relay_logs(&self, directory: &Path, portion: &Portion) -> Result<Vec<(String, u64)>, Error> {
        let place = Path::new(memory::DIRECTORY);
        let free = memory::free_bytes(place)?;
        if portion.bytes as u64 > free {
            let reason = format!("a transaction needs {}, and {} are free", size(portion.bytes as u64), size(free));
            return Err(Error::Memory { path: place.to_path_buf(), reason });
        }
        let (mut names, mut paths) = (Vec::new(), String::new());
        for (number, log) in (1..).zip(&portion.logs) {
            let name = format!("{}.{number:06}", self.base());
            let path = directory.join(&name);
            let failed = || Error::io(&path, "cannot be written");
            let mut file = fs::File::create(&path).map_err(failed())?;
            file.write_all(MAGIC_CLEAR).and_then(|()| file.write_all(&log.bytes)).map_err(failed())?;
            paths.push_str(&format!("{}\n", path.display()));
            names.push((name, (MAGIC_CLEAR.len() as u64).saturating_add(log.bytes.len() as u64)));
        }
        if names.is_empty() {
            return Ok(names);
        }
        let path = directory.join(format!("{}.index", self.base()));
        fs::write(&path, paths).map_err(Error::io(&path, "cannot be written"))?;
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use server::VersionHints;

    use super::*;

    fn version(text: &str) -> ServerVersion {
        ServerVersion::parse(text, VersionHints::default()).unwrap()
    }

    #[test]
    fn statements_are_on_the_channel_alone() {
        let of = |text: &str| {
            let version = version(text);
            let channel = Channel::new(&version);
            (channel.change(), channel.statement("RESET", "ALL"))
        };
        let (change, reset) = of("9.7.4");
        assert_eq!(
            change,
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'archive', RELAY_LOG_FILE = 'relay-sealant.000001', \
             RELAY_LOG_POS = 4, SOURCE_AUTO_POSITION = 0 FOR CHANNEL 'sealant'"
        );
        assert_eq!(reset, "RESET REPLICA ALL FOR CHANNEL 'sealant'");
        let (change, reset) = of("5.7.44");
        assert!(change.ends_with("MASTER_AUTO_POSITION = 0 FOR CHANNEL 'sealant'"), "{change}");
        assert_eq!(reset, "RESET SLAVE ALL FOR CHANNEL 'sealant'");
        let (change, reset) = of("10.11.19-MariaDB");
        assert_eq!(
            change,
            "CHANGE MASTER 'sealant' TO MASTER_HOST = 'archive', RELAY_LOG_FILE = 'relay-sealant.000001', \
             RELAY_LOG_POS = 4, MASTER_USE_GTID = no"
        );
        assert_eq!(reset, "RESET SLAVE 'sealant' ALL");
        assert_eq!(of("5.6.51").1, "RESET SLAVE ALL");
    }

    #[test]
    fn an_error_shows_no_value() {
        let text =
            "Could not execute Write_rows event on table shop.users; Duplicate entry 'alice@example.com' for key";
        assert_eq!(fault(1062, text, "binlog.000007", 812), "error 1062 on table shop.users, behind binlog.000007:812");
        let text = "Error 'Duplicate entry' on query. Query: 'INSERT INTO t VALUES (\' event on table secret;\')'";
        assert_eq!(fault(1062, text, "binlog.000007", 812), "error 1062, behind binlog.000007:812");
    }

    #[test]
    fn the_status_is_that_of_the_channel() {
        let row = |values: [&str; 2]| values.map(|value| Some(value.to_owned())).to_vec();
        let status = Rows {
            columns: ["Channel_Name", "Relay_Log_File"].map(str::to_owned).to_vec(),
            rows: vec![row(["", "host-relay-bin.000003"]), row([CHANNEL, "relay-sealant.000001"])],
        };
        let version = version("9.7.4");
        let channel = Channel::new(&version);
        assert_eq!(channel.status(&status).relay_log, "relay-sealant.000001");
        assert_eq!(channel.status(&Rows::default()), ChannelStatus::default());
    }
}
