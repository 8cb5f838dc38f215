//! Keys, accounts, transport and evidence beyond the trap suite: damaged, hidden or half-configured settings of a real
//! server must get the verdict that the bytes on disk and on the network prove.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use harness::certs::{Authority, KeyKind, Profile};
use harness::{KeyringLocation, Kind, Replication, Server, limit, require, wait_until};
use serde_json::Value;

use crate::support::Audit;
use crate::support::tmpfs::in_memory;

/// A throw-away key file of `file_key_management`.
const MARIADB_KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n\
                            2;8a1f0c3c5e2d4b6a7988776655443322\n";

/// Runs statements, and makes the server write all pages of a table at once, page 0 in particular.
fn flushed(server: &Server, table: &str, statements: &str) {
    let statements = format!("{statements}; FLUSH TABLES {table} FOR EXPORT; UNLOCK TABLES");
    server.sql(&statements).expect("statements");
}

/// Waits until MariaDB has encrypted and written one of its own tables in the background.
fn encrypted_in_the_background(server: &Server) {
    let is_so = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION \
        WHERE NAME = 'mysql/innodb_table_stats' AND MIN_KEY_VERSION = 1 AND ROTATING_OR_FLUSHING = 0";
    let is_so = || server.value(is_so).expect("a count") == "1";
    wait_until("mysql.innodb_table_stats is encrypted", limit(60), is_so);
}

fn encrypted_mysql(location: KeyringLocation) -> Option<Server> {
    require(Kind::MySql97)?;
    let server = Server::builder(Kind::MySql97).keyring(location).start().expect("MySQL 9.7 starts");
    flushed(
        &server,
        "demo.t",
        "CREATE DATABASE demo; CREATE TABLE demo.t (a INT) ENCRYPTION='Y'; INSERT INTO demo.t VALUES (1)",
    );
    Some(server)
}

/// Audits over TCP with only this account and password.
fn from_afar(server: &Server, user: &str, password: &str) -> Audit {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    writeln!(file, "{password}").expect("written");
    let url = format!("mysql://{user}@127.0.0.1:{}", server.port());
    let file = file.path().to_str().expect("ASCII").to_owned();
    let mut arguments = vec!["--no-files", "--no-host", "--password-file", &file, &url];
    let ca = server.datadir().join("ca.pem");
    if ca.exists() {
        arguments.extend(["--tls-ca", ca.to_str().expect("ASCII")]);
    }
    Audit::run(arguments)
}

#[track_caller]
fn never_passes(audit: &Audit, ids: &[&str]) {
    for id in ids {
        let statuses = audit.statuses(id);
        assert!(!statuses.is_empty() && !statuses.contains(&"PASS"), "{id}: {:?}", audit.findings(id));
    }
}

#[track_caller]
fn never_fails(audit: &Audit, ids: &[&str]) {
    for id in ids {
        assert!(!audit.statuses(id).contains(&"FAIL"), "{id}: {:?}", audit.findings(id));
    }
}

#[test]
fn a_lost_truncated_or_exchanged_keyring_is_noticed_before_the_restart() {
    let Some(server) = encrypted_mysql(KeyringLocation::Beside) else { return };
    let keyring = server.dir().join("keyring");
    let path = keyring.to_str().expect("ASCII");
    let healthy = fs::read(&keyring).expect("the keyring");
    Audit::live(&server).passes("key-cannot-open");

    fs::remove_file(&keyring).expect("removed");
    Audit::live(&server).fails("key-cannot-open", path);
    for damaged in [&b""[..], b"\x8f\x01 neither JSON nor keys \xff", &healthy[..healthy.len() / 2]] {
        fs::write(&keyring, damaged).expect("written");
        Audit::live(&server).fails("key-cannot-open", path);
    }
    // A truncated file still holds some keys in clear.
    Audit::live(&server).fails("key-file-clear", path);

    let text = String::from_utf8(healthy.clone()).expect("JSON");
    let (before, key) = text.split_once("\"data\":\"").expect("a key");
    fs::write(&keyring, format!("{before}\"data\":\"ffff{}", &key[4..])).expect("written");
    Audit::live(&server).fails("key-cannot-open", "demo/t.ibd");

    fs::write(&keyring, &healthy).expect("written");
    fs::write(server.dir().join("keyring.backup"), &healthy).expect("written");
    Audit::live(&server).fails("key-stale-backup-file", "keyring.backup");
}

#[test]
fn a_table_that_missed_the_rotations_is_reported() {
    let Some(server) = encrypted_mysql(KeyringLocation::Beside) else { return };
    let table = server.datadir().join("demo/t.ibd");
    let old = fs::read(&table).expect("the table");
    flushed(&server, "demo.t", "ALTER INSTANCE ROTATE INNODB MASTER KEY; ALTER INSTANCE ROTATE INNODB MASTER KEY");
    let audit = Audit::live(&server);
    audit.passes("key-wrap-lag");
    audit.passes("key-master-age");
    fs::write(&table, old).expect("restored");
    let audit = Audit::live(&server);
    audit.fails("key-wrap-lag", "demo/t.ibd");
    audit.passes("key-cannot-open");
    assert_eq!(audit.failure("key-wrap-lag", "demo/t.ibd")["evidence"][0]["offset"], 10390);
}

#[test]
fn a_copy_of_the_keyring_is_proven_until_the_keys_rotate() {
    let Some(mut server) = encrypted_mysql(KeyringLocation::Beside) else { return };
    let (keyring, copy) = (server.dir().join("keyring"), server.dir().join("copy-of-keyring"));
    let (keyring, copy) = (keyring.to_str().expect("ASCII"), copy.to_str().expect("ASCII"));
    let with = |server: &Server, copy: &str| Audit::live_with(server, &["--keyring-copy", copy]);
    fs::copy(keyring, copy).expect("copied");
    let proven = with(&server, copy);
    proven.passes("key-backup-missing");
    assert!(
        proven.findings("key-backup-missing")[0]["evidence"][0]["source"].as_str().is_some_and(|s| s.contains(copy))
    );

    flushed(&server, "demo.t", "ALTER INSTANCE ROTATE INNODB MASTER KEY");
    let stale = with(&server, copy);
    stale.fails("key-backup-missing", copy);
    let failure = stale.failure("key-backup-missing", copy);
    assert_eq!(failure["severity"], "critical");
    let message = failure["message"].as_str().expect("text");
    assert!(message.contains("INNODBKey-") && message.contains("demo/t.ibd"), "{message}");
    let cut = fs::read(copy).expect("read");
    fs::write(copy, &cut[..cut.len() / 2]).expect("cut");
    with(&server, copy).fails("key-backup-missing", copy);
    fs::copy(keyring, copy).expect("copied again");
    with(&server, copy).passes("key-backup-missing");
    with(&server, keyring).unknown("key-backup-missing");
    let without = Audit::live(&server);
    without.unknown("key-backup-missing");
    let remedy = without.findings("key-backup-missing")[0]["remediation"].as_str().expect("a way").to_owned();
    assert!(remedy.contains("sealant verify DIR --keyring COPY") && remedy.contains("--keyring-copy"), "{remedy}");

    server.stop().expect("it stops");
    let datadir = server.datadir().to_str().expect("ASCII");
    let offline = Audit::run(["--offline", datadir, "--deep", "--keyring-copy", copy]);
    for id in ["key-backup-missing", "key-cannot-open", "rest-page-damaged"] {
        offline.passes(id);
    }
    for args in [["--keyring-copy", "/nonexistent"], ["--key-file-copy", copy]] {
        let output = crate::support::run(["audit", "--offline", datadir].iter().chain(&args));
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_copy_of_mariadbs_key_file_is_proven() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let options = ["--innodb-encrypt-tables=ON", "--innodb-encryption-threads=2", "--innodb-encrypt-log=ON"];
    let server =
        Server::builder(Kind::MariaDb1011).mariadb_keys(MARIADB_KEYS).options(options).start().expect("starts");
    flushed(
        &server,
        "demo.t",
        "CREATE DATABASE demo; CREATE TABLE demo.t (a INT) ENCRYPTED=YES; INSERT INTO demo.t VALUES (1)",
    );
    let copy = server.dir().join("copy-of-keys");
    let copy = copy.to_str().expect("ASCII");
    let with = |keys: &str| {
        fs::write(copy, keys).expect("written");
        Audit::live_with(&server, &["--key-file-copy", copy])
    };
    with(MARIADB_KEYS).passes("key-backup-missing");
    with(&MARIADB_KEYS.replace("1;3550", "1;3551")).fails("key-backup-missing", copy);
    with(MARIADB_KEYS.split_once('\n').expect("two keys").1).fails("key-backup-missing", copy);
}

#[test]
fn a_link_to_a_keyring_on_another_device_is_followed() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let Some(memory) = in_memory(1) else { return };
    let keys = memory.path().join("keyring");
    let template = Server::builder(Kind::MySql97).keyring(KeyringLocation::Path(keys.clone()));
    let mut server = template.start().expect("starts");
    server.stop().expect("stops");
    let link = server.datadir().join("linked");
    symlink(&keys, &link).expect("linked");
    let settings = format!(r#"{{"path":"{}","read_only":false}}"#, link.display());
    fs::write(server.datadir().join("component_keyring_file.cnf"), settings).expect("written");
    server.start().expect("starts again");
    flushed(
        &server,
        "demo.t",
        "CREATE DATABASE demo; CREATE TABLE demo.t (a INT) ENCRYPTION='Y'; INSERT INTO demo.t VALUES (1)",
    );
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).expect("private");
    let audit = Audit::live(&server);
    for id in ["key-not-loaded", "key-cannot-open", "key-file-perms", "key-same-disk", "key-wrap-lag"] {
        audit.passes(id);
    }
    audit.fails("key-file-clear", "linked");
    audit.fails("key-local-file", "");

    for (mode, severity) in [(0o644, "critical"), (0o640, "medium")] {
        fs::set_permissions(&keys, fs::Permissions::from_mode(mode)).expect("opened");
        assert_eq!(Audit::live(&server).failure("key-file-perms", "linked")["severity"], severity, "{mode:o}");
    }
}

#[test]
fn a_copy_of_the_data_with_its_keys_is_reported_anywhere() {
    let Some(mut server) = encrypted_mysql(KeyringLocation::InDatadir) else { return };
    server.stop().expect("stops");
    let offline = Audit::offline(server.datadir());
    offline.fails("key-in-backup", "component_keyring_file.keys");
    offline.passes("key-cannot-open");
    // Other JSON files there hold no key.
    let stores: Vec<&Value> = offline.findings("key-local-file");
    assert_eq!(stores.len(), 1, "{stores:?}");

    let copy = tempfile::tempdir().expect("a directory");
    fs::create_dir(copy.path().join("demo")).expect("made");
    fs::copy(server.datadir().join("demo/t.ibd"), copy.path().join("demo/t.ibd")).expect("copied");
    server.start().expect("starts");
    let backup = ["--backup", copy.path().to_str().expect("ASCII")];
    let audit = Audit::live_with(&server, &backup);
    audit.passes("key-in-backup");
    audit.fails("bak-keyring-in-reach", "component_keyring_file.keys");
    let elsewhere = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    fs::copy(copy.path().join("demo/t.ibd"), elsewhere.path().join("t.ibd")).expect("copied");
    let moved = ["--backup", elsewhere.path().to_str().expect("ASCII")];
    Audit::live_with(&server, &moved).passes("bak-keyring-in-reach");
    fs::copy(server.datadir().join("component_keyring_file.keys"), copy.path().join("k")).expect("copied");
    Audit::live_with(&server, &backup).fails("key-in-backup", "/k");
}

#[test]
fn mariadbs_key_file_is_tried_on_its_pages() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let options = ["--innodb-encrypt-tables=ON", "--innodb-encryption-threads=2"];
    let server =
        Server::builder(Kind::MariaDb1011).mariadb_keys(MARIADB_KEYS).options(options).start().expect("starts");
    flushed(
        &server,
        "demo.t",
        "CREATE DATABASE demo; CREATE TABLE demo.t (a INT) ENCRYPTED=YES; INSERT INTO demo.t VALUES (1)",
    );
    encrypted_in_the_background(&server);
    let keys = server.dir().join("keys.txt");
    Audit::live(&server).passes("key-cannot-open");
    fs::write(&keys, MARIADB_KEYS.replace("1;3550", "1;3551")).expect("written");
    let audit = Audit::live(&server);
    audit.fails("key-cannot-open", "innodb_table_stats");
    audit.fails("key-file-clear", "keys.txt");
    fs::remove_file(&keys).expect("removed");
    Audit::live(&server).fails("key-cannot-open", "keys.txt");
}

#[test]
fn mariadbs_encrypted_key_file_is_opened_with_its_password() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let sealed = |name: &str, password: &str| {
        let path = dir.path().join(name);
        let pass = format!("pass:{password}");
        let mut command = Command::new("openssl");
        command.args(["enc", "-aes-256-cbc", "-md", "sha1", "-pass", &pass, "-out"]).arg(&path);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("openssl");
        child.stdin.take().expect("piped").write_all(MARIADB_KEYS.as_bytes()).expect("written");
        assert!(child.wait().expect("ends").success());
        fs::read(path).expect("sealed")
    };
    let server = Server::builder(Kind::MariaDb1011)
        .file("keys.enc", sealed("good", "geheim"))
        .file("password", "geheim\n")
        .options([
            "--plugin-load-add=file_key_management",
            "--file-key-management-filename={dir}/keys.enc",
            "--file-key-management-filekey=FILE:{dir}/password",
            "--file-key-management-encryption-algorithm=aes_ctr",
            "--innodb-encrypt-tables=ON",
            "--innodb-encryption-threads=2",
        ])
        .start()
        .expect("starts");
    flushed(
        &server,
        "demo.t",
        "CREATE DATABASE demo; CREATE TABLE demo.t (a INT) ENCRYPTED=YES; INSERT INTO demo.t VALUES (1)",
    );
    encrypted_in_the_background(&server);
    let audit = Audit::live(&server);
    audit.passes("key-cannot-open");
    audit.passes("key-file-clear");
    audit.fails("key-filekey-colocated", "password");
    fs::write(server.dir().join("keys.enc"), sealed("bad", "another")).expect("written");
    let audit = Audit::live(&server);
    audit.fails("key-cannot-open", "innodb_table_stats");
    assert!(!audit.json.to_string().contains("geheim"));
}

/// Checks whose result must not depend on the server's session defaults.
const STEADY: &[&str] = &[
    "auth-empty-or-anonymous",
    "auth-root-remote",
    "auth-weak-plugin",
    "auth-wildcard-host",
    "exp-file-priv",
    "exp-local-infile",
    "key-not-loaded",
    "tls-user-not-required",
    "rest-table-plaintext",
    "repl-account-no-tls",
];

#[test]
fn session_defaults_of_the_server_do_not_change_the_facts() {
    let modes = [
        (Kind::MySql97, "ANSI_QUOTES,PAD_CHAR_TO_FULL_LENGTH,NO_BACKSLASH_ESCAPES"),
        (Kind::MariaDb1011, "EMPTY_STRING_IS_NULL,ORACLE,PAD_CHAR_TO_FULL_LENGTH"),
    ];
    for (kind, mode) in modes {
        if require(kind).is_none() {
            continue;
        }
        let server = Server::builder(kind).start().expect("starts");
        server
            .sql("CREATE USER a@'%' IDENTIFIED BY 'x'; CREATE USER b@'10.%' IDENTIFIED BY 'x' REQUIRE SSL")
            .expect("users");
        let seen = || {
            let audit = Audit::live(&server);
            let key = |f: &&Value| format!("{} {} {}", f["id"], f["artefact"], f["status"]);
            STEADY.iter().flat_map(|id| audit.findings(id)).map(|f| key(&f)).collect::<Vec<_>>()
        };
        let before = seen();
        // A limit of rows cuts even SHOW VARIABLES.
        server
            .sql(&format!(
                "SET GLOBAL sql_select_limit=2; SET GLOBAL max_join_size=5; SET GLOBAL sql_big_selects=0; \
                 SET GLOBAL sql_mode='{mode}'"
            ))
            .expect("set");
        assert_eq!(before, seen(), "{}", kind.name());
    }
}

#[test]
fn fixes_can_be_pasted_whatever_the_names_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let authority = Authority::create(dir.path()).expect("an authority");
    let files = authority.issue("server", &Profile::default()).expect("a certificate");
    for kind in [Kind::MySql97, Kind::MariaDb1011] {
        if require(kind).is_none() {
            continue;
        }
        let builder = Server::builder(kind);
        let (server, encrypted) = if kind == Kind::MySql97 {
            (builder.keyring(KeyringLocation::Beside).start().expect("starts"), "ENCRYPTION='N'")
        } else {
            // Without TLS, REQUIRE SSL would be printed as a fix that has to wait.
            (builder.mariadb_keys(MARIADB_KEYS).tls(&files).start().expect("starts"), "ENCRYPTED=NO")
        };
        flushed(
            &server,
            "`a``b c`.`t``'\"; --x`",
            &format!(
                "CREATE USER 'o''brien'@'%' IDENTIFIED BY 'x'; CREATE USER 'quo\"te`'@'10.%' IDENTIFIED BY 'x'; \
                 CREATE USER 'back\\\\slash'@'%' IDENTIFIED BY 'x'; CREATE USER 'jürgen'@'%' IDENTIFIED BY 'x'; \
                 CREATE DATABASE `a``b c`; CREATE TABLE `a``b c`.`t``'\"; --x` (a INT) {encrypted}; \
                 INSERT INTO `a``b c`.`t``'\"; --x` VALUES (1)"
            ),
        );
        let audit = Audit::live(&server);
        let mut pasted = 0;
        for id in ["tls-user-not-required", "rest-table-plaintext"] {
            for finding in audit.findings(id) {
                let current = finding["artefact"].as_str().is_some_and(|name| name.starts_with("mysql/"));
                if finding["status"] == "FAIL" && !current {
                    let fix = finding["remediation"].as_str().expect("a fix");
                    server.sql(fix).unwrap_or_else(|e| panic!("{id} {}: {fix}: {e}", finding["artefact"]));
                    pasted += 1;
                }
            }
        }
        assert_eq!(pasted, 5, "{}: four accounts and a table", kind.name());
        let audit = Audit::live(&server);
        audit.passes("tls-user-not-required");
        never_fails(&audit, &["auth-skip-grant-tables"]);
    }
}

#[test]
fn privileges_of_everybody_and_of_roles_count() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let server = Server::builder(Kind::MariaDb1011).start().expect("starts");
    server.sql("CREATE USER app@'10.%' IDENTIFIED BY 'x' REQUIRE SSL").expect("a user");
    Audit::live(&server).passes("auth-root-remote");
    server.sql("GRANT ALL ON *.* TO PUBLIC").expect("granted");
    Audit::live(&server).fails("auth-root-remote", "'app'@'10.%'");
    server
        .sql(
            "REVOKE ALL ON *.* FROM PUBLIC; CREATE ROLE files; GRANT FILE ON *.* TO files; CREATE ROLE more; \
             GRANT files TO more; GRANT more TO app@'10.%'",
        )
        .expect("granted");
    let audit = Audit::live(&server);
    audit.passes("auth-root-remote");
    audit.fails("auth-key-admins", "'app'@'10.%'");
}

/// Checks that require files, the host or grants.
const NEEDS_MORE: &[&str] = &[
    "auth-empty-or-anonymous",
    "auth-root-remote",
    "auth-weak-plugin",
    "auth-wildcard-host",
    "auth-key-admins",
    "bak-identity-in-reach",
    "bak-keyring-in-reach",
    "bak-keyring-unproven",
    "bak-never-restored",
    "bak-no-lock",
    "bak-set-plaintext",
    "bak-too-old",
    "bak-unproven",
    "host-config-secret",
    "host-datadir-perms",
    "host-disk-unencrypted",
    "host-runs-as-root",
    "host-swap-plaintext",
    "key-backup-missing",
    "key-cannot-open",
    "key-file-perms",
    "key-in-backup",
    "key-same-disk",
    "key-stale-backup-file",
    "key-wrap-lag",
    "repl-account-no-tls",
    "rest-doublewrite-plaintext",
    "rest-engine-cannot-encrypt",
    "rest-export-key-file",
    "rest-orphan-file",
    "rest-page-plaintext",
    "rest-table-plaintext",
    "tls-ca-key-on-host",
    "tls-cert-stale",
    "tls-chain-untrusted",
    "tls-client-config-weak",
    "tls-key-perms",
    "tls-user-not-required",
];

#[test]
fn a_remote_audit_without_grants_passes_nothing_that_needs_files_or_grants() {
    let Some(server) = encrypted_mysql(KeyringLocation::Beside) else { return };
    server.sql("CREATE USER poor@'%' IDENTIFIED BY 'Poor-1'").expect("a user");
    let audit = from_afar(&server, "poor", "Poor-1");
    never_passes(&audit, NEEDS_MORE);
    audit.passes("tls-disabled");
    // One step is one finding, however many checks need it.
    let missing = audit.findings("ev-incomplete");
    assert!(missing.len() <= 14, "{missing:#?}");
    audit.fails("ev-incomplete", "GRANT SELECT ON mysql.user");

    if let Some(mariadb) =
        require(Kind::MariaDb118).map(|_| Server::builder(Kind::MariaDb118).start().expect("MariaDB 11.8 starts"))
    {
        mariadb.sql("CREATE USER poor@'%' IDENTIFIED BY 'Poor-1'").expect("a user");
        let audit = from_afar(&mariadb, "poor", "Poor-1");
        let concerned: Vec<&str> = NEEDS_MORE.iter().copied().filter(|id| audit.statuses(id) != ["N/A"]).collect();
        never_passes(&audit, &concerned);
    }
}

#[test]
fn an_unprivileged_user_of_the_host_gets_unknown_and_no_pass() {
    if !runs_as_root() {
        return;
    }
    let Some(server) = encrypted_mysql(KeyringLocation::Beside) else { return };
    for path in [server.dir(), server.socket()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755 | 0o022)).expect("opened");
    }
    let binary = server.dir().join("sealant");
    // Another process writes it: if this process had the file open, a program that another thread starts would inherit
    // the descriptor, and running the file would fail.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_sealant")).arg(&binary).status().expect("cp").success());
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary)
        .args(["audit", "--format", "json", "--user", "root", "--socket"])
        .arg(server.socket())
        .current_dir("/")
        .output()
        .expect("setpriv");
    let json: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    let audit = Audit { json, code: output.status.code().expect("ended"), stderr: String::new() };
    assert_eq!(audit.code, 3, "{}", String::from_utf8_lossy(&output.stderr));
    never_passes(&audit, &["key-cannot-open", "key-wrap-lag", "rest-page-plaintext", "rest-export-key-file"]);
    audit.passes("tls-disabled");
}

fn runs_as_root() -> bool {
    // Only root can become another user.
    fs::metadata("/proc/self").is_ok_and(|current| std::os::unix::fs::MetadataExt::uid(&current) == 0)
}

#[test]
fn a_mariadb_replica_with_optional_tls_does_not_pass() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    // Without certificates 10.11 offers no TLS, and the replica continues in plaintext.
    let source = Server::builder(Kind::MariaDb1011).options(["--log-bin=m", "--server-id=1"]).start().expect("starts");
    let mut replica = Server::builder(Kind::MariaDb1011).option("--server-id=2").start().expect("starts");
    replica.replicate_from(&source, &Replication { tls: true, ..Replication::default() }).expect("replicates");
    let audit = Audit::live(&replica);
    audit.unknown("repl-channel-plaintext");
    audit.fails("repl-channel-unverified", "");
}

#[test]
fn certificates_are_judged_as_the_server_sends_them() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let authority = Authority::create(dir.path()).expect("an authority");
    let weak = Profile { key: KeyKind::Rsa1024, ..Profile::default() };
    let files = authority.issue("weak", &weak).expect("a certificate");
    let mut server = Server::builder(Kind::MariaDb1011)
        .tls(&files)
        .options(["--ssl-cipher=DEFAULT:@SECLEVEL=0", "--tls-version=TLSv1.1,TLSv1.2", "--bind-address=*"])
        .start()
        .expect("starts");
    let audit = Audit::live_with(&server, &["--client-name", "localhost"]);
    audit.fails("tls-cert-weak", "main port");
    audit.fails("tls-version-old", "main port");
    audit.fails("tls-no-13", "main port");
    audit.fails("tls-cipher-weak", "main port");
    audit.fails("tls-ca-key-on-host", "ca-key.pem");
    // A short key in the leaf does not break the chain above it.
    audit.passes("tls-chain-untrusted");
    audit.passes("tls-cert-identity");
    // IPv4 and IPv6 are one port.
    assert_eq!(audit.findings("exp-bind-all").len(), 1, "{:?}", audit.findings("exp-bind-all"));

    let expired = authority.issue("expired", &Profile { expired: true, ..Profile::default() }).expect("a certificate");
    let option = |name: &str, path: &Path| format!("--ssl-{name}={}", path.display());
    server
        .restart_with(&[&option("cert", &expired.cert), &option("key", &expired.key), "--ssl-cipher=DEFAULT"])
        .expect("restarts");
    let audit = Audit::live_with(&server, &["--client-name", "elsewhere.example"]);
    audit.fails("tls-cert-expiry", "main port");
    audit.fails("tls-cert-identity", "main port");
    audit.fails("tls-chain-untrusted", "main port");
}

#[test]
fn only_clients_in_clear_text_are_listed() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let server = Server::builder(Kind::MySql97)
        .options(["--mysqlx-bind-address=*", "--bind-address=*"])
        .start()
        .expect("starts");
    server
        .sql("CREATE USER clear@localhost IDENTIFIED BY 'x'; CREATE USER safe@localhost IDENTIFIED BY 'x'")
        .expect("users");
    let connect = |user: &str, mode: &str| {
        let mut client = Command::new(&server.binaries().client);
        client.args(["--no-defaults", "--host=127.0.0.1", "--password=x", "--get-server-public-key"]);
        client.args([format!("--port={}", server.port()), format!("--user={user}"), format!("--ssl-mode={mode}")]);
        client.args(["-e", "SELECT SLEEP(600)"]).stdout(Stdio::null()).stderr(Stdio::null());
        client.spawn().expect("the client starts")
    };
    let mut clients = [connect("clear", "DISABLED"), connect("safe", "REQUIRED")];
    let waiting = "SELECT COUNT(*) FROM performance_schema.processlist WHERE INFO LIKE 'SELECT SLEEP%'";
    wait_until("both clients", limit(60), || server.value(waiting).expect("counted") == "2");
    let audit = Audit::live(&server);
    for client in &mut clients {
        client.kill().expect("ended");
        client.wait().expect("ended");
    }
    audit.fails("tls-live-plaintext", "clear@localhost");
    assert_eq!(audit.findings("tls-live-plaintext").len(), 1);
    audit.fails("tls-xprotocol", "X port");
    audit.fails("exp-bind-all", "X Protocol");
    audit.fails("exp-bind-all", "classic protocol");
}

#[test]
fn settings_that_a_restart_loses_are_reported() {
    if require(Kind::MySql97).is_none() || require(Kind::MariaDb1011).is_none() {
        return;
    }
    let mysql = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().expect("starts");
    mysql
        .sql(
            "SET GLOBAL require_secure_transport=ON; SET GLOBAL tls_version='TLSv1.3'; SET PERSIST binlog_encryption=ON; \
             SET PERSIST default_table_encryption=OFF; SET GLOBAL default_table_encryption=ON",
        )
        .expect("set");
    let audit = Audit::live(&mysql);
    for name in ["require_secure_transport", "tls_version", "default_table_encryption"] {
        audit.fails("ev-not-persistent", name);
    }
    let named = audit.findings("ev-not-persistent");
    assert!(named.iter().all(|f| f["artefact"] != "binlog_encryption"), "{named:?}");

    let option_file = "[mariadb]\nlocal-infile=0\nencrypt-tmp-files\n";
    let mariadb =
        Server::builder(Kind::MariaDb1011).mariadb_keys(MARIADB_KEYS).option_file(option_file).start().expect("starts");
    mariadb.sql("SET GLOBAL aria_encrypt_tables=ON; SET GLOBAL innodb_encrypt_tables='FORCE'").expect("set");
    let file = mariadb.dir().join("my.cnf");
    fs::write(&file, format!("{option_file}innodb-encrypt-tables=FORCE\nrequire_secure_transport\n")).expect("written");
    let audit = Audit::live(&mariadb);
    audit.fails("ev-not-persistent", "aria_encrypt_tables");
    assert_eq!(audit.findings("ev-not-persistent").len(), 1, "{:?}", audit.findings("ev-not-persistent"));
    audit.fails("ev-config-conflict", "require_secure_transport");
}

#[test]
fn waivers_match_by_glob_until_they_expire() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let server = Server::builder(Kind::MariaDb1011).mariadb_keys(MARIADB_KEYS).start().expect("starts");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("waivers.toml");
    let waiver = |check: &str, artefact: &str, expires: &str| {
        format!(
            "[[waiver]]\ncheck = \"{check}\"\nartefact = \"{artefact}\"\nreason = \"r\"\napprover = \"a\"\n\
             expires = {expires}\n"
        )
    };
    let judged = |text: String| {
        fs::write(&file, text).expect("written");
        Audit::live_with(&server, &["--waivers", file.to_str().expect("ASCII")])
    };
    let audit = judged(
        waiver("key-same-disk", "*/keys.txt", "2099-01-01") + &waiver("host-disk-unencrypted", "*", "2099-01-01"),
    );
    assert_eq!(audit.statuses("key-same-disk"), ["WAIVED"]);
    audit.passes("ev-waiver-expired");
    assert!(
        audit.findings("ev-incomplete").iter().all(|f| !f["message"].to_string().contains("host-disk-unencrypted"))
    );
    let audit =
        judged(waiver("key-same-disk", "*/other.txt", "2099-01-01") + &waiver("key-file-clear", "*", "2020-01-01"));
    audit.fails("key-same-disk", "keys.txt");
    audit.fails("key-file-clear", "keys.txt");
    audit.fails("ev-waiver-expired", "key-file-clear");
    assert_eq!(audit.code, 5);
    judged(waiver("key-*", "*", "2099-01-01")).fails("ev-waiver-expired", "key-*");
}
