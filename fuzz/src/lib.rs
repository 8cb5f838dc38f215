//! Fuzz targets of every parser of hostile bytes.
//!
//! `tests/corpus.rs` runs them on their corpus and on changed copies of it, with the other tests of the workspace;
//! `src/bin/libfuzzer.rs` hands one of them to libFuzzer.

pub mod innodb;
mod luks;
pub mod mutate;
mod targets;
mod tunnel;

use std::{fs, io, path::PathBuf};

/// A parser, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its directory in `corpus/`.
    pub name: &'static str,
    /// Panics if what must hold does not.
    pub run: fn(&[u8]),
}

impl Target {
    /// All targets.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        targets::ALL
    }

    /// The target of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|target| target.name == name)
    }

    /// The committed inputs, by the names of their files.
    ///
    /// # Errors
    /// If there are none, or one cannot be read.
    pub fn corpus(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name);
        let mut inputs = fs::read_dir(directory)?
            .map(|entry| {
                let entry = entry?;
                Ok((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?))
            })
            .collect::<io::Result<Vec<_>>>()?;
        inputs.sort();
        Ok(inputs)
    }
}
