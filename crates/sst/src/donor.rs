//! The donor. Its server keeps running while nearly everything is copied, and stops writing while
//! the remaining changes are sent.

use std::{
    net::ToSocketAddrs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use codec::page::KeyFileKeys;
use files::proc;
use files::quantity::size;
use innodb::keys::KeySource;
use server::address::{self, HostPort};
use server::option_group::SST;
use snapshot::{DataDir, SnapshotCopy};
use transfer::{
    Error as TransferError,
    codec::level::Compression,
    pairing::{PairingCode, PairingToken},
    plan::Plan,
    progress::Progress,
    sender::{Destination, SendSettings, Session, Source},
};
use verify::Keys;

use crate::{
    BINLOG, BYPASS, FULL, NO_BINLOG, PEER_TIMEOUT, POSITION, TAKEN, arguments::Arguments, error::Error,
    galera_state::GaleraState, keys, layout::Layout, marker, options::Options, report::Report, server_pipe::ServerPipe,
    trust,
};

/// Number of data connections.
const STREAMS: u16 = 4;
/// The timeout while the server has stopped writing for the transfer.
const TIMEOUT_UNDER_LOCK: Duration = Duration::from_secs(10);
/// Interval of checks whether the server has stopped writing.
const TICK: Duration = Duration::from_millis(2);
/// Maximum number of rounds while the server writes; each sends what changed during the one before.
const MAX_ROUNDS: usize = 8;
/// If less than this changed, no further round is sent before the lock.
const SMALL_ROUND_BYTES: u64 = 4 << 20;

/// Log tables of `log_output=TABLE`.
const LOG_TABLES: [&str; 2] = ["mysql/general_log", "mysql/slow_log"];
/// How long the server may take to stop writing. Not every server reports that it failed.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3600);

/// Runs the transfer that the server requested.
///
/// # Errors
/// [`Error`]. The server notices it because this process ends without its last line, and then
/// releases its lock.
pub fn run(
    arguments: &Arguments,
    options: &Options,
    auth: Option<&str>,
    progress: &Progress,
    server_pipe: &ServerPipe,
    report: &Report<'_>,
) -> Result<(), Error> {
    let destination = destination(arguments, options, auth, report)?;
    let ordered = arguments.gtid.as_deref().and_then(GaleraState::parse);
    let domain = arguments.gtid_domain_id.as_deref().and_then(|domain| domain.parse().ok());
    let settings = SendSettings {
        streams: STREAMS,
        compression: compression(options)?,
        bandwidth: rate(options)?,
        suite: None,
        timeout: PEER_TIMEOUT,
        key_file_keys: KeyFileKeys::Keep,
    };
    transfer::tls::speed::prepare();
    // Before the joiner is connected to: it hears nothing meanwhile, and would give up.
    let keys = if arguments.bypass { None } else { keys::read(options, &arguments.datadir, report) };
    let mut session = Session::open(&destination, &settings, progress)?;
    report.line(format!("connected to {}", arguments.address));
    if arguments.bypass {
        let position = ordered.ok_or(Error::Position { from: "the server" })?.with_domain(domain);
        server_pipe.resume_writes()?;
        session.send_note(&format!("{BYPASS} {position}"))?;
        if session.receive_note()? != TAKEN {
            return Err(Error::OtherRelease);
        }
        report.line(format!("the joiner's data is good up to the write-sets it misses; position {position}"));
        return server_pipe.done(&position);
    }
    session.send_note(FULL)?;
    let joiner_has_binlog = match session.receive_note()?.as_str() {
        BINLOG => true,
        NO_BINLOG => false,
        _ => return Err(Error::OtherRelease),
    };
    let layout = Layout::new(arguments, options)?;
    let ordered = ordered.map(|position| position.with_domain(domain));
    let keys = keys.as_ref();
    let run = DonorRun { arguments, options, layout: &layout, keys, progress, server_pipe, report, joiner_has_binlog };
    let outcome = run.full(session, ordered);
    // The position must not be mistaken for the marker of a later attempt.
    let cleared = marker::clear(layout.datadir());
    let position = outcome?;
    cleared?;
    server_pipe.done(&position)
}

/// Runs a long operation, such as a scan of very many files, while the connection is kept alive: a
/// peer that receives nothing for a minute disconnects.
fn with_keepalive<T: Send>(session: &mut Session<'_>, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let worker = scope.spawn(work);
        while !worker.is_finished() {
            session.idle(TICK)?;
        }
        worker.join().map_err(|_| TransferError::Stopped.into())
    })
}

/// Removes copies that killed donors left: they keep the old blocks of everything written since.
fn remove_stale(datadir: &DataDir) {
    let found = snapshot::list(datadir, None).unwrap_or_default();
    for stale in found.iter().filter(|found| found.state == snapshot::State::Stale) {
        // If this fails, the copy only occupies disk space; `sealant snapshot list` shows it.
        let _ = snapshot::discard(stale);
    }
}

/// State of a full transfer.
struct DonorRun<'g> {
    arguments: &'g Arguments,
    options: &'g Options,
    layout: &'g Layout,
    /// Keys that decrypt what is sent, if the options name any.
    keys: Option<&'g Keys>,
    progress: &'g Progress,
    server_pipe: &'g ServerPipe,
    report: &'g Report<'g>,
    joiner_has_binlog: bool,
}

impl DonorRun<'_> {
    /// Sends everything.
    fn full(&self, mut session: Session<'_>, ordered: Option<GaleraState>) -> Result<GaleraState, Error> {
        let (began, progress, report) = (Instant::now(), self.progress, self.report);
        let copy = match ordered.map(|ordered| (self.copy(&mut session), ordered)) {
            Some((Ok(copy), ordered)) => copy.map(|copy| (copy, ordered)),
            Some((Err(error), _)) => {
                session.abort(&error.to_string());
                return Err(error);
            }
            None => None,
        };
        let sent = self.send(copy.as_ref(), &mut session);
        // The copy is no longer needed, and no other place reports if it remains.
        if let Some(Err(error)) = copy.map(|(copy, _)| copy.release()) {
            report.line(format!("the snapshot is left: {error}"));
        }
        match sent {
            Ok(position) => {
                let sent = session.finish()?;
                report.line(format!(
                    "the joiner has everything, {} over the network in {:.1} s, {}; position {position}",
                    size(progress.wire_bytes.load(Ordering::Relaxed)),
                    began.elapsed().as_secs_f64(),
                    sent.suite,
                ));
                let decrypted = progress.opened_bytes.load(Ordering::Relaxed);
                if decrypted > 0 {
                    report.line(format!(
                        "{} of it were encrypted pages and logs: decrypted, compressed, and encrypted again by the joiner",
                        size(decrypted)
                    ));
                }
                Ok(position)
            }
            Err(error) => {
                session.abort(&error.to_string());
                Err(error)
            }
        }
    }

    fn keys(&self) -> Option<&dyn KeySource> {
        self.keys.map(|keys| keys as &dyn KeySource)
    }

    /// Sends everything, from the copy if there is one, and the position.
    fn send(
        &self,
        copy: Option<&(SnapshotCopy, GaleraState)>,
        session: &mut Session<'_>,
    ) -> Result<GaleraState, Error> {
        let sent = match copy {
            Some((copy, ordered)) => self.send_copy(copy, session).map(|()| ordered.clone()),
            None => self.send_while_writing(session).and_then(|()| self.send_under_lock(session)),
        };
        sent.and_then(|position| {
            session.send_note(&format!("{POSITION} {position}"))?;
            self.server_pipe.resume_writes()?;
            session.set_timeout(PEER_TIMEOUT)?;
            Ok(position)
        })
    }

    /// Makes an atomic copy, if the file system supports it. The server takes no lock for it, so
    /// the copy may contain write-sets after the position of the request. The joiner gets all
    /// write-sets after that position from the cluster, those in the copy a second time.
    fn copy(&self, session: &mut Session<'_>) -> Result<Option<SnapshotCopy>, Error> {
        let choice = self.options.sst("sealant-snapshot").unwrap_or("auto");
        if choice == "off" {
            return Ok(None);
        }
        let refused = |reason: String| {
            self.report.line(format!("no snapshot: {reason}; the server's lock is used"));
        };
        let provider = match choice.parse() {
            Ok(provider) => provider,
            Err(names) => {
                refused(format!("[{SST}] sealant-snapshot is none of off, {names}"));
                return Ok(None);
            }
        };
        if !self.layout.is_single_directory() {
            refused("InnoDB or Aria have files outside of the data directory".to_owned());
            return Ok(None);
        }
        if self.layout.has_binlog() != self.joiner_has_binlog {
            refused("only one of the two nodes has a binary log".to_owned());
            return Ok(None);
        }
        let options = snapshot::Options { provider, ..snapshot::Options::default() };
        let datadir = DataDir::at(self.layout.datadir()).map(|datadir| datadir.socket(self.arguments.socket.clone()));
        let seen = datadir.and_then(|datadir| Ok((datadir.server()?.is_some(), datadir)));
        let taken = match seen {
            // An unreachable server would be mistaken for a stopped one.
            Ok((false, _)) => {
                refused("the server cannot be seen from here".to_owned());
                return Ok(None);
            }
            Ok((true, datadir)) => with_keepalive(session, || {
                remove_stale(&datadir);
                snapshot::take(&datadir, &options)
            })?,
            Err(error) => Err(error),
        };
        Ok(match taken {
            Ok(copy) => {
                self.report.line(format!("a snapshot by {}; {}", copy.provider(), copy.effect()));
                Some(copy)
            }
            // The lock would make the transfer end, but the joiner's server would wait forever.
            Err(error @ snapshot::Error::CutOff { .. }) => return Err(error.into()),
            Err(error) => {
                refused(error.brief());
                None
            }
        })
    }

    fn send_copy(&self, copy: &SnapshotCopy, session: &mut Session<'_>) -> Result<(), Error> {
        let (plan, log) = with_keepalive(session, || self.layout.plan_of_copy(copy.root()))??;
        session.round(&plan, self.keys(), Source::Static)?;
        copy.prove()?;
        log.map_or(Ok(()), |log| Ok(session.send_note(&format!("{BINLOG} {log}"))?))
    }

    /// Sends everything, and then repeatedly what has changed, until little is left.
    fn send_while_writing(&self, session: &mut Session<'_>) -> Result<(), Error> {
        let mut before = u64::MAX;
        for number in 1..=MAX_ROUNDS {
            let (plan, began) = (with_keepalive(session, || self.plan())??, Instant::now());
            // Files that do not fit into the page cache would evict each other.
            let small = number > 1 && session.bytes_to_read(&plan) < proc::available_memory().unwrap_or_default() / 2;
            let round = session.round(&plan, self.keys(), if small { Source::InUseCached } else { Source::InUse })?;
            self.report.line(format!(
                "while the server works, round {number}: {} of {} looked at, {} sent, {:.1} s",
                size(round.read_bytes),
                size(plan.bytes),
                size(round.sent_bytes),
                began.elapsed().as_secs_f64(),
            ));
            let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            self.server_pipe.report_progress(load(&self.progress.bytes), load(&self.progress.total_bytes));
            let settled = round.sent_bytes <= SMALL_ROUND_BYTES || round.sent_bytes > before / 2;
            if number > 1 && settled {
                break;
            }
            before = round.sent_bytes;
        }
        Ok(())
    }

    /// Plans what is sent from the server's own files. MariaDB maps its redo log if it is in memory
    /// (tmpfs, DAX), and writes to it without changing its timestamps.
    fn plan(&self) -> Result<Plan, Error> {
        let mut plan = self.layout.plan()?;
        // Log tables are written under any lock; the joiner's server repairs them when it opens
        // them.
        plan.mark_may_change(|path| LOG_TABLES.iter().any(|table| path.with_extension("") == Path::new(table)));
        let datadir = DataDir::at(self.layout.datadir())?.socket(self.arguments.socket.clone());
        let mapped = datadir.server().ok().flatten().and_then(|server| snapshot::mapped_for_writing(&server).ok());
        plan.mark_mtime_unreliable(|name, inode| match &mapped {
            Some(mapped) => mapped.contains(&(name.to_owned(), inode)),
            // The mappings of the server are hidden from this user.
            None => innodb::server_file::is_redo(name),
        });
        Ok(plan)
    }

    /// Asks the server to stop writing, and sends the remaining changes.
    fn send_under_lock(&self, session: &mut Session<'_>) -> Result<GaleraState, Error> {
        let datadir = self.layout.datadir();
        marker::clear(datadir)?;
        session.set_timeout(TIMEOUT_UNDER_LOCK)?;
        let asked = Instant::now();
        self.server_pipe.flush_tables()?;
        let position = loop {
            session.idle(TICK)?;
            if let Some(position) = marker::take(datadir)? {
                break position;
            }
            if asked.elapsed() > FLUSH_TIMEOUT {
                return Err(Error::NotFlushedInTime { seconds: FLUSH_TIMEOUT.as_secs() });
            }
        };
        let unchanged = Instant::now();
        let plan = with_keepalive(session, || self.plan())??;
        let round = session.round(&plan, self.keys(), Source::Static)?;
        self.report.line(format!(
            "while the server stands still: {} looked at, {} sent; {} ms, and {} ms until it stood still",
            size(round.read_bytes),
            size(round.sent_bytes),
            unchanged.elapsed().as_millis(),
            (unchanged - asked).as_millis(),
        ));
        Ok(position)
    }
}

/// `sealant-compress`, as `--compress` of `sealant send`.
fn compression(options: &Options) -> Result<Compression, Error> {
    let named = options.sst("sealant-compress").map_or(Ok(Compression::Auto), str::parse);
    named.map_err(|unknown| Error::Option { option: "sealant-compress", reason: unknown.to_string() })
}

/// `rlimit` as in `pv` and the servers' own methods: bytes per second, with suffix k, m, g or t.
fn rate(options: &Options) -> Result<Option<u64>, Error> {
    let Some(text) = options.sst("rlimit") else { return Ok(None) };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default().to_ascii_lowercase().as_str() {
        "" => Some(1),
        "k" => Some(1 << 10),
        "m" => Some(1 << 20),
        "g" => Some(1 << 30),
        "t" => Some(1_u64 << 40),
        _ => None,
    };
    let rate = digits.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    let reason = || "not a number of bytes with an optional suffix k, m, g or t".to_owned();
    rate.filter(|rate| *rate > 0).map(Some).ok_or_else(|| Error::Option { option: "rlimit", reason: reason() })
}

/// Address of the joiner, and how to authenticate it.
fn destination(
    arguments: &Arguments,
    options: &Options,
    auth: Option<&str>,
    report: &Report<'_>,
) -> Result<Destination, Error> {
    let token: PairingToken = auth.and_then(|auth| auth.parse().ok()).ok_or(Error::NoSecret)?;
    let HostPort { host, port } = arguments.host_and_port()?;
    match (trust::certificates(options, report)?, token.pin) {
        (Some((identity, authorities)), None) => {
            let secret = Some(token.secret);
            Ok(Destination::Certified { host, port, identity, authorities, secret })
        }
        (None, Some(pin)) => {
            let found = (host.as_str(), port).to_socket_addrs();
            let found = found.map_err(|source| Error::Address { address: address::join(&host, port), source })?;
            let addresses = found.map(|address| address.ip()).collect();
            Ok(Destination::Paired(PairingCode { addresses, port, pin, secret: token.secret }))
        }
        (Some(_), Some(_)) => Err(Error::TrustDiffers {
            ours: "this node has certificates for state transfers",
            theirs: "the joiner shows none",
        }),
        (None, None) => Err(Error::TrustDiffers {
            ours: "this node has no certificates for state transfers",
            theirs: "the joiner asks for them",
        }),
    }
}
