//! Compares what the counters of the server in clear text predict with what was measured.

use crate::{
    ArmRecord, Error, ExperimentRecord, PredictionRecord, RatioRecord, Security, ServerArm, WireArm, WorkRecord,
    oltp::{BenchServer, Load, observation_of},
    predict::{self, Activity, Calibration, Prediction},
    suite::{
        Collected,
        oltp::{AT_REST, ON_THE_WIRE},
    },
};

/// A prediction for the load of a measurement.
pub(super) struct Predicted {
    pub(super) prediction: Prediction,
}

/// What is predicted in an experiment.
struct Expectation {
    /// The end of its name.
    experiment: &'static str,
    /// The arm that others are compared with.
    to: &'static str,
    /// The others, each with the layers of `predict` that it encrypts.
    arms: &'static [(&'static str, &'static [&'static str])],
}

const EXPECTATIONS: [Expectation; 2] = [
    Expectation {
        experiment: AT_REST,
        to: ServerArm::CLEAR.as_str(),
        arms: &[
            (ServerArm::TABLES.as_str(), &[predict::TABLES]),
            (ServerArm::EVERYTHING.as_str(), &[predict::TABLES, predict::UNDO, predict::REDO, predict::BINARY_LOGS]),
        ],
    },
    Expectation {
        experiment: ON_THE_WIRE,
        to: WireArm::Tcp.as_str(),
        arms: &[(WireArm::TLS.as_str(), &[predict::CONNECTIONS])],
    },
];

/// The work as the activity of a server, for each transaction instead of each second.
pub(super) fn activity(work: &WorkRecord) -> Activity {
    Activity {
        statements: work.statements.estimate,
        pages_read: work.pages_read.estimate,
        pages_written: work.pages_written.estimate,
        redo_bytes: work.redo_bytes.estimate,
        binlog_bytes: Some(work.binlog_bytes.estimate),
        client_bytes: work.client_bytes.estimate,
        ..Activity::default()
    }
}

impl Predicted {
    /// Observes the server while the load runs over TCP.
    pub(super) fn of(server: &BenchServer<'_>, load: Load<'_>, calibration: Calibration) -> Result<Self, Error> {
        let load = Load { span: observation_of(load.span), ..load };
        let prediction = server.predict(&server.tcp(Security::Plain), &load, calibration)?;
        Ok(Self { prediction })
    }

    /// Adds what was predicted for the arms of all experiments.
    pub(super) fn compare(&self, collected: &mut Collected) {
        for experiment in collected.experiments.iter_mut().filter(|experiment| experiment.compared_by.is_rate()) {
            // The load that was observed is that of the first number of clients; the names of experiments with others end
            // with their number.
            let expected = EXPECTATIONS.iter().find(|expected| experiment.name.ends_with(expected.experiment));
            let predictions = expected.and_then(|expected| self.predictions(experiment, expected));
            experiment.predictions = predictions.unwrap_or_default();
        }
    }

    /// `None` if the arm that others are compared with has no counters.
    fn predictions(&self, experiment: &ExperimentRecord, expected: &Expectation) -> Option<Vec<PredictionRecord>> {
        let work = self.activity_of(experiment.arm(expected.to)?)?;
        let of = |ratio: &RatioRecord| {
            let (_, layers) = expected.arms.iter().find(|(arm, _)| *arm == ratio.of && ratio.to == expected.to)?;
            let loss = self.prediction.effect_on(&work, layers).throughput_loss_percent?;
            Some(PredictionRecord::new(ratio, loss))
        };
        Some(experiment.ratios.iter().filter_map(of).collect())
    }

    /// What the counters of an arm's server say of a transaction in the rounds that were measured. Other programs and
    /// the servers of other arms slow it down in these rounds, and not in the observation.
    fn activity_of(&self, arm: &ArmRecord) -> Option<Activity> {
        let operations = arm.operations.as_ref()?;
        let Activity { running_sessions, server_processors, .. } = self.prediction.activity;
        let observed_processors = server_processors.filter(|used| *used > 0.0)?;
        let server_seconds = operations.server_cpu_seconds.estimate;
        Some(Activity {
            running_sessions: running_sessions / observed_processors * server_seconds,
            server_processors: Some(server_seconds),
            ..activity(&operations.work?)
        })
    }
}
