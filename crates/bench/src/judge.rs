//! Judges the samples of an earlier measurement again, by other arms or by latency.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    ComparedBy, Environment, Error, ExperimentRecord, Record, SCHEMA, Sample, Samples, Subject,
    suite::oltp::{AT_REST, EQUAL, EQUAL_SERVERS, ON_THE_WIRE},
};

/// The first line of a file of samples.
#[derive(Debug, Deserialize, Serialize)]
pub struct SamplesHead {
    /// The machine on which they were taken.
    pub environment: Environment,
}

/// Reads a file of samples, and compares all arms of each experiment with one of them: with `to`, or if an experiment
/// has no such arm, with its first one. What two equal servers show is again the resolution.
///
/// # Errors
/// [`Error::File`]; [`Error::SamplesFile`] and [`Error::SamplesCut`] if the file is not one of samples, or not all of it;
/// [`Error::NoArm`] if no experiment has the arm `to`.
pub fn judge(path: &Path, to: Option<&str>, by: ComparedBy) -> Result<Record, Error> {
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    let last = text.lines().count();
    let mut lines =
        (1..).zip(text.lines()).map(|(number, line)| Line { path, text: line, number, is_last: number == last });
    let failed = |reason: &str| Error::SamplesFile { path: path.to_owned(), reason: reason.to_owned() };
    let head: SamplesHead = lines.next().ok_or_else(|| failed("it is empty"))?.parse()?;
    let samples = lines.map(|line| line.parse()).collect::<Result<Vec<Sample>, Error>>()?;
    let experiments: Vec<Samples> = experiments(samples);
    if experiments.is_empty() {
        return Err(failed("it has no samples"));
    }
    if let Some(arm) = to {
        check_arm(path, arm, &experiments)?;
    }
    let experiments = experiments.into_iter();
    let judged = experiments.map(|experiment| Samples { compared_by: by, ..compared_with(experiment, to) }.record());
    let mut judged: Vec<ExperimentRecord> = judged.collect();
    resolve(&mut judged);
    Ok(Record {
        schema: SCHEMA.into(),
        environment: head.environment,
        subject: Subject::default(),
        programs: Vec::new(),
        missing: Vec::new(),
        experiments: judged,
        opinions: Vec::new(),
        notes: vec![format!("judged again from the samples of {}", path.display())],
    })
}

/// A line of a file of samples.
struct Line<'a> {
    path: &'a Path,
    text: &'a str,
    /// From 1.
    number: usize,
    is_last: bool,
}

impl Line<'_> {
    fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let Self { path, text, number, is_last } = *self;
        serde_json::from_str(text).map_err(|error| match is_last && error.is_eof() {
            true => Error::SamplesCut { path: path.to_owned(), line: number },
            false => Error::SamplesFile { path: path.to_owned(), reason: format!("line {number}: {error}") },
        })
    }
}

/// Refuses an arm that no experiment has.
fn check_arm(path: &Path, arm: &str, experiments: &[Samples]) -> Result<(), Error> {
    let mut arms: Vec<String> = Vec::new();
    for one in experiments.iter().flat_map(|experiment| &experiment.arms) {
        if !arms.contains(one) {
            arms.push(one.clone());
        }
    }
    if arms.iter().any(|one| one == arm) {
        return Ok(());
    }
    Err(Error::NoArm { path: path.to_owned(), arm: arm.to_owned(), arms })
}

/// The experiments of samples, in their order. Parts of `sealant cost` may have experiments of the same name.
fn experiments(samples: Vec<Sample>) -> Vec<Samples> {
    let mut found: Vec<(Option<String>, String, Vec<Sample>)> = Vec::new();
    for sample in samples {
        match found.iter_mut().find(|(part, name, _)| *part == sample.part && *name == sample.experiment) {
            Some((_, _, samples)) => samples.push(sample),
            None => found.push((sample.part.clone(), sample.experiment.clone(), vec![sample])),
        }
    }
    let experiment = |(part, name, all): (Option<String>, String, Vec<Sample>)| {
        let unit = all.first().map(|sample| sample.unit).unwrap_or_default();
        let rounds = all.iter().map(|sample| sample.round.saturating_add(1)).max().unwrap_or_default();
        let samples = Samples::from_samples(&name, unit, rounds, &all);
        Samples { name: part.map_or_else(|| name.clone(), |part| format!("{part}: {name}")), ..samples }
    };
    found.into_iter().map(experiment).collect()
}

/// The experiment with the ratios of all arms to one, and first that of two equal servers.
fn compared_with(experiment: Samples, to: Option<&str>) -> Samples {
    let has = |arm: &str| experiment.arms.iter().any(|one| one == arm);
    let named = to.filter(|arm| has(arm));
    let Some(to) = named.or_else(|| experiment.arms.first().map(String::as_str)) else { return experiment };
    let pair = |of: &str, to: &str| (of.to_owned(), to.to_owned());
    let [again, clear] = EQUAL_SERVERS;
    let equal = (has(again) && has(clear)).then(|| pair(again, clear));
    let others = experiment.arms.iter().filter(|arm| *arm != to).map(|arm| pair(arm, to));
    let others = others.filter(|pair| Some(pair) != equal.as_ref());
    let pairs = equal.iter().cloned().chain(others).collect();
    Samples { pairs, ..experiment }
}

/// Judges differences by that of equal servers. Experiments on the wire have none: the resolution is that of the servers
/// with the same load.
fn resolve(experiments: &mut [ExperimentRecord]) {
    let mut resolutions: Vec<(String, f64)> = Vec::new();
    for experiment in experiments {
        let first = experiment.ratios.first();
        if first.is_some_and(|ratio| [ratio.of.as_str(), ratio.to.as_str()] == EQUAL_SERVERS) {
            let resolution = experiment.resolve_by_equal_arms();
            resolutions.extend(resolution.map(|percent| (experiment.name.clone(), percent)));
        } else if experiment.name.contains(ON_THE_WIRE) {
            let at_rest = [AT_REST, EQUAL].map(|what| experiment.name.replace(ON_THE_WIRE, what));
            let resolution = resolutions.iter().find(|(name, _)| at_rest.contains(name));
            resolution.into_iter().for_each(|(_, percent)| experiment.resolve(*percent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Rounds, Settings, Unit, Work, suite::oltp::CLEAR_AGAIN};

    fn written(experiments: &[(&str, &Samples)]) -> tempfile::NamedTempFile {
        let head = SamplesHead { environment: Environment::now(Path::new("/")) };
        let mut text = serde_json::to_string(&head).unwrap() + "\n";
        for (part, samples) in experiments {
            for sample in samples.all() {
                let sample = Sample { part: Some((*part).to_owned()), ..sample.clone() };
                text += &(serde_json::to_string(&sample).unwrap() + "\n");
            }
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        file
    }

    fn measured(rates: [u64; 3]) -> Samples {
        let arm = |name: &'static str, rate: u64| {
            crate::Arm::self_timed(name, move || Ok(Work { amount: rate, seconds: Some(1.0), ..Work::default() }))
        };
        let [clear, tde, logs] = rates;
        let arms = [arm("clear", clear), arm("tde", tde), arm("tde+logs", logs)];
        let settings =
            Settings { rounds: Rounds::Exactly(std::num::NonZeroU32::new(6).unwrap()), ..Settings::default() };
        Experiment::new("e").unit(Unit::Transactions).arms(arms).run(&settings, &|_| {}).unwrap()
    }

    #[test]
    fn samples_give_the_same_figures_again_by_part_and_with_any_arm() {
        let (memory, commits) = (measured([100, 90, 80]), measured([50, 50, 25]));
        let file = written(&[("in-memory", &memory), ("commits", &commits)]);
        let judged = |to| judge(file.path(), to, ComparedBy::Rate).unwrap();
        let record = judged(None);
        let names: Vec<&str> = record.experiments.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["in-memory: e", "commits: e"]);
        assert_eq!((record.experiments[0].unit, record.experiments[0].rounds), (Unit::Transactions, 6));
        let ratio = |record: &Record, experiment: usize, at: usize| {
            let ratio = &record.experiments[experiment].ratios[at];
            (ratio.of.clone(), ratio.to.clone(), (ratio.ratio.estimate * 1000.0).round())
        };
        let named = |of: &str, to: &str, estimate: f64| (of.to_owned(), to.to_owned(), estimate);
        assert_eq!(ratio(&record, 0, 1), named("tde+logs", "clear", 800.0));
        assert_eq!(ratio(&record, 1, 1), named("tde+logs", "clear", 500.0));
        assert_eq!(ratio(&judged(Some("tde")), 0, 1), named("tde+logs", "tde", 889.0));
    }

    #[test]
    fn two_equal_servers_are_the_resolution_of_both_experiments() {
        let experiment = |what: &str, rates: &[(&'static str, u64)]| {
            let arms = rates.iter().map(|(name, rate)| {
                let rate = *rate;
                crate::Arm::self_timed(*name, move || Ok(Work { amount: rate, seconds: Some(1.0), ..Work::default() }))
            });
            let rounds = Rounds::Exactly(std::num::NonZeroU32::new(6).unwrap());
            let settings = Settings { rounds, ..Settings::default() };
            Experiment::new(format!("load, {what}")).arms(arms).run(&settings, &|_| {}).unwrap()
        };
        let servers = experiment(AT_REST, &[("clear", 100), (CLEAR_AGAIN, 90), ("tde", 95), ("tde+logs", 50)]);
        let wires = experiment(ON_THE_WIRE, &[("socket", 100), ("tcp", 94), ("tls", 50)]);
        let file = written(&[("in-memory", &servers), ("in-memory", &wires)]);
        let record = judge(file.path(), None, ComparedBy::Rate).unwrap();
        let judged = |experiment: usize| -> Vec<(&str, &str, bool)> {
            let ratios = record.experiments[experiment].ratios.iter();
            ratios.map(|one| (one.of.as_str(), one.to.as_str(), one.difference == crate::Difference::Seen)).collect()
        };
        assert_eq!(judged(0), [(CLEAR_AGAIN, "clear", true), ("tde", "clear", false), ("tde+logs", "clear", true)]);
        assert_eq!(judged(1), [("tcp", "socket", false), ("tls", "socket", true)]);
        let to_tables = judge(file.path(), Some("tde"), ComparedBy::Rate).unwrap();
        let first = &to_tables.experiments[0].ratios;
        assert_eq!((first.len(), first[0].of.as_str(), first[0].to.as_str()), (4, CLEAR_AGAIN, "clear"));
    }

    #[test]
    fn other_files_and_arms_are_refused() {
        let error = |text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), text).unwrap();
            judge(file.path(), None, ComparedBy::Rate).unwrap_err()
        };
        let refused = |text: &str| error(text).to_string();
        assert!(refused("").contains("it is empty"));
        assert!(refused("{}\n").contains("line 1: "));
        let file = written(&[("p", &measured([1, 2, 3]))]);
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(refused(&format!("{text}x\n{text}")).contains("line 20: "));
        let (cut, _) = text.trim_end().rsplit_once(':').unwrap();
        assert!(refused(cut).ends_with(": cut off in line 19"));
        assert!(error(cut).hint().unwrap().starts_with("the lines before it are whole"));
        let first = error("{\"environment\": {");
        assert!(first.to_string().ends_with(": cut off in line 1"), "{first}");
        assert!(first.hint().unwrap().starts_with("no sample before it is whole"));
        assert!(refused(text.lines().next().unwrap()).ends_with(": it has no samples"));
        let twice = written(&[("p", &measured([1, 2, 3])), ("q", &measured([1, 2, 3]))]);
        let error = judge(twice.path(), Some("luks"), ComparedBy::Rate).unwrap_err();
        assert!(error.to_string().ends_with(": no experiment has the arm luks"), "{error}");
        assert_eq!(error.hint().unwrap(), "give one of its arms to --to: clear, tde, tde+logs");
    }
}
