//! Suites: the compared arms, their data and sizes, and notes for readers of the figures.
//!
//! Each suite checks its requirements before a long run, measures, and returns a [`Record`] and every sample.

pub mod backup;
pub(crate) mod copies;
pub mod disk;
pub(crate) mod joins;
pub mod migrate;
pub mod oltp;
pub mod served;
pub mod sst;
pub mod tls;
pub mod transfer;
pub mod verify;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    Environment, Error, Experiment, ExperimentRecord, PeerVerdicts, Program, Progress, Record, SCHEMA, Sample, Samples,
    Settings, Stop, Subject, TemporaryDirectory, tls::version_of,
};

/// Receives the progress of a suite, for the status line.
pub type Watch<'a> = dyn Fn(&str) + 'a;

/// Results of a suite.
#[derive(Debug)]
pub struct Outcome {
    /// The report.
    pub record: Record,
    /// The samples behind it.
    pub samples: Vec<Sample>,
    /// Whether a signal ended the measurement; then these are the rounds that were completed before.
    pub interrupted: bool,
}

/// Results so far.
#[derive(Debug, Default)]
struct Collected {
    samples: Vec<Sample>,
    experiments: Vec<ExperimentRecord>,
    opinions: Vec<PeerVerdicts>,
    programs: Vec<Program>,
    missing: Vec<String>,
    notes: Vec<String>,
}

impl Collected {
    /// Runs an experiment and keeps its samples, with the ratios of these pairs of arms.
    fn run(
        &mut self,
        experiment: Experiment<'_>,
        settings: &Settings<'_>,
        pairs: &[(String, String)],
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let samples = run(experiment.compare(pairs), settings, watch)?;
        self.experiments.push(samples.record());
        self.samples.extend_from_slice(samples.all());
        Ok(())
    }

    /// Ends a measurement: after a signal, the experiments so far are its outcome. Returns whether there was one.
    ///
    /// # Errors
    /// Why the measurement failed; [`Error::Interrupted`] before the first experiment.
    fn end(&mut self, measured: Result<(), Error>, stopped: &AtomicBool) -> Result<bool, Error> {
        // After the signal that ends this program, every error is only a consequence of it.
        if measured.is_ok() || !stopped.load(Ordering::Relaxed) {
            return measured.map(|()| false);
        }
        if self.experiments.is_empty() {
            return Err(Error::Interrupted);
        }
        self.notes.push("interrupted: what is not listed here was not measured".to_owned());
        Ok(true)
    }

    /// Judges the differences of the last experiment again, by the resolution.
    fn resolve(&mut self, resolution_percent: Option<f64>) {
        if let (Some(last), Some(percent)) = (self.experiments.last_mut(), resolution_percent) {
            last.resolve(percent);
        }
    }

    /// Puts notes on the machine before the other notes.
    fn finish(self, environment: Environment, subject: Subject) -> Outcome {
        let mut notes = conditions(&environment);
        notes.extend(self.notes);
        let Self { samples, experiments, opinions, programs, missing, .. } = self;
        let interrupted = experiments.iter().any(|experiment| experiment.stopped == Stop::Interrupted);
        let record =
            Record { schema: SCHEMA.into(), environment, subject, programs, missing, experiments, opinions, notes };
        Outcome { record, samples, interrupted }
    }
}

/// Pairs of the first of these arms with each of the others.
fn first_with_others<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<(String, String)> {
    let mut names = names.into_iter();
    let Some(first) = names.next() else { return Vec::new() };
    names.map(|other| (first.to_owned(), other.to_owned())).collect()
}

/// Refuses a file system without room for servers and their data; `directory` is the one that the user has named.
fn require_room(directory: &Path, scratch: &TemporaryDirectory, needed: u64) -> Result<(), Error> {
    let room = scratch.free_bytes()?;
    if room < needed {
        return Err(Error::NoServerRoom { path: directory.to_owned(), needed, room });
    }
    Ok(())
}

fn run(experiment: Experiment<'_>, settings: &Settings<'_>, watch: &Watch<'_>) -> Result<Samples, Error> {
    let show = |progress: &Progress<'_>| {
        let round = progress.rounds.saturating_add(1);
        watch(&format!("{}: round {round}, {}", progress.experiment, progress.arm));
    };
    experiment.run(settings, &show)
}

/// Notes on conditions of the machine that make figures doubtful.
fn conditions(environment: &Environment) -> Vec<String> {
    let mut notes = Vec::new();
    if !environment.optimised {
        notes.push("this program was built without optimisation: the figures are meaningless".to_owned());
    }
    if environment.is_busy() {
        notes.push("other programs kept the processors busy; trust the ratios, not the rates".to_owned());
    }
    notes
}

/// The server program: the given one, or the first of these names in `PATH` or in a directory of administrators'
/// programs.
pub(crate) fn server_program(named: Option<&Path>, names: &[&str]) -> Result<PathBuf, Error> {
    let Some(program) = named else {
        let found = names.iter().find_map(process::find);
        return found.or_else(|| names.iter().find_map(process::find_admin)).ok_or(Error::NoServer);
    };
    let found = process::find(program.as_os_str());
    found.ok_or_else(|| Error::NoProgram { program: program.to_owned(), has_version: false })
}

/// As `server_program`, of this version: 97 and 9.7 are 9.7.4.
///
/// # Errors
/// [`Error::NoServer`]; [`Error::OtherVersion`] if the installed program is of another version; [`Error::Program`] if it
/// does not print it.
pub fn server_of_version(names: &[&str], wanted: &str) -> Result<PathBuf, Error> {
    let program = server_program(None, names)?;
    let version = version_of(&program)?;
    if begins_with(&version, wanted) {
        return Ok(program);
    }
    Err(Error::OtherVersion { program, version, wanted: wanted.to_owned() })
}

/// Whether the first numbers of a version are these, which may be written without dots.
fn begins_with(version: &str, wanted: &str) -> bool {
    let (wanted, mut numbers) = (wanted.replace('.', ""), String::new());
    version.split(|c: char| !c.is_ascii_digit()).take(3).any(|number| {
        numbers.push_str(number);
        numbers == wanted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_named_with_dots_or_without() {
        for wanted in ["9", "97", "9.7", "9.7.4"] {
            assert!(begins_with("9.7.4", wanted), "{wanted}");
        }
        assert!(begins_with("10.11.19-MariaDB", "1011") && begins_with("8.4.3-commercial", "84"));
        for wanted in ["10", "975", "8"] {
            assert!(!begins_with("9.7.4", wanted), "{wanted}");
        }
        assert!(!begins_with("10.11.19-MariaDB", "101"));
    }

    #[test]
    fn a_busy_machine_and_a_debug_build_are_noted() {
        let here = Environment::now(Path::new("."));
        let quiet = Environment { optimised: true, busy_cores: Some(0.0), ..here.clone() };
        assert!(conditions(&quiet).is_empty());
        let busy = Environment { optimised: false, busy_cores: Some(1000.0), ..here };
        let notes = conditions(&busy);
        assert!(notes.len() == 2 && notes[0].contains("without optimisation") && notes[1].contains("trust the ratios"));
    }
}
