//! Impostors with TLS: only a verified server gets a password in readable form.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

mod common;

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    sync::{Arc, mpsc},
    thread,
};

use common::{
    generated_ca, open, open_known, options,
    played::{WITH_TLS, greeting, packet, receive},
    socket, start, tcp,
};
use harness::{
    Kind, Server, TlsFiles,
    certs::{Authority, Profile},
};
use pki::{Fingerprint, Untrusted};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use server::{Connection, Endpoint, Error, Options, Target, TlsMode};

/// Presents one certificate regardless of the key.
#[derive(Debug)]
struct Shows(Arc<CertifiedKey>);

impl ResolvesServerCert for Shows {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// What an impostor does after the client has named its account.
enum Plan {
    /// Requests another plug-in, and then, if that is a separate request, the password.
    Switch(&'static str),
    /// Accepts every login, with this text in the OK packet.
    LetIn(Vec<u8>),
}

/// An impostor for one connection: its address, and what it has received at the end.
fn impostor(certificate: &[u8], key: &[u8], plan: Plan) -> (Endpoint, mpsc::Receiver<Vec<u8>>) {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let key = provider.key_provider.load_private_key(PrivateKeyDer::from_pem_slice(key).unwrap()).unwrap();
    let shown = CertifiedKey::new(vec![CertificateDer::from_pem_slice(certificate).unwrap()], key);
    let config = ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Shows(Arc::new(shown))));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::tcp("127.0.0.1", listener.local_addr().unwrap().port());
    let (heard, hearing) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&greeting(WITH_TLS, "mysql_native_password")).unwrap();
        let mut all = receive(&mut stream);
        let mut tls = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), stream);
        all.extend(receive(&mut tls));
        let answers = match plan {
            Plan::Switch(plugin) => {
                let switch = [b"\xfe", plugin.as_bytes(), b"\0abcdefghijklmnopqrst\0"].concat();
                vec![packet(2, &switch), packet(4, &[1, 4])]
            }
            Plan::LetIn(text) => vec![packet(2, &[b"\0\0\0\x02\0\0\0".as_slice(), &text].concat())],
        };
        for answer in answers {
            let _ = tls.write_all(&answer);
            all.extend(receive(&mut tls));
        }
        let _ = tls.read_to_end(&mut all);
        let _ = heard.send(all);
    });
    (endpoint, hearing)
}

fn certificate() -> (tempfile::TempDir, TlsFiles) {
    let directory = tempfile::tempdir().unwrap();
    let files = Authority::create(directory.path()).unwrap().issue("impostor", &Profile::default()).unwrap();
    (directory, files)
}

fn connect(endpoint: &Endpoint, options: &Options) -> Result<Connection, Error> {
    Connection::open(&Target { endpoint: endpoint.clone(), user: "root".to_owned() }, options)
}

/// Ends the impostor's wait, and returns what it has received.
fn heard(result: Result<Connection, Error>, hearing: &mpsc::Receiver<Vec<u8>>) -> (Option<Error>, Vec<u8>) {
    let error = result.err();
    (error, hearing.recv().unwrap())
}

fn has(heard: &[u8], secret: &str) -> bool {
    heard.windows(secret.len()).any(|part| part == secret.as_bytes())
}

#[test]
fn an_impostor_with_tls_never_gets_the_password() {
    let (_directory, files) = certificate();
    let (cert, key) = (fs::read(&files.cert).unwrap(), fs::read(&files.key).unwrap());
    let shown = Fingerprint::from_der(&CertificateDer::from_pem_slice(&cert).unwrap());
    for plugin in ["mysql_clear_password", "dialog", "sha256_password", "caching_sha2_password"] {
        let (endpoint, hearing) = impostor(&cert, &key, Plan::Switch(plugin));
        let (error, all) = heard(connect(&endpoint, &options("geheim", TlsMode::Required)), &hearing);
        assert!(!has(&all, "geheim"), "{plugin}");
        let error = error.unwrap();
        assert!(matches!(&error, Error::UnverifiedServer { plugin: named, .. } if named == plugin), "{error}");
        let hint = error.hint().unwrap();
        assert!(hint.contains(&format!("--tls-fingerprint {shown}")) && hint.contains("ca.pem"), "{hint}");
        assert!(!format!("{error:?}{error}{hint}").contains("geheim"));

        // An unverified server gets the password only if the user allows it; this one would have received it.
        let (endpoint, hearing) = impostor(&cert, &key, Plan::Switch(plugin));
        let risky = Options { password_to_unverified: true, ..options("geheim", TlsMode::Required) };
        let (_, all) = heard(connect(&endpoint, &risky), &hearing);
        assert!(has(&all, "geheim"), "{plugin}");
    }
}

#[test]
fn an_impostor_with_another_certificate_than_the_one_named_hears_no_account() {
    let (_directory, files) = certificate();
    let (cert, key) = (fs::read(&files.cert).unwrap(), fs::read(&files.key).unwrap());
    let mut named = options("geheim", TlsMode::Required);
    named.tls.fingerprints = vec![Fingerprint::from_der(b"the server's")];
    let (endpoint, hearing) = impostor(&cert, &key, Plan::LetIn(Vec::new()));
    let error = connect(&endpoint, &named).unwrap_err();
    let other =
        Untrusted::OtherFingerprint { found: Fingerprint::from_der(&CertificateDer::from_pem_slice(&cert).unwrap()) };
    assert!(matches!(&error, Error::CertificateNotTrusted { why } if *why == other), "{error}");
    assert!(!has(&hearing.recv().unwrap(), "root"));
}

#[test]
fn a_certificate_without_its_key_is_refused_whoever_is_trusted() {
    let (_directory, files) = certificate();
    let (_other, current) = certificate();
    let (cert, key) = (fs::read(&files.cert).unwrap(), fs::read(&current.key).unwrap());
    let mut named = options("geheim", TlsMode::Required);
    named.tls.fingerprints = vec![Fingerprint::from_der(&CertificateDer::from_pem_slice(&cert).unwrap())];
    for options in [named, options("geheim", TlsMode::Required), options("geheim", TlsMode::VerifyProof)] {
        let (endpoint, hearing) = impostor(&cert, &key, Plan::LetIn(Vec::new()));
        let error = connect(&endpoint, &options).unwrap_err();
        assert!(matches!(error, Error::CertificateNotTrusted { why: Untrusted::Unproven }), "{error}");
        assert!(!has(&hearing.recv().unwrap(), "root"));
    }
}

#[test]
fn a_wrong_proof_is_refused_and_a_missing_one_where_it_is_demanded() {
    let (_directory, files) = certificate();
    let (cert, key) = (fs::read(&files.cert).unwrap(), fs::read(&files.key).unwrap());
    for wrong in [[b"\x01".as_slice(), "0".repeat(64).as_bytes()].concat(), b"\x01".to_vec()] {
        for mode in [TlsMode::Required, TlsMode::VerifyProof] {
            let (endpoint, _) = impostor(&cert, &key, Plan::LetIn(wrong.clone()));
            let error = connect(&endpoint, &options("geheim", mode)).unwrap_err();
            assert!(matches!(error, Error::ProofWrong), "{mode:?}: {error}");
        }
    }
    let (endpoint, _) = impostor(&cert, &key, Plan::LetIn(Vec::new()));
    let error = connect(&endpoint, &options("geheim", TlsMode::VerifyProof)).unwrap_err();
    assert!(matches!(error, Error::ProofMissing { .. }), "{error}");
    let (endpoint, _) = impostor(&cert, &key, Plan::LetIn(Vec::new()));
    let error = connect(&endpoint, &options("", TlsMode::VerifyProof)).unwrap_err();
    assert!(matches!(error, Error::ProofMissing { .. }), "{error}");
}

fn named(server: &Server, certificate: &[u8], password: &str) -> Result<Connection, Error> {
    let mut options = options(password, TlsMode::Required);
    options.tls.fingerprints = vec![Fingerprint::from_der(certificate)];
    Connection::open(&Target { endpoint: tcp(server), user: "full".to_owned() }, &options)
}

#[test]
fn mysql97_gets_the_password_itself_when_it_is_known() {
    let Some(server) = start(Kind::MySql97, |builder| builder) else { return };
    server.sql("CREATE USER full@'%' IDENTIFIED WITH caching_sha2_password BY 'geheim'").unwrap();
    let cold = || server.sql("FLUSH PRIVILEGES").unwrap();
    cold();
    let error = open(tcp(&server), "full", "geheim", TlsMode::Required).unwrap_err();
    let pem = fs::read(server.datadir().join("server-cert.pem")).unwrap();
    let certificate = CertificateDer::from_pem_slice(&pem).unwrap();
    assert!(matches!(error, Error::UnverifiedServer { .. }), "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains(&Fingerprint::from_der(&certificate).to_string()) && hint.contains("socket"), "{hint}");

    named(&server, &certificate, "geheim").unwrap();
    cold();
    open_known(&server, &generated_ca(&server), "full", "geheim").unwrap();
    cold();
    open(socket(&server), "full", "geheim", TlsMode::Off).unwrap();
    // With the server's cache, nothing readable is requested.
    open(tcp(&server), "full", "geheim", TlsMode::Required).unwrap();
    let error = named(&server, b"another", "geheim").unwrap_err();
    assert!(matches!(error, Error::CertificateNotTrusted { why: Untrusted::OtherFingerprint { .. } }), "{error}");
    let error = open(tcp(&server), "full", "geheim", TlsMode::VerifyProof).unwrap_err();
    assert!(matches!(error, Error::ProofMissing { .. }), "{error}");
}

#[test]
fn mariadb118_proves_its_certificate() {
    let (_directory, files) = certificate();
    let (_other, current) = certificate();
    for (kind, configured) in [(Kind::MariaDb118, false), (Kind::MariaDb118, true), (Kind::MariaDb1011, true)] {
        let set_up = |builder: harness::ServerBuilder| if configured { builder.tls(&files) } else { builder };
        let Some(server) = start(kind, set_up) else { continue };
        server
            .sql(
                "INSTALL SONAME 'auth_ed25519';
                 CREATE USER native@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('geheim');
                 CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('geheim');
                 CREATE USER open@'%';",
            )
            .unwrap();
        let mut users = vec!["native", "ed"];
        let parsec = "INSTALL SONAME 'auth_parsec'; \
                      CREATE USER par@'%' IDENTIFIED VIA parsec USING PASSWORD('geheim');";
        if server.sql(parsec).is_ok() {
            users.push("par");
        }
        for user in users {
            open(tcp(&server), user, "geheim", TlsMode::Required).unwrap();
            let proven = open(tcp(&server), user, "geheim", TlsMode::VerifyProof);
            match kind {
                Kind::MariaDb118 => drop(proven.unwrap_or_else(|error| panic!("{user} {configured}: {error}"))),
                _ => assert!(matches!(proven, Err(Error::ProofMissing { .. })), "{user}"),
            }
        }
        let error = open(tcp(&server), "open", "", TlsMode::VerifyProof).unwrap_err();
        assert!(matches!(error, Error::ProofMissing { .. }), "{error}");
        let error = open(tcp(&server), "native", "wrong", TlsMode::VerifyProof).unwrap_err();
        assert!(matches!(error, Error::AccessDenied { .. }), "{error}");

        // A man in the middle with his own certificate, who forwards everything.
        for user in ["native", "ed"] {
            let relayed = relay(&current, server.port());
            let error = open(relayed, user, "geheim", TlsMode::Required).err();
            match kind {
                Kind::MariaDb118 => assert!(matches!(error, Some(Error::ProofWrong)), "{user}: {error:?}"),
                _ => assert!(error.is_none(), "{user}: {error:?}"),
            }
        }
    }
}

/// A relay that terminates TLS with its own certificate, and connects to the real server over TLS.
fn relay(current: &TlsFiles, port: u16) -> Endpoint {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let chain = vec![CertificateDer::from_pem_slice(&fs::read(&current.cert).unwrap()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(&fs::read(&current.key).unwrap()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::tcp("127.0.0.1", listener.local_addr().unwrap().port());
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert!(pass(&mut server, &mut client) && pass(&mut client, &mut server));
        let options = server::TlsOptions::default();
        let config_out = server::connect::client_config(TlsMode::Required, &options, "relay").unwrap();
        let name = server::connect::server_name("relay");
        let mut client = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), client);
        let mut server = StreamOwned::new(rustls::ClientConnection::new(config_out, name).unwrap(), server);
        // Logins and settings are exchanges in which the client sends first.
        while pass(&mut client, &mut server) && pass(&mut server, &mut client) {}
    });
    endpoint
}

/// Forwards one packet unchanged.
fn pass(from: &mut impl Read, to: &mut impl Write) -> bool {
    let mut header = [0; 4];
    if from.read_exact(&mut header).is_err() {
        return false;
    }
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    from.read_exact(&mut payload).is_ok() && to.write_all(&[header.as_slice(), &payload].concat()).is_ok()
}
