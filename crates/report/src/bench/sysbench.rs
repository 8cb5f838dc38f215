//! Transactions in the rows of sysbench's own report, in which comparisons of servers are published: a column for each
//! arm.

use ::bench::{ArmRecord, ExperimentRecord, OperationsRecord};

use super::figures::{Cell, Figures};
use crate::text::visible;

const TITLE: &str = "in the rows of sysbench";

/// A row: its name, and the figure of an arm, given the number of rounds.
type Row = (&'static str, fn(&ArmRecord, &OperationsRecord, f64) -> String);

const ROWS: [Row; 9] = [
    ("transactions, a run", |arm, _, _| format!("{:.0}", transactions(arm))),
    ("queries, a run", |arm, operations, rounds| {
        format!("{:.0}", queries_each(arm, operations, rounds) * transactions(arm))
    }),
    ("transactions/s (events/s)", |arm, _, _| format!("{:.2}", arm.rate.estimate)),
    ("queries/s", |arm, operations, rounds| {
        format!("{:.2}", queries_each(arm, operations, rounds) * arm.rate.estimate)
    }),
    ("latency min, ms", |_, operations, _| format!("{:.2}", operations.latency.min_seconds * 1e3)),
    ("latency avg, ms", |_, operations, _| format!("{:.2}", operations.latency.mean_seconds * 1e3)),
    ("latency 95th percentile, ms", |_, operations, _| format!("{:.2}", operations.latency.p95_seconds * 1e3)),
    ("latency max, ms", |_, operations, _| format!("{:.2}", operations.latency.max_seconds * 1e3)),
    ("fairness over threads, stddev %", |_, operations, _| format!("{:.2}", operations.unfairness_percent)),
];

/// The arms of an experiment that ran transactions, in tables of at most `columns` arms; none for other experiments.
pub(crate) fn sysbench_tables(experiment: &ExperimentRecord, columns: usize) -> Vec<Figures> {
    let arms: Vec<_> = experiment.arms.iter().filter_map(|arm| Some((arm, arm.operations.as_ref()?))).collect();
    arms.chunks(columns.max(1)).map(|arms| table(arms, f64::from(experiment.rounds.max(1)))).collect()
}

fn table(arms: &[(&ArmRecord, &OperationsRecord)], rounds: f64) -> Figures {
    let names = arms.iter().map(|(arm, _)| visible(&arm.name));
    let rows = ROWS.iter().map(|(name, figure)| {
        let figures = arms.iter().map(|(arm, operations)| Cell::from(figure(arm, operations, rounds)));
        ((*name).to_owned(), figures.collect::<Vec<_>>())
    });
    Figures::new(TITLE, names, rows)
}

/// Transactions of a run.
fn transactions(arm: &ArmRecord) -> f64 {
    arm.rate.estimate * arm.seconds.estimate
}

/// Queries of a transaction. Reports of older versions have only the total.
#[allow(clippy::cast_precision_loss, reason = "a number of statements")]
fn queries_each(arm: &ArmRecord, operations: &OperationsRecord, rounds: f64) -> f64 {
    let of_total = || operations.statements as f64 / (transactions(arm) * rounds).max(f64::MIN_POSITIVE);
    operations.work.map_or_else(of_total, |work| work.statements.estimate)
}
