//! Data connections: accepted from the sender of the control connection, and from nobody else.

use std::{
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    thread,
    time::Duration,
};

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    rand::{SecureRandom, SystemRandom},
};

use super::{
    Receiver,
    control::{POLL_INTERVAL, alive},
    round::{Receiving, complete_manifest},
    stream::ChunkReceiver,
    unauthenticated::{self, UnauthenticatedPeers},
};
use crate::{
    error::Error,
    manifest::Manifest,
    tls::{ControlChannel, DataChannel, Pinned, identity::Identity, server_config},
    wire::{Data, TOKEN_BYTES},
};

/// How often waiting connections are checked, to reject unwanted ones.
const REJECT_INTERVAL: Duration = Duration::from_millis(10);

impl Receiver {
    /// Accepts data connections, and waits for the sender's message that everything was sent. After it, the receiver
    /// expects no more data.
    pub(super) fn receive(
        &self,
        control: &mut ControlChannel,
        receiving: &Receiving<'_>,
        token: [u8; TOKEN_BYTES],
        streams: u16,
        data: &Arc<rustls::ServerConfig>,
    ) -> Result<Manifest, Error> {
        let stop = receiving.stop;
        let (peers, taken) = (&UnauthenticatedPeers::default(), &AtomicU16::new(0));
        let manifest = thread::scope(|scope| {
            let accept = move || -> Result<(), Error> {
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
            (None | Some(Error::Stopped), Some(manifest)) => Ok(manifest),
            (Some(error), _) => Err(error),
            (None, None) => Err(Error::Stopped),
        }
    }
}

/// Serves one data connection until the sender is done.
fn serve_stream(receiving: &Receiving<'_>, channel: DataChannel) -> Result<(), Error> {
    receiving.stop.watch(channel.handle()?);
    receiving.progress.streams.fetch_add(1, Ordering::Relaxed);
    ChunkReceiver::new(receiving, channel).run()
}

/// Authenticates a data connection as belonging to the sender of the control connection.
fn attach(
    socket: TcpStream,
    peer: SocketAddr,
    config: Arc<rustls::ServerConfig>,
    token: [u8; TOKEN_BYTES],
    timeout: Duration,
) -> Result<DataChannel, Error> {
    let mut channel = DataChannel::accept(socket, config, peer.to_string(), unauthenticated::AUTHENTICATION_TIMEOUT)?;
    let mut body = Vec::new();
    let message = channel.receive(&mut body)?.decode(&peer.to_string())?;
    match message {
        Data::Attach { token: theirs } if verify_slices_are_equal(&theirs, &token).is_ok() => {}
        _ => return Err(Error::protocol(&peer.to_string(), "a connection of another peer")),
    }
    channel.send(&Data::Attached)?;
    channel.set_timeout(timeout)?;
    Ok(channel)
}

/// Generates a token for data connections.
pub(super) fn token() -> Result<[u8; TOKEN_BYTES], Error> {
    let mut token = [0; TOKEN_BYTES];
    SystemRandom::new().fill(&mut token).map_err(|_| Error::Randomness)?;
    Ok(token)
}

/// TLS configuration for data connections: accepts only the key of the control connection.
pub(super) fn data_config(identity: &Identity, control: &ControlChannel) -> Result<Arc<rustls::ServerConfig>, Error> {
    let pin = control.peer_pin().ok_or_else(|| Error::protocol(control.peer(), "no certificate"))?;
    server_config(identity, Pinned::to(pin))
}
