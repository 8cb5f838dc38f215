//! `sealant migrate plan` on real servers: with the documented grants alone, and with everything that can be wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use harness::certs::{Authority, Profile};
use harness::{KeyringLocation, Kind, Server, require};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::schema::has_its_schema;
use crate::support::sealant;

const SHOP: &str = "CREATE DATABASE shop;
    CREATE TABLE shop.customers (id INT PRIMARY KEY AUTO_INCREMENT, email VARBINARY(100));
    CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer INT,
        FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE) ENCRYPTION='Y';
    INSERT INTO shop.customers (email) VALUES ('a'), ('b');";

/// The grants of docs/migrate.md.
const SOURCE_GRANTS: &str = "CREATE USER mig@'%' IDENTIFIED BY 'secret' REQUIRE SSL;
    GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, LOCK TABLES, REPLICATION SLAVE, REPLICATION CLIENT, PROCESS ON *.*
    TO mig@'%';";
const TARGET_GRANTS: &str = r"CREATE USER mig@'%' IDENTIFIED BY 'secret' REQUIRE SSL;
    GRANT ALL ON shop.* TO mig@'%'; GRANT ALL ON `\_sealant`.* TO mig@'%';
    GRANT PROCESS, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO mig@'%';";

/// A source with tables and an empty target, with certificates of the same CA.
pub(crate) struct Pair {
    pub(crate) source: Server,
    pub(crate) target: Server,
    directory: TempDir,
    ca: PathBuf,
}

impl Pair {
    fn start(source: Kind, more: &[&str]) -> Option<Self> {
        require(source)?;
        require(Kind::MySql97)?;
        let directory = tempfile::tempdir().expect("a directory");
        let authority = Authority::create(directory.path()).expect("an authority");
        let profile = Profile { alternative_names: Some("IP:127.0.0.1".to_owned()), ..Profile::default() };
        let tls = authority.issue("server", &profile).expect("a certificate");
        for (name, password) in [("pw", "secret\n"), ("bad", "mistyped\n")] {
            let path = directory.path().join(name);
            fs::write(&path, password).expect("room");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        }
        let start = |kind: Kind, options: &[&str]| {
            let builder = Server::builder(kind).tls(&tls).options(options.iter().copied());
            let builder = if kind.is_mariadb() { builder } else { builder.keyring(KeyringLocation::Beside) };
            builder.start().expect("the server starts")
        };
        let source = start(source, more);
        let target = start(Kind::MySql97, &["--binlog-encryption=ON", "--local-infile=ON"]);
        target.sql(TARGET_GRANTS).expect("statements");
        Some(Self { source, target, directory, ca: tls.ca })
    }

    pub(crate) fn mysql(more: &[&str]) -> Option<Self> {
        let pair = Self::start(Kind::MySql97, more)?;
        pair.source.sql(SHOP).expect("statements");
        pair.source.sql(SOURCE_GRANTS).expect("statements");
        Some(pair)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Plans with these options in place of the usual ones of the same name.
    fn plan(&self, options: &[(&str, &str)], more: &[&str]) -> Output {
        self.command("plan", options).args(more).output().expect("the binary starts")
    }

    /// A verb with the options for both servers; these replace the usual ones of the same name, and an empty value
    /// leaves one out.
    pub(crate) fn command(&self, verb: &str, options: &[(&str, &str)]) -> Command {
        let ca = self.ca.display().to_string();
        let password = self.path("pw").display().to_string();
        let url = |server: &Server| format!("mysql://mig@127.0.0.1:{}", server.port());
        let usual = [
            ("--source", url(&self.source)),
            ("--target", url(&self.target)),
            ("--source-tls-ca", ca.clone()),
            ("--target-tls-ca", ca),
            ("--source-password-file", password.clone()),
            ("--target-password-file", password),
        ];
        let mut command = sealant();
        command.args(["migrate", verb]);
        for (name, value) in usual {
            match options.iter().find(|(option, _)| *option == name) {
                Some((_, "")) => {}
                Some((_, other)) => drop(command.args([name, other])),
                None => drop(command.args([name, &value])),
            }
        }
        command
    }

    fn json(&self, more: &[&str]) -> (Option<i32>, Value) {
        let output = self.plan(&[], &[more, &["--format", "json"]].concat());
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        has_its_schema(&plan, "migrate-1");
        (output.status.code(), plan)
    }

    /// How many definitions of tables the source was asked for.
    pub(crate) fn definitions_read(&self) -> u32 {
        let counter = self.source.sql("SHOW GLOBAL STATUS LIKE 'Com_show_create_table'").expect("an answer");
        counter.split_whitespace().last().expect("a value").parse().expect("a number")
    }

    /// The exit code and the remedies of the checks that found something, by id.
    fn findings(&self) -> (Option<i32>, Vec<(String, String)>) {
        let (code, plan) = self.json(&[]);
        let found = plan["checks"].as_array().expect("a list").iter();
        let found = found.filter(|check| ["found", "unknown"].contains(&check["result"].as_str().expect("a text")));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (code, found.map(|check| (text(&check["id"]), text(&check["remedy"]["text"]))).collect())
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_documented_grants_are_enough() {
    let Some(pair) = Pair::mysql(&[]) else { return };
    let (code, plan) = pair.json(&[]);
    assert_eq!((code, &plan["done"]), (Some(0), &Value::Bool(true)), "{plan:#}");
    let states: Vec<(&str, &str, &str)> = plan["encryption"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().expect("a text");
            (text("table"), text("source"), text("target"))
        })
        .collect();
    assert_eq!(states, [("shop.customers", "clear", "encrypted"), ("shop.orders", "encrypted", "encrypted")]);
    let (_, plan) = pair.json(&["--encrypt", "as-source"]);
    assert_eq!(plan["encryption"][0]["target"], "clear");

    let output = pair.plan(&[], &[]);
    let table = text(&output.stdout);
    for part in ["TLSv1.3, verified by CA and name", "shop.orders", "Nothing blocks this migration.", "sealant send"] {
        assert!(table.contains(part), "{table}");
    }
    let wide = table.lines().filter(|line| !line.contains("GRANT ")).find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
    let schemas = pair.target.sql("SHOW DATABASES").expect("an answer");
    assert!(!schemas.contains("shop") && !schemas.contains("_sealant"), "a plan changes nothing: {schemas}");
}

#[test]
fn each_missing_grant_is_named_and_enough() {
    let Some(pair) = Pair::mysql(&[]) else { return };
    pair.source.sql("REVOKE PROCESS, SELECT, REPLICATION SLAVE ON *.* FROM mig@'%'").expect("statements");
    // This setting of the target has to be another one for the session that creates tables.
    pair.target.sql("REVOKE ALL ON shop.* FROM mig@'%'; SET GLOBAL sql_generate_invisible_primary_key = ON").unwrap();
    let mut rounds = 0;
    while let (Some(4), found) = pair.findings() {
        rounds += 1;
        assert!(rounds < 4, "{found:?}");
        for (id, statement) in &found {
            assert_eq!(id, "grants.both");
            let side =
                if statement.contains("shop") || statement.contains("ADMIN") { &pair.target } else { &pair.source };
            side.sql(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }
    assert_eq!(pair.findings(), (Some(0), Vec::new()));
    assert!(rounds > 0);
}

#[test]
fn what_stands_in_the_way_is_named_and_the_remedy_removes_it() {
    // With GTIDs, the order of commits does not matter.
    let Some(pair) = Pair::mysql(&["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"]) else { return };
    let cases = [
        ("log.rows", &pair.source, "SET GLOBAL binlog_format = 'MIXED'"),
        ("log.rows", &pair.source, "SET GLOBAL binlog_row_image = 'MINIMAL'"),
        ("log.rows", &pair.source, "SET GLOBAL binlog_row_value_options = 'PARTIAL_JSON'"),
        ("log.order", &pair.source, "SET GLOBAL binlog_order_commits = OFF"),
        ("target.writable", &pair.target, "SET GLOBAL super_read_only = ON"),
        ("target.max-allowed-packet", &pair.target, "SET GLOBAL max_allowed_packet = 1048576"),
        ("encryption.binary-log", &pair.target, "SET GLOBAL binlog_encryption = OFF"),
        ("tables.engine", &pair.source, "CREATE TABLE shop.old (id INT PRIMARY KEY) ENGINE=MyISAM"),
    ];
    for (expected, server, statement) in cases {
        server.sql(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        let mut rounds = 0;
        // Without binlog_encryption nothing shows the account that there is a keyring.
        while let (Some(3), found) = pair.findings() {
            let (_, remedy) =
                found.iter().find(|(id, _)| id == expected).unwrap_or_else(|| panic!("{expected}: {found:?}"));
            server.sql(remedy).unwrap_or_else(|error| panic!("{remedy}: {error}"));
            rounds += 1;
            assert!(rounds < 4, "{found:?}");
        }
        assert!(rounds > 0, "{statement} was not found");
        let told = ("log.gtids".to_owned(), String::new());
        assert_eq!(pair.findings(), (Some(0), vec![told]), "after {expected}");
    }
}

#[test]
fn what_is_special_or_in_the_way_is_named() {
    let Some(pair) = Pair::mysql(&[]) else { return };
    pair.source
        .sql(
            "CREATE TABLE shop.keyless (a INT); CREATE TABLE shop.kinds (k ENUM('a', 'b') PRIMARY KEY);
             CREATE TABLESPACE ts ADD DATAFILE 'ts.ibd' ENCRYPTION='Y';
             CREATE TABLE shop.placed (a INT PRIMARY KEY) TABLESPACE ts ENCRYPTION='Y';
             XA START 'x'; INSERT INTO shop.customers (email) VALUES ('c'); XA END 'x'; XA PREPARE 'x';",
        )
        .unwrap();
    pair.target.sql("CREATE DATABASE shop; CREATE VIEW shop.orders AS SELECT 1").unwrap();
    pair.target.sql("CREATE DATABASE _sealant; CREATE TABLE _sealant.mine (a INT)").unwrap();
    let (code, found) = pair.findings();
    let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
    let expected = ["log.prepared", "target.empty", "target.state", "tables.lane", "tables.lane", "tables.placement"];
    assert_eq!((code, ids.as_slice()), (Some(3), expected.as_slice()), "{found:?}");
    let (code, plan) = pair.json(&["--schema", "shop", "--schema", "shpo"]);
    assert_eq!(code, Some(3));
    assert!(plan["checks"].to_string().contains("the source has no such schema"));
}

#[test]
fn accounts_are_named_and_planned() {
    let Some(pair) = Pair::mysql(&[]) else { return };
    pair.source.sql("CREATE USER app@'%' IDENTIFIED BY 'x'; GRANT SELECT ON shop.* TO app@'%'").unwrap();
    let (code, plan) = pair.json(&[]);
    assert_eq!(code, Some(0));
    assert!(plan["checks"].to_string().contains("not created at the target: `app`@`%`"), "{plan:#}");
    let fences: Vec<&str> =
        plan["fences"].as_array().expect("a list").iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(fences, ["read-only", "lock-tables", "accounts", "external"]);
    let (code, plan) = pair.json(&["--accounts", "create"]);
    assert_eq!(code, Some(4), "{plan:#}");
    pair.target
        .sql(
            "GRANT CREATE USER, ROLE_ADMIN ON *.* TO mig@'%'; GRANT SELECT ON mysql.* TO mig@'%';
             GRANT ALL ON shop.* TO mig@'%' WITH GRANT OPTION",
        )
        .unwrap();
    let (code, plan) = pair.json(&["--accounts", "create"]);
    assert_eq!((code, plan["accounts"][0]["action"].as_str()), (Some(0), Some("create")), "{plan:#}");
    let output = pair.plan(&[], &["--accounts", "create"]);
    let shown = text(&output.stdout);
    for part in [
        "ACCOUNTS  1 account",
        "  created   `app`@`%`",
        "FENCES",
        "  lock-tables",
        "needs GRANT SYSTEM_VARIABLES_ADMIN",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn an_older_series_at_the_target_is_not_yet_supported() {
    let Some(pair) = Pair::start(Kind::MySql80, &[]) else { return };
    pair.source.sql("CREATE USER mig@'%' IDENTIFIED BY 'secret' REQUIRE SSL").unwrap();
    let url = |server: &Server| format!("mysql://mig@127.0.0.1:{}", server.port());
    let (from, to) = (url(&pair.target), url(&pair.source));
    let output = pair.plan(&[("--source", &from), ("--target", &to)], &[]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("pair.supported") && told.contains("not yet supported"), "{told}");
    assert!(told.contains("1 finding blocks this migration"), "{told}");
}

#[test]
fn one_clear_error_says_what_is_wrong_with_a_server() {
    let Some(mut pair) = Pair::mysql(&[]) else { return };
    let bad = pair.path("bad").display().to_string();
    let other_directory = tempfile::tempdir().expect("a directory");
    let other = Authority::create(other_directory.path()).expect("an authority");
    let other = other.issue("server", &Profile::default()).expect("a certificate").ca.display().to_string();
    let by_name = format!("mysql://mig@localhost:{}", pair.source.port());
    let cases: [(&str, &str, i32, &str, &str); 7] = [
        ("--source-password-file", &bad, 1, "source: ", "--source-password-file"),
        ("--target-password-file", &bad, 1, "target: ", "--target-password-file"),
        ("--source-tls-ca", "", 3, "source: 127.0.0.1", "--source-tls-ca"),
        ("--target-tls-ca", &other, 3, "target: server certificate not trusted", "--target-tls-ca"),
        ("--source", &by_name, 3, "source: server certificate is not for localhost", "--tls-any-name"),
        ("--source", "", 2, "no source is named", "--source-socket"),
        ("--target", "mysql://mig:secret@db", 2, "target: server URL contains a password", "password"),
    ];
    for (option, value, code, error, hint) in cases {
        let output = pair.plan(&[(option, value)], &[]);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(code), ""), "{option}: {said}");
        assert!(said.starts_with(&format!("sealant: error: {error}")), "{option}: {said}");
        assert_eq!(said.matches("error:").count(), 1, "{said}");
        assert!(said.contains(hint) && !said.contains("mistyped"), "{option}: {said}");
    }
    pair.target.stop().expect("it stops");
    let output = pair.plan(&[], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("target: 127.0.0.1") && text(&output.stderr).contains("refused"));
}

#[test]
fn a_link_that_is_weaker_is_refused() {
    let Some(pair) = Pair::mysql(&["--tls-version=TLSv1.2"]) else { return };
    assert_eq!(pair.findings(), (Some(3), vec![("link.tls".to_owned(), "--min-tls 1.2".to_owned())]));
    for (verb, more) in [("run", &["--yes"][..]), ("verify", &[]), ("cutover", &["--fence", "read-only", "--yes"])] {
        let output = pair.command(verb, &[]).args(more).output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(3), "{verb}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("--min-tls 1.2"), "{verb}: {}", text(&output.stderr));
    }
    // No definition of a table has passed the link.
    assert_eq!((pair.json(&[]).1["tables"].clone(), pair.definitions_read()), (Value::Array(Vec::new()), 0));
    assert_eq!(pair.json(&["--min-tls", "1.2"]).0, Some(0));
    assert_eq!(pair.definitions_read(), 2);
    let output = pair.plan(&[("--source-tls-ca", "")], &["--min-tls", "1.2", "--insecure-unverified-source"]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(table.contains("TLSv1.2, not verified") && table.contains("1 point to agree to"), "{table}");
}

#[test]
fn each_side_has_its_group_of_the_option_file() {
    let Some(pair) = Pair::mysql(&[]) else { return };
    let ca = pair.ca.display();
    let group = |side: &str, port: u16| {
        format!("[sealant-{side}]\nhost=127.0.0.1\nport={port}\nuser=mig\npassword=secret\nssl-ca={ca}\n")
    };
    let text = format!(
        "[client]\npassword=wrong\n{}{}",
        group("source", pair.source.port()),
        group("target", pair.target.port())
    );
    let file = pair.path("my.cnf");
    fs::write(&file, text).expect("room");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let output = sealant().args(["migrate", "plan", "--defaults-file"]).arg(&file).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
