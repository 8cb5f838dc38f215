//! Experiments: arms that run in interleaved rounds.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crate::{
    Error,
    operations::Operations,
    record::{ComparedBy, Stop, Unit},
    samples::{Detail, Sample, Samples},
    stats::MIN_ROUNDS,
};

/// Result of one run of an arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Amount of work, in the experiment's [`Unit`].
    pub amount: u64,
    /// Duration in seconds, if the arm measures it more precisely than the caller; for example, if a program reports
    /// its time without its start.
    pub seconds: Option<f64>,
    /// Latencies and CPU time.
    pub detail: Option<Detail>,
    /// Latency and cost of single operations.
    pub operations: Option<Operations>,
}

/// Runs an arm once.
type Run<'a> = Box<dyn FnMut() -> Result<Work, Error> + 'a>;
/// Prepares the machine for a run.
type Prepare<'a> = Box<dyn FnMut() -> Result<(), Error> + 'a>;

/// One of the compared alternatives: a program, a setting or a route.
pub struct Arm<'a> {
    name: String,
    run: Run<'a>,
}

impl<'a> Arm<'a> {
    /// An arm whose run is timed from outside.
    pub fn new(name: impl Into<String>, mut run: impl FnMut() -> Result<u64, Error> + 'a) -> Self {
        Self::self_timed(name, move || run().map(|amount| Work { amount, seconds: None, ..Work::default() }))
    }

    /// An arm that may report its own duration.
    pub fn self_timed(name: impl Into<String>, run: impl FnMut() -> Result<Work, Error> + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// Until the intervals are narrow, or the time budget is used up.
    UntilNarrow,
    /// Exactly this many, regardless of the budget.
    Exactly(NonZeroU32),
}

/// When an experiment stops.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Number of rounds.
    pub rounds: Rounds,
    /// Time budget of one experiment; at least six rounds are run.
    pub budget: Duration,
    /// Target: the 95 % interval of every ratio, or without ratios of every median, is narrower than this share of it.
    pub max_relative_width: f64,
    /// Whether every arm first runs once without being measured.
    pub warm_up: bool,
    /// The flag that a signal sets to end the measurement. What then fails in a round is a consequence of the signal, and
    /// the completed rounds are the result.
    pub stopped: Option<&'a AtomicBool>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            rounds: Rounds::UntilNarrow,
            budget: Duration::from_secs(60),
            max_relative_width: 0.03,
            warm_up: true,
            stopped: None,
        }
    }
}

/// Maximum number of rounds without [`Rounds::Exactly`].
const MAX_ROUNDS: u32 = 200;

/// Progress of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Name of the experiment.
    pub experiment: &'a str,
    /// Name of the arm that runs next.
    pub arm: &'a str,
    /// Number of completed rounds.
    pub rounds: u32,
}

/// Arms that do the same work.
pub struct Experiment<'a> {
    name: String,
    unit: Unit,
    block_bytes: Option<u64>,
    arms: Vec<Arm<'a>>,
    compared_by: ComparedBy,
    pairs: Vec<(String, String)>,
    prepare: Option<Prepare<'a>>,
}

impl<'a> Experiment<'a> {
    /// An experiment without arms.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            unit: Unit::Bytes,
            block_bytes: None,
            arms: Vec::new(),
            compared_by: ComparedBy::Rate,
            pairs: Vec::new(),
            prepare: None,
        }
    }

    /// Sets a unit other than bytes.
    #[must_use]
    pub fn unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    /// Declares the block size in which bytes are processed, so that reports show the time per block.
    #[must_use]
    pub fn block_bytes(self, bytes: u64) -> Self {
        Self { block_bytes: Some(bytes), ..self }
    }

    /// Adds an arm.
    #[must_use]
    pub fn arm(mut self, arm: Arm<'a>) -> Self {
        self.arms.push(arm);
        self
    }

    /// Adds several arms.
    #[must_use]
    pub fn arms(mut self, arms: impl IntoIterator<Item = Arm<'a>>) -> Self {
        self.arms.extend(arms);
        self
    }

    /// Compares these pairs of arms, each with the arm in the denominator last.
    #[must_use]
    pub fn compare(self, pairs: &[(String, String)]) -> Self {
        Self { pairs: pairs.to_vec(), ..self }
    }

    /// Sets what arms are compared by, instead of the rate.
    #[must_use]
    pub fn compared_by(self, compared_by: ComparedBy) -> Self {
        Self { compared_by, ..self }
    }

    /// Sets the preparation before every run of every arm; it is not measured.
    #[must_use]
    pub fn before_each(mut self, prepare: impl FnMut() -> Result<(), Error> + 'a) -> Self {
        self.prepare = Some(Box::new(prepare));
        self
    }

    /// Runs all rounds, and returns every sample.
    ///
    /// # Errors
    /// The first error of an arm; after a signal, [`Error::Interrupted`] if no round was completed before.
    pub fn run(mut self, settings: &Settings<'_>, progress: &dyn Fn(&Progress<'_>)) -> Result<Samples, Error> {
        let started = Instant::now();
        let mut samples = Samples {
            name: self.name.clone(),
            unit: self.unit,
            block_bytes: self.block_bytes,
            arms: self.arms.iter().map(|arm| arm.name.clone()).collect(),
            samples: Vec::new(),
            rounds: 0,
            stop: Stop::Rounds,
            compared_by: self.compared_by,
            pairs: self.pairs.clone(),
        };
        if settings.warm_up {
            self.round(0, settings, progress)?;
        }
        let warm = Instant::now();
        loop {
            match self.round(samples.rounds, settings, progress) {
                Ok(round) => samples.samples.extend(round),
                Err(Error::Interrupted) if samples.rounds > 0 => {
                    samples.stop = Stop::Interrupted;
                    return Ok(samples);
                }
                Err(error) => return Err(error),
            }
            samples.rounds += 1;
            let round = warm.elapsed() / samples.rounds;
            if let Some(stop) = settings.stop(&samples, started.elapsed() + round) {
                samples.stop = stop;
                return Ok(samples);
            }
        }
    }

    /// Runs every arm once, in the order of [`arm_at`].
    fn round(
        &mut self,
        round: u32,
        settings: &Settings<'_>,
        progress: &dyn Fn(&Progress<'_>),
    ) -> Result<Vec<Sample>, Error> {
        let count = self.arms.len();
        let mut sample = |position| {
            settings.check_stopped()?;
            let sample = self.sample(arm_at(position, round, count), round, position, progress);
            // After a signal, every error is only a consequence of it.
            sample.or_else(|error| settings.check_stopped().and(Err(error)))
        };
        (0..count).map(&mut sample).collect()
    }

    fn sample(
        &mut self,
        index: usize,
        round: u32,
        position: usize,
        progress: &dyn Fn(&Progress<'_>),
    ) -> Result<Sample, Error> {
        let arm = &mut self.arms[index];
        progress(&Progress { experiment: &self.name, arm: &arm.name, rounds: round });
        if let Some(prepare) = &mut self.prepare {
            prepare()?;
        }
        let begin = Instant::now();
        let work = (arm.run)()?;
        let seconds = work.seconds.unwrap_or_else(|| begin.elapsed().as_secs_f64());
        let (experiment, arm) = (self.name.clone(), arm.name.clone());
        let Work { amount, detail, operations, .. } = work;
        Ok(Sample {
            part: None,
            experiment,
            arm,
            round,
            position,
            unit: self.unit,
            amount,
            seconds,
            detail,
            operations,
        })
    }
}

/// The arm at a position of a round: A B C, C B A, then B C A, A C B, and so on. Each arm is as often at each position as the
/// others, and as often runs twice in a row, which makes it faster: were the same arm always in the middle, it would seem
/// slower than an equal one.
const fn arm_at(position: usize, round: u32, arms: usize) -> usize {
    let forward = if round.is_multiple_of(2) { position } else { arms - 1 - position };
    (forward + round as usize / 2) % arms
}

impl Settings<'_> {
    /// # Errors
    /// [`Error::Interrupted`] after a signal.
    pub(crate) fn check_stopped(&self) -> Result<(), Error> {
        match self.stopped {
            Some(stopped) if stopped.load(Ordering::Relaxed) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    /// Whether to stop, if another round would end after `next`.
    fn stop(&self, samples: &Samples, next: Duration) -> Option<Stop> {
        match self.rounds {
            Rounds::Exactly(rounds) => (samples.rounds >= rounds.get()).then_some(Stop::Rounds),
            Rounds::UntilNarrow if samples.rounds < MIN_ROUNDS => None,
            Rounds::UntilNarrow if samples.widest() <= self.max_relative_width => Some(Stop::Narrow),
            Rounds::UntilNarrow if samples.rounds >= MAX_ROUNDS => Some(Stop::Rounds),
            Rounds::UntilNarrow => (next > self.budget).then_some(Stop::Budget),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::stats::Interval;

    fn exactly(rounds: u32) -> Settings<'static> {
        let rounds = Rounds::Exactly(NonZeroU32::new(rounds).unwrap());
        Settings { rounds, warm_up: false, ..Settings::default() }
    }

    fn fixed(name: &str, amount: u64, seconds: f64) -> Arm<'_> {
        Arm::self_timed(name, move || Ok(Work { amount, seconds: Some(seconds), ..Work::default() }))
    }

    #[test]
    fn no_arm_has_better_positions_than_others() {
        for arms in 2..=6_usize {
            let order: Vec<usize> = (0..2 * u32::try_from(arms).unwrap())
                .flat_map(|round| (0..arms).map(move |at| arm_at(at, round, arms)))
                .collect();
            for arm in 0..arms {
                for position in 0..arms {
                    let there = order.chunks(arms).filter(|round| round[position] == arm).count();
                    assert_eq!(there, 2, "arm {arm} of {arms} at {position}");
                }
                let again = order.windows(2).filter(|pair| pair[0] == arm && pair[1] == arm).count();
                let across_the_end = usize::from(order.last() == Some(&arm) && order[0] == arm);
                assert_eq!(again + across_the_end, 1, "arm {arm} of {arms}");
            }
        }
    }

    #[test]
    fn rounds_are_interleaved_and_prepared() {
        let log = RefCell::new(String::new());
        let arm = |name: &'static str| {
            let log = &log;
            Arm::new(name, move || {
                log.borrow_mut().push_str(name);
                Ok(1)
            })
        };
        let experiment = Experiment::new("e").arms([arm("A"), arm("B"), arm("C")]).before_each(|| {
            log.borrow_mut().push('.');
            Ok(())
        });
        let samples = experiment.run(&exactly(3), &|_| {}).unwrap();
        assert_eq!(*log.borrow(), ".A.B.C.C.B.A.B.C.A");
        assert_eq!(samples.all().len(), 9);
        assert_eq!(samples.all()[3], Sample { seconds: samples.all()[3].seconds, ..sample("C", 1, 0) });
    }

    fn sample(arm: &str, round: u32, position: usize) -> Sample {
        Sample {
            part: None,
            experiment: "e".to_owned(),
            arm: arm.to_owned(),
            round,
            position,
            unit: Unit::Bytes,
            amount: 1,
            seconds: 0.0,
            detail: None,
            operations: None,
        }
    }

    #[test]
    fn an_arm_twice_as_fast_has_the_ratio_two() {
        let experiment = Experiment::new("e").arm(fixed("fast", 100, 0.5)).arm(fixed("slow", 100, 1.0));
        let pair = ("fast".to_owned(), "slow".to_owned());
        let record = experiment.compare(&[pair]).run(&exactly(5), &|_| {}).unwrap().record();
        assert_eq!(record.arms[0].rate.estimate, 200.0);
        let Interval { estimate, low, high } = record.ratios[0].ratio;
        assert!([estimate, low, high].iter().all(|end| (end - 2.0).abs() < 1e-9), "{:?}", record.ratios);
    }

    #[test]
    fn an_experiment_ends_with_narrow_intervals_or_its_budget() {
        let settings = Settings { warm_up: false, ..Settings::default() };
        let samples = Experiment::new("e").arm(fixed("same", 1, 1.0)).run(&settings, &|_| {}).unwrap();
        assert_eq!((samples.rounds, samples.stop), (MIN_ROUNDS, Stop::Narrow));

        let mut slower = 0.0;
        let noisy = Arm::self_timed("noisy", || {
            slower += 1.0;
            Ok(Work { amount: 1, seconds: Some(slower), ..Work::default() })
        });
        let settings = Settings { budget: Duration::ZERO, ..settings };
        let samples = Experiment::new("e").arm(noisy).run(&settings, &|_| {}).unwrap();
        assert_eq!((samples.rounds, samples.stop), (MIN_ROUNDS, Stop::Budget));
    }

    #[test]
    fn the_first_error_ends_an_experiment() {
        let failing = Arm::new("a", || Err(Error::Work { arm: "a".to_owned(), reason: "no".to_owned() }));
        assert!(Experiment::new("e").arm(failing).run(&exactly(2), &|_| {}).is_err());
    }

    #[test]
    fn the_rounds_before_a_signal_are_the_result() {
        let measured = |rounds: u32| {
            let (stopped, mut runs) = (AtomicBool::new(false), 0);
            let arm = Arm::new("a", || {
                runs += 1;
                if runs <= rounds {
                    return Ok(1);
                }
                stopped.store(true, Ordering::Relaxed);
                Err(Error::Work { arm: "a".to_owned(), reason: "it was killed".to_owned() })
            });
            let settings = Settings { stopped: Some(&stopped), ..exactly(9) };
            Experiment::new("e").arm(arm).run(&settings, &|_| {})
        };
        let samples = measured(3).unwrap();
        assert_eq!((samples.rounds, samples.stop, samples.all().len()), (3, Stop::Interrupted, 3));
        assert!(matches!(measured(0), Err(Error::Interrupted)));

        let (stopped, ran) = (AtomicBool::new(true), RefCell::new(false));
        let arm = Arm::new("a", || {
            *ran.borrow_mut() = true;
            Ok(1)
        });
        let settings = Settings { stopped: Some(&stopped), ..exactly(1) };
        assert!(Experiment::new("e").arm(arm).run(&settings, &|_| {}).is_err() && !*ran.borrow());
    }
}
