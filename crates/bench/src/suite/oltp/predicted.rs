//! Compares what the counters of the server in clear text predict with what was measured, and says where the time goes.

use files::quantity::short_seconds;

use crate::{
    Error, PredictionRecord, Security, ServerArm, WireArm,
    oltp::{BenchServer, Load, observation_of},
    predict::{self, Calibration, Cost, Prediction, Range},
    suite::Collected,
};

/// A prediction for the load of a measurement.
pub(super) struct Predicted {
    prediction: Prediction,
    /// Transactions per second while the server was observed.
    transactions: f64,
}

/// Layers of `predict` that an arm encrypts, and the arm that it is compared with.
struct Expectation {
    arm: &'static str,
    to: &'static str,
    layers: &'static [&'static str],
}

const EXPECTATIONS: [Expectation; 3] = [
    Expectation { arm: ServerArm::TABLES.as_str(), to: ServerArm::CLEAR.as_str(), layers: &[predict::TABLES] },
    Expectation {
        arm: ServerArm::EVERYTHING.as_str(),
        to: ServerArm::CLEAR.as_str(),
        layers: &[predict::TABLES, predict::UNDO, predict::REDO, predict::BINARY_LOGS],
    },
    Expectation { arm: WireArm::Tls.as_str(), to: WireArm::Tcp.as_str(), layers: &[predict::CONNECTIONS] },
];

impl Predicted {
    /// Observes the server while the load runs over TCP.
    pub(super) fn of(server: &BenchServer<'_>, load: Load<'_>, calibration: Calibration) -> Result<Self, Error> {
        let load = Load { span: observation_of(load.span), ..load };
        let (prediction, transactions) = server.predict(&server.tcp(Security::Plain), &load, calibration)?;
        Ok(Self { prediction, transactions })
    }

    /// Adds what was predicted for the arms of all experiments, and notes on where their time goes.
    pub(super) fn compare(&self, collected: &mut Collected) {
        for experiment in &mut collected.experiments {
            for ratio in &experiment.ratios {
                let expectation = EXPECTATIONS.iter().find(|one| one.arm == ratio.of && one.to == ratio.to);
                let Some(Expectation { arm, layers, .. }) = expectation else { continue };
                let Some(loss) = self.prediction.effect(layers).throughput_loss_percent else { continue };
                experiment.predictions.push(PredictionRecord::new(ratio, loss));
                experiment.notes.push(where_time_goes(arm, &self.prediction.operations(layers), self.transactions));
            }
        }
    }
}

/// The calculated processor time of encryption in a transaction.
fn where_time_goes(arm: &str, operations: &[Cost], transactions: f64) -> String {
    let each = |cost: &Cost| {
        let number = cost.per_second.high / transactions.max(f64::MIN_POSITIVE);
        format!("{number:.2} {} × {}", cost.operation, times(cost.seconds_each))
    };
    let total = operations.iter().fold(Range::default(), |sum, cost| sum.plus(cost.processors()));
    let list: Vec<String> = operations.iter().filter(|cost| cost.per_second.high > 0.0).map(each).collect();
    format!(
        "{arm}, calculated encryption in a transaction: {}; together {} of the server's processor time",
        list.join(", "),
        times(total.map(|seconds| seconds / transactions.max(f64::MIN_POSITIVE)))
    )
}

fn times(seconds: Range) -> String {
    format!("{} to {}", short_seconds(seconds.low), short_seconds(seconds.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_transaction_is_calculated_from_its_operations() {
        let read = Cost {
            operation: "pages read",
            per_second: Range::exactly(500.0),
            seconds_each: Range { low: 3e-6, high: 6e-6 },
            is_waited_for: true,
        };
        let unused = Cost { per_second: Range::default(), ..read };
        assert_eq!(
            where_time_goes("tde", &[read, unused], 100.0),
            "tde, calculated encryption in a transaction: 5.00 pages read × 3.00 µs to 6.00 µs; together 15.0 µs to \
             30.0 µs of the server's processor time"
        );
    }
}
