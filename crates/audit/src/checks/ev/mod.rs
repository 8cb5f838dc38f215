//! Whether the evidence is reliable: contradictions, gaps, drift, and settings that the next start changes.

use server::dialect::encryption::all_switches;
use server::dialect::variable;

checks! {
    CHECKS:
    mismatch,
    not_persistent,
    config_conflict,
}

checks! {
    CLOSING_CHECKS:
    incomplete,
    drift,
    waiver_expired,
}

/// Other variables than [`all_switches`] that determine encryption at rest, TLS, and what is written in clear text.
const ALSO_WATCHED: &[(&str, bool)] = &[
    (variable::INNODB_ENCRYPTION_THREADS, true),
    ("table_encryption_privilege_check", true),
    (variable::REQUIRE_SECURE_TRANSPORT, true),
    (variable::TLS_VERSION, false),
    ("tls_ciphersuites", false),
    ("ssl_cipher", false),
    (variable::SSL_CA, false),
    (variable::SSL_CERT, false),
    (variable::SSL_KEY, false),
    ("admin_tls_version", false),
    (variable::GROUP_REPLICATION_SSL_MODE, false),
    (variable::GROUP_REPLICATION_RECOVERY_USE_SSL, false),
    ("block_encryption_mode", false),
];

/// Variables that must keep their values.
///
/// `true`: the variable protects when it is on and is off by default, so that a value that is not persisted is lost at
/// the next start. `false`: there is no such default.
fn watched() -> impl Iterator<Item = (&'static str, bool)> {
    all_switches().map(|name| (name, true)).chain(ALSO_WATCHED.iter().copied())
}

/// Whether a value enables protection: the words of switches, or a number of threads.
fn protects(value: &str) -> bool {
    let force = ["FORCE", "FORCE_PLUS_PERMANENT", "ONLINE_TO_KEYRING"];
    server::switch::is_on(value)
        || force.iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.parse::<u64>().is_ok_and(|n| n > 0)
}
