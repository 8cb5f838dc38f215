//! Requests over HTTP.

use std::{
    io::{self, ErrorKind},
    path::Path,
    time::Duration,
};

use ureq::Agent;
use zeroize::Zeroizing;

use crate::error::{Error, Fault};

/// Size of the first buffer for an answer.
const FIRST_BYTES: usize = 4 << 10;

/// The status and body of an answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Time after which to retry, if the service says so.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

impl Reply {
    /// Whether the body contains this text.
    pub(crate) fn says(&self, text: &[u8]) -> bool {
        self.body.windows(text.len()).any(|window| window == text)
    }
}

/// A client that trusts only the given authorities; without any, only plain HTTP.
pub(crate) fn agent(authorities: Option<&Path>, is_https: bool) -> Result<Agent, Error> {
    let trusted = match (is_https, authorities) {
        (true, None) => return Err(Error::NoAuthorities),
        (true, Some(path)) => Some(https::authorities(path)?),
        (false, _) => None,
    };
    Ok(https::client(trusted).build().new_agent())
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
    let (status, retry_after) = (response.status().as_u16(), https::retry_after(response.headers()));
    let mut reader = response.body_mut().with_config().limit(limit).reader();
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let body = files::read_wiped(&mut reader, FIRST_BYTES, most).map_err(|error| of_io(&error, limit))?;
    Ok(Reply { status, retry_after, body: body.ok_or(Fault::TooLarge { limit })? })
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

pub(crate) fn of_io(error: &io::Error, limit: u64) -> Fault {
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
