//! A copy that stands still.

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;

use crate::{
    Options,
    error::Error,
    location,
    provider::Provider,
    record::{self, Record},
};

/// How long a copy is to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Until its [`Still`] goes.
    WhileInUse,
    /// Until it is discarded.
    UntilDiscarded,
}

/// A still copy of a data directory. It is removed with this value, unless it was made to stay.
#[derive(Debug)]
pub struct Still {
    root: PathBuf,
    provider: Provider,
    frozen: Duration,
    made: Option<Made>,
}

/// What there is to remove.
#[derive(Debug)]
struct Made {
    directory: PathBuf,
    keep: Keep,
    _lock: File,
}

impl Still {
    /// The data directory of a server that does not run.
    pub(crate) fn stopped(root: &Path) -> Self {
        Self { root: root.to_owned(), provider: Provider::Stopped, frozen: Duration::ZERO, made: None }
    }

    /// The copy's data directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How it was taken.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// How long the server stood for it.
    #[must_use]
    pub fn frozen(&self) -> Duration {
        self.frozen
    }

    /// The name that [`list`](crate::list) shows; `None` if nothing was copied.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let made = self.made.as_ref()?;
        Some(made.directory.file_name()?.to_string_lossy().into_owned())
    }

    /// Removes the copy now.
    ///
    /// # Errors
    /// [`Error::Release`] names what could not be removed.
    pub fn release(mut self) -> Result<(), Error> {
        self.remove()
    }

    fn remove(&mut self) -> Result<(), Error> {
        match self.made.take() {
            Some(made) if made.keep == Keep::WhileInUse => record::remove(&made.directory, self.provider),
            _ => Ok(()),
        }
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        // Whoever has to know calls `release`; what stays is found by `list`.
        let _ = self.remove();
    }
}

/// A copy that is being taken: nothing of it stays if that fails.
#[derive(Debug)]
pub(crate) struct Taking {
    directory: PathBuf,
    record: Record,
    lock: Option<File>,
}

impl Taking {
    /// Makes a directory for it and writes down what it will be.
    pub(crate) fn begin(
        place: &Path,
        datadir: &Path,
        root: &Path,
        provider: Provider,
        options: &Options,
    ) -> Result<Self, Error> {
        let directory = location::make(place, datadir)?;
        let record = Record {
            datadir: datadir.to_owned(),
            root: directory.join(root),
            provider,
            created: Timestamp::now(),
            freeze_ms: None,
            kept: options.keep == Keep::UntilDiscarded,
        };
        let mut taking = Self { directory, record, lock: None };
        taking.lock = Some(record::lock(&taking.directory)?);
        taking.record.write(&taking.directory)?;
        Ok(taking)
    }

    /// The directory of this copy and what is written down about it.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where its data directory will be.
    pub(crate) fn root(&self) -> &Path {
        &self.record.root
    }

    /// The copy is complete.
    pub(crate) fn finish(mut self, frozen: Duration, keep: Keep) -> Result<Still, Error> {
        self.record.freeze_ms = Some(frozen.as_secs_f64() * 1000.0);
        self.record.write(&self.directory)?;
        let (root, provider) = (self.record.root.clone(), self.record.provider);
        let made = self.lock.take().map(|lock| Made { directory: self.directory.clone(), keep, _lock: lock });
        Ok(Still { root, provider, frozen, made })
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        if self.lock.take().is_some() {
            let _ = record::remove(&self.directory, self.record.provider);
        }
    }
}
