//! Where the processor time of a server goes in each arm: what its counters and the costs of single operations give,
//! and what `perf` saw.

use files::quantity::short_seconds;

use crate::{
    ArmRecord, Cause, CauseRecord, ExperimentRecord, OperationsRecord, ServerArm, WireArm, WorkRecord,
    perf::{Code, Profile},
    predict::{self, Cost, Prediction, Range},
    suite::{
        Collected,
        oltp::{AT_REST, ON_THE_WIRE, predicted::activity},
    },
};

/// Layers of `predict` in the arms that encrypt.
const OF_TABLES: &[&str] = &[predict::TABLES];
const OF_EVERYTHING: &[&str] = &[predict::TABLES, predict::REDO, predict::BINARY_LOGS];
const OF_TLS: &[&str] = &[predict::CONNECTIONS];
/// The servers' checksums are of other libraries, and MySQL calculates two for a page.
const OF_CHECKSUMS: Range = Range { low: 1.0, high: 2.0 };

/// An arm, and where its server's time goes.
pub(super) struct Explained {
    setting: Setting,
    profile: Option<Profile>,
}

/// What an arm changes.
#[derive(Clone, Copy)]
enum Setting {
    Server(ServerArm),
    Wire(WireArm),
}

/// How often something is done in a transaction, and what each takes.
struct Factor {
    number: Range,
    what: &'static str,
    each: Option<Range>,
}

/// An arm with its figures.
struct Figures<'f> {
    arm: &'f str,
    operations: &'f OperationsRecord,
    work: WorkRecord,
    profile: Option<Profile>,
    prediction: Option<&'f Prediction>,
}

impl Explained {
    pub(super) const fn at_rest(arm: ServerArm, profile: Option<Profile>) -> Self {
        Self { setting: Setting::Server(arm), profile }
    }

    pub(super) const fn on_the_wire(arm: WireArm, profile: Option<Profile>) -> Self {
        Self { setting: Setting::Wire(arm), profile }
    }

    const fn name(&self) -> &'static str {
        match self.setting {
            Setting::Server(arm) => arm.as_str(),
            Setting::Wire(arm) => arm.as_str(),
        }
    }

    const fn experiment(&self) -> &'static str {
        match self.setting {
            Setting::Server(_) => AT_REST,
            Setting::Wire(_) => ON_THE_WIRE,
        }
    }
}

/// Adds to the experiments where the time of their arms goes.
pub(super) fn explain(collected: &mut Collected, explained: &[Explained], prediction: Option<&Prediction>) {
    for experiment in &mut collected.experiments {
        let causes = explained.iter().filter(|one| experiment.name.ends_with(one.experiment()));
        let causes = causes.flat_map(|one| causes_of(experiment, one, prediction));
        experiment.causes = causes.collect();
    }
}

fn causes_of(
    experiment: &ExperimentRecord,
    explained: &Explained,
    prediction: Option<&Prediction>,
) -> Vec<CauseRecord> {
    let arm = experiment.arm(explained.name());
    let Some(operations) = arm.and_then(|arm| arm.operations.as_ref()) else { return Vec::new() };
    let Some(work) = operations.work else { return Vec::new() };
    let figures = Figures { arm: explained.name(), operations, work, profile: explained.profile, prediction };
    let mut causes = Vec::new();
    match explained.setting {
        Setting::Server(arm) => {
            causes.extend(figures.encryption(arm));
            causes.push(figures.checksums());
            if arm.tables.compressed {
                causes.push(figures.compression(experiment.arm(ServerArm::CLEAR.as_str())));
            }
        }
        Setting::Wire(WireArm::Tls(_)) => causes.push(figures.tls_records()),
        Setting::Wire(WireArm::Tunnel) => causes.push(figures.elsewhere(
            Cause::TlsRecords,
            "TLS records are encrypted by both ends of the tunnel, whose time is not the server's",
        )),
        Setting::Wire(WireArm::Socket | WireArm::Tcp) => {}
    }
    causes.push(figures.context_switches());
    causes
}

impl Figures<'_> {
    /// Encryption at rest; `None` if the arm has none.
    fn encryption(&self, arm: ServerArm) -> Option<CauseRecord> {
        if arm.encrypts_volume() {
            let text = "the kernel encrypts in threads of its own, whose time is not the server's";
            return Some(self.elsewhere(Cause::Aes, text));
        }
        let layers = match arm {
            arm if arm.everything => OF_EVERYTHING,
            arm if arm.tables.encrypted => OF_TABLES,
            _ => return None,
        };
        let mut counter = self.prediction.cloned();
        if let Some(prediction) = counter.as_mut().filter(|_| arm.counter_mode) {
            let aes = &mut prediction.calibration.aes128;
            (aes.page_decrypt, aes.page_encrypt) = (aes.stream, aes.stream);
        }
        let factors = self.factors(counter.as_ref(), layers);
        Some(self.cause(Cause::Aes, "AES", &factors, &[Code::Aes, Code::Library]))
    }

    fn tls_records(&self) -> CauseRecord {
        let factors = self.factors(self.prediction, OF_TLS);
        self.cause(Cause::TlsRecords, "TLS records", &factors, &[Code::Aes, Code::Library])
    }

    fn checksums(&self) -> CauseRecord {
        let page = self.prediction.and_then(|prediction| {
            #[allow(clippy::cast_precision_loss, reason = "a page has at most 64 KiB")]
            let bytes = prediction.protection.page_bytes as f64;
            Some(prediction.calibration.page_checksum? * bytes)
        });
        let each = page.map(|seconds| OF_CHECKSUMS.map(|times| times * seconds));
        let number = Range::exactly(self.work.pages_read.estimate + self.work.pages_written.estimate);
        let factors = [Factor { number, what: "pages", each }];
        self.cause(Cause::Checksums, "checksums", &factors, &[Code::Checksum])
    }

    /// Compression has no calibrated cost; without `perf` the difference to uncompressed tables shows it.
    fn compression(&self, clear: Option<&ArmRecord>) -> CauseRecord {
        let pages = [(self.work.pages_written, "pages written"), (self.work.pages_read, "pages read")];
        let factors = pages.map(|(number, what)| Factor { number: Range::exactly(number.estimate), what, each: None });
        let mut cause = self.cause(Cause::Compression, "compression", &factors, &[Code::Compression]);
        let clear = clear.and_then(|clear| Some(clear.operations.as_ref()?.server_cpu_seconds.estimate));
        if let Some(clear) = clear {
            let more = self.operations.server_cpu_seconds.estimate - clear;
            let (word, more) = if more < 0.0 { ("less", -more) } else { ("more", more) };
            let clear = ServerArm::CLEAR.as_str();
            cause.text.push_str(&format!("; that is {} {word} than the server `{clear}` takes", short_seconds(more)));
        }
        cause
    }

    fn context_switches(&self) -> CauseRecord {
        // The calibrated cost is that of threads that also read and write.
        let each = self.prediction.and_then(|prediction| prediction.calibration.context_switch);
        let each = each.map(|high| Range { low: 0.0, high });
        let switches =
            [(self.work.voluntary_switches, "voluntary ones"), (self.work.involuntary_switches, "involuntary ones")];
        let factors = switches.map(|(number, what)| Factor { number: Range::exactly(number.estimate), what, each });
        self.cause(Cause::ContextSwitches, "context switches", &factors, &[Code::Scheduler])
    }

    /// The operations of layers in a transaction.
    fn factors(&self, prediction: Option<&Prediction>, layers: &[&str]) -> Vec<Factor> {
        let costs = prediction.map(|prediction| prediction.operations_of(&activity(&self.work), layers));
        let of_server = costs.unwrap_or_default().into_iter().filter(|cost| !cost.is_of_client);
        let factor =
            |cost: Cost| Factor { number: cost.per_second, what: cost.operation, each: Some(cost.seconds_each) };
        of_server.map(factor).filter(|factor| factor.number.high > 0.0).collect()
    }

    fn cause(&self, cause: Cause, title: &str, factors: &[Factor], codes: &[Code]) -> CauseRecord {
        let server = self.operations.server_cpu_seconds.estimate;
        let sum = |sum: Range, factor: &Factor| Some(sum.plus(factor.each?.times(factor.number)));
        let is_known = self.prediction.is_some();
        let calculated = factors.iter().try_fold(Range::default(), sum).filter(|_| is_known);
        let shares =
            self.profile.map(|profile| codes.iter().filter_map(|code| profile.share(*code)).collect::<Vec<_>>());
        let is_unnamed = shares.as_ref().is_some_and(Vec::is_empty);
        let measured = shares.filter(|_| !is_unnamed).map(|shares| shares.iter().sum::<f64>() * server);
        let list: Vec<String> = factors.iter().map(Factor::text).collect();
        let counted = if list.is_empty() { String::new() } else { format!("{}; ", list.join(", ")) };
        let calculated_text = calculated.map(|range| format!("calculated {}", times(range)));
        let unseen = is_unnamed.then(|| "perf cannot tell, as the server's program has no symbols".to_owned());
        let measured_text = measured.map(|seconds| format!("perf saw {}", short_seconds(seconds))).or(unseen);
        let figures: Vec<String> = calculated_text.into_iter().chain(measured_text).collect();
        let figures = if figures.is_empty() { "no time is known".to_owned() } else { figures.join(", ") };
        let text = format!(
            "{}, {title}: {counted}{figures}, of the server's {} a transaction",
            self.arm,
            short_seconds(server)
        );
        CauseRecord {
            arm: self.arm.to_owned(),
            cause,
            calculated_seconds: calculated,
            measured_seconds: measured,
            text,
        }
    }

    /// A cause whose time is not that of the server.
    fn elsewhere(&self, cause: Cause, text: &str) -> CauseRecord {
        let text = format!("{}: {text}", self.arm);
        CauseRecord { arm: self.arm.to_owned(), cause, calculated_seconds: None, measured_seconds: None, text }
    }
}

impl Factor {
    fn text(&self) -> String {
        let each = self.each.map(|each| format!(" × {}", times(each)));
        let number = |number: f64| format!("{number:.0$}", if number < 0.1 { 4 } else { 2 });
        let Range { low, high } = self.number;
        let number = if low < high { format!("{} to {}", number(low), number(high)) } else { number(high) };
        format!("{number} {}{}", self.what, each.unwrap_or_default())
    }
}

fn times(seconds: Range) -> String {
    let [low, high] = [seconds.low, seconds.high].map(short_seconds);
    if seconds.low > 0.0 { format!("{low} to {high}") } else { format!("at most {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_shows_how_often_and_how_long() {
        let text = |number: f64, low, high| {
            let number = Range::exactly(number);
            Factor { number, what: "pages read", each: Some(Range { low, high }) }.text()
        };
        assert_eq!(text(5.0, 3e-6, 6e-6), "5.00 pages read × 3.00 µs to 6.00 µs");
        assert_eq!(text(0.0123, 0.0, 6e-6), "0.0123 pages read × at most 6.00 µs");
        assert_eq!(Factor { number: Range::exactly(1.0), what: "pages", each: None }.text(), "1.00 pages");
        let number = Range { low: 10.0, high: 20.5 };
        assert_eq!(Factor { number, what: "redo records", each: None }.text(), "10.00 to 20.50 redo records");
    }
}
