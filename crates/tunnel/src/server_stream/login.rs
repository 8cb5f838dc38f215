//! Login of a client that does not know that the connection to the server is encrypted.
//!
//! Such a client answers the greeting with its login, packet 1. To start TLS, the server must first get a request for
//! TLS, which takes that number. From then on the server's sequence numbers are one ahead of the client's until the
//! login is over; each command starts at 0 again.
//!
//! Source: MySQL's "Protocol::SSLRequest", "Protocol::HandshakeResponse41", "Connection Phase".

use server::greeting::capability;

use crate::greeting::HEADER_BYTES;

/// Capabilities, maximum packet size, collation, and 23 bytes with MariaDB's further capabilities or zeros: the start
/// of a login, and all of a request for TLS.
pub(super) const HEAD_BYTES: usize = 32;
/// First byte of the packets that end a login. MySQL puts a 1 before everything that a plug-in sends. MariaDB does so
/// only for data that starts with 1, 254 or 255, and none of its own plug-ins sends data that starts with 0. For a
/// plug-in that did, renumbering would stop too early: its client would see packets out of order, which does not affect
/// security.
pub(super) const OK: u8 = 0;
pub(super) const ERROR: u8 = 0xff;

/// Why a client cannot log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LoginRefused {
    /// The client requests TLS, although that was not offered.
    #[error("the far end encrypts the connection to the server itself: connect without TLS")]
    RequestsTls,
    /// The client is of MySQL 4.0, or is not a client at all.
    #[error("this is not the login of a client of MySQL 4.1 or later")]
    Unknown,
}

/// The start of a login, until it determines the request to the server.
#[derive(Debug, Default)]
pub(crate) struct LoginReader {
    received: Vec<u8>,
}

/// The first bytes for the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LoginRequest {
    /// Sent in clear text: the request for TLS.
    pub(crate) tls_request: Vec<u8>,
    /// Sent encrypted: the start of the login.
    pub(crate) login: Vec<u8>,
    /// Bytes of the login that are still to come.
    pub(crate) left: usize,
}

impl LoginReader {
    /// Processes bytes of the client. Returns how many were used, and the bytes for the server once they are known.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(usize, Option<LoginRequest>), LoginRefused> {
        let wanted = (HEADER_BYTES + HEAD_BYTES).saturating_sub(self.received.len());
        let part = bytes.get(..wanted.min(bytes.len())).unwrap_or_default();
        self.received.extend_from_slice(part);
        let request = if part.len() == wanted { Some(login_request(&self.received)?) } else { None };
        Ok((part.len(), request))
    }
}

fn login_request(received: &[u8]) -> Result<LoginRequest, LoginRefused> {
    let Some(([a, b, c, 1], head)) = received.split_first_chunk() else { return Err(LoginRefused::Unknown) };
    let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
    let left = length.checked_sub(HEAD_BYTES).ok_or(LoginRefused::Unknown)?;
    let (capabilities, rest) = head.split_first_chunk().ok_or(LoginRefused::Unknown)?;
    let capabilities = u32::from_le_bytes(*capabilities);
    if capabilities & capability::PROTOCOL_41 == 0 {
        return Err(LoginRefused::Unknown);
    }
    if capabilities & capability::SSL != 0 {
        return Err(LoginRefused::RequestsTls);
    }
    // Servers use the capabilities in the request, so they must be the client's.
    let head = [&(capabilities | capability::SSL).to_le_bytes(), rest].concat();
    let tls_request = [&[HEAD_BYTES as u8, 0, 0, 1], head.as_slice()].concat();
    let login = [&[*a, *b, *c, 2], head.as_slice()].concat();
    Ok(LoginRequest { tls_request, login, left })
}

/// Follows the packets of one direction whose sequence numbers have to be changed.
#[derive(Debug)]
struct Packets {
    /// Start of an incomplete header.
    header: Vec<u8>,
    /// Bytes of the packet that are still to come.
    left: usize,
}

impl Packets {
    /// Takes a header, or the available part of a packet body, from `bytes`. Also returns the rest.
    fn take<'b>(&mut self, bytes: &'b [u8]) -> (PacketPart<'b>, &'b [u8]) {
        if self.left > 0 {
            let (body, rest) = bytes.split_at(self.left.min(bytes.len()));
            self.left -= body.len();
            return (PacketPart::Body(body), rest);
        }
        let (part, rest) = bytes.split_at((HEADER_BYTES - self.header.len()).min(bytes.len()));
        self.header.extend_from_slice(part);
        let Some(&[a, b, c, number]) = self.header.first_chunk() else { return (PacketPart::Nothing, rest) };
        self.header.clear();
        self.left = u32::from_le_bytes([a, b, c, 0]) as usize;
        (PacketPart::Header([a, b, c], number), rest)
    }
}

/// The part of a packet that was taken.
enum PacketPart<'b> {
    /// An incomplete header.
    Nothing,
    /// A header: length and sequence number.
    Header([u8; 3], u8),
    /// Part of a packet body.
    Body(&'b [u8]),
}

/// Follows the client after the start of its login.
#[derive(Debug)]
pub(crate) struct FromClient {
    packets: Packets,
    over: bool,
}

impl FromClient {
    /// Continues after a [`LoginRequest`].
    pub(crate) fn after(request: &LoginRequest) -> Self {
        Self { packets: Packets { header: Vec::new(), left: request.left }, over: false }
    }

    /// Whether the login is over: later bytes need no processing.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Appends the bytes for the server to `out`.
    pub(crate) fn pass(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() && !self.over {
            let (taken, rest) = self.packets.take(bytes);
            bytes = rest;
            match taken {
                PacketPart::Nothing => {}
                PacketPart::Body(body) => out.extend_from_slice(body),
                PacketPart::Header([a, b, c], number) => {
                    // A command. Some drivers send one before they know that the login succeeded.
                    self.over = number == 0;
                    let number = if self.over { 0 } else { number.wrapping_add(1) };
                    out.extend_from_slice(&[a, b, c, number]);
                }
            }
        }
        out.extend_from_slice(bytes);
    }
}

/// Follows the server until the login is over.
#[derive(Debug)]
pub(crate) struct FromServer {
    packets: Packets,
    /// Set when the next byte of the body is its first.
    at_body_start: bool,
    /// Set when this packet ends the login.
    last: bool,
}

impl Default for FromServer {
    fn default() -> Self {
        Self { packets: Packets { header: Vec::new(), left: 0 }, at_body_start: false, last: false }
    }
}

impl FromServer {
    /// Whether the login is over: later bytes need no processing.
    pub(crate) fn is_over(&self) -> bool {
        self.last && self.packets.left == 0
    }

    /// Appends the bytes for the client to `out`.
    pub(crate) fn pass(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() && !self.is_over() {
            let (taken, rest) = self.packets.take(bytes);
            bytes = rest;
            match taken {
                PacketPart::Nothing => {}
                PacketPart::Header([a, b, c], number) => {
                    self.at_body_start = true;
                    out.extend_from_slice(&[a, b, c, number.wrapping_sub(1)]);
                }
                PacketPart::Body(body) => {
                    self.last |= self.at_body_start && matches!(body.first(), Some(&(OK | ERROR)));
                    self.at_body_start = false;
                    out.extend_from_slice(body);
                }
            }
        }
        out.extend_from_slice(bytes);
    }
}

/// Passes a login of these bytes, in pieces, through both directions.
#[cfg(feature = "fuzzing")]
pub(crate) fn login_of(bytes: &[u8], piece: usize) {
    let (mut reader, mut client, mut received) = (LoginReader::default(), None, Vec::new());
    for bytes in bytes.chunks(piece) {
        let mut bytes = bytes;
        if client.is_none() {
            let Ok((used, request)) = reader.take(bytes) else { return };
            bytes = &bytes[used..];
            client = request.as_ref().map(FromClient::after);
            received.extend(request.map(|request| request.login).unwrap_or_default());
        }
        if let Some(client) = &mut client {
            client.pass(bytes, &mut received);
        }
    }
    assert!(client.is_none() || bytes.len() - received.len() < HEADER_BYTES);
    let (mut server, mut shown) = (FromServer::default(), Vec::new());
    bytes.chunks(piece).for_each(|bytes| server.pass(bytes, &mut shown));
    assert!(bytes.len() - shown.len() < HEADER_BYTES);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packet(number: u8, body: &[u8]) -> Vec<u8> {
        let [a, b, c, _] = u32::try_from(body.len()).unwrap().to_le_bytes();
        [&[a, b, c, number], body].concat()
    }

    /// Capabilities, and what a client sends after them.
    fn login(capabilities: u32) -> Vec<u8> {
        let mut body = capabilities.to_le_bytes().to_vec();
        body.extend_from_slice(&[0, 0, 0, 1, 45]);
        body.extend((0..23).map(|byte| byte + 100));
        body.extend_from_slice(b"user\0\0");
        packet(1, &body)
    }

    #[test]
    fn a_request_with_the_clients_capabilities_comes_first() {
        let login = login(0x00ff_a28d);
        let (used, request) = LoginReader::default().take(&login).unwrap();
        let request = request.unwrap();
        assert_eq!(used, 36);
        assert_eq!(request.tls_request[..8], [32, 0, 0, 1, 0x8d, 0xaa, 0xff, 0]);
        assert_eq!(request.tls_request[8..], login[8..36]);
        assert_eq!(request.login[..8], [38, 0, 0, 2, 0x8d, 0xaa, 0xff, 0]);
        assert_eq!(request.login[8..], login[8..36]);
        assert_eq!(request.left, 6);
    }

    #[test]
    fn clients_that_cannot_be_served_are_distinguished() {
        let fails = |bytes: &[u8]| LoginReader::default().take(bytes).unwrap_err();
        assert_eq!(fails(&login(0x00ff_aa8d)), LoginRefused::RequestsTls);
        assert_eq!(fails(&login(0x0000_0085)), LoginRefused::Unknown);
        assert_eq!(fails(&[0xff; 36]), LoginRefused::Unknown);
        assert_eq!(fails(&[[31, 0, 0, 1].as_slice(), &[0xff; 40]].concat()), LoginRefused::Unknown);
    }

    #[test]
    fn sequence_numbers_differ_by_one_until_the_login_is_over() {
        let request = LoginRequest { tls_request: Vec::new(), login: Vec::new(), left: 6 };
        let sent = [b"user\0\0".to_vec(), packet(3, b"password"), packet(0, b"\x03SELECT 1"), packet(5, b"raw")];
        let expected = [b"user\0\0".to_vec(), packet(4, b"password"), packet(0, b"\x03SELECT 1"), packet(5, b"raw")];
        let received = [packet(3, b"\x01\x04"), packet(5, b"\0ok"), packet(1, b"\x01"), packet(2, b"raw")];
        let shown = [packet(2, b"\x01\x04"), packet(4, b"\0ok"), packet(1, b"\x01"), packet(2, b"raw")];
        for piece in [1, 2, 3, 7, 1000] {
            let (mut client, mut server) = (FromClient::after(&request), FromServer::default());
            let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
            sent.concat().chunks(piece).for_each(|bytes| client.pass(bytes, &mut to_server));
            received.concat().chunks(piece).for_each(|bytes| server.pass(bytes, &mut to_client));
            assert_eq!((to_server, to_client), (expected.concat(), shown.concat()), "in pieces of {piece}");
            assert!(client.is_over() && server.is_over());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_keep_their_length(bytes: Vec<u8>, piece in 1_usize..50, left in 0_usize..100) {
            let request = LoginRequest { tls_request: Vec::new(), login: Vec::new(), left };
            let (mut client, mut server) = (FromClient::after(&request), FromServer::default());
            let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
            for bytes in bytes.chunks(piece) {
                client.pass(bytes, &mut to_server);
                server.pass(bytes, &mut to_client);
            }
            // Except for an incomplete header.
            prop_assert!(bytes.len() - to_server.len() < HEADER_BYTES);
            prop_assert!(bytes.len() - to_client.len() < HEADER_BYTES);
            let mut reader = LoginReader::default();
            for bytes in bytes.chunks(piece) {
                match reader.take(bytes) {
                    Ok((used, None)) => prop_assert_eq!(used, bytes.len()),
                    _ => break,
                }
            }
        }
    }
}
