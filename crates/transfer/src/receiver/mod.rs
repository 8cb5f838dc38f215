//! The receiver (joiner).

mod chunk_index;
mod commit_marker;
mod keyring_config;
mod listener;
mod parent_cache;
mod rekey;
mod resume;
mod session;
mod staging;
mod stream;
mod target;
mod unauthenticated;

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU16, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    rand::{SecureRandom, SystemRandom},
};

use keyring::WritableKeyring;

pub(crate) use self::keyring_config::write_configuration;
use self::{
    chunk_index::ChunkIndex,
    listener::{AuthenticatedSender, Listener, RejectedPeer},
    rekey::Rekeying,
    stream::Stream,
    unauthenticated::UnauthenticatedPeers,
};
pub use self::{
    commit_marker::CommitMarker,
    parent_cache::ParentCache,
    session::{ReceiverListener, SenderSession},
    staging::{Owner, Staging},
};
use crate::{
    error::TransferError,
    hash::{Hash, chunk_bytes},
    journal::Journal,
    manifest::Manifest,
    pairing::{MAX_ADDRESSES, PairingCode, Secret},
    plan::first_invalid,
    progress::{Progress, load},
    rekey::{Rekeyed, check_committed, check_location, check_names},
    stop::Stop,
    tls::{
        ControlChannel, DataChannel, Pinned,
        identity::{Authorities, Identity, pin_of},
        server_config,
    },
    wire::{Control, Data, Entry, Kind, Root, message::TOKEN_BYTES},
};

/// How sender and receiver authenticate each other.
#[derive(Debug)]
pub enum Trust {
    /// With a pairing code that the receiver generates.
    Pairing,
    /// With certificates of the site.
    Certificates {
        /// Certificate and key of this side.
        identity: Identity,
        /// Authorities that may have signed the sender's certificate.
        authorities: Authorities,
        /// A one-time secret that the sender has to know as well.
        secret: Option<Secret>,
    },
}

/// Settings of a receiver.
#[derive(Debug)]
pub struct ReceiveSettings {
    /// The target directory.
    pub into: PathBuf,
    /// Address and port to listen on; port 0 selects a free one.
    pub listen: SocketAddr,
    /// Addresses for the pairing code, instead of those of this host.
    pub advertise: Vec<IpAddr>,
    /// Maximum number of data connections.
    pub streams: u16,
    /// How long to wait for a sender.
    pub expiry: Duration,
    /// How long the sender may send nothing.
    pub timeout: Duration,
    /// Owner of everything, instead of the source's.
    pub owner: Option<Owner>,
    /// The sender's certificate must have one of these names; empty allows any name.
    pub allow: Vec<String>,
    /// Remove what an earlier transfer left, instead of continuing it.
    pub restart: bool,
    /// Wrap the keys of files with the master key of this keyring.
    pub rekey: Option<WritableKeyring>,
}

/// Result of a transfer.
#[derive(Clone, Debug)]
pub struct Received {
    /// Hash of the list of files.
    pub tree: Hash,
    /// Number of files, directories and links.
    pub entries: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Keys that were wrapped again.
    pub rekeyed: Option<Rekeyed>,
    /// Notes that the sender's program sent during the transfer.
    pub notes: Vec<String>,
    /// Links to files outside of the target, including InnoDB's: `.isl` files that hold the path of
    /// another file.
    pub external_links: Vec<PathBuf>,
    /// Time since the sender authenticated; `None` if only an interrupted commit was completed.
    pub elapsed: Option<Duration>,
}

/// A listening receiver.
#[derive(Debug)]
pub struct Receiver {
    settings: ReceiveSettings,
    staging: Staging,
    listener: Listener,
    code: Option<PairingCode>,
}

/// Shared by all connections.
struct Receiving<'r> {
    staging: &'r Staging,
    journal: Journal,
    progress: &'r Progress,
    stop: &'r Stop,
    rekeying: Option<Rekeying>,
    notes: Mutex<Vec<String>>,
    round: RwLock<Arc<Round>>,
}

/// A list of files and its state. A source in use sends several lists, each after the chunks of the
/// one before were received.
struct Round {
    entries: Vec<Entry>,
    chunk_index: ChunkIndex,
    /// Whether files may hold data of an earlier transfer or list.
    resumed: bool,
    /// Whether another list follows.
    more: bool,
    /// Attributes of the source directory.
    root: Root,
}

impl Receiving<'_> {
    fn round(&self) -> Arc<Round> {
        self.round.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Result of the data phase.
struct Outcome {
    /// Hash of the list, computed by the sender.
    tree: Hash,
    manifest: Manifest,
    rekeyed: Option<Rekeyed>,
    notes: Vec<String>,
}

/// A received list.
struct List {
    entries: Vec<Entry>,
    /// Bytes of all files, holes excluded.
    allocated_bytes: u64,
    more: bool,
    root: Root,
}

/// Maximum number of entries in a list.
const MAX_ENTRIES: usize = 4 << 20;
const MAX_LIST_BYTES: usize = 128 << 20;
/// Maximum number of notes of a sender.
const MAX_NOTES: usize = 16;
/// Interval of messages to the sender.
const TICK: Duration = Duration::from_millis(250);
/// Interval while data is received: the sender adapts compression to the messages.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which a listening thread checks for the end.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Interval of checks for connections to reject.
const REJECT_INTERVAL: Duration = Duration::from_millis(10);
/// How long a sender may take to close after the commit.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

impl Receiver {
    /// Prepares the target and starts to listen.
    ///
    /// # Errors
    /// [`TransferError`] if the target or the address cannot be used.
    pub fn bind(settings: ReceiveSettings, trust: &Trust) -> Result<Self, TransferError> {
        if let Some(current) = &settings.rekey {
            check_location(current, &settings.into)?;
        }
        let staging = Staging::open(&settings.into, settings.owner)?;
        // An interrupted commit has already moved files: it can only be completed.
        if settings.restart && !staging.is_committed() {
            staging.clear()?;
        }
        let (listener, code) = bind_listener(&settings, trust)?;
        Ok(Self { settings, staging, listener, code })
    }

    /// The pairing code, if the sides authenticate with one.
    #[must_use]
    pub const fn code(&self) -> Option<&PairingCode> {
        self.code.as_ref()
    }

    /// Address and port of the listening socket.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Whether only an interrupted commit has to be completed.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        self.staging.is_committed()
    }

    /// Waits for a sender, receives, and returns when everything is committed and on disk.
    ///
    /// # Errors
    /// [`TransferError`]: the first error of any thread. What was received stays in the staging
    /// directory for the next attempt.
    pub fn run(self, progress: &Progress) -> Result<Received, TransferError> {
        if self.staging.is_committed() {
            let manifest = self.staging.staged_manifest()?;
            self.check_committed_keys()?;
            let notes = self.staging.mark()?.map(|mark| mark.notes).unwrap_or_default();
            self.staging.finish(&manifest)?;
            return Ok(received(&manifest, None, notes, None));
        }
        // One failed attempt invalidates a pairing code.
        let on_rejected = |rejected: &RejectedPeer| match rejected {
            RejectedPeer::WrongSecret(peer) => Err(TransferError::WrongSecret { peer: *peer }),
            RejectedPeer::Other(_) => Ok(()),
        };
        let sender = self.listener.wait_for_sender(&self.settings, self.code.is_some(), on_rejected)?;
        self.serve_sender(sender, progress)
    }

    fn serve_sender(&self, sender: AuthenticatedSender, progress: &Progress) -> Result<Received, TransferError> {
        let began = Instant::now();
        let mut control = sender.control;
        let outcome = self.serve(&mut control, sender.token, sender.streams, sender.data, progress);
        match outcome {
            Ok(Outcome { tree, manifest, rekeyed, notes }) => {
                // The commit is done even if the sender no longer receives the message.
                if control.send(&Control::Committed { tree }).is_ok() {
                    let until = Instant::now() + CLOSE_TIMEOUT;
                    while Instant::now() < until && control.receive(TICK).is_ok() {}
                }
                Ok(received(&manifest, rekeyed, notes, Some(began.elapsed())))
            }
            Err(error) => Err(explain(error, &mut control)),
        }
    }

    /// Keys of a committed transfer can no longer be wrapped: check that it was done.
    fn check_committed_keys(&self) -> Result<(), TransferError> {
        match &self.settings.rekey {
            Some(current) => check_committed(&self.staging, current, &self.settings.into),
            None => Ok(()),
        }
    }

    fn serve(
        &self,
        control: &mut ControlChannel,
        token: [u8; TOKEN_BYTES],
        streams: u16,
        data: Arc<rustls::ServerConfig>,
        progress: &Progress,
    ) -> Result<Outcome, TransferError> {
        let List { entries, allocated_bytes, more, root } = list(control, None)?;
        if more && self.settings.rekey.is_some() {
            return Err(TransferError::RekeyInUse);
        }
        let files = entries.iter().filter(|entry| matches!(entry.kind, Kind::File { .. })).count();
        progress.total_bytes.store(bytes_of(&entries), Ordering::Relaxed);
        progress.total_files.store(files as u64, Ordering::Relaxed);
        let resumed = self.staging.has_files()?;
        let chunk_index = alive(control, progress, || self.prepare(&entries, allocated_bytes, resumed))??;
        for message in resume::messages(&entries, &chunk_index) {
            control.queue(&message.map_err(self.staging.hashes_failed())?)?;
        }
        control.send(&Control::Ready { rekey: self.settings.rekey.is_some() })?;
        let rekeying = match &self.settings.rekey {
            Some(current) => Some(Rekeying::agree(control, current, &entries)?),
            None => None,
        };
        for (file, run) in chunk_index.runs() {
            let bytes = entries.get(file).map_or(0, |entry| bytes_of(std::slice::from_ref(entry)));
            let length = run.map(|chunk| chunk_bytes(bytes, chunk) as u64).sum();
            Progress::add(&progress.bytes, length);
            Progress::add(&progress.kept_bytes, length);
        }
        let stop = Stop::default();
        let receiving = Receiving {
            staging: &self.staging,
            journal: self.staging.journal()?,
            progress,
            stop: &stop,
            rekeying,
            notes: Mutex::default(),
            round: RwLock::new(Arc::new(Round { entries, chunk_index, resumed, more, root })),
        };
        let came = self.receive(control, &receiving, token, streams, &data)?;
        let tree = came.tree();
        let (manifest, rekeyed) = match (&receiving.rekeying, &self.settings.rekey) {
            (Some(rekeying), Some(current)) => {
                let written = rekeying.manifest(came, &receiving.round().chunk_index);
                let mut written = written.map_err(self.staging.hashes_failed())?;
                let named = write_configuration(&self.staging, current, &mut written)?;
                (written, Some(rekeying.summary(current, named)))
            }
            _ => (came, None),
        };
        let names = rekeyed.as_ref().map(|rekeyed| rekeyed.master_keys.as_slice());
        if let (Some(current), Some(names)) = (&self.settings.rekey, names) {
            check_names(current, names, || TransferError::KeysLost { path: current.path().to_owned() })?;
        }
        let (root, master_keys) = (Some(receiving.round().root), names.map(<[String]>::to_vec));
        let notes = receiving.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mark = CommitMarker { root, owner: self.settings.owner, notes: notes.clone(), master_keys };
        // On NFS an unnamed file has a name until it is closed, and its directory cannot be
        // removed.
        drop((receiving.journal, receiving.round));
        // From here on the sender is not needed.
        match alive(control, progress, || self.staging.commit(&manifest, &mark)) {
            Ok(committed) => committed?,
            Err(_) if self.staging.is_gone() => {}
            Err(error) => return Err(error),
        }
        Ok(Outcome { tree, manifest, rekeyed, notes })
    }

    /// Creates the files of a list, and finds the chunks that are already present.
    fn prepare(&self, entries: &[Entry], allocated_bytes: u64, resumed: bool) -> Result<ChunkIndex, TransferError> {
        let hashes_failed = self.staging.hashes_failed();
        let new_index = || ChunkIndex::new(self.staging.scratch()?, entries).map_err(&hashes_failed);
        if !resumed {
            self.staging.check_space(allocated_bytes)?;
            self.staging.make(entries)?;
            return new_index();
        }
        let journal = self.staging.old_journal()?;
        self.staging.make_resumed(entries)?;
        let staged = self.staging.staged_bytes(entries);
        self.staging.check_space(allocated_bytes.saturating_sub(staged))?;
        let chunk_index = new_index()?;
        let Some(journal) = journal else { return Ok(chunk_index) };
        resume::read_claims(journal, entries, &chunk_index).map_err(&hashes_failed)?;
        let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        resume::prove(&self.staging, entries, &chunk_index, threads)?;
        if self.settings.rekey.is_some() {
            rekey::forget_first_chunks(&self.staging, entries, &chunk_index)?;
        }
        Ok(chunk_index)
    }

    /// Continues with the next list: received chunks stay if they are still part of a file.
    fn next_round(&self, peer: &str, receiving: &Receiving<'_>, list: List) -> Result<(), TransferError> {
        let before = receiving.round();
        self.staging.change(&before.entries, &list.entries)?;
        let chunk_index =
            before.chunk_index.next_list(&before.entries, &list.entries).map_err(self.staging.hashes_failed())?;
        let round = Round { entries: list.entries, chunk_index, resumed: true, more: list.more, root: list.root };
        let mut now = receiving.round.write().unwrap_or_else(PoisonError::into_inner);
        check_drained(peer, &before)?;
        *now = Arc::new(round);
        Ok(())
    }

    /// Accepts data connections, and waits for the sender's message that everything was sent. After it the receiver
    /// waits for no more data.
    fn receive(
        &self,
        control: &mut ControlChannel,
        receiving: &Receiving<'_>,
        token: [u8; TOKEN_BYTES],
        streams: u16,
        data: &Arc<rustls::ServerConfig>,
    ) -> Result<Manifest, TransferError> {
        let stop = receiving.stop;
        let (peers, taken) = (&UnauthenticatedPeers::default(), &AtomicU16::new(0));
        let manifest = thread::scope(|scope| {
            let accept = move || -> Result<(), TransferError> {
                loop {
                    stop.check()?;
                    peers.end_slow();
                    let is_full = taken.load(Ordering::Relaxed) >= streams;
                    let came = self.listener.accept(if is_full { REJECT_INTERVAL } else { POLL_INTERVAL })?;
                    // Another sender is rejected at once.
                    let Some((socket, peer)) = came.filter(|_| !is_full) else { continue };
                    let Some(guard) = peers.admit(&socket, peer.ip()) else { continue };
                    let data = data.clone();
                    scope.spawn(move || {
                        let channel = attach(socket, peer, data, token, self.settings.timeout);
                        drop(guard);
                        // The connection does not belong to the sender: ignore it.
                        let Ok(channel) = channel else { return };
                        if taken.fetch_add(1, Ordering::Relaxed) < streams {
                            serve_stream(receiving, channel).unwrap_or_else(|error| stop.fail(error));
                        }
                    });
                }
            };
            scope.spawn(move || {
                accept().unwrap_or_else(|error| stop.fail(error));
                peers.end_all();
            });
            let manifest = self.report_progress(control, receiving).and_then(|tree| {
                let peer = control.peer().to_owned();
                alive(control, receiving.progress, || complete_manifest(&peer, receiving, tree))?
            });
            match manifest {
                Ok(manifest) => {
                    stop.end();
                    Some(manifest)
                }
                Err(error) => {
                    stop.fail(error);
                    None
                }
            }
        });
        match (stop.take(), manifest) {
            // Unused connections stopped when everything was received.
            (None | Some(TransferError::Stopped), Some(manifest)) => Ok(manifest),
            (Some(error), _) => Err(error),
            (None, None) => Err(TransferError::Stopped),
        }
    }

    /// Reports progress to the sender until it says that it has finished.
    fn report_progress(&self, control: &mut ControlChannel, receiving: &Receiving<'_>) -> Result<Hash, TransferError> {
        let (mut last, mut waited) = (Instant::now(), 0);
        loop {
            receiving.stop.check()?;
            match control.receive(REPORT_INTERVAL)? {
                Some(Control::Finish { tree }) if !receiving.round().more => return Ok(tree),
                Some(first @ (Control::Entry(_) | Control::PlanEnd { .. })) if receiving.round().more => {
                    let list = list(control, Some(first))?;
                    let peer = control.peer().to_owned();
                    alive(control, receiving.progress, || self.next_round(&peer, receiving, list))??;
                    control.send(&Control::Ready { rekey: false })?;
                }
                Some(Control::Note { text }) => note(control.peer(), receiving, text)?,
                Some(Control::Failed { reason }) => {
                    return Err(TransferError::Peer { peer: control.peer().to_owned(), reason });
                }
                Some(Control::Ping) | None => {}
                Some(_) => return Err(TransferError::protocol(control.peer(), "unexpected message")),
            }
            if last.elapsed() >= REPORT_INTERVAL {
                let streams = receiving.progress.streams.load(Ordering::Relaxed).max(1);
                let now = load(&receiving.progress.network_wait);
                #[allow(clippy::cast_precision_loss, reason = "a share")]
                let share = (now - waited) as f64 / (last.elapsed().as_secs_f64() * 1e9 * streams as f64);
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 1000")]
                let starving = (share.clamp(0.0, 1.0) * 1000.0) as u16;
                (last, waited) = (Instant::now(), now);
                control.send(&Control::Progress { bytes: load(&receiving.progress.bytes), starving })?;
            }
        }
    }
}

/// Serves one data connection until the sender is done.
fn serve_stream(receiving: &Receiving<'_>, channel: DataChannel) -> Result<(), TransferError> {
    receiving.stop.watch(channel.handle()?);
    receiving.progress.streams.fetch_add(1, Ordering::Relaxed);
    Stream::new(receiving, channel).run()
}

/// The manifest, if everything was received.
fn complete_manifest(peer: &str, receiving: &Receiving<'_>, tree: Hash) -> Result<Manifest, TransferError> {
    let round = receiving.round();
    // A chunk of a connection that starts again now would be missing in the manifest.
    round.chunk_index.close();
    let manifest = round.chunk_index.manifest(&round.entries).map_err(receiving.staging.hashes_failed())?;
    let manifest = manifest.ok_or_else(|| TransferError::protocol(peer, "it finished, but some chunks never came"))?;
    check_drained(peer, &round)?;
    if manifest.tree() == tree { Ok(manifest) } else { Err(TransferError::TreeDiffers) }
}

/// Checks that no connection still uses the list: chunks it writes later would be lost.
fn check_drained(peer: &str, round: &Arc<Round>) -> Result<(), TransferError> {
    // One reference of the caller, one of the shared state.
    if Arc::strong_count(round) <= 2 {
        return Ok(());
    }
    Err(TransferError::protocol(peer, "it continues before its connections are drained"))
}

fn received(manifest: &Manifest, rekeyed: Option<Rekeyed>, notes: Vec<String>, elapsed: Option<Duration>) -> Received {
    let (tree, entries, bytes) = (manifest.tree(), manifest.entries.len(), manifest.bytes());
    let external_links = manifest.entries.iter().filter(|(entry, _)| external_links(entry));
    let external_links = external_links.map(|(entry, _)| entry.path.as_path().to_owned()).collect();
    Received { tree, entries, bytes, rekeyed, notes, external_links, elapsed }
}

fn external_links(entry: &Entry) -> bool {
    let is_link_file = entry.path.as_path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("isl"));
    matches!(entry.kind, Kind::Link { .. }) || is_link_file
}

/// Stores a note for the program that uses this side.
fn note(peer: &str, receiving: &Receiving<'_>, text: String) -> Result<(), TransferError> {
    let mut notes = receiving.notes.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.len() >= MAX_NOTES {
        return Err(TransferError::protocol(peer, "too many notes"));
    }
    notes.push(text);
    Ok(())
}

/// Binds the listener, with a pairing code if the sides authenticate with one.
fn bind_listener(settings: &ReceiveSettings, trust: &Trust) -> Result<(Listener, Option<PairingCode>), TransferError> {
    match trust {
        Trust::Certificates { identity, authorities, secret } => {
            let config = server_config(identity, authorities.client_verifier()?)?;
            Ok((Listener::open(settings.listen, config, identity.duplicate(), secret.clone())?, None))
        }
        Trust::Pairing => {
            let (identity, secret) = (Identity::ephemeral()?, Secret::generate()?);
            let (pin, config) = (pin_of(&identity)?, server_config(&identity, Pinned::to_any())?);
            let listener = Listener::open(settings.listen, config, identity, Some(secret.clone()))?;
            let addresses = match settings.advertise.as_slice() {
                [] => local_addresses(listener.address().ip()),
                given => given.to_vec(),
            };
            let port = listener.address().port();
            let addresses = addresses.into_iter().take(MAX_ADDRESSES).collect();
            Ok((listener, Some(PairingCode { addresses, port, pin, secret })))
        }
    }
}

fn bytes_of(entries: &[Entry]) -> u64 {
    let bytes = entries.iter().map(|entry| match entry.kind {
        Kind::File { bytes } => bytes,
        _ => 0,
    });
    bytes.fold(0, u64::saturating_add)
}

/// If the connection broke, the sender may have sent a reason; otherwise send it ours.
fn explain(error: TransferError, control: &mut ControlChannel) -> TransferError {
    if matches!(error, TransferError::Peer { .. }) {
        return error;
    }
    if error.is_connection_loss() {
        let until = Instant::now() + Duration::from_secs(2);
        while let Ok(Some(message)) = control.receive(until.saturating_duration_since(Instant::now())) {
            if let Control::Failed { reason } = message {
                return TransferError::Peer { peer: control.peer().to_owned(), reason };
            }
        }
    }
    let _ = control.send(&Control::Failed { reason: error.to_string() });
    error
}

/// Receives the list of files and checks that it can be created inside the target. Also returns the
/// bytes of the files without holes.
fn list(control: &mut ControlChannel, mut first: Option<Control>) -> Result<List, TransferError> {
    let (mut entries, mut bytes) = (Vec::new(), 0_usize);
    let (allocated_bytes, more, root) = loop {
        let message = match first.take() {
            Some(message) => message,
            None => control.expect()?,
        };
        match message {
            Control::Entry(entry) => {
                bytes += entry.path.as_bytes().len();
                if let Kind::Link { target } = &entry.kind {
                    bytes += target.len();
                }
                entries.push(entry);
                if entries.len() > MAX_ENTRIES || bytes > MAX_LIST_BYTES {
                    return Err(TransferError::protocol(control.peer(), "too many files"));
                }
            }
            Control::PlanEnd { entries: count, allocated_bytes, more, root }
                if usize::try_from(count) == Ok(entries.len()) =>
            {
                break (allocated_bytes, more, root);
            }
            // The sender is still scanning its files.
            Control::Ping => {}
            Control::Failed { reason } => {
                return Err(TransferError::Peer { peer: control.peer().to_owned(), reason });
            }
            _ => return Err(TransferError::protocol(control.peer(), "unexpected message")),
        }
    };
    if first_invalid(&entries).is_some() {
        return Err(TransferError::protocol(control.peer(), "an invalid path in the list of files"));
    }
    Ok(List { entries, allocated_bytes, more, root })
}

/// Runs a long operation while keepalives are sent. The outer error is that of the connection; the
/// operation completes in any case.
fn alive<T: Send>(
    control: &mut ControlChannel,
    progress: &Progress,
    work: impl FnOnce() -> T + Send,
) -> Result<T, TransferError> {
    thread::scope(|scope| {
        let worker = scope.spawn(work);
        let (mut fate, mut spoke) = (Ok(()), None);
        while !worker.is_finished() {
            if fate.is_ok() {
                fate = keep_alive(control, progress, &mut spoke);
            } else {
                thread::sleep(TICK);
            }
        }
        let done = worker.join().map_err(|_| TransferError::Stopped)?;
        fate.map(|()| done)
    })
}

/// Receives for a moment, and sends a keepalive if it is time; the sender answers each.
fn keep_alive(
    control: &mut ControlChannel,
    progress: &Progress,
    spoke: &mut Option<Instant>,
) -> Result<(), TransferError> {
    match control.receive(POLL_INTERVAL)? {
        Some(Control::Ping) | None => {}
        Some(Control::Failed { reason }) => {
            return Err(TransferError::Peer { peer: control.peer().to_owned(), reason });
        }
        Some(_) => return Err(TransferError::protocol(control.peer(), "unexpected message")),
    }
    if spoke.is_some_and(|spoke| spoke.elapsed() < TICK) {
        return Ok(());
    }
    *spoke = Some(Instant::now());
    control.send(&Control::Progress { bytes: load(&progress.bytes), starving: 0 })
}

/// Authenticates a data connection as belonging to the sender of the control connection.
fn attach(
    socket: std::net::TcpStream,
    peer: SocketAddr,
    config: Arc<rustls::ServerConfig>,
    token: [u8; TOKEN_BYTES],
    timeout: Duration,
) -> Result<DataChannel, TransferError> {
    let mut channel = DataChannel::accept(socket, config, peer.to_string(), unauthenticated::AUTHENTICATION_TIMEOUT)?;
    let mut body = Vec::new();
    let message = channel.receive(&mut body)?.decode(&peer.to_string())?;
    match message {
        Data::Attach { token: theirs } if verify_slices_are_equal(&theirs, &token).is_ok() => {}
        _ => return Err(TransferError::protocol(&peer.to_string(), "a connection of another peer")),
    }
    channel.send(&Data::Attached)?;
    channel.set_timeout(timeout)?;
    Ok(channel)
}

/// Addresses of this host by which other hosts may reach `listening`.
fn local_addresses(listening: IpAddr) -> Vec<IpAddr> {
    if !listening.is_unspecified() {
        return vec![listening];
    }
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let mut addresses: Vec<IpAddr> = interfaces.iter().map(if_addrs::Interface::ip).collect();
    let scoped = |address: &IpAddr| matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    addresses.retain(|address| !scoped(address) && (listening.is_ipv6() || address.is_ipv4()));
    // Other hosts cannot reach the loopback address, but a sender on this host can if there is no
    // other.
    addresses.sort_by_key(|address| (address.is_loopback(), address.is_ipv6()));
    addresses.dedup();
    if addresses.is_empty() { vec![IpAddr::from([127, 0, 0, 1])] } else { addresses }
}

/// Generates a token for data connections.
fn token() -> Result<[u8; TOKEN_BYTES], TransferError> {
    let mut token = [0; TOKEN_BYTES];
    SystemRandom::new().fill(&mut token).map_err(|_| TransferError::Randomness)?;
    Ok(token)
}

/// TLS configuration for data connections: accepts only the key of the control connection.
fn data_config(identity: &Identity, control: &ControlChannel) -> Result<Arc<rustls::ServerConfig>, TransferError> {
    let pin = control.peer_pin().ok_or_else(|| TransferError::protocol(control.peer(), "no certificate"))?;
    server_config(identity, Pinned::to(pin))
}
