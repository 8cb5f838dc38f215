//! How long the measurement takes: said before it begins, and counted down while it runs.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use files::quantity::clock;

use super::OltpSuite;
use crate::{Arms, Rounds, oltp::observation_of, stats::MIN_ROUNDS};

/// Pause between two runs of a server that writes few changed pages.
const BETWEEN_RUNS: Duration = Duration::from_millis(300);

/// A step of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The first server, and a second one like it.
    EqualServers,
    /// Two equal servers.
    EqualArms,
    /// The servers that encrypt.
    Servers,
    /// Encryption at rest.
    AtRest,
    /// Encryption on the wire.
    OnTheWire,
    /// The prediction.
    Prediction,
}

/// Shortest and longest duration of each step.
pub(super) struct Schedule {
    steps: Vec<(Step, [Duration; 2])>,
    now: Cell<(Step, Instant)>,
}

impl Schedule {
    pub(super) fn new(suite: &OltpSuite<'_>) -> Self {
        let Arms { servers, wires, .. } = &suite.arms;
        let others = servers.len().saturating_sub(1);
        let mut steps =
            vec![(Step::EqualServers, suite.preparation(2)), (Step::EqualArms, suite.experiment_duration(2))];
        if others > 0 {
            steps.push((Step::Servers, suite.preparation(others)));
            steps.push((Step::AtRest, suite.experiment_duration(servers.len())));
        }
        if !wires.is_empty() {
            steps.push((Step::OnTheWire, suite.experiment_duration(wires.len())));
        }
        steps.push((Step::Prediction, [observation_of(suite.scale.span); 2]));
        Self { steps, now: Cell::new((Step::EqualServers, Instant::now())) }
    }

    /// Shortest and longest duration of the whole measurement.
    pub(super) fn total(&self) -> [Duration; 2] {
        [0, 1].map(|limit: usize| self.steps.iter().map(|(_, limits)| limits[limit]).sum())
    }

    pub(super) fn begin(&self, step: Step) {
        self.now.set((step, Instant::now()));
    }

    /// The end of a status line, such as `  ETA 01:52`: the time that is left at most, if every step takes as long as
    /// planned.
    pub(super) fn eta(&self) -> String {
        let (step, begin) = self.now.get();
        let mut left = Duration::ZERO;
        for (_, [_, longest]) in self.steps.iter().skip_while(|(one, _)| *one != step) {
            left += *longest;
        }
        format!("  ETA {}", clock(left.saturating_sub(begin.elapsed()).as_secs()))
    }
}

impl OltpSuite<'_> {
    fn preparation(&self, servers: usize) -> [Duration; 2] {
        [crate::oltp::preparation(&self.scale.tables).saturating_mul(u32::try_from(servers).unwrap_or(u32::MAX)); 2]
    }

    /// Duration of an experiment with that many arms; the first round is not measured.
    fn experiment_duration(&self, arms: usize) -> [Duration; 2] {
        let round = (self.scale.span + BETWEEN_RUNS).saturating_mul(u32::try_from(arms).unwrap_or(u32::MAX));
        let warm_up = u32::from(self.settings.warm_up);
        match self.settings.rounds {
            Rounds::Exactly(rounds) => [round.saturating_mul(rounds.get().saturating_add(warm_up)); 2],
            Rounds::UntilNarrow => {
                let least = round.saturating_mul(MIN_ROUNDS + warm_up);
                [least, least.max(self.settings.budget)]
            }
        }
    }
}
