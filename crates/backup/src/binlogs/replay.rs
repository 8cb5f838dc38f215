//! Replays archived binary logs on a restored directory, with the server's own applier.
//!
//! A private server gets the logs as relay logs. They are in clear text and contain rows, so they are kept in memory
//! instead of on a disk that may not be encrypted. To limit the memory, they are applied in portions of whole
//! transactions, each by a new server process.

use std::{
    fs,
    io::Write,
    ops::ControlFlow,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use agefile::Identity;
use archive::binlog::{BinlogPosition, FIRST_EVENT};
use binlog::{Body, EventType, Limits, LogFile, event::Query, replica};
use innodb::{binlog::MAGIC_CLEAR, server_file};
use jiff::Timestamp;
use server::{
    ServerVersion,
    dialect::statement::{replica_status, replication_terms},
    program,
};
use verify::Keys;

use super::{
    chain::Archive,
    events::{LogEvent, Range, each_event},
    target::Reach,
    transaction::Scanner,
};
use crate::{
    BackupError, Repository, judge,
    prove::{Prover, options, private_server::PrivateServer, program::version},
};

/// Bytes of events in memory at once, unless a single transaction is longer.
const PORTION_BYTES: usize = 128 << 20;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long an applier may report that it does not run: it does while it starts.
const STOPPED_LIMIT: Duration = Duration::from_secs(10);
/// A number that no server has by chance: a replica skips events with its own number.
const SERVER_ID: &str = "--server-id=4294900001";
const RELAY: &str = "relay";

/// What to replay, and on which directory.
#[derive(Debug)]
pub struct Replayer<'r> {
    /// The restored directory.
    pub datadir: &'r Path,
    /// The position of the backup.
    pub from: &'r BinlogPosition,
    /// Time of the backup's copy.
    pub time: Timestamp,
    /// Transactions to replay.
    pub reach: &'r Reach,
    /// Keys of the directory's files.
    pub keys: &'r Keys,
    /// The server program and its settings.
    pub prover: &'r Prover,
    /// UUID of the server, which is part of the names of its keys.
    pub server_uuid: Option<&'r str>,
}

/// Result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The server, for example `MySQL 9.7.4`.
    pub server: String,
    /// Bytes of events replayed.
    pub bytes: u64,
    /// GTIDs that the server has executed afterwards; empty if there are none.
    pub gtid: String,
    /// Number of master key rotations that were skipped: the new key would be lost with the private server.
    pub rotations: u64,
}

/// Position of a restored directory whose backup records none: the end of its newest binary log.
///
/// # Errors
/// [`BackupError::Unreachable`] if it has no binary log.
pub(crate) fn position_of(datadir: &Path, keys: &Keys) -> Result<BinlogPosition, BackupError> {
    let logs = options::names(datadir)?
        .into_iter()
        .filter(|name| server_file::log_base(name).is_some() && !server_file::is_named_as_relay_log(name));
    let newest = logs.max_by_key(|name| (name.len(), name.clone())).ok_or_else(|| {
        BackupError::unreachable("the backup knows no position, and has no binary log in its directory")
    })?;
    let path = datadir.join(&newest);
    let reader = files::Reader::open(&path).map_err(BackupError::io(&path, "cannot be read"))?;
    let mut log = LogFile::open(reader, keys, Limits::default())?;
    let start = replica::Start::Position(replica::LogPosition { file: newest.clone(), position: FIRST_EVENT });
    let mut progress = replica::Progress::new(&start);
    let mut end = FIRST_EVENT;
    // Recovery removes a transaction that is cut off at the end of the log.
    while let Ok(Some((_, event))) = log.next_event() {
        progress.note(&event);
        let is_log_event = super::transaction::is_of_log(&event.body) && !matches!(event.body, Body::Rotate(_));
        if is_log_event || progress.boundary == progress.position {
            end = log.position();
        }
    }
    Ok(BinlogPosition { file: newest, offset: end })
}

/// Replays the logs up to the target, after recovery of the directory.
///
/// # Errors
/// [`BackupError::Replay`] with the server's error.
pub(crate) fn replay(
    repository: &Repository,
    archive: &Archive,
    identities: &[Identity],
    replayer: &Replayer<'_>,
    note: &dyn Fn(u64),
) -> Result<Replayed, BackupError> {
    let datadir = replayer.datadir.canonicalize().map_err(BackupError::io(replayer.datadir, "cannot be found"))?;
    let version = version(&replayer.prover.mysqld)?;
    let report = judge::verify(&datadir, replayer.keys, replayer.prover.streams, &|_| {});
    let found = options::for_directory(&datadir, &report, version.flavor)?;
    let applier = Applier { replayer, datadir: &datadir, version: &version, found };
    let mut portions = Portions::default();
    let mut replayed = Replayed { server: version.to_string(), bytes: 0, gtid: String::new(), rotations: 0 };
    let mut apply = |portions: &mut Portions| -> Result<(), BackupError> {
        let portion = portions.take();
        if portion.transactions > 0 {
            replayed.gtid = applier.apply(&portion)?;
            replayed.bytes = replayed.bytes.saturating_add(portion.bytes as u64);
            note(replayed.bytes);
        }
        Ok(())
    };
    let (from, end) = (replayer.from, &replayer.reach.end);
    let (mut scanner, mut rotations) = (Scanner::new(), 0_u64);
    if replayer.reach.transactions > 0 {
        each_event(repository, archive, identities, Range::From(from, replayer.time.as_second()), &mut |event| {
            portions.add(event, from);
            let Some(transaction) = scanner.take(event.file, event.start, event.bytes)? else {
                return Ok(ControlFlow::Continue(()));
            };
            let is_new = transaction.file != from.file || transaction.start >= from.offset;
            portions.end_transaction(is_new);
            if is_new && transaction.is_of_instance() {
                portions.empty_last(event)?;
                rotations = rotations.saturating_add(1);
            }
            if transaction.end_position() == *end {
                return Ok(ControlFlow::Break(()));
            }
            if portions.bytes >= PORTION_BYTES {
                apply(&mut portions)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        apply(&mut portions)?;
    }
    replayed.rotations = rotations;
    Ok(replayed)
}

/// Events to apply, by log.
#[derive(Default)]
struct Portions {
    logs: Vec<Vec<u8>>,
    /// The first events of the current log: format description and previous GTIDs.
    head: Vec<u8>,
    file: String,
    bytes: usize,
    transactions: u64,
    has_gtids: bool,
    has_anonymous: bool,
}

impl Portions {
    fn add(&mut self, event: &LogEvent<'_>, from: &BinlogPosition) {
        if self.file != event.file {
            event.file.clone_into(&mut self.file);
            self.head.clear();
            self.logs.push(Vec::new());
        }
        match event.kind {
            EventType::FORMAT_DESCRIPTION | EventType::PREVIOUS_GTIDS => {
                self.head.extend_from_slice(event.bytes);
                self.push(event.bytes);
            }
            // These belong to the log, not to a transaction.
            EventType::ROTATE | EventType::STOP | EventType::GTID_LIST | EventType::BINLOG_CHECKPOINT => {}
            _ if event.file == from.file && event.start < from.offset => {}
            kind => {
                self.has_gtids |= matches!(kind, EventType::GTID | EventType::GTID_TAGGED);
                self.has_anonymous |= kind == EventType::ANONYMOUS_GTID;
                self.push(event.bytes);
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(log) = self.logs.last_mut() {
            log.extend_from_slice(bytes);
            self.bytes = self.bytes.saturating_add(bytes.len());
        }
    }

    /// Replaces the last event, a statement, by an empty transaction with the same GTID.
    fn empty_last(&mut self, event: &LogEvent<'_>) -> Result<(), BackupError> {
        let fault = |fault| {
            BackupError::Binlog(binlog::Error::Stream { file: event.file.to_owned(), position: event.start, fault })
        };
        if let Some(log) = self.logs.last_mut() {
            log.truncate(log.len().saturating_sub(event.bytes.len()));
            for statement in [&b"BEGIN"[..], b"COMMIT"] {
                log.extend(Query::with_statement(event.bytes, statement).map_err(fault)?);
            }
        }
        Ok(())
    }

    fn end_transaction(&mut self, is_new: bool) {
        self.transactions = self.transactions.saturating_add(u64::from(is_new));
    }

    /// Takes all events. The next portion begins in the same log.
    fn take(&mut self) -> Self {
        let next =
            Self { logs: vec![self.head.clone()], head: self.head.clone(), file: self.file.clone(), ..Self::default() };
        std::mem::replace(self, next)
    }
}

/// Applies portions, each with a server of its own.
struct Applier<'a> {
    replayer: &'a Replayer<'a>,
    datadir: &'a Path,
    version: &'a ServerVersion,
    found: Vec<String>,
}

impl Applier<'_> {
    /// Starts a server, applies a portion and stops the server. Returns its GTIDs.
    fn apply(&self, portion: &Portions) -> Result<String, BackupError> {
        let prepare = |secrets: &Path| {
            let logs = write_relay_logs(secrets, portion)?;
            let mut options = self.found.clone();
            options.extend([SERVER_ID.to_owned(), program::option("relay-log", &secrets.join(RELAY))]);
            options.push(program::option("relay-log-index", &index(secrets)));
            options.extend(["--loose-log-replica-updates=ON", "--loose-log-slave-updates=ON"].map(str::to_owned));
            if self.version.flavor.is_mysql_like() && portion.has_gtids {
                // A log with both kinds of transactions is of a source that was switching its GTID mode.
                let mode = if portion.has_anonymous { "--gtid-mode=ON_PERMISSIVE" } else { "--gtid-mode=ON" };
                options.extend([mode, "--enforce-gtid-consistency=ON"].map(str::to_owned));
            }
            Ok((options, logs))
        };
        let Replayer { prover, server_uuid, .. } = self.replayer;
        let (mut server, logs) = PrivateServer::start_with(self.datadir, self.version, prover, *server_uuid, prepare)?;
        let end = logs.last().cloned().unwrap_or_default();
        self.run(&mut server, &end).map_err(|error| match error {
            BackupError::Prove { program, reason } => BackupError::Replay { program, reason },
            other => other,
        })?;
        let gtid = server.gtids(self.version.flavor)?;
        server.stop()?;
        Ok(gtid)
    }

    fn run(&self, server: &mut PrivateServer, (last, end): &(String, u64)) -> Result<(), BackupError> {
        let terms = replication_terms(self.version);
        // Without FLUSH PRIVILEGES the applier could not execute statements on accounts. It is kept out of the binary
        // log, where it would take the GTID of the first transaction.
        server.query("FLUSH NO_WRITE_TO_BINLOG PRIVILEGES")?;
        let by_position = if self.version.flavor.is_mysql_like() { "" } else { ", MASTER_USE_GTID = no" };
        server.query(&format!(
            "{} TO {}_HOST = 'archive', RELAY_LOG_FILE = '{RELAY}.000001', RELAY_LOG_POS = {FIRST_EVENT}{by_position}",
            terms.change, terms.prefix
        ))?;
        server.query(&format!("START {} SQL_THREAD", terms.replica))?;
        let (mut reached, mut since) = (String::new(), Instant::now());
        loop {
            let status = server.rows(replica_status(self.version))?;
            let value =
                |names: &[&str]| names.iter().find_map(|name| status.value(0, name)).unwrap_or_default().to_owned();
            let error = value(&["Last_SQL_Error"]);
            if !error.is_empty() {
                return Err(server.failed(&error));
            }
            // On start MariaDB begins another relay log and continues there.
            let file = value(&["Relay_Log_File"]);
            if file > *last || file == *last && value(&["Relay_Log_Pos"]) == end.to_string() {
                break;
            }
            let now = format!("{file}:{}", value(&["Relay_Log_Pos"]));
            if now != reached {
                (reached, since) = (now, Instant::now());
            }
            let is_running = value(&["Replica_SQL_Running", "Slave_SQL_Running"]) == "Yes";
            let limit = if is_running { self.replayer.prover.limit } else { STOPPED_LIMIT };
            if since.elapsed() > limit {
                let reason = format!("its applier made no progress for {} s at {reached}", limit.as_secs());
                return Err(server.failed(&reason));
            }
            thread::sleep(POLL_INTERVAL);
        }
        server.query(&format!("STOP {}", terms.replica))?;
        server.query(&format!("RESET {} ALL", terms.replica))?;
        Ok(())
    }
}

fn index(directory: &Path) -> PathBuf {
    directory.join(format!("{RELAY}.index"))
}

/// Writes a relay log for each log of a portion, and their index. Returns their names and lengths.
fn write_relay_logs(directory: &Path, portion: &Portions) -> Result<Vec<(String, u64)>, BackupError> {
    let (mut names, mut paths) = (Vec::new(), String::new());
    for (number, log) in (1..).zip(&portion.logs) {
        let name = format!("{RELAY}.{number:06}");
        let path = directory.join(&name);
        let failed = || BackupError::io(&path, "cannot be written");
        let mut file = fs::File::create(&path).map_err(failed())?;
        file.write_all(MAGIC_CLEAR).and_then(|()| file.write_all(log)).map_err(failed())?;
        paths.push_str(&format!("{}\n", path.display()));
        names.push((name, (MAGIC_CLEAR.len() as u64).saturating_add(log.len() as u64)));
    }
    let path = index(directory);
    fs::write(&path, paths).map_err(BackupError::io(&path, "cannot be written"))?;
    Ok(names)
}
