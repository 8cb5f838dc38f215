//! The listening socket: accepts connections until a sender authenticates.

use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, poll};

use super::{
    ReceiveSettings,
    data::{data_config, token},
    unauthenticated::{self, UnauthenticatedPeers},
};
use crate::{
    error::Error,
    pairing::{Secret, Side},
    tls::{ControlChannel, identity::Identity, speed},
    wire::{Control, TOKEN_BYTES, VERSION},
};

/// Interval between checks of the deadline.
const TICK: Duration = Duration::from_millis(100);
/// Interval while a peer is authenticating.
const AUTHENTICATING_TICK: Duration = Duration::from_millis(1);

/// A listening socket and its credentials.
#[derive(Debug)]
pub(super) struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    config: Arc<rustls::ServerConfig>,
    identity: Identity,
    secret: Option<Secret>,
}

/// An authenticated sender.
pub(super) struct AuthenticatedSender {
    pub(super) control: ControlChannel,
    pub(super) token: [u8; TOKEN_BYTES],
    pub(super) streams: u16,
    pub(super) data: Arc<rustls::ServerConfig>,
}

/// A peer that was rejected.
#[derive(Debug)]
pub(super) enum RejectedPeer {
    /// It used the pairing code with a wrong secret.
    WrongSecret(SocketAddr),
    /// A port scanner, another program, a broken connection, or a sender that is not allowed. Contains the reason.
    Other(String),
}

/// Result of a peer's authentication.
enum Verdict {
    Sender(Box<AuthenticatedSender>),
    RejectedPeer(RejectedPeer),
}

impl From<RejectedPeer> for Verdict {
    fn from(rejected: RejectedPeer) -> Self {
        Self::RejectedPeer(rejected)
    }
}

impl Listener {
    pub(super) fn open(
        listen: SocketAddr,
        config: Arc<rustls::ServerConfig>,
        identity: Identity,
        secret: Option<Secret>,
    ) -> Result<Self, Error> {
        speed::prepare();
        let failed = |source| Error::Network { peer: listen.to_string(), doing: "listening", source };
        let listener = TcpListener::bind(listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, config, identity, secret })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts the next connection, if one arrives within `wait`.
    pub(super) fn accept(&self, wait: Duration) -> Result<Option<(TcpStream, SocketAddr)>, Error> {
        let failed = |source| Error::Network { peer: self.address.to_string(), doing: "waiting for a sender", source };
        let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos().max(1)) };
        match poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(failed(error.into())),
        }
        match self.listener.accept() {
            Ok((socket, peer)) => {
                let ready = socket.set_nonblocking(false).and_then(|()| socket.set_nodelay(true));
                Ok(ready.ok().map(|()| (socket, peer)))
            }
            // The socket is closed or not a listening socket.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput) => Err(failed(error)),
            Err(error) => {
                // Other errors concern one connection, or a temporary lack of resources. Source:
                // accept(2), "Error handling".
                if error.kind() != ErrorKind::WouldBlock {
                    thread::sleep(AUTHENTICATING_TICK);
                }
                Ok(None)
            }
        }
    }

    /// Waits for the first sender that authenticates. `paired`: a pairing code was shown to a person. `on_rejected` is
    /// called for every rejected peer and may end the wait.
    pub(super) fn wait_for_sender(
        &self,
        settings: &ReceiveSettings,
        paired: bool,
        mut on_rejected: impl FnMut(&RejectedPeer) -> Result<(), Error>,
    ) -> Result<AuthenticatedSender, Error> {
        let until = Instant::now() + settings.expiry;
        let peers = &UnauthenticatedPeers::default();
        thread::scope(|scope| {
            let (results_tx, results_rx) = mpsc::channel();
            let (mut tick, mut refused) = (TICK, None);
            let mut wait = || {
                while Instant::now() < until {
                    match results_rx.try_recv() {
                        Ok(Verdict::Sender(sender)) => return Ok(*sender),
                        Ok(Verdict::RejectedPeer(rejected)) => {
                            on_rejected(&rejected)?;
                            if let RejectedPeer::Other(why) = rejected {
                                refused = Some(why);
                            }
                        }
                        Err(_) => {}
                    }
                    peers.end_slow();
                    let Some((socket, peer)) = self.accept(tick)? else { continue };
                    tick = AUTHENTICATING_TICK;
                    let Some(guard) = peers.admit(&socket, peer.ip()) else { continue };
                    let results_tx = results_tx.clone();
                    scope.spawn(move || {
                        let verdict = self.judge(socket, peer, settings);
                        drop(guard);
                        // The channel is closed if another sender authenticated first.
                        let _ = results_tx.send(verdict);
                    });
                }
                let seconds = settings.expiry.as_secs();
                Err(Error::Expired { seconds, paired, refused: refused.take() })
            };
            let outcome = wait();
            // Otherwise the scope would wait for their threads.
            peers.end_all();
            outcome
        })
    }

    fn judge(&self, socket: TcpStream, peer: SocketAddr, settings: &ReceiveSettings) -> Verdict {
        let rejected = |why: String| Verdict::from(RejectedPeer::Other(why));
        let control = ControlChannel::accept(
            socket,
            self.config.clone(),
            peer.to_string(),
            unauthenticated::AUTHENTICATION_TIMEOUT,
        );
        let mut control = match control {
            Ok(control) => control,
            Err(error) => return rejected(error.to_string()),
        };
        if let Err(names) = control.is_one_of(&settings.allow) {
            let _ = control.send(&Control::Failed { reason: format!("{names} may not send here (--allow)") });
            return rejected(format!("{peer}: {names} is not on the list of --allow"));
        }
        let (version, proof, streams) = match control.expect() {
            Ok(Control::Hello { version, proof, streams, .. }) => (version, proof, streams),
            Ok(_) => return rejected(format!("{peer}: something else than a greeting")),
            Err(error) => return rejected(error.to_string()),
        };
        if version != VERSION {
            let reason = format!("speaks version {VERSION} of the protocol, not {version}");
            let _ = control.send(&Control::Failed { reason });
            let peer = peer.to_string();
            return rejected(Error::Version { peer, theirs: version, ours: VERSION }.to_string());
        }
        let exporter = match control.exporter() {
            Ok(exporter) => exporter,
            Err(error) => return rejected(error.to_string()),
        };
        if let Some(secret) = &self.secret
            && !secret.is_proven(Side::Sender, &exporter, &proof)
        {
            let _ = control.send(&Control::Failed { reason: "the pairing code's secret is wrong".to_owned() });
            return RejectedPeer::WrongSecret(peer).into();
        }
        let proof = self.secret.as_ref().map(|secret| secret.proof(Side::Receiver, &exporter)).unwrap_or_default();
        self.welcome(control, proof, streams, settings)
            .map_or_else(|error| rejected(error.to_string()), |sender| Verdict::Sender(Box::new(sender)))
    }

    fn welcome(
        &self,
        mut control: ControlChannel,
        proof: [u8; 32],
        streams: u16,
        settings: &ReceiveSettings,
    ) -> Result<AuthenticatedSender, Error> {
        let (token, streams) = (token()?, streams.clamp(1, settings.streams.max(1)));
        let data = data_config(&self.identity, &control)?;
        control.send(&Control::Welcome { proof, token, speeds: speed::suite_rates(), streams })?;
        control.set_timeout(settings.timeout)?;
        Ok(AuthenticatedSender { control, token, streams, data })
    }
}
