//! How long the measurement takes: said before it begins, and counted down while it runs.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use files::quantity::clock;

use super::OltpSuite;
use crate::{
    Arms, Rounds,
    oltp::{PURGE_PAUSE, observation_of},
    stats::MIN_ROUNDS,
};

/// Pause between two runs: of a server that writes few changed pages, and of MySQL, which shortens its undo history only with
/// later ones ([`PURGE_PAUSE`]).
const BETWEEN_RUNS: [Duration; 2] =
    [Duration::from_millis(300), Duration::from_millis(300).saturating_add(PURGE_PAUSE)];

/// A step of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The start of all servers.
    Servers,
    /// Encryption at rest, and two equal servers.
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
        // The server in the clear is there twice.
        let count = servers.len().max(1).saturating_add(1);
        let mut steps =
            vec![(Step::Servers, suite.preparation(count)), (Step::AtRest, suite.experiment_duration(count))];
        if !wires.is_empty() {
            steps.push((Step::OnTheWire, suite.experiment_duration(wires.len())));
        }
        steps.push((Step::Prediction, [observation_of(suite.scale.span); 2]));
        Self { steps, now: Cell::new((Step::Servers, Instant::now())) }
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

    /// Duration of the experiments with that many arms, one for each number of clients; the first round is not measured.
    fn experiment_duration(&self, arms: usize) -> [Duration; 2] {
        let arms = u32::try_from(arms).unwrap_or(u32::MAX);
        let warm_up = u32::from(self.settings.warm_up);
        let of_rounds = |rounds: u32| {
            let runs = arms.saturating_mul(rounds.saturating_add(warm_up));
            BETWEEN_RUNS.map(|between| (self.scale.span + between).saturating_mul(runs))
        };
        let experiment = match self.settings.rounds {
            Rounds::Exactly(rounds) => of_rounds(rounds.get()),
            Rounds::UntilNarrow => {
                let [shortest, longest] = of_rounds(MIN_ROUNDS);
                [shortest, longest.max(self.settings.budget)]
            }
        };
        let loads = u32::try_from(self.more_clients.len()).unwrap_or(u32::MAX).saturating_add(1);
        experiment.map(|duration| duration.saturating_mul(loads))
    }
}
