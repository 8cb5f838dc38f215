//! The format of a log: the first event of each file.

use crate::{Checksum, EventType, Fault, HEADER_BYTES, bytes::Bytes, checksum::CHECKSUM_BYTES};

/// Bytes of the version text.
const VERSION_BYTES: usize = 50;
/// The only version of the format since MySQL 5.0.
const LOG_VERSION: u16 = 4;

/// The format of all following events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatDescription {
    /// Version of the server that wrote the log.
    pub server_version: String,
    /// When the log was created, in seconds since 1970 UTC, if the server was started at that time; otherwise 0.
    pub created: u32,
    /// Checksum algorithm of all events.
    pub checksum: Checksum,
    /// Length of the fixed part of each type of event, from type 1 on.
    post_header_bytes: Vec<u8>,
}

impl FormatDescription {
    /// Parses the event after its header. `content` has no checksum, but the algorithm if the server writes it.
    pub(crate) fn parse(content: &[u8]) -> Result<Self, Fault> {
        let mut bytes = Bytes::new(content, "format description");
        let version = bytes.u16()?;
        let text = bytes.take(VERSION_BYTES)?;
        let created = bytes.u32()?;
        let header_bytes = bytes.u8()?;
        if version != LOG_VERSION || usize::from(header_bytes) != HEADER_BYTES {
            return Err(bytes.malformed());
        }
        let server_version = version_text(text);
        let mut lengths = bytes.rest();
        let mut checksum = Checksum::None;
        if knows_checksums(&server_version) {
            let (code, before) = lengths.split_last().ok_or(Fault::Short { what: "format description" })?;
            checksum = Checksum::from_code(*code)?;
            lengths = before;
        }
        Ok(Self { server_version, created, checksum, post_header_bytes: lengths.to_vec() })
    }

    /// Determines the checksum of the event itself. An event that states an algorithm always has space for a checksum;
    /// if the algorithm is none, this space is not part of the content.
    pub(crate) fn checksum_of(event: &[u8]) -> Result<FormatSum, Fault> {
        let what = "format description";
        let mut bytes = Bytes::new(event, what);
        bytes.take(HEADER_BYTES)?;
        bytes.u16()?;
        if !knows_checksums(&version_text(bytes.take(VERSION_BYTES)?)) {
            return Ok(FormatSum::NoSpace);
        }
        let (rest, _) = bytes.rest().split_last_chunk::<CHECKSUM_BYTES>().ok_or(Fault::Short { what })?;
        let code = rest.last().ok_or(Fault::Short { what })?;
        Ok(match Checksum::from_code(*code)? {
            Checksum::None => FormatSum::Unused,
            Checksum::Crc32 => FormatSum::Crc32,
        })
    }

    /// Length of the fixed part of an event of this type; `None` if the server does not know the type.
    #[must_use]
    pub(crate) fn post_header_bytes(&self, kind: EventType) -> Option<u8> {
        let index = usize::from(kind.0).checked_sub(1)?;
        self.post_header_bytes.get(index).copied()
    }

    /// Whether MariaDB wrote the log.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        self.server_version.contains("MariaDB")
    }
}

/// Kinds of the last bytes of a format description event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatSum {
    /// No space: the server is too old for checksums.
    NoSpace,
    /// Space for a checksum that is not computed.
    Unused,
    /// A CRC-32.
    Crc32,
}

impl FormatSum {
    /// Verifies the checksum, and returns the event without it.
    pub(crate) fn strip(self, event: &[u8]) -> Result<&[u8], Fault> {
        match self {
            Self::NoSpace => Ok(event),
            Self::Unused => {
                let short = Fault::Short { what: "format description" };
                event.split_last_chunk::<CHECKSUM_BYTES>().map(|(covered, _)| covered).ok_or(short)
            }
            Self::Crc32 => Checksum::Crc32.strip(event, EventType::FORMAT_DESCRIPTION),
        }
    }
}

fn version_text(text: &[u8]) -> String {
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    String::from_utf8_lossy(text.get(..end).unwrap_or_default()).into_owned()
}

/// Whether a server version has checksums: since MySQL 5.6.1 and MariaDB 5.3.0.
///
/// Source: `checksum_version_product_mysql` and `_mariadb` of MariaDB's `log_event.cc`.
fn knows_checksums(version: &str) -> bool {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u16>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    let version_numbers = [next(), next(), next()];
    let first = if version.contains("MariaDB") { [5, 3, 0] } else { [5, 6, 1] };
    version_numbers >= first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_have_no_checksums() {
        for (version, knows) in [
            ("5.5.62-log", false),
            ("5.6.0", false),
            ("5.6.1", true),
            ("10.11.19-MariaDB-log", true),
            ("5.2.14-MariaDB", false),
            ("5.3.0-MariaDB", true),
            ("", false),
        ] {
            assert_eq!(knows_checksums(version), knows, "{version}");
        }
    }
}
