//! A connection to a receiver that sends a source: in one round if nothing writes to it; in several if it is in use:
//! first everything, then what has changed, and finally the rest while the server is paused.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use innodb::keys::KeySource;

use super::{
    Destination, SendSettings, Sent, Source,
    connect::{Connector, Negotiated},
    encoders::Encoders,
    load::Load,
    peer_files::{PeerFile, PeerFiles},
    queue::Queue,
    redo::RedoKeys,
    rekey,
    stream::ChunkSender,
};
use crate::{
    codec::{
        level::{CompressionController, LoadSample},
        page::KeyFileKeys,
    },
    error::Error,
    hash::Hash,
    hash_collector::HashCollector,
    limit::Limiter,
    manifest::Manifest,
    plan::Plan,
    progress::{Limit, Progress},
    stop::Stop,
    tls::{ControlChannel, DataChannel, Suite},
    wire::{Control, Data},
};

/// Interval at which messages and the end of the data connections are checked: short, so that a short transfer ends
/// without delay.
const TICK: Duration = Duration::from_millis(2);
/// Keepalive interval while there is nothing to send.
const KEEPALIVE_INTERVAL: Duration = Duration::from_millis(500);

/// Shared by all connections of a round.
pub(super) struct Sending<'s> {
    pub(super) plan: &'s Plan,
    pub(super) source: Source,
    pub(super) keys: Option<&'s dyn KeySource>,
    pub(super) key_file_keys: KeyFileKeys,
    pub(super) redo: RedoKeys,
    pub(super) queue: Queue,
    pub(super) hash_collector: HashCollector,
    pub(super) controller: &'s CompressionController,
    pub(super) encoders: Encoders,
    pub(super) limiter: Option<&'s Limiter>,
    pub(super) progress: &'s Progress,
    pub(super) stop: &'s Stop,
    /// Bytes of chunks that the receiver did not have.
    pub(super) sent_bytes: AtomicU64,
    /// What the receiver has of each entry.
    known: Vec<Option<&'s PeerFile>>,
}

impl Sending<'_> {
    /// The state of a file at the receiver.
    pub(super) fn known(&self, file: usize) -> Option<&PeerFile> {
        self.known.get(file).copied().flatten()
    }
}

/// What a round sent. A round is one list of files with its chunks: a static source takes one, a source in use several,
/// each with what has changed since the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentRound {
    /// Bytes of files that were read.
    pub read_bytes: u64,
    /// Bytes of chunks that the receiver did not have.
    pub sent_bytes: u64,
}

/// A connection to a receiver.
pub struct Session<'s> {
    progress: &'s Progress,
    connector: Connector<'s>,
    control: ControlChannel,
    negotiated: Negotiated,
    channels: Vec<DataChannel>,
    controller: CompressionController,
    limiter: Option<Limiter>,
    key_file_keys: KeyFileKeys,
    known: PeerFiles,
    rounds: usize,
    rekeyed: Option<usize>,
    /// The list of the last round, which the receiver must have completely.
    manifest: Option<Manifest>,
    last_sent: Instant,
    began: Instant,
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session with {}", self.control.peer())
    }
}

impl<'s> Session<'s> {
    /// Connects to the receiver and authenticates it.
    ///
    /// # Errors
    /// [`Error`] if the receiver cannot be reached, or another host answers.
    pub fn open(destination: &'s Destination, settings: &SendSettings, progress: &'s Progress) -> Result<Self, Error> {
        let began = Instant::now();
        let (connector, mut control) = Connector::reach(destination, settings)?;
        let negotiated = connector.hello(&mut control, settings)?;
        Ok(Self {
            controller: CompressionController::new(settings.compression),
            limiter: settings.bandwidth.map(Limiter::new),
            key_file_keys: settings.key_file_keys,
            progress,
            connector,
            control,
            negotiated,
            channels: Vec::new(),
            known: PeerFiles::default(),
            rounds: 0,
            rekeyed: None,
            manifest: None,
            last_sent: began,
            began,
        })
    }

    /// Sends a note to the program on the receiver's side.
    ///
    /// # Errors
    /// [`Error`] if the connection fails.
    pub fn send_note(&mut self, text: &str) -> Result<(), Error> {
        let said = self.control.send(&Control::Note { text: text.to_owned() });
        self.with_peer_reason(said)
    }

    /// Waits for a note from the program on the receiver's side.
    ///
    /// # Errors
    /// [`Error`] if the connection fails or the peer aborts.
    pub fn receive_note(&mut self) -> Result<String, Error> {
        let last_received = match self.control.expect() {
            Ok(Control::Note { text }) => Ok(text),
            Ok(Control::Failed { reason }) => Err(failed(&self.control, reason)),
            Ok(_) => Err(Error::protocol(self.control.peer(), "unexpected message")),
            Err(error) => Err(error),
        };
        self.with_peer_reason(last_received)
    }

    /// Sends everything in the plan that the receiver does not have yet. Returns when it was
    /// written. A round of a static source is the last one.
    ///
    /// # Errors
    /// [`Error`]: the first error of any thread.
    pub fn round(&mut self, plan: &Plan, keys: Option<&dyn KeySource>, source: Source) -> Result<SentRound, Error> {
        let done = self.try_round(plan, keys, source);
        self.with_peer_reason(done)
    }

    /// Bytes of the files that a round would read: all that may have changed since the previous
    /// round.
    #[must_use]
    pub fn bytes_to_read(&self, plan: &Plan) -> u64 {
        let stale = plan
            .entries
            .iter()
            .filter(|planned| !self.known.file(planned).is_some_and(|known| known.is_current(planned)));
        stale.filter_map(crate::plan::PlannedEntry::file_bytes).sum()
    }

    /// Changes the timeout of the control connection, on which the receiver reports its progress
    /// all the time. Data connections keep theirs, since received data must reach the disk.
    ///
    /// # Errors
    /// [`Error`] if the socket refuses it.
    pub fn set_timeout(&mut self, timeout: Duration) -> Result<(), Error> {
        self.control.set_timeout(timeout)
    }

    /// Waits for `time` and keeps the connection alive. Call it repeatedly while there is nothing
    /// to send.
    ///
    /// # Errors
    /// [`Error`] if the receiver is gone.
    pub fn idle(&mut self, time: Duration) -> Result<(), Error> {
        let rested = self.try_idle(time);
        self.with_peer_reason(rested)
    }

    /// Waits until the receiver has committed.
    ///
    /// # Errors
    /// [`Error`] if the connection or the commit fails.
    pub fn finish(mut self) -> Result<Sent, Error> {
        let finished = self.try_finish();
        let tree = self.with_peer_reason(finished)?;
        self.control.close();
        let suite = Suite::ALL.get(self.negotiated.suite).map_or("", |suite| suite.name());
        let (speeds, streams) = (self.negotiated.speeds, self.negotiated.streams);
        let entries = self.manifest.as_ref().map_or(0, |manifest| manifest.entries.len());
        Ok(Sent { tree, entries, suite, speeds, streams, rekeyed: self.rekeyed, elapsed: self.began.elapsed() })
    }

    /// Aborts the transfer and tells the receiver why.
    pub fn abort(mut self, reason: &str) {
        // The receiver may already be gone.
        let _ = self.control.send(&Control::Failed { reason: reason.to_owned() });
    }

    /// If the connection broke, the receiver may have sent a reason; otherwise send it ours.
    fn with_peer_reason<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| explain(error, &mut self.control))
    }

    fn try_round(&mut self, plan: &Plan, keys: Option<&dyn KeySource>, source: Source) -> Result<SentRound, Error> {
        let unchanged = source == Source::Static;
        self.begin_round(plan, keys, !unchanged)?;
        let mut known = std::mem::take(&mut self.known);
        let is_current = |planned| known.file(planned).is_some_and(|known| known.is_current(planned));
        let current: Vec<bool> = plan.entries.iter().map(is_current).collect();
        let is_stale = |number: &usize| !current.get(*number).copied().unwrap_or_default();
        let queue = Queue::new(plan, |number| is_stale(&number));
        let stale = plan.entries.iter().enumerate().filter(|(number, _)| is_stale(number));
        let read_bytes = stale.clone().filter_map(|(_, planned)| planned.file_bytes()).sum();
        let hash_collector = if unchanged { HashCollector::default() } else { HashCollector::for_round(known.room()) };
        for (number, planned) in stale {
            known.take_tree(planned).into_iter().for_each(|tree| hash_collector.continue_file(number, tree));
        }
        let known_of: Vec<_> = plan.entries.iter().map(|planned| known.file(planned)).collect();
        if unchanged {
            for (number, file) in known_of.iter().enumerate().filter(|(number, _)| !is_stale(number)) {
                file.and_then(PeerFile::whole).into_iter().for_each(|hash| hash_collector.add_file(number, hash));
            }
        }
        let stop = Stop::default();
        let sending = Sending {
            plan,
            source,
            keys,
            key_file_keys: self.key_file_keys,
            redo: RedoKeys::default(),
            queue,
            hash_collector,
            controller: &self.controller,
            encoders: Encoders::new(self.channels.len(), self.controller.highest()),
            limiter: self.limiter.as_ref(),
            progress: self.progress,
            stop: &stop,
            sent_bytes: AtomicU64::new(0),
            known: known_of,
        };
        let channels = std::mem::take(&mut self.channels);
        self.channels = send_all(&sending, channels, &mut self.control)?;
        let round = SentRound { read_bytes, sent_bytes: sending.sent_bytes.load(Ordering::Relaxed) };
        if unchanged {
            let entries = plan.entries.iter().map(|planned| planned.entry.clone());
            self.manifest = Some(sending.hash_collector.manifest(entries).ok_or(Error::Stopped)?);
            plan.check_unchanged()?;
        } else {
            let read = sending.hash_collector.into_read();
            self.known = known.after(plan, read, &current);
        }
        self.last_sent = Instant::now();
        Ok(round)
    }

    /// Agrees on the list with the receiver, and opens the data connections.
    fn begin_round(&mut self, plan: &Plan, keys: Option<&dyn KeySource>, more: bool) -> Result<(), Error> {
        if self.rounds == 0 {
            self.progress.total_bytes.store(plan.bytes, Ordering::Relaxed);
        }
        if self.offer(plan, more)? {
            self.rekeyed = Some(rekey::send_keys(plan, keys, &mut self.control)?);
            self.control.restart_timeout();
        }
        while self.channels.len() < usize::from(self.negotiated.streams) {
            self.channels.push(self.connector.data(&self.negotiated)?);
        }
        self.progress.streams.store(self.channels.len(), Ordering::Relaxed);
        self.rounds += 1;
        Ok(())
    }

    /// Sends the list, and reads what the receiver already has. Returns whether it wants keys.
    fn offer(&mut self, plan: &Plan, more: bool) -> Result<bool, Error> {
        let control = &mut self.control;
        for planned in &plan.entries {
            control.queue(&Control::Entry(planned.entry.clone()))?;
        }
        let entries = u32::try_from(plan.entries.len()).unwrap_or(u32::MAX);
        control.send(&Control::PlanEnd {
            entries,
            allocated_bytes: plan.allocated_bytes,
            more,
            root: plan.root_attributes,
        })?;
        loop {
            match control.expect()? {
                Control::Have { file, first, hashes } if self.rounds == 0 => {
                    let planned = usize::try_from(file).ok().and_then(|file| plan.entries.get(file));
                    let bytes = planned.and_then(crate::plan::PlannedEntry::file_bytes);
                    let chunks = bytes.map_or(0, crate::hash::chunks_of);
                    let Some(planned) = planned.filter(|_| first.saturating_add(hashes.len() as u64) <= chunks) else {
                        return Err(Error::protocol(control.peer(), "chunks of no file"));
                    };
                    self.known.add(planned, first, &hashes);
                    // Reading all messages may take long, and the receiver needs keepalives.
                    if self.last_sent.elapsed() >= KEEPALIVE_INTERVAL {
                        control.send(&Control::Ping)?;
                        self.last_sent = Instant::now();
                    }
                }
                Control::Ready { rekey } => return Ok(rekey),
                // The receiver may have much to hash, and needs keepalives.
                Control::Progress { .. } => control.send(&Control::Ping)?,
                Control::Failed { reason } => return Err(failed(control, reason)),
                _ => return Err(Error::protocol(control.peer(), "unexpected message")),
            }
        }
    }

    fn try_idle(&mut self, time: Duration) -> Result<(), Error> {
        match self.control.receive(time)? {
            Some(Control::Progress { .. }) | None => {}
            Some(Control::Failed { reason }) => return Err(failed(&self.control, reason)),
            Some(_) => return Err(Error::protocol(self.control.peer(), "unexpected message")),
        }
        if self.last_sent.elapsed() >= KEEPALIVE_INTERVAL {
            self.control.send(&Control::Ping)?;
            for channel in &mut self.channels {
                channel.send(&Data::Ping)?;
            }
            self.last_sent = Instant::now();
        }
        Ok(())
    }

    /// Announces the end, and waits for the receiver's commit.
    fn try_finish(&mut self) -> Result<Hash, Error> {
        let tree = self.manifest.as_ref().map(Manifest::tree).ok_or(Error::Stopped)?;
        let control = &mut self.control;
        control.send(&Control::Finish { tree })?;
        loop {
            match control.expect()? {
                Control::Committed { tree: theirs } if theirs == tree => return Ok(tree),
                Control::Committed { .. } => return Err(Error::TreeDiffers),
                Control::Progress { .. } => control.send(&Control::Ping)?,
                Control::Failed { reason } => return Err(failed(control, reason)),
                _ => return Err(Error::protocol(control.peer(), "unexpected message")),
            }
        }
    }
}

/// Empties the queue over all connections, which can be used for another round afterwards.
fn send_all(
    sending: &Sending<'_>,
    channels: Vec<DataChannel>,
    control: &mut ControlChannel,
) -> Result<Vec<DataChannel>, Error> {
    let stop = sending.stop;
    for channel in &channels {
        stop.watch(channel.handle()?);
    }
    let streams = u16::try_from(channels.len()).unwrap_or(u16::MAX);
    let done = thread::scope(|scope| {
        let workers: Vec<_> = channels
            .into_iter()
            .map(|channel| {
                let stream = ChunkSender::new(sending, channel);
                scope.spawn(|| stream.run().map_err(|error| stop.fail(error)).ok())
            })
            .collect();
        let mut load = Load::new(streams);
        while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            if let Err(error) = monitor(control, sending, &mut load) {
                stop.fail(error);
                break;
            }
        }
        workers.into_iter().filter_map(|worker| worker.join().ok().flatten()).collect()
    });
    match stop.take() {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

fn failed(control: &ControlChannel, reason: String) -> Error {
    Error::Peer { peer: control.peer().to_owned(), reason }
}

/// If the connection broke, the receiver may have sent a reason; otherwise send it ours.
fn explain(error: Error, control: &mut ControlChannel) -> Error {
    if matches!(error, Error::Peer { .. }) {
        return error;
    }
    if error.is_connection_loss() {
        let until = Instant::now() + Duration::from_secs(2);
        while let Ok(message) = control.receive(until.saturating_duration_since(Instant::now())) {
            match message {
                Some(Control::Failed { reason }) => return failed(control, reason),
                Some(_) => {}
                None => break,
            }
        }
    }
    let _ = control.send(&Control::Failed { reason: error.to_string() });
    error
}

/// Keeps the control connection alive and adjusts compression to the reports of both sides.
fn monitor(control: &mut ControlChannel, sending: &Sending<'_>, load: &mut Load) -> Result<(), Error> {
    if let Some(message) = control.receive(TICK)? {
        match message {
            Control::Progress { starving, .. } => load.starving = f64::from(starving) / 1000.0,
            Control::Failed { reason } => return Err(failed(control, reason)),
            _ => return Err(Error::protocol(control.peer(), "unexpected message")),
        }
    }
    if let Some(seen) = load.sample(sending.progress) {
        control.send(&Control::Ping)?;
        sending.controller.adjust(seen.load, seen.throughput);
        let is_throttled = sending.limiter.is_some_and(Limiter::has_waiting);
        let limit = if is_throttled { Limit::Bandwidth } else { limit_of(&seen.load, seen.reading) };
        sending.progress.set_limit(limit);
    }
    Ok(())
}

fn limit_of(load: &LoadSample, reading: f64) -> Limit {
    if load.idle < 0.1 {
        Limit::Processor
    } else if load.blocked > 0.5 {
        if load.starving > 0.3 { Limit::Network } else { Limit::Receiver }
    } else if reading > 0.5 {
        Limit::Source
    } else {
        Limit::Processor
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, TcpListener};

    use ::codec::compression::CompressionLevel;

    use super::*;
    use crate::{
        codec::level::Compression,
        pairing::{PairingCode, Secret, Side},
        plan::Selection,
        tls::{
            Pinned,
            identity::{Identity, pin_of},
            server_config,
        },
    };

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// A receiver that has received a sender's greeting and list.
    fn greeted(listener: &TcpListener, identity: &Identity, secret: &Secret) -> ControlChannel {
        let config = server_config(identity, Pinned::to_any()).unwrap();
        let (socket, peer) = listener.accept().unwrap();
        let mut control = ControlChannel::accept(socket, config, peer.to_string(), TIMEOUT).unwrap();
        assert!(matches!(control.expect(), Ok(Control::Hello { .. })));
        let proof = secret.proof(Side::Receiver, &control.exporter().unwrap());
        control.send(&Control::Welcome { proof, token: [1; 16], speeds: [1; 3], streams: 1 }).unwrap();
        while !matches!(control.expect().unwrap(), Control::PlanEnd { .. }) {}
        control
    }

    /// Slowly reports what it has of the sender's one file; returns how often the sender sent a
    /// keepalive.
    fn report_slowly(mut control: ControlChannel) -> usize {
        let mut last_sent = 0;
        for first in 0..15 {
            control.send(&Control::Have { file: 0, first, hashes: vec![Hash([2; 32])] }).unwrap();
            last_sent += usize::from(control.receive(KEEPALIVE_INTERVAL / 5).unwrap().is_some());
        }
        control.send(&Control::Failed { reason: "enough".to_owned() }).unwrap();
        last_sent
    }

    #[test]
    fn a_slow_report_of_the_receiver_is_answered_with_keepalives() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::File::create(directory.path().join("f")).unwrap().set_len(20 << 20).unwrap();
        let plan = Plan::scan(directory.path(), &Selection::default()).unwrap();
        let (identity, secret) = (Identity::ephemeral().unwrap(), Secret::generate().unwrap());
        let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let listener = TcpListener::bind((localhost, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let code = PairingCode { addresses: vec![localhost], port, pin: pin_of(&identity).unwrap(), secret };
        let settings = SendSettings {
            streams: 1,
            compression: Compression::Fixed(CompressionLevel::None),
            bandwidth: None,
            suite: None,
            key_file_keys: KeyFileKeys::Keep,
            timeout: TIMEOUT,
        };
        let (secret, destination, progress) = (code.secret.clone(), Destination::Paired(code), Progress::default());
        thread::scope(|scope| {
            let telling = scope.spawn(|| report_slowly(greeted(&listener, &identity, &secret)));
            let mut session = Session::open(&destination, &settings, &progress).unwrap();
            session.round(&plan, None, Source::Static).unwrap_err();
            let last_sent = telling.join().unwrap();
            assert!((2..=6).contains(&last_sent), "{last_sent}");
        });
    }

    #[test]
    fn a_receiver_with_nothing_to_report_does_not_time_out() {
        let identity = Identity::ephemeral().unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let verifier = Pinned::to(pin_of(&identity).unwrap());
        let config = crate::tls::client_config(None, &Identity::ephemeral().unwrap(), verifier).unwrap();
        let name = "sealant".try_into().unwrap();
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let config = server_config(&identity, Pinned::to_any()).unwrap();
                let socket = listener.accept().unwrap().0;
                ControlChannel::accept(socket, config, String::new(), TIMEOUT).unwrap()
            });
            let mut control = ControlChannel::connect(socket, config, name, String::new(), TIMEOUT).unwrap();
            let _other = other.join().unwrap();
            // Long enough not to expire between two lines of this test on a busy machine.
            let timeout = Duration::from_secs(2);
            control.set_timeout(timeout).unwrap();
            thread::sleep(timeout + timeout / 4);
            control.restart_timeout();
            assert!(matches!(control.receive(Duration::ZERO), Ok(None)));
            thread::sleep(timeout + timeout / 4);
            assert!(matches!(control.receive(Duration::ZERO), Err(Error::Stalled { .. })));
        });
    }
}
