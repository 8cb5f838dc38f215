//! What encryption would cost a running server.

use std::io::Write;

use ::bench::predict::{Activity, Cost, Effect, LayerPrediction, Prediction, Range, State};
use files::quantity::{short_seconds, size};

use crate::bench::{environment, figure, notes};
use crate::json;
use crate::text::{columns, pad, visible};
use crate::{Error, Message};

/// Writes the JSON for scripts, schema `sealant.cost-predict/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_prediction_json(prediction: &Prediction, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(prediction, out)
}

/// What the account may not see, and that a server was idle.
#[must_use]
pub fn prediction_messages(prediction: &Prediction) -> Vec<Message> {
    let unseen = prediction.unseen.iter().flat_map(|unseen| {
        let said = Message::warning(format!("not seen: {}", visible(&unseen.what)));
        [said, Message::hint(visible(&unseen.grant).into_owned())]
    });
    let idle = prediction.idle.then(|| {
        [
            Message::warning("the server was idle: without load there is nothing to predict from"),
            Message::hint("run it while clients work, or with a longer --for"),
        ]
    });
    idle.into_iter().flatten().chain(unseen).collect()
}

/// Writes the table: the server's work, then each layer with its cost and how it is calculated.
///
/// # Errors
/// [`Error::Write`].
pub fn write_prediction_table(prediction: &Prediction, out: &mut dyn Write) -> Result<(), Error> {
    environment(&prediction.environment, out)?;
    let Prediction { server, endpoint, activity, layers, everything, .. } = prediction;
    writeln!(out, "server {} at {}", visible(server), visible(endpoint))?;
    activity_lines(activity, prediction.protection.page_bytes, out)?;
    if !prediction.idle {
        let width = layers.iter().map(|layer| columns(layer.layer)).max().unwrap_or(0).max(columns(EVERYTHING));
        layers.iter().try_for_each(|one| layer(one, width, out))?;
        writeln!(out, "\n{}  everything that is not encrypted yet", pad(EVERYTHING, width))?;
        effect(everything, out)?;
    }
    writeln!(out)?;
    notes(&prediction.notes, "", out)
}

const EVERYTHING: &str = "together";

fn activity_lines(activity: &Activity, page_bytes: u64, out: &mut dyn Write) -> Result<(), Error> {
    let Activity { statements, connections, pages_read, pages_written, .. } = activity;
    let processors = |used: Option<f64>| used.map_or_else(|| "unknown".to_owned(), figure);
    writeln!(out, "\nPer second, in {:.0} s", activity.seconds)?;
    writeln!(
        out,
        "  statements {}, running at a time {}, new connections {}",
        figure(*statements),
        figure(activity.running_sessions),
        figure(*connections)
    )?;
    writeln!(out, "  pages of {} read {}, written {}", size(page_bytes), figure(*pages_read), figure(*pages_written))?;
    let binlog = activity.binlog_bytes.map_or_else(|| "unknown".to_owned(), mib);
    writeln!(
        out,
        "  redo log {}, binary logs {binlog}, clients {}",
        mib(activity.redo_bytes),
        mib(activity.client_bytes)
    )?;
    let (server, all) = (processors(activity.server_processors), processors(activity.busy_processors));
    Ok(writeln!(out, "  processors used by the server {server}, by all {all}")?)
}

fn mib(bytes: f64) -> String {
    format!("{} MiB", figure(bytes / f64::from(1 << 20)))
}

fn layer(one: &LayerPrediction, width: usize, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "\n{}  {}", pad(one.layer, width), state(one.state))?;
    if matches!(one.state, State::Unsupported | State::Absent) {
        return Ok(());
    }
    effect(&one.effect, out)?;
    for cost in &one.operations {
        let Cost { operation, per_second, seconds_each, .. } = cost;
        let background = if cost.is_waited_for { "" } else { ", in the background" };
        writeln!(out, "    {operation}: {} × {}{background}", range(*per_second), time(*seconds_each))?;
    }
    if let Some(seconds) = one.handshake_seconds {
        writeln!(out, "    a new connection takes {} longer, and a round trip", time(seconds))?;
    }
    Ok(())
}

const fn state(state: State) -> &'static str {
    match state {
        State::Clear => "in clear text; if it is encrypted",
        State::Partly => "partly encrypted; if the rest is encrypted, at most",
        State::Encrypted => "encrypted already; it pays now",
        State::Unsupported => "this version cannot encrypt it",
        State::Absent => "nothing there to encrypt",
        State::Unknown => "not known whether it is encrypted; if all of it is still to be encrypted",
    }
}

fn effect(effect: &Effect, out: &mut dyn Write) -> Result<(), Error> {
    let Effect { processors, server_cpu_percent, latency_seconds, throughput_loss_percent } = effect;
    let cpu = server_cpu_percent.map(|percent| format!(" ({} % of the server's time)", range(percent)));
    writeln!(out, "  processors {}{}", range(*processors), cpu.unwrap_or_default())?;
    if let (Some(latency), Some(loss)) = (latency_seconds, throughput_loss_percent) {
        writeln!(out, "  a statement {} longer, throughput {} % less", time(*latency), range(*loss))?;
    }
    Ok(())
}

/// Both limits; one figure if they are equal.
fn range(range: Range) -> String {
    let [low, high] = [range.low, range.high].map(small);
    if low == high { low } else { format!("{low} to {high}") }
}

/// Two significant digits of small figures.
fn small(value: f64) -> String {
    match value {
        ..0.0005 if value > 0.0 => "<0.001".to_owned(),
        ..0.1 => format!("{value:.3}"),
        _ => figure(value),
    }
}

/// Both limits of a time.
fn time(seconds: Range) -> String {
    let [low, high] = [seconds.low, seconds.high].map(short_seconds);
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_look_the_same_are_one_figure() {
        assert_eq!(range(Range::exactly(0.0)), "0.000");
        assert_eq!(range(Range { low: 0.0, high: 0.0001 }), "0.000 to <0.001");
        assert_eq!(time(Range { low: 1e-7, high: 5e-7 }), "100 ns to 500 ns");
        assert_eq!(time(Range::exactly(3e-6)), "3.00 µs");
    }

    #[test]
    fn a_layer_is_shown_with_its_calculation() {
        let reading = Cost {
            operation: "pages read",
            per_second: Range::exactly(500.0),
            seconds_each: Range { low: 3e-6, high: 6e-6 },
            is_waited_for: true,
            is_of_client: false,
        };
        let writing = Cost { operation: "pages written", is_waited_for: false, ..reading };
        let effect = Effect {
            processors: Range { low: 0.01, high: 0.02 },
            server_cpu_percent: Some(Range { low: 1.0, high: 2.0 }),
            latency_seconds: Some(Range { low: 1e-6, high: 2e-5 }),
            throughput_loss_percent: Some(Range { low: 0.5, high: 2.0 }),
        };
        let one = LayerPrediction {
            layer: "tables",
            state: State::Clear,
            operations: vec![reading, writing],
            effect,
            handshake_seconds: None,
        };
        let text = crate::text::collect(|out| layer(&one, 10, out)).unwrap();
        let wanted = "\ntables      in clear text; if it is encrypted\n  \
             processors 0.010 to 0.020 (1.00 to 2.00 % of the server's time)\n  \
             a statement 1.00 µs to 20.0 µs longer, throughput 0.500 to 2.00 % less\n    \
             pages read: 500 × 3.00 µs to 6.00 µs\n    pages written: 500 × 3.00 µs to 6.00 µs, in the background\n";
        assert_eq!(text, wanted);
        let absent = LayerPrediction { state: State::Absent, ..one };
        let text = crate::text::collect(|out| layer(&absent, 10, out)).unwrap();
        assert_eq!(text, "\ntables      nothing there to encrypt\n");
    }
}
