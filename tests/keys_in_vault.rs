//! `sealant verify` with keys in a real HashiCorp Vault: of a MariaDB that encrypts through it, and of a MySQL whose keys
//! are there as Percona's plug-in and component store them.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use data_encoding::{BASE64, HEXUPPER};
use harness::certs::{Authority, Profile};
use harness::faulty::{Fault, FaultyStore, Seen};
use harness::vault::{self, Vault};
use harness::{KeyringLocation, Kind, Server, TlsFiles, free_port, limit, require, wait_until};
use serde_json::Value;

use crate::percona::{FILES_57, FILES_80, data_directory, keyring};
use crate::support::backup::{Backups, files, is_same};
use crate::support::moving::{Receiving, moves, send};
use crate::support::proof::Proof;
use crate::support::rotation::end;
use crate::support::schema::has_its_schema;
use crate::support::{Audit, sealant};

pub(crate) const KEY_1: &str = "data=770a8a65da156d24ee2a093277530142770a8a65da156d24ee2a093277530142";
const KEY_1_NEW: &str = "data=0102030405060708090a0b0c0d0e0f100102030405060708090a0b0c0d0e0f10";
pub(crate) const KEY_2: &str = "data=11111111111111111111111111111111";
/// Privileges for MariaDB's plug-in, and those for sealant.
pub(crate) const POLICY: &str = "path \"mariadb/data/*\" { capabilities = [\"read\"] }
    path \"mariadb/metadata/*\" { capabilities = [\"list\"] }
    path \"sys/mounts/mariadb/tune\" { capabilities = [\"read\"] }";

/// A proxy in front of a Vault with a fault at one request.
pub(crate) struct FaultyVault {
    proxy: FaultyStore,
    next: Arc<Mutex<Next>>,
}

/// The fault, and the request that has it: the one with this number among those that count.
struct Next {
    counts: fn(&Seen) -> bool,
    before: usize,
    fault: Fault,
}

impl FaultyVault {
    pub(crate) fn before(vault: &Vault) -> Self {
        let next = Arc::new(Mutex::new(Next { counts: |_| false, before: 0, fault: Fault::None }));
        let shared = Arc::clone(&next);
        let choose = move |seen: &Seen| {
            let mut next = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if !(next.counts)(seen) {
                return Fault::None;
            }
            if next.before == 0 {
                next.counts = |_| false;
                return next.fault;
            }
            next.before -= 1;
            Fault::None
        };
        Self { proxy: FaultyStore::start(vault.plain_port(), choose).expect("a proxy"), next }
    }

    pub(crate) fn address(&self) -> String {
        self.proxy.endpoint()
    }

    /// Number of requests that had a fault.
    pub(crate) fn faults(&self) -> usize {
        self.proxy.faults()
    }

    /// Lets the next request fail before which this number of requests have counted.
    pub(crate) fn fail(&self, counts: fn(&Seen) -> bool, before: usize, fault: Fault) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Next { counts, before, fault };
    }
}

/// A Vault with MariaDB's keys, and a directory for configurations.
pub(crate) struct Site {
    pub(crate) vault: Vault,
    pub(crate) directory: tempfile::TempDir,
}

impl Site {
    pub(crate) fn start() -> Option<Self> {
        let vault = Vault::start(vault::require()?).expect("Vault starts");
        Some(Self { vault, directory: tempfile::tempdir().expect("room") })
    }

    pub(crate) fn vault(&self, arguments: &[&str]) -> String {
        self.vault.run(arguments).expect("vault does it")
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, text).expect("room");
        path
    }

    /// An option file for MariaDB's keys at `path`, with additional lines for sealant.
    fn option_file(&self, name: &str, path: &str, authority: &Path, ours: &str) -> PathBuf {
        let text = format!(
            "[mariadb]\nplugin_load_add = hashicorp_key_management\n\
             hashicorp_key_management_vault_url = {}/v1/{path}\n\
             hashicorp_key_management_vault_ca = {}\n[sealant]\n{ours}\n",
            self.vault.address(),
            authority.display()
        );
        self.file(name, &text)
    }

    /// The same, with a token in a file.
    pub(crate) fn with_token(&self, name: &str, path: &str, token: &str) -> PathBuf {
        let token = self.file(&format!("{name}-token"), token);
        self.option_file(name, path, self.vault.authority(), &format!("sealant_token_file = {}", token.display()))
    }

    /// Stores the keys of a keyring file of MySQL at `path`, as Percona's plug-in and component do.
    pub(crate) fn put_keyring(&self, path: &str, keyring: &Value) {
        for element in keyring["elements"].as_array().expect("elements") {
            let text = |name: &str| element[name].as_str().expect("text");
            let key = HEXUPPER.decode(text("data").as_bytes()).expect("digits");
            let (kind, value) = (format!("type={}", text("data_type")), format!("value={}", BASE64.encode(&key)));
            let secret = name_of_secret(text("data_id"), text("user"));
            self.vault(&["kv", "put", &format!("{path}/{secret}"), &kind, &value]);
        }
    }

    /// A configuration of Percona's component for the keys at `path` of the Vault at this address.
    pub(crate) fn component(&self, name: &str, address: &str, path: &str, token: &str) -> PathBuf {
        let json = serde_json::json!({
            "timeout": 3, "vault_url": address, "secret_mount_point": path, "secret_mount_point_version": "AUTO",
            "vault_ca": self.vault.authority(), "token": token,
        });
        self.file(name, &json.to_string())
    }

    /// Options of a MariaDB whose keys are at `mariadb`.
    pub(crate) fn options_of_mariadb(&self, token: &str) -> [String; 4] {
        [
            "--plugin-load-add=hashicorp_key_management".to_owned(),
            format!("--hashicorp-key-management-vault-url={}/v1/mariadb", self.vault.address()),
            format!("--hashicorp-key-management-vault-ca={}", self.vault.authority().display()),
            format!("--hashicorp-key-management-token={token}"),
        ]
    }

    pub(crate) fn mariadb(&self, token: &str, more: &[&str]) -> Server {
        let server = Server::builder(Kind::MariaDb1011)
            .options(self.options_of_mariadb(token))
            .options(["--innodb-encrypt-log=ON", "--aria-encrypt-tables=ON", "--encrypt-binlog=ON", "--log-bin=binlog"])
            .options(more.iter().copied());
        server.start().expect("MariaDB starts with its keys in the Vault")
    }
}

/// The name of the secret of a key, as Percona's plug-in and component form it.
pub(crate) fn name_of_secret(name: &str, user: &str) -> String {
    BASE64.encode(format!("{}_{name}{}_{user}", name.len(), user.len()).as_bytes())
}

/// The keyring file beside the data directory of a MySQL.
pub(crate) fn read_keyring(server: &Server) -> Value {
    serde_json::from_slice(&fs::read(server.dir().join("keyring")).expect("a keyring")).expect("JSON")
}

pub(crate) fn table(name: &str, options: &str) -> String {
    format!(
        "CREATE TABLE {name} (id INT PRIMARY KEY, pad TEXT) ENGINE=InnoDB {options};
         INSERT INTO {name} SELECT seq, REPEAT(MD5(seq), 20) FROM seq_1_to_500;"
    )
}

fn verified(datadir: &Path, config: &Path) -> Output {
    let mut command = sealant();
    command.arg("verify").arg(datadir).arg("--mariadb-key-file").arg(config);
    command.output().expect("the binary starts")
}

/// Asserts that there is one error that says this, and no report.
#[track_caller]
fn fails(output: &Output, because: &str, hint: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("sealant: error: ").count(), 1, "{said}");
    assert!(said.contains(because) && said.contains(hint), "{because} / {hint}: {said}");
    assert!(output.stdout.is_empty() && !said.contains("hvs."), "{said}");
}

#[test]
fn mariadb_encrypts_through_the_vault_and_every_page_is_proven() {
    let Some(mut site) = Site::start() else { return };
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    site.vault(&["secrets", "enable", "-path=mariadb", "-version=2", "kv"]);
    site.vault(&["kv", "put", "mariadb/1", KEY_1]);
    site.vault(&["kv", "put", "mariadb/2", KEY_2]);
    let token = site.vault.token("mariadb", POLICY, &[]).expect("a token");
    let mut server = site.mariadb(&token, &[]);
    server.sql(&format!("CREATE DATABASE demo; USE demo; {}", table("old", "ENCRYPTED=YES"))).expect("SQL");
    site.vault(&["kv", "put", "mariadb/1", KEY_1_NEW]);
    server.stop().expect("it stops");
    server.start().expect("it starts with version 2 of key 1");
    let more = [table("new", "ENCRYPTED=YES"), table("other", "ENCRYPTED=YES ENCRYPTION_KEY_ID=2")];
    server.sql(&format!("USE demo; {}", more.concat())).expect("SQL");
    server.stop().expect("it stops");
    let datadir = server.datadir();

    let before = site.vault.requests().expect("an audit log").len();
    let config = site.with_token("good.cnf", "mariadb", &token);
    let proof = Proof::mariadb(&[datadir], Some(&config));
    proof.is_complete();
    let verdicts = ["demo/old.ibd", "demo/new.ibd", "demo/other.ibd", "binlog.000001"].map(|name| proof.verdict(name));
    assert_eq!(verdicts, ["ok"; 4]);
    let requests = site.vault.requests().expect("an audit log").split_off(before);
    let expected = ["list mariadb/metadata/", "read mariadb/data/1", "read mariadb/data/1", "read mariadb/data/2"];
    assert_eq!(requests, expected, "one request for each version of a key");

    refusals(&site, datadir, &token);
    a_certificate_of_another_time(&site, datadir);
    app_role(&site, datadir);
    withdrawn(&site, datadir, &config);

    site.vault.seal().expect("it is sealed");
    fails(&verified(datadir, &config), "the Vault is sealed (503)", "unseal it");
    site.vault.unseal().expect("it is unsealed");
    site.vault.stop();
    fails(&verified(datadir, &config), "cannot be reached", "is the Vault running");
    site.vault.start_again().expect("it starts again");
    Proof::mariadb(&[datadir], Some(&config)).is_complete();
}

/// Requests that fail because of the Vault's policy or certificate.
fn refusals(site: &Site, datadir: &Path, token: &str) {
    let unknown = site.with_token("unknown.cnf", "mariadb", "hvs.CAESIJunknown");
    fails(&verified(datadir, &unknown), "the Vault does not know the token (403)", "get a new token");
    let short = site.vault.token("short", POLICY, &["-ttl=1s"]).expect("a token");
    let expired = site.with_token("expired.cnf", "mariadb", &short);
    std::thread::sleep(std::time::Duration::from_secs(2));
    fails(&verified(datadir, &expired), "the Vault does not know the token (403)", "get a new token");

    let only_1 = "path \"mariadb/data/1\" { capabilities = [\"read\"] }
        path \"mariadb/metadata/*\" { capabilities = [\"list\"] }";
    let only_1 = site.vault.token("only-1", only_1, &[]).expect("a token");
    let forbidden = site.with_token("forbidden.cnf", "mariadb", &only_1);
    fails(&verified(datadir, &forbidden), "mariadb/data/2: the Vault refuses the token for this path", "`read`");

    let no_list = "path \"mariadb/data/*\" { capabilities = [\"read\"] }";
    let no_list = site.vault.token("no-list", no_list, &[]).expect("a token");
    let unlisted = site.with_token("unlisted.cnf", "mariadb", &no_list);
    fails(&verified(datadir, &unlisted), "mariadb/metadata?list=true: the Vault refuses", "sealant_key_ids = 1,2");
    let token_file = format!("sealant_token_file = {}", site.file("no-list-token", &no_list).display());
    let ids = format!("{token_file}\nsealant_key_ids = 1, 2");
    let named = site.option_file("named.cnf", "mariadb", site.vault.authority(), &ids);
    Proof::mariadb(&[datadir], Some(&named)).is_complete();

    site.vault(&["secrets", "enable", "-path=first", "-version=1", "kv"]);
    site.vault(&["kv", "put", "first/1", KEY_1]);
    let first = site.with_token("first.cnf", "first", site.vault.root_token());
    fails(&verified(datadir, &first), "is a KV engine of version 1, not the version 2", "");
    let nowhere = site.with_token("nowhere.cnf", "nowhere", site.vault.root_token());
    fails(&verified(datadir, &nowhere), "no secrets engine is mounted at this path", "check the mount point");

    // A man in the middle has a certificate of another authority.
    let other = Authority::create(&site.directory.path().join("other")).expect("openssl");
    let token_file = format!("sealant_token_file = {}", site.file("token", token).display());
    let before = site.vault.requests().expect("an audit log").len();
    let middle = site.option_file("middle.cnf", "mariadb", &other.certificate(), &token_file);
    fails(&verified(datadir, &middle), "its certificate is not trusted", "another machine answers");
    assert_eq!(site.vault.requests().expect("an audit log").len(), before, "the token was not sent");
}

/// A service with a certificate that was valid in the past only, as every certificate is to a host whose clock is wrong.
fn a_certificate_of_another_time(site: &Site, datadir: &Path) {
    let service = ExpiredService::start(&site.directory.path().join("past"));
    let (port, tls) = (service.port, &service.tls);
    let token = site.file("past-token", "hvs.unused");
    let text = format!(
        "[mariadb]\nhashicorp_key_management_vault_url = https://127.0.0.1:{port}/v1/mariadb\n\
         hashicorp_key_management_vault_ca = {}\n[sealant]\nsealant_token_file = {}\n",
        tls.ca.display(),
        token.display()
    );
    let refused = verified(datadir, &site.file("past.cnf", &text));
    fails(&refused, "its certificate is not trusted: certificate expired", "check this host's clock");
}

/// A TLS service whose certificate has expired, as for a clock that is wrong.
pub(crate) struct ExpiredService {
    pub(crate) port: u16,
    pub(crate) tls: TlsFiles,
    process: Child,
}

impl ExpiredService {
    /// Starts one, with its authority in this directory.
    pub(crate) fn start(directory: &Path) -> Self {
        let authority = Authority::create(directory).expect("openssl");
        let tls = authority.issue("past", &Profile { expired: true, ..Profile::default() }).expect("openssl");
        let port = free_port().expect("a port");
        let mut openssl = Command::new("openssl");
        openssl.args(["s_server", "-quiet", "-accept", &format!("127.0.0.1:{port}"), "-cert"]).arg(&tls.cert);
        openssl.arg("-key").arg(&tls.key).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let service = Self { port, tls, process: openssl.spawn().expect("openssl starts") };
        wait_until("it listens", limit(60), || {
            TcpStream::connect(("127.0.0.1", port)).map(drop).map_err(|error| error.to_string())
        });
        service
    }
}

impl Drop for ExpiredService {
    fn drop(&mut self) {
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}

fn app_role(site: &Site, datadir: &Path) {
    site.vault(&["auth", "enable", "approle"]);
    site.vault(&["write", "auth/approle/role/sealant", "token_policies=mariadb", "token_ttl=1m"]);
    let role = site.vault(&["read", "-field=role_id", "auth/approle/role/sealant/role-id"]);
    let secret = site.vault(&["write", "-f", "-field=secret_id", "auth/approle/role/sealant/secret-id"]);
    let config = |name: &str, secret: &str| {
        let (role, secret) = (site.file("role-id", &role), site.file(&format!("{name}-secret-id"), secret));
        let files = format!("sealant_role_id_file = {}\nsealant_secret_id_file = {}", role.display(), secret.display());
        site.option_file(name, "mariadb", site.vault.authority(), &files)
    };
    let accessors = || site.vault(&["list", "-format=json", "auth/token/accessors"]).lines().count();
    let before = accessors();
    Proof::mariadb(&[datadir], Some(&config("role.cnf", &secret))).is_complete();
    assert!(accessors() <= before, "the token of the login is revoked");
    let refused = verified(datadir, &config("wrong-role.cnf", "11111111-2222-3333-4444-555555555555"));
    fails(&refused, "auth/approle/login: the Vault refuses the login (400)", "check role id and secret id");
}

/// Versions of keys that tables need, deleted and destroyed.
fn withdrawn(site: &Site, datadir: &Path, config: &Path) {
    let lost = |how: &str| {
        let proof = Proof::mariadb(&[datadir], Some(config));
        assert_eq!(proof.verdict("demo/old.ibd"), "missing-key", "{how}");
        assert_eq!(["demo/new.ibd", "demo/other.ibd"].map(|name| proof.verdict(name)), ["ok", "ok"]);
        assert!(proof.code == 3 && proof.stderr.contains("key 1 version 1 is "), "{}: {}", proof.code, proof.stderr);
        assert!(proof.stderr.contains(how), "{}", proof.stderr);
    };
    site.vault(&["kv", "delete", "-versions=1", "mariadb/1"]);
    lost("deleted at 20");
    site.vault(&["kv", "undelete", "-versions=1", "mariadb/1"]);
    Proof::mariadb(&[datadir], Some(config)).is_complete();
    let saved = site.vault(&["kv", "get", "-version=1", "-field=data", "mariadb/1"]);
    assert!(KEY_1.ends_with(saved.trim()));
    site.vault(&["kv", "destroy", "-versions=1", "mariadb/1"]);
    lost("destroyed for ever");
    // The rest of the test needs version 1 again.
    for key in [KEY_1, KEY_1_NEW] {
        if key == KEY_1 {
            site.vault(&["kv", "metadata", "delete", "mariadb/1"]);
        }
        site.vault(&["kv", "put", "mariadb/1", key]);
    }
}

#[test]
fn keys_in_the_format_of_perconas_keyrings_decrypt_tables_of_mysql() {
    let Some(site) = Site::start() else { return };
    if require(Kind::MySql97).is_none() {
        return;
    }
    let mut server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().expect("MySQL starts");
    server
        .sql(
            "CREATE DATABASE demo; CREATE TABLE demo.t (x TEXT) ENCRYPTION='Y'; INSERT INTO demo.t VALUES (REPEAT('x', 9999));
             ALTER INSTANCE ROTATE INNODB MASTER KEY; CREATE TABLE demo.u (x TEXT) ENCRYPTION='Y';",
        )
        .expect("SQL");
    server.stop().expect("it stops");
    let keyring = read_keyring(&server);
    site.vault(&["secrets", "enable", "-path=one", "-version=1", "kv"]);
    site.vault(&["secrets", "enable", "-path=two", "-version=2", "kv"]);
    let elements = keyring["elements"].as_array().expect("elements");
    for path in ["one/db", "two/db"] {
        site.put_keyring(path, &keyring);
    }
    // A secret of a user, which sealant must not request.
    let mine = name_of_secret("mine", "me@it_");
    site.vault(&["kv", "put", &format!("two/db/{mine}"), "type=AES", "value=AAAA"]);
    let policy = "path \"one/db/*\" { capabilities = [\"read\", \"list\"] }
        path \"two/data/db/*\" { capabilities = [\"read\"] } path \"two/metadata/db/*\" { capabilities = [\"list\"] }";
    let token = site.vault.token("mysql", policy, &[]).expect("a token");
    let (address, ca) = (site.vault.address(), site.vault.authority().display().to_string());
    let lines = format!("vault_url = {address}\nsecret_mount_point = one/db\nvault_ca = {ca}\ntoken = {token}\n");
    let plugin = site.file("keyring_vault.conf", &lines);
    let component = site.component("component_keyring_vault.cnf", &address, "two/db", &token);
    for config in [&plugin, &component] {
        let before = site.vault.requests().expect("an audit log").len();
        let proof = Proof::mysql(&[server.datadir()], Some(config));
        proof.is_complete();
        assert_eq!(["demo/t.ibd", "demo/u.ibd"].map(|name| proof.verdict(name)), ["ok"; 2]);
        let requests = site.vault.requests().expect("an audit log").split_off(before);
        // Expected requests: the version of the engine, the list, and each key once.
        assert_eq!(requests.len(), elements.len() + 2, "{requests:#?}");
        assert!(!requests.iter().any(|request| request.contains(&mine)), "{requests:#?}");
    }
    however_many_tablespaces_need_it_each_key_is_requested_once(&site, &server, &component, elements.len());
    let by_config = sealant()
        .arg("verify")
        .arg(server.datadir())
        .arg("--keyring-config")
        .arg(&component)
        .output()
        .expect("the binary starts");
    assert_eq!(by_config.status.code(), Some(0), "{}", String::from_utf8_lossy(&by_config.stderr));
}

fn however_many_tablespaces_need_it_each_key_is_requested_once(
    site: &Site,
    server: &Server,
    config: &Path,
    keys: usize,
) {
    const TABLESPACES: usize = 1000;
    let many = server.dir().join("many");
    fs::create_dir(&many).expect("room");
    for number in 0..TABLESPACES {
        fs::copy(server.datadir().join("demo/t.ibd"), many.join(format!("t{number}.ibd"))).expect("room");
    }
    let before = site.vault.requests().expect("an audit log").len();
    let proof = Proof::mysql(&[&many], Some(config));
    assert_eq!((proof.code, proof.files().len()), (0, TABLESPACES), "{}", proof.stderr);
    let requests = site.vault.requests().expect("an audit log").split_off(before);
    // As for a single one: the version of the engine, the list, and each key once.
    assert_eq!(requests.len(), keys + 2, "{requests:#?}");
}

/// Files of a MySQL, with their keys behind a proxy that lets each of the requests fail in each way.
#[test]
fn a_vault_that_fails_at_any_request_is_one_error_and_half_a_list_is_a_missing_key() {
    let Some(site) = Site::start() else { return };
    let sample = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    let text = fs::read(sample("keyring/mysql97-component-file.json")).expect("a sample");
    let keyring: Value = serde_json::from_slice(&text).expect("JSON");
    site.vault(&["secrets", "enable", "-path=two", "-version=2", "kv"]);
    site.put_keyring("two/db", &keyring);
    let policy = "path \"two/data/db/*\" { capabilities = [\"read\"] }
        path \"two/metadata/db/*\" { capabilities = [\"list\"] }";
    let token = site.vault.token("mysql", policy, &[]).expect("a token");
    let faulty = FaultyVault::before(&site.vault);
    let config = site.component("faulty.cnf", &faulty.address(), "two/db", &token);
    let file = sample("tablespace/mysql97-16k-encrypted.ibd");
    let proof = || Proof::mysql(&[&file], Some(&config));
    proof().is_complete();
    let verified = || {
        let mut command = sealant();
        command.arg("verify").arg(&file).arg("--keyring").arg(&config);
        command.output().expect("the binary starts")
    };
    // The version of the engine, the list, and each key.
    let requests = 2 + keyring["elements"].as_array().expect("elements").len();
    let every: fn(&Seen) -> bool = |_| true;
    let ways = [
        (Fault::LostBefore, ""),
        (Fault::Truncated, "the connection ended in the middle of the answer"),
        (Fault::Answer(503, "Vault is sealed"), "the Vault is sealed (503)"),
        (Fault::Answer(500, "InternalError"), "the answer has status 500"),
        (Fault::Says("{\"data\":{\"keys\":[\"48_"), "the answer is not JSON"),
    ];
    for (number, (fault, because)) in (0..requests).flat_map(|number| ways.map(|way| (number, way))) {
        let before = faulty.faults();
        faulty.fail(every, number, fault);
        fails(&verified(), because, "");
        assert_eq!(faulty.faults(), before + 1, "request {number}, {fault:?}");
    }
    // What is over soon is not an error.
    faulty.fail(every, requests - 1, Fault::Answer(429, "TooMany"));
    proof().is_complete();
    faulty.fail(every, 1, Fault::Hanging);
    fails(&verified(), "no answer in time", "is the Vault running");

    // Wrong paths, which the Vault itself answers.
    let root = site.vault.root_token();
    for (path, token, because) in [
        ("nowhere/db", token.as_str(), "nothing is mounted at this path, or the token may see nothing of it (403)"),
        ("two/other", token.as_str(), "two/metadata/other?list=true: the Vault refuses the token for this path (403)"),
        ("two/other", root, "the Vault has no keys of a server at two/other"),
    ] {
        let other = site.component("other.cnf", &site.vault.address(), path, token);
        let mut command = sealant();
        command.arg("verify").arg(&file).arg("--keyring-config").arg(&other);
        fails(&command.output().expect("the binary starts"), because, "");
    }

    let is_list: fn(&Seen) -> bool = |seen| seen.target.contains("list=true");
    let listed = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| name_of_secret(name, "")).collect();
        &*serde_json::json!({"data": {"keys": names}}).to_string().leak()
    };
    let names: Vec<&str> = keyring["elements"]
        .as_array()
        .expect("elements")
        .iter()
        .filter_map(|key| key["data_id"].as_str().filter(|name| name.starts_with("INNODBKey-")))
        .collect();
    let needed = proof().json["files"][0]["key"]["name"].as_str().expect("a name").to_owned();
    let half: Vec<&str> = names.iter().copied().filter(|name| *name != needed).collect();
    assert!(!half.is_empty(), "{names:?}");
    faulty.fail(is_list, 0, Fault::Says(listed(&half)));
    let missing = proof();
    assert_eq!((missing.code, missing.verdict("mysql97-16k-encrypted.ibd")), (3, "missing-key"), "{}", missing.stderr);
    faulty.fail(is_list, 0, Fault::Says(listed(&[&names[..], &["INNODBKey-ghost-1"]].concat())));
    fails(&verified(), "the Vault lists INNODBKey-ghost-1, but does not have it", "try again");
}

/// While the Vault has deleted a version that a table needs, each verb names both and changes nothing.
fn a_deleted_version_is_named_with_its_tables(server: &Server, config: &Path) {
    const KEY: &str = "in the Vault, key 1 version 1 is deleted at ";
    // Until then, page 0 of a new table may be in memory alone.
    server.sql("USE demo; FLUSH TABLES one, two FOR EXPORT; UNLOCK TABLES").expect("SQL");
    let room = tempfile::tempdir().expect("room");
    let run = |verb: &[&str], option: &str, more: &[&str]| {
        let mut command = sealant();
        command.current_dir(room.path()).args(verb).args(["--user", "root", "--socket"]).arg(server.socket());
        command.arg(option).arg(config).args(more);
        let ended = end(command);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(
            said.contains("demo/one.ibd") && said.contains(KEY) && said.contains("vault kv undelete"),
            "{verb:?} {said}"
        );
        assert!(!said.contains("demo/two.ibd"), "{verb:?} {said}");
        ended.code
    };
    assert_eq!(run(&["keyring", "check"], "--keyring", &[]), Some(3));
    assert_eq!(run(&["keyring", "check"], "--keyring-copy", &[]), Some(3));
    a_missing_configuration_is_named(server, &config.with_extension("missing"));
    let recipient = agefile::Identity::generate().expect("an identity").recipient().to_string();
    let backup = ["--mariadb-key-id", "2", "--keyring-backup", "keys.age", "--recipient", &recipient];
    let state = ["--yes", "--log", "statements", "--state-dir", "state"];
    assert_eq!(run(&["rotate", "run"], "--keyring", &[&backup[..], &state].concat()), Some(1));
    assert!(!room.path().join("keys.age").exists());
    assert_eq!(run(&["encrypt", "run"], "--keyring-copy", &state), Some(1));
}

/// The server's keys are in a service, so there is no keyring to put back.
fn a_missing_configuration_is_named(server: &Server, config: &Path) {
    let mut command = sealant();
    command.args(["keyring", "check", "--user", "root", "--socket"]).arg(server.socket()).arg("--keyring").arg(config);
    let ended = end(command);
    assert_eq!(ended.code, Some(3), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("does not exist, and the server's keys are in a service"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("put a good copy"), "{}", ended.stdout);
}

/// `sealant keys` on this server, with its keys in the service that `config` names.
fn register_of_keys(server: &Server, config: &Path) -> Output {
    let mut command = sealant();
    command.args(["keys", "--user", "root", "--format", "json", "--socket"]).arg(server.socket());
    command.arg("--keyring").arg(config).output().expect("the binary starts")
}

#[test]
fn every_verb_that_needs_keys_fetches_them_from_the_vault() {
    let Some(mut site) = Site::start() else { return };
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    site.vault(&["secrets", "enable", "-path=mariadb", "-version=2", "kv"]);
    site.vault(&["kv", "put", "mariadb/1", KEY_1]);
    site.vault(&["kv", "put", "mariadb/2", KEY_1_NEW]);
    site.vault(&["kv", "put", "mariadb/2", KEY_2]);
    let token = site.vault.token("mariadb", POLICY, &[]).expect("a token");
    let mut server = site.mariadb(&token, &[]);
    let tables = [table("one", "ENCRYPTED=YES"), table("two", "ENCRYPTED=YES ENCRYPTION_KEY_ID=2")];
    server.sql(&format!("CREATE DATABASE demo; USE demo; {}", tables.concat())).expect("SQL");
    let config = site.with_token("good.cnf", "mariadb", &token);

    let listed = |code: i32| {
        let output = register_of_keys(&server, &config);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        has_its_schema(&json, "keys-1");
        (json, said)
    };
    let (json, said) = listed(0);
    assert_eq!((&json["back_end"]["storage"], &json["sound"]), (&"service".into(), &true.into()), "{json:#}");
    assert!(json.get("withdrawn").is_none() && !said.contains("warning"), "{said}");
    // No file needs this version.
    site.vault(&["kv", "destroy", "-versions=1", "mariadb/2"]);
    let (json, said) = listed(0);
    assert!(said.contains("warning: in the Vault, key 2 version 1 is destroyed"), "{said}");
    assert_eq!(json["withdrawn"].as_array().map(Vec::len), Some(1));
    site.vault(&["kv", "delete", "-versions=1", "mariadb/1"]);
    let (json, said) = listed(3);
    assert_eq!(json["sound"], false);
    assert!(said.contains("do not stop the server") && said.contains("vault kv undelete"), "{said}");
    a_deleted_version_is_named_with_its_tables(&server, &config);
    site.vault(&["kv", "undelete", "-versions=1", "mariadb/1"]);
    site.vault.seal().expect("it is sealed");
    fails(&register_of_keys(&server, &config), "the Vault is sealed (503)", "unseal it");
    site.vault.unseal().expect("it is unsealed");

    server.stop().expect("it stops");
    let datadir = server.datadir();
    let copy = config.to_str().expect("a short path");
    let audit = Audit::run(["--offline", datadir.to_str().expect("a short path"), "--deep", "--key-file-copy", copy]);
    let opened = audit.findings("key-cannot-open");
    let message = opened.first().and_then(|finding| finding["message"].as_str()).unwrap_or_default();
    assert!(message.contains("opens each of 4 encrypted files, every page of them"), "{opened:?} {}", audit.stderr);
    assert_eq!(audit.statuses("key-cannot-open"), ["PASS"]);

    let into = site.directory.path().join("moved");
    let report = moves(datadir, &into, &["--mariadb-key-file", copy, "--compress", "zstd:3"]);
    assert!(report["opened_bytes"].as_u64() > Some(256 << 10), "{report}");

    let backups = Backups::new(datadir, &format!("mariadb_key_file = {config:?}"));
    let ran = backups.backup(&["run"]).is(0);
    assert!(ran.number("/bytes/opened") > 0 && ran.number("/pages/unproven") == 0, "{}", ran.json);
    let restored = site.directory.path().join("restored");
    backups.restore("latest", &restored, &["--mariadb-key-file", copy]).is(4);
    is_same(&restored, &files(datadir));

    // Pages whose key is deleted are stored as they are, and named.
    site.vault(&["kv", "delete", "-versions=1", "mariadb/1"]);
    let ran = backups.backup(&["run", "--full", "--require-complete"]).is(4);
    assert!(ran.number("/pages/unproven") > 0, "{}", ran.json);
    ran.says("key 1 version 1 is deleted at ").says("demo/one.ibd");
    let audit = Audit::run(["--offline", datadir.to_str().expect("a short path"), "--deep", "--key-file-copy", copy]);
    let shut = audit.findings("key-cannot-open");
    assert!(shut.iter().any(|finding| finding.to_string().contains("one.ibd")), "{shut:?} {}", audit.stderr);
    site.vault(&["kv", "undelete", "-versions=1", "mariadb/1"]);

    // Without the service nothing is stored or restored.
    site.vault.stop();
    backups.backup(&["run"]).is(1).says("cannot be reached");
    let again = site.directory.path().join("again");
    backups.restore("latest", &again, &["--mariadb-key-file", copy]).is(1).says("cannot be reached");
    assert!(!again.exists());
    let receiving = Receiving::begin(&again, &[]);
    fails(&send(datadir, &receiving.code, &["--mariadb-key-file", copy]), "cannot be reached", "is the Vault running");
    receiving.kill();
}

/// MySQL 5.7 has no components: the private server of the proof gets the keys of the Vault in a file of the plug-in.
#[test]
fn a_backup_of_mysql_57_is_proven_with_the_keys_of_a_vault() {
    let (Some(site), Some(_)) = (Site::start(), require(Kind::MySql57)) else { return };
    let mut server = Server::builder(Kind::MySql57).keyring(KeyringLocation::Beside).start().expect("it starts");
    server
        .sql("CREATE DATABASE demo; CREATE TABLE demo.t (id INT PRIMARY KEY) ENCRYPTION='Y'; INSERT INTO demo.t VALUES (1)")
        .expect("SQL");
    server.stop().expect("it stops");
    site.vault(&["secrets", "enable", "-path=mysql", "-version=2", "kv"]);
    let config = site.component("keyring_vault.conf", &site.vault.address(), "mysql/db1", site.vault.root_token());
    let (keyring, config) = (server.dir().join("keyring"), config.to_str().expect("a short path"));
    let mut command = sealant();
    command.args(["keyring", "migrate", "--yes", "--datadir"]).arg(server.datadir()).arg(&keyring).arg(config);
    let moved = command.output().expect("the binary starts");
    assert_eq!(moved.status.code(), Some(0), "{}", String::from_utf8_lossy(&moved.stderr));
    fs::remove_file(&keyring).expect("it was there");

    let backups = Backups::new(server.datadir(), &format!("keyring = {config:?}"));
    let ran = backups.backup(&["run"]).is(0);
    assert!(ran.number("/bytes/opened") > 0 && ran.number("/pages/unproven") == 0, "{}", ran.json);
    let daemon = Kind::MySql57.locate().expect("it is here").daemon;
    let restored = site.directory.path().join("restored");
    let proving = ["--keyring", config, "--prove", "--mysqld", daemon.to_str().expect("a short path")];
    let ran = backups.restore("latest", &restored, &proving).is(4);
    assert!(ran.number("/proof/tables") > 0, "{}", ran.json);
    let reads = "path \"mysql/metadata/db1/*\" { capabilities = [\"list\"] }
        path \"mysql/data/db1/*\" { capabilities = [\"read\"] }";
    let reader = site.vault.token("reader", reads, &[]).expect("a token");
    let reader = site.component("reader.cnf", &site.vault.address(), "mysql/db1", &reader);
    let (refused, reader) = (site.directory.path().join("refused"), reader.to_str().expect("a short path"));
    let ran = backups.restore("latest", &refused, &["--keyring", config, "--rekey", reader]).is(1);
    ran.says("does not let this token write");
    assert!(!refused.exists(), "nothing was restored");
    // Without its key no table is encrypted again.
    site.vault(&["kv", "metadata", "delete", &format!("mysql/db1/{}", first_secret(&site, "mysql/db1"))]);
    backups.restore("latest", &site.directory.path().join("not"), &proving).is(1).says("has no keys of a server");
}

/// The name of the first secret in a directory.
fn first_secret(site: &Site, directory: &str) -> String {
    let listed = site.vault(&["kv", "list", "-format=json", directory]);
    serde_json::from_str::<Vec<String>>(&listed).expect("names").swap_remove(0)
}

/// Files that real servers of Percona have encrypted, with the keys where Percona's plug-in and component keep them.
#[test]
fn files_of_percona_are_opened_with_the_keys_of_a_vault() {
    let Some(site) = Site::start() else { return };
    site.vault(&["secrets", "enable", "-path=mysql", "-version=2", "kv"]);
    for (name, files, keys) in
        [("57", &FILES_57[..], "percona57-plugin-file"), ("80", &FILES_80[..], "percona80-plugin-file")]
    {
        let directory = data_directory(files);
        let path = format!("mysql/{name}");
        let config = site.component(&format!("{name}.cnf"), &site.vault.address(), &path, site.vault.root_token());
        let mut command = sealant();
        command
            .args(["keyring", "migrate", "--yes", "--datadir"])
            .arg(directory.path())
            .arg(keyring(keys))
            .arg(&config);
        let moved = command.output().expect("the binary starts");
        assert_eq!(moved.status.code(), Some(0), "{}", String::from_utf8_lossy(&moved.stderr));
        let [from_file, from_vault] =
            [keyring(keys), config].map(|keys| Proof::mysql(&[directory.path()], Some(&keys)));
        from_vault.is_complete();
        assert_eq!(from_vault.files(), from_file.files(), "{name}");
        assert!(from_vault.files().iter().any(|file| file["verdict"] == "ok" && file["key"].is_object()), "{name}");
    }
}
