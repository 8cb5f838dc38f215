//! Advice that follows from the measured costs.

use serde::{Deserialize, Serialize};

use super::{Layer, Part, PartRecord};
use crate::{Difference, ExperimentRecord, Interval, OperationsRecord, ServerArm, suite::oltp::AT_REST};

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
    let transactions = layers.iter().filter(|layer| layer.part.is_of_transactions()).map(transactions);
    let copies = layers.iter().filter(|layer| matches!(layer.part, Part::Copies | Part::Joins)).filter_map(copies);
    transactions.chain(new_connections(layers)).chain(keys(layers)).chain(copies).chain(disk(parts)).collect()
}

const fn situation(part: Part) -> &'static str {
    match part {
        Part::LargerThanMemory => "data larger than the buffer pool",
        Part::Commits => "a load of commits",
        _ => "data in memory",
    }
}

fn transactions(layer: &Layer) -> Advice {
    let cost = match layer.throughput.difference {
        Difference::None { at_most_percent: percent }
        | Difference::WithinResolution { at_most_percent: percent, .. } => {
            let choice = if percent < CHEAP_PERCENT { NO_REASON } else { "measure longer, or on a quieter machine" };
            format!("no difference seen, at most {percent:.1} % of the throughput: {choice}")
        }
        Difference::TooFewRounds => "too few rounds to say what it costs".to_owned(),
        Difference::Seen => seen(&layer.throughput.ratio),
    };
    let text = format!("{}, with {}: {cost}", layer.layer, situation(layer.part));
    Advice { text, evidence: layer.experiment.clone() }
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
        Difference::Seen if times.with > times.without => "plan that much more time".to_owned(),
        Difference::Seen => "encryption costs no time here".to_owned(),
        Difference::None { at_most_percent } | Difference::WithinResolution { at_most_percent, .. } => {
            format!("no difference seen, at most {at_most_percent:.1} %")
        }
        Difference::TooFewRounds => "too few rounds to say whether they differ".to_owned(),
    };
    let text = format!("{}, {} s instead of {} s: {cost}", layer.layer, time(times.with), time(times.without));
    Some(Advice { text, evidence: layer.experiment.clone() })
}

/// How much processor time the default cipher needs, and what that is for the measured transactions.
fn disk(parts: &[PartRecord]) -> Vec<Advice> {
    let Some(disk) = parts.iter().find(|part| part.part == Part::Disk) else { return Vec::new() };
    let first = |verb: &str| {
        let experiment = disk.record.experiments.iter().find(|experiment| experiment.name.starts_with(verb))?;
        Some((experiment, experiment.arms.first()?))
    };
    let (Some((experiment, decrypt)), Some((_, encrypt))) = (first("decrypt"), first("encrypt")) else {
        return Vec::new();
    };
    let [reads, writes] = [decrypt, encrypt].map(|arm| arm.rate.estimate.max(f64::MIN_POSITIVE));
    let text = format!(
        "an encrypted disk ({}): a core decrypts {:.0} MB/s, so 1 GB/s from the disk takes {:.2} cores",
        decrypt.name,
        reads / 1e6,
        1e9 / reads
    );
    let of_bytes = Advice { text, evidence: experiment.name.clone() };
    let of_transactions = parts.iter().filter(|part| part.part.is_of_transactions()).filter_map(|part| {
        let (experiment, clear) = clear_server(part)?;
        let seconds = clear.read_bytes.estimate / reads + clear.written_bytes.estimate / writes;
        let text = format!(
            "an encrypted disk, with {}: a transaction reads and writes {:.1} KiB, whose encryption takes {:.1} µs of a \
             core, where the server takes {:.0} µs",
            situation(part.part),
            (clear.read_bytes.estimate + clear.written_bytes.estimate) / 1024.0,
            seconds * 1e6,
            clear.server_cpu_seconds.estimate * 1e6
        );
        Some(Advice { text, evidence: experiment.name.clone() })
    });
    std::iter::once(of_bytes).chain(of_transactions).collect()
}

/// What a transaction needs of a server without encryption.
fn clear_server(part: &PartRecord) -> Option<(&ExperimentRecord, &OperationsRecord)> {
    let experiment = part.record.experiments.iter().find(|experiment| experiment.name.ends_with(AT_REST))?;
    let clear = experiment.arm(ServerArm::CLEAR.as_str())?;
    Some((experiment, clear.operations.as_ref()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Operations,
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
                "tables, with data in memory: no difference seen, at most 1.0 % of the throughput: no reason not to encrypt"
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
        assert_eq!(
            backup(100.0),
            ["backup: encrypted tables, 2.00 s instead of 1.00 s: no difference seen, at most 1.0 %"]
        );
    }

    #[test]
    fn connections_and_disks_have_sentences_of_their_own() {
        let name = "connections, one after the other, loopback";
        assert!(texts(&[part(Part::Connections, name, [(PLAIN, 4000.0), (TUNNEL, 2000.0)])]).is_empty());
        let said = texts(&[part(Part::Connections, name, [(PLAIN, 4000.0), ("TLS 1.3 ECDSA", 500.0)])]);
        assert_eq!(said, ["a new connection over TLS takes 2.00 ms instead of 0.250 ms: keep connections open"]);
        let mut disk = part(Part::Disk, "decrypt 4096-byte sectors", [("aes-xts", 2e9), ("other", 1e9)]);
        let encrypt = part(Part::Disk, "encrypt 4096-byte sectors", [("aes-xts", 1e9), ("other", 1e9)]);
        disk.record.experiments.extend(encrypt.record.experiments);
        let of_bytes =
            "an encrypted disk (aes-xts): a core decrypts 2000 MB/s, so 1 GB/s from the disk takes 0.50 cores";
        assert_eq!(texts(std::slice::from_ref(&disk)), [of_bytes]);
        let mut transactions = part(Part::InMemory, "x, encrypted at rest", [("clear", 1000.0), ("tde", 1000.0)]);
        let run = Operations {
            server_cpu_seconds: 0.1,
            read_bytes: 100 * 10_240,
            written_bytes: 100 * 20_480,
            latencies: vec![(1_000_000, 100)],
            by_client: vec![100],
            ..Operations::default()
        };
        transactions.record.experiments[0].arms[0].operations =
            OperationsRecord::from_runs(std::iter::once((100, &run)));
        assert_eq!(
            texts(&[transactions, disk])[2],
            "an encrypted disk, with data in memory: a transaction reads and writes 30.0 KiB, whose encryption takes 25.6 \
             µs of a core, where the server takes 1000 µs"
        );
    }
}
