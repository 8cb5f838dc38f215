//! Results of parts that are done, kept until the report is written.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use files::{WriteOptions, write_atomic};
use serde::{Deserialize, Serialize};

use super::{Part, PartRecord};
use crate::{Error, Record, Sample, suite::Outcome};

/// Directory of the results, below the directory of the measurement.
const DIRECTORY: &str = "sealant-cost";

/// Results of an earlier run with the same program, server and data, and of this one.
pub(super) struct Saved {
    directory: PathBuf,
    conditions: Conditions,
}

/// What results depend on; others are not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Conditions {
    version: String,
    optimised: bool,
    server: String,
    rows: u32,
}

#[derive(Serialize, Deserialize)]
struct Document {
    conditions: Conditions,
    record: Record,
    samples: Vec<Sample>,
}

impl Saved {
    pub(super) fn below(parent: &Path, server: &str, rows: u32) -> Result<Self, Error> {
        let parent = fs::canonicalize(parent).map_err(Error::file(parent))?;
        let conditions = Conditions {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            optimised: !cfg!(debug_assertions),
            server: server.to_owned(),
            rows,
        };
        Ok(Self { directory: parent.join(DIRECTORY), conditions })
    }

    fn path(&self, part: Part) -> PathBuf {
        self.directory.join(format!("{part}.json"))
    }

    /// Whether there is a result of the part. One that cannot be read is measured again.
    pub(super) fn has(&self, part: Part) -> bool {
        self.document(part).is_ok_and(|document| document.conditions == self.conditions)
    }

    fn document(&self, part: Part) -> Result<Document, Error> {
        let path = self.path(part);
        let bytes = fs::read(&path).map_err(Error::file(&path))?;
        serde_json::from_slice(&bytes).map_err(|error| Error::CostFile { path, reason: error.to_string() })
    }

    pub(super) fn keep(&self, part: Part, outcome: &Outcome) -> Result<(), Error> {
        match fs::create_dir(&self.directory) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(Error::file(&self.directory)(error)),
            _ => {}
        }
        let document = Document {
            conditions: self.conditions.clone(),
            record: outcome.record.clone(),
            samples: outcome.samples.clone(),
        };
        let path = self.path(part);
        let bytes = serde_json::to_vec(&document)
            .map_err(|error| Error::CostFile { path: path.clone(), reason: error.to_string() })?;
        write_atomic(&path, &bytes, WriteOptions::PUBLIC.replacing(true)).map_err(Error::file(path))
    }

    /// The results of these parts, and all samples.
    pub(super) fn read(&self, parts: &[Part]) -> Result<(Vec<PartRecord>, Vec<Sample>), Error> {
        let (mut records, mut samples) = (Vec::new(), Vec::new());
        for part in parts {
            let document = self.document(*part)?;
            records.push(PartRecord { part: *part, record: document.record });
            samples.extend(document.samples);
        }
        Ok((records, samples))
    }
}

/// Removes the results of all parts below a directory.
pub(super) fn remove(parent: &Path) -> Result<(), Error> {
    let directory = parent.join(DIRECTORY);
    for part in Part::ALL {
        let path = directory.join(format!("{part}.json"));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::file(path)(error)),
            _ => {}
        }
    }
    match fs::remove_dir(&directory) {
        // Somebody put other files there.
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
            Err(Error::file(directory)(error))
        }
        _ => Ok(()),
    }
}
