//! The outcome of a server's audit, compressed. The findings of a thousand servers take hundreds of megabytes, nearly all
//! of it the same sentences and statements, and they are needed only while a page is rendered or a round ends.

use audit::outcome::Outcome;
use zstd::bulk::{compress, decompress};

/// A compressed outcome.
#[derive(Debug)]
pub(crate) struct Packed {
    compressed: Box<[u8]>,
    /// Length before compression, in bytes.
    length: usize,
}

/// Higher levels save little and take longer than the audit itself.
const LEVEL: i32 = 1;

const OWN: &str = "an outcome can be written as JSON, compressed in memory, and read again";

impl Packed {
    pub(crate) fn new(outcome: &Outcome) -> Self {
        let json = serde_json::to_vec(outcome).expect(OWN);
        Self { compressed: compress(&json, LEVEL).expect(OWN).into_boxed_slice(), length: json.len() }
    }

    pub(crate) fn unpack(&self) -> Outcome {
        let json = decompress(&self.compressed, self.length).expect(OWN);
        serde_json::from_slice(&json).expect(OWN)
    }
}

#[cfg(test)]
mod tests {
    use audit::facts::Facts;
    use audit::rules::Rules;
    use audit::run::judge;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn an_outcome_is_the_same_afterwards_and_a_tenth_of_its_size_meanwhile() {
        let facts = Facts::empty("mysql://audit@db1:3306", Timestamp::UNIX_EPOCH);
        let outcome = judge(&facts, &Rules::default(), Timestamp::now());
        assert!(!outcome.findings.is_empty() && !outcome.coverage.is_empty());
        let packed = Packed::new(&outcome);
        let json = |outcome: &Outcome| serde_json::to_value(outcome).unwrap();
        assert_eq!(json(&packed.unpack()), json(&outcome));
        assert!(packed.compressed.len() < packed.length / 10, "{} of {}", packed.compressed.len(), packed.length);
    }
}
