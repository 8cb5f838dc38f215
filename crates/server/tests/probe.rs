//! Results of a probe for real listeners with a known configuration.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

mod common;

use common::{start, tcp};
use harness::{
    Kind,
    certs::{Authority, KeyKind, Profile},
};
use server::{
    Endpoint, Flavor,
    probe::{self, Acceptance, ClassicProbe, FailureClass, ProbeLimits, TlsProbe, XProbe},
    tls::{TlsVersion, suites},
};

const GENEROUS: u32 = 200;

fn generous() -> ProbeLimits {
    ProbeLimits { max_connections: GENEROUS, ..ProbeLimits::default() }
}

fn names(tls: &TlsProbe, version: TlsVersion) -> Vec<String> {
    let mut names: Vec<String> = tls.version(version).unwrap().suites.iter().map(|suite| suite.name.clone()).collect();
    names.sort();
    names
}

/// Facts are stored and read again later.
fn survives_storage(probe: &ClassicProbe) {
    let stored = serde_json::to_string(probe).unwrap();
    assert_eq!(&serde_json::from_str::<ClassicProbe>(&stored).unwrap(), probe);
}

#[test]
fn mysql97_speaks_tls_12_and_13_only() {
    let Some(server) = start(Kind::MySql97, |builder| builder.with_admin_port()) else { return };
    let probe = probe::classic(&tcp(&server), &generous());
    assert!(probe.reachable, "{probe:?}");
    survives_storage(&probe);
    let greeting = probe.greeting.as_ref().unwrap();
    assert!(greeting.version.starts_with("9.7"));
    assert_eq!(greeting.flavor_guess, Some(Flavor::MySql));
    assert_eq!(greeting.auth_plugin, "caching_sha2_password");
    let tls = probe.tls.as_ref().unwrap();
    assert_eq!(tls.accepted(), [TlsVersion::Tls12, TlsVersion::Tls13]);
    assert!(tls.complete, "{tls:?}");
    for version in [TlsVersion::Tls10, TlsVersion::Tls11] {
        let refused = Acceptance::Refused("protocol_version".to_owned());
        assert_eq!(tls.version(version).unwrap().acceptance, refused);
    }
    let tls12 = tls.version(TlsVersion::Tls12).unwrap();
    assert_eq!(tls12.secure_renegotiation, Some(true));
    assert_eq!(tls12.extended_master_secret, Some(true));
    for name in names(tls, TlsVersion::Tls12) {
        assert!(name.contains("DHE"), "{name}");
    }
    for suite in &tls12.suites {
        assert_eq!(suites::strength(suite.id), suites::Strength::Good, "{suite:?}");
        assert!(suite.group.is_some() || suite.dh_bits.is_some_and(|bits| bits >= 2048), "{suite:?}");
    }
    assert!(names(tls, TlsVersion::Tls13).contains(&"TLS_AES_256_GCM_SHA384".to_owned()));
    assert_eq!(tls.certificate_error, None);
    let leaf = &tls.certificates[0];
    assert!(leaf.subject.contains("Auto_Generated_Server_Certificate"), "{leaf:?}");
    assert_eq!((leaf.key_type.as_str(), leaf.key_bits), ("RSA", Some(2048)));
    assert!(!leaf.self_signed && !leaf.is_ca);
    let file = std::fs::read(server.datadir().join("server-cert.pem")).unwrap();
    assert_eq!(pki::Certificate::from_pem(&file).unwrap()[0], *leaf);

    // The administrative port speaks the same protocol.
    let admin = Endpoint::tcp("127.0.0.1", server.admin_port().unwrap());
    let probe = probe::classic(&admin, &ProbeLimits::default());
    assert_eq!(probe.tls.unwrap().accepted(), [TlsVersion::Tls12, TlsVersion::Tls13]);

    let x = Endpoint::tcp("127.0.0.1", server.x_port().unwrap());
    let probe = probe::x_protocol(&x, &generous());
    let stored = serde_json::to_string(&probe).unwrap();
    assert_eq!(serde_json::from_str::<XProbe>(&stored).unwrap(), probe);
    assert_eq!(probe.offers_tls, Some(true), "{probe:?}");
    assert!(probe.auth_mechanisms.contains(&"SHA256_MEMORY".to_owned()), "{probe:?}");
    let tls = probe.tls.unwrap();
    assert_eq!(tls.accepted(), [TlsVersion::Tls12, TlsVersion::Tls13]);
    assert_eq!(tls.certificates[0].sha256, leaf.sha256);

    // Each probe sent to the other protocol's port.
    let probe = probe::classic(&x, &ProbeLimits { timeout: harness::limit(2), ..generous() });
    assert!(!probe.reachable, "{probe:?}");
    let probe = probe::x_protocol(&tcp(&server), &generous());
    assert_eq!(probe.error.as_ref().unwrap().class, FailureClass::NotMySql, "{probe:?}");
    assert!(probe.error.unwrap().text.contains("classic protocol"));
}

#[test]
fn mysql97_with_one_version_shows_it_alone() {
    for (option, version) in [("TLSv1.2", TlsVersion::Tls12), ("TLSv1.3", TlsVersion::Tls13)] {
        let option = format!("--tls-version={option}");
        let Some(server) = start(Kind::MySql97, |builder| builder.option(option)) else { return };
        let tls = probe::classic(&tcp(&server), &generous()).tls.unwrap();
        assert_eq!(tls.accepted(), [version]);
        // Also if the certificate is encrypted.
        assert_eq!(tls.certificates.len(), 2, "{:?}", tls.certificate_error);
    }
}

#[test]
fn a_small_budget_is_kept_and_said() {
    let Some(server) = start(Kind::MySql97, |builder| builder) else { return };
    for max_connections in [1, 3, 8] {
        let limits = ProbeLimits { max_connections, ..ProbeLimits::default() };
        let probe = probe::classic(&tcp(&server), &limits);
        assert_eq!(probe.connections, max_connections);
        assert!(!probe.tls.unwrap().complete);
    }
    let limits = ProbeLimits { enumerate_suites: false, ..ProbeLimits::default() };
    let probe = probe::classic(&tcp(&server), &limits);
    assert!(probe.connections < 12, "{}", probe.connections);
    assert_eq!(probe.tls.unwrap().accepted(), [TlsVersion::Tls12, TlsVersion::Tls13]);
}

#[test]
fn mariadb_suites_are_found_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::create(directory.path()).unwrap();
    let rsa = authority.issue("rsa", &Profile::default()).unwrap();
    let ec = authority.issue("ec", &Profile { key: KeyKind::P256, ..Profile::default() }).unwrap();
    let cases = [
        (
            &rsa,
            "ECDHE-RSA-AES128-GCM-SHA256:AES256-SHA",
            vec!["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_CBC_SHA"],
        ),
        (&ec, "ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES128-GCM-SHA256", vec!["TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"]),
    ];
    for kind in [Kind::MariaDb1011, Kind::MariaDb118] {
        for (files, ciphers, expected) in &cases {
            let option = format!("--ssl-cipher={ciphers}");
            let Some(server) = start(kind, |builder| builder.tls(files).option(option)) else { continue };
            let probe = probe::classic(&tcp(&server), &generous());
            survives_storage(&probe);
            assert_eq!(probe.greeting.as_ref().unwrap().flavor_guess, Some(Flavor::MariaDb));
            let tls = probe.tls.unwrap();
            assert!(tls.complete);
            assert_eq!(&names(&tls, TlsVersion::Tls12), expected, "{kind:?} {ciphers}");
            assert!(tls.certificates[0].names_host("localhost"));
        }
    }
}

#[test]
fn mariadb_without_a_certificate() {
    if let Some(server) = start(Kind::MariaDb1011, |builder| builder) {
        let probe = probe::classic(&tcp(&server), &generous());
        assert!(probe.reachable && probe.tls.is_none());
        assert!(!probe.greeting.unwrap().offers_tls);
        assert_eq!(probe.connections, 1);
    }
    // 11.4 and later generate one in memory.
    if let Some(server) = start(Kind::MariaDb118, |builder| builder) {
        let tls = probe::classic(&tcp(&server), &ProbeLimits::default()).tls.unwrap();
        assert_eq!(tls.accepted(), [TlsVersion::Tls12, TlsVersion::Tls13]);
        assert!(tls.certificates[0].self_signed, "{tls:?}");
    }
}

#[test]
fn mysql56_speaks_tls_10_only() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::create(directory.path()).unwrap();
    let files = authority.issue("server", &Profile::default()).unwrap();
    let Some(server) = start(Kind::MySql56, |builder| builder.tls(&files)) else { return };
    let probe = probe::classic(&tcp(&server), &generous());
    let tls = probe.tls.as_ref().unwrap();
    assert_eq!(tls.accepted(), [TlsVersion::Tls10], "{tls:#?}");
    assert!(tls.complete, "{tls:#?}");
    let tls10 = tls.version(TlsVersion::Tls10).unwrap();
    assert_eq!(tls10.secure_renegotiation, Some(false));
    assert_eq!(tls10.extended_master_secret, Some(false));
    let found = names(tls, TlsVersion::Tls10);
    assert!(found.contains(&"TLS_RSA_WITH_AES_256_CBC_SHA".to_owned()), "{found:?}");
    assert!(tls.certificates[0].names_host("127.0.0.1"));
}
