//! Measurements as one self-contained HTML file: a chart and the figures of every experiment.

use std::io::Write;

use ::bench::{ExperimentRecord, Record};
use askama::Template;

use super::experiment::{CAUSES, conclusion, display, experiment_rounds, figure, resolution};
use super::figures::Figures;
use super::tables::tables;
use super::{READING, head};
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
    reading: [&'static str; 2],
    notes: Vec<String>,
}

pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) rounds: String,
    pub(crate) chart: String,
    /// Tables as HTML.
    pub(crate) tables: Vec<String>,
    pub(crate) resolution: Option<String>,
    pub(crate) causes_heading: &'static str,
    pub(crate) causes: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// Writes the page under this title. It loads no other resource and runs no script.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_bench_html(title: &str, record: &Record, out: &mut dyn Write) -> Result<(), Error> {
    let head = collect(|out| head(record, out))?;
    let sections = record.experiments.iter().enumerate().map(|(id, one)| section(id, one));
    let page = Page {
        policy: content_security(STYLE, ""),
        style: STYLE,
        title,
        head: head.lines().map(str::to_owned).collect(),
        sections: sections.collect::<Result<_, _>>()?,
        reading: READING,
        notes: record.notes.iter().map(|note| visible(note).into_owned()).collect(),
    };
    Ok(out.write_all(page.render()?.as_bytes())?)
}

pub(crate) fn section(id: usize, experiment: &ExperimentRecord) -> Result<Section, Error> {
    let display = display(experiment.unit);
    let bars = experiment.arms.iter().map(|arm| {
        let rate = display.rate_of(arm);
        let (label, text) = (visible(&arm.name).into_owned(), figure(rate.estimate));
        Bar { ours: arm.is_ours(), label, figure: rate, text }
    });
    let caption = Caption {
        title: format!("{}; more is better", display.title),
        unit: format!("{}; the lines are 95 % intervals", display.rate),
        conclusion: conclusion(experiment),
    };
    Ok(Section {
        name: visible(&experiment.name).into_owned(),
        rounds: experiment_rounds(experiment),
        chart: BarChart::new(id, caption, bars.collect()).render()?,
        tables: tables(experiment).iter().map(Figures::html).collect::<Result<_, _>>()?,
        resolution: resolution(experiment),
        causes_heading: CAUSES,
        causes: experiment.causes.iter().map(|cause| visible(&cause.text).into_owned()).collect(),
        notes: experiment.notes.iter().map(|note| visible(note).into_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::record;
    use crate::testing::assert_page;

    #[test]
    fn the_page_has_every_figure_and_loads_nothing() {
        let page = collect(|out| write_bench_html("What it costs", &record(), out)).unwrap();
        assert_page(&page, STYLE);
        for wanted in [
            "<h1>What it costs</h1>",
            "<th>seconds</th>",
            "<td>sealant, 1 thread</td><td data-heading=\"MB/s\">2000 <small>1800 to 2200</small></td>",
            "<td data-heading=\"seconds\">0.500</td>",
            "<td>sealant, 1 thread / read only</td><td data-heading=\"ratio\">0.250 <small>0.225 to 0.275</small></td>",
            "<figcaption>Throughput; more is better</figcaption>",
            "MB/s; the lines are 95 % intervals</text>",
            "<p>sealant, 1 thread is 0.250 times as fast as read only (0.225 to 0.275)</p>",
            "<td data-heading=\"measured\">75.0 <small>72.5 to 77.5</small></td>",
            "<td data-heading=\"error\">+71.0 points</td>",
            "<h3>where the server&#39;s processor time goes</h3>",
            "<li>read only, AES: no time is known</li>",
            "class=\"ours\"",
            "class=\"peer\"",
            "with socat 1.7.4.4",
            "5 rounds, intervals narrow",
            "<h2>How to read this</h2>",
        ] {
            assert!(page.contains(wanted), "{wanted:?} is not in\n{page}");
        }
        assert!(!STYLE.contains("</"));
    }
}
