//! The server's first packet.
//!
//! Source: MySQL's "Protocol::HandshakeV10"; MariaDB's description of the
//! "Initial Handshake Packet" for its extended capabilities.

use serde::{Deserialize, Serialize};

use crate::{
    bytes::Bytes,
    version::{Flavor, ServerVersion, VersionHints},
};

/// Capability bits of the classic protocol.
pub mod capability {
    /// MySQL always sets it, MariaDB 10.2 and later never: this identifies MariaDB.
    pub const LONG_PASSWORD: u32 = 1;
    /// More column flags.
    pub const LONG_FLAG: u32 = 1 << 2;
    /// Packets may be compressed with zlib after the login.
    pub const COMPRESS: u32 = 1 << 5;
    /// The client answers `LOAD DATA LOCAL`.
    pub const LOCAL_FILES: u32 = 1 << 7;
    /// Protocol of MySQL 4.1 and later.
    pub const PROTOCOL_41: u32 = 1 << 9;
    /// The server can switch to TLS.
    pub const SSL: u32 = 1 << 11;
    /// Status flags in OK packets.
    pub const TRANSACTIONS: u32 = 1 << 13;
    /// Challenge-response with 20 bytes.
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    /// Authentication plug-ins are named.
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    /// The client can send attributes.
    pub const CONNECT_ATTRS: u32 = 1 << 20;
    /// Packets may be compressed with zstd after the login (MySQL 8.0.18).
    pub const ZSTD: u32 = 1 << 26;
    /// Several authentication factors (MySQL 8.0.27).
    pub const MULTI_FACTOR: u32 = 1 << 28;
    /// The authentication answer may be longer than 255 bytes.
    pub const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
}

/// Number of the collation `utf8mb4_general_ci`, which every server since 5.5.3 has.
pub const UTF8MB4_GENERAL_CI: u8 = 45;

/// Content of the first packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Version text, decoded as UTF-8 with replacement.
    pub version: String,
    /// Connection id.
    pub connection_id: u32,
    /// Capability bits, see [`capability`].
    pub capabilities: u32,
    /// MariaDB's extended capability bits; 0 for other servers.
    pub mariadb_capabilities: u32,
    /// The plug-in that the server proposes; empty before 5.5.
    pub auth_plugin: String,
    /// The challenge, without its terminating NUL.
    #[serde(skip)]
    pub challenge: Vec<u8>,
}

impl Greeting {
    /// Whether the server offers to switch to TLS.
    pub fn offers_tls(&self) -> bool {
        self.capabilities & capability::SSL != 0
    }

    /// Whether the capability bits are those of MariaDB 10.2 and later.
    pub fn is_mariadb(&self) -> bool {
        self.capabilities & capability::LONG_PASSWORD == 0 || self.version.to_ascii_lowercase().contains("mariadb")
    }

    /// Fork and version according to the greeting: Percona Server looks like MySQL.
    pub fn server_version(&self) -> Option<ServerVersion> {
        let hints = VersionHints { mariadb_capabilities: self.is_mariadb(), ..VersionHints::default() };
        ServerVersion::parse(&self.version, hints)
    }

    /// The fork, if the version text begins like one of its versions.
    pub fn flavor(&self) -> Option<Flavor> {
        self.server_version().map(|version| version.flavor)
    }
}

/// The first packet of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstPacket {
    /// A greeting.
    Greeting(Greeting),
    /// An error packet instead, such as "Host is blocked".
    Refusal {
        /// Error number.
        code: u16,
        /// The message, decoded as UTF-8 with replacement.
        message: String,
    },
}

/// Parses the payload of the first packet; `None` if it is malformed.
pub fn parse(payload: &[u8]) -> Option<FirstPacket> {
    let mut bytes = Bytes::new(payload);
    match bytes.u8()? {
        10 => greeting(bytes).map(FirstPacket::Greeting),
        0xff => {
            let code = bytes.u16_le()?;
            let mut message = bytes.rest();
            // Sent before capabilities are agreed, so usually without #SQLSTATE; MySQL 8 may add it.
            if message.first() == Some(&b'#') {
                message = message.get(6..).unwrap_or_default();
            }
            Some(FirstPacket::Refusal { code, message: String::from_utf8_lossy(message).into_owned() })
        }
        _ => None,
    }
}

fn greeting(mut bytes: Bytes<'_>) -> Option<Greeting> {
    let version = String::from_utf8_lossy(bytes.until_nul()?).into_owned();
    let connection_id = bytes.u32_le()?;
    let mut challenge = bytes.take(8)?.to_vec();
    bytes.take(1)?;
    let low = bytes.u16_le()?;
    if bytes.is_empty() {
        // In servers before 4.1 the packet ends here.
        return Some(Greeting {
            version,
            connection_id,
            capabilities: u32::from(low),
            mariadb_capabilities: 0,
            auth_plugin: String::new(),
            challenge,
        });
    }
    let _collation = bytes.u8()?;
    let _status = bytes.u16_le()?;
    let high = bytes.u16_le()?;
    let capabilities = u32::from(high) << 16 | u32::from(low);
    let challenge_bytes = bytes.u8()?;
    bytes.take(6)?;
    let extended = bytes.u32_le()?;
    if capabilities & capability::SECURE_CONNECTION != 0 {
        // The rest of the challenge has at least 13 bytes including its NUL.
        let wanted = usize::from(challenge_bytes).saturating_sub(8).max(13);
        let rest = bytes.take(wanted.min(bytes.rest().len()))?;
        challenge.extend_from_slice(rest);
        if challenge.last() == Some(&0) {
            challenge.pop();
        }
    }
    let auth_plugin = if capabilities & capability::PLUGIN_AUTH != 0 {
        // MySQL 5.5.7 to 5.5.9 omitted the terminating NUL (bug 59453).
        let name = bytes.until_nul().unwrap_or_else(|| bytes.rest());
        String::from_utf8_lossy(name).into_owned()
    } else {
        String::new()
    };
    let is_mariadb = capabilities & capability::LONG_PASSWORD == 0;
    Some(Greeting {
        version,
        connection_id,
        capabilities,
        mariadb_capabilities: if is_mariadb { extended } else { 0 },
        auth_plugin,
        challenge,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(version: &str, low: u16, high: u16, plugin: &str) -> Vec<u8> {
        let mut packet = vec![10];
        packet.extend_from_slice(version.as_bytes());
        packet.push(0);
        packet.extend_from_slice(&7_u32.to_le_bytes());
        packet.extend_from_slice(b"abcdefgh\0");
        packet.extend_from_slice(&low.to_le_bytes());
        packet.push(45);
        packet.extend_from_slice(&2_u16.to_le_bytes());
        packet.extend_from_slice(&high.to_le_bytes());
        packet.push(21);
        packet.extend_from_slice(&[0; 10]);
        packet.extend_from_slice(b"ijklmnopqrst\0");
        packet.extend_from_slice(plugin.as_bytes());
        packet.push(0);
        packet
    }

    #[test]
    fn a_mysql_greeting_is_read() {
        let packet = sample("9.7.4", 0xffff, 0xdfff, "caching_sha2_password");
        let Some(FirstPacket::Greeting(greeting)) = parse(&packet) else {
            panic!("not a greeting");
        };
        assert_eq!(greeting.version, "9.7.4");
        assert_eq!(greeting.connection_id, 7);
        assert_eq!(greeting.challenge, b"abcdefghijklmnopqrst");
        assert_eq!(greeting.auth_plugin, "caching_sha2_password");
        assert!(greeting.offers_tls());
        assert_eq!(greeting.flavor(), Some(Flavor::MySql));
    }

    #[test]
    fn mariadb_is_known_by_the_missing_first_bit() {
        let packet = sample("5.7.1-x", 0xf7fe, 0x81ff, "mysql_native_password");
        let Some(FirstPacket::Greeting(greeting)) = parse(&packet) else {
            panic!("not a greeting");
        };
        assert!(!greeting.offers_tls());
        assert_eq!(greeting.flavor(), Some(Flavor::MariaDb));
    }

    #[test]
    fn an_error_instead_of_the_greeting_is_a_refusal() {
        let packet = b"\xff\x69\x04Host '10.0.0.1' is blocked";
        assert_eq!(
            parse(packet),
            Some(FirstPacket::Refusal { code: 1129, message: "Host '10.0.0.1' is blocked".to_owned() })
        );
        let packet = b"\xff\x10\x04#08004Too many connections";
        assert!(matches!(
            parse(packet),
            Some(FirstPacket::Refusal { code: 1040, message }) if message == "Too many connections"
        ));
    }

    #[test]
    fn every_prefix_of_a_greeting_is_handled() {
        let packet = sample("9.7.4", 0xffff, 0xdfff, "caching_sha2_password");
        for end in 0..packet.len() {
            let _ = parse(&packet[..end]);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(mut data: Vec<u8>) {
            let _ = parse(&data);
            data.insert(0, 10);
            let _ = parse(&data);
        }
    }
}
