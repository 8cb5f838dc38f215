//! `sealant verify`, `audit --deep`, `keys`, `rotate`, `send`, `backup` and `keyring migrate` with keys that AWS KMS has
//! encrypted, as MariaDB's `aws_key_management` and Percona's `component_keyring_kms` store them.
//!
//! The service is moto, which speaks AWS's protocol. The pages are real: the servers encrypt them with keys from a file,
//! and the test stores the same keys as the plug-ins would.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use data_encoding::{BASE64, HEXUPPER};
use harness::certs::Authority;
use harness::kms::{self, Kms, REGION};
use harness::{KeyringLocation, Kind, Server, require};
use serde_json::{Value, json};

use crate::support::backup::{Backups, files, is_same};
use crate::support::moving::{Receiving, moves, send};
use crate::support::proof::Proof;
use crate::support::rotation::{Rotating, end};
use crate::support::{Audit, sealant};

const KEY_1: &str = "770a8a65da156d24ee2a093277530142770a8a65da156d24ee2a093277530142";
const KEY_2: &str = "11111111111111111111111111111111";

/// A file in the service's directory that only its owner may read.
pub(crate) fn private(service: &Kms, name: &str, text: &str) -> PathBuf {
    let path = service.path(name);
    fs::write(&path, text).expect("room");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("own file");
    path
}

/// An option file of MariaDB, with credentials in a file for sealant.
pub(crate) fn option_file(service: &Kms, name: &str, datadir: &Path, region: &str, authority: &Path) -> PathBuf {
    let login = "[default]\naws_access_key_id = AKIATEST\naws_secret_access_key = s3cr3t\n";
    let text = format!(
        "[mariadb]\nplugin_load_add = aws_key_management\ndatadir = {}\naws_key_management_region = {region}\n\
         aws_key_management_endpoint_url = {}\naws_key_management_request_timeout = 5000\n\
         [sealant]\nsealant_credentials = {}\nsealant_ca = {}\n",
        datadir.display(),
        service.endpoint(),
        private(service, "credentials", login).display(),
        authority.display(),
    );
    private(service, name, &text)
}

fn verified(datadir: &Path, option: &str, config: &Path) -> Output {
    let mut command = sealant();
    command.arg("verify").arg(datadir).arg(option).arg(config);
    command.output().expect("the binary starts")
}

/// Asserts that there is one error that says this, and no report.
#[track_caller]
fn fails(output: &Output, because: &str, hint: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("sealant: error: ").count(), 1, "{said}");
    assert!(said.contains(because) && said.contains(hint), "{because} / {hint}: {said}");
    assert!(output.stdout.is_empty() && !said.contains("s3cr3t"), "{said}");
}

#[test]
fn keys_wrapped_for_mariadb_open_its_tables() {
    let Some(python) = kms::require() else { return };
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let mut service = Kms::start(python).expect("moto starts");
    let keys = format!("1;{KEY_1}\n2;{KEY_2}\n");
    let encrypted = ["--innodb-encrypt-log=ON", "--aria-encrypt-tables=ON", "--encrypt-binlog=ON", "--log-bin=binlog"];
    let server = Server::builder(Kind::MariaDb1011).mariadb_keys(&keys).options(encrypted);
    let server = server.start().expect("MariaDB starts");
    let table = |name: &str, options: &str| {
        format!(
            "CREATE TABLE {name} (id INT PRIMARY KEY, pad TEXT) ENGINE=InnoDB ENCRYPTED=YES {options};
             INSERT INTO {name} SELECT seq, REPEAT(MD5(seq), 20) FROM seq_1_to_500;"
        )
    };
    server.sql(&format!("CREATE DATABASE demo; USE demo; {}", table("one", "ENCRYPTION_KEY_ID=2"))).expect("SQL");
    let file = |id: u32, datadir: &Path| datadir.join(format!("aws-kms-key.{id}.1"));
    for (id, wrapped) in (1..).zip(service.wrap(&[KEY_1, KEY_2]).expect("it encrypts")) {
        let wrapped = BASE64.decode(wrapped.as_bytes()).expect("base64");
        fs::write(file(id, server.datadir()), wrapped).expect("room");
    }
    let config = option_file(&service, "mariadb.cnf", server.datadir(), REGION, service.authority());
    let mut server = moved_to_another_key(server, &config);
    server.sql(&format!("USE demo; {}", table("two", "ENCRYPTION_KEY_ID=2"))).expect("SQL");
    server.stop().expect("it stops");
    let datadir = server.datadir();
    let before = service.requests().expect("a log");
    let proof = Proof::mariadb(&[datadir], Some(&config));
    proof.is_complete();
    let verdicts = ["demo/one.ibd", "demo/two.ibd", "binlog.000001"].map(|name| proof.verdict(name));
    assert_eq!(verdicts, ["ok"; 3]);
    assert_eq!(service.requests().expect("a log") - before, 2, "one request for each version of a key");

    let path = config.to_str().expect("ASCII");
    let offline = datadir.to_str().expect("ASCII");
    let audit = Audit::run(["--offline", offline, "--deep", "--key-file-copy", path]);
    assert_eq!(audit.statuses("key-cannot-open"), ["PASS"], "{}", audit.stderr);

    let room = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("room");
    let into = room.path().join("into");
    moves(datadir, &into, &["--mariadb-key-file", path]);
    // The wrapped keys belong to the data directory, and the copy opens with them alone.
    let copied = fs::read_to_string(&config).expect("text").replace(offline, into.to_str().expect("ASCII"));
    Proof::mariadb(&[&into], Some(&private(&service, "copied.cnf", &copied))).is_complete();
    let backups = Backups::new(datadir, &format!("mariadb_key_file = {path:?}"));
    backups.backup(&["run"]).is(0);
    let restored = room.path().join("restored");
    backups.restore("latest", &restored, &["--mariadb-key-file", path]).is(4);
    is_same(&restored, &files(datadir));
    let copied = fs::read_to_string(&config).expect("text").replace(offline, restored.to_str().expect("ASCII"));
    Proof::mariadb(&[&restored], Some(&private(&service, "restored.cnf", &copied))).is_complete();
    // A private server proves it with the same keys in a file of its own.
    let daemon = Kind::MariaDb1011.locate().expect("it is here").daemon;
    let proving = ["--mariadb-key-file", path, "--prove", "--mysqld", daemon.to_str().expect("ASCII")];
    backups.restore("latest", &room.path().join("proved"), &proving).is(4);

    refusals(&service, datadir);

    // A file that is no ciphertext is one missing key, which is named. A key in clear text is never sent to KMS.
    let before = service.requests().expect("a log");
    fs::remove_file(file(2, datadir)).and_then(|()| fs::write(file(2, datadir), KEY_2)).expect("replaced");
    let proof = Proof::mariadb(&[datadir], Some(&config));
    assert_eq!((proof.verdict("demo/one.ibd"), proof.verdict("demo/two.ibd"), proof.code), ("ok", "missing-key", 3));
    assert!(proof.stderr.contains("1 of its entries cannot be used: key 2 version 1"), "{}", proof.stderr);
    assert_eq!(service.requests().expect("a log") - before, 1);
    service.stop();
    fails(&verified(datadir, "--mariadb-key-file", &config), "cannot be reached", "check region and endpoint");
}

/// `sealant rotate` proves with the keys of KMS that a table has moved to another of them.
fn moved_to_another_key(server: Server, config: &Path) -> Server {
    let at = Rotating::on(server);
    let keyring = ["--keyring", config.to_str().expect("ASCII")];
    let refused = at.run("none.age", &[&["--mariadb-new-version", "1"][..], &keyring].concat());
    refused.refused(1, "here, SET GLOBAL aws_key_management_rotate_key makes one", "");
    let report = at.run("keys.age", &[&["--mariadb-key-id", "1"][..], &keyring].concat()).is_done();
    assert_eq!(report["proofs"]["after"]["tablespaces_on_key_id"], 1, "{report:#}");
    let proof = Proof::mariadb(&[at.server.datadir()], Some(config));
    assert_eq!(proof.file("demo/one.ibd")["key"]["key_id"], 1);
    at.server
}

/// Configurations with which nothing is decrypted.
fn refusals(service: &Kms, datadir: &Path) {
    let refused = |config: &Path| verified(datadir, "--mariadb-key-file", config);
    let authority = service.authority();
    // moto says no more than that the access is denied.
    let region = option_file(service, "region.cnf", datadir, "us-east-1", authority);
    fails(&refused(&region), "key 1 version 1: KMS denies kms:Decrypt", "allow kms:Decrypt");
    let nowhere = option_file(service, "nowhere.cnf", &service.path(""), REGION, authority);
    fails(&refused(&nowhere), "has no files aws-kms-key.ID.VERSION", "sealant_key_directory");
    let before = service.requests().expect("a log");
    let other = Authority::create(&service.path("other")).expect("openssl").certificate();
    let middle = option_file(service, "middle.cnf", datadir, REGION, &other);
    fails(&refused(&middle), "its certificate is not trusted", "another machine answers");
    let open = option_file(service, "open.cnf", datadir, REGION, authority);
    fs::set_permissions(service.path("credentials"), fs::Permissions::from_mode(0o644)).expect("own file");
    fails(&refused(&open), "others may read or write it", "");
    let plain = fs::read_to_string(&open).expect("text").replace(&service.endpoint(), "http://kms.example");
    fails(&refused(&private(service, "plain.cnf", &plain)), "http:// would show", "");
    assert_eq!(service.requests().expect("a log"), before, "nothing was sent");
    option_file(service, "credentials-again.cnf", datadir, REGION, authority);
}

#[test]
fn keys_wrapped_for_percona_open_the_tables_of_mysql() {
    let Some(python) = kms::require() else { return };
    if require(Kind::MySql97).is_none() {
        return;
    }
    let service = Kms::start(python).expect("moto starts");
    let mut server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().expect("MySQL starts");
    let table = "CREATE DATABASE demo; CREATE TABLE demo.t (x TEXT) ENCRYPTION='Y'; INSERT INTO demo.t VALUES ('x');";
    server.sql(&format!("{table} FLUSH TABLES demo.t FOR EXPORT; UNLOCK TABLES")).expect("SQL");
    let keyring = server.dir().join("keyring");
    let mut json: Value = serde_json::from_slice(&fs::read(&keyring).expect("a keyring")).expect("JSON");
    let elements = json["elements"].as_array_mut().expect("elements");
    let keys: Vec<String> = elements.iter().map(|key| key["data"].as_str().expect("text").to_owned()).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    for (element, wrapped) in elements.iter_mut().zip(service.wrap(&keys).expect("it encrypts")) {
        element["data"] = Value::String(HEXUPPER.encode(wrapped.as_bytes()));
    }
    let wrapped = private(&service, "keys", &json.to_string());
    let config = json!({
        "path": wrapped, "read_only": false, "region": REGION, "kms_key": "alias/db", "auth_key": "AKIATEST",
        "secret_access_key": "s3cr3t", "sealant_endpoint": service.endpoint(), "sealant_ca": service.authority(),
    });
    let config = private(&service, "component_keyring_kms.cnf", &config.to_string());

    let mut command = sealant();
    command.args(["keys", "--user", "root", "--format", "json", "--socket"]).arg(server.socket());
    command.arg("--keyring").arg(&config);
    let listed = end(command);
    assert_eq!((listed.code, &listed.json()["sound"]), (Some(0), &Value::Bool(true)), "{}", listed.stderr);
    server.stop().expect("it stops");
    let datadir = server.datadir();
    let before = service.requests().expect("a log");
    let proof = Proof::mysql(&[datadir], Some(&config));
    proof.is_complete();
    assert_eq!(proof.verdict("demo/t.ibd"), "ok");
    assert_eq!(service.requests().expect("a log") - before, keys.len(), "one request for each key");
    assert_eq!(verified(datadir, "--keyring-config", &config).status.code(), Some(0));

    let room = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("room");
    let (into, new) = (room.path().join("into"), room.path().join("keyring"));
    let receiving = Receiving::begin(&into, &["--rekey", new.to_str().expect("ASCII")]);
    let sent = send(datadir, &receiving.code, &["--keyring", config.to_str().expect("ASCII")]);
    let (code, stderr) = receiving.end();
    assert_eq!((sent.status.code(), code), (Some(0), 0), "{}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
    Proof::mysql(&[&into], Some(&new)).is_complete();

    let backups = Backups::new(datadir, &format!("keyring_config = {config:?}"));
    assert_eq!(backups.backup(&["run"]).is(0).number("/pages/unproven"), 0);
    let (restored, other) = (room.path().join("restored"), room.path().join("other"));
    let [config_text, other_text] = [&config, &other].map(|path| path.to_str().expect("ASCII"));
    let ended = backups.restore("latest", &restored, &["--keyring-config", config_text, "--rekey", other_text]);
    ended.is(4).says("are now wrapped by INNODBKey-");
    Proof::mysql(&[&restored], Some(&other)).is_complete();
    let daemon = Kind::MySql97.locate().expect("it is here").daemon;
    let proving = ["--keyring-config", config_text, "--prove", "--mysqld", daemon.to_str().expect("ASCII")];
    backups.restore("latest", &room.path().join("proved"), &proving).is(4);
    let mut command = sealant();
    command
        .args(["receive", "--listen", "127.0.0.1:0", "--rekey"])
        .arg(&config)
        .arg("--into")
        .arg(room.path().join("no"));
    end(command).refused(1, "keys that AWS KMS encrypts can only be read", "mysql_migrate_keyring");
    clear_and_wrapped_keys_are_told_apart(&service, datadir, &keyring, &wrapped, &config);

    let migrate = |from: &Path, to: &Path| {
        let mut command = sealant();
        command.args(["keyring", "migrate", "--yes", "--datadir"]).arg(datadir).arg(from).arg(to);
        end(command)
    };
    let file = server.dir().join("from-kms");
    assert_eq!(migrate(&config, &file).code, Some(0));
    Proof::mysql(&[datadir], Some(&file)).is_complete();
    fs::write(&wrapped, "").expect("emptied");
    migrate(&file, &config).refused(1, "keys that AWS KMS encrypts can only be read", "mysql_migrate_keyring");
}

/// A file of one kind is given as one of the other: nothing is sent, and nothing is written.
fn clear_and_wrapped_keys_are_told_apart(service: &Kms, datadir: &Path, clear: &Path, wrapped: &Path, config: &Path) {
    let requests = || service.requests().expect("a log");
    let before = requests();
    let text = fs::read_to_string(config).expect("text");
    let [wrapped_text, clear_text] = [wrapped, clear].map(|path| path.to_str().expect("ASCII"));
    let misled = private(service, "misled.cnf", &text.replace(wrapped_text, clear_text));
    let refused = verified(datadir, "--keyring", &misled);
    fails(&refused, "its keys are in clear text, not encrypted by any KMS: INNODBKey-", "give the file itself");
    fails(&verified(datadir, "--keyring", wrapped), "keys that AWS KMS has encrypted", "component_keyring_kms.cnf");

    let refused = |to: &Path, because: &str| {
        let untouched = fs::read(to).expect("a file");
        let mut command = sealant();
        command.args(["keyring", "migrate", "--yes", "--datadir"]).arg(datadir).args([clear, to]);
        end(command).refused(1, because, "");
        let mut command = sealant();
        command.args(["receive", "--listen", "127.0.0.1:0", "--rekey"]).arg(to);
        end({
            command.arg("--into").arg(service.path("never"));
            command
        })
        .refused(1, because, "");
        assert_eq!(fs::read(to).expect("a file"), untouched);
    };
    refused(wrapped, "keys that AWS KMS has encrypted");
    let json: Value = serde_json::from_slice(&fs::read(wrapped).expect("a file")).expect("JSON");
    let pretty = private(service, "pretty", &serde_json::to_string_pretty(&json).expect("JSON"));
    refused(&pretty, "keys that AWS KMS has encrypted");
    // Before its first key, a server can have secrets of users alone.
    let secrets = private(service, "secrets", &json.to_string().replace("\"AES\"", "\"SECRET\""));
    refused(&secrets, "so its kind is not known");
    assert_eq!(requests(), before, "nothing was sent");
}
