//! The node that gives. It works on while nearly everything is copied, and stands still for what changed
//! meanwhile.

use std::{
    net::ToSocketAddrs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use snapshot::{DataDir, Still};
use transfer::{
    TransferError,
    codec::{effort::Compression, page::KeyFileKeys},
    pairing::{PairingCode, Token},
    plan::Plan,
    progress::Progress,
    sender::{Destination, SendSettings, Session, Source},
};
use verify::size;

use crate::{
    BINLOG, BYPASS, FULL, NO_BINLOG, POSITION, TAKEN, arguments::Arguments, error::SstError, layout::Layout, marker,
    options::Options, position::Position, report::Report, server_pipe::ServerPipe, trust,
};

/// Data connections.
const STREAMS: u16 = 4;
/// How long the joiner may be silent.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The same while the server stands still for it.
const TIMEOUT_UNDER_LOCK: Duration = Duration::from_secs(10);
/// How often it is looked whether the server has stopped writing.
const TICK: Duration = Duration::from_millis(2);
/// Rounds while the server writes: each has what changed in the one before.
const MOST_ROUNDS: usize = 8;
/// Less than this is not worth another round.
const LITTLE_BYTES: u64 = 4 << 20;

/// Tables that servers log into with `log_output=TABLE`.
const LOG_TABLES: [&str; 2] = ["mysql/general_log", "mysql/slow_log"];
/// How long the server may take to stand still. Not every server says that it could not.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3600);

/// Does what the server asks for.
///
/// # Errors
/// [`SstError`]. The server learns of it by the end of this process without its last line; it gives its
/// lock back then.
pub fn run(
    arguments: &Arguments,
    options: &Options,
    auth: Option<&str>,
    server_pipe: &ServerPipe,
    report: &Report<'_>,
) -> Result<(), SstError> {
    let destination = destination(arguments, options, auth, report)?;
    let ordered = arguments.gtid.as_deref().and_then(Position::parse);
    let domain = arguments.gtid_domain_id.as_deref().and_then(|domain| domain.parse().ok());
    let settings = SendSettings {
        streams: STREAMS,
        compression: Compression::Auto,
        bandwidth: rate(options)?,
        suite: None,
        timeout: TIMEOUT,
        key_file_keys: KeyFileKeys::Keep,
    };
    transfer::tls::speed::prepare();
    let progress = Progress::default();
    let mut session = Session::open(&destination, &settings, &progress)?;
    report.line(format!("connected to {}", arguments.address));
    if arguments.bypass {
        let position = ordered.ok_or(SstError::Position { from: "the server" })?.with_domain(domain);
        server_pipe.go_on()?;
        session.send_note(&format!("{BYPASS} {position}"))?;
        if session.receive_note()? != TAKEN {
            return Err(SstError::OtherRelease);
        }
        report.line(format!("the joiner's data is good up to the write-sets it misses; position {position}"));
        return server_pipe.done(&position);
    }
    session.send_note(FULL)?;
    let joiner_has_binlog = match session.receive_note()?.as_str() {
        BINLOG => true,
        NO_BINLOG => false,
        _ => return Err(SstError::OtherRelease),
    };
    let layout = Layout::of(arguments, options)?;
    let ordered = ordered.map(|position| position.with_domain(domain));
    let (layout, progress) = (&layout, &progress);
    let run = DonorRun { arguments, options, layout, progress, server_pipe, report, joiner_has_binlog };
    let outcome = run.full(session, ordered);
    // Its rest must not be taken for the marker of another try.
    let cleared = marker::clear(layout.datadir());
    let position = outcome?;
    cleared?;
    server_pipe.done(&position)
}

/// Does something that may take long, such as a look at very many files, while the connection is kept: who hears nothing
/// for a minute takes the other side for gone.
fn meanwhile<T: Send>(session: &mut Session<'_>, work: impl FnOnce() -> T + Send) -> Result<T, SstError> {
    thread::scope(|scope| {
        let worker = scope.spawn(work);
        while !worker.is_finished() {
            session.idle(TICK)?;
        }
        worker.join().map_err(|_| TransferError::Stopped.into())
    })
}

/// Copies of donors that were killed hold the blocks of everything that is written since.
fn remove_stale(datadir: &DataDir) {
    let found = snapshot::list(datadir, None).unwrap_or_default();
    for stale in found.iter().filter(|found| found.state == snapshot::State::Stale) {
        // One that cannot be removed is in nobody's way but the disk's; `sealant snapshot list` shows it.
        let _ = snapshot::discard(stale);
    }
}

/// What a transfer of everything needs.
struct DonorRun<'g> {
    arguments: &'g Arguments,
    options: &'g Options,
    layout: &'g Layout,
    progress: &'g Progress,
    server_pipe: &'g ServerPipe,
    report: &'g Report<'g>,
    joiner_has_binlog: bool,
}

impl DonorRun<'_> {
    /// Sends everything.
    fn full(&self, mut session: Session<'_>, ordered: Option<Position>) -> Result<Position, SstError> {
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
        // Now: what it holds is not needed any more, and nobody else would say that it is left.
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
                Ok(position)
            }
            Err(error) => {
                session.abort(&error.to_string());
                Err(error)
            }
        }
    }

    /// Sends all of it, from the copy if there is one, and the position.
    fn send(&self, copy: Option<&(Still, Position)>, session: &mut Session<'_>) -> Result<Position, SstError> {
        let sent = match copy {
            Some((copy, ordered)) => self.send_copy(copy, session).map(|()| ordered.clone()),
            None => self.while_it_works(session).and_then(|()| self.while_it_stands_still(session)),
        };
        sent.and_then(|position| {
            session.send_note(&format!("{POSITION} {position}"))?;
            self.server_pipe.go_on()?;
            session.set_timeout(TIMEOUT)?;
            Ok(position)
        })
    }

    /// A copy of one instant, if the file system can give one. The server takes no lock for it: what it
    /// wrote since the position of the request, the joiner has twice or takes from the group.
    fn copy(&self, session: &mut Session<'_>) -> Result<Option<Still>, SstError> {
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
                refused(format!("[sst] sealant-snapshot is none of off, {names}"));
                return Ok(None);
            }
        };
        if !self.layout.is_in_one_place() {
            refused("InnoDB or Aria have files elsewhere".to_owned());
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
            // It would be taken for a server that is down.
            Ok((false, _)) => {
                refused("the server cannot be seen from here".to_owned());
                return Ok(None);
            }
            Ok((true, datadir)) => meanwhile(session, || {
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
            // With the lock it would come to an end, and the joiner's server would wait for ever.
            Err(error @ snapshot::Error::CutOff { .. }) => return Err(error.into()),
            Err(error) => {
                refused(error.brief());
                None
            }
        })
    }

    fn send_copy(&self, copy: &Still, session: &mut Session<'_>) -> Result<(), SstError> {
        let (plan, log) = meanwhile(session, || self.layout.plan_of_copy(copy.root()))??;
        session.round(&plan, None, Source::Static)?;
        copy.prove()?;
        log.map_or(Ok(()), |log| Ok(session.send_note(&format!("{BINLOG} {log}"))?))
    }

    /// Sends everything, and then what changed meanwhile, until little is left.
    fn while_it_works(&self, session: &mut Session<'_>) -> Result<(), SstError> {
        let mut before = u64::MAX;
        for number in 1..=MOST_ROUNDS {
            let (plan, began) = (meanwhile(session, || self.plan())??, Instant::now());
            // More than fits into memory would push itself out of it.
            let small = number > 1 && session.bytes_to_read(&plan) < free_memory() / 2;
            let round = session.round(&plan, None, if small { Source::InUseCached } else { Source::InUse })?;
            self.report.line(format!(
                "while the server works, round {number}: {} of {} looked at, {} sent, {:.1} s",
                size(round.read_bytes),
                size(plan.bytes),
                size(round.sent_bytes),
                began.elapsed().as_secs_f64(),
            ));
            let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            self.server_pipe.report_progress(load(&self.progress.bytes), load(&self.progress.total_bytes));
            let settled = round.sent_bytes <= LITTLE_BYTES || round.sent_bytes > before / 2;
            if number > 1 && settled {
                break;
            }
            before = round.sent_bytes;
        }
        Ok(())
    }

    /// What goes from the server's own files. MariaDB maps its redo log where that is in memory (tmpfs, DAX), and writes it
    /// without a change of its times.
    fn plan(&self) -> Result<Plan, SstError> {
        let mut plan = self.layout.plan()?;
        // Logs that are tables are written whatever lock there is; the joiner's server mends them when it opens them.
        plan.mark_may_change(|path| LOG_TABLES.iter().any(|table| path.with_extension("") == Path::new(table)));
        let datadir = DataDir::at(self.layout.datadir())?.socket(self.arguments.socket.clone());
        let mapped = datadir.server().ok().flatten().and_then(|server| snapshot::mapped_for_writing(&server).ok());
        plan.mark_mtime_unreliable(|name, inode| match &mapped {
            Some(mapped) => mapped.contains(&(name.to_owned(), inode)),
            // Hidden from this user.
            None => name.as_encoded_bytes().starts_with(b"ib_logfile"),
        });
        Ok(plan)
    }

    /// Asks the server to stop writing, and sends what is left.
    fn while_it_stands_still(&self, session: &mut Session<'_>) -> Result<Position, SstError> {
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
                return Err(SstError::NotFlushedInTime { seconds: FLUSH_TIMEOUT.as_secs() });
            }
        };
        let still = Instant::now();
        let plan = meanwhile(session, || self.plan())??;
        let round = session.round(&plan, None, Source::Static)?;
        self.report.line(format!(
            "while the server stands still: {} looked at, {} sent; {} ms, and {} ms until it stood still",
            size(round.read_bytes),
            size(round.sent_bytes),
            still.elapsed().as_millis(),
            (still - asked).as_millis(),
        ));
        Ok(position)
    }
}

/// `rlimit`, as `pv` and so the servers' own methods have it: bytes a second, with k, m, g or t behind.
fn rate(options: &Options) -> Result<Option<u64>, SstError> {
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
    let reason = || "not a number of bytes with k, m, g or t behind it".to_owned();
    rate.filter(|rate| *rate > 0).map(Some).ok_or_else(|| SstError::Option { option: "rlimit", reason: reason() })
}

/// Where the joiner is, and how it is known.
fn destination(
    arguments: &Arguments,
    options: &Options,
    auth: Option<&str>,
    report: &Report<'_>,
) -> Result<Destination, SstError> {
    let token: Token = auth.and_then(|auth| auth.parse().ok()).ok_or(SstError::NoSecret)?;
    let address = arguments.address.split('/').next().unwrap_or_default();
    let (host, port) = crate::joiner::split(address);
    match (trust::certificates(options, report)?, token.pin) {
        (Some((identity, authorities)), None) => {
            let (host, secret) = (host.to_owned(), Some(token.secret));
            Ok(Destination::Certified { host, port, identity, authorities, secret })
        }
        (None, Some(pin)) => {
            let failed = |source| SstError::Address { address: address.to_owned(), source };
            let addresses = (host, port).to_socket_addrs().map_err(failed)?.map(|address| address.ip()).collect();
            Ok(Destination::Paired(PairingCode { addresses, port, pin, secret: token.secret }))
        }
        (Some(_), Some(_)) => Err(SstError::TrustDiffers {
            ours: "this node has certificates for state transfers",
            theirs: "the joiner shows none",
        }),
        (None, None) => Err(SstError::TrustDiffers {
            ours: "this node has no certificates for state transfers",
            theirs: "the joiner asks for them",
        }),
    }
}

/// Memory that files may be kept in.
fn free_memory() -> u64 {
    let text = std::fs::read_to_string(Path::new("/proc/meminfo")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default().saturating_mul(1024)
}
