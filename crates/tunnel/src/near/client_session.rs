//! A client's session, as the near end sees it.

use crate::{
    copier::{LastSpoke, Side},
    message::Kind,
};

/// What was said to the far end about the server connection of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    /// To open the next one.
    Attach,
    /// To close this one.
    Reset,
}

/// The near end's side of a session. The far end says when it is over.
pub(crate) struct ClientSession<F> {
    last_spoke: LastSpoke,
    said: Said,
    /// Is told when the client is done: the session will be over at once. Says whether the far end shall open the next
    /// server connection at once.
    ending: F,
}

impl<F: Fn() -> bool> ClientSession<F> {
    /// `greeted` if the client is given the server's first packet.
    pub(crate) const fn new(greeted: bool, ending: F) -> Self {
        let last_spoke = if greeted { LastSpoke::Server } else { LastSpoke::Client };
        Self { last_spoke, said: Said::Nothing, ending }
    }
}

impl<F: Fn() -> bool> Side for ClientSession<F> {
    const ENDS_WITH_BOTH: bool = false;

    fn received(&mut self, _bytes: &[u8]) {
        self.last_spoke.server();
    }

    fn read(&mut self, bytes: &[u8]) {
        self.last_spoke.client(bytes);
    }

    fn expects_local_end(&self) -> bool {
        self.last_spoke.is_quit()
    }

    fn needs_no_answer(&self) -> bool {
        false
    }

    fn local_ended(&mut self, _link_ended: bool) -> Vec<Kind> {
        if self.said == Said::Reset {
            return Vec::new();
        }
        // Of a client that just goes away nobody knows when its server connection will be free: the server may work
        // on its statement for long, and has to hear of it as soon as it answers.
        if self.last_spoke.is_quit() && (self.ending)() {
            self.said = Said::Attach;
            return vec![Kind::Fin, Kind::Attach];
        }
        vec![Kind::Fin]
    }

    /// A client that is gone needs no more of its result: the server hears so, as it would without a tunnel. Once the
    /// next server connection is asked for, it would be that one which is let go.
    fn local_gone(&mut self) -> Option<Kind> {
        (self.said == Said::Nothing).then(|| {
            self.said = Said::Reset;
            Kind::Reset
        })
    }

    fn next_asked(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copier::tests::QUIT;

    #[test]
    fn a_client_that_is_done_asks_for_the_next_server_connection() {
        let mut session = ClientSession::new(true, || true);
        session.read(QUIT);
        assert!(session.expects_local_end());
        assert_eq!(session.local_ended(false), [Kind::Fin, Kind::Attach]);
        assert_eq!(session.local_gone(), None, "the next connection is not closed");
        let mut session = ClientSession::new(true, || false);
        session.read(QUIT);
        assert_eq!(session.local_ended(false), [Kind::Fin]);
    }

    #[test]
    fn a_client_that_just_goes_has_its_server_connection_closed_once() {
        let mut session = ClientSession::new(true, || true);
        session.read(b"\x02\0\0\0\x03x");
        assert_eq!(session.local_gone(), Some(Kind::Reset));
        assert_eq!(session.local_gone(), None);
        assert_eq!(session.local_ended(false), []);
        assert!(!session.next_asked());
    }

    #[test]
    fn a_client_that_closes_its_side_still_gets_its_answer() {
        let mut session = ClientSession::new(true, || true);
        session.read(b"\x02\0\0\0\x03x");
        assert_eq!(session.local_ended(false), [Kind::Fin]);
        session.received(b"answer");
        assert_eq!(session.local_gone(), Some(Kind::Reset));
    }
}
