//! Both directions of connections, made byte by byte.

use proptest::prelude::*;
use server::tls::TlsVersion;

use super::*;

const SSL: u32 = 1 << 11;
const COMPRESS: u32 = 1 << 5;

fn start(bytes: &[u8]) -> Side<'_> {
    Side { bytes, is_from_start: true, starts: &[0] }
}

fn joined(bytes: &[u8]) -> Side<'_> {
    Side { bytes, is_from_start: false, starts: &[0] }
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

fn greeting() -> Vec<u8> {
    let mut payload = b"\x0a9.7.4\0".to_vec();
    payload.extend_from_slice(&[7, 0, 0, 0]);
    payload.extend_from_slice(b"abcdefgh\0");
    payload.extend_from_slice(&[0xff, 0xff, 45, 2, 0, 0xff, 0xdf, 21]);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
    packet(0, &payload)
}

fn login(capabilities: u32) -> Vec<u8> {
    let fixed = [&capabilities.to_le_bytes()[..], &[0, 0, 0, 1, 45], &[0; 23]].concat();
    packet(1, &[&fixed[..], b"secretname\0\x14", &[9; 20]].concat())
}

fn ssl_request() -> Vec<u8> {
    packet(1, &[&SSL.to_le_bytes()[..], &[0, 0, 0, 1, 45], &[0; 23]].concat())
}

/// A record with a handshake message.
fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let message = u32::try_from(body.len()).unwrap().to_be_bytes();
    let length = u16::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[0x16, 3, 3], &length[..], &[kind], &message[1..], body].concat()
}

fn client_hello() -> Vec<u8> {
    record(1, &[3; 60])
}

fn server_hello(suite: u16, version_13: bool) -> Vec<u8> {
    let mut body = [&[3, 3][..], &[5; 32], &[0]].concat();
    body.extend_from_slice(&suite.to_be_bytes());
    body.push(0);
    if version_13 {
        body.extend_from_slice(&[0, 6, 0, 0x2b, 0, 2, 3, 4]);
    }
    record(2, &body)
}

fn of(to_server: &[u8], to_client: &[u8]) -> (Protocol, State) {
    let class = classify(start(to_server), start(to_client));
    (class.protocol, class.state)
}

#[test]
fn the_classic_protocol_is_followed_to_its_login() {
    assert_eq!(of(b"", &greeting()), (Protocol::Mysql, State::Opening));
    assert_eq!(of(&login(0), &greeting()), (Protocol::Mysql, State::Clear));
    let refusal = packet(0, b"\xff\x10\x04Too many connections");
    assert_eq!(of(b"", &refusal), (Protocol::Mysql, State::Opening));
    let class = classify(start(&login(0)), start(&greeting()));
    assert!(class.evidence.iter().all(|seen| seen.bytes.len() <= 16), "{class:?}");
}

#[test]
fn the_switch_to_tls_is_followed_to_the_server_hello() {
    let to_server = [ssl_request(), client_hello()].concat();
    let asked = of(&ssl_request(), &greeting());
    assert_eq!(asked, (Protocol::Mysql, State::Opening));
    assert_eq!(of(&to_server, &greeting()), (Protocol::Mysql, State::Opening));
    for (suite, is_13, version) in [(0x1302, true, TlsVersion::Tls13), (0xc030, false, TlsVersion::Tls12)] {
        let to_client = [greeting(), server_hello(suite, is_13)].concat();
        let class = classify(start(&to_server), start(&to_client));
        assert_eq!((class.protocol, class.state), (Protocol::Mysql, State::Encrypted), "{class:?}");
        let tls = class.tls.unwrap();
        assert_eq!((tls.version, tls.suite.unwrap()), (Some(version), server::tls::suites::name(suite)));
    }
}

#[test]
fn what_follows_a_request_for_tls_must_be_tls() {
    let to_server = [ssl_request(), login(SSL)].concat();
    assert_eq!(of(&to_server, &greeting()), (Protocol::Mysql, State::Unknown));
}

#[test]
fn a_suite_without_encryption_is_clear() {
    let to_client = [greeting(), server_hello(0x003b, false)].concat();
    let to_server = [ssl_request(), client_hello()].concat();
    assert_eq!(of(&to_server, &to_client), (Protocol::Mysql, State::Clear));
}

#[test]
fn commands_say_what_a_connection_is_for() {
    let query = packet(0, b"\x03SELECT 1");
    for (command, protocol) in [
        (0x12, Protocol::Replication),
        (0x1e, Protocol::Replication),
        (0x20, Protocol::Clone),
        (0x21, Protocol::GroupReplication),
        (0x0e, Protocol::Mysql),
    ] {
        let to_server = [login(0), packet(3, b"more"), query.clone(), packet(0, &[command, 4, 0])].concat();
        assert_eq!(of(&to_server, &greeting()), (protocol, State::Clear), "{command:#x}");
    }
}

#[test]
fn compressed_packets_are_looked_into_if_they_are_short() {
    // Three zero bytes: the length before compression, which this packet did without.
    let compressed = |inner: Vec<u8>| {
        let length = u8::try_from(inner.len()).unwrap();
        [vec![length, 0, 0, 0, 0, 0, 0], inner].concat()
    };
    let begun = [login(COMPRESS), compressed(packet(0, b"\x0e"))].concat();
    assert_eq!(of(&begun, &greeting()), (Protocol::MysqlCompressed, State::Clear));
    let dump = [begun, compressed(packet(0, b"\x1e\0\0"))].concat();
    assert_eq!(of(&dump, &greeting()), (Protocol::Replication, State::Clear));
}

#[test]
fn the_header_of_a_proxy_is_passed_over() {
    let to_server = [&b"PROXY TCP4 10.0.0.1 10.0.0.2 40000 3306\r\n"[..], &login(0)].concat();
    let class = classify(start(&to_server), start(&greeting()));
    assert_eq!((class.protocol, class.state), (Protocol::Mysql, State::Clear));
    assert_eq!(class.evidence[0].meaning, "header of the PROXY protocol");
}

#[test]
fn the_x_protocol_is_clear_without_the_capability_tls() {
    let hello = [5, 0, 0, 0, 0x0b, 8, 5, 0x1a, 0];
    let get = [1, 0, 0, 0, 1];
    let set = [3, 0, 0, 0, 2, 1, 2];
    let start_login = [9, 0, 0, 0, 4, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(of(&[], &hello), (Protocol::XProtocol, State::Opening));
    assert_eq!(of(&[&get[..], &start_login].concat(), &hello), (Protocol::XProtocol, State::Clear));
    let to_server = [&get[..], &set, &client_hello()].concat();
    let to_client = [&hello[..], &[1, 0, 0, 0, 0], &server_hello(0x1301, true)].concat();
    assert_eq!(of(&to_server, &to_client), (Protocol::XProtocol, State::Encrypted));
}

#[test]
fn transfers_are_known_by_their_first_bytes() {
    let tar = [&[b'a'; 257][..], b"ustar\x0000"].concat();
    let cases: [(&[u8], Protocol, State); 7] = [
        (b"XBSTCK01\0P", Protocol::Xbstream, State::Clear),
        (b"@RSYNCD: 31.0\n", Protocol::Rsync, State::Clear),
        (&tar, Protocol::Tar, State::Clear),
        (b"\x1f\x8b\x08\0", Protocol::CompressedData, State::Clear),
        (b"\x28\xb5\x2f\xfd\0", Protocol::CompressedData, State::Clear),
        (b"age-encryption.org/v1\n-> X", Protocol::EncryptedData, State::Encrypted),
        (b"Salted__12345678", Protocol::EncryptedData, State::Encrypted),
    ];
    for (bytes, protocol, state) in cases {
        assert_eq!(of(bytes, b""), (protocol, state), "{protocol:?}");
        assert_eq!(of(b"", bytes), (protocol, state), "{protocol:?}");
    }
    let tls = classify(start(&client_hello()), start(&server_hello(0x1302, true)));
    assert_eq!((tls.protocol, tls.state, tls.is_settled), (Protocol::Tls, State::Encrypted, true));
}

#[test]
fn a_connection_that_was_joined_late_is_known_by_a_message() {
    let query = packet(0, b"\x03SELECT secret FROM t");
    let class = classify(joined(&query), Side::default());
    assert_eq!((class.protocol, class.state), (Protocol::Mysql, State::Clear));
    let cut = classify(joined(&query[..query.len() - 1]), Side::default());
    assert_eq!(cut.state, State::Unknown);
    let data = [&[0x17, 3, 3, 0, 40][..], &[8; 40], &[0x17, 3, 3, 0, 20, 1]].concat();
    assert_eq!(classify(Side::default(), joined(&data)).state, State::Encrypted);
    let mut event = vec![0, 1, 2, 3, 4, 0x1e, 1, 0, 0, 0, 30, 0, 0, 0];
    event.resize(31, 0);
    assert_eq!(classify(Side::default(), joined(&packet(9, &event))).protocol, Protocol::Replication);
    // Behind the rest of a message that began earlier.
    let behind = [&[0xee; 33][..], &query].concat();
    let side = Side { bytes: &behind, is_from_start: false, starts: &[0, 33] };
    assert_eq!(classify(side, Side::default()).protocol, Protocol::Mysql);
}

#[test]
fn what_is_not_known_has_an_entropy_and_no_evidence() {
    let class = classify(start(b"GET / HTTP/1.1\r\n"), start(b""));
    assert_eq!((class.protocol, class.state), (Protocol::Unknown, State::Unknown));
    assert!(class.evidence.is_empty() && class.entropy.is_some_and(|entropy| entropy.sample_bytes == 16));
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_classified_without_a_panic(
        to_server: Vec<u8>, to_client: Vec<u8>, from_start: bool, at: proptest::sample::Index, value: u8
    ) {
        let _ = classify(start(&to_server), start(&to_client));
        let mut real = [ssl_request(), client_hello()].concat();
        let at = at.index(real.len());
        real[at] = value;
        let starts = [0, at];
        let side = Side { bytes: &real, is_from_start: from_start, starts: &starts };
        let _ = classify(side, start(&greeting()));
        let _ = classify(side, joined(&to_client));
        let _ = classify(Side { bytes: &to_server, is_from_start: false, starts: &starts }, joined(&real));
    }
}
