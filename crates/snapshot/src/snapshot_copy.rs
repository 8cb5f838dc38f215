//! A consistent copy of a data directory.

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;

use crate::{
    Options,
    choice::Provider,
    error::Error,
    follow::Followed,
    location, mounted,
    record::{self, Record},
};

/// How long a copy is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Until its [`SnapshotCopy`] is dropped.
    WhileInUse,
    /// Until `sealant snapshot drop` removes it.
    UntilDiscarded,
}

/// A consistent copy of a data directory. Dropping it removes the copy, unless it is to be kept.
#[derive(Debug)]
pub struct SnapshotCopy {
    root: PathBuf,
    provider: Provider,
    frozen: Duration,
    volumes: Vec<String>,
    followed: Option<Followed>,
    made: Option<Removal>,
}

/// What has to be removed.
#[derive(Debug)]
struct Removal {
    directory: PathBuf,
    keep: Keep,
    _lock: File,
}

impl SnapshotCopy {
    /// The data directory of a stopped server.
    pub(crate) fn stopped(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            provider: Provider::Stopped,
            frozen: Duration::ZERO,
            volumes: Vec::new(),
            followed: None,
            made: None,
        }
    }

    /// Data directory of the copy.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The provider that made it.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// How long the server was stopped, or its writes waited.
    #[must_use]
    pub fn frozen(&self) -> Duration {
        self.frozen
    }

    /// Details of the copy, if the server was copied while it worked.
    #[must_use]
    pub fn followed(&self) -> Option<&Followed> {
        self.followed.as_ref()
    }

    pub(crate) fn with_followed(mut self, followed: Followed) -> Self {
        self.followed = Some(followed);
        self
    }

    /// How the copy affected the server, as human-readable text.
    #[must_use]
    pub fn effect(&self) -> String {
        let time = format!("{:.1} ms", self.frozen.as_secs_f64() * 1000.0);
        match self.provider.stops_the_server() {
            true => format!("the server stood still for {time}"),
            false => {
                let (damage, unproven, unlisted) = (self.damage(), self.unproven(), self.unlisted());
                format!("the server ran on, a write waited for {time} at most{damage}{unproven}{unlisted}")
            }
        }
    }

    /// Describes damage that was found in the data directory itself.
    fn damage(&self) -> String {
        match self.followed.as_ref().map(|followed| followed.damaged.as_slice()) {
            None | Some([]) => String::new(),
            Some(all @ [(path, page), ..]) => format!(
                "; {} pages are damaged in the data directory itself, the first is page {page} of {}",
                all.len(),
                path.display()
            ),
        }
    }

    /// Says if tables outside of the data directory may be missing.
    fn unlisted(&self) -> &'static str {
        match self.followed.as_ref().is_some_and(|followed| followed.unlisted) {
            true => {
                "; tables outside the data directory were not looked for, unless the server had them open: the account \
                 lacks PROCESS, to list the files of all tables"
            }
            false => "",
        }
    }

    /// Describes pages that could not be checked.
    fn unproven(&self) -> String {
        match self.followed.as_ref().map_or(0, |followed| followed.unproven_pages) {
            0 => String::new(),
            pages => {
                format!("; {pages} pages could only be read twice and compared, since their key or checksum is missing")
            }
        }
    }

    /// Checks that the copy is still of its instant. Call it after reading the copy and before
    /// relying on what was read.
    ///
    /// # Errors
    /// [`Error::Overflowed`] or [`Error::SnapshotGone`] if it is not.
    pub fn prove(&self) -> Result<(), Error> {
        self.provider.check(&self.volumes)
    }

    /// The name in [`list`](crate::list); `None` if nothing was copied.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let made = self.made.as_ref()?;
        Some(made.directory.file_name()?.to_string_lossy().into_owned())
    }

    /// Removes the copy.
    ///
    /// # Errors
    /// [`Error::Release`] names what could not be removed.
    pub fn release(mut self) -> Result<(), Error> {
        self.remove()
    }

    fn remove(&mut self) -> Result<(), Error> {
        match self.made.take() {
            Some(made) if made.keep == Keep::WhileInUse => {
                record::remove(&made.directory, self.provider, &self.volumes)
            }
            _ => Ok(()),
        }
    }
}

impl Drop for SnapshotCopy {
    fn drop(&mut self) {
        // Callers that need the error call `release`; what is left is found by `list`.
        let _ = self.remove();
    }
}

/// A copy in progress: dropping it removes everything.
#[derive(Debug)]
pub(crate) struct PendingCopy {
    directory: PathBuf,
    volume_name: String,
    record: Record,
    lock: Option<File>,
}

impl PendingCopy {
    /// Creates a directory for it and writes its record.
    pub(crate) fn begin(
        location: &Path,
        datadir: &Path,
        root: &Path,
        provider: Provider,
        options: &Options,
    ) -> Result<Self, Error> {
        Self::begin_in(location::make(location, datadir)?, datadir, root, provider, options)
    }

    /// As [`begin`](Self::begin), for a snapshot that has to be mounted; the data directory is at
    /// `within` in it.
    pub(crate) fn begin_mounted(
        location: &Path,
        datadir: &Path,
        within: &Path,
        provider: Provider,
        options: &Options,
    ) -> Result<Self, Error> {
        let directory = location::make(location, datadir)?;
        let root = mounted::point(directory.file_name().unwrap_or_default()).join(within);
        Self::begin_in(directory, datadir, &root, provider, options)
    }

    fn begin_in(
        directory: PathBuf,
        datadir: &Path,
        root: &Path,
        provider: Provider,
        options: &Options,
    ) -> Result<Self, Error> {
        let record = Record {
            datadir: datadir.to_owned(),
            root: directory.join(root),
            provider,
            created: Timestamp::now(),
            freeze_ms: None,
            kept: options.keep == Keep::UntilDiscarded,
            volumes: Vec::new(),
        };
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let current = datadir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let volume_name = format!("sealant{}", name.strip_prefix(&current).unwrap_or("-"));
        let mut pending = Self { directory, volume_name, record, lock: None };
        pending.lock = Some(record::lock(&pending.directory)?);
        pending.record.write(&pending.directory)?;
        Ok(pending)
    }

    /// The directory of this copy with its record.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Mount point of its snapshot.
    pub(crate) fn mount_point(&self) -> &Path {
        let name = self.directory.file_name().unwrap_or_default();
        self.record.root.ancestors().find(|above| above.file_name() == Some(name)).unwrap_or(&self.record.root)
    }

    /// Name for a snapshot of it: the end of its own name, since the name of the data directory can
    /// be anything.
    pub(crate) fn volume_name(&self) -> &str {
        &self.volume_name
    }

    /// Records the volumes that the provider's tools are about to make.
    pub(crate) fn record_volumes(&mut self, volumes: Vec<String>) -> Result<(), Error> {
        self.record.volumes = volumes;
        self.record.write(&self.directory)
    }

    /// Data directory of the copy.
    pub(crate) fn root(&self) -> &Path {
        &self.record.root
    }

    /// Marks the copy as complete.
    pub(crate) fn finish(mut self, frozen: Duration, keep: Keep) -> Result<SnapshotCopy, Error> {
        self.record.freeze_ms = Some(frozen.as_secs_f64() * 1000.0);
        self.record.write(&self.directory)?;
        let (root, provider) = (self.record.root.clone(), self.record.provider);
        let made = self.lock.take().map(|lock| Removal { directory: self.directory.clone(), keep, _lock: lock });
        let volumes = self.record.volumes.clone();
        Ok(SnapshotCopy { root, provider, frozen, volumes, followed: None, made })
    }
}

impl Drop for PendingCopy {
    fn drop(&mut self) {
        if self.lock.take().is_some() {
            let _ = record::remove(&self.directory, self.record.provider, &self.record.volumes);
        }
    }
}
