//! The node that joins. Nothing in its data directory is touched before the donor has said what comes, and
//! its old files go when all of the new ones are there, verified and on disk.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use transfer::{
    TransferError,
    pairing::{Secret, Token},
    progress::Progress,
    receiver::{Owner, ReceiveSettings, Received, ReceiverListener, SenderSession, Trust},
};
use verify::size;

use crate::{
    BINLOG, BYPASS, FULL, NO_BINLOG, POSITION, TAKEN,
    arguments::Arguments,
    error::SstError,
    layout::{Layout, remove_tree},
    options::Options,
    position::Position,
    report::Report,
    server_pipe::ServerPipe,
    trust,
};

/// Where state transfers are received if the server names no port.
const DEFAULT_PORT: u16 = 4444;
/// The most data connections that a donor gets.
const STREAMS: u16 = 16;
/// How long the donor may be silent.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long a donor may take to come: `sst-initial-timeout` of the servers' own methods.
const INITIAL_TIMEOUT: Duration = Duration::from_secs(300);
/// For 0, which is no limit.
const NO_LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);
/// How long the port of an earlier try is waited for.
const PORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Does what the server asks for.
///
/// # Errors
/// [`SstError`]. The server learns of it by the end of this process without its last line.
pub fn run(
    arguments: &Arguments,
    options: &Options,
    server_pipe: &ServerPipe,
    report: &Report<'_>,
) -> Result<(), SstError> {
    let layout = Layout::of(arguments, options)?;
    let (host, port) = split(&arguments.address);
    let trust = match trust::certificates(options, report)? {
        Some((identity, authorities)) => {
            Trust::Certificates { identity, authorities, secret: Some(Secret::generate()?) }
        }
        None => Trust::Pairing,
    };
    let listening = listen(host, port, &layout, expiry(options)?, &trust)?;
    let token = match (&trust, listening.code()) {
        (Trust::Certificates { secret: Some(secret), .. }, _) => Token { pin: None, secret: secret.clone() },
        (_, Some(code)) => Token { pin: Some(code.pin), secret: code.secret.clone() },
        _ => return Err(SstError::NoSecret),
    };
    let known_by = if token.pin.is_some() { "a one-time key" } else { "certificates of [sst]" };
    report.line(format!("listening on {}, TLS 1.3 with {known_by}", listening.address()));
    // Where a port was free to choose, the donor needs the one that was chosen.
    let name = host_part(&arguments.address);
    let bare = name.parse::<Ipv6Addr>().is_ok();
    let name = if bare { format!("[{name}]") } else { name.to_owned() };
    let reachable = format!("{name}:{}", listening.address().port());
    server_pipe.ready(&token.text(), &reachable)?;
    let mut turned_away = 0_u32;
    let mut session = listening.wait(|why| {
        turned_away = turned_away.saturating_add(1);
        // Who tries again and again must not fill the log.
        if turned_away.is_power_of_two() {
            report.line(format!("someone was turned away ({turned_away} so far): {why}"));
        }
    })?;
    report.line(format!("the donor came from {}", session.peer()));
    let first = session.receive_note()?;
    let position = match first.split_once(' ') {
        None if first == FULL => full(&layout, session, server_pipe, report)?,
        Some((BYPASS, position)) => bypass(position, session, report)?,
        _ => {
            session.abort(&SstError::OtherRelease.to_string());
            return Err(SstError::OtherRelease);
        }
    };
    server_pipe.position(&position)
}

/// The data that is here is good: nothing is touched.
fn bypass(position: &str, mut session: SenderSession, report: &Report<'_>) -> Result<Position, SstError> {
    let position = Position::parse(position).ok_or(SstError::Position { from: "the donor" })?;
    session.send_note(TAKEN)?;
    session.close();
    report.line(format!("the data that is here is good, only write-sets are missing; position {position}"));
    Ok(position)
}

/// Everything comes.
fn full(
    layout: &Layout,
    mut session: SenderSession,
    server_pipe: &ServerPipe,
    report: &Report<'_>,
) -> Result<Position, SstError> {
    if let Err(error) = layout.check_replaceable().and_then(|()| clear_stale(&layout.staging())) {
        session.abort(&error.to_string());
        return Err(error);
    }
    session.send_note(if layout.has_binlog() { BINLOG } else { NO_BINLOG })?;
    let progress = Progress::default();
    let received = tell(&progress, server_pipe, || session.receive(&progress));
    let received = received.inspect_err(|error| {
        // What is kept for another try must not keep the disk full.
        if matches!(error, TransferError::Space { .. }) || is_full(error) {
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
    // It becomes part of a path.
    if binlog.is_some_and(|name| name.contains('/') || name.contains('\n')) {
        return Err(SstError::OtherRelease);
    }
    layout.replace(binlog)?;
    report.line(format!("everything is in place; position {position}"));
    Ok(position)
}

fn position_of(received: &Received) -> Result<Position, SstError> {
    let said = received.notes.iter().filter_map(|note| note.strip_prefix(POSITION)).next_back();
    said.and_then(Position::parse).ok_or(SstError::Position { from: "the donor" })
}

fn is_full(error: &TransferError) -> bool {
    matches!(error, TransferError::Target { source, .. }
        if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

/// What a try that was cut off in the middle left is gone on from. One that was cut off while it was put
/// in place is of an older state.
fn clear_stale(staging: &Path) -> Result<(), SstError> {
    let inner = staging.join(transfer::plan::STAGING);
    let only_inner =
        fs::read_dir(staging).is_ok_and(|mut items| items.all(|item| item.is_ok_and(|item| item.path() == inner)));
    if only_inner && !inner.join("commit").exists() { Ok(()) } else { remove_tree(staging) }
}

/// Tells the server how far it is while something is done.
fn tell<T: Send>(progress: &Progress, server_pipe: &ServerPipe, work: impl FnOnce() -> T + Send) -> T {
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

fn expiry(options: &Options) -> Result<Duration, SstError> {
    let Some(text) = options.sst("sst-initial-timeout") else { return Ok(INITIAL_TIMEOUT) };
    match text.parse() {
        Ok(0) => Ok(NO_LIMIT),
        Ok(seconds) => Ok(Duration::from_secs(seconds).min(NO_LIMIT)),
        Err(_) => Err(SstError::Option { option: "sst-initial-timeout", reason: "not a number of seconds".to_owned() }),
    }
}

/// Listens on the address that the donor is given; if it is none of this host, on all.
fn listen(
    host: &str,
    port: u16,
    layout: &Layout,
    expiry: Duration,
    trust: &Trust,
) -> Result<ReceiverListener, SstError> {
    let failed = |source| SstError::Address { address: host.to_owned(), source };
    let named: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(failed)?.collect();
    let all = named.iter().map(|address| match address.ip() {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    });
    let all: Vec<_> = all.map(|address| SocketAddr::new(address, port)).collect();
    // A name that leads to the loopback interface here (Debian's 127.0.1.1) leads elsewhere for the donor.
    let literal = host.parse::<IpAddr>().is_ok() || host == "localhost";
    let named: Vec<_> = named.iter().filter(|address| literal || !address.ip().is_loopback()).copied().collect();
    let until = Instant::now() + PORT_TIMEOUT;
    loop {
        let mut last = SstError::Address { address: host.to_owned(), source: io::ErrorKind::AddrNotAvailable.into() };
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
        let busy = matches!(&last, SstError::Transfer(error) if kind(error) == Some(io::ErrorKind::AddrInUse));
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
    // Everything is to belong to the user that the server runs as.
    let owner = Owner { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
    ReceiveSettings {
        into: layout.staging(),
        listen,
        advertise: Vec::new(),
        streams: STREAMS,
        expiry,
        timeout: TIMEOUT,
        owner: Some(owner),
        allow: Vec::new(),
        restart: false,
        rekey: None,
    }
}

/// Host and port of an address; an IPv6 address with a port is in brackets.
pub(crate) fn split(address: &str) -> (&str, u16) {
    let host = host_part(address);
    let port = address.get(host.len()..).unwrap_or_default().trim_start_matches(':');
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    (bare, port.parse().unwrap_or(DEFAULT_PORT))
}

/// The host as it is written, brackets included.
fn host_part(address: &str) -> &str {
    if let Some(end) = address.find(']') {
        return address.get(..=end).unwrap_or(address);
    }
    match address.split_once(':') {
        Some((host, port)) if !port.contains(':') => host,
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_port_or_not() {
        for (address, host, port) in [
            ("127.0.0.1", "127.0.0.1", 4444),
            ("db1.example:5555", "db1.example", 5555),
            ("[::1]:6666", "::1", 6666),
            ("[fd00::7]", "fd00::7", 4444),
            ("fd00::7", "fd00::7", 4444),
        ] {
            assert_eq!(split(address), (host, port), "{address}");
        }
    }

    #[test]
    fn only_what_was_cut_off_before_its_end_is_gone_on_from() {
        let directory = tempfile::tempdir().unwrap();
        let staging = directory.path().join("in");
        let inner = staging.join(transfer::plan::STAGING);
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
