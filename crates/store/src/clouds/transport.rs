//! Sends the requests that `object_store` has made and signed, by the rules of this program's HTTP client, and again as
//! long as that may help.

use std::{
    fmt,
    io::{self, ErrorKind, Read},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame};
use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
    },
};
use ureq::{
    Agent, SendBody,
    http::{
        HeaderValue, Method, Request, Response, StatusCode, Uri,
        header::{CONTENT_LENGTH, EXPECT},
        request::Parts,
    },
};

use super::{
    Settings,
    address::{Address, Provider},
    failure::{Failure, Outcome},
};
use crate::s3::{
    ASKED_BYTES, ConcurrencyLimit, Failed, MAX_ERROR_BYTES, Refusal, S3Fault, authorities, read, refusal, retry,
    unanswered,
};

/// Bytes of a body that are read at a time.
const PIECE_BYTES: usize = 256 << 10;
/// Limit of the time for which a request is repeated. Its signature has the time of the first attempt, and stores accept
/// 15 minutes.
const MAX_GIVE_UP: Duration = Duration::from_secs(600);
/// Services of a machine that give it credentials, by plain HTTP on a link that ends at the machine.
const METADATA: [&str; 2] = ["169.254.169.254", "metadata.google.internal"];

/// The HTTP client, shared by all threads.
#[derive(Clone)]
pub(super) struct Transport(Arc<Shared>);

struct Shared {
    address: Address,
    /// For the store.
    store: Agent,
    /// For services that give credentials; `None` without authorities that the system trusts.
    others: Option<Agent>,
    /// For this machine and its metadata service.
    plain: Agent,
    concurrency: ConcurrencyLimit,
    give_up: Duration,
    was_busy: AtomicBool,
}

impl Transport {
    pub(super) fn new(settings: &Settings) -> Result<Self, S3Fault> {
        let agent = |trusted| {
            https::client(trusted)
                .timeout_resolve(Some(settings.timeout))
                .timeout_connect(Some(settings.timeout))
                .timeout_per_read(Some(settings.timeout))
                .timeout_per_write(Some(settings.timeout))
                .max_idle_connections_per_host(64)
                .max_idle_connections(64)
                .build()
                .new_agent()
        };
        let is_https = settings.address.is_encrypted();
        let trusted = is_https.then(|| authorities(settings.ca.as_deref())).transpose()?;
        Ok(Self(Arc::new(Shared {
            address: settings.address.clone(),
            store: agent(trusted),
            others: authorities(None).ok().map(|trusted| agent(Some(trusted))),
            plain: agent(None),
            concurrency: ConcurrencyLimit::new(),
            give_up: settings.give_up.min(MAX_GIVE_UP),
            was_busy: AtomicBool::new(false),
        })))
    }

    /// Whether the store asked to slow down.
    pub(super) fn was_busy(&self) -> bool {
        self.0.was_busy.load(Ordering::Relaxed)
    }
}

impl HttpConnector for Transport {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl HttpService for Transport {
    /// Blocks the thread, which waits for nothing else.
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            self.0.send(&parts, &body)
        })
    }
}

impl Shared {
    fn send(&self, parts: &Parts, body: &[u8]) -> Result<HttpResponse, HttpError> {
        let sent = retry(&self.concurrency, self.give_up, || self.attempt(parts, body));
        let (reply, is_repeated) = sent.map_err(|fault| Failure::error(Outcome::Fault(fault)))?;
        match reply.status().as_u16() {
            416 => Err(Failure::error(Outcome::Beyond)),
            409 | 412 if is_repeated && parts.method == Method::PUT => Err(Failure::error(Outcome::Unclear)),
            _ => Ok(reply),
        }
    }

    fn attempt(&self, parts: &Parts, body: &[u8]) -> Result<HttpResponse, Failed> {
        let agent = self.agent(&parts.uri).map_err(Failed::Final)?;
        let mut request = Request::from_parts(parts.clone(), ());
        let mut unsent = body;
        let answered = if matches!(parts.method, Method::PUT | Method::POST) {
            let headers = request.headers_mut();
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
            // A store that rejects a body because the object exists need not read it.
            if body.len() as u64 >= ASKED_BYTES {
                headers.insert(EXPECT, HeaderValue::from_static("100-continue"));
            }
            agent.run(request.map(|()| SendBody::from_reader(&mut unsent)))
        } else {
            agent.run(request.map(|()| SendBody::none()))
        };
        let is_sent = unsent.is_empty();
        let reply = answered.map_err(|error| unanswered(origin(&parts.uri), &error, is_sent))?;
        self.classify(parts, reply)
    }

    /// The client for an address.
    fn agent(&self, uri: &Uri) -> Result<&Agent, S3Fault> {
        let host = uri.host().unwrap_or_default();
        let is_https = uri.scheme_str() == Some("https");
        match (is_https, self.is_store(uri)) {
            (true, true) => Ok(&self.store),
            (true, false) => self.others.as_ref().ok_or(S3Fault::NoAuthorities),
            (false, _) if https::is_this_machine(host) || METADATA.contains(&host) => Ok(&self.plain),
            (false, _) => {
                let reason = "is not encrypted, and not on this machine: use https://";
                Err(S3Fault::Address { text: origin(uri), reason })
            }
        }
    }

    /// Whether an address is the store's, and not that of a service that gives credentials.
    fn is_store(&self, uri: &Uri) -> bool {
        uri.authority().is_some_and(|authority| authority.as_str() == self.address.authority)
    }

    /// Classifies an answer: as one that `object_store` understands, a transient failure, or a final one.
    fn classify(&self, parts: &Parts, reply: Response<ureq::Body>) -> Result<HttpResponse, Failed> {
        let (head, mut body) = reply.into_parts();
        let status = head.status.as_u16();
        if head.status.is_success() {
            let length = head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
            let left = length.filter(|_| parts.method != Method::HEAD);
            let body = Streamed { reader: Mutex::new(Box::new(body.into_reader())), left };
            return Ok(Response::from_parts(head, HttpResponseBody::new(body)));
        }
        let text = if parts.method == Method::HEAD {
            Vec::new()
        } else {
            read(&mut body, MAX_ERROR_BYTES).unwrap_or_default()
        };
        let Refusal { code, message, .. } = refusal(&text);
        let named = head.headers.get("x-ms-error-code").and_then(|code| code.to_str().ok());
        let code = if code.is_empty() { named.unwrap_or_default().to_owned() } else { code };
        let passing = |fault, may_have_acted| {
            let asked = https::retry_after(&head.headers);
            Failed::Transient { fault, may_have_acted, asked }
        };
        let busy = |code| S3Fault::Busy { status, code, attempts: 0 };
        Err(match (status, code.as_str()) {
            (429 | 503, _) => {
                self.was_busy.store(true, Ordering::Relaxed);
                self.concurrency.slow_down();
                passing(busy(code), status == 503)
            }
            (408 | 500 | 502 | 504, _) => passing(busy(code), true),
            _ if !self.is_store(&parts.uri) => {
                let host = parts.uri.host().unwrap_or_default();
                Failed::Final(S3Fault::Rejected { code: format!("{host} answers {status}") })
            }
            (404, "ContainerNotFound" | "NoSuchBucket") => {
                Failed::Final(S3Fault::NoBucket { bucket: self.address.container.clone() })
            }
            (304 | 404 | 412 | 416, _) | (409, "BlobAlreadyExists") => {
                return Ok(Response::from_parts(head, HttpResponseBody::from(text)));
            }
            // Who may create objects, and not replace them, is refused before the condition is looked at.
            (403, "UnauthorizedBlobOverwrite") => {
                let mut exists = Response::from_parts(head, HttpResponseBody::from(text));
                *exists.status_mut() = StatusCode::CONFLICT;
                return Ok(exists);
            }
            (401, _) | (403, "AuthenticationFailed" | "InvalidAuthenticationInfo" | "SignatureDoesNotMatch") => {
                Failed::Final(S3Fault::Rejected { code })
            }
            (403, _) => Failed::Final(S3Fault::Denied { action: action(self.address.provider, parts) }),
            _ => Failed::Final(S3Fault::Refused { status, code, message }),
        })
    }
}

/// The permission that a request needs, as roles of the provider name it.
fn action(provider: Provider, parts: &Parts) -> &'static str {
    const BLOBS: [&str; 4] = [
        "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read",
        "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read (to list)",
        "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write",
        "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/delete",
    ];
    const OBJECTS: [&str; 4] =
        ["storage.objects.get", "storage.objects.list", "storage.objects.create", "storage.objects.delete"];
    let [get, list, put, delete] = if provider == Provider::Azure { BLOBS } else { OBJECTS };
    let query = parts.uri.query().unwrap_or_default();
    match parts.method {
        Method::PUT => put,
        // Azure deletes by a batch.
        Method::DELETE | Method::POST => delete,
        _ if query.contains("comp=list") || query.contains("list-type=") => list,
        _ => get,
    }
}

fn origin(uri: &Uri) -> String {
    format!("{}://{}", uri.scheme_str().unwrap_or_default(), uri.authority().map_or("", |authority| authority.as_str()))
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transport to {:?}", self.0.address)
    }
}

/// The body of an answer. Polling it reads, which blocks the thread.
struct Streamed {
    /// Only one thread reads; the lock makes it `Sync`.
    reader: Mutex<Box<dyn Read + Send>>,
    /// Announced bytes that were not read yet.
    left: Option<u64>,
}

impl HttpBody for Streamed {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let body = self.get_mut();
        let mut room = vec![0; PIECE_BYTES];
        let reader = body.reader.get_mut().unwrap_or_else(PoisonError::into_inner);
        let read = match reader.read(&mut room) {
            Ok(0) if body.left.is_some_and(|left| left > 0) => Err(io::Error::from(ErrorKind::UnexpectedEof)),
            read => read,
        };
        Poll::Ready(match read {
            Ok(0) => None,
            Ok(count) => {
                room.truncate(count);
                body.left = body.left.map(|left| left.saturating_sub(count as u64));
                Some(Ok(Frame::data(room.into())))
            }
            // `object_store` requests the rest.
            Err(error) => Some(Err(HttpError::new(HttpErrorKind::Interrupted, error))),
        })
    }
}
