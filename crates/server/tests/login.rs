//! Logins to real servers: every plug-in, every TLS requirement.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

mod common;

use std::{path::Path, time::Duration};

use common::{generated_ca, open, open_known, options, root, socket, start, tcp};
use harness::{
    Kind, Server,
    certs::{Authority, Profile},
};
use pki::{Fingerprint, Untrusted};
use server::{
    Connection, Endpoint, Error, Options, Password, Target, TlsMode, TlsOptions, probe,
    probe::{PlainLogin, ProbeLimits},
    tls::TlsVersion,
};

fn current_user(mut connection: Connection) -> String {
    let rows = connection.query("SELECT CURRENT_USER()").unwrap();
    rows.scalar().unwrap().to_owned()
}

fn verified(server: &Server, host: &str, mode: TlsMode, ca: &Path) -> Result<Connection, Error> {
    let target = Target { endpoint: Endpoint::tcp(host, server.port()), user: "tcp".to_owned() };
    let mut options = options("p", mode);
    options.tls.ca_file = Some(ca.to_owned());
    Connection::open(&target, &options)
}

#[test]
fn mysql97_plugins_log_in() {
    let Some(server) = start(Kind::MySql97, |builder| builder) else { return };
    server
        .sql(
            "CREATE USER sha2@'%' IDENTIFIED WITH caching_sha2_password BY 'päss';
             CREATE USER nopw@'%' IDENTIFIED WITH caching_sha2_password BY '';
             CREATE USER locked@'%' IDENTIFIED BY 'x' ACCOUNT LOCK;
             CREATE USER tlsonly@'%' IDENTIFIED BY 'x' REQUIRE SSL;",
        )
        .unwrap();
    // Full authentication over TLS and over the socket; then from the server's cache.
    for endpoint in [tcp(&server), socket(&server)] {
        server.sql("FLUSH PRIVILEGES").unwrap();
        for _ in 0..2 {
            let connection = match endpoint.is_socket() {
                true => open(endpoint.clone(), "sha2", "päss", TlsMode::Off),
                false => open_known(&server, &generated_ca(&server), "sha2", "päss"),
            };
            let connection = connection.unwrap();
            assert_eq!(connection.greeting().auth_plugin, "caching_sha2_password");
            assert_eq!(connection.tls().is_some(), !endpoint.is_socket());
            assert_eq!(current_user(connection), "sha2@%");
        }
    }
    assert_eq!(current_user(open(tcp(&server), "nopw", "", TlsMode::Required).unwrap()), "nopw@%");
    assert_eq!(current_user(open(tcp(&server), "nopw", "", TlsMode::Off).unwrap()), "nopw@%");

    // In clear text, login works from the server's cache; a full login does not.
    let limits = ProbeLimits::default();
    let password = Password::new("päss");
    assert_eq!(current_user(open(tcp(&server), "sha2", "päss", TlsMode::Off).unwrap()), "sha2@%");
    let plain = |user: &str, password: &Password| probe::plaintext_login(&tcp(&server), user, Some(password), &limits);
    assert_eq!(plain("sha2", &password), PlainLogin::Accepted);
    server.sql("FLUSH PRIVILEGES").unwrap();
    let refused = open(tcp(&server), "sha2", "päss", TlsMode::Off).unwrap_err();
    assert!(matches!(refused, Error::ClearPasswordRefused { .. }), "{refused}");
    assert!(matches!(plain("sha2", &password), PlainLogin::NotTried(_)));
    assert_eq!(plain("nopw", &Password::new("")), PlainLogin::Accepted);

    for (user, password) in [("sha2", "wrong"), ("nobody", "x"), ("locked", "x")] {
        let error = open_known(&server, &generated_ca(&server), user, password).unwrap_err();
        assert!(matches!(error, Error::AccessDenied { .. }), "{user}: {error}");
        assert!(!format!("{error:?}").contains("wrong"));
    }
    let error = open(tcp(&server), "tlsonly", "", TlsMode::Off).unwrap_err();
    assert!(matches!(error, Error::AccessDenied { .. }), "{error}");

    server.sql("SET GLOBAL require_secure_transport = ON").unwrap();
    let error = open(tcp(&server), "nopw", "", TlsMode::Off).unwrap_err();
    assert!(matches!(error, Error::SecureTransportRequired { code: 3159, .. }), "{error}");
    assert_eq!(plain("nopw", &Password::new("")), PlainLogin::RefusedTransport(3159));
}

#[test]
fn mysql97_optional_plugins_log_in() {
    let Some(server) = start(Kind::MySql97, |builder| builder) else { return };
    if server.sql("CREATE USER old256@'%' IDENTIFIED WITH sha256_password BY 'p'").is_ok() {
        let connection = open_known(&server, &generated_ca(&server), "old256", "p").unwrap();
        let error = open(tcp(&server), "old256", "p", TlsMode::Required).unwrap_err();
        assert!(matches!(error, Error::UnverifiedServer { .. }), "{error}");
        assert_eq!(current_user(connection), "old256@%");
        for endpoint in [tcp(&server), socket(&server)] {
            let error = open(endpoint, "old256", "p", TlsMode::Off).unwrap_err();
            assert!(matches!(error, Error::ClearPasswordRefused { .. }), "{error}");
        }
        // TLS also works on the socket, if requested.
        let connection = open(socket(&server), "old256", "p", TlsMode::Required).unwrap();
        assert!(connection.tls().is_some());
    } else {
        harness::print_skipped("sha256_password is not in this build");
    }
    let socket_plugin = "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so';
                         CREATE USER root2@localhost IDENTIFIED WITH auth_socket AS 'root';";
    if server.sql(socket_plugin).is_ok() {
        assert_eq!(current_user(open(socket(&server), "root2", "", TlsMode::Off).unwrap()), "root2@localhost");
        let error = open(tcp(&server), "root2", "", TlsMode::Required).unwrap_err();
        assert!(matches!(error, Error::AccessDenied { .. }), "{error}");
    } else {
        harness::print_skipped("auth_socket is not in this build");
    }
}

#[test]
fn mysql97_second_factor_that_needs_no_answer_is_met() {
    let Some(server) = start(Kind::MySql97, |builder| builder.option("--authentication-policy=*,*,")) else {
        return;
    };
    // The only plug-in in this build that can be a second factor.
    let set_up = "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so';
                  CREATE USER two@'%' IDENTIFIED WITH caching_sha2_password BY 'a'
                  AND IDENTIFIED WITH auth_socket AS 'root'";
    if let Err(error) = server.sql(set_up) {
        harness::print_skipped(&format!("no second factor here ({error})"));
        return;
    }
    assert_eq!(current_user(open(socket(&server), "two", "a", TlsMode::Off).unwrap()), "two@%");
    let error = open_known(&server, &generated_ca(&server), "two", "a").unwrap_err();
    assert!(matches!(error, Error::AccessDenied { .. }), "{error}");
}

#[test]
fn mariadb_plugins_log_in() {
    for kind in [Kind::MariaDb1011, Kind::MariaDb118] {
        let Some(server) = start(kind, |builder| builder) else { continue };
        server
            .sql(
                "CREATE USER native@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('p');
                 CREATE USER nopw@'%';
                 CREATE USER who@localhost IDENTIFIED VIA unix_socket AS 'root';
                 CREATE USER oldpw@'%' IDENTIFIED VIA mysql_old_password USING '6f8c114b58f2ce9e';",
            )
            .unwrap();
        for (endpoint, mode) in [(tcp(&server), TlsMode::Off), (socket(&server), TlsMode::Off)] {
            assert_eq!(current_user(open(endpoint.clone(), "native", "p", mode).unwrap()), "native@%");
            assert_eq!(current_user(open(endpoint, "nopw", "", mode).unwrap()), "nopw@%");
        }
        let error = open(tcp(&server), "native", "wrong", TlsMode::Off).unwrap_err();
        assert!(matches!(error, Error::AccessDenied { code: 1045, .. }), "{error}");
        let who = open(socket(&server), "who", "", TlsMode::Off);
        // MySQL's name mapping is not available: the account must be named like the system user.
        if let Err(error) = who {
            assert!(matches!(error, Error::AccessDenied { .. }), "{error}");
        }
        assert_eq!(current_user(root(&server)), "root@localhost");
        let error = open(tcp(&server), "oldpw", "p", TlsMode::Off).unwrap_err();
        assert!(matches!(error, Error::PluginUnsupported { .. } | Error::Server { code: 1275, .. }), "{error}");

        let ed25519 = "INSTALL SONAME 'auth_ed25519';
                       CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('p');";
        server.sql(ed25519).unwrap();
        assert_eq!(current_user(open(tcp(&server), "ed", "p", TlsMode::Off).unwrap()), "ed@%");
        assert!(matches!(open(tcp(&server), "ed", "q", TlsMode::Off), Err(Error::AccessDenied { .. })));
        let limits = ProbeLimits::default();
        let password = Password::new("p");
        assert_eq!(probe::plaintext_login(&tcp(&server), "ed", Some(&password), &limits), PlainLogin::Accepted);

        let parsec = "INSTALL SONAME 'auth_parsec';
                      CREATE USER par@'%' IDENTIFIED VIA parsec USING PASSWORD('p');";
        match server.sql(parsec) {
            Ok(_) => {
                assert_eq!(current_user(open(tcp(&server), "par", "p", TlsMode::Off).unwrap()), "par@%");
                let refused = open(tcp(&server), "par", "q", TlsMode::Off);
                assert!(matches!(refused, Err(Error::AccessDenied { .. })), "{:?}", refused.err());
            }
            Err(_) => harness::print_skipped(&format!("{} has no parsec", kind.name())),
        }

        // MariaDB 10.11 has no certificate of its own: no fallback then.
        let tls = open(tcp(&server), "native", "p", TlsMode::Required);
        match kind {
            Kind::MariaDb1011 => assert!(matches!(tls, Err(Error::TlsNotOffered))),
            _ => assert_eq!(tls.unwrap().tls().unwrap().version, TlsVersion::Tls13),
        }
        server.sql("SET GLOBAL require_secure_transport = ON").unwrap();
        let error = open(tcp(&server), "native", "p", TlsMode::Off).unwrap_err();
        assert!(matches!(error, Error::AccessDenied { .. } | Error::SecureTransportRequired { .. }), "{error}");
    }
}

#[test]
fn mysql97_automatic_certificate_is_verified_by_its_ca() {
    let Some(server) = start(Kind::MySql97, |builder| builder) else { return };
    server.sql("CREATE USER tcp@'%' IDENTIFIED BY 'p'").unwrap();
    let ca = server.datadir().join("ca.pem");
    let connection = verified(&server, "127.0.0.1", TlsMode::VerifyCa, &ca).unwrap();
    let tls = connection.tls().unwrap();
    assert_eq!(tls.version, TlsVersion::Tls13);
    assert!(tls.suite.starts_with("TLS_"), "{}", tls.suite);
    assert!(connection.timings().tls.is_some());
    assert_eq!(connection.peer_pid(), None);
    let leaf = pki::Certificate::from_der(&tls.peer_certificates[0]).unwrap();
    assert!(leaf.common_name.unwrap().contains("Auto_Generated"));
    // The certificate contains no host name.
    let error = verified(&server, "127.0.0.1", TlsMode::VerifyIdentity, &ca).unwrap_err();
    assert!(matches!(error, Error::NameMismatch { .. }), "{error}");

    let remote = tempfile::tempdir().unwrap();
    let other = Authority::create(remote.path()).unwrap();
    let error = verified(&server, "127.0.0.1", TlsMode::VerifyCa, &other.certificate()).unwrap_err();
    assert!(matches!(error, Error::CertificateNotTrusted { why: Untrusted::UnknownIssuer }), "{error}");
    assert!(error.hint().unwrap().contains("ca.pem"));
    let error = verified(&server, "127.0.0.1", TlsMode::VerifyCa, Path::new("/none.pem")).unwrap_err();
    assert!(matches!(error, Error::PemFile { .. }), "{error}");
    // The server's certificate itself may be the trusted one.
    let current = server.datadir().join("server-cert.pem");
    verified(&server, "127.0.0.1", TlsMode::VerifyCa, &current).unwrap();
}

#[test]
fn certificates_good_and_bad() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::create(directory.path()).unwrap();
    let profiles = [
        ("good", Profile::default()),
        ("othername", Profile { alternative_names: Some("DNS:db.example".to_owned()), ..Profile::default() }),
        ("cnonly", Profile { alternative_names: None, ..Profile::default() }),
        ("version1", Profile { version1: true, ..Profile::default() }),
        ("expired", Profile { expired: true, ..Profile::default() }),
        ("p256", Profile { key: harness::certs::KeyKind::P256, ..Profile::default() }),
    ];
    for (name, profile) in profiles {
        let files = authority.issue(name, &profile).unwrap();
        for kind in [Kind::MySql97, Kind::MariaDb1011] {
            let Some(server) = start(kind, |builder| builder.tls(&files)) else { continue };
            server.sql("CREATE USER tcp@'%' IDENTIFIED BY 'p'").unwrap();
            for version in ["1.2", "1.3"] {
                // Both ways to prove the key; MariaDB cannot change it while running. MySQL starts with an expired
                // certificate, but does not reload one.
                if kind == Kind::MySql97 && name != "expired" {
                    server
                        .sql(&format!("SET GLOBAL tls_version = 'TLSv{version}'; ALTER INSTANCE RELOAD TLS"))
                        .unwrap();
                }
                let chain = verified(&server, "127.0.0.1", TlsMode::VerifyCa, &files.ca);
                let address = verified(&server, "127.0.0.1", TlsMode::VerifyIdentity, &files.ca);
                let host = verified(&server, "localhost", TlsMode::VerifyIdentity, &files.ca);
                let context = format!("{name} {kind:?} {version}");
                match name {
                    "good" | "p256" => {
                        let version = chain.unwrap().tls().unwrap().version;
                        assert!(version >= TlsVersion::Tls12);
                        address.unwrap();
                        host.unwrap();
                    }
                    "othername" => {
                        chain.unwrap();
                        let error = host.unwrap_err();
                        assert!(
                            matches!(&error, Error::NameMismatch { names, .. } if *names == ["db.example"]),
                            "{context}: {error}"
                        );
                    }
                    "cnonly" | "version1" => {
                        chain.unwrap_or_else(|error| panic!("{context}: {error}"));
                        host.unwrap_or_else(|error| panic!("{context}: {error}"));
                        assert!(matches!(address, Err(Error::NameMismatch { .. })), "{context}");
                    }
                    _ => {
                        let error = chain.unwrap_err();
                        assert!(
                            matches!(error, Error::CertificateNotTrusted { why: Untrusted::Expired }),
                            "{context}: {error}"
                        );
                        // With a pinned fingerprint, the validity period does not matter.
                        let shown = probe::served(&tcp(&server), None, Duration::from_secs(10)).unwrap();
                        let mut named = options("p", TlsMode::Required);
                        named.tls.fingerprints = vec![Fingerprint::from_der(&shown[0])];
                        let target = Target { endpoint: tcp(&server), user: "tcp".to_owned() };
                        Connection::open(&target, &named).unwrap_or_else(|error| panic!("{context}: {error}"));
                    }
                }
            }
        }
    }
}

#[test]
fn a_client_certificate_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::create(directory.path()).unwrap();
    let files = authority.issue("server", &Profile::default()).unwrap();
    let client = authority.issue("client", &Profile { common_name: "audit".to_owned(), ..Profile::default() }).unwrap();
    for kind in [Kind::MySql97, Kind::MariaDb1011] {
        let Some(server) = start(kind, |builder| builder.tls(&files)) else { continue };
        server.sql("CREATE USER cert@'%' IDENTIFIED BY 'p' REQUIRE X509").unwrap();
        let error = open_known(&server, &files.ca, "cert", "p").unwrap_err();
        assert!(matches!(error, Error::AccessDenied { .. }), "{error}");
        let target = Target { endpoint: tcp(&server), user: "cert".to_owned() };
        let tls = TlsOptions {
            mode: Some(TlsMode::VerifyIdentity),
            ca_file: Some(files.ca.clone()),
            cert_file: Some(client.cert.clone()),
            key_file: Some(client.key.clone()),
            ..TlsOptions::default()
        };
        let options = Options { password: Some(Password::new("p")), tls, ..Options::default() };
        assert_eq!(current_user(Connection::open(&target, &options).unwrap()), "cert@%");
        let mut half = options;
        half.tls.key_file = None;
        assert!(matches!(Connection::open(&target, &half), Err(Error::PemFile { .. })));
    }
}

#[test]
fn statements_have_limits() {
    for kind in [Kind::MySql97, Kind::MariaDb1011] {
        let Some(server) = start(kind, |builder| builder) else { continue };
        let target = Target { endpoint: socket(&server), user: "root".to_owned() };
        let options =
            Options { statement_timeout: Duration::from_secs(1), max_result_bytes: 100_000, ..Options::default() };
        let mut connection = Connection::open(&target, &options).unwrap();
        // Read-only, for this account only.
        let error = connection.query("CREATE DATABASE x").unwrap_err();
        assert!(matches!(error, Error::Server { code: 1792, .. }), "{error}");
        let slow = "SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, \
                    information_schema.COLUMNS c WHERE a.COLUMN_NAME <> CONCAT(b.COLUMN_NAME, c.COLUMN_NAME)";
        let error = connection.query(slow).unwrap_err();
        assert!(matches!(error, Error::StatementTimedOut { .. }), "{error}");
        // The session continues.
        let null = connection.query("SELECT NULL, '', 'ä', 0x00ff").unwrap();
        assert_eq!(null.rows[0][0], None);
        assert_eq!(null.rows[0][1].as_deref(), Some(""));
        assert_eq!(null.rows[0][2].as_deref(), Some("ä"));
        let error = connection.query("SELECT REPEAT('x', 200000)").unwrap_err();
        assert!(matches!(error, Error::ResultTooLarge { limit_bytes: 100_000 }), "{error}");
        assert!(matches!(connection.query("SELECT 1"), Err(Error::Lost { .. })));

        // A payload in more than one packet.
        let large = Options { max_result_bytes: 64 << 20, ..Options::default() };
        let mut connection = Connection::open(&target, &large).unwrap();
        connection.query("SET SESSION max_statement_time = 0").ok();
        server.sql("SET GLOBAL max_allowed_packet = 1 << 26").ok();
        server.sql("SET GLOBAL max_allowed_packet = 67108864").unwrap();
        connection.close();
        let mut connection = Connection::open(&target, &large).unwrap();
        let rows = connection.query("SELECT REPEAT('x', 20000000), 'end'").unwrap();
        assert_eq!(rows.rows[0][0].as_ref().map(String::len), Some(20_000_000));
        assert_eq!(rows.rows[0][1].as_deref(), Some("end"));
    }
}

#[test]
fn mysql56_offers_no_tls_we_accept() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::create(directory.path()).unwrap();
    let files = authority.issue("server", &Profile::default()).unwrap();
    let Some(server) = start(Kind::MySql56, |builder| builder.tls(&files)) else { return };
    let error = open(tcp(&server), "root", "", TlsMode::Required).unwrap_err();
    assert!(matches!(error, Error::TlsTooOld { .. }), "{error}");
    assert_eq!(current_user(root(&server)), "root@localhost");
}
