//! AWS KMS: decrypts keys that it has encrypted.
//!
//! Source: AWS Key Management Service API Reference, "Decrypt": a request is JSON 1.1 with the target
//! `TrentService.Decrypt`, signed with Signature Version 4.

use std::{
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use aws::{Credentials, Scope, Signed, Source, sign};
use files::{Backoff, secret::decode_base64, sha256_hex};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use ureq::{
    Agent,
    http::{Uri, uri::Authority},
};
use zeroize::Zeroizing;

use crate::{
    address::Address,
    error::{Error, Fault},
    http::{self, agent},
    kms_fault::{KmsFault, NAME},
};

/// Longest ciphertext that KMS takes, in base64.
const MAX_WRAPPED_BYTES: usize = 6144_usize.div_ceil(3).saturating_mul(4);
/// Maximum size of an answer: a plaintext has at most 4096 bytes.
const MAX_ANSWER_BYTES: u64 = 1 << 14;
const TARGET: &str = "TrentService.Decrypt";
const CONTENT_TYPE: &str = "application/x-amz-json-1.1";
/// Pauses before a request is repeated.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(4));

/// How to reach AWS KMS.
#[derive(Clone, Debug)]
pub struct KmsAccess {
    /// The region, such as `eu-central-1`.
    pub region: String,
    /// Scheme, host and port; `None` for AWS's own endpoint of the region. `http://` only for this machine.
    pub endpoint: Option<String>,
    /// The authorities to trust; `None` for those of the system.
    pub authorities: Option<PathBuf>,
    /// Where the credentials are.
    pub credentials: KmsCredentials,
    /// Time limit of a request, with its repetitions.
    pub timeout: Duration,
}

/// Where credentials for AWS KMS are.
#[derive(Clone)]
pub enum KmsCredentials {
    /// In the configuration of a server.
    Inline {
        /// Identifier of the key.
        access_key: String,
        /// The secret key.
        secret: Zeroizing<String>,
    },
    /// In a file in the format of AWS's tools.
    File(PathBuf),
    /// In the environment, or the metadata service of this machine.
    Environment,
}

/// Reads what AWS KMS has encrypted; changes nothing.
#[derive(Debug)]
pub struct Kms {
    agent: Agent,
    /// Scheme, host and port.
    origin: String,
    host: String,
    region: String,
    credentials: Login,
    timeout: Duration,
}

/// Credentials in use.
#[derive(Debug)]
enum Login {
    Fixed(Credentials),
    Source(Source),
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(rename = "Plaintext", borrow)]
    plaintext: Option<&'a RawValue>,
}

impl std::fmt::Debug for KmsCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inline { .. } => f.write_str("Inline"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Environment => f.write_str("Environment"),
        }
    }
}

impl Kms {
    /// Checks the address and reads the authorities. Nothing is sent.
    ///
    /// # Errors
    /// [`Error`].
    pub fn new(access: &KmsAccess) -> Result<Self, Error> {
        let region = &access.region;
        let is_region = !region.is_empty() && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_region {
            return Err(Error::Address { address: region.clone(), reason: "is not the name of a region" });
        }
        let text = access.endpoint.clone().unwrap_or_else(|| endpoint(region));
        let address = Address::parse(&text)?;
        let trusted = access.authorities.as_deref().or_else(https::system_authorities);
        let agent = agent(trusted, address.is_https)?;
        let uri: Option<Uri> = text.parse().ok();
        let host = uri.as_ref().and_then(Uri::authority).map(Authority::as_str).unwrap_or_default();
        let host = https::without_default_port(host, address.is_https).to_owned();
        let scheme = if address.is_https { "https" } else { "http" };
        let credentials = match &access.credentials {
            KmsCredentials::Inline { access_key, secret } => {
                Login::Fixed(Credentials::new(access_key, secret, "the configuration")?)
            }
            KmsCredentials::File(path) => Login::Source(Source::new(Some(path.clone()))),
            KmsCredentials::Environment => Login::Source(Source::new(None)),
        };
        Ok(Self {
            agent,
            origin: format!("{scheme}://{host}"),
            host,
            region: region.clone(),
            credentials,
            timeout: access.timeout,
        })
    }

    /// The key of which `wrapped` is the `CiphertextBlob`, in base64. `what` names the key in errors.
    ///
    /// # Errors
    /// [`Error::Request`]; [`KmsFault::NotWrapped`] if it is nothing that KMS has encrypted.
    pub fn decrypt(&self, what: &str, wrapped: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
        let failed = |fault| Error::Request { address: format!("{NAME} at {}, {what}", self.origin), fault };
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        if wrapped.is_empty() || wrapped.len() > MAX_WRAPPED_BYTES || !wrapped.bytes().all(is_base64) {
            return Err(failed(Fault::Kms(KmsFault::NotWrapped)));
        }
        let body = format!(r#"{{"CiphertextBlob":"{wrapped}"}}"#);
        let began = Instant::now();
        let (mut busy, mut is_renewed) = (None, false);
        for pause in PAUSES {
            let left = self.timeout.saturating_sub(began.elapsed()).max(Duration::from_millis(1));
            let fault = match self.attempt(&body, left)? {
                Ok(key) => return Ok(key),
                Err(fault) => fault,
            };
            // The credentials are read or fetched again.
            if fault == Fault::Kms(KmsFault::Expired) && !is_renewed && self.credentials.forget() {
                is_renewed = true;
                continue;
            }
            let is_busy = matches!(&fault, Fault::Kms(fault) if fault.may_pass());
            if !is_busy || began.elapsed().saturating_add(pause) >= self.timeout {
                // What the service has said is the reason for the last, too short attempt.
                return Err(failed(busy.filter(|_| fault == Fault::Timeout).unwrap_or(fault)));
            }
            busy = Some(fault);
            sleep(pause);
        }
        Err(failed(busy.unwrap_or(Fault::Timeout)))
    }

    /// Sends one request. The outer error is one of the credentials.
    fn attempt(&self, body: &str, timeout: Duration) -> Result<Result<Zeroizing<Vec<u8>>, Fault>, Error> {
        let credentials = self.credentials.current()?;
        let headers = self.signed(body, &credentials);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let address = format!("{}/", self.origin);
        let limits = (MAX_ANSWER_BYTES, timeout);
        let answer = http::send(&self.agent, &address, &headers, Some(body.as_bytes()), limits);
        Ok(answer.and_then(|reply| match reply.status {
            200 => plaintext(&reply.body),
            code @ 300..400 => Err(Fault::Redirect(code)),
            status => Err(Fault::Kms(KmsFault::of_answer(status, &reply.body, &self.region))),
        }))
    }

    /// The headers of a request with its signature, without `host`, which the HTTP client sends.
    fn signed(&self, body: &str, credentials: &Credentials) -> Vec<(String, String)> {
        let headers = vec![
            ("content-type", CONTENT_TYPE.to_owned()),
            ("host", self.host.clone()),
            ("x-amz-target", TARGET.to_owned()),
        ];
        let hash = sha256_hex(body.as_bytes());
        let signed = Signed { method: "POST", path: "/", query: &[], headers, body: &hash };
        let mut headers = sign(signed, Scope { region: &self.region, service: "kms" }, credentials, Timestamp::now());
        headers.retain(|(name, _)| name != "host");
        headers
    }
}

impl Login {
    fn current(&self) -> Result<Credentials, aws::Error> {
        match self {
            Self::Fixed(credentials) => Ok(credentials.clone()),
            Self::Source(source) => source.current(),
        }
    }

    /// Whether there may be newer credentials, which are then asked for next.
    fn forget(&self) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Source(source) => {
                source.forget();
                true
            }
        }
    }
}

/// AWS's own endpoint of a region. Source: AWS General Reference, "AWS KMS endpoints and quotas".
fn endpoint(region: &str) -> String {
    let suffix = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://kms.{region}.amazonaws.com{suffix}")
}

/// The key in an answer.
pub(crate) fn plaintext(body: &[u8]) -> Result<Zeroizing<Vec<u8>>, Fault> {
    let answer: Answer<'_> = serde_json::from_slice(body).map_err(|_| Fault::NotJson)?;
    let raw = answer.plaintext.map(RawValue::get);
    let text = raw.and_then(|raw| raw.strip_prefix('"')?.strip_suffix('"'));
    text.and_then(|text| decode_base64(text.as_bytes())).ok_or_else(|| Fault::NoField("Plaintext".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(region: &str, endpoint: Option<&str>) -> KmsAccess {
        let (access_key, secret) = ("AK".to_owned(), Zeroizing::new("s3cr3t".to_owned()));
        KmsAccess {
            region: region.to_owned(),
            endpoint: endpoint.map(str::to_owned),
            authorities: None,
            credentials: KmsCredentials::Inline { access_key, secret },
            timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn only_a_key_in_plain_base64_is_taken_from_an_answer() {
        assert_eq!(plaintext(br#"{"KeyId":"arn","Plaintext":"AP8Q/w=="}"#).unwrap().as_slice(), [0, 255, 16, 255]);
        for none in [&b"{}"[..], br#"{"Plaintext":7}"#, br#"{"Plaintext":"\u0041P8Q"}"#, br#"{"Plaintext":"!"}"#] {
            assert_eq!(plaintext(none), Err(Fault::NoField("Plaintext".to_owned())));
        }
        assert_eq!(plaintext(b"<html>"), Err(Fault::NotJson));
    }

    #[test]
    fn plain_http_and_malformed_texts_are_refused_before_anything_is_sent() {
        assert_eq!(endpoint("eu-central-1"), "https://kms.eu-central-1.amazonaws.com");
        assert_eq!(endpoint("cn-north-1"), "https://kms.cn-north-1.amazonaws.com.cn");
        let refused = |region, endpoint| Kms::new(&access(region, endpoint)).unwrap_err().to_string();
        assert!(refused("eu-central-1", Some("http://kms.example")).contains("to the network"));
        assert!(refused("eu/central", None).contains("is not the name of a region"));
        let kms = Kms::new(&access("eu-central-1", Some("http://127.0.0.1:1"))).unwrap();
        for bad in ["", "\"", "a b", &"A".repeat(MAX_WRAPPED_BYTES + 1)] {
            let error = kms.decrypt("key 1 version 1", bad).unwrap_err();
            assert_eq!(error.fault(), Some(&Fault::Kms(KmsFault::NotWrapped)));
            let expected = "AWS KMS at http://127.0.0.1:1, key 1 version 1: it is not what";
            assert!(error.to_string().starts_with(expected), "{error}");
        }
        for (endpoint, host) in
            [("https://kms.vpc:443/", "kms.vpc"), ("http://[::1]:80", "[::1]"), ("http://[::1]:443", "[::1]:443")]
        {
            let authorities = https::system_authorities().is_some() || endpoint.starts_with("http:");
            assert!(!authorities || Kms::new(&access("eu-central-1", Some(endpoint))).unwrap().host == host);
        }
        assert!(!format!("{:?} {kms:?}", access("eu-central-1", None)).contains("s3cr3t"));
    }
}
