//! Responses that no service gives, or gives only while it fails: cut off, endless, of another protocol; and those of AWS
//! KMS that no local one gives.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use keyservice::{
    Access, Engine, EngineVersion, Fault, Kmip, KmipAccess, Kms, KmsAccess, KmsCredentials, KmsFault, Login, Stored,
    Vault,
};
use pki::{Authority, IssueRequest, KeyType, Usage};
use zeroize::Zeroizing;

/// A peer that sends these bytes, the next for each connection, and notes the first line of each request.
struct Peer {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    fn sends(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let lines: Vec<String> =
                    reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
                seen.lock().unwrap().push(lines.first().cloned().unwrap_or_default());
                // An unread body would reset the connection.
                let length = lines.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                let _ = reader.take(length.unwrap_or(0)).read_to_end(&mut Vec::new());
                let _ = stream.write_all(&answer);
            }
        });
        Self { port, requests }
    }

    fn vault(&self, timeout: Duration) -> Vault {
        let access = Access {
            address: format!("http://127.0.0.1:{}", self.port),
            authorities: None,
            namespace: None,
            login: Login::Token(Zeroizing::new("hvs.token".to_owned())),
            timeout,
        };
        Vault::connect(&access).unwrap()
    }
}

/// A KMS on this port that has a minute for each key.
fn kms(peer: &Peer) -> Kms {
    kms_within(peer, Duration::from_secs(60))
}

fn kms_within(peer: &Peer, timeout: Duration) -> Kms {
    let (access_key, secret) = ("AKIATEST".to_owned(), Zeroizing::new("s3cr3t".to_owned()));
    let access = KmsAccess {
        region: "eu-central-1".to_owned(),
        endpoint: Some(format!("http://127.0.0.1:{}", peer.port)),
        authorities: None,
        credentials: KmsCredentials::Inline { access_key, secret },
        timeout,
    };
    Kms::new(&access).unwrap()
}

fn engine() -> Engine {
    Engine { mount: "m".to_owned(), version: EngineVersion::Second, directory: String::new() }
}

fn answer(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).into_bytes()
}

/// Results of a list request and a secret request for this response.
fn faults(bytes: &[u8]) -> [Option<Fault>; 2] {
    let peer = Peer::sends(vec![bytes.to_vec(); 4]);
    let vault = peer.vault(Duration::from_secs(5));
    let list = vault.list(&engine()).err().and_then(|error| error.fault().cloned());
    let secret = vault.secret(&engine(), "1", None).err().and_then(|error| error.fault().cloned());
    [list, secret]
}

#[test]
fn a_truncated_answer_is_an_error() {
    let list = r#"{"data":{"keys":["1","2","3"]}}"#;
    let whole = answer("200 OK", list);
    let peer = Peer::sends(vec![whole.clone()]);
    assert_eq!(peer.vault(Duration::from_secs(5)).list(&engine()).unwrap(), ["1", "2", "3"]);
    for cut in [1, 9, list.len()] {
        let [list, secret] = faults(&whole[..whole.len() - cut]);
        assert_eq!((list, secret), (Some(Fault::CutOff), Some(Fault::CutOff)), "{cut} bytes less");
    }
    // A proxy that makes a truncated response look complete.
    assert_eq!(faults(&answer("200 OK", &list[..20])), [Some(Fault::NotJson), Some(Fault::NotJson)]);
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1f\r\n{\"data\":{\"keys\":[\"1\",\"2\"";
    assert_eq!(faults(chunked), [Some(Fault::CutOff), Some(Fault::CutOff)]);
    assert_eq!(faults(b""), [Some(Fault::CutOff), Some(Fault::CutOff)]);
}

#[test]
fn other_answers_are_reported_with_their_fault() {
    let html = answer("200 OK", "<html>Welcome</html>");
    assert_eq!(faults(&html), [Some(Fault::NotJson), Some(Fault::NotJson)]);
    let gateway = answer("503 Service Unavailable", "<html>no backend</html>");
    assert_eq!(faults(&gateway), [Some(Fault::NotAvailable), Some(Fault::NotAvailable)]);
    // Without `close` the client sends its next request on this connection, which the peer closes.
    let elsewhere = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert_eq!(faults(elsewhere), [Some(Fault::Redirect(307)), Some(Fault::Redirect(307))]);
    let [ssh, _] = faults(b"SSH-2.0-OpenSSH_9.2\r\n");
    assert!(matches!(ssh, Some(Fault::Protocol(_))), "{ssh:?}");
    let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    let endless = [head.as_slice(), &[b'['].repeat(1 << 20)].concat();
    let [_, secret] = faults(&endless);
    assert_eq!(secret, Some(Fault::TooLarge { limit: 1 << 18 }));
}

#[test]
fn silence_ends_with_the_time_limit() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let peer = Peer { port: listener.local_addr().unwrap().port(), requests: Arc::default() };
    let began = Instant::now();
    let error = peer.vault(Duration::from_millis(300)).list(&engine()).unwrap_err();
    assert_eq!(error.fault(), Some(&Fault::Timeout));
    assert!(began.elapsed() < Duration::from_secs(20));
    drop(listener);
    let error = peer.vault(Duration::from_secs(5)).list(&engine()).unwrap_err();
    assert!(matches!(error.fault(), Some(Fault::Unreachable(_))), "{error}");
    assert!(error.may_pass() && error.hint().is_some());
}

#[test]
fn a_request_over_the_rate_limit_is_retried_before_it_is_reported() {
    let busy = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let secret = answer("200 OK", r#"{"data":{"data":{"key":"x"},"metadata":{"version":1}}}"#);
    let peer = Peer::sends(vec![busy.to_vec(), busy.to_vec(), secret]);
    let stored = peer.vault(Duration::from_secs(20)).secret(&engine(), "1", Some(1)).unwrap();
    assert!(matches!(stored, Stored::Secret(answer) if answer.text("key") == Ok("x")));
    assert_eq!(*peer.requests.lock().unwrap(), ["GET /v1/m/data/1?version=1 HTTP/1.1"; 3]);
    let peer = Peer::sends(vec![busy.to_vec(); 5]);
    let error = peer.vault(Duration::from_millis(1500)).secret(&engine(), "1", None).unwrap_err();
    assert_eq!(error.fault(), Some(&Fault::Busy(429)));
}

/// A KMIP service at this port, and a certificate for its client in this directory.
fn kmip(directory: &std::path::Path, port: u16, timeout: Duration) -> KmipAccess {
    let ca = Authority::create(directory, None, KeyType::EcdsaP256, 2, false).unwrap();
    let request = IssueRequest {
        name: "client".parse().unwrap(),
        alternatives: Vec::new(),
        key: KeyType::EcdsaP256,
        usage: Usage::Client,
        days: 1,
        replace: false,
    };
    let client = Authority::open(directory).unwrap().issue(&request).unwrap();
    let host = "127.0.0.1".to_owned();
    KmipAccess { host, port, certificate: client.certificate, key: client.key, authorities: ca.certificate, timeout }
}

#[test]
fn a_service_that_sends_a_byte_now_and_then_does_not_hold_its_client() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // The header of a handshake record of 16 KiB, and its bytes.
        for byte in [22, 3, 3, 0x40, 0].into_iter().chain(std::iter::repeat_n(0, 1 << 14)) {
            if stream.write_all(&[byte]).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let access = kmip(directory.path(), port, Duration::from_millis(400));
    let began = Instant::now();
    let error = Kmip::connect(&access).unwrap_err();
    assert_eq!(error.fault(), Some(&Fault::Timeout), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn kms_is_asked_again_only_while_it_is_busy() {
    let throttled = answer("400 Bad Request", r#"{"__type":"ThrottlingException","message":"Rate exceeded"}"#);
    let failing = answer("500 Internal Server Error", r#"{"__type":"KMSInternalException"}"#);
    let key = answer("200 OK", r#"{"KeyId":"arn:x","Plaintext":"AQID"}"#);
    let peer = Peer::sends(vec![throttled.clone(), failing, key]);
    assert_eq!(kms(&peer).decrypt("key 1 version 1", "AAAA").unwrap().as_slice(), [1, 2, 3]);
    assert_eq!(*peer.requests.lock().unwrap(), ["POST / HTTP/1.1"; 3]);

    let peer = Peer::sends(vec![throttled; 9]);
    let busy = kms_within(&peer, Duration::from_secs(2)).decrypt("key 1 version 1", "AAAA").unwrap_err();
    assert!(busy.to_string().ends_with("key 1 version 1: KMS limits the rate of requests (ThrottlingException)"));
    assert!(busy.may_pass());

    let disabled = r#"{"__type":"DisabledException","message":"arn:x is disabled."}"#;
    let peer = Peer::sends(vec![answer("400 Bad Request", disabled); 2]);
    let refused = kms(&peer).decrypt("key 1 version 1", "AAAA").unwrap_err();
    assert_eq!(refused.fault(), Some(&Fault::Kms(KmsFault::Disabled("arn:x is disabled.".to_owned()))));
    assert_eq!(peer.requests.lock().unwrap().len(), 1);
}

#[test]
fn an_answer_of_kms_that_is_cut_off_or_redirects_is_an_error() {
    let whole = answer("200 OK", r#"{"KeyId":"arn:x","Plaintext":"AQID"}"#);
    let fault = |bytes: &[u8]| {
        let error = kms(&Peer::sends(vec![bytes.to_vec()])).decrypt("key 1 version 1", "AAAA").unwrap_err();
        error.fault().cloned()
    };
    assert_eq!(fault(&whole[..whole.len() - 9]), Some(Fault::CutOff));
    assert_eq!(fault(&answer("200 OK", "{}")), Some(Fault::NoField("Plaintext".to_owned())));
    assert_eq!(fault(&answer("307 Temporary Redirect", "")), Some(Fault::Redirect(307)));
    assert_eq!(fault(&answer("200 OK", &" ".repeat(1 << 15))), Some(Fault::TooLarge { limit: 1 << 14 }));
}
