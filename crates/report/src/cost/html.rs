//! What encryption costs, as one self-contained HTML file.

use std::io::Write;

use ::bench::cost::{CostRecord, Layer, PartRecord};
use ::bench::{Difference, Interval};
use askama::Template;

use super::{Figure, Group, PREDICTED, UNMEASURED, data, figures, groups, part_head, prediction_table, samples};
use crate::Error;
use crate::bench::html::{STYLE, Section, section};
use crate::bench::{READING, environment, percent};
use crate::html::content_security;
use crate::svg::{Bar, BarChart, Caption};
use crate::text::{collect, visible};

#[derive(Template)]
#[template(path = "cost.html")]
struct Page {
    policy: String,
    style: &'static str,
    head: Vec<String>,
    groups: Vec<GroupSection>,
    predicted: &'static str,
    predictions: Option<String>,
    unmeasured_title: &'static str,
    unmeasured: Vec<[String; 3]>,
    advice: Vec<(String, String)>,
    parts: Vec<PartSection>,
    samples: String,
    reading: [&'static str; 2],
}

struct GroupSection {
    title: String,
    table: String,
    charts: Vec<String>,
}

struct PartSection {
    name: &'static str,
    head: Vec<String>,
    sections: Vec<Section>,
    notes: Vec<String>,
}

/// Writes the page. It loads no other resource and runs no script.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_cost_html(record: &CostRecord, out: &mut dyn Write) -> Result<(), Error> {
    let mut head = collect(|out| environment(&record.environment, out))?;
    head.push_str(&format!("server {}\n", visible(&record.server)));
    data(record).iter().for_each(|line| head.push_str(&format!("{line}\n")));
    // Charts have ids; a layer has fewer than ten.
    let groups = groups(record).into_iter().enumerate().map(|(at, group)| group_section(at * 10, group));
    let advice = record.advice.iter().map(|one| (visible(&one.text).into_owned(), visible(&one.evidence).into_owned()));
    let unmeasured = record.unmeasured.iter();
    let unmeasured =
        unmeasured.map(|one| [&one.layer, &one.reason, &one.command].map(|text| visible(text).into_owned()));
    // Those of the layers come first.
    let parts = record.parts.iter().enumerate().map(|(at, part)| part_section((at + 1) * 100, part));
    let predictions = prediction_table(record);
    let page = Page {
        policy: content_security(STYLE, ""),
        style: STYLE,
        head: head.lines().map(str::to_owned).collect(),
        groups: groups.collect::<Result<_, _>>()?,
        predicted: PREDICTED,
        predictions: (!predictions.is_empty()).then(|| predictions.html()).transpose()?,
        unmeasured_title: UNMEASURED,
        unmeasured: unmeasured.collect(),
        advice: advice.collect(),
        parts: parts.collect::<Result<_, _>>()?,
        samples: samples(record),
        reading: READING,
    };
    Ok(out.write_all(page.render()?.as_bytes())?)
}

fn group_section(id: usize, group: Group<'_>) -> Result<GroupSection, Error> {
    let ratios = group.layers.iter().map(|layer| (*layer, layer.throughput.ratio));
    let title = format!("{}: throughput with each layer; more is better", group.title);
    let throughput = chart(id, title, conclusion(&group.layers), ratios)?;
    let others = figures(&group.layers).into_iter().zip(id + 1..);
    let others = others.map(|(figure, id)| figure_chart(id, &group, figure));
    let charts = std::iter::once(Ok(throughput)).chain(others).collect::<Result<_, Error>>()?;
    Ok(GroupSection { table: group.table().html()?, title: group.title, charts })
}

/// The chart of a figure other than the throughput.
fn figure_chart(id: usize, group: &Group<'_>, figure: &Figure) -> Result<String, Error> {
    let changes = group.layers.iter().filter_map(|layer| Some((*layer, (figure.of)(layer)?)));
    let exactly = |ratio: f64| Interval { estimate: ratio, low: ratio, high: ratio };
    let ratios: Vec<(&Layer, Interval)> = changes
        .filter(|(_, change)| change.without > 0.0)
        .map(|(layer, change)| (layer, change.ratio.unwrap_or_else(|| exactly(change.with / change.without))))
        .collect();
    let conclusion = most_changed(&ratios);
    chart(id, format!("{}: {} with each layer; less is better", group.title, figure.title), conclusion, ratios)
}

/// Bars of what layers change, in percent of what is without them.
fn chart<'l>(
    id: usize,
    title: String,
    conclusion: String,
    ratios: impl IntoIterator<Item = (&'l Layer, Interval)>,
) -> Result<String, Error> {
    let shares = |ratio: Interval| Interval {
        estimate: ratio.estimate * 100.0,
        low: ratio.low * 100.0,
        high: ratio.high * 100.0,
    };
    let bars = ratios.into_iter().map(|(layer, ratio)| {
        let figure = shares(ratio);
        let text = format!("{:.1}", figure.estimate);
        Bar { ours: true, label: visible(&layer.layer).into_owned(), figure, text }
    });
    let without = Interval { estimate: 100.0, low: 100.0, high: 100.0 };
    let baseline = Bar { ours: false, label: "without".to_owned(), figure: without, text: "100".to_owned() };
    let unit = "% of that without the layer; the lines are 95 % intervals".to_owned();
    let bars = std::iter::once(baseline).chain(bars).collect();
    Ok(BarChart::new(id, Caption { title, unit, conclusion }, bars).render()?)
}

/// The layer that certainly adds most, if one does.
fn most_changed(ratios: &[(&Layer, Interval)]) -> String {
    let more = ratios.iter().filter(|(_, ratio)| ratio.low > 1.0);
    let most = more.max_by(|(_, one), (_, other)| one.estimate.total_cmp(&other.estimate));
    match most {
        Some((layer, Interval { estimate, low, high })) => {
            let added = percent(estimate - 1.0, low - 1.0, high - 1.0);
            format!("{} adds most: {added}", visible(&layer.layer))
        }
        None => "no layer certainly adds to it".to_owned(),
    }
}

/// The layer that costs most, or how much a layer costs at most.
fn conclusion(layers: &[&Layer]) -> String {
    let seen = layers.iter().filter(|layer| layer.throughput.difference == Difference::Seen);
    let cost = |layer: &Layer| 1.0 - layer.throughput.ratio.estimate;
    let most = seen.max_by(|one, other| cost(one).total_cmp(&cost(other)));
    if let Some(layer) = most.filter(|layer| cost(layer) > 0.0) {
        let Interval { estimate, low, high } = layer.throughput.ratio;
        let lost = percent(1.0 - estimate, 1.0 - high, 1.0 - low);
        return format!("{} costs most: {lost} of the throughput", visible(&layer.layer));
    }
    let at_most = |layer: &&Layer| match layer.throughput.difference {
        Difference::None { at_most_percent } | Difference::WithinResolution { at_most_percent, .. } => at_most_percent,
        Difference::Seen | Difference::TooFewRounds => (1.0 - layer.throughput.ratio.low) * 100.0,
    };
    let lost = layers.iter().map(at_most).fold(0.0, f64::max);
    format!("no layer was seen to cost throughput; each costs at most {lost:.1} %")
}

fn part_section(id: usize, part: &PartRecord) -> Result<PartSection, Error> {
    let record = &part.record;
    let sections = record.experiments.iter().enumerate().map(|(at, one)| section(id + at, one));
    Ok(PartSection {
        name: part.part.title(),
        head: part_head(record)?.lines().map(str::to_owned).collect(),
        sections: sections.collect::<Result<_, _>>()?,
        notes: record.notes.iter().map(|note| visible(note).into_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::tests::record;
    use crate::testing::assert_page;

    #[test]
    fn a_conclusion_is_an_upper_limit_if_no_difference_was_seen() {
        let mut record = record();
        for layer in &mut record.layers {
            layer.throughput.difference = Difference::TooFewRounds;
        }
        let layers: Vec<&Layer> = record.layers.iter().collect();
        assert_eq!(conclusion(&layers), "no layer was seen to cost throughput; each costs at most 11.0 %");
        for layer in &mut record.layers {
            layer.throughput.difference = Difference::None { at_most_percent: 12.5 };
        }
        let layers: Vec<&Layer> = record.layers.iter().collect();
        assert_eq!(conclusion(&layers), "no layer was seen to cost throughput; each costs at most 12.5 %");
    }

    #[test]
    fn the_page_has_every_figure_and_loads_nothing() {
        let page = collect(|out| write_cost_html(&record(), out)).unwrap();
        assert_page(&page, STYLE);
        for wanted in [
            "<td>tables</td><td data-heading=\"throughput\">-5.0 % <small>-6.0 to -4.0</small></td>",
            "<td data-heading=\"p95 ms\">5.00 → 5.50 <small>+8.0 to +12.0 %</small></td>",
            "<li>encrypt <small>(warm)</small></li>",
            "<p>tables | logs costs most: 10.0 % (9.0 to 11.0) of the throughput</p>",
            "<td>in-memory: sealant, 1 thread / read only</td><td data-heading=\"predicted\">1.0 to 4.0</td>",
            "<li>Encrypted disk: not among --parts. Measure it by <code>sealant cost --parts disk</code></li>",
            "<td>sealant, 1 thread</td>",
            "<p>with socat 1.7.4.4</p>",
            "<h2>How to read this</h2>",
            "<p>every sample is in raw.jsonl, for `sealant bench judge`</p>",
            "95th percentile of the latency of a transaction with each layer; less is better",
            "tables | logs adds most: 10.0 % (8.0 to 12.0)",
        ] {
            assert!(page.contains(wanted), "{wanted:?} is not in\n{page}");
        }
    }
}
