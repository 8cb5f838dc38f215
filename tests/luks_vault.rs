//! `sealant luks key serve` with Vault: the test's own server implements TLS and the API of the KV engine, version 2.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;

use harness::certs::{Authority, Profile};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::disk::{Desk, ends, luks, text};

const TOKEN: &str = "hvs.a-token-of-this-test";

/// A server on the loopback interface that records its requests.
struct Vault {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Vault {
    /// Answers by path; without `tls`, over plain HTTP.
    fn start(tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that rejects the certificate disconnects without a request.
                let _ = match &tls {
                    Some(config) => {
                        let connection = ServerConnection::new(Arc::clone(config)).expect("a session");
                        answer(&mut StreamOwned::new(connection, stream), &seen)
                    }
                    None => answer(&mut { stream }, &seen),
                };
            }
        });
        Self { port, asked }
    }

    fn questions(&self) -> usize {
        self.asked.lock().expect("whole").len()
    }
}

fn answer(stream: &mut (impl Read + Write), seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut lines = Vec::new();
    let mut reader = BufReader::new(&mut *stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let path = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
    let mut seen = seen.lock().expect("whole");
    seen.push(path.clone());
    let count = seen.iter().filter(|other| **other == path).count();
    drop(seen);
    let is_known = lines.iter().any(|line| line.to_ascii_lowercase() == format!("x-vault-token: {TOKEN}"));
    let secret =
        |fields: &str| format!(r#"{{"request_id":"1","data":{{"data":{{{fields}}},"metadata":{{"version":3}}}}}}"#);
    let (status, body) = match path.as_str() {
        _ if !is_known => ("403 Forbidden", r#"{"errors":["permission denied"]}"#.to_owned()),
        "/v1/secret/data/disk" => ("200 OK", secret(r#""key":"exact bytes\n","other":"AP8Q""#)),
        "/v1/secret/data/late" if count < 3 => ("503 Service Unavailable", r#"{"errors":["sealed"]}"#.to_owned()),
        "/v1/secret/data/late" => ("200 OK", secret(r#""key":"late""#)),
        "/v1/secret/data/endless" => ("200 OK", "[".repeat(1 << 20)),
        "/v1/secret/data/elsewhere" => ("307 Temporary Redirect", String::new()),
        _ => ("404 Not Found", r#"{"errors":[]}"#.to_owned()),
    };
    // Vault sends long answers in chunks; this server sends every answer in chunks.
    let head = format!(
        "HTTP/1.1 {status}\r\nLocation: /v1/secret/data/disk\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    let mut reply = head.into_bytes();
    for part in body.as_bytes().chunks(7000) {
        reply.extend(format!("{:x}\r\n", part.len()).bytes().chain(part.iter().copied()).chain(*b"\r\n"));
    }
    reply.extend(b"0\r\n\r\n");
    stream.write_all(&reply)?;
    stream.flush()
}

fn tls(authority: &Authority, name: &str, alternative_names: &str) -> Arc<ServerConfig> {
    let profile = Profile { alternative_names: Some(alternative_names.to_owned()), ..Profile::default() };
    let files = authority.issue(name, &profile).expect("openssl");
    let chain = CertificateDer::pem_file_iter(&files.cert).expect("PEM").map(|one| one.expect("PEM")).collect();
    let key = PrivateKeyDer::from_pem_file(&files.key).expect("PEM");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("TLS");
    Arc::new(config.with_no_client_auth().with_single_cert(chain, key).expect("a pair"))
}

struct Client {
    token: String,
    ca: String,
}

impl Client {
    fn ask(&self, address: &str, path: &str, more: &[&str]) -> Output {
        let args = ["key", "serve", "--vault-addr", address, "--vault-path", path, "--vault-token-file", &self.token];
        let ca = if address.starts_with("https") { vec!["--vault-ca", &self.ca] } else { Vec::new() };
        luks(&[&args[..], &ca, more].concat())
    }
}

#[test]
fn a_key_comes_from_vault_exactly_or_not_at_all() {
    let desk = Desk::new();
    let authority = Authority::create(&desk.path("ca")).expect("openssl");
    let token = desk.path("token");
    fs::write(&token, format!("{TOKEN}\n")).expect("room");
    let client = Client { token: text(&token).to_owned(), ca: text(&authority.certificate()).to_owned() };
    let vault = Vault::start(Some(tls(&authority, "vault", "IP:127.0.0.1")));
    let address = format!("https://127.0.0.1:{}", vault.port);
    let served = |output: &Output, key: &[u8]| {
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, key);
    };
    served(&client.ask(&address, "secret/data/disk", &[]), b"exact bytes\n");
    served(&client.ask(&address, "secret/data/disk", &["--vault-field", "other", "--vault-base64"]), &[0, 255, 16]);
    // A sealed Vault may be unsealed in the meantime.
    served(&client.ask(&address, "secret/data/late", &["--wait", "20"]), b"late");
    let refused = |output: Output, because: &str| {
        let said = ends(&output, 1);
        assert!(said.contains(because) && !said.contains(TOKEN), "{because}: {said}");
        assert!(output.stdout.is_empty());
    };
    refused(client.ask(&address, "secret/data/gone", &[]), "there is no such secret (404)");
    refused(client.ask(&address, "secret/data/disk", &["--vault-field", "no"]), "has no field `no`");
    refused(client.ask(&address, "secret/data/endless", &[]), "larger than any key");
    refused(client.ask(&address, "secret/data/elsewhere", &[]), "redirects (307), which is not followed");
    let other = desk.path("other-token");
    fs::write(&other, "hvs.wrong").expect("room");
    let wrong = Client { token: text(&other).to_owned(), ca: client.ca.clone() };
    refused(wrong.ask(&address, "secret/data/disk", &[]), "refuses the token for this path (403)");
    fs::write(&other, "two lines\nof text").expect("room");
    refused(wrong.ask(&address, "secret/data/disk", &[]), "holds no Vault token");

    // A server without a certificate of the authority gets no request.
    let unknown = Authority::create(&desk.path("unknown")).expect("openssl");
    for (authority, name) in [(&unknown, "IP:127.0.0.1"), (&authority, "DNS:elsewhere.example")] {
        let other = Vault::start(Some(tls(authority, "other", name)));
        let output = client.ask(&format!("https://127.0.0.1:{}", other.port), "secret/data/disk", &["--wait", "3"]);
        refused(output, "certificate");
        assert_eq!(other.questions(), 0, "{name}");
    }
}

#[test]
fn in_the_clear_only_this_machine_is_asked() {
    let desk = Desk::new();
    let token = desk.path("token");
    fs::write(&token, TOKEN).expect("room");
    let client = Client { token: text(&token).to_owned(), ca: "/nonexistent".to_owned() };
    let vault = Vault::start(None);
    let output = client.ask(&format!("http://127.0.0.1:{}", vault.port), "secret/data/disk", &[]);
    assert_eq!(output.stdout, b"exact bytes\n", "{}", String::from_utf8_lossy(&output.stderr));
    for (address, path, because) in [
        ("http://vault.example:8200", "secret/data/disk", "to the network"),
        ("vault.example:8200", "secret/data/disk", "https://"),
        ("https://user:pw@vault.example", "secret/data/disk", "which an address must not contain"),
        ("http://127.0.0.1:1", "secret/../sys/seal", "must be a path"),
    ] {
        let said = ends(&client.ask(address, path, &[]), 2);
        assert!(said.contains(because), "{address} {path}: {said}");
    }
    let bare =
        ["key", "serve", "--vault-addr", "https://127.0.0.1:1", "--vault-path", "a/data/b", "--vault-token-file"];
    assert!(ends(&luks(&[&bare[..], &[text(&token)]].concat()), 2).contains("--vault-ca"));
    // Nothing listens: the time limit holds.
    let nobody = client.ask("http://127.0.0.1:1", "secret/data/disk", &["--wait", "2"]);
    assert!(ends(&nobody, 1).contains("http://127.0.0.1:1/v1/secret/data/disk: "));
    assert!(Path::new(text(&token)).exists());
    ends(&luks(&["key", "serve", "--file", "x", "--vault-addr", "https://v"]), 2);
}
