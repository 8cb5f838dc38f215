//! Keys in use, and the key schedule for the next ones.

use rustls::{
    Error, ExtractedSecrets, SupportedCipherSuite, client::ClientConnectionData, kernel::KernelConnection,
    server::ServerConnectionData,
};

use crate::record::RecordKey;

/// The key schedule after the handshake.
pub(crate) enum KeySchedule {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
}

/// Keys in use.
pub struct RecordKeys {
    /// For sent records.
    pub sending: RecordKey,
    /// For received records.
    pub receiving: RecordKey,
    schedule: KeySchedule,
    /// Number of records that one key may encrypt.
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

    /// Limits the number of records per key, for tests of key updates.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
        self.sending.set_limit(limit);
    }

    /// Switches to the next sending key. The caller must have sent a `KeyUpdate` under the current key.
    ///
    /// # Errors
    /// Errors of the key schedule.
    pub fn renew_sending(&mut self) -> Result<(), Error> {
        let (sequence, secrets) = match &mut self.schedule {
            KeySchedule::Client(connection) => connection.update_tx_secret()?,
            KeySchedule::Server(connection) => connection.update_tx_secret()?,
        };
        self.sending = RecordKey::new(sequence, &secrets, self.limit)?;
        Ok(())
    }

    /// Switches to the next receiving key, as the other side announced.
    ///
    /// # Errors
    /// Errors of the key schedule.
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
