//! Task of one link, from its handshake to its end.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use rustls::client::UnbufferedClientConnection;
use tls13::Handshake;
use tokio::{
    net::{TcpStream, lookup_host},
    sync::oneshot,
    time::{sleep, timeout},
};

use super::{IdleLinkStep, LinkCommand, LinkOrigin, Pool, ReadyLinkStep};
use crate::{
    Error,
    copier::Copier,
    greeting,
    link::{Link, Message},
    local_stream::LocalStream,
    message::{self, Kind, VERSION},
    metrics::{Counted, count},
    near::client_session::ClientSession,
    socket::enable_keepalive,
};

/// Keepalive interval of an idle link.
const PING_EVERY: Duration = Duration::from_secs(45);

/// Opens a link and serves sessions as long as the pool wants it.
pub(super) async fn run(pool: Arc<Pool>, origin: LinkOrigin) {
    let mut link = match open(&pool, origin.far).await {
        Ok(link) => link,
        Err(error) => return Pool::not_opened(&pool, origin.far, &error.to_string()),
    };
    pool.opened();
    if matches!(serve(&pool, origin, &mut link).await, Ok(())) {
        link.close().await;
    }
}

/// Tests a far end that failed or is silent: link, server, greeting.
pub(super) async fn probe(pool: Arc<Pool>, far: usize) {
    let limit = pool.shared().options.connect_timeout;
    match timeout(limit, try_server(&pool, far)).await {
        Ok(Ok(())) => Pool::answers(&pool, far),
        Ok(Err(error)) => Pool::mark_down(&pool, far, &error.to_string()),
        Err(_) => {
            let why = format!("no server connection within {} s", limit.as_secs());
            Pool::mark_down(&pool, far, &why);
        }
    }
}

async fn try_server(pool: &Pool, far: usize) -> Result<(), Error> {
    let mut link = open(pool, far).await?;
    match attach(pool, &mut link, true).await? {
        Attached::Greeting(_) => {
            count(&pool.counters().recycled_total);
            let _ = link.send(Kind::Reset, &[]).await;
            link.close().await;
            Ok(())
        }
        Attached::Nothing(reason) => Err(Error::Refused { peer: link.peer().to_owned(), reason }),
        Attached::Leaving => Err(Error::Closed { peer: link.peer().to_owned() }),
    }
}

/// Tests whether a link can be opened within the time limit.
pub(in crate::near) async fn try_far_end(pool: Arc<Pool>, far: usize, limit: Duration) -> Result<(), Error> {
    let test_handshake = timeout(limit, open(&pool, far)).await;
    let test_handshake = test_handshake.unwrap_or_else(|_| Err(pool.silent(far, limit)));
    match test_handshake {
        Ok(link) => {
            link.close().await;
            Ok(())
        }
        Err(error) => {
            Pool::mark_down_at_start(&pool, far, &error.to_string());
            Err(error)
        }
    }
}

async fn open(pool: &Pool, far: usize) -> Result<Link, Error> {
    let shared = pool.shared();
    let (Some(address), Some(name)) = (shared.options.fars.get(far), shared.names.get(far)) else {
        return Err(Error::ServerName { name: String::new() });
    };
    let peer = address.to_string();
    let limit = shared.options.connect_timeout;
    let silent = || Error::Silent { peer: peer.clone(), seconds: limit.as_secs() };
    let resolving = lookup_host((address.host.as_str(), address.port));
    let resolved = timeout(limit, resolving).await.map_err(|_| silent())?;
    let resolved = resolved.map_err(|source| Error::Resolve { address: peer.clone(), source })?;
    let addresses: Vec<_> = resolved.collect();
    let connecting = TcpStream::connect(addresses.as_slice());
    let socket = timeout(limit, connecting).await.map_err(|_| silent())?;
    let socket = socket.map_err(|source| Error::Connect { peer: peer.clone(), source })?;
    enable_keepalive(&socket);
    let tls = UnbufferedClientConnection::new(shared.config.get(), name.clone());
    let tls = tls.map_err(|source| Error::Tls { peer: peer.clone(), source })?;
    let (mut link, _) = Link::open(socket, Vec::new(), Handshake::Client(Box::new(tls)), &peer, limit).await?;
    link.send(Kind::Hello, &[VERSION]).await?;
    let answer = timeout(limit, link.receive()).await.map_err(|_| silent())??;
    match answer.kind {
        Kind::Hello => {
            let other = "it speaks another version of the tunnel's protocol";
            let ahead = message::parse_far_hello(&answer.payload).ok_or_else(|| link.protocol(other))?;
            pool.set_max_warm(far, ahead);
            Ok(link)
        }
        Kind::Refused => Err(Error::Refused { peer, reason: message::text(&answer.payload) }),
        Kind::Leaving => Err(Error::Closed { peer }),
        _ => Err(link.protocol("it did not send a Hello")),
    }
}

/// Serves one session after the other. An error means that the link is broken.
async fn serve(pool: &Arc<Pool>, origin: LinkOrigin, link: &mut Link) -> Result<(), Error> {
    // A link that was used before may have failed in the meantime; that says nothing about the far end.
    let mut used = false;
    // Time at which the next server connection was requested, if it was.
    let mut asked = None;
    loop {
        let began = match asked {
            Some(began) => began,
            None => {
                link.release_buffers();
                match Pool::next(pool, origin) {
                    IdleLinkStep::Close => return Ok(()),
                    IdleLinkStep::Attach => {}
                    IdleLinkStep::Wait(command_receiver) => {
                        used = true;
                        match wait_for_command(link, command_receiver).await? {
                            LinkCommand::Attach => {}
                            LinkCommand::Serve(client) => Pool::take_back(pool, client),
                            LinkCommand::Close => return Ok(()),
                        }
                    }
                }
                Instant::now()
            }
        };
        asked = match attach(pool, link, asked.is_none()).await {
            Ok(Attached::Greeting(first)) if greeting::is_error(&first) => refused(pool, origin, link, first).await?,
            Ok(Attached::Greeting(first)) => session(pool, origin, link, first, began.elapsed()).await?,
            Ok(Attached::Nothing(why)) => {
                Pool::not_attached(pool, origin.far, &why);
                None
            }
            Ok(Attached::Leaving) => {
                Pool::lost(pool);
                return Ok(());
            }
            Err(error) => {
                match used {
                    true => Pool::lost(pool),
                    false => Pool::not_attached(pool, origin.far, &error.to_string()),
                }
                return Err(error);
            }
        };
        used = true;
    }
}

/// Waits for a command, and checks with pings that the far end is alive.
async fn wait_for_command(
    link: &mut Link,
    mut command_receiver: oneshot::Receiver<LinkCommand>,
) -> Result<LinkCommand, Error> {
    let mut asked = false;
    loop {
        let message = tokio::select! {
            biased;
            command = &mut command_receiver => return Ok(command.unwrap_or(LinkCommand::Close)),
            message = link.receive() => message,
            () = sleep(PING_EVERY) => {
                if asked {
                    Err(Error::Silent { peer: link.peer().to_owned(), seconds: PING_EVERY.as_secs() })
                } else {
                    asked = true;
                    if let Err(error) = link.send(Kind::Ping, &[]).await {
                        command_receiver.close();
                        // A command that arrives now fails together with the link; the caller counts it.
                        return command_receiver.try_recv().map_err(|_| error);
                    }
                    continue;
                }
            }
        };
        match message.map(|message| message.kind) {
            Ok(Kind::Pong) => asked = false,
            other => {
                command_receiver.close();
                // Pick up a command that arrived at the same time.
                return match (command_receiver.try_recv(), other) {
                    (Ok(command), _) => Ok(command),
                    (_, Err(error)) => Err(error),
                    (_, Ok(_)) => Ok(LinkCommand::Close),
                };
            }
        }
    }
}

/// Result of a request for a server connection.
enum Attached {
    /// The server's first packet, or the start of it.
    Greeting(Vec<u8>),
    /// The request failed, with the reason.
    Nothing(String),
    /// The far end closes this link, because it stops or requires a new handshake.
    Leaving,
}

/// Waits for a server connection; requests it first if `ask` is set.
async fn attach(pool: &Pool, link: &mut Link, ask: bool) -> Result<Attached, Error> {
    let peer = link.peer().to_owned();
    if ask {
        link.send(Kind::Attach, &[]).await?;
    }
    // The far end has its own time limit for the server, and reports a failure. This limit detects a far end that does
    // not answer.
    let limit = pool.shared().options.connect_timeout * 2;
    let silent = || Error::Silent { peer: peer.clone(), seconds: limit.as_secs() };
    let until = Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(message) = timeout(left, link.receive()).await else { return Err(silent()) };
        let Message { kind, payload } = message?;
        match kind {
            Kind::Data => return Ok(Attached::Greeting(payload)),
            Kind::Detached => return Ok(Attached::Nothing(message::text(&payload))),
            Kind::Fin => {
                // The server closed without sending anything, which counts as not reachable.
                release(link).await?;
                return Ok(Attached::Nothing("the server closed the connection without sending anything".to_owned()));
            }
            Kind::Pong => {}
            Kind::Leaving => return Ok(Attached::Leaving),
            _ => return Err(link.protocol("it sent an unexpected message")),
        }
    }
}

/// Orders the far end to close the server connection, and waits until it has.
async fn release(link: &mut Link) -> Result<(), Error> {
    link.send(Kind::Reset, &[]).await?;
    let released = async {
        loop {
            match link.receive().await?.kind {
                Kind::Detached => return Ok(()),
                Kind::Data | Kind::Fin | Kind::Pong | Kind::Leaving => {}
                _ => return Err(link.protocol("it sent an unexpected message")),
            }
        }
    };
    let released = timeout(Duration::from_secs(10), released).await;
    released.unwrap_or_else(|_| Err(Error::Silent { peer: link.peer().to_owned(), seconds: 10 }))
}

/// Passes the server's own error to a waiting client.
async fn refused(
    pool: &Arc<Pool>,
    origin: LinkOrigin,
    link: &mut Link,
    first: Vec<u8>,
) -> Result<Option<Instant>, Error> {
    match Pool::refused(pool, origin.far) {
        Some(client) => relay(pool, origin, link, client, first).await,
        None => release(link).await.map(|()| None),
    }
}

/// Keeps a ready server connection for a client, for a limited time. Returns the time at which the next one was
/// requested, if it was.
async fn session(
    pool: &Arc<Pool>,
    origin: LinkOrigin,
    link: &mut Link,
    mut first: Vec<u8>,
    took: Duration,
) -> Result<Option<Instant>, Error> {
    if pool.shared().options.hide_tls {
        greeting::hide_tls(&mut first);
    }
    match Pool::attached(pool, origin, took) {
        ReadyLinkStep::Serve(client) => relay(pool, origin, link, client, first).await,
        ReadyLinkStep::Recycle => recycle(pool, link).await,
        ReadyLinkStep::Wait(mut command_receiver) => {
            link.release_buffers();
            let command = tokio::select! {
                biased;
                command = &mut command_receiver => command.unwrap_or(LinkCommand::Close),
                // The server or the far end has closed the connection.
                message = link.receive() => {
                    command_receiver.close();
                    match (command_receiver.try_recv(), message) {
                        (Ok(LinkCommand::Serve(client)), message) => {
                            pool.ended(false);
                            Pool::take_back(pool, client);
                            message?;
                        }
                        // The far end has closed the server connection itself.
                        (_, Ok(Message { kind: Kind::Detached, .. })) => {
                            count(&pool.counters().recycled_total);
                            return Ok(None);
                        }
                        (_, message) => drop(message?),
                    }
                    LinkCommand::Close
                }
                () = sleep(pool.shared().options.warm_age) => {
                    command_receiver.close();
                    command_receiver.try_recv().unwrap_or(LinkCommand::Close)
                }
            };
            match command {
                LinkCommand::Serve(client) => relay(pool, origin, link, client, first).await,
                LinkCommand::Attach | LinkCommand::Close => recycle(pool, link).await,
            }
        }
    }
}

async fn recycle(pool: &Pool, link: &mut Link) -> Result<Option<Instant>, Error> {
    count(&pool.counters().recycled_total);
    release(link).await.map(|()| None)
}

/// Relays a client's session. Returns the time at which the next server connection was requested, if it was.
async fn relay(
    pool: &Arc<Pool>,
    origin: LinkOrigin,
    link: &mut Link,
    mut client: LocalStream,
    first: Vec<u8>,
) -> Result<Option<Instant>, Error> {
    let counters = pool.counters();
    count(&counters.sessions_total);
    let announced = OnceLock::new();
    let ending = || {
        let again = pool.ending(origin);
        announced.set(again.then(Instant::now)).is_ok() && again
    };
    let ended = {
        let _counted = Counted::new(&counters.sessions);
        let side = ClientSession::new(!first.is_empty(), ending);
        Copier::new(link, &mut client, counters, side, first).run().await
    };
    // Closes the client's connection, which would otherwise wait for data that will not arrive.
    drop(client);
    let asked = announced.get().copied();
    pool.ended(asked.is_some());
    match ended {
        Ok(_) => Ok(asked.flatten()),
        Err(error) => {
            if asked.flatten().is_some() {
                Pool::lost(pool);
            }
            Err(error)
        }
    }
}
