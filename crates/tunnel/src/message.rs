//! Messages between the two ends, one in each TLS record.
//!
//! The first byte of a record's content is the kind, the rest the payload. The near end starts with
//! [`Kind::Hello`] and drives the link: it makes the far end connect to the server, sends bytes,
//! and ends the session; then the same link serves the next session. docs/tunnel.md specifies the
//! protocol.

/// Version of the protocol.
pub(crate) const VERSION: u8 = 2;

/// Bytes before the payload.
pub(crate) const KIND_BYTES: usize = 1;

/// Maximum length of the payload of one message.
pub(crate) const MAX_PAYLOAD_BYTES: usize = tls13::record::MAX_CONTENT_BYTES - KIND_BYTES;

/// Maximum length of a text that is accepted from the peer.
pub(crate) const MAX_TEXT_BYTES: usize = 512;

/// The far end's Hello: the version, and the maximum number of server connections kept ready,
/// big-endian.
pub(crate) fn far_hello(ahead: u16) -> [u8; 3] {
    let [high, low] = ahead.to_be_bytes();
    [VERSION, high, low]
}

/// The maximum in a far end's Hello; `None` if it is of another version.
pub(crate) fn parse_far_hello(payload: &[u8]) -> Option<u16> {
    match payload {
        [VERSION, high, low] => Some(u16::from_be_bytes([*high, *low])),
        _ => None,
    }
}

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Both ways, first: the version; from the far end also the maximum number of server
    /// connections kept ready.
    Hello = 1,
    /// To the far end: connect to the server.
    Attach = 2,
    /// Both ways: bytes of the session.
    Data = 3,
    /// Both ways: no more bytes will come.
    Fin = 4,
    /// To the far end: the client is gone, close the server connection.
    Reset = 5,
    /// To the far end: keepalive request.
    Ping = 6,
    /// To the near end: answer to a ping.
    Pong = 7,
    /// To the near end: the server connection is closed, and the link is free. With a text: it could not be opened.
    Detached = 8,
    /// To the near end: the reason why no session is served.
    Refused = 9,
    /// To the near end: this end stops, so start no more sessions here.
    Leaving = 10,
}

impl Kind {
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Hello,
            2 => Self::Attach,
            3 => Self::Data,
            4 => Self::Fin,
            5 => Self::Reset,
            6 => Self::Ping,
            7 => Self::Pong,
            8 => Self::Detached,
            9 => Self::Refused,
            10 => Self::Leaving,
            _ => return None,
        })
    }
}

/// Text from the peer, made safe for display.
pub(crate) fn text(payload: &[u8]) -> String {
    let payload = payload.get(..payload.len().min(MAX_TEXT_BYTES)).unwrap_or_default();
    String::from_utf8_lossy(payload).replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_states_the_maximum_of_ready_connections() {
        assert!([0, 16, 300, u16::MAX].into_iter().all(|ahead| parse_far_hello(&far_hello(ahead)) == Some(ahead)));
        assert_eq!((parse_far_hello(&[VERSION]), parse_far_hello(&[VERSION - 1, 0, 0])), (None, None));
    }

    #[test]
    fn kinds_have_their_numbers_on_the_wire() {
        for byte in 0..=255 {
            assert!(Kind::from_byte(byte).is_none_or(|kind| kind as u8 == byte));
        }
        assert_eq!((1..=255).filter_map(Kind::from_byte).count(), 10);
    }
}
