//! The joiner. Nothing in its data directory is changed before the donor has announced what it
//! sends, and the old files are removed only when all new ones are complete, verified and on disk.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use files::quantity::size;
use server::address::{self, HostPort};
use server::option_group::SST;
use transfer::{
    Error as TransferError,
    pairing::{PairingToken, Secret},
    progress::Progress,
    receiver::{Owner, ReceiveSettings, Received, ReceiverListener, SenderSession, Trust},
};

use crate::{
    BINLOG, BYPASS, FULL, NO_BINLOG, PEER_TIMEOUT, POSITION, TAKEN,
    arguments::Arguments,
    error::Error,
    galera_state::GaleraState,
    layout::{Layout, remove_tree},
    options::Options,
    report::Report,
    server_pipe::ServerPipe,
    trust,
};

/// Maximum number of data connections.
const STREAMS: u16 = 16;
/// Time limit for the donor to connect: `sst-initial-timeout` of the servers' own methods.
const INITIAL_TIMEOUT: Duration = Duration::from_secs(300);
/// Used for the value 0, which means no limit.
const NO_LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);
/// How long to wait for the port of an earlier attempt.
const PORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs the transfer that the server requested.
///
/// # Errors
/// [`Error`]. The server notices it because this process ends without its last line.
pub fn run(
    arguments: &Arguments,
    options: &Options,
    progress: &Progress,
    server_pipe: &ServerPipe,
    report: &Report<'_>,
) -> Result<(), Error> {
    let layout = Layout::new(arguments, options)?;
    let address = arguments.host_and_port()?;
    let trust = match trust::certificates(options, report)? {
        Some((identity, authorities)) => {
            Trust::Certificates { identity, authorities, secret: Some(Secret::generate()?) }
        }
        None => Trust::Pairing,
    };
    let listening = listen(&address, &layout, expiry(options)?, &trust)?;
    let token = match (&trust, listening.code()) {
        (Trust::Certificates { secret: Some(secret), .. }, _) => PairingToken { pin: None, secret: secret.clone() },
        (_, Some(code)) => PairingToken { pin: Some(code.pin), secret: code.secret.clone() },
        _ => return Err(Error::NoSecret),
    };
    let known_by = if token.pin.is_some() { "a one-time key".to_owned() } else { format!("certificates of [{SST}]") };
    report.line(format!("listening on {}, TLS 1.3 with {known_by}", listening.address()));
    // If the system chose the port, the donor needs the chosen one.
    let reachable = address::join(&address.host, listening.address().port());
    server_pipe.ready(&token.text(), &reachable)?;
    let mut turned_away = 0_u32;
    let mut session = listening.wait(|why| {
        turned_away = turned_away.saturating_add(1);
        // Rate-limited, so that repeated attempts do not fill the log.
        if turned_away.is_power_of_two() {
            report.line(format!("a connection was rejected ({turned_away} so far): {why}"));
        }
    })?;
    report.line(format!("the donor came from {}", session.peer()));
    let first = session.receive_note()?;
    let position = match first.split_once(' ') {
        None if first == FULL => full(&layout, session, progress, server_pipe, report)?,
        Some((BYPASS, position)) => bypass(position, session, report)?,
        _ => {
            session.abort(&Error::OtherRelease.to_string());
            return Err(Error::OtherRelease);
        }
    };
    server_pipe.position(&position)
}

/// The existing data is good: nothing is changed.
fn bypass(position: &str, mut session: SenderSession, report: &Report<'_>) -> Result<GaleraState, Error> {
    let position = GaleraState::parse(position).ok_or(Error::Position { from: "the donor" })?;
    session.send_note(TAKEN)?;
    session.close();
    report.line(format!("the data that is here is good, only write-sets are missing; position {position}"));
    Ok(position)
}

/// Receives everything.
fn full(
    layout: &Layout,
    mut session: SenderSession,
    progress: &Progress,
    server_pipe: &ServerPipe,
    report: &Report<'_>,
) -> Result<GaleraState, Error> {
    if let Err(error) = layout.check_replaceable().and_then(|()| clear_stale(&layout.staging())) {
        session.abort(&error.to_string());
        return Err(error);
    }
    session.send_note(if layout.has_binlog() { BINLOG } else { NO_BINLOG })?;
    let received = report_while(progress, server_pipe, || session.receive(progress));
    let received = received.inspect_err(|error| {
        // A partial transfer must not keep the disk full.
        if matches!(error, TransferError::Space { .. }) || is_disk_full(error) {
            let _ = remove_tree(&layout.staging());
        }
    })?;
    let position = position_of(&received)?;
    report.line(format!(
        "{} of {} files and directories are here and verified, tree {}",
        size(received.bytes),
        received.entries,
        received.tree,
    ));
    let binlog = received.notes.iter().find_map(|note| note.strip_prefix(BINLOG)?.strip_prefix(' '));
    // The name becomes part of a path.
    if binlog.is_some_and(|name| name.contains('/') || name.contains('\n')) {
        return Err(Error::OtherRelease);
    }
    layout.replace(binlog)?;
    report.line(format!("everything is in place; position {position}"));
    Ok(position)
}

fn position_of(received: &Received) -> Result<GaleraState, Error> {
    let said = received.notes.iter().filter_map(|note| note.strip_prefix(POSITION)).next_back();
    said.and_then(GaleraState::parse).ok_or(Error::Position { from: "the donor" })
}

fn is_disk_full(error: &TransferError) -> bool {
    matches!(error, TransferError::Target { source, .. } if files::is_disk_full(source))
}

/// Removes leftovers of an earlier attempt. A partial transfer is resumed, but a partly installed
/// one is of an older state and is removed.
fn clear_stale(staging: &Path) -> Result<(), Error> {
    let inner = staging.join(files::STAGING);
    let only_inner =
        fs::read_dir(staging).is_ok_and(|mut items| items.all(|item| item.is_ok_and(|item| item.path() == inner)));
    if only_inner && !inner.join("commit").exists() { Ok(()) } else { remove_tree(staging) }
}

/// Reports progress to the server while `work` runs.
fn report_while<T: Send>(progress: &Progress, server_pipe: &ServerPipe, work: impl FnOnce() -> T + Send) -> T {
    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let teller = scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                thread::park_timeout(Duration::from_secs(1));
                let bytes = progress.bytes.load(Ordering::Relaxed);
                server_pipe.report_progress(bytes, progress.total_bytes.load(Ordering::Relaxed));
            }
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        teller.thread().unpark();
        done
    })
}

fn expiry(options: &Options) -> Result<Duration, Error> {
    let Some(text) = options.sst("sst-initial-timeout") else { return Ok(INITIAL_TIMEOUT) };
    match text.parse() {
        Ok(0) => Ok(NO_LIMIT),
        Ok(seconds) => Ok(Duration::from_secs(seconds).min(NO_LIMIT)),
        Err(_) => Err(Error::Option { option: "sst-initial-timeout", reason: "not a number of seconds".to_owned() }),
    }
}

/// Listens on the address that the donor gets; on all addresses if it is not an address of this
/// host.
fn listen(
    HostPort { host, port }: &HostPort,
    layout: &Layout,
    expiry: Duration,
    trust: &Trust,
) -> Result<ReceiverListener, Error> {
    let failed = |source| Error::Address { address: host.to_owned(), source };
    let named: Vec<SocketAddr> = (host.as_str(), *port).to_socket_addrs().map_err(failed)?.collect();
    let all = named.iter().map(|address| match address.ip() {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    });
    let all: Vec<_> = all.map(|address| SocketAddr::new(address, *port)).collect();
    // A name that resolves to the loopback interface here (Debian's 127.0.1.1) resolves differently
    // on the donor.
    let literal = host.parse::<IpAddr>().is_ok() || host == "localhost";
    let named: Vec<_> = named.iter().filter(|address| literal || !address.ip().is_loopback()).copied().collect();
    let until = Instant::now() + PORT_TIMEOUT;
    loop {
        let mut last = Error::Address { address: host.to_owned(), source: io::ErrorKind::AddrNotAvailable.into() };
        for address in named.iter().chain(&all) {
            match ReceiverListener::listen(settings(*address, layout, expiry), trust) {
                Ok(listening) => return Ok(listening),
                Err(error) if kind(&error) == Some(io::ErrorKind::AddrNotAvailable) => last = error.into(),
                Err(error) if kind(&error) == Some(io::ErrorKind::AddrInUse) => {
                    last = error.into();
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let busy = matches!(&last, Error::Transfer(error) if kind(error) == Some(io::ErrorKind::AddrInUse));
        if !busy || Instant::now() > until {
            return Err(last);
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn kind(error: &TransferError) -> Option<io::ErrorKind> {
    match error {
        TransferError::Network { source, .. } => Some(source.kind()),
        _ => None,
    }
}

fn settings(listen: SocketAddr, layout: &Layout, expiry: Duration) -> ReceiveSettings {
    // Everything must belong to the user that the server runs as.
    let owner = Owner { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
    ReceiveSettings {
        into: layout.staging(),
        listen,
        advertise: Vec::new(),
        streams: STREAMS,
        expiry,
        timeout: PEER_TIMEOUT,
        owner: Some(owner),
        allow: Vec::new(),
        restart: false,
        rekey: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_transfer_interrupted_before_its_commit_is_resumed() {
        let directory = tempfile::tempdir().unwrap();
        let staging = directory.path().join("in");
        let inner = staging.join(files::STAGING);
        clear_stale(&staging).unwrap();
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("journal"), "").unwrap();
        clear_stale(&staging).unwrap();
        assert!(inner.exists());
        fs::write(inner.join("commit"), "").unwrap();
        clear_stale(&staging).unwrap();
        assert!(!staging.exists());
        fs::create_dir_all(&inner).unwrap();
        fs::write(staging.join("ibdata1"), "").unwrap();
        clear_stale(&staging).unwrap();
        assert!(!staging.exists());
    }
}
