//! Requests over HTTP.

use std::{
    io::{self, ErrorKind, Read},
    path::Path,
    sync::Arc,
    time::Duration,
};

use pki::ders_from_pem;
use ureq::{
    Agent, Body,
    http::Response,
    tls::{Certificate, RootCerts, TlsConfig},
};
use zeroize::Zeroizing;

use crate::error::{Error, Fault};

/// Size of the first buffer for an answer.
const FIRST_BYTES: usize = 4 << 10;

/// The status and body of an answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Seconds after which to ask again, if the service says so.
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

/// A client that trusts only the given authorities; without any, only plain HTTP.
pub(crate) fn agent(authorities: Option<&Path>, is_https: bool) -> Result<Agent, Error> {
    let roots = match authorities {
        Some(path) => certificates(path)?,
        None if is_https => return Err(Error::NoAuthorities),
        None => Vec::new(),
    };
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .build();
    let config = Agent::config_builder().tls_config(tls).https_only(is_https).proxy(None).max_redirects(0);
    Ok(config.http_status_as_error(false).user_agent("sealant").build().new_agent())
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, Error> {
    let wrong = |reason: String| Error::Authorities { path: path.to_owned(), reason };
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let certificates = ders_from_pem(&pem).map_err(|fault| wrong(fault.to_string()))?;
    Ok(certificates.iter().map(|der| Certificate::from_der(der).to_owned()).collect())
}

/// Sends a request with these headers, and with `body` if there is one.
pub(crate) fn send(
    agent: &Agent,
    address: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
    (limit, timeout): (u64, Duration),
) -> Result<Reply, Fault> {
    let response = match body {
        None => {
            let request =
                headers.iter().fold(agent.get(address), |request, (name, value)| request.header(*name, *value));
            request.config().timeout_global(Some(timeout)).build().call()
        }
        Some(body) => {
            let request =
                headers.iter().fold(agent.post(address), |request, (name, value)| request.header(*name, *value));
            request.config().timeout_global(Some(timeout)).build().send(body)
        }
    };
    let mut response = response.map_err(|error| fault(&error, limit))?;
    let (status, retry_after) = (response.status().as_u16(), retry_after(&response));
    let body = read(&mut response.body_mut().with_config().limit(limit).reader());
    Ok(Reply { status, retry_after, body: body.map_err(|error| of_io(&error, limit))? })
}

fn retry_after(response: &Response<Body>) -> Option<u64> {
    response.headers().get("retry-after")?.to_str().ok()?.parse().ok()
}

/// Reads to the end into buffers that are wiped; the reader has a limit.
fn read(source: &mut impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; FIRST_BYTES]);
    let mut done = 0_usize;
    loop {
        files::fill(source, &mut bytes, &mut done)?;
        if done < bytes.len() {
            bytes.truncate(done);
            return Ok(bytes);
        }
        // Copied: a vector that reallocates by itself does not wipe the old memory.
        let mut larger = Zeroizing::new(vec![0; bytes.len().saturating_mul(2)]);
        larger.iter_mut().zip(bytes.iter()).for_each(|(to, from)| *to = *from);
        bytes = larger;
    }
}

fn fault(error: &ureq::Error, limit: u64) -> Fault {
    match error {
        ureq::Error::Timeout(_) => Fault::Timeout,
        ureq::Error::Io(error) => of_io(error, limit),
        ureq::Error::Rustls(error) => of_tls(error),
        ureq::Error::BodyExceedsLimit(_) => Fault::TooLarge { limit },
        ureq::Error::HostNotFound => Fault::Unreachable("its name is not known".to_owned()),
        ureq::Error::ConnectionFailed => Fault::Unreachable("no connection".to_owned()),
        other => Fault::Protocol(other.to_string()),
    }
}

fn of_io(error: &io::Error, limit: u64) -> Fault {
    if let Some(inner) = error.get_ref() {
        if let Some(error) = inner.downcast_ref::<rustls::Error>() {
            return of_tls(error);
        }
        if let Some(error) = inner.downcast_ref::<ureq::Error>() {
            return fault(error, limit);
        }
    }
    match error.kind() {
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::BrokenPipe
        | ErrorKind::ConnectionAborted => Fault::CutOff,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Fault::Timeout,
        ErrorKind::InvalidData => Fault::Protocol(error.to_string()),
        _ => Fault::Unreachable(error.to_string()),
    }
}

fn of_tls(error: &rustls::Error) -> Fault {
    match error {
        rustls::Error::InvalidCertificate(reason) => Fault::Certificate(reason.to_string()),
        rustls::Error::NoCertificatesPresented => Fault::Certificate("it has none".to_owned()),
        other => Fault::Protocol(format!("TLS: {other}")),
    }
}
