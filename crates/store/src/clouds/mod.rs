//! Containers of Azure Blob Storage and buckets of Google Cloud Storage.
//!
//! `object_store` makes, signs and understands the requests. They are sent by this program's own HTTP client, which
//! trusts only the given authorities and repeats requests as it does for S3. Every object is written by one request, on
//! the condition that it does not exist yet. Locks and versions are not supported.

mod address;
mod credentials;
mod failure;
mod transport;

use std::{
    fmt,
    io::{self, Read, SeekFrom},
    ops::Range,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use bytes::{Buf, Bytes};
use futures_util::{StreamExt, stream::BoxStream};
use jiff::Timestamp;
use object_store::{
    Error as CloudError, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
    RetryConfig, azure::MicrosoftAzureBuilder, gcp::GoogleCloudStorageBuilder, path::Path as Key,
};
use tokio::runtime::{Builder, Runtime};

pub use self::address::Address;
use self::{
    address::Provider,
    failure::{Failure, Outcome},
    transport::Transport,
};
use crate::{Body, Deletion, Error, Listed, Name, Put, Store, s3::S3Fault};

/// How often a download is continued after its connection was lost.
const MAX_RESUMES: usize = 10;
/// Limit of the time of a download, after which it is not continued.
const LONGEST_DOWNLOAD: Duration = Duration::from_secs(86_400);

/// Settings of a container or bucket.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its address.
    pub address: Address,
    /// File of the authorities that may issue the store's certificate; `None` for those that the system trusts.
    pub ca: Option<PathBuf>,
    /// File with the credentials; `None` for those of the environment or the machine. Azure: lines `NAME = VALUE` with the
    /// names of the environment variables of Azure's tools; Google: the JSON file of a service account.
    pub credentials: Option<PathBuf>,
    /// How long a call may make no progress before it is retried.
    pub timeout: Duration,
    /// How long calls are retried, ten minutes at most.
    pub give_up: Duration,
}

/// Objects of a container or bucket, below a prefix.
pub struct Cloud {
    store: Box<dyn ObjectStore>,
    runtime: Arc<Runtime>,
    transport: Transport,
    address: Address,
}

impl Cloud {
    /// Opens a container or bucket. No request is made yet.
    ///
    /// # Errors
    /// [`Error::S3`] if the authorities or the credentials cannot be read.
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        let failed = |fault| Error::S3 { location: settings.address.to_string(), fault };
        let transport = Transport::new(settings).map_err(failed)?;
        let store = build(settings, &transport).map_err(failed)?;
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| failed(S3Fault::Answer(error.to_string())))?;
        Ok(Self { store, runtime: Arc::new(runtime), transport, address: settings.address.clone() })
    }

    fn key(&self, name: &Name) -> Key {
        Key::from(self.address.key(name))
    }

    /// The objects whose names begin with a prefix.
    fn prefix(&self, prefix: &str) -> Option<Key> {
        let whole = format!("{}{prefix}", self.address.prefix);
        (!whole.is_empty()).then(|| Key::from(whole))
    }

    fn missing(&self, name: &Name) -> Error {
        Error::Missing { location: self.location(), name: name.clone() }
    }

    fn failed(&self, error: &CloudError) -> Error {
        failed(self.location(), error)
    }

    /// Starts to read an object; with an entity tag, only this version of it.
    fn read(&self, name: &Name, range: Option<Range<u64>>, etag: Option<&str>) -> Result<Box<dyn Read + Send>, Error> {
        if range.as_ref().is_some_and(|range| range.end <= range.start) {
            return Ok(Box::new(io::empty()));
        }
        let (range, if_match) = (range.map(GetRange::Bounded), etag.map(str::to_owned));
        let options = GetOptions { range, if_match, ..GetOptions::default() };
        match self.runtime.block_on(self.store.get_opts(&self.key(name), options)) {
            Ok(found) => Ok(Box::new(Download {
                stream: found.into_stream(),
                piece: Bytes::new(),
                runtime: Arc::clone(&self.runtime),
                location: self.location(),
            })),
            Err(CloudError::NotFound { .. }) => Err(self.missing(name)),
            Err(CloudError::Precondition { .. }) => {
                Err(Error::S3 { location: self.location(), fault: S3Fault::Replaced })
            }
            Err(error) => match Failure::take(&error) {
                Some(Outcome::Beyond) => Ok(Box::new(io::empty())),
                outcome => Err(explained(self.location(), outcome, &error)),
            },
        }
    }

    fn listed(&self, found: &ObjectMeta) -> Option<Listed> {
        // Objects of others, whose names are not valid for Sealant, are skipped.
        let key: &str = found.location.as_ref();
        let name = key.strip_prefix(&self.address.prefix)?.parse().ok()?;
        let modified = Timestamp::from_second(found.last_modified.timestamp()).unwrap_or_default();
        Some(Listed { name, bytes: found.size, modified, etag: found.e_tag.as_deref().map(Into::into) })
    }
}

impl fmt::Debug for Cloud {
    /// Without the credentials, which the parts of `object_store` would show.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.address, f)
    }
}

fn build(settings: &Settings, transport: &Transport) -> Result<Box<dyn ObjectStore>, S3Fault> {
    let (address, file) = (&settings.address, settings.credentials.as_deref());
    // Requests are retried by the transport; what this retries are downloads that were cut off.
    let retry = RetryConfig { max_retries: MAX_RESUMES, retry_timeout: LONGEST_DOWNLOAD, ..RetryConfig::default() };
    let refused = |_| credentials::refused(file);
    Ok(match address.provider {
        Provider::Azure => {
            let builder = MicrosoftAzureBuilder::new()
                .with_account(&address.account)
                .with_endpoint(address.endpoint.clone())
                .with_container_name(&address.container)
                .with_retry(retry)
                .with_http_connector(transport.clone());
            Box::new(credentials::azure(builder, file)?.build().map_err(refused)?)
        }
        Provider::Google => {
            let builder = GoogleCloudStorageBuilder::new()
                .with_base_url(&address.endpoint)
                .with_bucket_name(&address.container)
                .with_retry(retry)
                .with_http_connector(transport.clone());
            Box::new(credentials::google(builder, file)?.build().map_err(refused)?)
        }
    })
}

impl Store for Cloud {
    fn put_new(&self, name: &Name, body: &mut dyn Body, bytes: u64) -> Result<Put, Error> {
        let unreadable = |source| Error::Io { path: name.to_string(), doing: "the body cannot be read", source };
        let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default());
        body.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        body.take(bytes.saturating_add(1)).read_to_end(&mut content).map_err(unreadable)?;
        let found = content.len() as u64;
        if found != bytes {
            return Err(Error::Length { name: name.clone(), expected: bytes, found });
        }
        let options = PutOptions::from(PutMode::Create);
        match self.runtime.block_on(self.store.put_opts(&self.key(name), content.into(), options)) {
            Ok(_) => Ok(Put::New),
            Err(CloudError::AlreadyExists { .. }) => Ok(Put::Exists),
            Err(error) => match Failure::take(&error) {
                Some(Outcome::Unclear) => Ok(Put::Unclear),
                outcome => Err(explained(self.location(), outcome, &error)),
            },
        }
    }

    fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, Error> {
        self.read(name, range, None)
    }

    fn get_listed(&self, listed: &Listed) -> Result<Box<dyn Read + Send>, Error> {
        self.read(&listed.name, None, listed.etag.as_deref())
    }

    fn head(&self, name: &Name) -> Result<Option<u64>, Error> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        match self.runtime.block_on(self.store.get_opts(&self.key(name), options)) {
            Ok(found) => Ok(Some(found.meta.size)),
            Err(CloudError::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        let mut found = Vec::new();
        self.visit(prefix, &mut |listed| found.push(listed))?;
        found.sort_by(|one: &Listed, other: &Listed| one.name.cmp(&other.name));
        Ok(found)
    }

    fn visit(&self, prefix: &str, visit: &mut dyn FnMut(Listed)) -> Result<(), Error> {
        let mut listing = self.store.list(self.prefix(prefix).as_ref());
        while let Some(found) = self.runtime.block_on(listing.next()) {
            let found = found.map_err(|error| self.failed(&error))?;
            if let Some(listed) = self.listed(&found) {
                visit(listed);
            }
        }
        Ok(())
    }

    fn children(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let prefix = self.prefix(prefix);
        let listing = self.runtime.block_on(self.store.list_with_delimiter(prefix.as_ref()));
        let found = listing.map_err(|error| self.failed(&error))?.common_prefixes;
        let child = |key: &Key| key.filename()?.parse::<Name>().ok();
        let mut children: Vec<String> = found.iter().filter_map(child).map(|child| child.to_string()).collect();
        children.sort_unstable();
        Ok(children)
    }

    fn delete(&self, name: &Name) -> Result<Deletion, Error> {
        match self.runtime.block_on(self.store.delete(&self.key(name))) {
            Ok(()) | Err(CloudError::NotFound { .. }) => Ok(Deletion::Done),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn copies_bodies(&self) -> bool {
        true
    }

    fn location(&self) -> String {
        self.address.to_string()
    }

    fn warnings(&self) -> Vec<String> {
        let busy = self.transport.was_busy().then(|| "the store asked to slow down".to_owned());
        busy.into_iter().collect()
    }
}

/// An object that is being read.
struct Download {
    stream: BoxStream<'static, object_store::Result<Bytes>>,
    /// What was received and not read yet.
    piece: Bytes,
    runtime: Arc<Runtime>,
    location: String,
}

impl Read for Download {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.runtime.block_on(self.stream.next()) {
                None => return Ok(0),
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(error)) => return Err(io::Error::other(failed(self.location.clone(), &error))),
            }
        }
        let count = (&*self.piece).read(room)?;
        self.piece.advance(count);
        Ok(count)
    }
}

fn failed(location: String, error: &CloudError) -> Error {
    explained(location, Failure::take(error), error)
}

fn explained(location: String, outcome: Option<Outcome>, error: &CloudError) -> Error {
    let fault = match outcome {
        Some(Outcome::Fault(fault)) => fault,
        _ => S3Fault::Answer(error.to_string()),
    };
    Error::S3 { location, fault }
}
