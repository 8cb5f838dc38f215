//! Measurements as one self-contained HTML file: a chart and the figures of every experiment.

use std::io::Write;

use ::bench::{ExperimentRecord, OperationsRecord, Record};
use askama::Template;

use super::experiment::{
    CAUSES, OPERATION_COSTS, OPERATION_LATENCIES, PREDICTIONS, conclusion, difference, display, experiment_rounds,
    figure, latency_columns, operation_costs, operation_latencies, prediction_columns, ratio_name, resolution,
    time_heading, time_of, times,
};
use super::{environment, programs, subject};
use crate::Error;
use crate::html::content_security;
use crate::svg::{Bar, BarChart, Caption};
use crate::text::{collect, visible};

pub(crate) const STYLE: &str = include_str!("../../templates/bench.css");

#[derive(Template)]
#[template(path = "bench.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    title: &'a str,
    head: Vec<String>,
    sections: Vec<Section>,
    notes: Vec<String>,
}

pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) rounds: String,
    pub(crate) rate: &'static str,
    pub(crate) time: String,
    pub(crate) chart: String,
    pub(crate) arms: Vec<(String, String, String, String)>,
    pub(crate) ratios: Vec<(String, String, String, String)>,
    pub(crate) latencies: Vec<(String, [String; 4])>,
    pub(crate) operations: Vec<Operations>,
    pub(crate) prediction_headings: [&'static str; 4],
    pub(crate) predictions: Vec<(String, [String; 4])>,
    pub(crate) resolution: Option<String>,
    pub(crate) causes_heading: &'static str,
    pub(crate) causes: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// A table of latencies or costs of single operations.
pub(crate) struct Operations {
    pub(crate) title: &'static str,
    pub(crate) headings: [&'static str; 6],
    pub(crate) rows: Vec<(String, [String; 6])>,
}

/// Writes the page under this title. It loads no other resource and runs no script.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_bench_html(title: &str, record: &Record, out: &mut dyn Write) -> Result<(), Error> {
    let head = collect(|out| {
        environment(&record.environment, out)?;
        subject(&record.subject, out)?;
        programs(record, out)
    })?;
    let sections = record.experiments.iter().enumerate().map(|(id, one)| section(id, one));
    let page = Page {
        policy: content_security(STYLE, ""),
        style: STYLE,
        title,
        head: head.lines().map(str::to_owned).collect(),
        sections: sections.collect::<Result<_, _>>()?,
        notes: record.notes.iter().map(|note| visible(note).into_owned()).collect(),
    };
    Ok(out.write_all(page.render()?.as_bytes())?)
}

pub(crate) fn section(id: usize, experiment: &ExperimentRecord) -> Result<Section, Error> {
    let name = visible(&experiment.name).into_owned();
    let display = display(experiment.unit);
    let mut bars = Vec::new();
    let mut arms = Vec::new();
    for arm in &experiment.arms {
        let rate = display.rate_of(arm);
        let (label, text) = (visible(&arm.name).into_owned(), figure(rate.estimate));
        let interval = format!("{} to {}", figure(rate.low), figure(rate.high));
        arms.push((label.clone(), text.clone(), interval, figure(time_of(experiment, arm))));
        bars.push(Bar { ours: arm.is_ours(), label, figure: rate, text });
    }
    let ratios = experiment.ratios.iter().map(|ratio| {
        let figures = &ratio.ratio;
        let interval = format!("{} to {}", times(figures.low), times(figures.high));
        (ratio_name(ratio), times(figures.estimate), interval, difference(ratio))
    });
    let latencies = experiment.arms.iter().filter_map(|arm| {
        let columns = latency_columns(arm.detail.as_ref()?);
        Some((visible(&arm.name).into_owned(), columns))
    });
    let caption = Caption {
        title: format!("{}; more is better", display.title),
        unit: format!("{}; the lines are 95 % intervals", display.rate),
        conclusion: conclusion(experiment),
    };
    Ok(Section {
        chart: BarChart::new(id, caption, bars).render()?,
        rounds: experiment_rounds(experiment),
        rate: display.rate,
        time: time_heading(experiment).to_lowercase(),
        arms,
        ratios: ratios.collect(),
        latencies: latencies.collect(),
        operations: operations(experiment),
        prediction_headings: PREDICTIONS,
        predictions: experiment.predictions.iter().map(prediction_columns).collect(),
        resolution: resolution(experiment),
        causes_heading: CAUSES,
        causes: experiment.causes.iter().map(|cause| visible(&cause.text).into_owned()).collect(),
        notes: experiment.notes.iter().map(|note| visible(note).into_owned()).collect(),
        name,
    })
}

fn operations(experiment: &ExperimentRecord) -> Vec<Operations> {
    let rows = |columns: fn(&OperationsRecord) -> [String; 6]| -> Vec<(String, [String; 6])> {
        let arms = experiment.arms.iter();
        arms.filter_map(|arm| Some((visible(&arm.name).into_owned(), columns(arm.operations.as_ref()?)))).collect()
    };
    let tables = [
        Operations { title: "latency, ms, all rounds", headings: OPERATION_LATENCIES, rows: rows(operation_latencies) },
        Operations { title: "for each", headings: OPERATION_COSTS, rows: rows(operation_costs) },
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::record;
    use crate::testing::assert_well_formed;

    #[test]
    fn the_page_has_every_figure_and_loads_nothing() {
        let page = collect(|out| write_bench_html("What it costs", &record(), out)).unwrap();
        let markup = page.replace(STYLE, "").replace("<!DOCTYPE html>\n", "");
        assert_well_formed(&markup);
        for wanted in [
            "<h1>What it costs</h1>",
            "<th>seconds</th>",
            "<td>sealant, 1 thread</td><td>2000</td><td>1800 to 2200</td><td>0.500</td>",
            "<td>sealant, 1 thread / read only</td><td>0.250</td><td>0.225 to 0.275</td>",
            "<figcaption>Throughput; more is better</figcaption>",
            "MB/s; the lines are 95 % intervals</text>",
            "<p>sealant, 1 thread is 0.250 times as fast as read only (0.225 to 0.275)</p>",
            "<td>sealant, 1 thread / read only</td><td>1.0 to 4.0</td><td>75.0</td><td>72.5 to 77.5</td><td>+71.0 points</td>",
            "<h3>where the server&#39;s processor time goes</h3>",
            "<li>read only, AES: no time is known</li>",
            "class=\"ours\"",
            "class=\"peer\"",
            "with socat 1.7.4.4",
            "5 rounds, intervals narrow",
        ] {
            assert!(page.contains(wanted), "{wanted:?} is not in\n{page}");
        }
        for loads in [" src=", "<link", "<script", "href=", " style=", "@import", "url("] {
            assert!(!page.contains(loads), "{loads}");
        }
        assert!(!STYLE.contains("</"));
    }
}
