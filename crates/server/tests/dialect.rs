//! Runs every logical query on every real server; each returns the contract's columns.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

mod common;

use harness::Kind;
use server::{Connection, Error, Flavor, Grants, Rows, TlsMode, describe, dialect, dialect::catalog};

const LEAST_MYSQL: &str = "CREATE USER audit@'%' IDENTIFIED BY 'a';
    GRANT PROCESS, REPLICATION CLIENT ON *.* TO audit@'%';
    GRANT SELECT ON performance_schema.* TO audit@'%';
    GRANT SELECT ON mysql.user TO audit@'%';";

const SAMPLE: &str = "CREATE DATABASE shop;
    CREATE TABLE shop.clear_rows (a INT PRIMARY KEY, b INT) ENGINE=InnoDB;
    CREATE TABLE shop.other_engine (a INT) ENGINE=MyISAM;
    INSERT INTO shop.clear_rows VALUES (1, 1), (2, 2);";

/// Runs all queries; returns the names of those that the account may not run.
fn ask_everything(connection: &mut Connection) -> Vec<&'static str> {
    let version = describe(connection).expect("identity").version;
    let mut denied = Vec::new();
    for query in dialect::queries(&version) {
        match query.run(connection) {
            Ok(rows) => assert_eq!(rows.columns, query.column_names(), "{} on {version}", query.name),
            Err(error) if error.is_privilege() => {
                assert_ne!(query.needs, "", "{} needs a privilege: {error}", query.name);
                denied.push(query.name);
            }
            Err(error) => assert!(query.optional, "{} on {version}: {error}", query.name),
        }
    }
    denied
}

fn rows(connection: &mut Connection, name: &str) -> Rows {
    let version = describe(connection).expect("identity").version;
    let query = dialect::query(&version, name).unwrap_or_else(|| panic!("{name} is known"));
    query.run(connection).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The row in which `column` is `value`.
fn row(rows: &Rows, column: &str, value: &str) -> usize {
    (0..rows.rows.len())
        .find(|row| rows.value(*row, column) == Some(value))
        .unwrap_or_else(|| panic!("no {column} {value} in {rows:?}"))
}

#[test]
fn mysql97_answers_everything() {
    let Some(server) = common::start(Kind::MySql97, |builder| builder.keyring(harness::KeyringLocation::Beside)) else {
        return;
    };
    server.sql(SAMPLE).unwrap();
    server
        .sql(
            "CREATE TABLE shop.sealed (a INT) ENCRYPTION='Y';
             CREATE TABLESPACE ts ADD DATAFILE 'ts.ibd';
             ANALYZE TABLE shop.clear_rows UPDATE HISTOGRAM ON b;
             CREATE USER x509@'%' IDENTIFIED BY 'x' REQUIRE X509;
             CREATE USER nopw@'%'; CREATE ROLE r;
             GRANT BACKUP_ADMIN ON *.* TO x509@'%';
             CHANGE REPLICATION SOURCE TO SOURCE_HOST='db.example', SOURCE_USER='repl', SOURCE_PASSWORD='geheim';",
        )
        .unwrap();
    server.sql(LEAST_MYSQL).unwrap();

    let mut connection = common::root(&server);
    assert_eq!(ask_everything(&mut connection), Vec::<&str>::new());

    let identity = describe(&mut connection).unwrap();
    assert_eq!(identity.flavor(), Flavor::MySql);
    assert_eq!(identity.port, server.port());
    assert!(identity.server_uuid.is_some());
    assert_eq!(identity.datadir, server.datadir().join(""));
    assert_eq!(connection.peer_pid(), server.pid());

    let spaces = rows(&mut connection, "tablespaces");
    for (name, kind, encrypted) in [
        ("mysql", "Mysql", "N"),
        ("shop/sealed", "Single", "Y"),
        ("shop/clear_rows", "Single", "N"),
        ("ts", "General", "N"),
        ("innodb_undo_001", "Undo", "N"),
        ("innodb_temporary", "Temporary", "N"),
    ] {
        let row = row(&spaces, "name", name);
        assert_eq!(spaces.value(row, "type"), Some(kind), "{name}");
        assert_eq!(spaces.value(row, "encrypted"), Some(encrypted), "{name}");
    }
    let spaces_of_files = rows(&mut connection, "datafiles");
    let sealed = spaces.value(row(&spaces, "name", "shop/sealed"), "space_id").unwrap();
    let file = row(&spaces_of_files, "space_id", sealed);
    assert_eq!(spaces_of_files.value(file, "path"), Some("./shop/sealed.ibd"));

    let keyring = rows(&mut connection, "keyring_status");
    let status = row(&keyring, "key", "Component_status");
    assert_eq!(keyring.value(status, "value"), Some("Active"));
    assert!(!rows(&mut connection, "keyring_keys").rows.is_empty());
    let tables = rows(&mut connection, "tables");
    assert_eq!(tables.value(row(&tables, "table", "other_engine"), "engine"), Some("MyISAM"));
    let asked = rows(&mut connection, "encrypted_tables_requested");
    row(&asked, "table", "sealed");
    let logs = rows(&mut connection, "binary_logs");
    assert_eq!(logs.value(0, "encrypted"), Some("No"));

    let accounts = rows(&mut connection, "accounts");
    for (user, column, value) in [
        ("x509", "ssl_type", "X509"),
        ("x509", "empty_credential", "N"),
        ("nopw", "empty_credential", "Y"),
        ("nopw", "is_role", "N"),
        ("r", "is_role", "Y"),
        ("root", "all_privileges", "Y"),
        ("audit", "all_privileges", "N"),
        ("audit", "process", "Y"),
        ("mysql.sys", "locked", "Y"),
    ] {
        assert_eq!(accounts.value(row(&accounts, "user", user), column), Some(value), "{user} {column}");
    }
    let grants = rows(&mut connection, "dynamic_grants");
    row(&grants, "privilege", "BACKUP_ADMIN");

    let channels = rows(&mut connection, "replica_channels");
    assert_eq!(channels.value(0, "host"), Some("db.example"));
    assert_eq!(channels.value(0, "ssl_allowed"), Some("YES"));
    assert_eq!(channels.value(0, "io_state"), Some("OFF"));
    let credentials = rows(&mut connection, "replica_credentials");
    assert_eq!(credentials.value(0, "password_stored"), Some("Y"));
    assert!(!format!("{credentials:?}").contains("geheim"));
    let channels = rows(&mut connection, "tls_channels");
    row(&channels, "channel", "mysql_main");
    let sources = rows(&mut connection, "variable_sources");
    assert_eq!(sources.value(row(&sources, "name", "port"), "source"), Some("COMMAND_LINE"));
    let histograms = rows(&mut connection, "histograms");
    assert_eq!(histograms.value(0, "table"), Some("clear_rows"));

    // The live connections, one of them with TLS.
    let mut audit = common::open_known(&server, &common::generated_ca(&server), "audit", "a").unwrap();
    let suite = audit.tls().unwrap().suite.clone();
    let connections = rows(&mut audit, "connections");
    let current = row(&connections, "user", "audit");
    assert_eq!(connections.value(current, "connection_type"), Some("SSL/TLS"));
    assert_eq!(connections.value(current, "client_name"), Some("sealant"));
    let sessions = rows(&mut audit, "session_tls");
    let current = row(&sessions, "thread_id", connections.value(current, "thread_id").unwrap());
    assert_eq!(sessions.value(current, "version"), Some("TLSv1.3"));
    assert_eq!(sessions.value(current, "cipher"), Some(suite.as_str()));

    // With the least privileges, only credentials and grants of other accounts stay hidden.
    let denied = ask_everything(&mut audit);
    assert_eq!(denied, ["components", "dynamic_grants", "role_edges", "replica_credentials", "replicas"]);
    assert!(matches!(audit.query("CREATE TABLE shop.x (a INT)"), Err(Error::Server { .. })));
}

#[test]
fn mariadb_answers_everything() {
    for kind in [Kind::MariaDb1011, Kind::MariaDb118] {
        let keys = format!("1;{}\n", "01".repeat(32));
        let set_up = |builder: harness::ServerBuilder| {
            builder.mariadb_keys(&keys).options(["--log-bin", "--performance-schema=ON"])
        };
        let Some(server) = common::start(kind, set_up) else { continue };
        server.sql(SAMPLE).unwrap();
        server
            .sql(
                "CREATE TABLE shop.sealed (a INT) ENCRYPTED=YES;
                 CREATE TABLE shop.aria (a INT) ENGINE=Aria;
                 CREATE USER x509@'%' IDENTIFIED BY 'x' REQUIRE X509;
                 CREATE USER nopw@'%'; CREATE ROLE r;
                 CREATE USER two@localhost IDENTIFIED VIA unix_socket OR mysql_native_password USING PASSWORD('x');
                 CREATE USER locked@'%' IDENTIFIED BY 'x' ACCOUNT LOCK;
                 CREATE USER audit@'%' IDENTIFIED BY 'a';
                 GRANT PROCESS, BINLOG MONITOR, SLAVE MONITOR ON *.* TO audit@'%';
                 GRANT SELECT ON performance_schema.* TO audit@'%';
                 GRANT SELECT ON mysql.global_priv TO audit@'%';
                 CHANGE MASTER 'east' TO MASTER_HOST='db.example', MASTER_USER='repl', MASTER_PASSWORD='geheim';
                 SET SESSION use_stat_tables='preferably'; ANALYZE TABLE shop.clear_rows PERSISTENT FOR ALL;",
            )
            .unwrap();

        let mut connection = common::root(&server);
        assert_eq!(ask_everything(&mut connection), Vec::<&str>::new());
        let identity = describe(&mut connection).unwrap();
        assert_eq!(identity.flavor(), Flavor::MariaDb);
        assert_eq!(connection.peer_pid(), server.pid());

        let spaces = rows(&mut connection, "tablespaces");
        for (name, kind, encrypted) in
            [("shop/sealed", "Single", "Y"), ("shop/clear_rows", "Single", "N"), ("innodb_system", "System", "N")]
        {
            let row = row(&spaces, "name", name);
            assert_eq!(spaces.value(row, "type"), Some(kind), "{name} of {identity:?}");
            assert_eq!(spaces.value(row, "encrypted"), Some(encrypted), "{name} of {spaces:?}");
        }
        let sealed = row(&spaces, "name", "shop/sealed");
        assert_eq!(spaces.value(sealed, "key_id"), Some("1"));
        let files = rows(&mut connection, "datafiles");
        let file = row(&files, "space_id", spaces.value(sealed, "space_id").unwrap());
        assert_eq!(files.value(file, "path"), Some("./shop/sealed.ibd"));
        let tables = rows(&mut connection, "tables");
        assert_eq!(tables.value(row(&tables, "table", "aria"), "engine"), Some("Aria"));
        row(&tables, "schema", "mysql");
        row(&rows(&mut connection, "encrypted_tables_requested"), "table", "sealed");
        assert_eq!(rows(&mut connection, "binary_logs").value(0, "encrypted"), None);

        let accounts = rows(&mut connection, "accounts");
        for (user, column, value) in [
            ("x509", "ssl_type", "X509"),
            ("audit", "ssl_type", ""),
            ("nopw", "empty_credential", "Y"),
            ("audit", "empty_credential", "N"),
            ("r", "is_role", "Y"),
            ("r", "empty_credential", "N"),
            ("two", "plugin", "mysql_native_password,unix_socket"),
            ("locked", "locked", "Y"),
            ("audit", "locked", "N"),
            ("root", "all_privileges", "Y"),
            ("root", "super", "Y"),
            ("audit", "all_privileges", "N"),
            ("audit", "process", "Y"),
            ("audit", "file", "N"),
        ] {
            assert_eq!(
                accounts.value(row(&accounts, "user", user), column),
                Some(value),
                "{user} {column} of {accounts:?}"
            );
        }
        let channels = rows(&mut connection, "replica_channels");
        assert_eq!(channels.value(0, "channel"), Some("east"));
        assert_eq!(channels.value(0, "host"), Some("db.example"));
        let allowed = if kind == Kind::MariaDb118 { "Yes" } else { "No" };
        assert_eq!(channels.value(0, "ssl_allowed"), Some(allowed));
        let sources = rows(&mut connection, "variable_sources");
        assert_eq!(sources.value(row(&sources, "name", "PORT"), "source"), Some("COMMAND-LINE"));
        let histograms = rows(&mut connection, "histograms");
        row(&histograms, "table", "clear_rows");

        let mode = TlsMode::Off;
        let mut audit = common::open(common::tcp(&server), "audit", "a", mode).unwrap();
        let connections = rows(&mut audit, "connections");
        let current = row(&connections, "user", "audit");
        assert_eq!(connections.value(current, "connection_type"), Some("TCP/IP"));
        assert_eq!(connections.value(current, "program"), Some("sealant"));
        assert_eq!(ask_everything(&mut audit), ["role_edges", "replicas", "histograms"]);
    }
}

#[test]
fn mysql56_answers_what_it_knows() {
    let Some(server) = common::start(Kind::MySql56, |builder| builder) else { return };
    server.sql(SAMPLE).unwrap();
    let mut connection = common::root(&server);
    let identity = describe(&mut connection).unwrap();
    assert_eq!((identity.flavor(), identity.version.major, identity.version.minor), (Flavor::MySql, 5, 6));
    assert_eq!(ask_everything(&mut connection), Vec::<&str>::new());
    let spaces = rows(&mut connection, "tablespaces");
    assert_eq!(spaces.value(row(&spaces, "name", "shop/clear_rows"), "encrypted"), Some("N"));
    let accounts = rows(&mut connection, "accounts");
    assert_eq!(accounts.value(row(&accounts, "user", "root"), "empty_credential"), Some("Y"));
}

#[test]
fn what_is_left_out_silently_is_known_beforehand() {
    for kind in [Kind::MySql97, Kind::MariaDb1011, Kind::MariaDb118] {
        let Some(server) = common::start(kind, |builder| builder) else { continue };
        server.sql(SAMPLE).unwrap();
        server.sql("CREATE USER audit@'%' IDENTIFIED BY 'a'; GRANT PROCESS ON *.* TO audit@'%'").unwrap();
        for grant in ["", "SHOW DATABASES", "SELECT"] {
            if !grant.is_empty() {
                server.sql(&format!("GRANT {grant} ON *.* TO audit@'%'")).unwrap();
            }
            let mut all = common::root(&server);
            let mut audit = common::open(common::socket(&server), "audit", "a", TlsMode::Off).unwrap();
            let lines = rows(&mut audit, "grants");
            let grants = Grants::parse(lines.rows.iter().filter_map(|row| row.first()?.as_deref()));
            assert!(grants.cover("PROCESS ON *.*"), "{lines:?}");
            for name in ["schemas", "tables", "encrypted_tables_requested", "tablespaces"] {
                let version = describe(&mut audit).unwrap().version;
                let query = dialect::query(&version, name).unwrap();
                let seen = query.run(&mut audit).unwrap().rows.len();
                let whole = query.run(&mut all).unwrap().rows.len();
                if grants.cover(query.needs) {
                    assert_eq!(seen, whole, "{name} with {grant} on {version}");
                } else {
                    assert!(query.filtered, "{name} with {grant} on {version}");
                }
            }
        }
    }
}

#[test]
fn tables_in_the_system_tablespace_are_found_with_and_without_the_shortcut() {
    let Some(server) = common::start(Kind::MySql97, |builder| builder) else { return };
    server.sql(SAMPLE).unwrap();
    server.sql(LEAST_MYSQL).unwrap();
    let mut root = common::root(&server);
    assert!(rows(&mut root, "system_space_tables").rows.is_empty());
    server.sql("CREATE TABLE shop.`odd-name` (a INT) TABLESPACE=innodb_system").unwrap();
    assert_eq!(rows(&mut root, "system_space_tables").rows.len(), 1);
    // Without SELECT on everything the shortcut does not apply, and the whole list is scanned.
    let mut audit = common::open_known(&server, &common::generated_ca(&server), "audit", "a").unwrap();
    assert_eq!(rows(&mut audit, "system_space_tables").rows.len(), 1);
}

#[test]
fn what_mysql97_revokes_in_part_is_not_granted() {
    let Some(server) = common::start(Kind::MySql97, |builder| builder.option("--partial-revokes=ON")) else { return };
    server
        .sql(
            "CREATE USER audit@'%' IDENTIFIED BY 'a'; CREATE DATABASE shop; CREATE DATABASE a_b;
             GRANT SELECT, PROCESS ON *.* TO audit@'%';
             REVOKE SELECT ON mysql.* FROM audit@'%'; REVOKE SELECT ON `a\\_b`.* FROM audit@'%'",
        )
        .unwrap();
    let mut audit = common::open(common::socket(&server), "audit", "a", TlsMode::Off).unwrap();
    let answer = rows(&mut audit, "grants");
    let lines: Vec<&str> = answer.rows.iter().filter_map(|row| row[0].as_deref()).collect();
    assert!(lines.iter().any(|line| line.starts_with("REVOKE ")), "{lines:?}");
    let grants = Grants::parse(lines.iter().copied());
    for needs in ["PROCESS ON *.*", "SELECT ON shop.t", "SELECT ON performance_schema.*"] {
        assert!(grants.cover(needs), "{needs}: {lines:?}");
    }
    for needs in ["SELECT ON *.*", "SELECT ON mysql.user", "SELECT ON a_b.t", "SHOW DATABASES ON *.*"] {
        assert!(!grants.cover(needs), "{needs}: {lines:?}");
    }
    // As the server itself reports it.
    assert!(audit.query("SELECT COUNT(*) FROM mysql.user").unwrap_err().is_privilege());
}

#[test]
fn grants_of_active_roles_are_listed() {
    for kind in [Kind::MySql80, Kind::MySql97, Kind::MariaDb1011] {
        let Some(server) = common::start(kind, |builder| builder) else { continue };
        server
            .sql(
                "CREATE ROLE active; GRANT PROCESS, RELOAD ON *.* TO active;
                 CREATE ROLE inactive; GRANT FILE ON *.* TO inactive;
                 CREATE USER reader@'%' IDENTIFIED BY 'r'; GRANT SELECT ON mysql.user TO reader@'%';
                 GRANT active TO reader@'%'; GRANT inactive TO reader@'%';",
            )
            .unwrap();
        let mut connection = common::open(common::socket(&server), "reader", "r", TlsMode::Off).unwrap();
        let mut covered = |needs| Grants::of_session(&mut connection).unwrap().cover(needs);
        assert!(covered("SELECT ON mysql.user") && !covered("PROCESS ON *.*"), "{kind:?}");
        connection.query("SET ROLE active").unwrap();
        let grants = Grants::of_session(&mut connection).unwrap();
        assert!(grants.cover("PROCESS ON *.*") && grants.cover("RELOAD ON *.*"), "{kind:?}: {grants:?}");
        assert!(!grants.cover("FILE ON *.*"), "{kind:?}: {grants:?}");
    }
}

#[test]
fn a_schema_named_like_one_of_the_servers_in_another_case_is_a_users() {
    for kind in [Kind::MySql57, Kind::MySql80, Kind::MySql97, Kind::MariaDb1011] {
        let Some(server) = common::start(kind, |builder| builder) else { continue };
        server.sql("CREATE DATABASE SYS; CREATE DATABASE MYSQL; CREATE DATABASE users_own").unwrap();
        let schemas = rows(&mut common::root(&server), "schemas");
        let names: Vec<&str> = (0..schemas.rows.len()).filter_map(|row| schemas.value(row, "schema")).collect();
        for system in catalog::SYSTEM_SCHEMAS {
            assert!(names.contains(&system) && catalog::is_system_schema(system), "{kind:?}: {system} of {names:?}");
        }
        let version = describe(&mut common::root(&server)).unwrap().version;
        let catalog = common::root(&server).query(catalog::catalog(&version).schemas).unwrap();
        let listed: Vec<&str> = (0..catalog.rows.len()).filter_map(|row| catalog.value(row, "schema")).collect();
        for users in ["SYS", "MYSQL", "users_own"] {
            assert!(names.contains(&users) && !catalog::is_system_schema(users), "{kind:?}: {users} of {names:?}");
            assert!(listed.contains(&users), "{kind:?}: {users} of {listed:?}");
        }
        assert!(!listed.iter().any(|schema| catalog::is_system_schema(schema)), "{kind:?}: {listed:?}");
    }
}
