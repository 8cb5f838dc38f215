//! A receiver that exchanges notes with the sender before it opens the target.

use std::{net::SocketAddr, time::Instant};

use super::{
    ReceiveSettings, Received, Receiver, Trust,
    bind::bind_listener,
    listener::{AuthenticatedSender, Listener, RejectedPeer},
    staging::Staging,
};
use crate::{error::Error, pairing::PairingCode, progress::Progress, wire::Control};

/// A listening receiver that has not opened its target yet.
#[derive(Debug)]
pub struct ReceiverListener {
    settings: ReceiveSettings,
    listener: Listener,
    code: Option<PairingCode>,
}

/// A session with an authenticated sender.
pub struct SenderSession {
    host: ReceiverListener,
    sender: AuthenticatedSender,
}

impl std::fmt::Debug for SenderSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SenderSession of {}", self.peer())
    }
}

impl ReceiverListener {
    /// Starts to listen.
    ///
    /// # Errors
    /// [`Error`] if the address cannot be used.
    pub fn listen(settings: ReceiveSettings, trust: &Trust) -> Result<Self, Error> {
        let (listener, code) = bind_listener(&settings, trust)?;
        Ok(Self { settings, listener, code })
    }

    /// The pairing code, if the sides authenticate with one.
    #[must_use]
    pub const fn code(&self) -> Option<&PairingCode> {
        self.code.as_ref()
    }

    /// Address and port of the listening socket.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Waits for a sender. `on_rejected` gets the reason for each rejected peer. Unlike with a
    /// pairing code that a person typed, the wait continues after a wrong secret: programs
    /// exchanged the secret, and its 128 bits cannot be guessed.
    ///
    /// # Errors
    /// [`Error`] if no sender authenticates in time.
    pub fn wait(self, mut on_rejected: impl FnMut(&str)) -> Result<SenderSession, Error> {
        let on_rejected = |rejected: &RejectedPeer| {
            match rejected {
                RejectedPeer::WrongSecret(peer) => on_rejected(&format!("{peer} tried a wrong secret")),
                RejectedPeer::Other(why) => on_rejected(why),
            }
            Ok(())
        };
        // A code that programs exchange is not shown to a person.
        let sender = self.listener.wait_for_sender(&self.settings, false, on_rejected)?;
        Ok(SenderSession { host: self, sender })
    }
}

impl SenderSession {
    /// Address of the sender.
    #[must_use]
    pub fn peer(&self) -> &str {
        self.sender.control.peer()
    }

    /// Waits for a note from the program on the sender's side.
    ///
    /// # Errors
    /// [`Error`] if the connection fails or the peer aborts.
    pub fn receive_note(&mut self) -> Result<String, Error> {
        let control = &mut self.sender.control;
        match control.expect()? {
            Control::Note { text } => Ok(text),
            Control::Failed { reason } => Err(Error::Peer { peer: control.peer().to_owned(), reason }),
            _ => Err(Error::protocol(control.peer(), "unexpected message")),
        }
    }

    /// Sends a note to the program on the sender's side.
    ///
    /// # Errors
    /// [`Error`] if the connection fails.
    pub fn send_note(&mut self, text: &str) -> Result<(), Error> {
        self.sender.control.send(&Control::Note { text: text.to_owned() })
    }

    /// Closes the session in order, without a transfer, after the sender has received all notes.
    pub fn close(mut self) {
        let until = Instant::now() + super::CLOSE_TIMEOUT;
        while Instant::now() < until && self.sender.control.receive(super::control::TICK).is_ok() {}
    }

    /// Aborts the session and tells the sender why.
    pub fn abort(mut self, reason: &str) {
        // The sender may already be gone.
        let _ = self.sender.control.send(&Control::Failed { reason: reason.to_owned() });
    }

    /// Opens the target and receives. Returns when everything is committed and on disk.
    ///
    /// # Errors
    /// As [`Receiver::run`].
    pub fn receive(mut self, progress: &Progress) -> Result<Received, Error> {
        let ReceiverListener { settings, listener, code } = self.host;
        let staging = match Staging::open(&settings.into, settings.owner) {
            Ok(staging) => staging,
            Err(error) => return Err(super::control::explain(error, &mut self.sender.control)),
        };
        Receiver { settings, staging, listener, code }.serve_sender(self.sender, progress)
    }
}
