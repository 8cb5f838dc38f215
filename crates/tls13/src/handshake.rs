//! The handshake, performed by rustls, up to the keys of both directions.

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
    /// The connecting side.
    Client(Box<UnbufferedClientConnection>),
    /// The accepting side.
    Server(Box<UnbufferedServerConnection>),
}

/// Result of one step of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A step is done; call again.
    Progress,
    /// Encoded bytes must be sent.
    Transmit,
    /// Another record of the other side is needed.
    NeedsInput,
    /// The handshake is complete.
    Done,
}

impl Handshake {
    /// Does the next step with complete received records, not followed by other data. Encoded bytes are written to the
    /// front of `room` and counted in `put`. Returns how many received bytes were consumed.
    pub fn step(&mut self, received: &mut [u8], room: &mut [u8], put: &mut usize) -> (usize, Result<Step, Error>) {
        match self {
            Self::Client(tls) => handle(tls.process_tls_records(received), room, put),
            Self::Server(tls) => handle(tls.process_tls_records(received), room, put),
        }
    }

    /// After an error: writes the alert for the other side to the front of `room`. Takes the same received bytes as
    /// before, without the consumed ones. Returns the alert's length; 0 if there is none.
    ///
    /// Call it only once: rustls returns the alert before it examines the bytes again, which it must not do after an
    /// error.
    pub fn alert(&mut self, received: &mut [u8], room: &mut [u8]) -> usize {
        let mut put = 0;
        let _ = self.step(received, room, &mut put);
        put
    }

    /// The other side's chain; its own certificate first.
    #[must_use]
    pub fn peer_certificates(&self) -> &[CertificateDer<'static>] {
        let certificates = match self {
            Self::Client(tls) => tls.peer_certificates(),
            Self::Server(tls) => tls.peer_certificates(),
        };
        certificates.unwrap_or_default()
    }

    /// The keys, once the handshake is complete.
    ///
    /// # Errors
    /// The handshake is not complete.
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
