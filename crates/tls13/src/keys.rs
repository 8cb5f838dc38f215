//! Keys in use, and those that follow them.

use rustls::{
    Error, ExtractedSecrets, SupportedCipherSuite, client::ClientConnectionData, kernel::KernelConnection,
    server::ServerConnectionData,
};

use crate::record::RecordKey;

/// What goes on after the handshake: keys that follow those in use.
pub(crate) enum KeySchedule {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
}

/// Keys in use.
pub struct RecordKeys {
    /// For what goes out.
    pub sending: RecordKey,
    /// For what comes in.
    pub receiving: RecordKey,
    schedule: KeySchedule,
    /// How many records one key may seal.
    limit: u64,
}

impl std::fmt::Debug for RecordKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordKeys")
    }
}

impl RecordKeys {
    pub(crate) fn new(secrets: &ExtractedSecrets, schedule: KeySchedule, limit: u64) -> Result<Self, Error> {
        let key = |(sequence, secrets): &(u64, _)| RecordKey::new(*sequence, secrets, limit);
        Ok(Self { sending: key(&secrets.tx)?, receiving: key(&secrets.rx)?, schedule, limit })
    }

    /// Lets each key seal so many records: for tests of what comes after them.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
        self.sending.set_limit(limit);
    }

    /// Goes on to the next key for sending. The other side has to have been told.
    ///
    /// # Errors
    /// Of the key schedule.
    pub fn renew_sending(&mut self) -> Result<(), Error> {
        let (sequence, secrets) = match &mut self.schedule {
            KeySchedule::Client(connection) => connection.update_tx_secret()?,
            KeySchedule::Server(connection) => connection.update_tx_secret()?,
        };
        self.sending = RecordKey::new(sequence, &secrets, self.limit)?;
        Ok(())
    }

    /// Goes on to the next key for receiving, as the other side said it did.
    ///
    /// # Errors
    /// Of the key schedule.
    pub fn renew_receiving(&mut self) -> Result<(), Error> {
        let (sequence, secrets) = match &mut self.schedule {
            KeySchedule::Client(connection) => connection.update_rx_secret()?,
            KeySchedule::Server(connection) => connection.update_rx_secret()?,
        };
        self.receiving = RecordKey::new(sequence, &secrets, self.limit)?;
        Ok(())
    }
}

impl KeySchedule {
    pub(crate) fn suite(&self) -> SupportedCipherSuite {
        match self {
            Self::Client(connection) => connection.negotiated_cipher_suite(),
            Self::Server(connection) => connection.negotiated_cipher_suite(),
        }
    }
}
