//! The rotate event, which names the next log file.

use crate::{Fault, bytes::Bytes};

/// The log continues in another file. If a server sends the event to a replica, the stream starts in this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotate<'e> {
    /// Position in that file.
    pub position: u64,
    /// Name of the file, without its directory.
    pub file: &'e [u8],
}

impl<'e> Rotate<'e> {
    pub(crate) fn parse(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        let position = bytes.u64()?;
        let name = bytes.rest();
        if name.is_empty() || name.contains(&0) {
            return Err(bytes.malformed());
        }
        Ok(Self { position, file: name })
    }
}
