//! The address of a bucket, and how requests name it.

use std::{fmt, net::IpAddr};

use https::{is_this_machine, without_default_port};
use serde::Deserialize;

use super::S3Fault;
use crate::Name;

/// Scheme of the URL of a bucket.
pub const SCHEME: &str = "s3://";
/// Domain of AWS, the default endpoint.
const AWS: &str = "amazonaws.com";
/// Region for stores that have no regions.
const DEFAULT_REGION: &str = "us-east-1";

/// How the bucket is named in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// `https://endpoint/bucket/name`.
    Path,
    /// `https://bucket.endpoint/name`.
    Host,
}

/// A bucket, and the prefix in it that a store uses.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    scheme: &'static str,
    /// Value of the `Host` header, with the port unless it is the default.
    host: String,
    /// Path of the bucket; empty if the host contains its name.
    root: String,
    bucket: String,
    /// Prefix of all keys: empty, or ends with `/`.
    prefix: String,
    region: String,
}

impl Address {
    /// Resolves `s3://BUCKET/PREFIX`. The default endpoint is that of AWS. Without a style, other endpoints use paths,
    /// since their certificates rarely cover names of buckets.
    ///
    /// # Errors
    /// [`S3Fault::Address`].
    pub fn new(url: &str, endpoint: Option<&str>, region: Option<&str>, style: Option<Style>) -> Result<Self, S3Fault> {
        let wrong = |text: &str, reason| S3Fault::Address { text: text.to_owned(), reason };
        let location = url.strip_prefix(SCHEME).ok_or_else(|| wrong(url, "must begin with s3://"))?;
        let (bucket, prefix) = location.split_once('/').unwrap_or((location, ""));
        if !is_bucket(bucket) {
            return Err(wrong(url, "has no valid name of a bucket: 3 to 63 of a-z, 0-9, '.' and '-'"));
        }
        let prefix = key_prefix(prefix).map_err(|reason| wrong(url, reason))?;
        let region = region.unwrap_or(DEFAULT_REGION);
        if region.is_empty() || !region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(wrong(region, "is not the name of a region"));
        }
        let aws = format!("https://s3.{region}.{AWS}");
        let text = endpoint.unwrap_or(&aws);
        let (scheme, authority) = endpoint_of(text).map_err(|reason| wrong(text, reason))?;
        let usual = if endpoint.is_none() && !bucket.contains('.') { Style::Host } else { Style::Path };
        let is_path = style.unwrap_or(usual) == Style::Path;
        if !is_path && is_address(host_of(authority)) {
            return Err(wrong(
                text,
                "is an IP address, which cannot be preceded by a bucket: use addressing = \"path\"",
            ));
        }
        Ok(Self {
            scheme,
            host: if is_path { authority.to_owned() } else { format!("{bucket}.{authority}") },
            root: if is_path { format!("/{bucket}") } else { String::new() },
            bucket: bucket.to_owned(),
            prefix,
            region: region.to_owned(),
        })
    }

    /// Path of an object, or of the bucket without `key`.
    pub(super) fn path(&self, key: Option<&str>) -> String {
        format!("{}/{}", self.root, key.unwrap_or_default())
    }

    /// Key of an object: its name below the prefix.
    pub(super) fn key(&self, name: &Name) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Prefix of all URLs: scheme and host.
    pub(super) fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.host)
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Name of the bucket.
    #[must_use]
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Prefix of all keys: empty, or ends with `/`.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn region(&self) -> &str {
        &self.region
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.scheme == "https"
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.prefix.trim_end_matches('/'))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} at {}", self.origin())
    }
}

/// The prefix of all keys, from the end of a URL: empty, or ends with `/`.
pub(crate) fn key_prefix(text: &str) -> Result<String, &'static str> {
    match text.trim_end_matches('/') {
        "" => Ok(String::new()),
        prefix if prefix.parse::<Name>().is_ok() => Ok(format!("{prefix}/")),
        _ => Err("has no valid prefix: parts of letters, digits, '.', '_' and '-', joined by '/'"),
    }
}

/// Scheme, and host with port, of an endpoint.
pub(crate) fn endpoint_of(text: &str) -> Result<(&'static str, &str), &'static str> {
    let (scheme, authority) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => ("https", rest.trim_end_matches('/')),
        (None, Some(rest)) => ("http", rest.trim_end_matches('/')),
        (None, None) => return Err("must begin with https://"),
    };
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte);
    let host = host_of(authority);
    if host.is_empty() || !authority.bytes().all(sound) || !is_port(authority.strip_prefix(host).unwrap_or_default()) {
        return Err("is not an endpoint such as https://s3.example:9000: a host and a port, nothing else");
    }
    if scheme == "http" && !is_this_machine(host) {
        return Err("http:// would show names and sizes, and let others change them, on the network: use https://");
    }
    Ok((scheme, without_default_port(authority, scheme == "https")))
}

/// The host of `host:port`, or of `[address]:port` with its brackets.
pub(crate) fn host_of(authority: &str) -> &str {
    match authority.find(']') {
        Some(end) if authority.starts_with('[') => authority.get(..=end).unwrap_or_default(),
        Some(_) => "",
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn is_address(host: &str) -> bool {
    host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

pub(crate) fn is_bucket(name: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    (3..=63).contains(&name.len())
        && name.bytes().all(sound)
        && !name.contains("..")
        && !name.starts_with(['.', '-'])
        && !name.ends_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(url: &str, endpoint: Option<&str>, style: Option<Style>) -> Result<String, String> {
        let address = Address::new(url, endpoint, Some("eu-central-1"), style).map_err(|fault| fault.to_string())?;
        Ok(format!("{}{}", address.origin(), address.path(Some(&address.key(&"a/b.age".parse().unwrap())))))
    }

    #[test]
    fn a_bucket_is_named_by_host_or_by_path() {
        let aws = url("s3://backups", None, None).unwrap();
        assert_eq!(aws, "https://backups.s3.eu-central-1.amazonaws.com/a/b.age");
        // No wildcard certificate covers a bucket name with dots.
        let dots = url("s3://my.backups/db/", None, None).unwrap();
        assert_eq!(dots, "https://s3.eu-central-1.amazonaws.com/my.backups/db/a/b.age");
        for (endpoint, style, expected) in [
            ("https://s3.example:9000/", None, "https://s3.example:9000/backups/a/b.age"),
            ("https://s3.example:443", None, "https://s3.example/backups/a/b.age"),
            ("https://s3.example", Some(Style::Host), "https://backups.s3.example/a/b.age"),
            ("https://[2001:db8::1]:9000", None, "https://[2001:db8::1]:9000/backups/a/b.age"),
            ("http://[::1]:7070", None, "http://[::1]:7070/backups/a/b.age"),
            ("http://127.0.0.1:80", None, "http://127.0.0.1/backups/a/b.age"),
        ] {
            assert_eq!(url("s3://backups", Some(endpoint), style).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_address_is_named() {
        for (bucket, endpoint, style, says) in [
            ("s3://", None, None, "bucket"),
            ("s3://Backups", None, None, "bucket"),
            ("s3://ab", None, None, "bucket"),
            ("s3://backups/../x", None, None, "prefix"),
            ("s3://backups/a b", None, None, "prefix"),
            ("s3://backups", Some("s3.example"), None, "https://"),
            ("s3://backups", Some("http://s3.example"), None, "on the network"),
            ("s3://backups", Some("http://127.0.0.1.example"), None, "on the network"),
            ("s3://backups", Some("https://a:b@s3.example"), None, "nothing else"),
            ("s3://backups", Some("https://s3.example/path"), None, "nothing else"),
            ("s3://backups", Some("https://s3.example:0"), None, "nothing else"),
            ("s3://backups", Some("https://[::1"), None, "nothing else"),
            ("s3://backups", Some("https://"), None, "nothing else"),
            ("s3://backups", Some("https://[::1]"), Some(Style::Host), "addressing"),
        ] {
            let error = url(bucket, endpoint, style).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
