//! The donor's side.

mod load;
mod queue;
mod redo;
mod rekey;
mod source;
mod stream;

use std::{
    collections::HashMap,
    net::{TcpStream, ToSocketAddrs},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use innodb::keys::KeySource;
use rustls::client::danger::ServerCertVerifier;
use rustls_pki_types::ServerName;

use self::{load::Load, queue::Queue, redo::RedoKeys, stream::Stream};
use crate::{
    assembly::Assembly,
    codec::effort::{Compression, Governor, Pressure},
    error::TransferError,
    hash::Hash,
    limit::Limiter,
    pairing::{PairingCode, Pin, Side},
    plan::Plan,
    progress::{Limit, Progress},
    stop::Stop,
    tls::{
        ControlChannel, DataChannel, Pinned, client_config,
        identity::{Authorities, Identity},
        speed,
    },
    wire::{
        Control, Data,
        message::{SUITES, VERSION},
    },
};

/// Where to send, and how the two sides know each other.
#[derive(Debug)]
pub enum Destination {
    /// A receiver that printed a code.
    Paired(PairingCode),
    /// A receiver with a certificate of the site.
    Certified {
        /// Name or address, as its certificate has it.
        host: String,
        /// Port.
        port: u16,
        /// Who we are.
        identity: Identity,
        /// Who may have signed its certificate.
        authorities: Authorities,
    },
}

/// How to send.
#[derive(Clone, Debug)]
pub struct SendSettings {
    /// Data connections.
    pub streams: u16,
    /// How hard to compress.
    pub compression: Compression,
    /// Bytes per second on the wire.
    pub bandwidth: Option<u64>,
    /// A cipher suite to use in any case: its place in [`tls::NAMES`](crate::tls::NAMES).
    pub suite: Option<usize>,
    /// How long the other side may be silent.
    pub patience: Duration,
}

/// What was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Hash of the list of files.
    pub tree: Hash,
    /// Name of the cipher suite.
    pub suite: &'static str,
    /// Speeds of the suites here and there, in MB/s.
    pub speeds: [[u32; SUITES]; 2],
    /// Data connections.
    pub streams: u16,
    /// Files whose keys were handed over to be wrapped anew, if the receiver does that.
    pub rekeyed: Option<usize>,
    /// How long it took, connecting and the other side's commit included.
    pub elapsed: Duration,
}

/// What all connections share.
struct Sending<'s> {
    plan: &'s Plan,
    keys: Option<&'s dyn KeySource>,
    redo: RedoKeys,
    queue: Queue,
    assembly: Assembly,
    governor: Governor,
    limiter: Option<Limiter>,
    progress: &'s Progress,
    stop: &'s Stop,
    /// Hashes of chunks that the other side has.
    kept: HashMap<(usize, u64), Hash>,
}

impl Sending<'_> {
    fn has(&self, file: usize, chunk: u64, hash: Hash) -> bool {
        self.kept.get(&(file, chunk)) == Some(&hash)
    }
}

/// How long an address of a pairing code may take to answer.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// How often the state of things is looked at: whether the connections are done, too, so that a short
/// transfer does not end late.
const TICK: Duration = Duration::from_millis(2);

/// Sends everything in the plan. Returns when the other side has committed it.
///
/// # Errors
/// [`TransferError`]: the first thing that went wrong, wherever it did.
pub fn send(
    plan: &Plan,
    destination: &Destination,
    keys: Option<&dyn KeySource>,
    settings: &SendSettings,
    progress: &Progress,
) -> Result<Sent, TransferError> {
    let began = Instant::now();
    progress.total_bytes.store(plan.bytes, std::sync::atomic::Ordering::Relaxed);
    let dial = Dial::new(destination, settings)?;
    let mut control = dial.control()?;
    let session = dial.greet(&mut control, settings)?;
    let outcome = run(plan, keys, settings, progress, &dial, &mut control, &session);
    match outcome {
        Ok((tree, rekeyed)) => {
            control.close();
            let suite = crate::tls::NAMES.get(session.suite).copied().unwrap_or_default();
            let (speeds, streams) = (session.speeds, session.streams);
            Ok(Sent { tree, suite, speeds, streams, rekeyed, elapsed: began.elapsed() })
        }
        Err(error) => Err(explain(error, &mut control)),
    }
}

/// If the connection broke, the other side may have said why; if it did not, it should learn why.
fn explain(error: TransferError, control: &mut ControlChannel) -> TransferError {
    if matches!(error, TransferError::Peer { .. }) {
        return error;
    }
    if error.is_loss() {
        let until = Instant::now() + Duration::from_secs(2);
        while let Ok(message) = control.receive(until.saturating_duration_since(Instant::now())) {
            match message {
                Some(Control::Failed { reason }) => {
                    return TransferError::Peer { peer: control.peer().to_owned(), reason };
                }
                Some(_) => {}
                None => break,
            }
        }
    }
    let _ = control.send(&Control::Failed { reason: error.to_string() });
    error
}

/// What the two sides agreed on.
struct Session {
    token: [u8; 16],
    pin: Pin,
    suite: usize,
    speeds: [[u32; SUITES]; 2],
    streams: u16,
}

/// How to reach the receiver.
struct Dial<'d> {
    destination: &'d Destination,
    identity: Identity,
    verifier: Arc<dyn ServerCertVerifier>,
    name: ServerName<'static>,
    patience: Duration,
    address: std::net::SocketAddr,
    socket: std::cell::RefCell<Option<TcpStream>>,
}

impl<'d> Dial<'d> {
    fn new(destination: &'d Destination, settings: &SendSettings) -> Result<Self, TransferError> {
        let (identity, verifier, name, addresses): (_, Arc<dyn ServerCertVerifier>, _, Vec<_>) = match destination {
            Destination::Paired(code) => {
                let name = ServerName::try_from("sealant").map_err(crate::tls::identity::failed)?;
                (Identity::ephemeral()?, Pinned::to(code.pin), name, code.sockets().collect())
            }
            Destination::Certified { host, port, identity, authorities } => {
                let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
                let addresses = (bare.as_str(), *port).to_socket_addrs();
                let addresses = addresses.map_err(|source| unreachable(host, source))?.collect();
                let name = ServerName::try_from(bare).map_err(crate::tls::identity::failed)?;
                (identity.duplicate(), authorities.server_verifier()?, name, addresses)
            }
        };
        let (socket, address) = connect_to_one_of(&addresses)?;
        let socket = std::cell::RefCell::new(Some(socket));
        Ok(Self { destination, identity, verifier, name, patience: settings.patience, address, socket })
    }

    fn peer(&self) -> String {
        self.address.to_string()
    }

    fn control(&self) -> Result<ControlChannel, TransferError> {
        let socket = self.socket.borrow_mut().take().ok_or(TransferError::Stopped)?;
        let config = client_config(None, &self.identity, self.verifier.clone())?;
        ControlChannel::connect(socket, config, self.name.clone(), self.peer(), CONNECT_PATIENCE)
            .map_err(|error| self.not_the_receiver(error))
    }

    /// The key of whoever answered is not the one in the code.
    fn not_the_receiver(&self, error: TransferError) -> TransferError {
        use rustls::{CertificateError, Error};
        match (self.destination, error) {
            (
                Destination::Paired(_),
                TransferError::Tls {
                    peer,
                    source: Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure),
                },
            ) => TransferError::NotTheReceiver { peer },
            (_, error) => error,
        }
    }

    fn greet(&self, control: &mut ControlChannel, settings: &SendSettings) -> Result<Session, TransferError> {
        let exporter = control.exporter()?;
        let secret = match self.destination {
            Destination::Paired(code) => Some(&code.secret),
            Destination::Certified { .. } => None,
        };
        let proof = secret.map(|secret| secret.proof(Side::Sender, &exporter)).unwrap_or_default();
        let ours = speed::here();
        control.send(&Control::Hello { version: VERSION, proof, speeds: ours, streams: settings.streams })?;
        let (proof, token, theirs, streams) = match control.expect()? {
            Control::Welcome { proof, token, speeds, streams } => (proof, token, speeds, streams),
            Control::Failed { reason } => {
                return Err(TransferError::Peer { peer: self.peer(), reason });
            }
            _ => return Err(TransferError::protocol(&self.peer(), "unexpected message")),
        };
        if secret.is_some_and(|secret| !secret.is_proven(Side::Receiver, &exporter, &proof)) {
            return Err(TransferError::NotTheReceiver { peer: self.peer() });
        }
        control.set_patience(settings.patience)?;
        let pin = control.peer_pin().ok_or_else(|| TransferError::protocol(&self.peer(), "no certificate"))?;
        let suite = settings.suite.unwrap_or_else(|| speed::best(ours, theirs));
        let streams = streams.clamp(1, settings.streams.max(1));
        Ok(Session { token, pin, suite, speeds: [ours, theirs], streams })
    }

    /// A data connection, to the very key that the control connection proved.
    fn data(&self, session: &Session) -> Result<DataChannel, TransferError> {
        let socket = connect(&self.address, self.patience)?;
        let config = client_config(Some(session.suite), &self.identity, Pinned::to(session.pin))?;
        let mut channel = DataChannel::connect(socket, config, self.name.clone(), self.peer(), self.patience)?;
        channel.send(&Data::Attach { token: session.token })?;
        let mut body = Vec::new();
        match channel.receive(&mut body)?.decode(&self.peer())? {
            Data::Attached => Ok(channel),
            _ => Err(TransferError::protocol(&self.peer(), "unexpected message")),
        }
    }
}

fn connect_to_one_of(addresses: &[std::net::SocketAddr]) -> Result<(TcpStream, std::net::SocketAddr), TransferError> {
    let mut last = None;
    for address in addresses {
        match connect(address, CONNECT_PATIENCE) {
            Ok(socket) => return Ok((socket, *address)),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| unreachable("the receiver", std::io::ErrorKind::NotFound.into())))
}

fn connect(address: &std::net::SocketAddr, patience: Duration) -> Result<TcpStream, TransferError> {
    let socket = TcpStream::connect_timeout(address, patience);
    let socket = socket.map_err(|source| unreachable(&address.to_string(), source))?;
    socket.set_nodelay(true).map_err(|source| unreachable(&address.to_string(), source))?;
    Ok(socket)
}

fn unreachable(host: &str, source: std::io::Error) -> TransferError {
    TransferError::Network { peer: host.to_owned(), doing: "connecting", source }
}

fn run(
    plan: &Plan,
    keys: Option<&dyn KeySource>,
    settings: &SendSettings,
    progress: &Progress,
    dial: &Dial<'_>,
    control: &mut ControlChannel,
    session: &Session,
) -> Result<(Hash, Option<usize>), TransferError> {
    let Offered { kept, rekey } = offer(plan, control)?;
    let rekeyed = if rekey { Some(rekey::hand_over(plan, keys, control)?) } else { None };
    let stop = Stop::default();
    let sending = Sending {
        plan,
        keys,
        redo: RedoKeys::default(),
        queue: Queue::new(plan),
        assembly: Assembly::default(),
        governor: Governor::new(settings.compression),
        limiter: settings.bandwidth.map(Limiter::new),
        progress,
        stop: &stop,
        kept,
    };
    let channels = (0..session.streams).map(|_| dial.data(session)).collect::<Result<Vec<_>, _>>()?;
    progress.streams.store(channels.len(), std::sync::atomic::Ordering::Relaxed);
    for channel in &channels {
        stop.watch(channel.handle()?);
    }
    thread::scope(|scope| {
        let streams: Vec<_> = channels
            .into_iter()
            .map(|channel| {
                let stream = Stream::new(&sending, channel);
                scope.spawn(|| stream.run().unwrap_or_else(|error| stop.fail(error)))
            })
            .collect();
        let mut load = Load::new(session.streams);
        while !streams.iter().all(thread::ScopedJoinHandle::is_finished) {
            if let Err(error) = attend(control, &sending, &mut load) {
                stop.fail(error);
                break;
            }
        }
    });
    if let Some(error) = stop.take() {
        return Err(error);
    }
    let entries = plan.entries.iter().map(|planned| planned.entry.clone());
    let manifest = sending.assembly.manifest(entries).ok_or(TransferError::Stopped)?;
    let tree = manifest.tree();
    Ok((finish(plan, control, tree)?, rekeyed))
}

/// What the other side says to the plan.
struct Offered {
    /// Hashes of chunks that it has already.
    kept: HashMap<(usize, u64), Hash>,
    /// Whether it asks for the keys of files.
    rekey: bool,
}

/// Tells the other side what is to come.
fn offer(plan: &Plan, control: &mut ControlChannel) -> Result<Offered, TransferError> {
    for planned in &plan.entries {
        control.queue(&Control::Entry(planned.entry.clone()))?;
    }
    let entries = u32::try_from(plan.entries.len()).unwrap_or(u32::MAX);
    control.send(&Control::PlanEnd { entries, allocated_bytes: plan.allocated_bytes })?;
    let mut kept = HashMap::new();
    loop {
        match control.expect()? {
            Control::Have { file, first, hashes } => {
                let file = usize::try_from(file).unwrap_or(usize::MAX);
                let known = plan.entries.get(file).and_then(crate::plan::Planned::file_bytes);
                let chunks = known.map_or(0, crate::hash::chunks_of);
                if first.saturating_add(hashes.len() as u64) > chunks {
                    return Err(TransferError::protocol(control.peer(), "chunks of no file"));
                }
                kept.extend(hashes.into_iter().zip(first..).map(|(hash, chunk)| ((file, chunk), hash)));
            }
            Control::Ready { rekey } => return Ok(Offered { kept, rekey }),
            // It may have much to hash, and has to hear from us meanwhile.
            Control::Progress { .. } => control.send(&Control::Ping)?,
            Control::Failed { reason } => return Err(failed(control, reason)),
            _ => return Err(TransferError::protocol(control.peer(), "unexpected message")),
        }
    }
}

fn failed(control: &ControlChannel, reason: String) -> TransferError {
    TransferError::Peer { peer: control.peer().to_owned(), reason }
}

/// Keeps the control connection alive and adjusts compression to what both sides say.
fn attend(control: &mut ControlChannel, sending: &Sending<'_>, load: &mut Load) -> Result<(), TransferError> {
    if let Some(message) = control.receive(TICK)? {
        match message {
            Control::Progress { starving, .. } => load.starving = f64::from(starving) / 1000.0,
            Control::Failed { reason } => return Err(failed(control, reason)),
            _ => return Err(TransferError::protocol(control.peer(), "unexpected message")),
        }
    }
    if let Some(seen) = load.look(sending.progress) {
        control.send(&Control::Ping)?;
        sending.governor.adjust(seen.of_network, seen.flow);
        sending.progress.set_limit(limit_of(&seen.of_network, seen.reading));
    }
    Ok(())
}

fn limit_of(pressure: &Pressure, reading: f64) -> Limit {
    if pressure.idle < 0.1 {
        Limit::Processor
    } else if pressure.blocked > 0.5 {
        if pressure.starving > 0.3 { Limit::Network } else { Limit::Receiver }
    } else if reading > 0.5 {
        Limit::Source
    } else {
        Limit::Processor
    }
}

/// Makes sure that the source did not change, and waits for the other side's commit.
fn finish(plan: &Plan, control: &mut ControlChannel, tree: Hash) -> Result<Hash, TransferError> {
    plan.check_unchanged()?;
    control.send(&Control::Finish { tree })?;
    loop {
        match control.expect()? {
            Control::Committed { tree: theirs } if theirs == tree => return Ok(tree),
            Control::Committed { .. } => return Err(TransferError::TreeDiffers),
            Control::Progress { .. } => control.send(&Control::Ping)?,
            Control::Failed { reason } => return Err(failed(control, reason)),
            _ => return Err(TransferError::protocol(control.peer(), "unexpected message")),
        }
    }
}
