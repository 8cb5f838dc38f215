//! The near end's side of a client's session.

use crate::{
    copier::{LastSender, Side},
    message::Kind,
};

/// The request about server connections that was sent to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Requested {
    Nothing,
    /// Open the next server connection.
    Attach,
    /// Close this server connection.
    Reset,
}

/// The near end's side of a session. The far end decides when it is over.
pub(crate) struct ClientSession<F> {
    last_sender: LastSender,
    requested: Requested,
    /// Called when the client is done and the session will end at once. Returns whether the far end is to open the next
    /// server connection now.
    ending: F,
}

impl<F: Fn() -> bool> ClientSession<F> {
    /// `greeted`: the client has received the server's first packet.
    pub(crate) const fn new(greeted: bool, ending: F) -> Self {
        let last_sender = if greeted { LastSender::Server } else { LastSender::Client };
        Self { last_sender, requested: Requested::Nothing, ending }
    }
}

impl<F: Fn() -> bool> Side for ClientSession<F> {
    const ENDS_WITH_BOTH: bool = false;

    fn received(&mut self, _bytes: &[u8]) {
        self.last_sender.server();
    }

    fn read(&mut self, bytes: &[u8]) {
        self.last_sender.client(bytes);
    }

    fn expects_local_end(&self) -> bool {
        self.last_sender.is_quit()
    }

    fn needs_no_answer(&self) -> bool {
        false
    }

    fn local_ended(&mut self, _link_ended: bool) -> Vec<Kind> {
        if self.requested == Requested::Reset {
            return Vec::new();
        }
        // If the client closes without `COM_QUIT`, it is unknown when its server connection will be free: the server
        // may work on the statement for long, and notices the end only when it answers.
        if self.last_sender.is_quit() && (self.ending)() {
            self.requested = Requested::Attach;
            return vec![Kind::Fin, Kind::Attach];
        }
        vec![Kind::Fin]
    }

    /// Closes the server connection of a client that is gone, as would happen without a tunnel. Does nothing after the
    /// next server connection was requested, since the message would close that one.
    fn local_closed(&mut self) -> Option<Kind> {
        (self.requested == Requested::Nothing).then(|| {
            self.requested = Requested::Reset;
            Kind::Reset
        })
    }

    fn next_requested(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copier::tests::QUIT;

    #[test]
    fn com_quit_requests_the_next_server_connection() {
        let mut session = ClientSession::new(true, || true);
        session.read(QUIT);
        assert!(session.expects_local_end());
        assert_eq!(session.local_ended(false), [Kind::Fin, Kind::Attach]);
        assert_eq!(session.local_closed(), None, "the next connection is not closed");
        let mut session = ClientSession::new(true, || false);
        session.read(QUIT);
        assert_eq!(session.local_ended(false), [Kind::Fin]);
    }

    #[test]
    fn a_disconnected_client_has_its_server_connection_closed_once() {
        let mut session = ClientSession::new(true, || true);
        session.read(b"\x02\0\0\0\x03x");
        assert_eq!(session.local_closed(), Some(Kind::Reset));
        assert_eq!(session.local_closed(), None);
        assert_eq!(session.local_ended(false), []);
        assert!(!session.next_requested());
    }

    #[test]
    fn a_client_that_closes_its_side_still_gets_its_answer() {
        let mut session = ClientSession::new(true, || true);
        session.read(b"\x02\0\0\0\x03x");
        assert_eq!(session.local_ended(false), [Kind::Fin]);
        session.received(b"answer");
        assert_eq!(session.local_closed(), Some(Kind::Reset));
    }
}
