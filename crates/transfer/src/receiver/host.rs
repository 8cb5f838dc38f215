//! A receiver that exchanges notes with the sender before it opens the target.

use std::{net::SocketAddr, time::Instant};

use super::{
    ReceiveSettings, Received, Receiver, Trust,
    door::{Door, Stranger, Visitor},
    open_door,
    staging::Staging,
};
use crate::{error::TransferError, pairing::PairingCode, progress::Progress, wire::Control};

/// A listening receiver that has not opened its target yet.
#[derive(Debug)]
pub struct Host {
    settings: ReceiveSettings,
    door: Door,
    code: Option<PairingCode>,
}

/// A session with an authenticated sender.
pub struct Visit {
    host: Host,
    visitor: Visitor,
}

impl std::fmt::Debug for Visit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Visit of {}", self.peer())
    }
}

impl Host {
    /// Starts to listen.
    ///
    /// # Errors
    /// [`TransferError`] if the address cannot be used.
    pub fn listen(settings: ReceiveSettings, trust: &Trust) -> Result<Self, TransferError> {
        let (door, code) = open_door(&settings, trust)?;
        Ok(Self { settings, door, code })
    }

    /// The pairing code, if the sides authenticate with one.
    #[must_use]
    pub const fn code(&self) -> Option<&PairingCode> {
        self.code.as_ref()
    }

    /// Address and port of the listening socket.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// Waits for a sender. `turned_away` gets the reason for each rejected peer. Unlike with a
    /// pairing code that a person typed, the wait continues after a wrong secret: programs
    /// exchanged the secret, and its 128 bits cannot be guessed.
    ///
    /// # Errors
    /// [`TransferError`] if no sender authenticates in time.
    pub fn wait(self, mut turned_away: impl FnMut(&str)) -> Result<Visit, TransferError> {
        let turned_away = |stranger: &Stranger| {
            match stranger {
                Stranger::Impostor(peer) => turned_away(&format!("{peer} tried a wrong secret")),
                Stranger::Nobody(why) => turned_away(why),
            }
            Ok(())
        };
        // A code that programs exchange is not shown to a person.
        let visitor = self.door.wait_for_sender(&self.settings, false, turned_away)?;
        Ok(Visit { host: self, visitor })
    }
}

impl Visit {
    /// Address of the sender.
    #[must_use]
    pub fn peer(&self) -> &str {
        self.visitor.control.peer()
    }

    /// Waits for a note from the program on the sender's side.
    ///
    /// # Errors
    /// [`TransferError`] if the connection fails or the peer aborts.
    pub fn hear(&mut self) -> Result<String, TransferError> {
        let control = &mut self.visitor.control;
        match control.expect()? {
            Control::Note { text } => Ok(text),
            Control::Failed { reason } => Err(TransferError::Peer { peer: control.peer().to_owned(), reason }),
            _ => Err(TransferError::protocol(control.peer(), "unexpected message")),
        }
    }

    /// Sends a note to the program on the sender's side.
    ///
    /// # Errors
    /// [`TransferError`] if the connection fails.
    pub fn say(&mut self, text: &str) -> Result<(), TransferError> {
        self.visitor.control.send(&Control::Note { text: text.to_owned() })
    }

    /// Closes the session in order, without a transfer, after the sender has received all notes.
    pub fn part(mut self) {
        let until = Instant::now() + super::FAREWELL;
        while Instant::now() < until && self.visitor.control.receive(super::TICK).is_ok() {}
    }

    /// Aborts the session and tells the sender why.
    pub fn give_up(mut self, reason: &str) {
        // The sender may already be gone.
        let _ = self.visitor.control.send(&Control::Failed { reason: reason.to_owned() });
    }

    /// Opens the target and receives. Returns when everything is committed and on disk.
    ///
    /// # Errors
    /// As [`Receiver::run`].
    pub fn receive(mut self, progress: &Progress) -> Result<Received, TransferError> {
        let Host { settings, door, code } = self.host;
        let staging = match Staging::open(&settings.into, settings.owner) {
            Ok(staging) => staging,
            Err(error) => return Err(super::explain(error, &mut self.visitor.control)),
        };
        Receiver { settings, staging, door, code }.serve_visitor(self.visitor, progress)
    }
}
