//! Compares what the counters of the server in clear text predict with what was measured, and says where the time goes.

use files::quantity::short_seconds;

use crate::{
    Error, RatioRecord, Security, ServerArm, WireArm,
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

    /// Adds notes on the arms of all experiments.
    pub(super) fn compare(&self, collected: &mut Collected) {
        let expected = |ratio: &RatioRecord| {
            let expectation = EXPECTATIONS.iter().find(|one| one.arm == ratio.of && one.to == ratio.to)?;
            let loss = self.prediction.effect(expectation.layers).throughput_loss_percent?;
            let operations = self.prediction.operations(expectation.layers);
            Some([compared(ratio, loss), where_time_goes(expectation.arm, &operations, self.transactions)])
        };
        for experiment in &mut collected.experiments {
            let notes: Vec<String> = experiment.ratios.iter().filter_map(expected).flatten().collect();
            experiment.notes.extend(notes);
        }
    }
}

fn compared(ratio: &RatioRecord, loss: Range) -> String {
    let measured = (1.0 - ratio.ratio.estimate) * 100.0;
    let verdict = match loss.distance(measured) {
        0.0 => "as predicted".to_owned(),
        distance if measured > loss.high => format!("{distance:.1} percentage points more than predicted"),
        distance => format!("{distance:.1} percentage points less than predicted"),
    };
    format!(
        "predicted for {} against {}: {:.1} to {:.1} % less throughput; measured {measured:.1} %: {verdict}",
        ratio.of, ratio.to, loss.low, loss.high
    )
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
    use crate::{Difference, Interval};

    fn ratio(estimate: f64) -> RatioRecord {
        RatioRecord {
            of: "tde".to_owned(),
            to: "clear".to_owned(),
            ratio: Interval { estimate, low: estimate, high: estimate },
            difference: Difference::Seen,
        }
    }

    #[test]
    fn a_measured_loss_is_within_the_prediction_or_so_many_points_off() {
        let loss = Range { low: 1.0, high: 4.0 };
        assert_eq!(
            compared(&ratio(0.97), loss),
            "predicted for tde against clear: 1.0 to 4.0 % less throughput; measured 3.0 %: as predicted"
        );
        assert!(compared(&ratio(0.9), loss).ends_with("6.0 percentage points more than predicted"));
        assert!(compared(&ratio(1.0), loss).ends_with("1.0 percentage points less than predicted"));
    }

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
