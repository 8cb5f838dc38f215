//! Results of completed parts, kept until the report is written.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use files::{WriteOptions, proc::Processor, write_atomic};
use serde::{Deserialize, Serialize};

use super::{DataShape, Part, PartRecord};
use crate::{Error, Record, Sample, predict::Calibration, suite::Outcome};

/// Directory of the results, below the directory of the measurement.
const DIRECTORY: &str = "sealant-cost";
/// Name of the file with the calibration.
const CALIBRATION: &str = "calibration.json";

/// Results of this run, and of an earlier run with the same program, server and data.
#[derive(Debug)]
pub(super) struct Saved {
    directory: PathBuf,
    conditions: Conditions,
    results: Vec<(Part, Document)>,
    /// The calibration of this run, until it is kept.
    new_calibration: Option<Calibration>,
}

/// The conditions that results depend on. Results saved under other conditions are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Conditions {
    version: String,
    optimised: bool,
    server: String,
    rows: u32,
    #[serde(default)]
    cpu: Option<String>,
    /// The server that the data is like.
    #[serde(default)]
    like: Option<DataShape>,
}

impl Conditions {
    /// Name of the directory of their results, so that a measurement of another server or of other data keeps its own.
    fn directory(&self) -> String {
        let like = self.like.as_ref().map(|like| format!("-{}", like.endpoint)).unwrap_or_default();
        let name = format!("{}-{}{like}", self.server, self.rows);
        name.replace(|character: char| !character.is_ascii_alphanumeric() && !"-.".contains(character), "_")
    }

    /// Whether only the sizes of the same server may differ: they are estimates, and change from one look to the next.
    fn are_like(&self, other: &Self) -> bool {
        let endpoint = |of: &Self| of.like.as_ref().map(|shape| shape.endpoint.clone());
        endpoint(self) == endpoint(other) && *self == Self { like: self.like.clone(), ..other.clone() }
    }
}

/// The calibration, measured once for all parts.
#[derive(Debug, Serialize, Deserialize)]
struct CalibrationDocument {
    conditions: Conditions,
    calibration: Calibration,
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    conditions: Conditions,
    record: Record,
    samples: Vec<Sample>,
}

impl Saved {
    /// Reads the saved results of these parts. Ignores a result that cannot be read or has other conditions, so that
    /// the part is measured again.
    pub(super) fn read(
        parent: &Path,
        server: &str,
        rows: u32,
        like: Option<&DataShape>,
        parts: &[Part],
    ) -> Result<Self, Error> {
        let parent = fs::canonicalize(parent).map_err(Error::file(parent))?;
        let conditions = Conditions {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            optimised: !cfg!(debug_assertions),
            server: server.to_owned(),
            rows,
            cpu: Processor::this().model,
            like: like.cloned(),
        };
        let directory = parent.join(DIRECTORY).join(conditions.directory());
        let mut saved = Self { directory, conditions, results: Vec::new(), new_calibration: None };
        for part in parts {
            let document = fs::read(saved.path(*part)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            if saved.results.is_empty()
                && let Some(first) =
                    document.as_ref().filter(|first: &&Document| first.conditions.are_like(&saved.conditions))
            {
                saved.conditions = first.conditions.clone();
            }
            let of_these = document.filter(|document: &Document| document.conditions == saved.conditions);
            saved.results.extend(of_these.map(|document| (*part, document)));
        }
        Ok(saved)
    }

    /// The sizes of the server that the data is like, as the first part used them.
    pub(super) const fn like(&self) -> Option<&DataShape> {
        self.conditions.like.as_ref()
    }

    fn path(&self, part: Part) -> PathBuf {
        self.directory.join(format!("{part}.json"))
    }

    /// The calibration of the run that is resumed; if there is none, `measure` measures it. It is kept with the first
    /// part.
    pub(super) fn calibration(
        &mut self,
        measure: impl FnOnce() -> Result<Calibration, Error>,
    ) -> Result<Calibration, Error> {
        let path = self.directory.join(CALIBRATION);
        let document = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let earlier = document.filter(|document: &CalibrationDocument| document.conditions == self.conditions);
        if let Some(earlier) = earlier.filter(|one| !self.results.is_empty() && one.calibration.fault().is_none()) {
            return Ok(earlier.calibration);
        }
        let calibration = measure()?;
        self.new_calibration = Some(calibration.clone());
        Ok(calibration)
    }

    fn write(&self, path: &Path, document: &impl Serialize) -> Result<(), Error> {
        fs::create_dir_all(&self.directory).map_err(Error::file(&self.directory))?;
        let bytes = serde_json::to_vec(document)
            .map_err(|error| Error::CostFile { path: path.to_owned(), reason: error.to_string() })?;
        write_atomic(path, &bytes, WriteOptions::PUBLIC.replacing(true)).map_err(Error::file(path))
    }

    /// The parts that have a result.
    pub(super) fn parts(&self) -> Vec<Part> {
        self.results.iter().map(|(part, _)| *part).collect()
    }

    pub(super) fn keep(&mut self, part: Part, outcome: Outcome) -> Result<(), Error> {
        if let Some(calibration) = self.new_calibration.take() {
            let document = CalibrationDocument { conditions: self.conditions.clone(), calibration };
            self.write(&self.directory.join(CALIBRATION), &document)?;
        }
        let conditions = self.conditions.clone();
        let document = Document { conditions, record: outcome.record, samples: outcome.samples };
        self.write(&self.path(part), &document)?;
        self.results.push((part, document));
        Ok(())
    }

    /// The files of all results.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.results.iter().map(|(part, _)| self.path(*part)).collect()
    }

    /// All results in the order of the parts, and their samples.
    pub(super) fn into_results(mut self) -> (Vec<PartRecord>, Vec<Sample>) {
        self.results.sort_by_key(|(part, _)| *part);
        let (mut records, mut samples) = (Vec::new(), Vec::new());
        for (part, document) in self.results {
            records.push(PartRecord { part, record: document.record });
            let of_part = |sample| Sample { part: Some(part.to_string()), ..sample };
            samples.extend(document.samples.into_iter().map(of_part));
        }
        (records, samples)
    }
}

/// Removes files of results, their calibration unless results of other parts remain, and the directories that are empty
/// then.
pub(super) fn remove(results: &[PathBuf]) -> Result<(), Error> {
    results.iter().try_for_each(|path| remove_file(path))?;
    let Some(directory) = results.first().and_then(|path| path.parent()) else { return Ok(()) };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    if entries.into_iter().all(|entry| entry.file_name() == CALIBRATION) {
        remove_file(&directory.join(CALIBRATION))?;
    }
    for directory in directory.ancestors().take(2) {
        match fs::remove_dir(directory) {
            // Results of other measurements stay.
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
                return Err(Error::file(directory)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_some_parts_keeps_the_calibration_for_the_others() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join(DIRECTORY).join("MySQL-100");
        fs::create_dir_all(&directory).unwrap();
        let file = |name: &str| directory.join(name);
        for name in ["commits.json", "disk.json", CALIBRATION] {
            fs::write(file(name), "{}").unwrap();
        }
        remove(&[file("disk.json")]).unwrap();
        assert!(file(CALIBRATION).exists() && file("commits.json").exists() && !file("disk.json").exists());
        remove(&[file("commits.json")]).unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        remove(&[file("commits.json")]).unwrap();
    }
}
