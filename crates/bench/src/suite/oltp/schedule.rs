//! How long the measurement takes: said before it begins, and counted down while it runs.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use files::quantity::clock;

use super::OltpSuite;
use crate::{
    Arms, Rounds, Settings,
    oltp::{PURGE_PAUSE, observation_of},
    stats::MIN_ROUNDS,
};

/// Pause between two runs: of a server that writes few changed pages, and of one whose undo history stays long
/// ([`PURGE_PAUSE`]).
pub(crate) const BETWEEN_RUNS: [Duration; 2] =
    [Duration::from_millis(300), Duration::from_millis(300).saturating_add(PURGE_PAUSE)];
/// Time to calibrate this machine for the prediction, and to end all servers.
const END: Duration = Duration::from_secs(5);

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
    started: Instant,
    steps: Vec<(Step, [Duration; 2])>,
    now: Cell<(Step, Instant)>,
}

impl Schedule {
    pub(super) fn new(suite: &OltpSuite<'_>) -> Self {
        let Arms { servers, wires, .. } = &suite.arms;
        // The server in the clear is there twice.
        let count = servers.len().max(1).saturating_add(1);
        let preparation = suite.preparation(count);
        let measured = suite.time.map(|time| suite.without_end(time).saturating_sub(preparation));
        let duration = |arms: usize| {
            let share = measured.map(|measured| share(measured, arms, count.saturating_add(wires.len())));
            share.map_or_else(|| suite.experiment_duration(arms), |share| [share; 2])
        };
        let mut steps = vec![(Step::Servers, [preparation; 2]), (Step::AtRest, duration(count))];
        if !wires.is_empty() {
            steps.push((Step::OnTheWire, duration(wires.len())));
        }
        steps.push((Step::Prediction, [observation_of(suite.scale.span); 2]));
        let started = Instant::now();
        Self { started, steps, now: Cell::new((Step::Servers, started)) }
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
    fn preparation(&self, servers: usize) -> Duration {
        crate::oltp::preparation(&self.scale.tables).saturating_mul(number(servers))
    }

    /// What is left of the time for the whole measurement without its end: the prediction, and the stop of all servers.
    fn without_end(&self, time: Duration) -> Duration {
        time.saturating_sub(observation_of(self.scale.span)).saturating_sub(BETWEEN_RUNS[1]).saturating_sub(END)
    }

    /// The settings of experiments with that many arms, if experiments with `later` arms follow. If the whole measurement
    /// has a time, its rest is shared by the numbers of arms.
    pub(super) fn settings_of(&self, schedule: &Schedule, arms: usize, later: usize) -> Settings<'_> {
        let Some(time) = self.time else { return self.settings };
        let left = self.without_end(time).saturating_sub(schedule.started.elapsed());
        Settings { budget: share(left, arms, arms.saturating_add(later)) / self.load_count(), ..self.settings }
    }

    /// Number of experiments with the same arms, one for each number of clients.
    fn load_count(&self) -> u32 {
        number(self.more_clients.len()).saturating_add(1)
    }

    /// Duration of the experiments with that many arms, one for each number of clients; the first round is not measured.
    fn experiment_duration(&self, arms: usize) -> [Duration; 2] {
        let arms = number(arms);
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
        experiment.map(|duration| duration.saturating_mul(self.load_count()))
    }
}

/// The part of a time that so many of all arms get.
fn share(time: Duration, arms: usize, all: usize) -> Duration {
    time.saturating_mul(number(arms)) / number(all).max(1)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shared_by_the_numbers_of_arms() {
        let minute = Duration::from_secs(60);
        assert_eq!(share(minute, 4, 6) + share(minute, 2, 6), minute);
        assert_eq!(share(minute, 2, 2), minute);
        assert_eq!(share(minute, 0, 0), Duration::ZERO);
    }
}
