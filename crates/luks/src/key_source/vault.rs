//! Reads a key through HashiCorp Vault's HTTP API: one field of a secret in a KV engine, version 2.
//!
//! Source: Vault's documentation, "KV secrets engine - version 2 (API)": `GET /v1/MOUNT/data/PATH` with the header
//! `X-Vault-Token` answers `{"data": {"data": {FIELD: …}, "metadata": …}, …}`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pki::ders_from_pem;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use zeroize::Zeroizing;

use super::{RETRY, leaves_time, read_file};
use crate::Error;
use crate::secret::Secret;

/// Larger than the largest key in base64, with everything that Vault adds.
const MAX_REPLY_BYTES: u64 = 1 << 18;

/// What is wrong with a text that is not an address.
const NO_ADDRESS: &str = "is not an address such as https://vault.example:8200";

/// Location of a key in Vault.
#[derive(Debug)]
pub struct Vault {
    /// Address of Vault, `https://HOST:PORT`; `http://` only for this machine.
    pub address: String,
    /// The secret in a KV engine of version 2, such as `secret/data/mysqldata`.
    pub path: String,
    /// The field of the secret.
    pub field: String,
    /// The field holds the key in base64.
    pub is_base64: bool,
    /// File that holds the token.
    pub token_file: PathBuf,
    /// Certificates of the authorities to trust for Vault's certificate; required with https.
    pub authorities: Option<PathBuf>,
}

/// Why there is no key, and whether a retry may help.
struct Refusal {
    reason: String,
    is_final: bool,
}

impl Vault {
    /// Fetches the key. Retries while there is time: at boot, network and Vault may come up later.
    pub(super) fn key(&self, deadline: Instant) -> Result<Secret, Error> {
        let uri = self.uri()?;
        let agent = self.agent(&uri)?;
        let token = self.token(deadline)?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let refusal = match ask(&agent, &uri, &token, left).and_then(|reply| self.field(&reply)) {
                Ok(key) => return Ok(key),
                Err(refusal) => refusal,
            };
            if refusal.is_final || !leaves_time(deadline) {
                return Err(Error::Vault { uri: uri.to_string(), reason: refusal.reason });
            }
            sleep(RETRY);
        }
    }

    /// The full address. Unencrypted HTTP would expose the token and the key, so it is refused except for this machine.
    fn uri(&self) -> Result<Uri, Error> {
        let wrong = |reason| Error::Address { address: self.address.clone(), reason };
        let base: Uri = self.address.parse().map_err(|_| wrong(NO_ADDRESS))?;
        let host = base.host().ok_or_else(|| wrong("names no host"))?;
        if base.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(wrong("contains a name or password, which an address must not contain"));
        }
        match base.scheme_str() {
            Some("https") => {}
            Some("http") if is_this_machine(host) => {}
            Some("http") => return Err(wrong("http:// would show token and key to the network; use https://")),
            _ => return Err(wrong("must begin with https://")),
        }
        let whole = format!("{}/v1/{}", self.address.trim_end_matches('/'), self.plain_path()?);
        whole.parse().map_err(|_| wrong(NO_ADDRESS))
    }

    /// The path of the secret, checked to contain nothing that leads elsewhere.
    fn plain_path(&self) -> Result<&str, Error> {
        let path = self.path.trim_start_matches('/');
        let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
        if path.is_empty() || !path.chars().all(plain) || path.split('/').any(|part| matches!(part, "." | ".." | "")) {
            return Err(Error::SecretPath { path: path.to_owned() });
        }
        Ok(path)
    }

    fn agent(&self, uri: &Uri) -> Result<Agent, Error> {
        let is_https = uri.scheme_str() == Some("https");
        let roots = match (&self.authorities, is_https) {
            (Some(path), _) => authorities(path)?,
            (None, false) => Vec::new(),
            (None, true) => return Err(Error::NoAuthorities),
        };
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .build();
        // Redirects and proxies from the environment are not followed: they could lead anywhere.
        let config = Agent::config_builder().tls_config(tls).https_only(is_https).proxy(None).max_redirects(0);
        Ok(config.http_status_as_error(false).user_agent("sealant").build().new_agent())
    }

    fn token(&self, deadline: Instant) -> Result<Zeroizing<String>, Error> {
        let token = read_file(&self.token_file, deadline)?;
        let text = std::str::from_utf8(token.bytes()).map(str::trim_ascii).ok();
        let plain = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let text = text.filter(plain).ok_or_else(|| Error::NoToken { path: self.token_file.clone() })?;
        Ok(Zeroizing::new(text.to_owned()))
    }

    /// Extracts the key from a reply.
    fn field(&self, reply: &[u8]) -> Result<Secret, Refusal> {
        let last = |reason: String| Refusal { reason, is_final: true };
        let json: serde_json::Value =
            serde_json::from_slice(reply).map_err(|_| last("the answer is not JSON".to_owned()))?;
        let name = &self.field;
        let secret = json.pointer("/data/data").and_then(serde_json::Value::as_object);
        let secret = secret.ok_or_else(|| {
            last(
                "the answer is not a secret of a KV engine of version 2; its paths have `data` after the mount"
                    .to_owned(),
            )
        })?;
        let text = secret.get(name).and_then(serde_json::Value::as_str);
        let text = text.ok_or_else(|| last(format!("the secret has no field `{}` with text", name.escape_debug())))?;
        let decoded;
        let key = if self.is_base64 {
            let bytes = STANDARD.decode(text.trim_ascii());
            decoded =
                Zeroizing::new(bytes.map_err(|_| last(format!("the field `{}` is not base64", name.escape_debug())))?);
            decoded.as_slice()
        } else {
            text.as_bytes()
        };
        Secret::read(&mut &*key).map_err(|error| last(error.to_string()))
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn authorities(path: &Path) -> Result<Vec<Certificate<'static>>, Error> {
    let wrong = |reason: String| Error::Authorities { path: path.to_owned(), reason };
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let certificates = ders_from_pem(&pem).map_err(|fault| wrong(fault.to_string()))?;
    Ok(certificates.iter().map(|der| Certificate::from_der(der).to_owned()).collect())
}

/// Makes one request.
fn ask(agent: &Agent, uri: &Uri, token: &str, left: Duration) -> Result<Zeroizing<Vec<u8>>, Refusal> {
    let request = agent.get(uri).header("X-Vault-Token", token).header("X-Vault-Request", "true");
    let reply = request.config().timeout_global(Some(left)).build().call();
    let mut reply = reply.map_err(|error| Refusal { is_final: !may_pass(&error), reason: describe(&error) })?;
    let refused = |reason: &str, is_final| Err(Refusal { reason: reason.to_owned(), is_final });
    match reply.status().as_u16() {
        200 => {}
        403 => return refused("Vault refuses the token for this path (403)", true),
        404 => return refused("there is no such secret (404)", true),
        429 | 472 | 473 => return refused("Vault is a standby, or too busy", false),
        503 => return refused("Vault is sealed or not up yet (503)", false),
        code @ 300..400 => return refused(&format!("Vault redirects ({code}), which is not followed"), true),
        code => return refused(&format!("Vault answers with status {code}"), code < 500),
    }
    let body = reply.body_mut().with_config().limit(MAX_REPLY_BYTES).read_to_vec();
    body.map(Zeroizing::new).map_err(|error| Refusal { is_final: !may_pass(&error), reason: describe(&error) })
}

/// Whether the error may go away with time: no listener yet, or no network. A bad certificate stays bad.
fn may_pass(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Io(io) => io.kind() != std::io::ErrorKind::InvalidData,
        ureq::Error::Timeout(_) | ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
        _ => false,
    }
}

fn describe(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::Io(io) => io.to_string(),
        ureq::Error::BodyExceedsLimit(_) => "the answer is larger than any key".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(address: &str, path: &str) -> Vault {
        Vault {
            address: address.to_owned(),
            path: path.to_owned(),
            field: "key".to_owned(),
            is_base64: false,
            token_file: PathBuf::new(),
            authorities: None,
        }
    }

    #[test]
    fn only_this_machine_is_asked_in_the_clear() {
        let uri = |address: &str| {
            vault(address, "secret/data/x").uri().map(|uri| uri.to_string()).map_err(|error| error.to_string())
        };
        assert_eq!(uri("https://vault.example:8200/").unwrap(), "https://vault.example:8200/v1/secret/data/x");
        for good in ["http://127.0.0.1:8200", "http://[::1]:8200", "http://localhost"] {
            assert!(uri(good).is_ok(), "{good}");
        }
        for bad in ["http://vault:8200", "http://127.0.0.1.example", "http://localhost.example:1", "http://10.0.0.1"] {
            assert!(uri(bad).unwrap_err().contains("to the network"), "{bad}");
        }
        for bad in ["vault:8200", "ftp://vault", "https://", "https://a:b@vault", "/x", ""] {
            assert!(uri(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_stay_where_they_are() {
        for bad in ["", "/", "secret/../sys/seal", "secret//x", "a?b", "a%2e", "a b", "./x"] {
            assert!(vault("https://v", bad).uri().is_err(), "{bad}");
        }
        assert!(vault("https://v", "/kv/data/db-1/my_key.v2").uri().is_ok());
    }

    #[test]
    fn the_field_is_taken_exactly_or_not_at_all() {
        let field = |base64: bool, reply: &str| {
            let vault = Vault { is_base64: base64, ..vault("https://v", "x") };
            vault.field(reply.as_bytes()).map(|key| key.bytes().to_vec()).map_err(|refusal| refusal.reason)
        };
        let reply = |value: &str| format!(r#"{{"data":{{"data":{{"key":{value}}},"metadata":{{}}}}}}"#);
        assert_eq!(field(false, &reply("\"a b\\n\"")).unwrap(), b"a b\n");
        assert_eq!(field(true, &reply("\"AP8=\\n\"")).unwrap(), [0, 255]);
        assert!(field(true, &reply("\"***\"")).unwrap_err().contains("not base64"));
        assert!(field(false, &reply("7")).unwrap_err().contains("no field `key` with text"));
        assert!(field(false, &reply("\"\"")).unwrap_err().contains("empty"));
        assert!(field(false, r#"{"data":{"key":"version 1"}}"#).unwrap_err().contains("version 2"));
        assert!(field(false, "<html>").unwrap_err().contains("not JSON"));
    }
}
