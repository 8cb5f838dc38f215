//! Heartbeats, which a server sends to a replica while it has no events.

use crate::{
    EventHeader, Fault,
    bytes::{Bytes, as_u64},
};

/// The server has nothing to send; everything before this position was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat<'e> {
    /// Name of the log.
    pub file: &'e [u8],
    /// Position in it; in the first version modulo 2³².
    pub position: u64,
}

impl<'e> Heartbeat<'e> {
    pub(crate) fn parse(content: &'e [u8], header: &EventHeader) -> Self {
        Self { file: content, position: u64::from(header.end_position) }
    }

    /// MySQL 8.0.26 and newer, for logs of more than 4 GiB: fields with type, length and value.
    pub(crate) fn parse_v2(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        let mut heartbeat = Self { file: &[], position: 0 };
        loop {
            match bytes.length_encoded()? {
                0 => return Ok(heartbeat),
                1 => heartbeat.file = bytes.counted()?,
                2 => {
                    let length = bytes.length_encoded()?;
                    let before = bytes.left();
                    heartbeat.position = bytes.length_encoded()?;
                    if as_u64(before.saturating_sub(bytes.left())) != length {
                        return Err(bytes.malformed());
                    }
                }
                _ => {
                    bytes.counted()?;
                }
            }
        }
    }
}
