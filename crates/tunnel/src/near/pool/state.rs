//! State of a pool: its far ends, links and waiting clients.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use crate::{
    local_stream::LocalStream,
    near::{NearOptions, demand::Demand},
};

/// Maximum number of links being opened at once.
const MAX_OPENING: usize = 32;
/// First pause after a link could not be opened while others work; doubled with each failure.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of doublings.
const MAX_DOUBLINGS: u32 = 4;

/// A command to an idle link.
pub(in crate::near) enum LinkCommand {
    /// Serve this client.
    Serve(LocalStream),
    /// Fetch a server connection.
    Attach,
    /// Close the link.
    Close,
}

/// Origin of a link.
#[derive(Clone, Copy, Debug)]
pub(in crate::near) struct LinkOrigin {
    /// Index of the far end.
    pub(in crate::near) far: usize,
    /// Generation of the certificates: counts reloads.
    pub(super) certificates: u64,
}

pub(super) struct Waiting {
    pub(super) far: usize,
    pub(super) commands: oneshot::Sender<LinkCommand>,
}

pub(super) struct Client {
    pub(super) stream: LocalStream,
    pub(super) deadline: Instant,
}

/// State of a far end.
#[derive(Clone, Debug, Default)]
pub(super) struct FarState {
    pub(super) down: Option<String>,
    /// Failures since the last answer.
    pub(super) failures: u32,
    pub(super) probing: bool,
    /// Maximum number of server connections that the far end keeps ready; `None` until it has reported it.
    pub(super) max_warm: Option<usize>,
}

pub(super) struct State {
    pub(super) fars: Vec<FarState>,
    pub(super) warm: VecDeque<Waiting>,
    pub(super) idle: Vec<Waiting>,
    pub(super) clients: VecDeque<Client>,
    /// Links that are opening a server connection, or were ordered to.
    pub(super) attaching: usize,
    pub(super) opening: usize,
    /// Consecutive failures to open a link while other links worked.
    pub(super) not_opened: u32,
    /// No link is opened before this time.
    pub(super) opens_from: Instant,
    pub(super) in_session: usize,
    /// Sessions whose client has closed its side.
    pub(super) ending: usize,
    pub(super) demand: Demand,
    pub(super) refused_until: Option<Instant>,
    /// Time since which links have waited for the active far end without receiving anything.
    pub(super) unanswered_since: Option<Instant>,
    pub(super) next_probe: Instant,
    pub(super) reported: usize,
    /// Number of certificate reloads.
    pub(super) certificates: u64,
    pub(super) stopping: bool,
}

impl State {
    pub(super) fn new(fars: usize) -> Self {
        let now = Instant::now();
        Self {
            fars: vec![FarState::default(); fars],
            warm: VecDeque::new(),
            idle: Vec::new(),
            clients: VecDeque::new(),
            attaching: 0,
            opening: 0,
            not_opened: 0,
            opens_from: now,
            in_session: 0,
            ending: 0,
            demand: Demand::default(),
            refused_until: None,
            unanswered_since: None,
            next_probe: now,
            reported: usize::MAX,
            certificates: 0,
            stopping: false,
        }
    }

    /// Whether a link may serve another session.
    pub(super) fn wants(&self, origin: LinkOrigin) -> bool {
        !self.stopping && self.active() == Some(origin.far) && self.certificates == origin.certificates
    }

    /// Minimum and maximum number of ready server connections. If a far end limits them, the server
    /// counts unused ones: then none is kept ready without clients.
    pub(super) fn bounds(&self, options: &NearOptions) -> (usize, usize) {
        let said = self.active().and_then(|far| self.fars.get(far)?.max_warm);
        match said {
            Some(most) if most < options.warm_max => (0, most),
            _ => (options.warm_min, options.warm_max),
        }
    }

    /// The first far end that is not known to fail.
    pub(super) fn active(&self) -> Option<usize> {
        self.fars.iter().position(|far| far.down.is_none())
    }

    /// The client that has waited longest and is still connected: serving another one would waste a
    /// server connection.
    pub(super) fn next_client(&mut self) -> Option<LocalStream> {
        let connected = std::iter::from_fn(|| self.clients.pop_front());
        connected.map(|client| client.stream).find(|client| !client.has_disconnected())
    }

    /// Number of links believed to be alive.
    pub(super) fn links(&self) -> usize {
        self.in_session + self.warm.len() + self.idle.len()
    }

    /// Whether another link may be opened: after a failure one at a time, with pauses.
    pub(super) fn may_open(&self, now: Instant) -> bool {
        let most = if self.not_opened == 0 { MAX_OPENING } else { 1 };
        self.opening < most && now >= self.opens_from
    }

    pub(super) fn pause(&mut self, now: Instant) {
        self.opens_from = now + PAUSE * (1 << self.not_opened.min(MAX_DOUBLINGS));
        self.not_opened = self.not_opened.saturating_add(1);
        // A far end that rejects links is alive, but clients depend on it only if there is no other one.
        if self.fars.len() == 1 {
            self.unanswered_since = None;
        }
    }

    /// Whether links or clients have waited for `limit` without receiving anything.
    pub(super) fn is_silent(&mut self, now: Instant, limit: Duration) -> bool {
        let clients_wait = self.fars.len() > 1 && !self.clients.is_empty();
        if self.attaching + self.opening == 0 && !clients_wait {
            self.unanswered_since = None;
            return false;
        }
        now.saturating_duration_since(*self.unanswered_since.get_or_insert(now)) >= limit
    }

    /// The reason why no client can be served, if none can.
    pub(super) fn unavailable_reason(&self) -> Option<String> {
        if self.active().is_some() {
            return None;
        }
        self.fars.last().and_then(|far| far.down.clone())
    }

    /// Passes the client to a waiting link; returns it if there is none.
    pub(super) fn hand_over(&mut self, mut client: LocalStream) -> Option<LocalStream> {
        while let Some(waiting) = self.warm.pop_front() {
            match waiting.commands.send(LinkCommand::Serve(client)) {
                Ok(()) => {
                    self.in_session += 1;
                    return None;
                }
                Err(LinkCommand::Serve(back)) => client = back,
                Err(_) => return None,
            }
        }
        Some(client)
    }

    /// Orders an idle link to open a server connection.
    pub(super) fn send_idle(&mut self, far: usize) -> bool {
        while let Some(waiting) = self.idle.pop() {
            if waiting.far == far && waiting.commands.send(LinkCommand::Attach).is_ok() {
                self.attaching += 1;
                return true;
            }
        }
        false
    }

    /// Closes all waiting links except those of one far end.
    pub(super) fn close_waiting(&mut self, but: Option<usize>) {
        let (idle, warm) = (std::mem::take(&mut self.idle), std::mem::take(&mut self.warm));
        let (stay, go): (Vec<_>, Vec<_>) = idle.into_iter().partition(|waiting| Some(waiting.far) == but);
        self.idle = stay;
        let (stay, also): (Vec<_>, Vec<_>) = warm.into_iter().partition(|waiting| Some(waiting.far) == but);
        self.warm = stay.into();
        for waiting in go.into_iter().chain(also) {
            let _ = waiting.commands.send(LinkCommand::Close);
        }
    }
}
