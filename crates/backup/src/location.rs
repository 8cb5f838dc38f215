//! The location of a repository: a directory or a bucket.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use store::{
    CLOUD_SCHEMES, Directory, S3, Store,
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
    /// A container of Azure or a bucket of Google, or a prefix in one.
    #[cfg(feature = "clouds")]
    Cloud(Box<store::clouds::Settings>),
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
    /// Parses an absolute path, `file://` followed by an absolute path, `s3://BUCKET/PREFIX`, `az://CONTAINER/PREFIX` or
    /// `gs://BUCKET/PREFIX`. The last two need the feature `clouds`.
    ///
    /// # Errors
    /// What is wrong with the URL or the options.
    pub fn parse(url: &str, options: BucketOptions) -> Result<Self, String> {
        if url.starts_with(SCHEME) {
            return options.bucket(url).map(|settings| Self::Bucket(Box::new(settings)));
        }
        if is_cloud(url) {
            return options.cloud(url);
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
        match repository.to_str().filter(|text| text.starts_with(SCHEME) || is_cloud(text)) {
            Some(url) => Self::parse(url, options),
            None => Ok(Self::from(repository)),
        }
    }

    /// Shortens the retries of store calls, for a run that continues with other work and tries again later.
    pub(crate) fn end_calls_early(&mut self) {
        let (give_up, timeout) = match self {
            Self::Directory(_) => return,
            Self::Bucket(settings) => (&mut settings.give_up, &mut settings.timeout),
            #[cfg(feature = "clouds")]
            Self::Cloud(settings) => (&mut settings.give_up, &mut settings.timeout),
        };
        *give_up = CALL.min(*give_up);
        *timeout = CALL_TIMEOUT.min(*timeout);
    }

    /// Opens the store.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn open(&self) -> Result<Box<dyn Store>, Error> {
        Ok(match self {
            Self::Directory(path) => Box::new(Directory::open(path)?),
            Self::Bucket(settings) => Box::new(S3::open(settings)?),
            #[cfg(feature = "clouds")]
            Self::Cloud(settings) => Box::new(store::clouds::Cloud::open(settings)?),
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
            _ => self.open(),
        }
    }

    /// A text that identifies the location.
    pub(crate) fn identity(&self) -> String {
        match self {
            Self::Directory(path) => path.display().to_string(),
            Self::Bucket(settings) => format!("{:?}", settings.address),
            #[cfg(feature = "clouds")]
            Self::Cloud(settings) => format!("{:?}", settings.address),
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
        #[cfg(feature = "clouds")]
        Location::Cloud(_) => {
            Err("policies are printed for s3:// alone; give roles with the provider's tools".to_owned())
        }
    }
}

/// Whether a URL is one of Azure's or Google's stores.
fn is_cloud(url: &str) -> bool {
    CLOUD_SCHEMES.iter().any(|scheme| url.starts_with(scheme))
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
            #[cfg(feature = "clouds")]
            Self::Cloud(settings) => settings.address.fmt(f),
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

    #[cfg(feature = "clouds")]
    fn cloud(self, url: &str) -> Result<Location, String> {
        let only_s3 = ["region", "addressing", "lock_days", "lock_mode"];
        if let Some(option) = self.given().find(|option| only_s3.contains(option)) {
            return Err(format!("repository.{option} is for s3:// alone"));
        }
        let address = store::clouds::Address::new(url, self.endpoint.as_deref()).map_err(|fault| fault.to_string())?;
        Ok(Location::Cloud(Box::new(store::clouds::Settings {
            address,
            ca: self.ca,
            credentials: self.credentials,
            timeout: self.timeout.unwrap_or(DEFAULT_TIMEOUT),
            give_up: self.give_up.unwrap_or(GIVE_UP),
        })))
    }

    #[cfg(not(feature = "clouds"))]
    fn cloud(self, _: &str) -> Result<Location, String> {
        Err("this program was built without az:// and gs://: build it with `cargo build --release --package sealant \
             --features clouds`"
            .to_owned())
    }

    /// Name of the first option that is given.
    fn first(&self) -> Option<&'static str> {
        self.given().next()
    }

    /// Names of the options that are given.
    fn given(&self) -> impl Iterator<Item = &'static str> {
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
        given.into_iter().filter_map(|(is_given, name)| is_given.then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(feature = "clouds"))]
    #[test]
    fn a_cloud_is_refused_with_the_way_to_build_it() {
        for url in ["az://backups/mysql", "gs://backups/mysql"] {
            for refused in [
                Location::parse(url, BucketOptions::default()),
                Location::named(Path::new(url), BucketOptions::default()),
            ] {
                let refused = refused.unwrap_err();
                assert!(refused.contains("cargo build --release --package sealant --features clouds"), "{refused}");
            }
        }
    }

    #[cfg(feature = "clouds")]
    #[test]
    fn a_cloud_has_no_options_of_s3() {
        let options = |lock_days, endpoint: &str| BucketOptions {
            lock_days,
            endpoint: Some(endpoint.to_owned()),
            ..BucketOptions::default()
        };
        let parse = |options| Location::parse("az://backups/mysql", options).map(|location| location.identity());
        let endpoint = "https://shop1.blob.core.windows.net";
        assert_eq!(parse(options(None, endpoint)).unwrap(), format!("az://backups/mysql at {endpoint}"));
        assert!(parse(options(Some(2), endpoint)).unwrap_err().contains("repository.lock_days is for s3:// alone"));
        assert!(parse(BucketOptions::default()).unwrap_err().contains("endpoint of its account"));
    }
}
