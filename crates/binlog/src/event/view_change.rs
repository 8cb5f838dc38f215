//! Group Replication: the members of the group changed.

use crate::{Fault, bytes::Bytes};

/// Bytes of the view's name.
const VIEW_ID_BYTES: usize = 40;

/// A new view of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewChange<'e> {
    /// Name of the view.
    pub view_id: &'e [u8],
    /// Sequence number of the certifier.
    pub sequence_number: u64,
    /// The certifier's state: number of entries, then the entries.
    pub certification: &'e [u8],
}

impl<'e> ViewChange<'e> {
    pub(crate) fn parse(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        let padded = bytes.take(VIEW_ID_BYTES)?;
        let end = padded.iter().position(|byte| *byte == 0).unwrap_or(VIEW_ID_BYTES);
        let view_id = padded.get(..end).unwrap_or_default();
        Ok(Self { view_id, sequence_number: bytes.u64()?, certification: bytes.rest() })
    }
}
