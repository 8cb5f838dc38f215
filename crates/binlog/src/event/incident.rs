//! Incident events: the log may lack changes, so a replica cannot continue.

use crate::{Fault, bytes::Bytes};

/// The server knows that changes may be missing in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident<'e> {
    /// Number of the incident; 1 is "lost events".
    pub number: u16,
    /// Human-readable message.
    pub message: &'e [u8],
}

impl<'e> Incident<'e> {
    pub(crate) fn parse(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        Ok(Self { number: bytes.u16()?, message: bytes.prefixed(1)? })
    }
}
