//! A bucket of an S3 store.
//!
//! Every object is written by one request, on the condition that it does not exist yet (`If-None-Match: *`). Its
//! SHA-256 is in the signature and is stored as its checksum. Multipart uploads are not used: abandoned parts would
//! have to be cleaned up, and the checksum of a multipart object is not that of its bytes. Requests are retried as long
//! as that may help.
//!
//! Source: Amazon S3 API reference, version 2006-03-01.

mod address;
mod backoff;
mod client;
mod download;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod observe;
mod xml;

use std::{
    collections::{BTreeSet, VecDeque},
    io::{self, Cursor, Read, SeekFrom},
    ops::Range,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use aws_lc_rs::digest::{Context, SHA256};
use data_encoding::{BASE64, HEXLOWER};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

pub use self::{
    address::{Address, SCHEME, Style},
    observe::Observed,
};
#[cfg(feature = "clouds")]
pub(crate) use self::{
    address::{endpoint_of, host_of, is_bucket, key_prefix},
    backoff::ConcurrencyLimit,
    client::{ASKED_BYTES, Failed, MAX_ERROR_BYTES, authorities, read, retry, unanswered},
    xml::{Refusal, refusal},
};
use self::{
    client::{Call, Client, Reply, Upload},
    download::Download,
};
pub use crate::s3_fault::S3Fault;
use crate::{Body, Deletion, Error, Listed, LockState, Name, Put, Store, Version, s3_action as action};

/// Default time without progress after which a call is retried.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// Default time without success, from its first failure on, after which a call fails.
pub const GIVE_UP: Duration = Duration::from_secs(600);
/// Maximum length of a page of a listing, which has up to a thousand names.
const MAX_PAGE_BYTES: u64 = 8 << 20;
/// Maximum number of versions of an object to delete, or to return. Sealant puts each name once, so there are few.
const MAX_VERSIONS: u32 = 1000;

/// Settings of a bucket.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Address of the bucket.
    pub address: Address,
    /// File of the authorities that may issue the store's certificate; `None` for those that the system trusts.
    pub ca: Option<PathBuf>,
    /// File with the credentials; `None` for those of the environment or the machine.
    pub credentials: Option<PathBuf>,
    /// Lock of new objects.
    pub lock: Option<Lock>,
    /// How long a call may make no progress before it is retried; see [`DEFAULT_TIMEOUT`].
    pub timeout: Duration,
    /// How long calls are retried; see [`GIVE_UP`].
    pub give_up: Duration,
}

/// Object lock: nobody can delete an object for some days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Who may lift it.
    pub mode: LockMode,
    /// Duration in days.
    pub days: u16,
}

/// Who may lift a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockMode {
    /// Nobody.
    Compliance,
    /// Whoever has the permission `s3:BypassGovernanceRetention`.
    Governance,
}

/// Objects of a bucket, below a prefix.
#[derive(Clone, Debug)]
pub struct S3 {
    client: Arc<Client>,
    lock: Option<Lock>,
}

impl S3 {
    /// Creates a store for a bucket, without sending anything.
    ///
    /// # Errors
    /// [`Error::S3`] if the authorities cannot be read.
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        let failed = |fault| Error::S3 { location: settings.address.to_string(), fault };
        let client = Arc::new(Client::new(settings).map_err(failed)?);
        Ok(Self { client, lock: settings.lock })
    }

    fn failed(&self, fault: S3Fault) -> Error {
        Error::S3 { location: self.location(), fault }
    }

    fn put(&self, name: &Name, upload: Upload<'_>, sum: &[u8]) -> Result<Reply, S3Fault> {
        let key = self.client.address.key(name);
        let headers = vec![("if-none-match", "*".to_owned()), ("x-amz-checksum-sha256", BASE64.encode(sum))];
        let call = Call { method: "PUT", key: Some(&key), query: Vec::new(), headers, action: action::PUT_OBJECT };
        self.client.call(&call, Some(upload))
    }
}

impl S3 {
    /// Starts to read an object; with an entity tag, only this version of it.
    fn download(
        &self,
        name: &Name,
        range: Option<Range<u64>>,
        etag: Option<&str>,
    ) -> Result<Box<dyn Read + Send>, Error> {
        let found = Download::start(&self.client, self.client.address.key(name), range, etag);
        match found.map_err(|fault| self.failed(fault))? {
            Some(download) => Ok(Box::new(download)),
            None => Err(Error::Missing { location: self.location(), name: name.clone() }),
        }
    }

    /// Asks for the length of an object, its version and its lock; the status is 404 if there is no object.
    fn call_head(&self, key: &str) -> Result<Reply, S3Fault> {
        self.client.call(&head_of(key), None)
    }

    /// Whether there is an object of this length, as far as the first answer says. Nothing is retried: this run has just
    /// given up.
    fn has_now(&self, name: &Name, bytes: u64) -> bool {
        let reply = self.client.once(&head_of(&self.client.address.key(name)));
        reply.is_some_and(|reply| reply.status != 404 && length_of(&reply) == Some(bytes))
    }

    /// Newest version of an object. The outer `None` means that there is no object, the inner one that the bucket keeps
    /// no versions.
    fn newest_version(&self, key: &str) -> Result<Option<Option<String>>, S3Fault> {
        let reply = self.call_head(key)?;
        Ok((reply.status != 404).then(|| reply.header("x-amz-version-id").map(str::to_owned)))
    }

    /// When the lock of an object ends, if it has one.
    fn locked_until(&self, key: &str) -> Result<Option<Timestamp>, S3Fault> {
        let reply = self.call_head(key)?;
        Ok(reply.header("x-amz-object-lock-retain-until-date").and_then(|end| end.parse().ok()))
    }

    fn put_retention(&self, key: &str, mode: LockMode, until: Timestamp) -> Result<(), S3Fault> {
        let mode = mode.name();
        let text = format!("<Retention><Mode>{mode}</Mode><RetainUntilDate>{until}</RetainUntilDate></Retention>");
        let mut body = Cursor::new(text.as_bytes());
        let (sum, bytes) = sum_of(&mut body).map_err(|error| S3Fault::Answer(error.to_string()))?;
        let headers = vec![("x-amz-checksum-sha256", BASE64.encode(&sum))];
        let action = action::PUT_OBJECT_RETENTION;
        let call = Call { method: "PUT", key: Some(key), query: vec![("retention", "")], headers, action };
        let upload = Upload { body: &mut body, bytes, sha256: HEXLOWER.encode(&sum), lock: None };
        match self.client.call(&call, Some(upload))?.status {
            404 => Err(S3Fault::Answer(format!("{key} is gone"))),
            _ => Ok(()),
        }
    }

    /// Deletes a version permanently. Without its id, a bucket with versions would only hide it.
    fn delete_version(&self, key: &str, version: Option<&str>) -> Result<(), S3Fault> {
        let query = version.map(|version| ("versionId", version)).into_iter().collect();
        let action = if version.is_some() { action::DELETE_OBJECT_VERSION } else { action::DELETE_OBJECT };
        let call = Call { method: "DELETE", key: Some(key), query, headers: Vec::new(), action };
        self.client.call(&call, None).map(|_| ())
    }
}

impl S3 {
    /// Reads a listing page by page. `options`: further parameters of the request.
    fn each_page(
        &self,
        prefix: &str,
        options: &[(&'static str, &str)],
        visit: &mut dyn FnMut(xml::Page),
    ) -> Result<(), Error> {
        let prefix = format!("{}{prefix}", self.client.address.prefix());
        let mut next = None::<String>;
        loop {
            let mut query = vec![("list-type", "2"), ("prefix", prefix.as_str())];
            query.extend(options);
            query.extend(next.as_deref().map(|next| ("continuation-token", next)));
            let call = Call { method: "GET", key: None, query, headers: Vec::new(), action: action::LIST_BUCKET };
            let page = self.client.text(&call, MAX_PAGE_BYTES).and_then(|text| {
                xml::page(&text).ok_or_else(|| S3Fault::Answer("it is not a list of objects".to_owned()))
            });
            let mut page = page.map_err(|fault| self.failed(fault))?;
            let before = std::mem::replace(&mut next, page.next.take());
            visit(page);
            if next.is_none() {
                return Ok(());
            }
            if next == before {
                return Err(self.failed(S3Fault::Answer("a list that does not end".to_owned())));
            }
        }
    }
}

impl S3 {
    /// One page of the versions of an object, and of objects whose names begin alike. `after`: key and version id at
    /// which the page before ended.
    fn page_of_versions(&self, key: &str, after: Option<&(String, String)>) -> Result<xml::Versions, S3Fault> {
        let mut query = vec![("prefix", key), ("versions", "")];
        if let Some((key, version)) = after {
            query.extend([("key-marker", key.as_str()), ("version-id-marker", version.as_str())]);
        }
        let call = Call { method: "GET", key: None, query, headers: Vec::new(), action: action::LIST_BUCKET_VERSIONS };
        let text = self.client.text(&call, MAX_PAGE_BYTES)?;
        let page = xml::versions(&text);
        page.filter(|page| page.next.is_none() || page.next.as_ref() != after)
            .ok_or_else(|| S3Fault::Answer("it is not a list of versions".to_owned()))
    }
}

impl LockMode {
    const fn name(self) -> &'static str {
        match self {
            Self::Compliance => "COMPLIANCE",
            Self::Governance => "GOVERNANCE",
        }
    }
}

impl Lock {
    fn duration(self) -> SignedDuration {
        SignedDuration::from_hours(24_i64.saturating_mul(i64::from(self.days)))
    }

    /// The end of a lock that begins at a time, in whole seconds.
    fn until(self, begin: Timestamp) -> Timestamp {
        let begin = Timestamp::from_second(begin.as_second()).unwrap_or(Timestamp::MIN);
        begin.checked_add(self.duration()).unwrap_or(Timestamp::MAX)
    }
}

impl Store for S3 {
    fn put_new(&self, name: &Name, body: &mut dyn Body, bytes: u64) -> Result<Put, Error> {
        let unreadable = |source| Error::Io { path: name.to_string(), doing: "the body cannot be read", source };
        let (sum, found) = sum_of(body).map_err(unreadable)?;
        if found != bytes {
            return Err(Error::Length { name: name.clone(), expected: bytes, found });
        }
        let upload = Upload { body, bytes, sha256: HEXLOWER.encode(&sum), lock: self.lock };
        let reply = match self.put(name, upload, &sum) {
            // A store that rejects a body because the object exists may close the connection, so its answer is lost.
            Err(fault @ S3Fault::Unreachable { .. }) => {
                return if self.has_now(name, bytes) { Ok(Put::Unclear) } else { Err(self.failed(fault)) };
            }
            reply => reply.map_err(|fault| self.failed(fault))?,
        };
        match (reply.status, reply.is_repeated) {
            (412, true) => Ok(Put::Unclear),
            (412, false) => Ok(Put::Exists),
            (200..=299, _) => Ok(Put::New),
            (status, _) => Err(self.failed(S3Fault::Answer(format!("status {status} to an upload")))),
        }
    }

    fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, Error> {
        self.download(name, range, None)
    }

    fn get_listed(&self, listed: &Listed) -> Result<Box<dyn Read + Send>, Error> {
        self.download(&listed.name, None, listed.etag.as_deref())
    }

    fn older_versions(&self, name: &Name) -> Result<Vec<Version>, Error> {
        let key = self.client.address.key(name);
        let (mut older, mut next) = (VecDeque::new(), None);
        loop {
            let page = self.page_of_versions(&key, next.as_ref()).map_err(|fault| self.failed(fault))?;
            older.extend(page.found.into_iter().filter(|(of, is_newest, _)| *of == key && !is_newest));
            older.drain(..older.len().saturating_sub(MAX_VERSIONS as usize));
            // Keys are sorted, so behind another key there are no more versions of this one.
            next = page.next.filter(|(at, _)| *at == key);
            if next.is_none() {
                // A store lists the newest first.
                return Ok(older.into_iter().rev().map(|(_, _, version)| version).collect());
            }
        }
    }

    fn get_version(&self, name: &Name, version: &Version) -> Result<Box<dyn Read + Send>, Error> {
        let found = Download::start_version(&self.client, self.client.address.key(name), &version.id);
        match found.map_err(|fault| self.failed(fault))? {
            Some(download) => Ok(Box::new(download)),
            None => Err(Error::Missing { location: self.location(), name: name.clone() }),
        }
    }

    fn head(&self, name: &Name) -> Result<Option<u64>, Error> {
        let reply = self.call_head(&self.client.address.key(name)).map_err(|fault| self.failed(fault))?;
        if reply.status == 404 {
            return Ok(None);
        }
        let fault = || self.failed(S3Fault::Answer("an object without a length".to_owned()));
        length_of(&reply).map(Some).ok_or_else(fault)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        let mut found = Vec::new();
        self.visit(prefix, &mut |listed| found.push(listed))?;
        found.sort_by(|one: &Listed, other: &Listed| one.name.cmp(&other.name));
        Ok(found)
    }

    fn visit(&self, prefix: &str, visit: &mut dyn FnMut(Listed)) -> Result<(), Error> {
        let own = self.client.address.prefix();
        self.each_page(prefix, &[], &mut |page| {
            for xml::Found { key, bytes, modified, etag } in page.objects {
                // Objects of others, whose names are not valid for Sealant, are skipped.
                let name = key.strip_prefix(own).and_then(|name| name.parse().ok());
                name.into_iter().for_each(|name| visit(Listed { name, bytes, modified, etag: etag.clone() }));
            }
        })
    }

    fn children(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let before = format!("{}{prefix}", self.client.address.prefix());
        let mut children = BTreeSet::new();
        self.each_page(prefix, &[("delimiter", "/")], &mut |page| {
            let child = |key: &String| key.strip_prefix(&before)?.strip_suffix('/')?.parse::<Name>().ok();
            children.extend(page.prefixes.iter().filter_map(child).map(|child| child.to_string()));
        })?;
        Ok(children.into_iter().collect())
    }

    fn delete(&self, name: &Name) -> Result<Deletion, Error> {
        let key = self.client.address.key(name);
        for _ in 0..MAX_VERSIONS {
            let deleted = match self.newest_version(&key).map_err(|fault| self.failed(fault))? {
                None => return Ok(Deletion::Done),
                Some(version) => self.delete_version(&key, version.as_deref()),
            };
            match deleted {
                Ok(()) => {}
                Err(S3Fault::Locked) => return Ok(Deletion::Locked),
                Err(fault) => return Err(self.failed(fault)),
            }
        }
        Err(self.failed(S3Fault::Answer(format!("{key} is still there after {MAX_VERSIONS} deletions"))))
    }

    fn lock(&self) -> Option<SignedDuration> {
        self.lock.map(Lock::duration)
    }

    fn extend_lock(&self, name: &Name) -> Result<LockState, Error> {
        let Some(lock) = self.lock else { return Ok(LockState::default()) };
        let key = self.client.address.key(name);
        let extend = || -> Result<LockState, S3Fault> {
            let half = lock.duration().checked_div(2).unwrap_or_default();
            let until = self.locked_until(&key)?;
            // The answer has shown whether the clock of this host is wrong.
            let now = self.client.now();
            let was_locked = until.is_some_and(|end| end > now);
            if until.is_some_and(|end| end.duration_since(now) > half) {
                return Ok(LockState { until, is_extended: false, was_locked });
            }
            let until = lock.until(now);
            self.put_retention(&key, lock.mode, until)?;
            Ok(LockState { until: Some(until), is_extended: true, was_locked })
        };
        extend().map_err(|fault| self.failed(fault))
    }

    fn lock_end(&self, name: &Name) -> Result<Option<Timestamp>, Error> {
        self.locked_until(&self.client.address.key(name)).map_err(|fault| self.failed(fault))
    }

    fn now(&self) -> Timestamp {
        self.client.now()
    }

    /// The hash is in the headers.
    fn reads_before_sending(&self) -> bool {
        true
    }

    fn location(&self) -> String {
        self.client.address.to_string()
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let ahead = self.client.seconds_ahead();
        if ahead != 0 {
            let which = if ahead > 0 { "slow" } else { "fast" };
            warnings.push(format!("the clock of this host is {} s {which}, by the store's", ahead.abs()));
        }
        if self.client.was_busy() {
            warnings.push("the store asked to slow down".to_owned());
        }
        warnings
    }
}

/// The request for the properties of an object.
const fn head_of(key: &str) -> Call<'_> {
    Call { method: "HEAD", key: Some(key), query: Vec::new(), headers: Vec::new(), action: action::GET_OBJECT }
}

fn length_of(reply: &Reply) -> Option<u64> {
    reply.header("content-length")?.parse().ok()
}

/// SHA-256 and length of a body.
fn sum_of(body: &mut dyn Body) -> io::Result<(Vec<u8>, u64)> {
    let (mut context, mut room, mut bytes) = (Context::new(&SHA256), vec![0; 1 << 16], 0_u64);
    body.seek(SeekFrom::Start(0))?;
    loop {
        let count = body.read(&mut room)?;
        if count == 0 {
            return Ok((context.finish().as_ref().to_vec(), bytes));
        }
        context.update(room.get(..count).unwrap_or_default());
        bytes = bytes.saturating_add(count as u64);
    }
}
