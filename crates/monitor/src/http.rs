//! The pages, and the answers to HTTP requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, REFERRER_POLICY, REFRESH,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::oneshot;

use crate::access::Access;
use crate::monitor::start;
use crate::{Error, Monitor, View};

/// A page that shows the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// The report, HTML.
    Report,
    /// The metrics in Prometheus' text format.
    Prometheus,
    /// The metrics as OpenMetrics 1.0.
    OpenMetrics,
}

/// Renders a page.
pub type Render = dyn Fn(Page, &View) -> Vec<u8> + Send + Sync;

/// All pages of a monitor.
pub(crate) struct Pages {
    monitor: Arc<Monitor>,
    requests: mpsc::Sender<PageRequest>,
}

/// A page that a reader waits for.
struct PageRequest {
    page: Page,
    reader: oneshot::Sender<Bytes>,
}

/// Renders the pages, in one thread for all: two views of a large fleet at once need twice the memory, and the C library
/// keeps for each thread what that has freed.
struct Renderer {
    monitor: Arc<Monitor>,
    render: Box<Render>,
    /// The pages as they were rendered last, and the generation that they show.
    cache: [Option<(u64, Bytes)>; 3],
}

impl Page {
    const fn content_type(self) -> &'static str {
        match self {
            Self::Report => "text/html; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Report => 0,
            Self::Prometheus => 1,
            Self::OpenMetrics => 2,
        }
    }
}

impl Pages {
    /// Starts the thread that renders.
    ///
    /// # Errors
    /// [`Error::System`].
    pub(crate) fn start(monitor: Arc<Monitor>, render: Box<Render>) -> Result<Self, Error> {
        let (sender, requests) = mpsc::channel::<PageRequest>();
        let mut renderer = Renderer { monitor: Arc::clone(&monitor), render, cache: Default::default() };
        start("pages", move || {
            for request in requests {
                // A page that cannot be rendered must not end the thread: its reader is told, and the next may do better.
                let rendered = catch_unwind(AssertUnwindSafe(|| renderer.page(request.page)));
                let _ = rendered.map(|bytes| request.reader.send(bytes));
            }
        })?;
        Ok(Self { monitor, requests: sender })
    }

    /// The page as it is after the last change; `None` if it could not be rendered.
    async fn page(&self, page: Page) -> Option<Bytes> {
        let (reader, rendered) = oneshot::channel();
        self.requests.send(PageRequest { page, reader }).ok()?;
        rendered.await.ok()
    }

    fn health(&self) -> Response<Full<Bytes>> {
        let (servers, reachable) = self.monitor.reachable();
        text(StatusCode::OK, format!("ok: {reachable} of {servers} servers answered\n"))
    }
}

impl Renderer {
    /// The page as it was after the last change. It is rendered once for each change, however many readers there are.
    fn page(&mut self, page: Page) -> Bytes {
        let Some(cached) = self.cache.get_mut(page.index()) else { return Bytes::new() };
        let generation = self.monitor.generation();
        // What is out of date goes before its successor is rendered, not after.
        match cached.take() {
            Some((of, bytes)) if of == generation => {
                *cached = Some((of, bytes.clone()));
                bytes
            }
            _ => {
                let bytes = Bytes::from((self.render)(page, &self.monitor.view()));
                cached.insert((generation, bytes)).1.clone()
            }
        }
    }
}

/// Answers a request.
pub(crate) async fn answer<B>(request: Request<B>, pages: Arc<Pages>, access: Arc<Access>) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
    }
    let path = request.uri().path();
    // Load balancers, which have no token, ask here whether the monitor works.
    if path == "/healthz" {
        return pages.health();
    }
    if !access.allows(request.headers()) {
        let mut refused = text(StatusCode::UNAUTHORIZED, "a token is required\n".to_owned());
        let scheme = HeaderValue::from_static("Basic realm=\"sealant monitor\", charset=\"UTF-8\"");
        refused.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        return refused;
    }
    let page = match path {
        "/" => Page::Report,
        "/metrics" if wants_openmetrics(request.headers()) => Page::OpenMetrics,
        "/metrics" => Page::Prometheus,
        _ => return text(StatusCode::NOT_FOUND, "there are /, /metrics and /healthz\n".to_owned()),
    };
    let Some(bytes) = pages.page(page).await else {
        return text(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be rendered\n".to_owned());
    };
    let mut response = Response::new(Full::new(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type()));
    if page == Page::Report {
        headers.insert(REFRESH, HeaderValue::from_static("60"));
    }
    harden(headers);
    response
}

/// Whether the client accepts OpenMetrics. Prometheus lists all formats that it understands.
fn wants_openmetrics(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("application/openmetrics-text"))
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    harden(response.headers_mut());
    response
}

/// Keeps findings on the page: no caches, no frames of other sites, no resources from elsewhere.
fn harden(headers: &mut HeaderMap) {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                  frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
