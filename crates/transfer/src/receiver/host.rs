//! A receiver that hears what is to come before it touches the target.

use std::{net::SocketAddr, time::Instant};

use super::{
    ReceiveSettings, Received, Receiver, Trust,
    door::{Door, Stranger, Visitor},
    open_door,
    staging::Staging,
};
use crate::{error::TransferError, pairing::PairingCode, progress::Progress, wire::Control};

/// A receiver that listens, and has not opened its target yet.
#[derive(Debug)]
pub struct Host {
    settings: ReceiveSettings,
    door: Door,
    code: Option<PairingCode>,
}

/// A sender that proved itself.
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
    /// Listens.
    ///
    /// # Errors
    /// [`TransferError`].
    pub fn listen(settings: ReceiveSettings, trust: &Trust) -> Result<Self, TransferError> {
        let (door, code) = open_door(&settings, trust)?;
        Ok(Self { settings, door, code })
    }

    /// The pairing code, if that is how the two sides know each other.
    #[must_use]
    pub const fn code(&self) -> Option<&PairingCode> {
        self.code.as_ref()
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// Waits for a sender. `turned_away` hears why each of the others was not let in; the wait goes on: unlike a pairing
    /// code that someone typed, the secret went from program to program, and nobody guesses its 128 bits.
    ///
    /// # Errors
    /// [`TransferError`].
    pub fn wait(self, mut turned_away: impl FnMut(&str)) -> Result<Visit, TransferError> {
        let turned_away = |stranger: &Stranger| {
            match stranger {
                Stranger::Impostor(peer) => turned_away(&format!("{peer} tried a wrong secret")),
                Stranger::Nobody(why) => turned_away(why),
            }
            Ok(())
        };
        // A code that a program hands on by itself has been seen by nobody.
        let visitor = self.door.wait_for_sender(&self.settings, false, turned_away)?;
        Ok(Visit { host: self, visitor })
    }
}

impl Visit {
    /// Where the sender is.
    #[must_use]
    pub fn peer(&self) -> &str {
        self.visitor.control.peer()
    }

    /// Waits for something that the program on the other side says.
    ///
    /// # Errors
    /// [`TransferError`].
    pub fn hear(&mut self) -> Result<String, TransferError> {
        let control = &mut self.visitor.control;
        match control.expect()? {
            Control::Note { text } => Ok(text),
            Control::Failed { reason } => Err(TransferError::Peer { peer: control.peer().to_owned(), reason }),
            _ => Err(TransferError::protocol(control.peer(), "unexpected message")),
        }
    }

    /// Says something to the program on the other side.
    ///
    /// # Errors
    /// [`TransferError`].
    pub fn say(&mut self, text: &str) -> Result<(), TransferError> {
        self.visitor.control.send(&Control::Note { text: text.to_owned() })
    }

    /// Ends the visit in order, with nothing received, when the sender has heard everything.
    pub fn part(mut self) {
        let until = Instant::now() + super::FAREWELL;
        while Instant::now() < until && self.visitor.control.receive(super::TICK).is_ok() {}
    }

    /// Tells the sender why there will be nothing.
    pub fn give_up(mut self, reason: &str) {
        // One that is gone already need not know.
        let _ = self.visitor.control.send(&Control::Failed { reason: reason.to_owned() });
    }

    /// Opens the target and receives. Returns when everything is in place and on disk.
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
