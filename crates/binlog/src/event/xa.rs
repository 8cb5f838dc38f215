//! The event that prepares an XA transaction, and names of such transactions.

use crate::{Fault, bytes::Bytes};

/// Maximum length of a part of an XA transaction's name.
const MAX_PART_BYTES: u32 = 64;

/// Name of an XA transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xid<'e> {
    /// Format of the name, chosen by the application.
    pub format: u32,
    /// Global transaction id, chosen by the application.
    pub global: &'e [u8],
    /// Branch qualifier, chosen by the application.
    pub branch: &'e [u8],
}

/// The transaction before this event is prepared and not visible until `XA COMMIT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XaPrepare<'e> {
    /// Whether the transaction is committed at once: `XA COMMIT … ONE PHASE`.
    pub one_phase: bool,
    /// Name of the transaction.
    pub xid: Xid<'e>,
}

impl<'e> XaPrepare<'e> {
    pub(crate) fn parse(mut bytes: Bytes<'e>) -> Result<Self, Fault> {
        let one_phase = bytes.u8()? != 0;
        let (format, global, branch) = (bytes.u32()?, bytes.u32()?, bytes.u32()?);
        if global > MAX_PART_BYTES || branch > MAX_PART_BYTES {
            return Err(bytes.malformed());
        }
        let xid = Xid { format, global: take(&mut bytes, global)?, branch: take(&mut bytes, branch)? };
        Ok(Self { one_phase, xid })
    }
}

fn take<'e>(bytes: &mut Bytes<'e>, count: u32) -> Result<&'e [u8], Fault> {
    let count = usize::try_from(count).map_err(|_| bytes.malformed())?;
    bytes.take(count)
}
