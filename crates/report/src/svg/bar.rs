//! Horizontal bar charts, with the interval of each figure.
//!
//! Lengths are shares of the width, and text keeps its size, so that a chart can be read on a narrow screen, too.

use ::bench::Interval;
use askama::Template;

/// A bar.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) figure: Interval,
    /// The figure as text, written at the end of the bar.
    pub(crate) text: String,
    /// Whether the figure is Sealant's own.
    pub(crate) ours: bool,
}

/// The text around the bars.
#[derive(Debug)]
pub(crate) struct Caption {
    /// What is shown, above the chart.
    pub(crate) title: String,
    /// Unit of the figures, below the axis.
    pub(crate) unit: String,
    /// What the chart shows, in a sentence below it.
    pub(crate) conclusion: String,
}

/// Several bars with a common axis.
#[derive(Debug, Template)]
#[template(path = "bars.html")]
pub(crate) struct BarChart {
    /// Number of the chart; makes its ids unique in the page.
    id: usize,
    title: String,
    unit: String,
    conclusion: String,
    description: String,
    height: u32,
    rows: Vec<Row>,
    ticks: Vec<Tick>,
    axis: u32,
}

/// Positions and lengths on the horizontal axis are percentages of the width.
#[derive(Debug)]
struct Row {
    class: &'static str,
    label: String,
    text: String,
    label_y: u32,
    y: u32,
    middle: u32,
    height: u32,
    length: Percent,
    low: Percent,
    high: Percent,
    /// Whether the interval continues beyond the chart.
    is_cut: bool,
    /// End of the bar and its interval.
    end: Percent,
}

#[derive(Debug)]
struct Tick {
    x: Percent,
    anchor: &'static str,
    label: String,
}

/// A percentage with one decimal.
type Percent = String;

/// The longest bar; the text after it takes the rest.
const LONGEST: f64 = 78.0;
/// Height of a row: its label, its bar, and the space below.
const ROW: u32 = 46;
const LABEL: u32 = 18;
const BAR: u32 = 18;
/// Height of the axis: its figures and its unit.
const AXIS: u32 = 42;
const TICKS: f64 = 4.0;
/// Intervals are cut at this multiple of the longest bar.
const CUT: f64 = 2.0;

impl BarChart {
    /// A chart of these bars.
    pub(crate) fn new(id: usize, caption: Caption, bars: Vec<Bar>) -> Self {
        let Caption { title, unit, conclusion } = caption;
        let most = longest(&bars);
        let description: Vec<String> = bars.iter().map(|bar| format!("{}: {} {unit}", bar.label, bar.text)).collect();
        let rows: Vec<Row> = (0..).zip(bars).map(|(index, bar)| Row::new(index, bar, most)).collect();
        let axis = ROW * u32::try_from(rows.len()).unwrap_or(0);
        Self {
            id,
            title,
            unit,
            conclusion,
            description: description.join("; "),
            height: axis + AXIS,
            rows,
            ticks: ticks(round_step(most / TICKS), most),
            axis,
        }
    }
}

/// End of the axis: of the longest interval, but one that is much longer than all bars is cut.
fn longest(bars: &[Bar]) -> f64 {
    let bar = bars.iter().map(|bar| bar.figure.estimate).fold(0.0, f64::max);
    let interval = bars.iter().map(|bar| bar.figure.high).fold(bar, f64::max);
    interval.min(bar * CUT)
}

impl Row {
    fn new(index: u32, bar: Bar, most: f64) -> Self {
        let Interval { estimate, low, high } = bar.figure;
        let label_y = index * ROW + LABEL - 4;
        let y = index * ROW + LABEL;
        Self {
            class: if bar.ours { "ours" } else { "peer" },
            label: bar.label,
            text: bar.text,
            label_y,
            y,
            middle: y + BAR / 2,
            height: BAR,
            length: x_position(estimate, most),
            low: x_position(low, most),
            high: x_position(high, most),
            is_cut: high > most,
            end: x_position(estimate.max(high), most),
        }
    }
}

/// Position of a figure on the axis.
fn x_position(figure: f64, most: f64) -> Percent {
    let share = if most > 0.0 { (figure / most).clamp(0.0, 1.0) } else { 0.0 };
    format!("{:.1}", share * LONGEST)
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    if least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|times| times * power).find(|step| *step >= least * 0.999).unwrap_or(power)
}

fn ticks(step: f64, most: f64) -> Vec<Tick> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number that is not negative")]
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    (0..=10_u32)
        .map(|count| f64::from(count) * step)
        .take_while(|at| *at <= most)
        .map(|at| Tick {
            x: x_position(at, most),
            anchor: if at > 0.0 { "middle" } else { "start" },
            label: format!("{at:.decimals$}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_well_formed;

    fn bar(label: &str, estimate: f64, ours: bool) -> Bar {
        let figure = Interval { estimate, low: estimate * 0.5, high: estimate * 2.0 };
        Bar { label: label.to_owned(), figure, text: format!("{estimate:.0}"), ours }
    }

    fn chart(title: &str, bars: Vec<Bar>) -> BarChart {
        let caption =
            Caption { title: title.to_owned(), unit: "MB/s".to_owned(), conclusion: "a is faster".to_owned() };
        BarChart::new(0, caption, bars)
    }

    #[test]
    fn bars_are_as_long_as_their_figures() {
        let chart = chart("t", vec![bar("a", 500.0, true), bar("b", 250.0, false)]);
        // The longest interval ends at 1000.
        assert_eq!((chart.rows[0].length.as_str(), chart.rows[1].length.as_str()), ("39.0", "19.5"));
        assert_eq!((chart.rows[0].low.as_str(), chart.rows[0].high.as_str()), ("19.5", "78.0"));
        let labels: Vec<&str> = chart.ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["0", "500", "1000"]);
    }

    #[test]
    fn an_interval_that_is_much_longer_than_all_bars_is_cut() {
        let mut bars = vec![bar("a", 500.0, true), bar("b", 250.0, false)];
        bars[1].figure.high = 9000.0;
        let chart = chart("t", bars);
        assert_eq!((chart.rows[0].length.as_str(), chart.rows[1].high.as_str()), ("39.0", "78.0"));
        assert_eq!((chart.rows[0].is_cut, chart.rows[1].is_cut), (false, true));
    }

    #[test]
    fn figures_of_the_axis_differ_however_small_they_are() {
        let labels: Vec<String> = ticks(round_step(0.19 / TICKS), 0.19).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0.00", "0.05", "0.10", "0.15"]);
    }

    #[test]
    fn a_chart_has_a_title_a_unit_and_a_conclusion() {
        let chart = chart("t", vec![bar("a", 500.0, true)]).render().unwrap();
        for wanted in ["<figcaption>t</figcaption>", ">MB/s</text>", "<p>a is faster</p>"] {
            assert!(chart.contains(wanted), "{wanted:?} is not in {chart}");
        }
    }

    #[test]
    fn names_stay_text_and_no_figures_make_an_empty_chart() {
        let hostile = chart("<t>", vec![bar("<script>", 1.0, false)]).render().unwrap();
        assert_well_formed(&hostile);
        assert!(!hostile.contains("<script"));
        assert_well_formed(&chart("t", Vec::new()).render().unwrap());
        assert!(chart("t", vec![bar("a", 0.0, false)]).render().is_ok());
    }
}
