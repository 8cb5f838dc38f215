//! GTID sets as MySQL encodes them, in events and in a replica's request.

use replication::gtid::mysql::GtidSet;

/// Encodes a set in the format of 8.3 and newer if it has tags, otherwise in the older one, which every version reads.
///
/// Source: `Gtid_set::encode` of MySQL.
pub(super) fn encode(set: &GtidSet) -> Vec<u8> {
    const TAGGED: u64 = 1;
    let ranges: Vec<_> = set.ranges().collect();
    let count = u64::try_from(ranges.len()).unwrap_or(0);
    let tagged = ranges.iter().any(|ranges| !ranges.tag.is_empty());
    let head = if tagged { (TAGGED << 56) | (count << 8) | TAGGED } else { count };
    let mut encoded = head.to_le_bytes().to_vec();
    for ranges in ranges {
        encoded.extend(uuid(&ranges.uuid));
        if tagged {
            // A length below 128 in the serialization library's form, see `event::serialized`.
            encoded.push(u8::try_from(ranges.tag.len()).unwrap_or(0) << 1);
            encoded.extend(ranges.tag.as_bytes());
        }
        encoded.extend(u64::try_from(ranges.numbers.len()).unwrap_or(0).to_le_bytes());
        for (first, last) in ranges.numbers {
            encoded.extend(first.to_le_bytes());
            encoded.extend(last.saturating_add(1).to_le_bytes());
        }
    }
    encoded
}

/// The bytes of a UUID. A [`GtidSet`] has only valid UUIDs.
fn uuid(text: &str) -> [u8; 16] {
    let digits = u128::from_str_radix(&text.replace('-', ""), 16).unwrap_or(0);
    digits.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bytes::Bytes, event::PreviousGtids};

    #[test]
    fn encoded_sets_read_back() {
        const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        for text in ["", "A:1-5", "A:1-5:7,B:9", "A:1-5:tag_1:2,B:1:t:3-4"] {
            let text = text.replace('A', A).replace('B', &A.replace('3', "4"));
            let set: GtidSet = text.parse().unwrap();
            let read = PreviousGtids::parse(Bytes::new(&encode(&set), "test")).unwrap();
            assert_eq!(read.set, set, "{text}");
        }
    }
}
