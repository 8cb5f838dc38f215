//! Two reports of costs side by side.

use std::io::Write;

use ::bench::Interval;
use ::bench::cost::{Comparison, LayerFigure, MedianDifference};

use crate::Error;
use crate::bench::{display, environment, figure, scaled};
use crate::json;
use crate::text::{count, visible};

/// Writes the JSON for scripts, schema `sealant.cost-compare/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_cost_comparison_json(comparison: &Comparison, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(comparison, out)
}

/// Writes both machines, then every figure of both and whether it differs.
///
/// # Errors
/// [`Error::Write`].
pub fn write_cost_comparison_table(comparison: &Comparison, out: &mut dyn Write) -> Result<(), Error> {
    let Comparison { before, after, servers, layers, arms, unmatched, remarks, .. } = comparison;
    for (name, machine, server) in [("A", before, &servers[0]), ("B", after, &servers[1])] {
        writeln!(out, "{name}: server {}", visible(server))?;
        environment(machine, out)?;
    }
    remarks.iter().try_for_each(|remark| writeln!(out, "note: {}", visible(remark)))?;
    writeln!(out, "\nThroughput with each layer, in percent of that without it")?;
    for layer in layers {
        let name = format!("{}, {}", layer.layer, layer.part);
        line(&name, layer.before, layer.after, 100.0, layer.shift, out)?;
    }
    let mut others = layers.iter().flat_map(|layer| layer.figures.iter().map(move |one| (layer, one))).peekable();
    if others.peek().is_some() {
        writeln!(out, "\nOther figures with each layer, in percent of those without it")?;
    }
    for (layer, one) in others {
        let name = format!("{}, {}: {}", layer.layer, layer.part, figure_name(one.figure));
        line(&name, one.before, one.after, 100.0, one.shift, out)?;
    }
    let mut heading = "";
    for arm in arms {
        if heading != arm.experiment {
            heading = &arm.experiment;
            writeln!(out, "\n{}, {} ({})", visible(heading), display(arm.unit).rate, arm.part)?;
        }
        line(&arm.arm, arm.before, arm.after, display(arm.unit).rate_scale, arm.shift, out)?;
    }
    if *unmatched > 0 {
        writeln!(out, "\nnot compared: {} that only one of them has", count(*unmatched, "figure"))?;
    }
    Ok(())
}

const fn figure_name(figure: LayerFigure) -> &'static str {
    match figure {
        LayerFigure::P95Latency => "95th percentile of the latency",
        LayerFigure::ServerCpu => "CPU time of the server",
        LayerFigure::WrittenBytes => "bytes written",
    }
}

fn line(
    name: &str,
    before: Interval,
    after: Interval,
    scale: f64,
    shift: MedianDifference,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let shown = |interval: Interval| {
        let scaled = scaled(&interval, scale);
        format!("{} ({} to {})", figure(scaled.estimate), figure(scaled.low), figure(scaled.high))
    };
    let shift = match shift {
        MedianDifference::Higher => "B is higher",
        MedianDifference::Lower => "B is lower",
        MedianDifference::NotSeen => "no difference seen",
    };
    Ok(writeln!(out, "  {}\n    A {}   B {}   {shift}", visible(name), shown(before), shown(after))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::tests::record;
    use crate::text::collect;

    #[test]
    fn figures_of_both_stand_side_by_side() {
        let (mut before, mut after) = (record(), record());
        after.server = "9.7.4".to_owned();
        after.layers.truncate(1);
        after.layers[0].throughput.ratio = Interval { estimate: 0.5, low: 0.4, high: 0.6 };
        for (record, estimate) in [(&mut before, 1.1), (&mut after, 1.5)] {
            let p95 = Interval { estimate, low: estimate - 0.1, high: estimate + 0.1 };
            record.layers[0].throughput.figures.p95_seconds = Some(p95);
        }
        let table = collect(|out| write_cost_comparison_table(&before.compare(&after), out)).unwrap();
        for wanted in [
            "  tables, in-memory\n    A 95.0 (94.0 to 96.0)   B 50.0 (40.0 to 60.0)   B is lower\n",
            "\nOther figures with each layer, in percent of those without it\n  tables, in-memory: 95th percentile of the \
             latency\n    A 110 (100 to 120)   B 150 (140 to 160)   B is higher\n",
            "warm, MB/s (in-memory)\n",
            "   no difference seen\n",
            "note: A and B differ in the server's version\n",
            "not compared: 1 figure that only one of them has\n",
        ] {
            assert!(table.contains(wanted), "{wanted:?} is not in\n{table}");
        }
    }
}
