//! The GTIDs of all logs before the current one.

use replication::gtid::mysql::{GtidSet, Ranges};

use crate::{
    Fault,
    bytes::Bytes,
    event::{Uuid, serialized},
};

/// The GTIDs of all logs before the current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousGtids {
    /// All transactions before the first one of this log.
    pub set: GtidSet,
}

impl PreviousGtids {
    /// Source: `Gtid_set::add_gtid_encoding` of MySQL. Since 8.3 the number of origins has the format in its first and
    /// last byte: 0 without tags, 1 with a tag after each UUID.
    pub(crate) fn parse(mut bytes: Bytes<'_>) -> Result<Self, Fault> {
        let (count, tagged) = match bytes.u64()?.to_le_bytes() {
            [1, count @ .., 1] => (crate::bytes::big(&reversed(count)), true),
            plain => (u64::from_le_bytes(plain), false),
        };
        let mut ranges = Vec::new();
        for _ in 0..count {
            let uuid = Uuid(bytes.array()?).to_string();
            let tag = if tagged { serialized::text(&mut bytes)? } else { &[] };
            let tag = String::from_utf8_lossy(tag).into_owned();
            let intervals = bytes.u64()?;
            let mut numbers = Vec::new();
            for _ in 0..intervals {
                // The end is exclusive.
                let (first, end) = (bytes.u64()?, bytes.u64()?);
                let last = end.checked_sub(1).filter(|last| first >= 1 && first <= *last);
                numbers.push((first, last.ok_or_else(|| bytes.malformed())?));
            }
            ranges.push(Ranges { uuid, tag, numbers });
        }
        Ok(Self { set: ranges.into_iter().collect() })
    }
}

fn reversed(count: [u8; 6]) -> [u8; 6] {
    let mut count = count;
    count.reverse();
    count
}
