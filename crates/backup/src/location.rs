//! The location of a repository: a directory or a bucket.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use store::{
    Directory, S3, Store,
    s3::{Address, DEFAULT_TIMEOUT, GIVE_UP, Lock, LockMode, SCHEME, Settings, Style},
};

use crate::{
    Error,
    policy::{Allowed, Dialect, policy},
};

/// Upper limit, to catch mistakes: nobody could undo a longer lock.
const MAX_LOCK_DAYS: u16 = 3650;

/// Time limit on retries of one call, and on a call without progress, for a run that itself tries again later.
const CALL: Duration = Duration::from_secs(5);
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Location of a repository.
#[derive(Clone, Debug)]
pub enum Location {
    /// A directory of this host.
    Directory(PathBuf),
    /// A bucket, or a prefix in one.
    Bucket(Box<Settings>),
}

/// Further settings of a bucket.
#[derive(Clone, Debug, Default)]
pub struct BucketOptions {
    /// Scheme, host and port of the store, if it is not AWS's.
    pub endpoint: Option<String>,
    /// Region of the bucket.
    pub region: Option<String>,
    /// How requests name the bucket.
    pub addressing: Option<Style>,
    /// File of the authorities that may issue the store's certificate.
    pub ca: Option<PathBuf>,
    /// File with the credentials.
    pub credentials: Option<PathBuf>,
    /// Object lock of new objects, in days.
    pub lock_days: Option<u16>,
    /// Lock mode: who may lift a lock.
    pub lock_mode: Option<LockMode>,
    /// How long a call may make no progress before it is retried.
    pub timeout: Option<Duration>,
    /// How long calls are retried.
    pub give_up: Option<Duration>,
}

impl Location {
    /// Parses an absolute path, `file://` followed by an absolute path, or `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// What is wrong with the URL or the options.
    pub fn parse(url: &str, options: BucketOptions) -> Result<Self, String> {
        if url.starts_with(SCHEME) {
            return options.bucket(url).map(|settings| Self::Bucket(Box::new(settings)));
        }
        let path = url.strip_prefix("file://").unwrap_or(url);
        if !path.starts_with('/') {
            return Err("repository.url must be an absolute path, or s3://BUCKET/PREFIX".to_owned());
        }
        if let Some(option) = options.first() {
            return Err(format!("repository.{option} is for buckets, and repository.url is a directory"));
        }
        Ok(Self::Directory(PathBuf::from(path)))
    }

    /// The repository that a command line names: a bucket with these options, or a directory, to which the options do
    /// not apply.
    ///
    /// # Errors
    /// What is wrong with the bucket's URL or the options.
    pub fn named(repository: &Path, options: BucketOptions) -> Result<Self, String> {
        match repository.to_str().filter(|text| text.starts_with(SCHEME)) {
            Some(url) => Self::parse(url, options),
            None => Ok(Self::from(repository)),
        }
    }

    /// Shortens the retries of store calls, for a run that continues with other work and tries again later.
    pub(crate) fn end_calls_early(&mut self) {
        if let Self::Bucket(settings) = self {
            settings.give_up = settings.give_up.min(CALL);
            settings.timeout = settings.timeout.min(CALL_TIMEOUT);
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn open(&self) -> Result<Box<dyn Store>, Error> {
        Ok(match self {
            Self::Directory(path) => Box::new(Directory::open(path)?),
            Self::Bucket(settings) => Box::new(S3::open(settings)?),
        })
    }

    /// Opens the store, and creates a directory that does not exist. Buckets are created by their owners, who decide on
    /// versions, locks and policies.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn make(&self) -> Result<Box<dyn Store>, Error> {
        match self {
            Self::Directory(path) => Ok(Box::new(Directory::make(path)?)),
            Self::Bucket(_) => self.open(),
        }
    }

    /// A text that identifies the location.
    pub(crate) fn identity(&self) -> String {
        match self {
            Self::Directory(path) => path.display().to_string(),
            Self::Bucket(settings) => format!("{:?}", settings.address),
        }
    }
}

/// A policy that allows the given uses of the repository at `url`, and nothing else.
///
/// # Errors
/// Why the URL does not name a bucket.
pub fn bucket_policy(url: &str, dialect: Dialect, allowed: &[Allowed]) -> Result<serde_json::Value, String> {
    match Location::parse(url, BucketOptions::default())? {
        Location::Bucket(settings) => Ok(policy(&settings.address, dialect, allowed)),
        Location::Directory(_) => Err("a directory has no policy: its file system decides who may write it".to_owned()),
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self::Directory(path.to_owned())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Bucket(settings) => settings.address.fmt(f),
        }
    }
}

impl BucketOptions {
    fn bucket(self, url: &str) -> Result<Settings, String> {
        let address = Address::new(url, self.endpoint.as_deref(), self.region.as_deref(), self.addressing);
        let mode = self.lock_mode.unwrap_or(LockMode::Compliance);
        let days = self.lock_days.unwrap_or(0);
        if days > MAX_LOCK_DAYS {
            return Err(format!("repository.lock_days is more than {MAX_LOCK_DAYS}"));
        }
        if days == 0 && self.lock_mode.is_some() {
            return Err("repository.lock_mode needs repository.lock_days".to_owned());
        }
        Ok(Settings {
            address: address.map_err(|fault| fault.to_string())?,
            ca: self.ca,
            credentials: self.credentials,
            lock: (days > 0).then_some(Lock { mode, days }),
            timeout: self.timeout.unwrap_or(DEFAULT_TIMEOUT),
            give_up: self.give_up.unwrap_or(GIVE_UP),
        })
    }

    /// Name of the first option that is given.
    fn first(&self) -> Option<&'static str> {
        let given = [
            (self.endpoint.is_some(), "endpoint"),
            (self.region.is_some(), "region"),
            (self.addressing.is_some(), "addressing"),
            (self.ca.is_some(), "ca"),
            (self.credentials.is_some(), "credentials"),
            (self.lock_days.is_some(), "lock_days"),
            (self.lock_mode.is_some(), "lock_mode"),
            (self.timeout.is_some(), "timeout"),
            (self.give_up.is_some(), "give_up"),
        ];
        given.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }
}
