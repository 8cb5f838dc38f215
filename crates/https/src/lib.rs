//! Rules of every HTTP client in this program: it trusts only the given authorities, and refuses plain HTTP to another
//! machine, redirects, and proxies from the environment.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use pki::ders_from_pem;
use ureq::{
    Agent,
    config::ConfigBuilder,
    http::{HeaderMap, header::RETRY_AFTER},
    tls::{Certificate, RootCerts, TlsConfig},
    typestate::AgentScope,
};

/// A file of certificate authorities that is not usable.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be used as certificate authorities: {reason}", path.display())]
pub struct AuthoritiesError {
    /// Path of the file with the authorities.
    pub path: PathBuf,
    /// Why it cannot be used.
    pub reason: String,
}

/// Usual files of the authorities that the system trusts.
const SYSTEM_AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

/// Authorities that a client trusts.
pub type Authorities = Vec<Certificate<'static>>;

/// Reads a PEM file of authorities.
///
/// # Errors
/// [`AuthoritiesError`] if it cannot be read, has no certificate, or has an invalid one.
pub fn authorities(path: &Path) -> Result<Authorities, AuthoritiesError> {
    let wrong = |reason: String| AuthoritiesError { path: path.to_owned(), reason };
    let pem = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let certificates = ders_from_pem(&pem).map_err(|fault| wrong(fault.to_string()))?;
    Ok(certificates.iter().map(|der| Certificate::from_der(der).to_owned()).collect())
}

/// The file of the authorities that the system trusts, if it has one at a usual place.
#[must_use]
pub fn system_authorities<'p>() -> Option<&'p Path> {
    SYSTEM_AUTHORITIES.into_iter().map(Path::new).find(|path| path.exists())
}

/// Settings of a client for one service; timeouts are the caller's. Redirects and proxies from the environment could
/// send a token or a signature to another host.
///
/// `trusted`: the authorities for an `https` address. `None`: plain HTTP, only for services on this machine.
#[must_use]
pub fn client(trusted: Option<Authorities>) -> ConfigBuilder<AgentScope> {
    let is_https = trusted.is_some();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(trusted.unwrap_or_default())))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .build();
    Agent::config_builder()
        .tls_config(tls)
        .https_only(is_https)
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent("sealant")
}

/// Whether the host of an address, with or without brackets, is certainly this machine.
#[must_use]
pub fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Host and port of an address as in the `Host` header, which signatures cover: without the scheme's default port.
#[must_use]
pub fn without_default_port(authority: &str, is_https: bool) -> &str {
    authority.strip_suffix(if is_https { ":443" } else { ":80" }).unwrap_or(authority)
}

/// How long a service asks to wait before the next request: `Retry-After` in seconds (RFC 9110, section 10.2.3). `None`
/// if it asks for nothing, or names a date, which depends on clocks.
#[must_use]
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_asked_for_in_seconds() {
        let asked = |value: &str| retry_after(&HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]));
        assert_eq!(asked("2"), Some(Duration::from_secs(2)));
        assert_eq!(asked(" 2 "), Some(Duration::from_secs(2)));
        for none in ["", "soon", "-1", "1.5", "Fri, 27 Nov 2026 20:00:00 GMT"] {
            assert_eq!(asked(none), None, "{none:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn only_loopback_is_this_machine() {
        for host in ["localhost", "127.0.0.1", "127.8.8.8", "[::1]", "::1"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["localhost.example", "10.0.0.1", "[2001:db8::1]", "", "127.0.0.1.example"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn unusable_authorities_are_reported_with_their_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        let missing = authorities(&path).unwrap_err();
        assert!(missing.to_string().starts_with(&path.display().to_string()), "{missing}");
        fs::write(&path, "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").unwrap();
        assert_eq!(authorities(&path).unwrap_err().path, path);
    }
}
