//! What an answer of the store means: a reply for the caller, a transient failure, or a final one.

use std::{io, sync::atomic::Ordering, time::Duration};

use aws::Credentials;
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use ureq::{
    Body as Answer,
    http::{HeaderMap, Response},
};

use super::{Call, Client, Reply};
use crate::s3::{S3Fault, xml};

/// Maximum length of an error document that is read.
pub(crate) const MAX_ERROR_BYTES: u64 = 1 << 16;
/// Difference between two clocks up to which a store accepts a signature: 15 minutes. Source: Amazon S3, error
/// `RequestTimeTooSkewed`.
const MAX_SKEW: SignedDuration = SignedDuration::from_mins(15);
/// Why an attempt failed.
pub(crate) enum Failed {
    /// Transient: retry. `may_have_acted`: the request may have taken effect. `asked`: Retry-After.
    Transient {
        fault: S3Fault,
        may_have_acted: bool,
        asked: Option<Duration>,
    },
    /// The clock was corrected, or the credentials were dropped: retry at once.
    Corrected(S3Fault),
    Final(S3Fault),
}

/// An attempt at a request, as it was signed.
pub(super) struct Attempt<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) credentials: &'a Credentials,
    /// The time in its signature.
    pub(super) signed: Timestamp,
}

impl Client {
    /// Classifies an answer: as a reply for the caller, a transient failure, or a final one.
    pub(super) fn classify(&self, attempt: &Attempt<'_>, reply: Response<Answer>) -> Result<Reply, Failed> {
        let call = attempt.call;
        let (parts, mut body) = reply.into_parts();
        let (status, headers) = (parts.status.as_u16(), parts.headers);
        if matches!(status, 200..=299 | 412) || (status == 404 && call.method == "HEAD") {
            return Ok(Reply { status, headers, body, is_repeated: false });
        }
        // Answers to HEAD requests have no body.
        let text =
            if call.method == "HEAD" { Vec::new() } else { read(&mut body, MAX_ERROR_BYTES).unwrap_or_default() };
        match self.refusal(attempt, status, &headers, xml::refusal(&text)) {
            Some(failed) => Err(failed),
            None => {
                let body = Answer::builder().data("");
                Ok(Reply { status, headers: HeaderMap::new(), body, is_repeated: false })
            }
        }
    }

    /// What a refusal means; `None` if the object does not exist.
    fn refusal(
        &self,
        attempt: &Attempt<'_>,
        status: u16,
        headers: &HeaderMap,
        refusal: xml::Refusal,
    ) -> Option<Failed> {
        let Attempt { call, credentials, signed } = *attempt;
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let xml::Refusal { code, message, region } = refusal;
        let passing =
            |fault, may_have_acted| Failed::Transient { fault, may_have_acted, asked: https::retry_after(headers) };
        let busy = |code: String| S3Fault::Busy { status, code, attempts: 0 };
        Some(match (status, code.as_str()) {
            (404, "NoSuchKey" | "NoSuchVersion") => return None,
            (404, "NoSuchBucket") => Failed::Final(S3Fault::NoBucket { bucket: self.address.bucket().to_owned() }),
            (503 | 429, _) | (_, "SlowDown" | "TooManyRequests" | "ThrottlingException") => {
                self.was_busy.store(true, Ordering::Relaxed);
                self.concurrency.slow_down();
                passing(busy(code), status == 503)
            }
            (507, _) | (_, "QuotaExceeded" | "XMinioStorageFull" | "InsufficientCapacity") => {
                Failed::Final(S3Fault::Full { code })
            }
            (500 | 502 | 504, _) | (_, "RequestTimeout" | "InternalError") => passing(busy(code), true),
            (409, "ConditionalRequestConflict" | "OperationAborted") => passing(busy(code), false),
            (_, "BadDigest" | "XAmzContentSHA256Mismatch" | "IncompleteBody") => passing(S3Fault::Garbled, false),
            (_, "RequestTimeTooSkewed" | "RequestExpired") => self.clock(header("date"), signed),
            (_, "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired") => {
                self.credentials.forget();
                Failed::Corrected(S3Fault::Expired)
            }
            (_, "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" | "InvalidClientTokenId") => {
                self.rejected(code, credentials)
            }
            // A refused HEAD request has no code: these are what a wrong clock and an expired token get.
            (403, "") if call.method == "HEAD" && is_skewed(header("date"), signed) => {
                self.clock(header("date"), signed)
            }
            (403, "") if call.method == "HEAD" => {
                Failed::Final(S3Fault::Unexplained { key: call.key.unwrap_or_default().to_owned() })
            }
            (400, "") if call.method == "HEAD" => {
                self.credentials.forget();
                Failed::Corrected(S3Fault::Refused { status, code, message })
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
                Failed::Corrected(S3Fault::Rejected { code })
            }
            _ => Failed::Final(S3Fault::Rejected { code }),
        }
    }

    /// The store rejects this host's time. From now on, times are corrected by the difference.
    fn clock(&self, date: Option<&str>, signed: Timestamp) -> Failed {
        let Some(theirs) = date.and_then(time_of) else {
            return Failed::Final(S3Fault::Answer(
                "it rejects the time of this host without stating its own".to_owned(),
            ));
        };
        let fault = S3Fault::Clock { ours: Timestamp::now(), theirs };
        if theirs.duration_since(signed).abs() < SignedDuration::from_mins(1) {
            return Failed::Final(fault);
        }
        self.ahead.store(theirs.duration_since(Timestamp::now()).as_secs(), Ordering::Relaxed);
        Failed::Corrected(fault)
    }
}

/// Classifies an attempt without an answer from this endpoint.
pub(crate) fn unanswered(endpoint: String, error: &ureq::Error, may_have_acted: bool) -> Failed {
    let reason = describe(error);
    match error {
        ureq::Error::Io(io) if io.kind() == io::ErrorKind::InvalidData => {
            Failed::Final(S3Fault::Tls { endpoint, reason })
        }
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => Failed::Final(S3Fault::Tls { endpoint, reason }),
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => Failed::Final(S3Fault::Answer(reason)),
        _ => Failed::Transient {
            fault: S3Fault::Unreachable { endpoint, reason, attempts: 0 },
            may_have_acted,
            asked: None,
        },
    }
}

/// The time in a header.
fn time_of(date: &str) -> Option<Timestamp> {
    rfc2822::parse(date).ok().map(|zoned| zoned.timestamp())
}

/// Whether the time in a signature is so far from the store's that it is rejected for that.
fn is_skewed(date: Option<&str>, signed: Timestamp) -> bool {
    date.and_then(time_of).is_some_and(|theirs| theirs.duration_since(signed).abs() > MAX_SKEW)
}

pub(crate) fn read(body: &mut Answer, most_bytes: u64) -> Result<Vec<u8>, ureq::Error> {
    body.with_config().limit(most_bytes).read_to_vec()
}

/// The failure to read the body of a reply.
pub(super) fn cut_off(error: &ureq::Error) -> Failed {
    let fault = S3Fault::Answer(describe(error));
    match error {
        ureq::Error::BodyExceedsLimit(_) => Failed::Final(fault),
        _ => Failed::Transient { fault, may_have_acted: false, asked: None },
    }
}

fn describe(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::Io(io) => io.to_string(),
        other => other.to_string(),
    }
}
