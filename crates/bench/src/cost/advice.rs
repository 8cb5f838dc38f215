//! Advice that follows from the measured costs.

use serde::{Deserialize, Serialize};

use super::{Layer, Part, PartRecord};
use crate::{Difference, ExperimentRecord, Interval};

/// A sentence, and the experiment that it follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What to choose, and why.
    pub text: String,
    /// Name of the experiment.
    pub evidence: String,
}

/// A layer that certainly costs less than this, in percent of the throughput, is recommended without reservation.
const CHEAP_PERCENT: f64 = 5.0;

const NO_REASON: &str = "no reason not to encrypt";

/// One sentence for each layer and situation, then comparisons between layers.
pub(super) fn advice(parts: &[PartRecord], layers: &[Layer]) -> Vec<Advice> {
    let is_of_transactions = |layer: &&Layer| !matches!(layer.part, Part::Connections | Part::Copies | Part::Joins);
    let transactions = layers.iter().filter(is_of_transactions).map(transactions);
    let copies = layers.iter().filter(|layer| matches!(layer.part, Part::Copies | Part::Joins)).filter_map(copies);
    transactions.chain(new_connections(layers)).chain(keys(layers)).chain(copies).chain(disk(parts)).collect()
}

fn transactions(layer: &Layer) -> Advice {
    let situation = match layer.part {
        Part::LargerThanMemory => "data larger than the buffer pool",
        Part::Commits => "a load of commits",
        _ => "data in memory",
    };
    let cost = match layer.throughput.difference {
        Difference::None { at_most_percent: percent }
        | Difference::WithinResolution { at_most_percent: percent, .. } => {
            let choice = if percent < CHEAP_PERCENT { NO_REASON } else { "measure longer, or on a quieter machine" };
            format!("no difference in throughput was seen; it is at most {percent:.1} %: {choice}")
        }
        Difference::TooFewRounds => "too few rounds to say what it costs".to_owned(),
        Difference::Seen => seen(&layer.throughput.ratio),
    };
    Advice { text: format!("{}, with {situation}: {cost}", layer.layer), evidence: layer.experiment.clone() }
}

fn seen(ratio: &Interval) -> String {
    let percent = |ratio: f64| (1.0 - ratio) * 100.0;
    let cost = percent(ratio.estimate);
    let interval = format!("{:.1} to {:.1} %", percent(ratio.high), percent(ratio.low));
    match percent(ratio.low) {
        _ if cost < 0.0 => format!("throughput is {:.1} % higher with encryption: look for another difference", -cost),
        ..CHEAP_PERCENT => format!("costs {cost:.1} % of the throughput ({interval}): {NO_REASON}"),
        _ => {
            let more = (1.0 / ratio.low.max(f64::MIN_POSITIVE) - 1.0) * 100.0;
            format!("costs {cost:.1} % of the throughput ({interval}): plan {more:.0} % more capacity")
        }
    }
}

/// How long a new connection takes, and what avoids that.
fn new_connections(layers: &[Layer]) -> Option<Advice> {
    let find = |name: &str| {
        layers.iter().find(|layer| layer.layer.starts_with("new connections") && layer.layer.ends_with(name))
    };
    let (tls, tunnel) = (find("ECDSA")?, find("tunnel"));
    let times = tls.seconds?;
    let tunnel = tunnel.and_then(|layer| layer.seconds).filter(|tunnel| tunnel.with < times.with);
    let tunnel = tunnel.map(|tunnel| format!(", or use `sealant tunnel` ({} ms)", time(tunnel.with * 1e3)));
    let text = format!(
        "a new connection over TLS takes {} ms instead of {} ms: keep connections open{}",
        time(times.with * 1e3),
        time(times.without * 1e3),
        tunnel.unwrap_or_default()
    );
    Some(Advice { text, evidence: tls.experiment.clone() })
}

/// A time with the digits that tell two of them apart.
fn time(value: f64) -> String {
    if value < 1.0 { format!("{value:.3}") } else { format!("{value:.2}") }
}

/// Compares the costs of keys of different sizes.
fn keys(layers: &[Layer]) -> Option<Advice> {
    let seconds = |name: &str| layers.iter().find(|layer| layer.layer.ends_with(name)).and_then(|layer| layer.seconds);
    let (small, large) = (seconds("ECDSA")?, seconds("RSA-4096")?);
    let evidence = layers.iter().find(|layer| layer.layer.ends_with("RSA-4096"))?.experiment.clone();
    let times = large.with / small.with.max(f64::MIN_POSITIVE);
    let choice = if times > 1.1 { "use ECDSA keys" } else { "the kind of key makes no difference" };
    Some(Advice {
        text: format!("a connection with a key of RSA-4096 takes {times:.1} times as long: {choice}"),
        evidence,
    })
}

/// How long a backup, a copy or a join takes.
fn copies(layer: &Layer) -> Option<Advice> {
    let times = layer.seconds?;
    let cost = match layer.throughput.difference {
        Difference::Seen if times.with > times.without => "plan that much more time",
        Difference::Seen => "encryption costs no time here",
        Difference::None { .. } | Difference::WithinResolution { .. } => "no difference was seen",
        Difference::TooFewRounds => "too few rounds to say whether they differ",
    };
    let text = format!("{}, {} s instead of {} s: {cost}", layer.layer, time(times.with), time(times.without));
    Some(Advice { text, evidence: layer.experiment.clone() })
}

/// How much processor time the default cipher needs.
fn disk(parts: &[PartRecord]) -> Option<Advice> {
    let record = &parts.iter().find(|part| part.part == Part::Disk)?.record;
    let reading = |experiment: &&ExperimentRecord| experiment.name.starts_with("decrypt");
    let experiment = record.experiments.iter().find(reading)?;
    let arm = experiment.arms.first()?;
    let rate = arm.rate.estimate / 1e6;
    let cores = 1000.0 / rate.max(f64::MIN_POSITIVE);
    let text = format!(
        "an encrypted disk ({}): a core decrypts {rate:.0} MB/s, so 1 GB/s from the disk takes {cores:.2} cores",
        arm.name
    );
    Some(Advice { text, evidence: experiment.name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cost::layer::{layers, tests::part},
        suite::tls::{PLAIN, TUNNEL},
    };

    fn texts(parts: &[PartRecord]) -> Vec<String> {
        advice(parts, &layers(parts)).into_iter().map(|advice| advice.text).collect()
    }

    #[test]
    fn a_cost_is_a_share_of_the_throughput() {
        let at_rest = |rate| part(Part::InMemory, "x, encrypted at rest", [("clear", 1000.0), ("tde", rate)]);
        let said = texts(&[at_rest(800.0)]);
        assert_eq!(
            said,
            ["tables, with data in memory: costs 20.0 % of the throughput (19.2 to 20.8 %): plan 26 % more capacity"]
        );
        assert!(texts(&[at_rest(970.0)])[0].ends_with(NO_REASON));
        let equal = texts(&[at_rest(1000.0)]);
        assert_eq!(
            equal,
            [
                "tables, with data in memory: no difference in throughput was seen; it is at most 1.0 %: no reason not to encrypt"
            ]
        );
        let mut noisy = at_rest(999.0);
        let ratio = &mut noisy.record.experiments[0].ratios[0];
        ratio.difference = Difference::None { at_most_percent: 60.0 };
        assert!(texts(&[noisy])[0].ends_with("measure longer, or on a quieter machine"));
        assert!(texts(&[at_rest(1500.0)])[0].contains("look for another difference"));
    }

    #[test]
    fn backups_have_times_and_say_whether_they_differ() {
        let backup = |rate| {
            let mut part = part(Part::Copies, "backup into an empty repository", [("clear", 100.0), ("tde", rate)]);
            part.record.experiments[0].arms[1].seconds.estimate = 2.0;
            texts(&[part])
        };
        assert_eq!(backup(50.0), ["backup: encrypted tables, 2.00 s instead of 1.00 s: plan that much more time"]);
        assert_eq!(backup(100.0), ["backup: encrypted tables, 2.00 s instead of 1.00 s: no difference was seen"]);
    }

    #[test]
    fn connections_and_disks_have_sentences_of_their_own() {
        let name = "connections, one after the other, loopback";
        assert!(texts(&[part(Part::Connections, name, [(PLAIN, 4000.0), (TUNNEL, 2000.0)])]).is_empty());
        let said = texts(&[part(Part::Connections, name, [(PLAIN, 4000.0), ("TLS 1.3 ECDSA", 500.0)])]);
        assert_eq!(said, ["a new connection over TLS takes 2.00 ms instead of 0.250 ms: keep connections open"]);
        let said = texts(&[part(Part::Disk, "decrypt 4096-byte sectors", [("aes-xts", 2e9), ("other", 1e9)])]);
        assert_eq!(
            said,
            ["an encrypted disk (aes-xts): a core decrypts 2000 MB/s, so 1 GB/s from the disk takes 0.50 cores"]
        );
    }
}
