//! Peers that violate the protocol: each must cause an error promptly.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

mod common;

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use common::played::{PLAIN, WITH_TLS, greeting, packet, receive};
use proptest::prelude::*;
use rustix::net;
use server::{
    Connection, Endpoint, Error, Options, OtherService, Password, Phase, Target, TlsMode, TlsOptions,
    probe::{self, FailureClass, ProbeLimits},
};

/// A listener that runs `script` with every client.
fn fake(script: impl Fn(&mut TcpStream) + Send + 'static) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            script(&mut stream.unwrap());
        }
    });
    Endpoint::tcp("127.0.0.1", port)
}

fn say(stream: &mut TcpStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
}

/// Reads until the client disconnects.
fn say_no_more(stream: &mut TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

/// Long enough for a peer that is not scheduled for a while: the content of its answer matters, not the time.
fn timeout() -> Duration {
    harness::limit(3)
}

fn options(mode: TlsMode) -> Options {
    Options {
        password: Some(Password::new("geheim")),
        tls: TlsOptions { mode: Some(mode), ..TlsOptions::default() },
        allow_plaintext_tcp: true,
        connect_timeout: timeout(),
        statement_timeout: timeout(),
        max_result_bytes: 1 << 20,
        ..Options::default()
    }
}

fn connect(endpoint: &Endpoint, mode: TlsMode) -> Result<Connection, Error> {
    let target = Target { endpoint: endpoint.clone(), user: "root".to_owned() };
    Connection::open(&target, &options(mode))
}

/// Connects within a time limit, to a peer that does not answer.
fn connect_within(limit: Duration, endpoint: &Endpoint, mode: TlsMode) -> Result<Connection, Error> {
    let target = Target { endpoint: endpoint.clone(), user: "root".to_owned() };
    Connection::open(&target, &Options { connect_timeout: limit, ..options(mode) })
}

fn quick() -> ProbeLimits {
    ProbeLimits { timeout: timeout(), ..ProbeLimits::default() }
}

#[test]
fn other_services_are_named() {
    let cases: [(&'static [u8], OtherService); 5] = [
        (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", OtherService::Http),
        (b"SSH-2.0-OpenSSH_10.0\r\n", OtherService::Ssh),
        (b"220 mail.example ESMTP\r\n", OtherService::LineBanner),
        (b"\x05\0\0\0\x0b\x08\x05\x1a\0", OtherService::XProtocol),
        (b"", OtherService::Closed),
    ];
    for (bytes, expected) in cases {
        let endpoint = fake(move |stream| say(stream, bytes));
        let error = connect(&endpoint, TlsMode::Required).unwrap_err();
        assert!(matches!(error, Error::NotMySql { service, .. } if service == expected), "{expected:?}: {error:?}");
        let probe = probe::classic(&endpoint, &quick());
        assert!(!probe.reachable);
        let failure = probe.error.unwrap();
        assert_eq!((failure.class, failure.service), (FailureClass::NotMySql, Some(expected)));
    }
}

#[test]
fn postgresql_stays_silent_until_it_is_asked() {
    let endpoint = fake(|stream| {
        let mut request = [0; 8];
        if stream.read_exact(&mut request).is_ok() && request == [0, 0, 0, 8, 4, 210, 22, 47] {
            say(stream, b"N");
        }
    });
    let error = connect(&endpoint, TlsMode::Required).unwrap_err();
    assert!(matches!(error, Error::NotMySql { service: OtherService::PostgreSql, .. }), "{error:?}");
}

#[test]
fn a_peer_that_hangs_is_left_in_time() {
    const LIMIT: Duration = Duration::from_secs(1);
    let started = Instant::now();
    let silent = fake(|stream| {
        say_no_more(stream);
    });
    let error = connect_within(LIMIT, &silent, TlsMode::Required).unwrap_err();
    assert!(matches!(error, Error::Timeout { phase: Phase::Greeting, .. }), "{error:?}");

    // One byte every 50 ms: each read succeeds, but the message is never complete.
    let slow = fake(|stream| {
        for byte in greeting(PLAIN, "mysql_native_password") {
            say(stream, &[byte]);
            thread::sleep(Duration::from_millis(50));
        }
    });
    let error = connect_within(LIMIT, &slow, TlsMode::Off).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");

    let mute_tls = fake(|stream| {
        say(stream, &greeting(WITH_TLS, "mysql_native_password"));
        say_no_more(stream);
    });
    let error = connect_within(LIMIT, &mute_tls, TlsMode::Required).unwrap_err();
    assert!(matches!(error, Error::Timeout { phase: Phase::Tls, .. }), "{error:?}");

    let mute_login = fake(|stream| {
        say(stream, &greeting(PLAIN, "mysql_native_password"));
        receive(stream);
        say_no_more(stream);
    });
    let error = connect_within(LIMIT, &mute_login, TlsMode::Off).unwrap_err();
    assert!(matches!(error, Error::Timeout { phase: Phase::Login, .. }), "{error:?}");
    assert!(started.elapsed() < harness::limit(20));
}

#[test]
fn nobody_and_nothing_there() {
    let endpoint = Endpoint::tcp("127.0.0.1", harness::free_port().unwrap());
    assert!(matches!(connect(&endpoint, TlsMode::Required), Err(Error::Refused { .. })));
    assert_eq!(probe::classic(&endpoint, &quick()).error.unwrap().class, FailureClass::Refused);
    assert_eq!(probe::x_protocol(&endpoint, &quick()).error.unwrap().class, FailureClass::Refused);
    let endpoint = Endpoint::Socket("/nonexistent/mysqld.sock".into());
    assert!(matches!(connect(&endpoint, TlsMode::Off), Err(Error::NoSuchSocket { .. })));
    let directory = Endpoint::Socket("/tmp".into());
    let error = connect(&directory, TlsMode::Off).unwrap_err();
    assert_eq!(error.to_string(), "/tmp: a directory, not a socket");
    let endpoint = Endpoint::tcp("no-such-host.invalid", 3306);
    assert!(matches!(connect(&endpoint, TlsMode::Required), Err(Error::Resolve { .. })));
}

#[test]
fn a_refusal_instead_of_the_greeting_is_reported() {
    let endpoint = fake(|stream| say(stream, &packet(0, b"\xff\x69\x04Host 'x' is blocked")));
    let error = connect(&endpoint, TlsMode::Required).unwrap_err();
    assert!(matches!(error, Error::RefusedBeforeGreeting { code: 1129, .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("host_cache"));
    let failure = probe::classic(&endpoint, &quick()).error.unwrap();
    assert_eq!((failure.class, failure.server_code), (FailureClass::RefusedByServer, Some(1129)));
}

#[test]
fn no_tls_is_no_reason_to_go_on_without() {
    let (heard, hearing) = mpsc::channel();
    let endpoint = fake(move |stream| {
        say(stream, &greeting(PLAIN, "mysql_native_password"));
        heard.send(receive(stream)).unwrap();
    });
    let error = connect(&endpoint, TlsMode::Required).unwrap_err();
    assert!(matches!(error, Error::TlsNotOffered), "{error:?}");
    assert_eq!(hearing.recv().unwrap(), b"", "not even a user name");

    let endpoint = fake(|stream| {
        say(stream, &greeting(WITH_TLS, "mysql_native_password"));
        receive(stream);
        say(stream, &packet(2, &[0; 7]));
    });
    let error = connect(&endpoint, TlsMode::Required).unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error:?}");
}

#[test]
fn an_impostor_gets_no_password_out_of_us() {
    for plugin in ["mysql_clear_password", "sha256_password", "dialog"] {
        let switch = [b"\xfe", plugin.as_bytes(), b"\0challenge\0"].concat();
        let (heard, hearing) = mpsc::channel();
        let endpoint = fake(move |stream| {
            say(stream, &greeting(PLAIN, "mysql_native_password"));
            let login = receive(stream);
            say(stream, &packet(2, &switch));
            heard.send((login, receive(stream))).unwrap();
        });
        let error = connect(&endpoint, TlsMode::Off).unwrap_err();
        let (login, after) = hearing.recv().unwrap();
        assert!(!login.windows(6).any(|part| part == b"geheim"));
        assert_eq!(after, b"");
        assert!(matches!(error, Error::ClearPasswordRefused { .. }), "{error:?}");
        assert!(!format!("{error:?}{error}").contains("geheim"));
    }
    let cases: [(&'static [u8], &str); 4] = [
        (b"\xfe", "mysql_old_password"),
        (b"\xfeauthentication_kerberos_client\0x\0", "authentication_kerberos_client"),
        (b"\x02mysql_native_password\0abc", "multi-factor authentication"),
        (b"\xfeauth_gssapi_client\0", "auth_gssapi_client"),
    ];
    for (bytes, expected) in cases {
        let endpoint = fake(move |stream| {
            say(stream, &greeting(PLAIN, "mysql_native_password"));
            receive(stream);
            say(stream, &packet(2, bytes));
        });
        let error = connect(&endpoint, TlsMode::Off).unwrap_err();
        assert!(
            matches!(&error, Error::PluginUnsupported { plugin, .. } if plugin == expected),
            "{expected}: {error:?}"
        );
    }
}

#[test]
fn a_server_that_asks_for_files_or_sends_too_much_is_left() {
    let log_in = |stream: &mut TcpStream| {
        say(stream, &greeting(PLAIN, "mysql_native_password"));
        receive(stream);
        say(stream, &packet(2, &[0, 0, 0, 2, 0, 0, 0]));
    };
    let after_login = |answer: Vec<u8>| {
        fake(move |stream| {
            log_in(stream);
            receive(stream);
            say(stream, &answer);
            // Closes only after the client has read the answer; otherwise a reset would discard it.
            let _ = stream.shutdown(Shutdown::Write);
            say_no_more(stream);
        })
    };
    let error = connect(&after_login(packet(1, b"\xfb/etc/passwd")), TlsMode::Off).unwrap_err();
    assert!(matches!(error, Error::LocalInfileRefused), "{error:?}");
    let error = connect(&after_login(vec![0xff, 0xff, 0xff, 1]), TlsMode::Off).unwrap_err();
    assert!(matches!(error, Error::ResultTooLarge { .. }), "{error:?}");
    let error = connect(&after_login(packet(1, &[0xfe; 9])), TlsMode::Off).unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error:?}");
    let error = connect(&after_login(packet(1, b"")), TlsMode::Off).unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error:?}");
    let error = connect(&after_login(packet(1, b"\x01")[..3].to_vec()), TlsMode::Off).unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error:?}");

    // Endless rows.
    let endless = fake(move |stream| {
        log_in(stream);
        receive(stream);
        say(stream, &packet(1, &[1]));
        say(stream, &packet(2, b"\x03def\0\0\0\x01x\0\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0"));
        say(stream, &packet(3, &[0xfe, 0, 0, 0, 0]));
        while stream.write_all(&packet(4, &[1, b'x']).repeat(1000)).is_ok() {}
    });
    let error = connect(&endless, TlsMode::Off).unwrap_err();
    assert!(matches!(error, Error::ResultTooLarge { .. } | Error::Timeout { .. }), "{error:?}");
}

#[test]
fn strange_answers_to_a_hello_are_unknown_not_accepted() {
    for answer in [b"".as_slice(), b"\x15\x03\x03\0\x02\x02\x50", b"HTTP/1.1", &[0x16, 3, 3, 0xff, 0xff]] {
        let endpoint = fake(move |stream| {
            say(stream, &greeting(WITH_TLS, "mysql_native_password"));
            receive(stream);
            // The whole ClientHello; otherwise a reset would discard the answer.
            let mut head = [0; 5];
            let _ = stream.read_exact(&mut head);
            let mut body = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
            let _ = stream.read_exact(&mut body);
            say(stream, answer);
        });
        let tls = probe::classic(&endpoint, &quick()).tls.unwrap();
        assert_eq!(tls.accepted(), [], "{answer:?}");
        assert!(tls.certificates.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn garbage_after_an_honest_greeting_is_an_error(garbage: Vec<u8>) {
        let endpoint = fake(move |stream| {
            say(stream, &greeting(WITH_TLS, "mysql_native_password"));
            receive(stream);
            say(stream, &garbage);
        });
        prop_assert!(connect(&endpoint, TlsMode::Required).is_err());
    }

    #[test]
    fn garbage_instead_of_a_greeting_is_an_error(garbage: Vec<u8>) {
        let endpoint = fake(move |stream| say(stream, &garbage));
        prop_assert!(connect(&endpoint, TlsMode::Required).is_err());
        prop_assert!(!probe::x_protocol(&endpoint, &quick()).reachable);
    }
}

#[test]
fn a_socket_whose_queue_is_full_is_left_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("full.sock");
    // A queue for one connection, which is never accepted.
    let listener = net::socket(net::AddressFamily::UNIX, net::SocketType::STREAM, None).unwrap();
    net::bind(&listener, &net::SocketAddrUnix::new(&path).unwrap()).unwrap();
    net::listen(&listener, 0).unwrap();
    let endpoint = Endpoint::Socket(path);
    let started = Instant::now();
    let held: Vec<_> = (0..8)
        .map(|_| {
            let endpoint = endpoint.clone();
            thread::spawn(move || connect_within(Duration::from_millis(300), &endpoint, TlsMode::Off).map(drop))
        })
        .collect();
    let mut queued_out = 0;
    for attempt in held {
        match attempt.join().unwrap() {
            Err(Error::Timeout { phase: Phase::Connect, .. }) => queued_out += 1,
            other => assert!(matches!(other, Err(Error::Timeout { .. })), "{other:?}"),
        }
    }
    assert!(queued_out > 0);
    assert!(started.elapsed() < harness::limit(20));
}
