//! Measurements: a human-readable table, JSON for scripts.

mod experiment;
pub(crate) mod figures;
pub(crate) mod html;
pub(crate) mod markdown;
mod sysbench;
mod tables;

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use ::bench::{Environment, PeerVerdicts, Program, Record, Sample, SamplesHead, Subject};

use crate::labels::second;
use crate::text::{count, visible};
use crate::{Error, Message, json};
use files::quantity::size;

pub(crate) use experiment::{PREDICTIONS, difference, display, experiment, figure, percent, prediction_rows, scaled};
pub use html::write_bench_html;
pub use markdown::write_bench_markdown;
use sysbench::sysbench_tables;

/// Arms that have room beside each other in a terminal, in the rows of sysbench.
const SYSBENCH_ARMS: usize = 4;

/// How to read the figures of an experiment, in paragraphs.
pub(crate) const READING: [&str; 2] = [
    "Arms are what is compared. They run in turns, round by round, so that a disturbance of the machine meets all of them. \
     A figure of an arm is the median over its rounds; a ratio is taken within each round.",
    "In 95 of 100 cases the truth is within the interval. If the interval of a ratio includes 1, no difference was seen, \
     and there is at most one as large as the interval or as two equal arms show. Fewer than six rounds have no interval.",
];

/// Hint that a measured disk holds random data now.
#[must_use]
pub fn bench_disk_hint(disk: &Path) -> Message {
    Message::hint(format!("{} holds random data now; overwrite it before it is used", disk.display()))
}

/// How long a measurement takes at least and at most.
#[must_use]
pub fn bench_duration([least, most]: [Duration; 2]) -> Message {
    let [least, most] = [least, most].map(|time| time.as_secs().div_ceil(60).max(1));
    let minutes = if least == most { count(most, "minute") } else { format!("{least} to {most} minutes") };
    Message::info(format!("this takes about {minutes}; Ctrl-C ends it and reports the rounds completed until then"))
}

/// Writes the JSON for scripts, schema `sealant.bench/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_bench_json(record: &Record, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(record, out)
}

/// Writes every sample as a line of JSON; the first line is the environment.
///
/// # Errors
/// [`Error::Write`].
pub fn write_bench_samples(environment: &Environment, samples: &[Sample], out: &mut dyn Write) -> Result<(), Error> {
    json::line(&SamplesHead { environment: environment.clone() }, out)?;
    samples.iter().try_for_each(|sample| json::line(sample, out))
}

/// Writes the table: the machine, the experiments, and the verdicts of other programs.
///
/// # Errors
/// [`Error::Write`].
pub fn write_bench_table(record: &Record, out: &mut dyn Write) -> Result<(), Error> {
    head(record, out)?;
    for one in &record.experiments {
        writeln!(out)?;
        experiment(one, out)?;
    }
    if !record.opinions.is_empty() {
        writeln!(out, "\nVerdicts of other programs on these files, which `sealant verify` calls sound:")?;
    }
    for one in &record.opinions {
        opinion(one, out)?;
    }
    if !record.notes.is_empty() {
        writeln!(out)?;
    }
    notes(&record.notes, "", out)
}

/// Like [`write_bench_table`], with the transactions also in the rows of sysbench's own report.
///
/// # Errors
/// [`Error::Write`].
pub fn write_bench_sysbench_table(record: &Record, out: &mut dyn Write) -> Result<(), Error> {
    write_bench_table(record, out)?;
    for one in &record.experiments {
        for table in sysbench_tables(one, SYSBENCH_ARMS) {
            writeln!(out, "\n{}", visible(&one.name))?;
            table.text(out)?;
        }
    }
    Ok(())
}

/// The machine, the measured files, and the programs that were used.
fn head(record: &Record, out: &mut dyn Write) -> Result<(), Error> {
    environment(&record.environment, out)?;
    subject(&record.subject, out)?;
    programs(record, out)
}

pub(crate) fn environment(here: &Environment, out: &mut dyn Write) -> Result<(), Error> {
    let build = if here.optimised { "" } else { ", without optimisation" };
    let time = second(here.time);
    writeln!(out, "sealant {}{build}, {}, {time}", here.version, visible(&here.compiler))?;
    let cpu = visible(here.cpu.as_deref().unwrap_or("unknown processor"));
    let memory = here.memory_bytes.map(|bytes| format!(", {} memory", size(bytes))).unwrap_or_default();
    let machine = match (here.emulated, here.virtual_machine) {
        (true, _) => ", emulated",
        (false, true) => ", virtual machine",
        (false, false) => "",
    };
    writeln!(out, "{cpu}, {}{memory}{machine}", count(here.cores, "core"))?;
    let kernel = visible(here.kernel.as_deref().unwrap_or("unknown"));
    let file_system = visible(here.file_system.as_deref().unwrap_or("unknown"));
    let load = here.load.map(|load| format!(", load {load:.1} before")).unwrap_or_default();
    writeln!(out, "Linux {kernel}, {file_system}, {}{load}", here.cpu_flags.join(" "))?;
    Ok(())
}

fn subject(subject: &Subject, out: &mut dyn Write) -> Result<(), Error> {
    if subject.files == 0 {
        return Ok(());
    }
    let parts = [(subject.opened_bytes, "encrypted and opened"), (subject.clear_bytes, "clear")];
    let parts: Vec<String> =
        parts.iter().filter(|(bytes, _)| *bytes > 0).map(|(bytes, what)| format!("{} {what}", size(*bytes))).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    Ok(writeln!(out, "{}, {}{parts}", count(subject.files, "file"), size(subject.bytes))?)
}

pub(crate) fn programs(record: &Record, out: &mut dyn Write) -> Result<(), Error> {
    if !record.programs.is_empty() {
        writeln!(out, "with {}", program_names(record).join(", "))?;
    }
    if !record.missing.is_empty() {
        writeln!(out, "not on this machine: {}", visible(&record.missing.join(", ")))?;
    }
    Ok(())
}

/// Programs with their versions.
fn program_names(record: &Record) -> Vec<String> {
    let name = |program: &Program| {
        let version = program.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        visible(&format!("{}{version}", program.name)).to_string()
    };
    record.programs.iter().map(name).collect()
}

fn opinion(opinion: &PeerVerdicts, out: &mut dyn Write) -> Result<(), Error> {
    let PeerVerdicts { peer, of, files, sound, invalid, crashed, .. } = opinion;
    let verdict = match (invalid, crashed) {
        (0, 0) => format!("calls all {files} {of} files sound"),
        (invalid, 0) => format!("calls {invalid} of {files} {of} files invalid"),
        (0, crashed) => format!("crashes on {crashed} of {files} {of} files"),
        (invalid, crashed) => format!("calls {invalid} of {files} {of} files invalid and crashes on {crashed}"),
    };
    let sound = if *sound > 0 && sound < files { format!(", {sound} sound") } else { String::new() };
    writeln!(out, "  {} {verdict}{sound}", visible(peer))?;
    if let (Some(file), Some(words)) = (&opinion.example, &opinion.words) {
        writeln!(out, "    {}: {}", visible(&file.display().to_string()), visible(words))?;
    }
    Ok(())
}

pub(crate) fn notes(notes: &[String], indent: &str, out: &mut dyn Write) -> Result<(), Error> {
    for note in notes {
        writeln!(out, "{indent}note: {}", visible(note))?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::{Path, PathBuf};

    use ::bench::{
        ArmRecord, Cause, CauseRecord, ComparedBy, DetailRecord, Difference, ExperimentRecord, FigureRatios, Interval,
        LatencyRecord, OperationsRecord, PredictionRecord, RatioRecord, SCHEMA, Stop, Unit, predict::Range,
    };

    use super::experiment::conclusion;
    use super::*;
    use crate::text::collect;

    pub(crate) fn record() -> Record {
        let rate = |estimate: f64| Interval { estimate, low: estimate * 0.9, high: estimate * 1.1 };
        let arm = |name: &str, mb: f64| ArmRecord {
            name: name.to_owned(),
            amount: 1 << 30,
            rate: rate(mb * 1e6),
            seconds: rate(1000.0 / mb),
            data_bytes: None,
            detail: None,
            operations: None,
        };
        let mut environment = Environment::now(Path::new("/"));
        environment.cpu = Some("Example\u{1b}[1m 9000".to_owned());
        Record {
            schema: SCHEMA.into(),
            environment,
            subject: Subject { files: 2, bytes: 2 << 30, opened_bytes: 1 << 30, clear_bytes: 1 << 30, unsound: 0 },
            programs: vec![Program { name: "socat".to_owned(), version: Some("1.7.4.4".to_owned()) }],
            missing: vec!["tar-age-socat (needs age)".to_owned()],
            experiments: vec![ExperimentRecord {
                name: "warm".to_owned(),
                unit: Unit::Bytes,
                block_bytes: None,
                rounds: 5,
                stopped: Stop::Narrow,
                compared_by: ComparedBy::Rate,
                resolution_percent: None,
                arms: vec![arm("sealant, 1 thread", 2000.0), arm("read only", 8000.0)],
                ratios: vec![RatioRecord {
                    of: "sealant, 1 thread".to_owned(),
                    to: "read only".to_owned(),
                    ratio: rate(0.25),
                    difference: Difference::Seen,
                    figures: FigureRatios::default(),
                }],
                predictions: vec![PredictionRecord {
                    of: "sealant, 1 thread".to_owned(),
                    to: "read only".to_owned(),
                    predicted_percent: Range { low: 1.0, high: 4.0 },
                    measured_percent: Interval { estimate: 75.0, low: 72.5, high: 77.5 },
                    error_points: 71.0,
                }],
                causes: vec![CauseRecord {
                    arm: "read only".to_owned(),
                    cause: Cause::Aes,
                    calculated_seconds: None,
                    measured_seconds: None,
                    text: "read only, AES: no time is known".to_owned(),
                }],
                notes: vec!["a note".to_owned()],
            }],
            opinions: vec![PeerVerdicts {
                peer: "innochecksum 9.7.4".to_owned(),
                of: "encrypted".into(),
                files: 3,
                sound: 1,
                invalid: 2,
                crashed: 0,
                example: Some(PathBuf::from("t.ibd")),
                words: Some("page 1 invalid".to_owned()),
            }],
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_table_has_rates_ratios_intervals_and_opinions() {
        let table = collect(|out| write_bench_table(&record(), out)).unwrap();
        let normal: Vec<String> =
            table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for wanted in [
            "2 files, 2.0 GiB: 1.0 GiB encrypted and opened, 1.0 GiB clear",
            "with socat 1.7.4.4",
            "not on this machine: tar-age-socat (needs age)",
            "warm MB/s 95 % SECONDS 5 rounds, intervals narrow",
            "sealant, 1 thread 2000 1800 to 2200 0.500",
            "sealant, 1 thread / read only 0.250x 0.225 to 0.275",
            "% less throughput predicted measured 95 % error",
            "sealant, 1 thread / read only 1.0 to 4.0 75.0 72.5 to 77.5 +71.0 points",
            "innochecksum 9.7.4 calls 2 of 3 encrypted files invalid, 1 sound",
            "t.ibd: page 1 invalid",
        ] {
            assert!(normal.iter().any(|line| line == wanted), "{wanted:?} is not in\n{table}");
        }
        assert!(!table.contains('\u{1b}'));
    }

    #[test]
    fn connections_have_units() {
        let mut record = record();
        record.experiments[0].unit = Unit::Connections;
        record.experiments[0].arms.truncate(1);
        let rate = &mut record.experiments[0].arms[0].rate;
        *rate = Interval { estimate: 36.0, low: 9.5, high: 1250.0 };
        let table = collect(|out| write_bench_table(&record, out)).unwrap();
        let normal: Vec<String> =
            table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert!(normal.iter().any(|line| line.starts_with("warm conn/s 95 % MS EACH")), "{table}");
        assert!(normal.iter().any(|line| line == "sealant, 1 thread 36.0 9.50 to 1250 27.778"), "{table}");
    }

    #[test]
    fn blocks_have_times_and_operations_have_latencies() {
        let mut record = record();
        let of_ms = |ms: f64| Interval { estimate: ms / 1e3, low: ms / 1e3, high: ms / 1e3 };
        record.experiments[0].block_bytes = Some(4096);
        record.experiments[0].arms[0].detail = Some(DetailRecord {
            p50_seconds: of_ms(0.25),
            p99_seconds: of_ms(4.0),
            p999_seconds: of_ms(20.5),
            cores: Interval { estimate: 1.5, low: 1.0, high: 2.0 },
        });
        let table = collect(|out| write_bench_table(&record, out)).unwrap();
        let normal: Vec<String> =
            table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for wanted in [
            "warm MB/s 95 % NS EACH 5 rounds, intervals narrow",
            "sealant, 1 thread 2000 1800 to 2200 2048.000",
            "latency in ms, busy cores p50 p99 p99.9 cores",
            "sealant, 1 thread 0.250 4.000 20.500 1.50",
        ] {
            assert!(normal.iter().any(|line| line == wanted), "{wanted:?} is not in\n{table}");
        }
        let page = collect(|out| write_bench_html("Title", &record, out)).unwrap();
        assert!(page.contains("<td>sealant, 1 thread</td><td data-heading=\"p50\">0.250</td>"), "{page}");
        assert!(page.contains("<td data-heading=\"p99.9\">20.500</td><td data-heading=\"cores\">1.50</td>"), "{page}");
    }

    #[test]
    fn operations_have_costs_and_ratios_say_what_they_show() {
        let mut record = record();
        let at = |estimate: f64| Interval { estimate, low: estimate, high: estimate };
        let latency = LatencyRecord {
            min_seconds: 0.001,
            mean_seconds: 0.002,
            p50_seconds: 0.002,
            p95_seconds: 0.004,
            p99_seconds: 0.005,
            p999_seconds: 0.006,
            max_seconds: 0.25,
        };
        record.experiments[0].arms[0].operations = Some(OperationsRecord {
            statements: 20,
            restarts: 3,
            latency,
            unfairness_percent: 1.25,
            client_cpu_seconds: at(50e-6),
            server_cpu_seconds: at(900e-6),
            server_kernel_seconds: at(120e-6),
            read_bytes: at(0.0),
            written_bytes: at(16384.0),
            fsyncs: at(2.5),
            work: None,
        });
        record.experiments[0].resolution_percent = Some(1.5);
        for (difference, said) in [
            (Difference::None { at_most_percent: 2.04 }, "no difference seen, at most 2.0 %"),
            (
                Difference::WithinResolution { resolution_percent: 1.5, at_most_percent: 2.5 },
                "no more than two equal arms can differ: 1.5 %",
            ),
            (Difference::TooFewRounds, "too few rounds for an interval"),
        ] {
            record.experiments[0].ratios[0].difference = difference;
            let table = collect(|out| write_bench_table(&record, out)).unwrap();
            let page = collect(|out| write_bench_html("Title", &record, out)).unwrap();
            assert!(table.contains(said) && page.contains(said), "{said}\n{table}");
            let normal: Vec<String> =
                table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            for wanted in [
                "sealant, 1 thread 1.000 2.000 4.000 250.000 1.2 3",
                "sealant, 1 thread 50.0 900 120 0 16.0 2.50",
                "two equal arms can differ by 1.5 % here",
            ] {
                assert!(normal.iter().any(|line| line == wanted), "{wanted:?} is not in\n{table}");
            }
            let rows = collect(|out| write_bench_sysbench_table(&record, out)).unwrap();
            let rows: Vec<String> =
                rows.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            let in_rows = "in the rows of sysbench sealant, 1 thread";
            for wanted in ["warm", in_rows, "queries, a run 4", "latency 95th percentile, ms 4.00"] {
                assert!(rows.iter().any(|line| line == wanted), "{wanted:?} is not in {rows:?}");
            }
            let markdown = collect(|out| write_bench_markdown("Title", &record, out)).unwrap();
            assert!(markdown.contains("\n| latency 95th percentile, ms | 4.00 |\n"), "{markdown}");
            let row = "<td>latency 95th percentile, ms</td><td data-heading=\"sealant, 1 thread\">4.00</td>";
            assert!(page.contains(row), "{page}");
            for wanted in ["client µs\">50.0<", "server µs\">900<", "KiB out\">16.0<", "fsyncs\">2.50<", "p95\">4.000<"]
            {
                assert!(page.contains(wanted), "{wanted:?} is not in\n{page}");
            }
        }
    }

    #[test]
    fn a_conclusion_has_the_largest_differences() {
        let concluded = |estimates: &[f64], difference| {
            let mut experiment = record().experiments.remove(0);
            let ratio = |estimate: &f64| RatioRecord {
                of: "a".to_owned(),
                to: "b".to_owned(),
                ratio: Interval { estimate: *estimate, low: estimate - 0.01, high: estimate + 0.02 },
                difference,
                figures: FigureRatios::default(),
            };
            experiment.ratios = estimates.iter().map(ratio).collect();
            conclusion(&experiment)
        };
        assert_eq!(concluded(&[0.9], Difference::Seen), "a is 10.0 % (8.0 to 11.0) slower than b");
        assert_eq!(
            concluded(&[1.1, 4.0], Difference::Seen),
            "a is 4.00 times as fast as b (3.99 to 4.02); a is 10.0 % (9.0 to 12.0) faster than b"
        );
        let equal = Difference::None { at_most_percent: 2.0 };
        assert_eq!(concluded(&[0.99], equal), "a and b: no difference seen, at most 2.0 %");
        assert!(concluded(&[0.9; 5], Difference::Seen).ends_with("; 2 more below"));
        assert_eq!(concluded(&[], Difference::Seen), "read only is the fastest, with 8000 MB/s");
    }

    #[test]
    fn the_document_and_the_samples_are_json() {
        let record = record();
        let text = collect(|out| write_bench_json(&record, out)).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["schema"], "sealant.bench/1");
        assert_eq!(document["experiments"][0]["ratios"][0]["ratio"]["estimate"], 0.25);
        let sample = Sample {
            part: None,
            experiment: "warm".to_owned(),
            arm: "read only".to_owned(),
            round: 0,
            position: 1,
            unit: Unit::Bytes,
            amount: 1,
            seconds: 0.5,
            detail: None,
            operations: None,
        };
        let lines = collect(|out| write_bench_samples(&record.environment, &[sample], out)).unwrap();
        let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines[0]["environment"]["cores"].is_u64());
        assert_eq!(lines[1]["seconds"], 0.5);
    }
}
