//! What encryption costs: a table, JSON, Markdown; and two reports side by side.

mod compare;
mod html;
mod predict;

use std::io::Write;

use ::bench::cost::{Change, CostOutcome, CostRecord, DataRecord, DataShape, Layer, Part, PartRecord, Unmeasured};
use ::bench::{Interval, Record};
use files::quantity::size;

use crate::bench::figures::{Cell, Figures};
use crate::bench::markdown::{self, heading, lines};
use crate::bench::{PREDICTIONS, difference, environment, experiment, figure, notes, prediction_rows, programs};
use crate::json;
use crate::labels::second;
use crate::markdown::{code, plain};
use crate::text::{collect, columns, pad, visible, wrap};
use crate::{Error, Message};

pub use self::compare::{write_cost_comparison_json, write_cost_comparison_table};
pub use self::html::write_cost_html;
pub use self::predict::{prediction_messages, write_prediction_json, write_prediction_table};

/// Width of a terminal.
const WIDTH: usize = 80;

/// Writes the JSON for scripts, schema `sealant.cost/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_cost_json(record: &CostRecord, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(record, out)
}

/// Parts that were not measured again, and parts that failed.
#[must_use]
pub fn cost_messages(outcome: &CostOutcome) -> Vec<Message> {
    let parts: Vec<&str> = outcome.resumed.iter().map(|part| part.as_str()).collect();
    let resumed = (!parts.is_empty())
        .then(|| Message::info(format!("measured by an earlier run that was interrupted: {}", parts.join(", "))));
    let failed = outcome.failed.iter().flat_map(|(part, error)| {
        let message = Message::error(format!("{part}: {error}"));
        std::iter::once(message).chain(error.hint().map(|hint| Message::hint(hint.into_owned())))
    });
    let again = (!outcome.failed.is_empty())
        .then(|| Message::hint("the other parts are kept: the same command measures only what failed"));
    resumed.into_iter().chain(failed).chain(again).collect()
}

/// Writes the table: what each layer costs, what to choose, then all figures.
///
/// # Errors
/// [`Error::Write`].
pub fn write_cost_table(record: &CostRecord, out: &mut dyn Write) -> Result<(), Error> {
    environment(&record.environment, out)?;
    writeln!(out, "server {}", visible(&record.server))?;
    data(record).iter().flat_map(|line| wrap(line, WIDTH)).try_for_each(|line| writeln!(out, "{line}"))?;
    for group in groups(record) {
        writeln!(out, "\n{}", visible(&group.title))?;
        group_table(&group, out)?;
    }
    predictions_table(record, out)?;
    unmeasured(record, out)?;
    if !record.advice.is_empty() {
        writeln!(out, "\nWhat to choose")?;
    }
    for advice in &record.advice {
        for (line, text) in wrap(&visible(&advice.text), WIDTH - 4).into_iter().enumerate() {
            writeln!(out, "  {} {text}", if line == 0 { '-' } else { ' ' })?;
        }
    }
    for PartRecord { part, record } in &record.parts {
        writeln!(out, "\nAll figures: {part}")?;
        programs(record, out)?;
        for one in &record.experiments {
            writeln!(out)?;
            experiment(one, out)?;
        }
        notes(&record.notes, "", out)?;
    }
    Ok(writeln!(out, "\n{}", samples(record))?)
}

/// What the figures can be calculated from again.
pub(super) fn samples(record: &CostRecord) -> String {
    match &record.samples_file {
        Some(path) => format!("every sample is in {}, for `sealant bench judge`", visible(&path.display().to_string())),
        None => "samples were not kept; --raw FILE keeps them".to_owned(),
    }
}

/// The data that was measured on, and the data that it was made like.
pub(super) fn data(record: &CostRecord) -> Vec<String> {
    let Some(DataRecord { tables, rows, row_bytes, bytes, like }) = &record.data else { return Vec::new() };
    let mut lines = vec![format!(
        "data: tables of {rows} rows of about {row_bytes} bytes, {tables} of them, together {}",
        size(*bytes)
    )];
    if let Some(like) = like {
        lines.push(likeness(like, *bytes));
        lines.push(pool(like));
    }
    lines.into_iter().map(|line| visible(&line).into_owned()).collect()
}

fn likeness(like: &DataShape, bytes: u64) -> String {
    let DataShape { endpoint, server, tables, data_bytes, index_bytes, large_tables, .. } = like;
    let all = data_bytes.saturating_add(*index_bytes);
    let part = all / bytes.max(1);
    let scaled = if part > 1 { format!("; scaled down to 1/{part} of it") } else { String::new() };
    format!(
        "made like {endpoint} ({server}), by its statistics: {tables} tables of {} with indexes, rows of {} bytes on \
         average, most of them in {large_tables} of the tables{scaled}",
        size(all),
        like.row_bytes()
    )
}

/// Which part the user's server resembles.
fn pool(like: &DataShape) -> String {
    let all = like.data_bytes.saturating_add(like.index_bytes);
    let pool = size(like.buffer_pool_bytes);
    match like.buffer_pool_bytes >= all {
        true => format!("its buffer pool of {pool} holds all of that: {} is the part like it", Part::InMemory),
        false => {
            format!("its buffer pool of {pool} is smaller than that: {} is the part like it", Part::LargerThanMemory)
        }
    }
}

const PREDICTED: &str = "Predicted from the counters of the unencrypted server, and measured, % less throughput";
const UNMEASURED: &str = "Not measured";

/// What was predicted in all parts, and what was measured.
pub(super) fn prediction_table(record: &CostRecord) -> Figures {
    Figures::new("arms", PREDICTIONS, predictions(record))
}

fn predictions(record: &CostRecord) -> Vec<(String, [Cell; 3])> {
    let parts = record.parts.iter();
    let experiments = parts.flat_map(|part| part.record.experiments.iter().map(|experiment| (part.part, experiment)));
    let rows = experiments.flat_map(|(part, experiment)| {
        prediction_rows(experiment).map(move |(arms, cells)| (format!("{part}: {arms}"), cells))
    });
    rows.collect()
}

fn predictions_table(record: &CostRecord, out: &mut dyn Write) -> Result<(), Error> {
    let rows = predictions(record);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{PREDICTED}")?;
    for (name, figures) in rows {
        let figures: Vec<String> =
            PREDICTIONS.iter().zip(figures).map(|(heading, figure)| format!("{heading} {figure}")).collect();
        writeln!(out, "  {name}\n    {}", figures.join(", "))?;
    }
    Ok(())
}

fn unmeasured(record: &CostRecord, out: &mut dyn Write) -> Result<(), Error> {
    if !record.unmeasured.is_empty() {
        writeln!(out, "\n{UNMEASURED}")?;
    }
    for Unmeasured { layer, reason, command } in &record.unmeasured {
        let text = format!("{}: {}", visible(layer), visible(reason));
        wrap(&text, WIDTH - 2).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        writeln!(out, "    {}", visible(command))?;
    }
    Ok(())
}

/// Writes everything as Markdown, without charts.
///
/// # Errors
/// [`Error::Write`].
pub fn write_cost_markdown(record: &CostRecord, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "# What encryption costs\n")?;
    lines(&collect(|out| environment(&record.environment, out))?, out)?;
    lines(&format!("server {}", record.server), out)?;
    data(record).iter().try_for_each(|line| lines(line, out))?;
    for group in groups(record) {
        heading(&group.title, 2, out)?;
        group.table().markdown(out)?;
    }
    let predicted = prediction_table(record);
    if !predicted.is_empty() {
        heading(PREDICTED, 2, out)?;
        predicted.markdown(out)?;
    }
    if !record.unmeasured.is_empty() {
        heading(UNMEASURED, 2, out)?;
    }
    for Unmeasured { layer, reason, command } in &record.unmeasured {
        writeln!(out, "- {}: {} ({})", plain(layer), plain(reason), code(command))?;
    }
    if !record.advice.is_empty() {
        heading("What to choose", 2, out)?;
    }
    for advice in &record.advice {
        writeln!(out, "- {} ({})", plain(&advice.text), plain(&advice.evidence))?;
    }
    heading("All figures", 2, out)?;
    lines(&samples(record), out)?;
    record.parts.iter().try_for_each(|part| part_markdown(part, out))?;
    markdown::reading(out)
}

/// All figures of a part.
fn part_markdown(PartRecord { part, record }: &PartRecord, out: &mut dyn Write) -> Result<(), Error> {
    heading(part.title(), 2, out)?;
    lines(&part_head(record)?, out)?;
    record.experiments.iter().try_for_each(|one| markdown::section(one, 3, out))?;
    markdown::notes(&record.notes, 3, out)
}

/// When a part was measured, and with which programs.
pub(super) fn part_head(record: &Record) -> Result<String, Error> {
    let measured = format!("measured {}\n", second(record.environment.time));
    Ok(measured + &collect(|out| programs(record, out))?)
}

/// Layers of one part, with the columns that they have figures for.
pub(super) struct Group<'r> {
    pub(super) title: String,
    pub(super) headings: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
    pub(super) layers: Vec<&'r Layer>,
}

impl Group<'_> {
    pub(super) fn table(&self) -> Figures {
        let rows = self.rows.iter().map(|row| (row.name.clone(), row.figures.clone()));
        Figures::new("layer", self.headings.iter().copied(), rows)
    }
}

/// One layer.
pub(super) struct Row {
    pub(super) name: String,
    /// The throughput, then the further figures; empty where the layer has none.
    pub(super) figures: Vec<Cell>,
}

/// A figure that layers change besides the throughput.
pub(super) struct Figure {
    heading: &'static str,
    /// What it is, as the title of a chart.
    pub(super) title: &'static str,
    /// What to multiply it by for the unit of the heading.
    scale: f64,
    /// The figure of a layer; `None` if it has none.
    pub(super) of: fn(&Layer) -> Option<Change>,
}

/// Whether runs of a part are counted in seconds.
const fn is_long(part: Part) -> bool {
    matches!(part, Part::Copies | Part::Joins)
}

const MIB: f64 = 1.0 / 1_048_576.0;

/// Heading of the column that every layer has.
const THROUGHPUT: &str = "throughput";

const FIGURES: [Figure; 6] = [
    Figure {
        heading: "p95 ms",
        title: "95th percentile of the latency of a transaction",
        scale: 1e3,
        of: |layer| layer.p95_seconds,
    },
    Figure {
        heading: "server CPU µs",
        title: "CPU time of the server for a transaction",
        scale: 1e6,
        of: |layer| layer.server_cpu_seconds,
    },
    Figure {
        heading: "KiB written",
        title: "bytes written for a transaction",
        scale: 1.0 / 1024.0,
        of: |layer| layer.written_bytes,
    },
    Figure { heading: "MiB of data", title: "size of the data directory", scale: MIB, of: |layer| layer.data_bytes },
    Figure {
        heading: "ms each",
        title: "time for each",
        scale: 1e3,
        of: |layer| layer.seconds.filter(|_| !is_long(layer.part)),
    },
    Figure {
        heading: "seconds",
        title: "duration",
        scale: 1.0,
        of: |layer| layer.seconds.filter(|_| is_long(layer.part)),
    },
];

/// The figures that some of these layers have.
pub(super) fn figures(layers: &[&Layer]) -> Vec<&'static Figure> {
    FIGURES.iter().filter(|figure| layers.iter().any(|layer| (figure.of)(layer).is_some())).collect()
}

/// The layers by part, in the order of the parts.
pub(super) fn groups(record: &CostRecord) -> Vec<Group<'_>> {
    let of_part = |part: &PartRecord| {
        let layers: Vec<&Layer> = record.layers.iter().filter(|layer| layer.part == part.part).collect();
        (!layers.is_empty()).then(|| group(part.part, layers))
    };
    record.parts.iter().filter_map(of_part).collect()
}

fn group(part: Part, layers: Vec<&Layer>) -> Group<'_> {
    let columns = figures(&layers);
    let rows = layers.iter().map(|layer| {
        let others = columns.iter().map(|column| (column.of)(layer).map(|of| change(&of, column.scale)));
        let others = others.map(Option::unwrap_or_default);
        let figures = std::iter::once(throughput(layer)).chain(others).collect();
        Row { name: visible(&layer.layer).into_owned(), figures }
    });
    Group {
        title: part.title().to_owned(),
        headings: std::iter::once(THROUGHPUT).chain(columns.iter().map(|column| column.heading)).collect(),
        rows: rows.collect(),
        layers,
    }
}

/// The change of the throughput, its interval, and whether that shows one.
fn throughput(layer: &Layer) -> Cell {
    let Interval { estimate, low, high } = layer.throughput.ratio;
    let [estimate, low, high] = [estimate, low, high].map(|ratio| (ratio - 1.0) * 100.0);
    let cell = Cell::with_interval(format!("{estimate:+.1} %"), format!("{low:+.1} to {high:+.1}"));
    Cell { remark: difference(&layer.throughput), ..cell }
}

/// `1.20 → 1.30`, and the interval of the change.
fn change(change: &Change, scale: f64) -> Cell {
    let figures = format!("{} → {}", figure(change.without * scale), figure(change.with * scale));
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let interval = |ratio: Interval| format!("{:+.1} to {:+.1} %", percent(ratio.low), percent(ratio.high));
    Cell::with_interval(figures, change.ratio.map(interval).unwrap_or_default())
}

/// Writes a line for each layer with its throughput; what that shows and further figures follow on lines of their own.
fn group_table(group: &Group<'_>, out: &mut dyn Write) -> Result<(), Error> {
    let names = group.rows.iter().map(|row| columns(&row.name)).max().unwrap_or(0);
    for row in &group.rows {
        let mut figures = group.headings.iter().zip(&row.figures);
        let (throughput, remark) = figures.next().map(|(_, cell)| cell.clone().without_remark()).unwrap_or_default();
        writeln!(out, "  {}  {throughput}", pad(&row.name, names))?;
        if !remark.is_empty() {
            writeln!(out, "    {remark}")?;
        }
        let others = figures.filter(|(_, cell)| !cell.text.is_empty());
        let others: Vec<String> = others.map(|(heading, cell)| format!("{heading} {cell}")).collect();
        if !others.is_empty() {
            wrap(&others.join(", "), WIDTH - 4).iter().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use ::bench::cost::{Advice, COST_SCHEMA};
    use ::bench::{Difference, Environment, FigureRatios, RatioRecord};

    use super::*;

    pub(in crate::cost) fn record() -> CostRecord {
        let layer = |name: &str, part, ratio: f64| Layer {
            layer: name.to_owned(),
            part,
            experiment: "oltp_read_write, encrypted at rest".to_owned(),
            throughput: RatioRecord {
                of: "tde".to_owned(),
                to: "clear".to_owned(),
                ratio: Interval { estimate: ratio, low: ratio - 0.01, high: ratio + 0.01 },
                difference: Difference::Seen,
                figures: FigureRatios::default(),
            },
            p95_seconds: Some(Change {
                without: 0.005,
                with: 0.0055,
                ratio: Some(Interval { estimate: 1.1, low: 1.08, high: 1.12 }),
            }),
            server_cpu_seconds: Some(Change { without: 900e-6, with: 950e-6, ratio: None }),
            written_bytes: None,
            data_bytes: None,
            seconds: None,
        };
        let bench = crate::bench::tests::record();
        CostRecord {
            schema: COST_SCHEMA.into(),
            environment: Environment::now(Path::new("/")),
            server: "10.11.19-MariaDB".to_owned(),
            data: Some(DataRecord {
                tables: 12,
                rows: 2000,
                row_bytes: 500,
                bytes: 12 << 20,
                like: Some(DataShape {
                    endpoint: "db1".to_owned(),
                    server: "10.6.1-MariaDB".to_owned(),
                    tables: 300,
                    rows: 4_000_000,
                    data_bytes: 2_000_000_000,
                    index_bytes: 500_000_000,
                    large_tables: 12,
                    large_rows: 3_600_000,
                    buffer_pool_bytes: 1 << 30,
                }),
            }),
            layers: vec![layer("tables", Part::InMemory, 0.95), layer("tables | logs", Part::InMemory, 0.9)],
            unmeasured: vec![Unmeasured {
                layer: "Encrypted disk".to_owned(),
                reason: "not among --parts".to_owned(),
                command: "sealant cost --parts disk".to_owned(),
            }],
            calibration: None,
            advice: vec![Advice { text: "encrypt".to_owned(), evidence: "warm".to_owned() }],
            samples_file: Some("raw.jsonl".into()),
            parts: vec![PartRecord { part: Part::InMemory, record: bench }],
        }
    }

    #[test]
    fn the_table_begins_with_the_layers_and_fits_a_terminal() {
        let table = collect(|out| write_cost_table(&record(), out)).unwrap();
        for wanted in [
            "data: tables of 2000 rows of about 500 bytes, 12 of them, together 12.0 MiB\n",
            "most of them in 12 of the tables; scaled\ndown to 1/198 of it\n",
            "its buffer pool of 1.0 GiB is smaller than that: larger-than-memory is the part\nlike it\n",
            "Transactions, data in memory\n  tables         -5.0 % (-6.0 to -4.0)\n",
            "    p95 ms 5.00 → 5.50 (+8.0 to +12.0 %), server CPU µs 900 → 950\n",
            "  in-memory: sealant, 1 thread / read only\n    predicted 1.0 to 4.0, measured 75.0 (72.5 to 77.5), error +71.0 \
             points\n",
            "Not measured\n  Encrypted disk: not among --parts\n    sealant cost --parts disk\n",
            "  - encrypt\n",
            "All figures: in-memory\nwith socat 1.7.4.4\n",
            "\nevery sample is in raw.jsonl, for `sealant bench judge`\n",
        ] {
            assert!(table.contains(wanted), "{wanted:?} is not in\n{table}");
        }
        let layers = table.split("All figures").next().unwrap();
        let layers = layers.replace(PREDICTED, "");
        assert!(layers.lines().skip(3).all(|line| columns(line) <= WIDTH), "{layers}");
    }

    #[test]
    fn markdown_has_a_table_for_each_part() {
        let text = collect(|out| write_cost_markdown(&record(), out)).unwrap();
        assert!(text.contains("| layer | throughput | p95 ms | server CPU µs |\n|---|---:|---:|---:|\n"), "{text}");
        assert!(
            text.contains("| tables \\| logs | -10.0 % (-11.0 to -9.0) | 5.00 → 5.50 (+8.0 to +12.0 %) |"),
            "{text}"
        );
        assert!(text.contains("- encrypt (warm)"));
        assert!(text.contains("\n## Transactions, data in memory\n\nmeasured "), "{text}");
        assert!(text.contains("\n### warm\n\n5 rounds, ") && text.contains("\n## How to read this\n"), "{text}");
        assert!(
            text.contains("| in-memory: sealant, 1 thread / read only | 1.0 to 4.0 | 75.0 (72.5 to 77.5) |"),
            "{text}"
        );
        assert!(text.contains("- Encrypted disk: not among --parts (`sealant cost --parts disk`)"), "{text}");
    }

    #[test]
    fn a_layer_without_a_seen_difference_says_how_large_it_is_at_most() {
        let mut record = record();
        record.layers[0].throughput.difference = Difference::None { at_most_percent: 6.0 };
        record.layers[1].throughput.difference = Difference::TooFewRounds;
        let table = collect(|out| write_cost_table(&record, out)).unwrap();
        assert!(
            table.contains("  -5.0 % (-6.0 to -4.0)\n    no difference seen, at most 6.0 %\n    p95 ms "),
            "{table}"
        );
        let text = collect(|out| write_cost_markdown(&record, out)).unwrap();
        assert!(text.contains("| -5.0 % (-6.0 to -4.0): no difference seen, at most 6.0 % |"), "{text}");
        assert!(text.contains("| -10.0 % (-11.0 to -9.0): too few rounds for an interval |"), "{text}");
        let page = collect(|out| write_cost_html(&record, out)).unwrap();
        let remark = "<small class=\"remark\">no difference seen, at most 6.0 %</small></td>";
        assert!(page.contains(remark), "{page}");
    }

    #[test]
    fn the_document_is_read_back() {
        let text = collect(|out| write_cost_json(&record(), out)).unwrap();
        let read: CostRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(read.layers.len(), 2);
    }
}
