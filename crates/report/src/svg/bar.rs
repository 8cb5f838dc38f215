//! Horizontal bar charts, with the interval of each figure.

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

/// Several bars with a common axis.
#[derive(Debug, Template)]
#[template(path = "bars.html")]
pub(crate) struct BarChart {
    /// Number of the chart; makes its ids unique in the page.
    id: usize,
    title: String,
    description: String,
    width: u32,
    height: u32,
    rows: Vec<Row>,
    ticks: Vec<Tick>,
    axis: u32,
}

#[derive(Debug)]
struct Row {
    class: &'static str,
    label: String,
    text: String,
    x: u32,
    y: u32,
    middle: u32,
    length: u32,
    low: u32,
    high: u32,
    text_x: u32,
}

#[derive(Debug)]
struct Tick {
    x: u32,
    label: String,
}

const WIDTH: u32 = 900;
const LABELS: u32 = 260;
/// Space for the text after the longest bar.
const TEXT: u32 = 110;
const ROW: u32 = 30;
const BAR: u32 = 18;
const TOP: u32 = 8;
const AXIS: u32 = 34;
const TICKS: f64 = 5.0;

impl BarChart {
    /// A chart of these bars; `unit` labels the axis.
    pub(crate) fn new(id: usize, title: &str, unit: &str, bars: Vec<Bar>) -> Self {
        let most = bars.iter().map(|bar| bar.figure.high.max(bar.figure.estimate)).fold(0.0, f64::max);
        let step = round_step(most / TICKS);
        let description: Vec<String> = bars.iter().map(|bar| format!("{}: {} {unit}", bar.label, bar.text)).collect();
        let rows: Vec<Row> = (0..).zip(bars).map(|(index, bar)| Row::new(index, bar, most)).collect();
        let axis = TOP + ROW * u32::try_from(rows.len()).unwrap_or(0);
        Self {
            id,
            title: format!("{title}, {unit}"),
            description: description.join("; "),
            width: WIDTH,
            height: axis + AXIS,
            rows,
            ticks: ticks(step, most),
            axis,
        }
    }
}

impl Row {
    fn new(index: u32, bar: Bar, most: f64) -> Self {
        let y = TOP + index * ROW + (ROW - BAR) / 2;
        let end = x_position(bar.figure.estimate, most);
        let high = x_position(bar.figure.high, most);
        Self {
            class: if bar.ours { "ours" } else { "peer" },
            label: bar.label,
            text: bar.text,
            x: LABELS,
            y,
            middle: y + BAR / 2,
            length: end - LABELS,
            low: x_position(bar.figure.low, most),
            high,
            text_x: end.max(high) + 8,
        }
    }
}

/// Position of a figure on the axis.
fn x_position(figure: f64, most: f64) -> u32 {
    let room = f64::from(WIDTH - LABELS - TEXT);
    let share = if most > 0.0 { (figure / most).clamp(0.0, 1.0) } else { 0.0 };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the width")]
    let offset = (share * room).round() as u32;
    LABELS + offset
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
    let decimals = if step < 1.0 { 1 } else { 0 };
    (0..=10_u32)
        .map(|count| f64::from(count) * step)
        .take_while(|at| *at <= most)
        .map(|at| Tick { x: x_position(at, most), label: format!("{at:.decimals$}") })
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

    #[test]
    fn bars_are_as_long_as_their_figures() {
        let chart = BarChart::new(0, "t", "MB/s", vec![bar("a", 500.0, true), bar("b", 250.0, false)]);
        let room = WIDTH - LABELS - TEXT;
        // The longest interval ends at 1000.
        assert_eq!((chart.rows[0].length, chart.rows[1].length), (room / 2, room.div_ceil(4)));
        assert_eq!((chart.rows[0].low, chart.rows[0].high), (LABELS + room.div_ceil(4), LABELS + room));
        let labels: Vec<&str> = chart.ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["0", "200", "400", "600", "800", "1000"]);
    }

    #[test]
    fn names_stay_text_and_no_figures_make_an_empty_chart() {
        let chart = BarChart::new(0, "<t>", "MB/s", vec![bar("<script>", 1.0, false)]).render().unwrap();
        assert_well_formed(&chart);
        assert!(!chart.contains("<script"));
        assert_well_formed(&BarChart::new(1, "t", "MB/s", Vec::new()).render().unwrap());
        assert!(BarChart::new(1, "t", "MB/s", vec![bar("a", 0.0, false)]).render().is_ok());
    }
}
