//! The tables of an experiment, for pages and for Markdown: those that it has figures for.

use ::bench::{ArmRecord, ExperimentRecord, OperationsRecord};

use super::experiment::{
    LATENCIES, OPERATION_COSTS, OPERATION_LATENCIES, PREDICTIONS, difference, display, figure, latency_columns,
    operation_costs, operation_latencies, prediction_rows, ratio_name, time_heading, time_of, times,
};
use super::figures::{Cell, Figures};
use super::sysbench::sysbench_tables;
use crate::text::visible;

/// Arms that have room beside each other on a page, in the rows of sysbench.
const SYSBENCH_ARMS: usize = 6;

pub(crate) fn tables(experiment: &ExperimentRecord) -> Vec<Figures> {
    let time = time_heading(experiment).to_lowercase();
    let mut tables = vec![
        Figures::new("arm", [display(experiment.unit).rate, time.as_str()], rate_rows(experiment)),
        Figures::new("times as fast", ["ratio", "difference"], ratio_rows(experiment)),
        Figures::new("latency, ms; busy cores", LATENCIES, latency_rows(experiment)),
        Figures::new("latency, ms, all rounds", OPERATION_LATENCIES, operations(experiment, operation_latencies)),
        Figures::new("for each", OPERATION_COSTS, operations(experiment, operation_costs)),
    ];
    tables.extend(sysbench_tables(experiment, SYSBENCH_ARMS));
    tables.push(Figures::new("% less throughput", PREDICTIONS, prediction_rows(experiment)));
    tables.retain(|table| !table.is_empty());
    tables
}

fn rate_rows(experiment: &ExperimentRecord) -> impl Iterator<Item = (String, [Cell; 2])> {
    let display = display(experiment.unit);
    experiment.arms.iter().map(move |arm| {
        let rate = display.rate_of(arm);
        let interval = format!("{} to {}", figure(rate.low), figure(rate.high));
        let cells = [Cell::with_interval(figure(rate.estimate), interval), figure(time_of(experiment, arm)).into()];
        (name(arm), cells)
    })
}

fn ratio_rows(experiment: &ExperimentRecord) -> impl Iterator<Item = (String, [Cell; 2])> {
    experiment.ratios.iter().map(|ratio| {
        let figures = &ratio.ratio;
        let interval = format!("{} to {}", times(figures.low), times(figures.high));
        let cells = [Cell::with_interval(times(figures.estimate), interval), difference(ratio).into()];
        (ratio_name(ratio), cells)
    })
}

fn latency_rows(experiment: &ExperimentRecord) -> impl Iterator<Item = (String, [Cell; 4])> {
    experiment.arms.iter().filter_map(|arm| Some((name(arm), latency_columns(arm)?.map(Cell::from))))
}

/// Latencies or costs of single operations, by arm.
fn operations(
    experiment: &ExperimentRecord,
    columns: fn(&OperationsRecord) -> [String; 6],
) -> impl Iterator<Item = (String, [Cell; 6])> {
    let row = move |arm: &ArmRecord| Some((name(arm), columns(arm.operations.as_ref()?).map(Cell::from)));
    experiment.arms.iter().filter_map(row)
}

fn name(arm: &ArmRecord) -> String {
    visible(&arm.name).into_owned()
}
