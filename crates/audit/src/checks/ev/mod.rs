//! Whether the evidence is reliable: contradictions, gaps, drift, and settings that the next start changes.

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

/// Variables that determine encryption at rest, TLS, and what is written in clear text.
///
/// `true`: the variable protects when it is on and is off by default, so that a value that is not persisted is lost at
/// the next start. `false`: there is no such default.
const WATCHED: &[(&str, bool)] = &[
    ("innodb_redo_log_encrypt", true),
    ("innodb_undo_log_encrypt", true),
    ("innodb_sys_tablespace_encrypt", true),
    ("innodb_temp_tablespace_encrypt", true),
    ("innodb_encrypt_tables", true),
    ("innodb_encrypt_log", true),
    ("innodb_encrypt_temporary_tables", true),
    ("innodb_encryption_threads", true),
    ("aria_encrypt_tables", true),
    ("encrypt_binlog", true),
    ("encrypt_tmp_files", true),
    ("encrypt_tmp_disk_tables", true),
    ("binlog_encryption", true),
    ("default_table_encryption", true),
    ("table_encryption_privilege_check", true),
    ("require_secure_transport", true),
    ("tls_version", false),
    ("tls_ciphersuites", false),
    ("ssl_cipher", false),
    ("ssl_ca", false),
    ("ssl_cert", false),
    ("ssl_key", false),
    ("admin_tls_version", false),
    ("group_replication_ssl_mode", false),
    ("group_replication_recovery_use_ssl", false),
    ("block_encryption_mode", false),
];

/// Whether a value enables protection: the words of switches, or a number of threads.
fn protects(value: &str) -> bool {
    let force = ["FORCE", "FORCE_PLUS_PERMANENT", "ONLINE_TO_KEYRING"];
    crate::facts::sql::is_on(value)
        || force.iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.parse::<u64>().is_ok_and(|n| n > 0)
}
