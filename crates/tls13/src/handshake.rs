//! The handshake, by rustls, up to the keys of both directions.

use rustls::{
    Error,
    client::UnbufferedClientConnection,
    server::UnbufferedServerConnection,
    unbuffered::{ConnectionState, UnbufferedStatus},
};
use rustls_pki_types::CertificateDer;

use crate::keys::{KeySchedule, RecordKeys};

/// One side of a handshake.
pub enum Handshake {
    /// Of who connects.
    Client(Box<UnbufferedClientConnection>),
    /// Of who is connected to.
    Server(Box<UnbufferedServerConnection>),
}

/// What became of one step of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something was done; go on.
    Progress,
    /// What is encoded has to go out.
    Transmit,
    /// One more record is needed from the other side.
    NeedsInput,
    /// It is complete.
    Done,
}

impl Handshake {
    /// Does the next step with whole records that were received, and nothing behind them that does
    /// not belong to the handshake. What is encoded is put at the front of `room`, and counted in `put`.
    /// Returns how many of the received bytes are done with.
    pub fn step(&mut self, received: &mut [u8], room: &mut [u8], put: &mut usize) -> (usize, Result<Step, Error>) {
        match self {
            Self::Client(tls) => handle(tls.process_tls_records(received), room, put),
            Self::Server(tls) => handle(tls.process_tls_records(received), room, put),
        }
    }

    /// After an error: puts the alert that tells the other side at the front of `room`, with the same received bytes as
    /// before less those that are done with. Returns its length; 0 if there is nothing to tell.
    ///
    /// To be called once: rustls hands out the alert before it looks at the bytes again, which it must not do
    /// after an error.
    pub fn alert(&mut self, received: &mut [u8], room: &mut [u8]) -> usize {
        let mut put = 0;
        let _ = self.step(received, room, &mut put);
        put
    }

    /// The other side's chain, its own certificate first.
    #[must_use]
    pub fn peer_certificates(&self) -> &[CertificateDer<'static>] {
        let certificates = match self {
            Self::Client(tls) => tls.peer_certificates(),
            Self::Server(tls) => tls.peer_certificates(),
        };
        certificates.unwrap_or_default()
    }

    /// The keys, once it is complete.
    ///
    /// # Errors
    /// If it is not complete.
    pub fn into_keys(self) -> Result<RecordKeys, Error> {
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

fn handle<Side>(
    status: UnbufferedStatus<'_, '_, Side>,
    room: &mut [u8],
    put: &mut usize,
) -> (usize, Result<Step, Error>) {
    let step = match status.state {
        Err(error) => Err(error),
        Ok(ConnectionState::EncodeTlsData(mut data)) => match data.encode(room) {
            Ok(count) => {
                *put += count;
                Ok(Step::Progress)
            }
            Err(_) => Err(Error::EncryptError),
        },
        Ok(ConnectionState::TransmitTlsData(data)) => {
            data.done();
            Ok(Step::Transmit)
        }
        Ok(ConnectionState::BlockedHandshake) => Ok(Step::NeedsInput),
        Ok(ConnectionState::WriteTraffic(_)) => Ok(Step::Done),
        Ok(_) => Err(Error::General("data within the handshake".to_owned())),
    };
    (status.discard, step)
}
