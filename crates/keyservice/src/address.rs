//! Addresses of services, and paths below them.

use https::is_this_machine;
use ureq::http::Uri;

use crate::error::Error;

/// Why a text is not an address.
const NO_ADDRESS: &str = "is not an address such as https://vault.example:8200";

/// Scheme, host and port of a service, without a slash at the end.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    text: String,
    pub(crate) is_https: bool,
}

impl Address {
    /// Unencrypted HTTP would expose credentials and keys, so it is refused except for this machine.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |reason| Error::Address { address: text.to_owned(), reason };
        let uri: Uri = text.parse().map_err(|_| wrong(NO_ADDRESS))?;
        let host = uri.host().ok_or_else(|| wrong("names no host"))?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(wrong("contains a name or password, which an address must not contain"));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(wrong("must end after host and port"));
        }
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_this_machine(host) => {}
            Some("http") => return Err(wrong("http:// would show token and key to the network; use https://")),
            _ => return Err(wrong("must begin with https://")),
        }
        let is_https = uri.scheme_str() == Some("https");
        Ok(Self { text: text.trim_end_matches('/').to_owned(), is_https })
    }

    /// The address of `path`, which [`plain_path`] has checked, with the query `query`.
    pub(crate) fn url(&self, path: &str, query: &str) -> String {
        format!("{}/v1/{path}{query}", self.text)
    }
}

/// A path without slashes at its ends. Refuses `.`, `..` and special characters, which could lead to another path.
pub(crate) fn plain_path(path: &str) -> Result<&str, Error> {
    let bare = path.trim_matches('/');
    // The names of MySQL keys in a Vault are base64, which contains `=` and `+`.
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~=+".contains(c);
    if bare.is_empty() || !bare.chars().all(plain) || bare.split('/').any(|part| matches!(part, "." | ".." | "")) {
        return Err(Error::Path { path: path.to_owned() });
    }
    Ok(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_only_for_this_machine() {
        let uri = |address: &str| {
            Address::parse(address).map(|address| address.url("secret/data/x", "")).map_err(|error| error.to_string())
        };
        assert_eq!(uri("https://vault.example:8200/").unwrap(), "https://vault.example:8200/v1/secret/data/x");
        for good in ["http://127.0.0.1:8200", "http://[::1]:8200", "http://localhost"] {
            assert!(uri(good).is_ok(), "{good}");
        }
        for bad in ["http://vault:8200", "http://127.0.0.1.example", "http://localhost.example:1", "http://10.0.0.1"] {
            assert!(uri(bad).unwrap_err().contains("to the network"), "{bad}");
        }
        for bad in
            ["vault:8200", "ftp://vault", "https://", "https://a:b@vault", "/x", "", "https://v/v1", "https://v?x"]
        {
            assert!(uri(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_cannot_leave_their_directory() {
        for bad in ["", "/", "secret/../sys/seal", "secret//x", "a?b", "a%2e", "a b", "./x"] {
            assert!(plain_path(bad).is_err(), "{bad}");
        }
        assert_eq!(plain_path("/kv/data/db-1/my_key.v2/").unwrap(), "kv/data/db-1/my_key.v2");
        assert!(plain_path("mysql/MjZfSU5OT0RCS2V5LTFfMF8=").is_ok());
    }
}
