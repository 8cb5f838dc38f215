//! Compares what the counters of the server in clear text predict with what was measured.

use crate::{
    ArmRecord, Error, ExperimentRecord, PredictionRecord, Security, ServerArm, WireArm, WorkRecord,
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
    Expectation { arm: WireArm::TLS.as_str(), to: WireArm::Tcp.as_str(), layers: &[predict::CONNECTIONS] },
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
        // The load that was observed is that of the first number of clients.
        let is_predicted = |experiment: &&mut ExperimentRecord| {
            experiment.compared_by.is_rate()
                && [AT_REST, ON_THE_WIRE].iter().any(|what| experiment.name.ends_with(what))
        };
        for experiment in collected.experiments.iter_mut().filter(is_predicted) {
            for ratio in &experiment.ratios {
                let expectation = EXPECTATIONS.iter().find(|one| one.arm == ratio.of && one.to == ratio.to);
                let Some(Expectation { layers, to, .. }) = expectation else { continue };
                let clear = experiment.arms.iter().find(|arm| arm.name == *to);
                let Some(work) = clear.and_then(|arm| self.activity_of(arm)) else { continue };
                let Some(loss) = self.prediction.effect_on(&work, layers).throughput_loss_percent else { continue };
                experiment.predictions.push(PredictionRecord::new(ratio, loss));
            }
        }
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
