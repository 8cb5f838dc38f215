//! The address of a container of Azure or a bucket of Google.

use std::fmt;

use crate::{
    CLOUD_SCHEMES, Name,
    s3::{S3Fault, endpoint_of, host_of, is_bucket, key_prefix},
};

/// The default endpoint of Google. Azure's has the name of an account.
const GOOGLE: &str = "https://storage.googleapis.com";

/// Whose store it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    /// Azure Blob Storage.
    Azure,
    /// Google Cloud Storage.
    Google,
}

/// A container or bucket, and the prefix in it that a store uses.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(super) provider: Provider,
    /// Scheme, host and port; in front of an emulator of Azure also the account.
    pub(super) endpoint: String,
    /// Host and port, without the scheme's default port.
    pub(super) authority: String,
    /// Azure's account; empty for Google.
    pub(super) account: String,
    pub(super) container: String,
    /// Prefix of all keys: empty, or ends with `/`.
    pub(super) prefix: String,
}

impl Address {
    /// Resolves `az://CONTAINER/PREFIX`, which needs the endpoint of the account, or `gs://BUCKET/PREFIX`. The account is
    /// the first label of the endpoint's host, or the path of the endpoint, as emulators have it.
    ///
    /// # Errors
    /// [`S3Fault::Address`].
    pub fn new(url: &str, endpoint: Option<&str>) -> Result<Self, S3Fault> {
        let wrong = |text: &str, reason| S3Fault::Address { text: text.to_owned(), reason };
        let [azure, google] = CLOUD_SCHEMES;
        let (provider, location) = match (url.strip_prefix(azure), url.strip_prefix(google)) {
            (Some(location), _) => (Provider::Azure, location),
            (None, Some(location)) => (Provider::Google, location),
            (None, None) => return Err(wrong(url, "must begin with az:// or gs://")),
        };
        let (container, prefix) = location.split_once('/').unwrap_or((location, ""));
        if !is_bucket(container) {
            return Err(wrong(url, "has no valid name of a container or bucket: 3 to 63 of a-z, 0-9, '.' and '-'"));
        }
        let prefix = key_prefix(prefix).map_err(|reason| wrong(url, reason))?;
        let text = match (provider, endpoint) {
            (_, Some(endpoint)) => endpoint,
            (Provider::Google, None) => GOOGLE,
            (Provider::Azure, None) => {
                return Err(wrong(url, "needs the endpoint of its account: https://ACCOUNT.blob.core.windows.net"));
            }
        };
        let (origin, path) = split_path(text);
        let (scheme, authority) = endpoint_of(origin).map_err(|reason| wrong(text, reason))?;
        let account = match (provider, path) {
            (Provider::Google, "") => "",
            (Provider::Google, _) => return Err(wrong(text, "has a path, which no endpoint of Google has")),
            (Provider::Azure, "") => host_of(authority).split('.').next().unwrap_or_default(),
            (Provider::Azure, path) => path,
        };
        if provider == Provider::Azure && !is_account(account) {
            return Err(wrong(text, "does not have the name of an account of Azure: 3 to 24 of a-z and 0-9"));
        }
        let mark = if path.is_empty() { "" } else { "/" };
        Ok(Self {
            provider,
            endpoint: format!("{scheme}://{authority}{mark}{path}"),
            authority: authority.to_owned(),
            account: account.to_owned(),
            container: container.to_owned(),
            prefix,
        })
    }

    /// Key of an object: its name below the prefix.
    pub(super) fn key(&self, name: &Name) -> String {
        format!("{}{name}", self.prefix)
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.endpoint.starts_with("https://")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [azure, google] = CLOUD_SCHEMES;
        let scheme = if self.provider == Provider::Azure { azure } else { google };
        write!(f, "{scheme}{}/{}", self.container, self.prefix.trim_end_matches('/'))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} at {}", self.endpoint)
    }
}

/// Scheme, host and port of an endpoint, and its path without slashes around it.
fn split_path(text: &str) -> (&str, &str) {
    let host = text.find("://").map_or(0, |at| at.saturating_add(3));
    let slash = text.get(host..).and_then(|rest| rest.find('/'));
    let (origin, path) = slash.map_or((text, ""), |at| text.split_at(host.saturating_add(at)));
    (origin, path.trim_matches('/'))
}

fn is_account(name: &str) -> bool {
    (3..=24).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_has_the_account() {
        for (url, endpoint, expected, account) in [
            (
                "az://backups/db/",
                Some("https://shop1.blob.core.windows.net/"),
                "az://backups/db at https://shop1.blob.core.windows.net",
                "shop1",
            ),
            (
                "az://backups",
                Some("http://127.0.0.1:10000/devstoreaccount1"),
                "az://backups/ at http://127.0.0.1:10000/devstoreaccount1",
                "devstoreaccount1",
            ),
            ("gs://backups/a/b", None, "gs://backups/a/b at https://storage.googleapis.com", ""),
            ("gs://backups", Some("http://[::1]:4443"), "gs://backups/ at http://[::1]:4443", ""),
        ] {
            let address = Address::new(url, endpoint).unwrap();
            assert_eq!((format!("{address:?}").as_str(), address.account.as_str()), (expected, account));
        }
    }

    #[test]
    fn what_is_no_address_is_named() {
        for (url, endpoint, says) in [
            ("s3://backups", None, "az://"),
            ("az://backups", None, "endpoint of its account"),
            ("az://Backups", Some("https://shop1.blob.core.windows.net"), "container"),
            ("az://backups/../x", Some("https://shop1.blob.core.windows.net"), "prefix"),
            ("az://backups", Some("http://shop1.blob.core.windows.net"), "on the network"),
            ("az://backups", Some("https://my-proxy.example"), "account"),
            ("az://backups", Some("https://shop1.blob.core.windows.net/a/b"), "account"),
            ("gs://backups", Some("https://storage.googleapis.com/x"), "path"),
            ("gs://backups", Some("storage.googleapis.com"), "https://"),
        ] {
            let error = Address::new(url, endpoint).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
