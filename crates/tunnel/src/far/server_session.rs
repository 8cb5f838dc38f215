//! The far end's side of a client's session.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::{
    copier::{LastSender, Side},
    message::Kind,
};

/// The far end's side of a session. The session is over when both sides have ended their sending.
pub(crate) struct ServerSession<'b> {
    last_sender: LastSender,
    /// Set once the client has sent something.
    busy: &'b AtomicBool,
    next_requested: bool,
}

impl<'b> ServerSession<'b> {
    /// `busy` is set once the client has begun to use the server connection.
    pub(crate) const fn new(busy: &'b AtomicBool) -> Self {
        Self { last_sender: LastSender::Client, busy, next_requested: false }
    }

    /// Whether the next server connection was already requested.
    pub(crate) const fn is_next_requested(&self) -> bool {
        self.next_requested
    }
}

impl Side for ServerSession<'_> {
    const ENDS_WITH_BOTH: bool = true;

    fn received(&mut self, bytes: &[u8]) {
        self.last_sender.client(bytes);
        self.busy.store(true, Relaxed);
    }

    fn read(&mut self, _bytes: &[u8]) {
        self.last_sender.server();
    }

    fn expects_local_end(&self) -> bool {
        false
    }

    fn needs_no_answer(&self) -> bool {
        self.last_sender.is_quit()
    }

    /// If the near end has ended its sending side, it will be informed of the end of the session, and needs no message
    /// about this direction.
    fn local_ended(&mut self, link_ended: bool) -> Vec<Kind> {
        if link_ended { Vec::new() } else { vec![Kind::Fin] }
    }

    fn local_closed(&mut self) -> Option<Kind> {
        None
    }

    fn next_requested(&mut self) -> bool {
        self.next_requested = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copier::tests::QUIT;

    #[test]
    fn a_server_need_not_answer_a_client_that_is_done() {
        let busy = AtomicBool::new(false);
        let mut session = ServerSession::new(&busy);
        session.read(b"greeting");
        assert!(!busy.load(Relaxed));
        session.received(b"log-in");
        assert!(busy.load(Relaxed) && !session.needs_no_answer());
        session.read(b"ok");
        session.received(QUIT);
        assert!(session.needs_no_answer());
        assert!(session.next_requested() && session.is_next_requested());
    }

    #[test]
    fn the_near_end_learns_of_the_servers_end_unless_its_own_side_has_ended() {
        let busy = AtomicBool::new(false);
        let mut session = ServerSession::new(&busy);
        assert_eq!(session.local_closed(), None);
        assert_eq!(session.local_ended(false), [Kind::Fin]);
        assert_eq!(session.local_ended(true), []);
    }
}
