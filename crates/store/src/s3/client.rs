//! Sends requests: signs them, retries transient failures, and explains the others.

use std::{
    io::{self, Read, SeekFrom},
    path::Path,
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use ureq::{
    Agent, Body as Answer, SendBody,
    http::{HeaderMap, Request, Response},
};

use super::{
    Address, S3Fault, Settings,
    backoff::{ConcurrencyLimit, pause},
    credentials::{Credentials, Source},
    sign::{EMPTY, Signed, query_text, sign},
    xml,
};
use crate::Body;

/// Maximum length of an error document that is read.
const MAX_ERROR_BYTES: u64 = 1 << 16;
/// Minimum length of bodies that are sent only after the store has accepted the headers (`Expect: 100-continue`).
const ASKED_BYTES: u64 = 1 << 20;
/// Number of retries for bytes that were changed in transit.
const MAX_GARBLED: u32 = 3;
/// Usual files of the system's trusted authorities.
const SYSTEM_AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

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

/// Why an attempt failed.
enum Failed {
    /// Transient: retry. `may_have_acted`: the request may have taken effect. `asked`: Retry-After.
    Passing {
        fault: S3Fault,
        may_have_acted: bool,
        asked: Option<Duration>,
    },
    /// The clock was corrected, or the credentials were dropped: retry at once.
    Amended(S3Fault),
    Final(S3Fault),
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Reads the whole body.
    pub(super) fn text(mut self, most_bytes: u64) -> Result<Vec<u8>, S3Fault> {
        read(&mut self.body, most_bytes).map_err(|error| S3Fault::Answer(error.to_string()))
    }
}

fn read(body: &mut Answer, most_bytes: u64) -> Result<Vec<u8>, ureq::Error> {
    body.with_config().limit(most_bytes).read_to_vec()
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
        let began = Instant::now();
        let (mut attempts, mut amended, mut garbled, mut is_repeated) = (0_u32, 0_u32, 0_u32, false);
        loop {
            attempts = attempts.saturating_add(1);
            let permit = self.concurrency.acquire();
            let ended = self.attempt(call, upload.as_mut());
            drop(permit);
            let (fault, asked) = match ended {
                Ok(reply) => return Ok(Reply { is_repeated, ..reply }),
                Err(Failed::Final(fault)) => return Err(fault),
                Err(Failed::Amended(fault)) if amended > 1 => return Err(fault),
                Err(Failed::Amended(_)) => {
                    amended = amended.saturating_add(1);
                    continue;
                }
                Err(Failed::Passing { fault, may_have_acted, asked }) => {
                    is_repeated |= may_have_acted;
                    (fault, asked)
                }
            };
            garbled = garbled.saturating_add(u32::from(matches!(fault, S3Fault::Garbled)));
            let pause = pause(attempts, asked);
            if garbled > MAX_GARBLED || began.elapsed().saturating_add(pause) > self.give_up {
                return Err(after(fault, attempts));
            }
            sleep(pause);
        }
    }

    fn attempt(&self, call: &Call<'_>, upload: Option<&mut Upload<'_>>) -> Result<Reply, Failed> {
        let credentials = self.credentials.current().map_err(Failed::Final)?;
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
        let reply = answered.map_err(|error| self.unanswered(&error, is_sent))?;
        self.judge(call, reply, &credentials, now)
    }

    fn now(&self) -> Timestamp {
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
        headers.push(("host", self.address.host().to_owned()));
        let signed = Signed {
            method: call.method,
            path: &path,
            query: &call.query,
            headers,
            body: upload.map_or(EMPTY, |upload| &upload.sha256),
        };
        let headers = sign(signed, self.address.region(), credentials, now);
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

    /// Classifies an attempt without an answer.
    fn unanswered(&self, error: &ureq::Error, may_have_acted: bool) -> Failed {
        let (endpoint, reason) = (self.address.origin(), describe(error));
        match error {
            ureq::Error::Io(io) if io.kind() == io::ErrorKind::InvalidData => {
                Failed::Final(S3Fault::Tls { endpoint, reason })
            }
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) => Failed::Final(S3Fault::Tls { endpoint, reason }),
            ureq::Error::Http(_) | ureq::Error::BadUri(_) => Failed::Final(S3Fault::Answer(reason)),
            _ => Failed::Passing {
                fault: S3Fault::Unreachable { endpoint, reason, attempts: 0 },
                may_have_acted,
                asked: None,
            },
        }
    }

    /// Classifies an answer: as a reply for the caller, a transient failure, or a final one.
    fn judge(
        &self,
        call: &Call<'_>,
        reply: Response<Answer>,
        credentials: &Credentials,
        now: Timestamp,
    ) -> Result<Reply, Failed> {
        let (parts, mut body) = reply.into_parts();
        let (status, headers) = (parts.status.as_u16(), parts.headers);
        if matches!(status, 200..=299 | 412) || (status == 404 && call.method == "HEAD") {
            return Ok(Reply { status, headers, body, is_repeated: false });
        }
        // Answers to HEAD requests have no body.
        let text =
            if call.method == "HEAD" { Vec::new() } else { read(&mut body, MAX_ERROR_BYTES).unwrap_or_default() };
        match self.failure(call, status, &headers, xml::refusal(&text), credentials, now) {
            Some(failed) => Err(failed),
            None => {
                let body = Answer::builder().data("");
                Ok(Reply { status, headers: HeaderMap::new(), body, is_repeated: false })
            }
        }
    }

    /// What a refusal means; `None` if the object does not exist.
    fn failure(
        &self,
        call: &Call<'_>,
        status: u16,
        headers: &HeaderMap,
        refusal: xml::Refusal,
        credentials: &Credentials,
        now: Timestamp,
    ) -> Option<Failed> {
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let xml::Refusal { code, message, region } = refusal;
        let passing = |fault, may_have_acted| Failed::Passing {
            fault,
            may_have_acted,
            asked: header("retry-after").and_then(|value| value.trim().parse().ok()).map(Duration::from_secs),
        };
        let busy = |code: String| S3Fault::Busy { status, code, attempts: 0 };
        Some(match (status, code.as_str()) {
            (404, "NoSuchKey" | "NoSuchVersion") => return None,
            (404, "NoSuchBucket") => Failed::Final(S3Fault::NoBucket { bucket: self.address.bucket().to_owned() }),
            (503 | 429, _) | (_, "SlowDown" | "TooManyRequests" | "ThrottlingException") => {
                self.was_busy.store(true, Ordering::Relaxed);
                self.concurrency.slow_down();
                passing(busy(code), status == 503)
            }
            (507, _) | (_, "QuotaExceeded" | "XMinioStorageFull" | "EntityTooLarge" | "InsufficientCapacity") => {
                Failed::Final(S3Fault::Full { code })
            }
            (500 | 502 | 504, _) | (_, "RequestTimeout" | "InternalError") => passing(busy(code), true),
            (409, "ConditionalRequestConflict" | "OperationAborted") => passing(busy(code), false),
            (_, "BadDigest" | "XAmzContentSHA256Mismatch" | "IncompleteBody") => passing(S3Fault::Garbled, false),
            (_, "RequestTimeTooSkewed" | "RequestExpired") => self.clock(header("date"), now),
            (_, "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired") => {
                self.credentials.forget();
                Failed::Amended(S3Fault::Expired)
            }
            (_, "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" | "InvalidClientTokenId") => {
                self.rejected(code, credentials)
            }
            (301 | 307, _) | (_, "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException") => {
                let configured = self.address.region().to_owned();
                let region = region.or_else(|| header("x-amz-bucket-region").map(str::to_owned));
                let right = region.filter(|region| *region != configured);
                Failed::Final(S3Fault::WrongRegion { configured, right })
            }
            (_, "ObjectLocked") => Failed::Final(S3Fault::Locked),
            (403, _) if call.method == "DELETE" && message.to_ascii_lowercase().contains("lock") => {
                Failed::Final(S3Fault::Locked)
            }
            (403, "" | "AccessDenied" | "AllAccessDisabled") => Failed::Final(S3Fault::Denied { action: call.action }),
            (404, "") if !call.query.is_empty() => return None,
            _ => Failed::Final(S3Fault::Refused { status, code, message }),
        })
    }

    /// The store does not know the credentials, which may have been replaced in the meantime.
    fn rejected(&self, code: String, credentials: &Credentials) -> Failed {
        self.credentials.forget();
        match self.credentials.current() {
            Ok(newer) if newer.access_key != credentials.access_key || newer.secret != credentials.secret => {
                Failed::Amended(S3Fault::Rejected { code })
            }
            _ => Failed::Final(S3Fault::Rejected { code }),
        }
    }

    /// The store rejects this host's time. From now on, times are corrected by the difference.
    fn clock(&self, date: Option<&str>, now: Timestamp) -> Failed {
        let Some(theirs) = date.and_then(|date| rfc2822::parse(date).ok()).map(|zoned| zoned.timestamp()) else {
            return Failed::Final(S3Fault::Answer(
                "it rejects the time of this host without stating its own".to_owned(),
            ));
        };
        let fault = S3Fault::Clock { ours: Timestamp::now(), theirs };
        if theirs.duration_since(now).abs() < SignedDuration::from_mins(1) {
            return Failed::Final(fault);
        }
        self.ahead.store(theirs.duration_since(Timestamp::now()).as_secs(), Ordering::Relaxed);
        Failed::Amended(fault)
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

fn describe(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::Io(io) => io.to_string(),
        other => other.to_string(),
    }
}

/// The authorities in a file, or those that the system trusts.
fn authorities(path: Option<&Path>) -> Result<https::Authorities, S3Fault> {
    let system = || SYSTEM_AUTHORITIES.into_iter().map(Path::new).find(|path| path.exists());
    let path = path.or_else(system).ok_or(S3Fault::NoAuthorities)?;
    Ok(https::authorities(path)?)
}
