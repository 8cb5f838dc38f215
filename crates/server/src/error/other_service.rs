//! Other services that answer where a server of the MySQL family was expected.

use std::fmt;

/// Another kind of server, recognised by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherService {
    /// A PostgreSQL backend message.
    PostgreSql,
    /// An HTTP response.
    Http,
    /// An SSH banner.
    Ssh,
    /// A TLS record before any greeting: the port uses TLS from the start.
    Tls,
    /// A message of the X Protocol, usually port 33060.
    XProtocol,
    /// A classic MySQL greeting, where the X Protocol was expected.
    Classic,
    /// A line of a mail or file server that begins with `220`.
    LineBanner,
    /// Closed at once without sending a byte.
    Closed,
    /// Unknown.
    Unknown,
}

impl OtherService {
    /// Recognises the first bytes received.
    pub fn guess(first_bytes: &[u8]) -> Self {
        match first_bytes {
            [] => Self::Closed,
            [b'H', b'T', b'T', b'P', ..] | [b'<', ..] => Self::Http,
            [b'S', b'S', b'H', b'-', ..] => Self::Ssh,
            [0x14..=0x17, 3, 0..=4, ..] => Self::Tls,
            [b'2', b'2', b'0', ..] => Self::LineBanner,
            [_, 0, 0, 0, 0x0b, ..] => Self::XProtocol,
            [b'E' | b'R', 0, 0, ..] | [b'N' | b'S'] | [b'E', b'F', b'A', ..] => Self::PostgreSql,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for OtherService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PostgreSql => "it answers like PostgreSQL",
            Self::Http => "it answers like an HTTP server",
            Self::Ssh => "it answers like an SSH server",
            Self::Tls => "it begins with TLS, without a MySQL greeting",
            Self::XProtocol => "it answers in the X Protocol",
            Self::Classic => "it answers in the classic protocol",
            Self::LineBanner => "it answers like a mail or file server",
            Self::Closed => "it closes the connection without sending anything",
            Self::Unknown => "it does not answer with MySQL's greeting packet",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_services_are_recognised_by_their_first_bytes() {
        let cases: [(&[u8], OtherService); 8] = [
            (b"", OtherService::Closed),
            (b"HTTP/1.1 400 Bad Request\r\n", OtherService::Http),
            (b"SSH-2.0-OpenSSH_10.0\r\n", OtherService::Ssh),
            (&[0x15, 3, 1, 0, 2, 2, 40], OtherService::Tls),
            (b"220 mail.example ESMTP\r\n", OtherService::LineBanner),
            (&[5, 0, 0, 0, 0x0b, 8, 5, 0x1a, 0], OtherService::XProtocol),
            (b"E\0\0\0\x85SFATAL", OtherService::PostgreSql),
            (b"\x7fELF....", OtherService::Unknown),
        ];
        for (bytes, expected) in cases {
            assert_eq!(OtherService::guess(bytes), expected, "{bytes:?}");
        }
    }
}
