//! Servers as URLs: `mysql://user@host:port`, or the path of a socket.

use std::{path::PathBuf, str::FromStr};

use crate::{
    address::{self, AddressFault, HostPort},
    endpoint::{DEFAULT_PORT, Endpoint, Target},
    error::Error,
};

impl FromStr for Target {
    type Err = Error;

    /// Parses a URL. Errors never contain the URL, because it may contain a password.
    ///
    /// # Errors
    /// [`Error::PasswordInUrl`] for `user:password@`, otherwise [`Error::Url`].
    fn from_str(url: &str) -> Result<Self, Error> {
        let rest = url
            .strip_prefix("mysql://")
            .or_else(|| url.strip_prefix("mariadb://"))
            .ok_or(Error::Url { reason: "it must begin with mysql://" })?;
        let (rest, query) = match rest.split_once('?') {
            Some((before, query)) => (before, Some(query)),
            None => (rest, None),
        };
        // The last @ ends the account, so that a password with @ is recognised.
        let (account, location) = match rest.rsplit_once('@') {
            Some((account, location)) => (Some(account), location),
            None => (None, rest),
        };
        let user = match account {
            Some(account) if account.contains(':') => return Err(Error::PasswordInUrl),
            Some(account) => percent_decoded(account)?,
            None => {
                return Err(Error::Url { reason: "it names no user" });
            }
        };
        let (authority, path) = location.split_once('/').unwrap_or((location, ""));
        if !path.is_empty() {
            return Err(Error::Url { reason: "a database name has no meaning here" });
        }
        let endpoint = match query {
            Some(query) => socket_endpoint(authority, query)?,
            None => tcp_endpoint(authority)?,
        };
        Ok(Self { endpoint, user })
    }
}

fn socket_endpoint(authority: &str, query: &str) -> Result<Endpoint, Error> {
    let path = query
        .strip_prefix("socket=")
        .filter(|path| !path.is_empty() && !path.contains('&'))
        .ok_or(Error::Url { reason: "the only parameter is socket=/path" })?;
    if !matches!(authority, "" | "localhost") {
        return Err(Error::Url { reason: "a socket has no host" });
    }
    Ok(Endpoint::Socket(PathBuf::from(percent_decoded(path)?)))
}

fn tcp_endpoint(authority: &str) -> Result<Endpoint, Error> {
    let wrong = |fault: AddressFault| Error::Url { reason: fault.reason() };
    let (host, port) = address::split(authority).map_err(wrong)?;
    let address = HostPort::new(percent_decoded(host)?, port.unwrap_or(DEFAULT_PORT));
    let HostPort { host, port } = address.to_connect().map_err(wrong)?;
    Ok(Endpoint::Tcp { host, port })
}

/// Decodes `%41` escapes (RFC 3986, section 2.1).
fn percent_decoded(text: &str) -> Result<String, Error> {
    let bad = Error::Url { reason: "a % must be followed by two hexadecimal digits" };
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digits = [bytes.next(), bytes.next()].map(|digit| {
            digit.and_then(|digit| char::from(digit).to_digit(16)).and_then(|digit| u8::try_from(digit).ok())
        });
        let [Some(high), Some(low)] = digits else {
            return Err(bad);
        };
        decoded.push(high << 4 | low);
    }
    let decoded = String::from_utf8(decoded).map_err(|_| Error::Url { reason: "it is not UTF-8 after decoding" })?;
    if decoded.contains('\0') {
        return Err(Error::Url { reason: "it contains a NUL" });
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(url: &str) -> (String, Endpoint) {
        let target: Target = url.parse().unwrap();
        (target.user, target.endpoint)
    }

    #[test]
    fn urls_name_user_host_and_port() {
        assert_eq!(parsed("mysql://root@db.example:3307"), ("root".into(), Endpoint::tcp("db.example", 3307)));
        assert_eq!(parsed("mysql://root@localhost"), ("root".into(), Endpoint::tcp("localhost", 3306)));
        assert_eq!(parsed("mysql://a%40b@[::1]:3306/"), ("a@b".into(), Endpoint::tcp("::1", 3306)));
        assert_eq!(parsed("mysql://root@[fe80::1%25eth0]"), ("root".into(), Endpoint::tcp("fe80::1%eth0", 3306)));
        assert_eq!(
            parsed("mysql://audit@?socket=/run/mysqld/mysqld.sock"),
            ("audit".into(), Endpoint::Socket("/run/mysqld/mysqld.sock".into()))
        );
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_repeated() {
        for url in ["mysql://root:geheim@db", "mysql://root:ge@heim@db", "mysql://root:@db"] {
            let error = url.parse::<Target>().unwrap_err();
            assert!(matches!(error, Error::PasswordInUrl), "{url}");
            assert!(!error.to_string().contains("heim"));
            assert!(error.hint().unwrap().contains("--defaults-file"));
        }
    }

    #[test]
    fn wrong_urls_are_refused() {
        for url in [
            "",
            "root@db",
            "mysql://db",
            "mysql://root@",
            "mysql://root@db:0",
            "mysql://root@db:99999",
            "mysql://root@::1",
            "mysql://root@[::1",
            "mysql://root@[db]:3306",
            "mysql://root@[::1]3306",
            "mysql://root@[fe80::1%eth0]:3306",
            "mysql://ro%4@db",
            "mysql://ro%00ot@db",
            "mysql://root@db/sakila",
            "mysql://root@db?socket=/x",
            "mysql://root@?ssl=0",
        ] {
            assert!(url.parse::<Target>().is_err(), "{url}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_or_errs(url in "(mysql://)?.*") {
            let _ = url.parse::<Target>();
        }
    }
}
