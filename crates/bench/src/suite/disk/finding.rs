//! What the figures in memory show about CBC.

use crate::{ExperimentRecord, disk::CipherSet};

/// A sentence with the lowest and highest ratio of XTS to CBC; `None` without ratios for both directions.
pub(super) fn about_cbc(sets: &[CipherSet], experiments: &[ExperimentRecord]) -> Option<String> {
    let is_cbc = |name: &str| sets.iter().any(|set| set.is_cbc() && set.to_string() == name);
    let range = |verb: &str| {
        let experiments = experiments.iter().filter(|experiment| experiment.name.starts_with(verb));
        let ratios = experiments.flat_map(|experiment| &experiment.ratios).filter(|ratio| is_cbc(&ratio.to));
        ratios.map(|ratio| ratio.ratio.estimate).fold(None, |range: Option<(f64, f64)>, ratio| {
            let (least, most) = range.unwrap_or((ratio, ratio));
            Some((least.min(ratio), most.max(ratio)))
        })
    };
    Some(sentence(range("encrypt")?, range("decrypt")?))
}

fn sentence((least, most): (f64, f64), (open_least, open_most): (f64, f64)) -> String {
    let encrypting = if least > 1.0 {
        format!("CBC encrypts {least:.1} to {most:.1} times slower than XTS")
    } else {
        format!("XTS encrypts {least:.1} to {most:.1} times as fast as CBC")
    };
    format!(
        "{encrypting} with as long a key, since each block of CBC waits for the one before; decrypting, where no block \
         waits, XTS is {open_least:.1} to {open_most:.1} times as fast in these loops, and a kernel's may differ"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ComparedBy, Difference, FigureRatios, Interval, RatioRecord, Stop, Unit};

    fn experiment(verb: &str, ratios: &[f64]) -> ExperimentRecord {
        let ratio = |estimate: &f64| RatioRecord {
            of: "aes-xts-plain64 256".to_owned(),
            to: "aes-cbc-plain 128".to_owned(),
            ratio: Interval { estimate: *estimate, low: *estimate, high: *estimate },
            difference: Difference::Seen,
            figures: FigureRatios::default(),
        };
        ExperimentRecord {
            name: format!("{verb} 512-byte sectors in memory, one core"),
            unit: Unit::Bytes,
            block_bytes: Some(512),
            rounds: 5,
            stopped: Stop::Rounds,
            compared_by: ComparedBy::Rate,
            resolution_percent: None,
            arms: Vec::new(),
            ratios: ratios.iter().map(ratio).collect(),
            predictions: Vec::new(),
            causes: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_sentence_quotes_the_ratios() {
        let said = sentence((4.24, 5.06), (0.95, 1.2));
        assert!(
            said.starts_with("CBC encrypts 4.2 to 5.1 times slower than XTS") && said.contains("0.9 to 1.2"),
            "{said}"
        );
        assert!(sentence((0.8, 1.5), (1.0, 1.0)).starts_with("XTS encrypts 0.8 to 1.5 times as fast as CBC"));
    }

    #[test]
    fn the_sentence_has_the_lowest_and_highest_ratio_of_both_directions() {
        let sets = CipherSet::parse_all("aes-cbc-plain:128").unwrap();
        let experiments = [experiment("encrypt", &[4.0, 3.0]), experiment("decrypt", &[1.0, 1.5])];
        let said = about_cbc(&sets, &experiments).unwrap();
        assert!(said.contains("3.0 to 4.0 times slower") && said.contains("1.0 to 1.5 times as fast"), "{said}");
        assert!(about_cbc(&sets, &experiments[..1]).is_none());
    }
}
