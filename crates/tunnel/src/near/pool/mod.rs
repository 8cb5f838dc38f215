//! The pool of links, and the assignment of clients to them.
//!
//! Each link has its own task ([`task`]), which asks the pool what to do next. The lock is held
//! only briefly, and never across an await.

mod health;
mod state;
mod task;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use tokio::{io::AsyncWriteExt, sync::oneshot, time::timeout};

use self::state::{Client, LinkCommand, LinkOrigin, State, Waiting};
pub(super) use self::task::try_far_end;
use super::NearShared;
use crate::{
    greeting,
    local_stream::LocalStream,
    metrics::{Counters, count},
};

/// Minimum number of idle links, so that the next client needs no handshake.
const MIN_IDLE: usize = 2;
/// How long no connections are opened in advance after a refusal of the server.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);

/// Next step of a link without a server connection.
pub(super) enum IdleLinkStep {
    Attach,
    Wait(oneshot::Receiver<LinkCommand>),
    Close,
}

/// Next step of a link whose server connection is ready.
pub(super) enum ReadyLinkStep {
    Serve(LocalStream),
    Wait(oneshot::Receiver<LinkCommand>),
    Recycle,
}

/// All links of a near end, and the clients that wait for one.
pub(super) struct Pool {
    shared: NearShared,
    state: Mutex<State>,
}

impl Pool {
    pub(super) fn new(shared: NearShared) -> Arc<Self> {
        let state = State::new(shared.options.fars.len());
        Arc::new(Self { shared, state: Mutex::new(state) })
    }

    pub(super) fn shared(&self) -> &NearShared {
        &self.shared
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a new client.
    pub(super) fn serve(pool: &Arc<Self>, client: LocalStream) {
        count(&pool.counters().clients_total);
        let mut state = pool.lock();
        let now = Instant::now();
        state.demand.arrived(now);
        if state.in_session + state.clients.len() >= pool.shared.options.max_clients {
            drop(state);
            return pool.refuse(client, "the tunnel serves its maximum number of clients");
        }
        match state.hand_over(client) {
            None => count(&pool.counters().served_warm_total),
            Some(client) => {
                if let Some(reason) = state.unavailable_reason() {
                    drop(state);
                    return pool.refuse(client, &reason);
                }
                count(&pool.counters().served_cold_total);
                state.clients.push_back(Client { stream: client, deadline: now + pool.shared.options.wait });
            }
        }
        pool.supply(&mut state, now);
    }

    /// Takes back a client whose link failed before it was served.
    pub(super) fn take_back(pool: &Arc<Self>, client: LocalStream) {
        let mut state = pool.lock();
        if state.stopping {
            drop(state);
            return pool.refuse(client, "it stops");
        }
        let now = Instant::now();
        if let Some(stream) = state.hand_over(client) {
            state.clients.push_front(Client { stream, deadline: now + pool.shared.options.wait });
        }
        pool.supply(&mut state, now);
    }

    fn refuse(&self, mut client: LocalStream, reason: &str) {
        count(&self.counters().clients_refused_total);
        let packet = greeting::refusal(0, &format!("sealant tunnel: {reason}"));
        tokio::spawn(async move {
            let announced = async {
                client.write_all(&packet).await?;
                client.shutdown().await
            };
            let _ = timeout(Duration::from_secs(2), announced).await;
        });
    }

    /// Orders links to open missing server connections.
    fn supply(self: &Arc<Self>, state: &mut State, now: Instant) {
        if state.stopping {
            return;
        }
        let ahead = self.ahead(state, now);
        let Some(far) = state.active() else { return };
        let wanted = ahead + state.clients.len();
        let mut coming = state.warm.len() + state.attaching + state.opening;
        while coming < wanted {
            if !state.send_idle(far) {
                // Links that are about to become free are used instead of new ones.
                if !state.may_open(now) || coming + state.ending >= wanted {
                    break;
                }
                state.opening += 1;
                let origin = LinkOrigin { far, certificates: state.certificates };
                tokio::spawn(task::run(Arc::clone(self), origin));
            }
            coming += 1;
        }
        let in_use = state.in_session + state.clients.len() + state.warm.len();
        state.demand.used(now, in_use);
        self.update_gauges(state);
    }

    fn update_gauges(&self, state: &State) {
        let counters = self.counters();
        counters.warm.store(state.warm.len() as u64, Relaxed);
        counters.idle.store(state.idle.len() as u64, Relaxed);
        counters.far_in_use.store(state.active().map_or(0, |far| far as u64 + 1), Relaxed);
    }

    /// Records that a link was opened.
    pub(super) fn opened(&self) {
        count(&self.counters().links_total);
        let mut state = self.lock();
        state.opening = state.opening.saturating_sub(1);
        state.not_opened = 0;
    }

    /// Records that a link could not be opened. While other links to this far end work, it does not count as down: it
    /// may have reached a limit.
    pub(super) fn not_opened(pool: &Arc<Self>, far: usize, why: &str) {
        count(&pool.counters().link_failures_total);
        let mut state = pool.lock();
        state.opening = state.opening.saturating_sub(1);
        if state.active() == Some(far) && state.links() > 0 {
            state.pause(Instant::now());
        } else {
            pool.failed(&mut state, far, why);
        }
    }

    /// Next step of a link without a server connection.
    pub(super) fn next(pool: &Arc<Self>, origin: LinkOrigin) -> IdleLinkStep {
        let mut state = pool.lock();
        if !state.wants(origin) {
            return IdleLinkStep::Close;
        }
        let now = Instant::now();
        let ahead = pool.ahead(&mut state, now);
        if state.warm.len() + state.attaching < ahead + state.clients.len() {
            state.attaching += 1;
            return IdleLinkStep::Attach;
        }
        let keep = state.demand.peak(now).max(ahead).max(MIN_IDLE);
        let have = state.idle.len() + state.warm.len() + state.attaching + state.in_session;
        if have >= keep {
            return IdleLinkStep::Close;
        }
        let (commands, receiver) = oneshot::channel();
        state.idle.push(Waiting { far: origin.far, commands });
        pool.update_gauges(&state);
        IdleLinkStep::Wait(receiver)
    }

    /// Records that a server connection is ready.
    pub(super) fn attached(pool: &Arc<Self>, origin: LinkOrigin, took: Duration) -> ReadyLinkStep {
        let mut state = pool.lock();
        state.attaching = state.attaching.saturating_sub(1);
        state.demand.fetched(took);
        pool.mark_up(&mut state, origin.far);
        state.refused_until = None;
        if let Some(client) = state.next_client() {
            state.in_session += 1;
            return ReadyLinkStep::Serve(client);
        }
        if !state.wants(origin) {
            return ReadyLinkStep::Recycle;
        }
        let (commands, receiver) = oneshot::channel();
        state.warm.push_back(Waiting { far: origin.far, commands });
        pool.update_gauges(&state);
        ReadyLinkStep::Wait(receiver)
    }

    /// Records that the server sent an error instead of its greeting. Returns the client that gets it.
    pub(super) fn refused(pool: &Arc<Self>, far: usize) -> Option<LocalStream> {
        count(&pool.counters().server_refusals_total);
        let mut state = pool.lock();
        state.attaching = state.attaching.saturating_sub(1);
        pool.mark_up(&mut state, far);
        state.refused_until = Some(Instant::now() + AFTER_REFUSAL);
        let client = state.next_client();
        if client.is_some() {
            state.in_session += 1;
        }
        client
    }

    /// Records that no server connection could be opened.
    pub(super) fn not_attached(pool: &Arc<Self>, far: usize, why: &str) {
        count(&pool.counters().attach_failures_total);
        let mut state = pool.lock();
        state.attaching = state.attaching.saturating_sub(1);
        pool.failed(&mut state, far, why);
    }

    /// Records that a link failed before it could open a server connection.
    pub(super) fn lost(pool: &Arc<Self>) {
        let mut state = pool.lock();
        state.attaching = state.attaching.saturating_sub(1);
        pool.supply(&mut state, Instant::now());
    }

    /// Records that a client has closed its side, so its link will soon be free. Returns whether the link should then
    /// open the next server connection.
    pub(super) fn ending(&self, origin: LinkOrigin) -> bool {
        let mut state = self.lock();
        state.ending += 1;
        let wanted = self.ahead(&mut state, Instant::now()) + state.clients.len();
        let again = state.wants(origin) && state.warm.len() + state.attaching < wanted;
        state.attaching += usize::from(again);
        again
    }

    /// Number of server connections to keep ready.
    fn ahead(&self, state: &mut State, now: Instant) -> usize {
        let options = &self.shared.options;
        match state.refused_until {
            Some(until) if now < until => 0,
            _ => {
                let (least, most) = state.bounds(options);
                state.demand.target(now, options.warm_age, least, most)
            }
        }
    }

    /// Stores a far end's maximum number of ready server connections.
    pub(super) fn set_max_warm(&self, far: usize, max_warm: u16) {
        if let Some(known) = self.lock().fars.get_mut(far) {
            known.max_warm = Some(usize::from(max_warm));
        }
    }

    /// Records the end of a session. `announced`: [`Self::ending`] was called for it.
    pub(super) fn ended(&self, announced: bool) {
        let mut state = self.lock();
        state.in_session = state.in_session.saturating_sub(1);
        state.ending = state.ending.saturating_sub(usize::from(announced));
    }

    /// Periodic maintenance.
    pub(super) fn tick(pool: &Arc<Self>) {
        let mut state = pool.lock();
        let now = Instant::now();
        while state.clients.front().is_some_and(|client| client.deadline <= now) {
            if let Some(client) = state.clients.pop_front() {
                pool.refuse(client.stream, "no server connection within the time of --wait");
            }
        }
        pool.probe(&mut state, now);
        pool.supply(&mut state, now);
        pool.shrink(&mut state, now);
    }

    /// Closes links that were not needed for some time.
    fn shrink(&self, state: &mut State, now: Instant) {
        let keep = state.demand.peak(now).max(MIN_IDLE);
        let have = state.idle.len() + state.warm.len() + state.attaching + state.in_session;
        for _ in keep..have {
            match state.idle.pop() {
                Some(waiting) => drop(waiting.commands.send(LinkCommand::Close)),
                None => break,
            }
        }
        state.idle.retain(|waiting| !waiting.commands.is_closed());
        state.warm.retain(|waiting| !waiting.commands.is_closed());
        self.update_gauges(state);
    }

    /// Switches to the reloaded certificates. Idle links are closed now, used ones after their session.
    pub(super) fn reload(&self) {
        match self.shared.config.reload() {
            Ok(()) => {
                count(&self.counters().reloads_total);
                let mut state = self.lock();
                state.certificates += 1;
                state.close_waiting(None);
                self.update_gauges(&state);
                (self.shared.log)("certificates reloaded; sessions continue on their links until they end");
            }
            Err(error) => {
                count(&self.counters().reload_failures_total);
                (self.shared.log)(&format!("the certificates were not reloaded: {error}"));
            }
        }
    }

    /// Stops accepting clients.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopping = true;
        state.close_waiting(None);
        for client in std::mem::take(&mut state.clients) {
            self.refuse(client.stream, "the tunnel stops");
        }
    }
}
