//! Sends requests: signs them, retries transient failures, and explains the others.

mod answer;

use std::{
    io::{Read, SeekFrom},
    path::Path,
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use aws::{Credentials, EMPTY_BODY, Scope, Signed, Source, query_text, sign};
use jiff::{SignedDuration, Timestamp};
use ureq::{
    Agent, Body as Answer, SendBody,
    http::{HeaderMap, Request},
};

#[cfg(feature = "clouds")]
pub(crate) use self::answer::MAX_ERROR_BYTES;
use self::answer::{Attempt, cut_off};
pub(crate) use self::answer::{Failed, read, unanswered};
use super::{
    Address, Lock, S3Fault, Settings,
    backoff::{ConcurrencyLimit, Permit, pause},
};
use crate::Body;

/// Minimum length of bodies that are sent only after the store has accepted the headers (`Expect: 100-continue`).
pub(crate) const ASKED_BYTES: u64 = 1 << 20;
/// Number of retries for bytes that were changed in transit.
const MAX_GARBLED: u32 = 3;

/// A connection to a store, shared by all threads.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) address: Address,
    agent: Agent,
    credentials: Source,
    concurrency: ConcurrencyLimit,
    give_up: Duration,
    /// Seconds by which the store's clock is ahead of this host's; 0 until a request fails because of it.
    ahead: AtomicI64,
    was_busy: AtomicBool,
}

/// A request without its signature.
#[derive(Clone, Debug)]
pub(super) struct Call<'c> {
    pub(super) method: &'static str,
    /// Key of the object; `None` for the bucket itself.
    pub(super) key: Option<&'c str>,
    pub(super) query: Vec<(&'c str, &'c str)>,
    pub(super) headers: Vec<(&'c str, String)>,
    /// The permission that the request needs, for messages.
    pub(super) action: &'static str,
}

/// Body of a request.
pub(super) struct Upload<'u> {
    pub(super) body: &'u mut dyn Body,
    pub(super) bytes: u64,
    /// SHA-256 in hexadecimal.
    pub(super) sha256: String,
    /// Lock of the object that it becomes. It begins with the attempt that succeeds, by the store's clock: with that of
    /// this host, a lock that nobody can lift could last for years.
    pub(super) lock: Option<Lock>,
}

/// A reply that the caller handles: success, 404 for an object, or 412.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Answer,
    /// Whether the answer to an earlier attempt was lost. That attempt may have taken effect.
    pub(super) is_repeated: bool,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Client {
    pub(super) fn new(settings: &Settings) -> Result<Self, S3Fault> {
        let address = settings.address.clone();
        let is_https = address.is_encrypted();
        let trusted = is_https.then(|| authorities(settings.ca.as_deref())).transpose()?;
        let agent = https::client(trusted)
            .timeout_resolve(Some(settings.timeout))
            .timeout_connect(Some(settings.timeout))
            .timeout_per_read(Some(settings.timeout))
            .timeout_per_write(Some(settings.timeout))
            .max_idle_connections_per_host(64)
            .max_idle_connections(64)
            .build()
            .new_agent();
        Ok(Self {
            address,
            agent,
            credentials: Source::new(settings.credentials.clone()),
            concurrency: ConcurrencyLimit::new(),
            give_up: settings.give_up,
            ahead: AtomicI64::new(0),
            was_busy: AtomicBool::new(false),
        })
    }

    /// Waits until another request, or the next piece of a body, may be transferred.
    pub(super) fn permit(&self) -> Permit<'_> {
        self.concurrency.acquire()
    }

    /// Seconds by which the store's clock is ahead of this host's; 0 unless that had to be corrected.
    pub(super) fn seconds_ahead(&self) -> i64 {
        self.ahead.load(Ordering::Relaxed)
    }

    /// Whether the store asked to slow down.
    pub(super) fn was_busy(&self) -> bool {
        self.was_busy.load(Ordering::Relaxed)
    }

    /// Makes a request, with retries.
    pub(super) fn call(&self, call: &Call<'_>, mut upload: Option<Upload<'_>>) -> Result<Reply, S3Fault> {
        let (reply, is_repeated) = self.retry(|| self.attempt(call, upload.as_mut()))?;
        Ok(Reply { is_repeated, ..reply })
    }

    /// Makes a request without a body once; `None` if it fails.
    pub(super) fn once(&self, call: &Call<'_>) -> Option<Reply> {
        let _permit = self.permit();
        self.attempt(call, None).ok()
    }

    /// Makes a request without a body, and reads the whole body of the reply, with retries.
    pub(super) fn text(&self, call: &Call<'_>, most_bytes: u64) -> Result<Vec<u8>, S3Fault> {
        let attempt = || {
            let mut reply = self.attempt(call, None)?;
            read(&mut reply.body, most_bytes).map_err(|error| cut_off(&error))
        };
        self.retry(attempt).map(|(text, _)| text)
    }

    fn retry<T>(&self, attempt: impl FnMut() -> Result<T, Failed>) -> Result<(T, bool), S3Fault> {
        retry(&self.concurrency, self.give_up, attempt)
    }

    fn attempt(&self, call: &Call<'_>, upload: Option<&mut Upload<'_>>) -> Result<Reply, Failed> {
        let credentials = self.credentials.current().map_err(|error| Failed::Final(error.into()))?;
        let now = self.now();
        let request = self.request(call, upload.as_deref(), &credentials, now);
        let (answered, is_sent) = match upload {
            None => (self.agent.run(request.map(|()| SendBody::none())), true),
            Some(upload) => {
                let rewound = upload.body.seek(SeekFrom::Start(0));
                rewound.map_err(|error| Failed::Final(S3Fault::Answer(format!("the body cannot be read: {error}"))))?;
                let mut body = (&mut *upload.body).take(upload.bytes);
                let answered = self.agent.run(request.map(|()| SendBody::from_reader(&mut body)));
                (answered, body.limit() == 0)
            }
        };
        // A store that rejects a body may close the connection before it has read it. It never stores a partial body.
        let reply = answered.map_err(|error| unanswered(self.address.origin(), &error, is_sent))?;
        self.classify(&Attempt { call, credentials: &credentials, signed: now }, reply)
    }

    /// The time by the store's clock, if that differs by more than the store accepts; else by this host's.
    pub(super) fn now(&self) -> Timestamp {
        let ahead = SignedDuration::from_secs(self.seconds_ahead());
        Timestamp::now().checked_add(ahead).unwrap_or_else(|_| Timestamp::now())
    }

    fn request(
        &self,
        call: &Call<'_>,
        upload: Option<&Upload<'_>>,
        credentials: &Credentials,
        now: Timestamp,
    ) -> Request<()> {
        let path = self.address.path(call.key);
        let mut headers = call.headers.clone();
        if let Some(lock) = upload.and_then(|upload| upload.lock) {
            headers.push(("x-amz-object-lock-mode", lock.mode.name().to_owned()));
            headers.push(("x-amz-object-lock-retain-until-date", lock.until(now).to_string()));
        }
        headers.push(("host", self.address.host().to_owned()));
        let signed = Signed {
            method: call.method,
            path: &path,
            query: &call.query,
            headers,
            body: upload.map_or(EMPTY_BODY, |upload| &upload.sha256),
        };
        let scope = Scope { region: self.address.region(), service: "s3" };
        let headers = sign(signed, scope, credentials, now);
        let query = query_text(&call.query);
        let mark = if query.is_empty() { "" } else { "?" };
        let uri = format!("{}{path}{mark}{query}", self.address.origin());
        let mut request = Request::builder().method(call.method).uri(uri);
        for (name, value) in headers.iter().filter(|(name, _)| name != "host") {
            request = request.header(name, value);
        }
        if let Some(upload) = upload {
            request = request.header("content-length", upload.bytes);
            if upload.bytes >= ASKED_BYTES {
                request = request.header("expect", "100-continue");
            }
        }
        request.body(()).expect("keys, queries and credentials are checked to be ASCII without spaces")
    }
}

/// Attempts something until it succeeds or fails for good, or for this long without success. Also returns whether the
/// answer to an earlier attempt was lost, which may have taken effect.
pub(crate) fn retry<T>(
    concurrency: &ConcurrencyLimit,
    give_up: Duration,
    mut attempt: impl FnMut() -> Result<T, Failed>,
) -> Result<(T, bool), S3Fault> {
    let mut first_failure = None;
    let (mut attempts, mut amended, mut garbled, mut is_repeated) = (0_u32, 0_u32, 0_u32, false);
    loop {
        attempts = attempts.saturating_add(1);
        let permit = concurrency.acquire();
        let ended = attempt();
        drop(permit);
        let (fault, asked) = match ended {
            Ok(done) => return Ok((done, is_repeated)),
            Err(Failed::Final(fault)) => return Err(fault),
            Err(Failed::Corrected(fault)) if amended > 1 => return Err(fault),
            Err(Failed::Corrected(_)) => {
                amended = amended.saturating_add(1);
                continue;
            }
            Err(Failed::Transient { fault, may_have_acted, asked }) => {
                is_repeated |= may_have_acted;
                (fault, asked)
            }
        };
        garbled = garbled.saturating_add(u32::from(matches!(fault, S3Fault::Garbled)));
        let pause = pause(attempts, asked);
        // The first attempt may have sent a body for longer than that before it failed.
        let failing = first_failure.get_or_insert_with(Instant::now).elapsed();
        if garbled > MAX_GARBLED || failing.saturating_add(pause) > give_up {
            return Err(after(fault, attempts));
        }
        sleep(pause);
    }
}

/// Adds the number of attempts to a fault.
fn after(fault: S3Fault, tried: u32) -> S3Fault {
    match fault {
        S3Fault::Unreachable { endpoint, reason, .. } => S3Fault::Unreachable { endpoint, reason, attempts: tried },
        S3Fault::Busy { status, code, .. } => S3Fault::Busy { status, code, attempts: tried },
        other => other,
    }
}

/// The authorities in a file, or those that the system trusts.
pub(crate) fn authorities(path: Option<&Path>) -> Result<https::Authorities, S3Fault> {
    let path = path.or_else(https::system_authorities).ok_or(S3Fault::NoAuthorities)?;
    Ok(https::authorities(path)?)
}
