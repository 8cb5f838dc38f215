//! The handshake of a data connection, by rustls, up to the keys of both directions.

use rustls::{
    ExtractedSecrets, SupportedCipherSuite,
    client::{ClientConnectionData, UnbufferedClientConnection},
    kernel::KernelConnection,
    server::{ServerConnectionData, UnbufferedServerConnection},
    unbuffered::{ConnectionState, UnbufferedStatus},
};

use super::{record::RecordKey, socket::RecordSocket};
use crate::error::TransferError;

/// One side of a handshake.
pub(super) enum Handshake {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// What goes on after the handshake: keys that follow those in use.
pub(super) enum KeySchedule {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
}

/// Keys in use.
pub(super) struct RecordKeys {
    pub(super) sending: RecordKey,
    pub(super) receiving: RecordKey,
    schedule: KeySchedule,
    /// How many records one key may seal.
    limit: u64,
}

/// What became of one step of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Something was done; go on.
    Progress,
    /// What is encoded has to go out.
    Transmit,
    /// One more record is needed from the other side.
    NeedsInput,
    Done,
}

impl Handshake {
    /// Goes through the handshake. Nothing that comes behind it is taken from the socket.
    pub(super) fn run(mut self, socket: &mut RecordSocket) -> Result<RecordKeys, TransferError> {
        let mut shown = 0;
        loop {
            let (taken, step) = self.step(socket, shown);
            socket.take(taken);
            shown = shown.saturating_sub(taken);
            match step {
                Ok(Step::Progress) => {}
                Ok(Step::Transmit) => socket.flush()?,
                // Record by record, so that nothing behind the handshake is shown to it.
                Ok(Step::NeedsInput) => shown = socket.wait_for_record(shown)?,
                Ok(Step::Done) => break,
                Err(error) => {
                    self.send_alert(socket);
                    return Err(error);
                }
            }
        }
        socket.flush()?;
        self.into_keys().map_err(|error| socket.tls_error(error))
    }

    /// Shows the first `shown` received bytes; returns how many of them are done with.
    fn step(&mut self, socket: &mut RecordSocket, shown: usize) -> (usize, Result<Step, TransferError>) {
        let (received, room, put) = socket.both(shown);
        let (taken, step) = match self {
            Self::Client(tls) => handle(tls.process_tls_records(received), room, put),
            Self::Server(tls) => handle(tls.process_tls_records(received), room, put),
        };
        (taken, step.map_err(|error| socket.tls_error(error)))
    }

    /// The other side should learn why: after an error, an alert is waiting.
    fn send_alert(&mut self, socket: &mut RecordSocket) {
        loop {
            match self.step(socket, 0).1 {
                Ok(Step::Progress) => {}
                Ok(Step::Transmit) if socket.flush().is_ok() => {}
                _ => return,
            }
        }
    }

    fn into_keys(self) -> Result<RecordKeys, rustls::Error> {
        let (secrets, schedule) = match self {
            Self::Client(tls) => {
                let (secrets, connection) = tls.dangerous_into_kernel_connection()?;
                (secrets, KeySchedule::Client(connection))
            }
            Self::Server(tls) => {
                let (secrets, connection) = tls.dangerous_into_kernel_connection()?;
                (secrets, KeySchedule::Server(connection))
            }
        };
        let limit = schedule.suite().tls13().map_or(0, |suite| suite.common.confidentiality_limit);
        RecordKeys::new(&secrets, schedule, limit)
    }
}

impl RecordKeys {
    fn new(secrets: &ExtractedSecrets, schedule: KeySchedule, limit: u64) -> Result<Self, rustls::Error> {
        let key = |(sequence, secrets): &(u64, _)| RecordKey::new(*sequence, secrets, limit);
        Ok(Self { sending: key(&secrets.tx)?, receiving: key(&secrets.rx)?, schedule, limit })
    }

    #[cfg(test)]
    pub(super) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
        self.sending.set_limit(limit);
    }

    /// Goes on to the next key for sending. The other side has to have been told.
    pub(super) fn renew_sending(&mut self) -> Result<(), rustls::Error> {
        let (sequence, secrets) = match &mut self.schedule {
            KeySchedule::Client(connection) => connection.update_tx_secret()?,
            KeySchedule::Server(connection) => connection.update_tx_secret()?,
        };
        self.sending = RecordKey::new(sequence, &secrets, self.limit)?;
        Ok(())
    }

    /// Goes on to the next key for receiving, as the other side said it did.
    pub(super) fn renew_receiving(&mut self) -> Result<(), rustls::Error> {
        let (sequence, secrets) = match &mut self.schedule {
            KeySchedule::Client(connection) => connection.update_rx_secret()?,
            KeySchedule::Server(connection) => connection.update_rx_secret()?,
        };
        self.receiving = RecordKey::new(sequence, &secrets, self.limit)?;
        Ok(())
    }
}

impl KeySchedule {
    fn suite(&self) -> SupportedCipherSuite {
        match self {
            Self::Client(connection) => connection.negotiated_cipher_suite(),
            Self::Server(connection) => connection.negotiated_cipher_suite(),
        }
    }
}

fn handle<Side>(
    status: UnbufferedStatus<'_, '_, Side>,
    room: &mut [u8],
    put: &mut usize,
) -> (usize, Result<Step, rustls::Error>) {
    let step = match status.state {
        Err(error) => Err(error),
        Ok(ConnectionState::EncodeTlsData(mut data)) => match data.encode(room) {
            Ok(count) => {
                *put += count;
                Ok(Step::Progress)
            }
            Err(_) => Err(rustls::Error::EncryptError),
        },
        Ok(ConnectionState::TransmitTlsData(data)) => {
            data.done();
            Ok(Step::Transmit)
        }
        Ok(ConnectionState::BlockedHandshake) => Ok(Step::NeedsInput),
        Ok(ConnectionState::WriteTraffic(_)) => Ok(Step::Done),
        Ok(_) => Err(rustls::Error::General("data within the handshake".to_owned())),
    };
    (status.discard, step)
}
