//! Classifies connections whose bytes are constructed here.

use proptest::prelude::*;
use server::tls::TlsVersion;

use super::*;

const SSL: u32 = 1 << 11;
const COMPRESS: u32 = 1 << 5;
const SERVER_HELLO: u8 = 2;

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
    record(SERVER_HELLO, &body)
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
fn a_suite_without_encryption_is_clear_and_an_unknown_suite_unknown() {
    let to_server = [ssl_request(), client_hello()].concat();
    for (suite, state) in [
        (0x003b, State::Clear),
        (0x002c, State::Clear),
        (0x00b5, State::Clear),
        (0xc03b, State::Clear),
        (0xc0b4, State::Clear),
        (0xc0b5, State::Clear),
        (0xc030, State::Encrypted),
        (0xfafa, State::Unknown),
    ] {
        let to_client = [greeting(), server_hello(suite, false)].concat();
        assert_eq!(of(&to_server, &to_client), (Protocol::Mysql, state), "{suite:#06x}");
    }
    for (number, name) in server::tls::suites::SUITES.iter().filter(|(_, name)| name.contains("_NULL_")) {
        let to_client = [greeting(), server_hello(*number, false)].concat();
        assert_eq!(of(&to_server, &to_client), (Protocol::Mysql, State::Clear), "{name}");
    }
}

#[test]
fn the_answer_to_a_client_hello_is_tls_or_unknown() {
    let to_server = [ssl_request(), client_hello()].concat();
    let hello = server_hello(0xc030, false);
    // A record that continues with the certificate, which was not captured.
    let mut long = hello.clone();
    long[3] = 0x20;
    let alert = [0x15, 3, 3, 0, 2, 1, 112];
    let split = [&[0x16, 3, 3, 0, 9], &hello[5..14], &[0x16, 3, 3, 0, 33], &hello[14..]].concat();
    for (answer, state) in [
        (b"".to_vec(), State::Opening),
        (hello[..3].to_vec(), State::Opening),
        (hello[..20].to_vec(), State::Opening),
        (alert.to_vec(), State::Opening),
        (long, State::Encrypted),
        (split, State::Encrypted),
        ([&alert[..], &hello[..]].concat(), State::Encrypted),
        (packet(2, b"\0\0\0\x02\0\0\0"), State::Unknown),
        (record(11, &[1; 40]), State::Unknown),
        (record(SERVER_HELLO, &[1; 3]), State::Unknown),
        (vec![0x17, 3, 3, 0, 40, 1], State::Unknown),
    ] {
        let to_client = [greeting(), answer].concat();
        assert_eq!(of(&to_server, &to_client), (Protocol::Mysql, state), "{to_client:x?}");
    }
}

#[test]
fn a_login_is_clear_when_it_is_one() {
    let of = |to_server: &[u8]| of(to_server, &greeting());
    let whole = login(1 << 9);
    for end in 0..whole.len() {
        let state = if end < 8 { State::Opening } else { State::Clear };
        assert_eq!(of(&whole[..end]), (Protocol::Mysql, state), "{end}");
    }
    let fixed = [0, 2, 0, 0];
    for other in [packet(0, &whole[4..]), packet(2, &whole[4..]), packet(1, &fixed), packet(1, &[fixed; 8].concat())] {
        assert_eq!(of(&other), (Protocol::Mysql, State::Unknown), "{other:x?}");
    }
    assert_eq!(of(b"GET / HTTP/1.1\r\n"), (Protocol::Mysql, State::Unknown));
    assert_eq!(of(b"\xff\xff\xff\x01\0\x02\0\0"), (Protocol::Mysql, State::Unknown));
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
    // The length before compression is 0: the packet is stored uncompressed.
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
    let last = class.evidence.last().unwrap();
    assert_eq!((last.meaning.as_str(), last.offset), ("login without TLS", 41));
    for end in 1..41 {
        let part = to_server.get(..end).unwrap();
        assert_eq!(of(part, &greeting()), (Protocol::Mysql, State::Opening), "{end}");
        assert_eq!(of(part, b""), (Protocol::Unknown, State::Opening), "{end}");
    }
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
    // The end is missing; another packet follows; the header of the following record is incomplete.
    for cut in [&data[..44], &[&data[..45], &query].concat(), &data[..49]] {
        assert_eq!(classify(Side::default(), joined(cut)).state, State::Unknown, "{cut:x?}");
    }
    let closed = [&data[..45], &[0x15, 3, 3, 0, 26, 1]].concat();
    assert_eq!(classify(Side::default(), joined(&closed)).state, State::Encrypted);
    let mut event = vec![0, 1, 2, 3, 4, 0x1e, 1, 0, 0, 0, 30, 0, 0, 0];
    event.resize(31, 0);
    assert_eq!(classify(Side::default(), joined(&packet(9, &event))).protocol, Protocol::Replication);
    // After the rest of an earlier message.
    let behind = [&[0xee; 33][..], &query].concat();
    let side = Side { bytes: &behind, is_from_start: false, starts: &[0, 33] };
    assert_eq!(classify(side, Side::default()).protocol, Protocol::Mysql);
}

#[test]
fn packets_in_clear_are_not_taken_for_records() {
    // Rows of 791 bytes: 17 03 00, and the sequence number.
    for sequence in 0..=255 {
        let row = packet(sequence, &[b'a'; 791]);
        for end in [300, row.len()] {
            let class = classify(Side::default(), joined(&row[..end]));
            assert_eq!((class.protocol, class.state), (Protocol::Unknown, State::Unknown), "{sequence} {end}");
        }
    }
    // Data in clear takes precedence: a command in one direction, a TLS record in the other.
    let record = [&[0x17, 3, 3, 0, 40][..], &[8; 40]].concat();
    let class = classify(joined(&packet(0, b"\x03SELECT 1")), joined(&record));
    assert_eq!((class.protocol, class.state), (Protocol::Mysql, State::Clear));
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
