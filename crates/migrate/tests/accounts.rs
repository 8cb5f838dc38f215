//! Accounts and roles of the source at the target: created before the switch, locked until then, and equal.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use harness::{Kind, Server};
use migrate::{
    Error, Event, Settings, Until,
    accounts::{AccountAction, AccountPlan, Accounts},
    plan::{Plan, Readiness},
    preflight::Request,
};
use server::{Connection, Password, Target};
use support::{Kinds, Pair, shop};

/// What a target's account needs in addition, which docs/migrate.md names.
const GIVER: &str = "GRANT CREATE USER, ROLE_ADMIN ON *.* TO mig@'%'; GRANT SELECT ON mysql.* TO mig@'%';
    GRANT ALL ON shop.* TO mig@'%' WITH GRANT OPTION; GRANT RELOAD, BACKUP_ADMIN ON *.* TO mig@'%' WITH GRANT OPTION;";
const MARIADB_GIVER: &str = "GRANT CREATE USER ON *.* TO mig@'%'; GRANT SELECT, UPDATE ON mysql.* TO mig@'%';
    GRANT ALL ON shop.* TO mig@'%' WITH GRANT OPTION; GRANT RELOAD, BINLOG MONITOR ON *.* TO mig@'%' WITH GRANT OPTION;";

const APPS: &str = r"CREATE ROLE reader, writer; GRANT SELECT ON shop.* TO reader; GRANT reader TO writer;
    GRANT INSERT, UPDATE (v), SELECT (a, v) ON shop.pair TO writer WITH GRANT OPTION;
    CREATE USER app@'%' IDENTIFIED BY 'it''s' REQUIRE SSL WITH MAX_USER_CONNECTIONS 9
      PASSWORD EXPIRE INTERVAL 90 DAY PASSWORD HISTORY 3 FAILED_LOGIN_ATTEMPTS 4 PASSWORD_LOCK_TIME 2 COMMENT 'it''s';
    GRANT reader, writer TO app@'%' WITH ADMIN OPTION; SET DEFAULT ROLE reader TO app@'%';
    GRANT RELOAD ON *.* TO app@'%'; GRANT BACKUP_ADMIN ON *.* TO app@'%' WITH GRANT OPTION;
    CREATE USER local@localhost IDENTIFIED BY 'local'; GRANT ALL ON `shop`.* TO local@localhost;
    CREATE USER `ö``'x`@'10.0.0.0/255.255.255.0' IDENTIFIED BY 'x' ACCOUNT LOCK PASSWORD EXPIRE;
    CREATE USER twice@'%' IDENTIFIED BY 'one'; ALTER USER twice@'%' IDENTIFIED BY 'two' RETAIN CURRENT PASSWORD;
    CREATE USER there@'%' IDENTIFIED BY 'source';
    GRANT SELECT ON other.* TO there@'%'; GRANT SUPER ON *.* TO twice@'%';
    INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'; CREATE USER os@localhost IDENTIFIED WITH auth_socket AS 'nobody';";

fn with_accounts(pair: &Pair) -> Settings {
    Settings { accounts: Accounts::Create, ..pair.addresses().settings() }
}

fn planned(settings: &Settings) -> Plan {
    let request = Request { accounts: Accounts::Create, ..shop() };
    migrate::plan::plan(&settings.source, &settings.target, request).unwrap()
}

#[track_caller]
fn account<'p>(plan: &'p Plan, name: &str) -> &'p AccountPlan {
    plan.accounts.iter().find(|account| account.name == name).unwrap_or_else(|| panic!("{name}: {:#?}", plan.accounts))
}

/// Copies the rows.
fn copy(settings: &Settings) {
    migrate::create_tables(settings).unwrap();
    let settings = Settings { until: Until::Copied, ..settings.clone() };
    migrate::run(&settings, &mut |_| {}).unwrap();
}

fn logs_in(server: &Server, user: &str, password: &str) -> bool {
    let target = Target { endpoint: server::Endpoint::Socket(server.socket().to_owned()), user: user.to_owned() };
    let password = Some(Password::new(password.as_bytes().to_vec()));
    Connection::open(&target, &server::Options { password, ..Default::default() }).is_ok()
}

/// What both servers show of an account, in the same order.
#[track_caller]
fn is_the_same(pair: &Pair, name: &str) {
    let shown = |server: &Server| {
        let hex = if server.kind().is_mariadb() { "" } else { "SET print_identified_with_as_hex = 1;" };
        let shown = server.sql(&format!("{hex} SHOW CREATE USER {name}; SHOW GRANTS FOR {name}")).unwrap();
        let mut lines: Vec<_> = shown.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(shown(&pair.target), shown(&pair.source), "{name}");
}

/// Everything that the migration has stored, and its plan.
fn stored(pair: &Pair, plan: &Plan) -> String {
    let journal = pair.target.sql("SELECT event, detail FROM _sealant.journal").unwrap();
    format!("{journal}{plan:?}{}", serde_json::to_string(plan).unwrap())
}

#[test]
fn accounts_of_mysql_are_ready_with_the_switch() {
    let Some(pair) = Pair::of_kinds(Kinds::MYSQL_97, 200) else { return };
    pair.source.sql(APPS).unwrap();
    pair.target.sql("CREATE USER there@'%' IDENTIFIED BY 'target'").unwrap();
    let settings = with_accounts(&pair);
    // Each missing privilege is named, and enough.
    let missing = planned(&settings);
    assert_eq!(missing.readiness(), Readiness::Unknown);
    let statements: Vec<_> =
        missing.grants.iter().filter(|grant| !grant.held).map(|grant| grant.statement.as_str()).collect();
    assert_eq!(
        statements,
        ["GRANT CREATE USER, ROLE_ADMIN ON *.* TO `mig`@`%`", "GRANT SELECT ON `mysql`.* TO `mig`@`%`"]
    );
    pair.target.sql("GRANT CREATE USER, ROLE_ADMIN ON *.* TO mig@'%'; GRANT SELECT ON mysql.* TO mig@'%'").unwrap();
    let plan = planned(&settings);
    assert_eq!(plan.readiness(), Readiness::Unknown);
    let gives = plan.checks.iter().filter_map(|check| check.remedy.as_ref()).map(|remedy| remedy.action.to_string());
    let gives: Vec<_> = gives.filter(|text| text.contains("WITH GRANT OPTION")).collect();
    assert_eq!(gives.len(), 2, "{gives:?}");
    assert_eq!(gives[0], "GRANT ALL PRIVILEGES ON `shop`.* TO `mig`@`%` WITH GRANT OPTION");
    copy(&settings);
    let refused = migrate::cut_over(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&refused, Error::MissingGrant { statement, .. } if *statement == gives[0]), "{refused}");

    pair.target.sql(GIVER).unwrap();
    let plan = planned(&settings);
    assert!(account(&plan, "`app`@`%`").omitted.is_empty());
    assert_eq!(account(&plan, "`os`@`localhost`").why.as_deref(), Some("the target has no plug-in auth_socket"));
    assert_eq!(account(&plan, "`there`@`%`").action, AccountAction::Different);
    let twice = account(&plan, "`twice`@`%`");
    assert!(
        twice.omitted[0].starts_with("its second password") && twice.omitted[1].starts_with("SUPER ON *.*"),
        "{twice:?}"
    );

    // A cut-over that is refused after it has created them, and again.
    pair.target.sql("SET sql_log_bin = 0; INSERT INTO shop.ack VALUES (77)").unwrap();
    for _ in 0..2 {
        let error = migrate::cut_over(&settings, &mut |_| {}).unwrap_err();
        assert!(matches!(error, Error::Divergence(_)), "{error}");
        assert!(!logs_in(&pair.target, "local", "local"), "it is not locked");
    }
    pair.target.sql("SET sql_log_bin = 0; DELETE FROM shop.ack WHERE marker = 77").unwrap();
    // The source's accounts change until the cut-over.
    pair.source.sql("ALTER USER local@localhost IDENTIFIED BY 'newer'").unwrap();
    let mut steps = Vec::new();
    migrate::cut_over(&settings, &mut |event| {
        if let Event::Step { name } = event {
            steps.push(name);
            assert!(!logs_in(&pair.target, "local", "newer"), "it is not locked at {name}");
        }
    })
    .unwrap();
    assert_eq!(steps, ["accounts", "fenced", "drained", "verified", "switched"]);
    assert!(logs_in(&pair.target, "local", "newer") && !logs_in(&pair.target, "local", "local"));
    for name in ["app@'%'", "local@localhost", "reader", "writer", "`ö``'x`@'10.0.0.0/255.255.255.0'"] {
        is_the_same(&pair, name);
    }
    assert!(pair.target.sql("SHOW CREATE USER os@localhost").unwrap().contains("ACCOUNT LOCK"));
    assert_eq!(pair.target.sql("SHOW GRANTS FOR there@'%'").unwrap().lines().count(), 1, "it stays as it was");

    let stored = stored(&pair, &plan);
    assert!(stored.contains("created: `app`@`%`"), "{stored}");
    let hashes = "SELECT authentication_string, HEX(authentication_string) FROM mysql.user WHERE authentication_string LIKE '$A$005$%'";
    let hashes = pair.source.sql(hashes).unwrap();
    for hash in hashes.split_whitespace().filter(|text| text.len() > 30) {
        assert!(!stored.contains(hash), "a hash is stored");
    }
    migrate::finish(&settings.target, None, None::<fn(&migrate::Proof) -> Result<(), Error>>).unwrap();
    assert!(logs_in(&pair.target, "local", "newer"));
}

#[test]
fn an_abandoned_migration_leaves_no_accounts() {
    let Some(pair) = Pair::of_kinds(Kinds::MYSQL_97, 100) else { return };
    pair.source.sql("CREATE USER app@'%' IDENTIFIED BY 'x'; CREATE USER other@'%' IDENTIFIED BY 'x'").unwrap();
    pair.target.sql(GIVER).unwrap();
    let settings = with_accounts(&pair);
    copy(&settings);
    pair.target.sql("SET sql_log_bin = 0; INSERT INTO shop.ack VALUES (77)").unwrap();
    migrate::cut_over(&settings, &mut |_| {}).unwrap_err();
    // Somebody has begun to use it.
    pair.target.sql("ALTER USER other@'%' ACCOUNT UNLOCK").unwrap();
    migrate::abort(&settings.source, &settings.target, None).unwrap();
    let left = pair.target.sql("SELECT user FROM mysql.user WHERE user IN ('app', 'other')").unwrap();
    assert_eq!(left.trim(), "other");
}

#[test]
fn accounts_of_mariadb_are_ready_with_the_switch() {
    let Some(pair) = Pair::of_kinds(Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb118, gtids: true }, 200)
    else {
        return;
    };
    pair.source
        .sql(
            "CREATE ROLE reader; CREATE ROLE writer; GRANT SELECT ON shop.* TO reader; GRANT reader TO writer;
             GRANT INSERT, UPDATE (v) ON shop.pair TO writer;
             CREATE USER app@'%' IDENTIFIED BY 'it''s' REQUIRE ISSUER '/CN=it''s' SUBJECT '/CN=b'
               WITH MAX_USER_CONNECTIONS 9 MAX_STATEMENT_TIME 5 PASSWORD EXPIRE NEVER;
             GRANT reader TO app@'%'; GRANT writer TO app@'%' WITH ADMIN OPTION; SET DEFAULT ROLE writer FOR app@'%';
             GRANT RELOAD, BINLOG MONITOR ON *.* TO app@'%' WITH GRANT OPTION;
             CREATE USER local@localhost IDENTIFIED BY 'local';
             CREATE USER off@localhost IDENTIFIED VIA mysql_native_password USING PASSWORD('x') OR unix_socket ACCOUNT LOCK;",
        )
        .unwrap();
    pair.target.sql(MARIADB_GIVER).unwrap();
    let settings = with_accounts(&pair);
    let plan = planned(&settings);
    let actions: Vec<_> = plan.accounts.iter().map(|account| (account.action, account.omitted.len())).collect();
    assert!(actions.iter().all(|action| *action == (AccountAction::Create, 0)), "{:#?}", plan.accounts);
    copy(&settings);
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    assert!(logs_in(&pair.target, "local", "local"));
    for name in ["app@'%'", "local@localhost", "off@localhost", "writer@localhost"] {
        is_the_same(&pair, name);
    }
    let grants = |server: &Server| server.sql("SHOW GRANTS FOR writer").unwrap();
    assert_eq!(grants(&pair.target), grants(&pair.source));
    let stored = stored(&pair, &plan);
    let hash = pair.source.value("SELECT authentication_string FROM mysql.user WHERE user = 'app'").unwrap();
    assert!(hash.len() > 30 && !stored.contains(&hash), "a hash is stored");
}

#[test]
fn accounts_of_mariadb_are_locked_on_mysql() {
    let Some(pair) = Pair::of_kinds(Kinds { source: Kind::MariaDb1011, target: Kind::MySql97, gtids: true }, 100)
    else {
        return;
    };
    pair.source
        .sql(
            "CREATE ROLE reader; GRANT SELECT ON shop.* TO reader; CREATE USER app@'%' IDENTIFIED BY 'x' REQUIRE X509;
             GRANT reader TO app@'%'; SET DEFAULT ROLE reader FOR app@'%';
             GRANT BINLOG MONITOR, READ_ONLY ADMIN ON *.* TO app@'%'; GRANT DELETE HISTORY ON shop.* TO app@'%';",
        )
        .unwrap();
    pair.target.sql(&format!("{GIVER} GRANT REPLICATION CLIENT ON *.* TO mig@'%' WITH GRANT OPTION")).unwrap();
    let settings = with_accounts(&pair);
    let plan = planned(&settings);
    let app = account(&plan, "`app`@`%`");
    assert_eq!((app.action, app.omitted.len()), (AccountAction::CreateLocked, 2), "{app:?}");
    assert_eq!(account(&plan, "`reader`").action, AccountAction::Create);
    copy(&settings);
    // Without an administrator's session, which would keep the cut-over from beginning.
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    let app = pair.target.sql("SHOW CREATE USER app@'%'; SHOW GRANTS FOR app@'%'").unwrap();
    for part in [
        "REQUIRE X509",
        "ACCOUNT LOCK",
        "DEFAULT ROLE `reader`@`%`",
        "REPLICATION CLIENT ON *.*",
        "GRANT `reader`@`%` TO",
    ] {
        assert!(app.contains(part), "{part}: {app}");
    }
}

/// Accounts of an older MySQL, in the words of its release. Logs in with each password at the target.
fn accounts_of_an_older_mysql(source: Kind, target: Kind, create: &str) {
    let Some(pair) = Pair::of_kinds(Kinds { source, target, gtids: true }, 100) else { return };
    pair.source.sql(create).unwrap();
    pair.target.sql(GIVER).unwrap();
    let settings = with_accounts(&pair);
    let plan = planned(&settings);
    assert!(plan.accounts.iter().all(|account| account.omitted.is_empty()), "{:#?}", plan.accounts);
    let native = pair.target.sql("SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'mysql_native_password' AND plugin_status = 'ACTIVE'");
    let action = if native.unwrap().is_empty() { AccountAction::CreateLocked } else { AccountAction::Create };
    assert_eq!(account(&plan, "`old`@`%`").action, action, "{:#?}", plan.accounts);
    copy(&settings);
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    for number in 0..SALTS {
        assert!(logs_in(&pair.target, &format!("salted{number}"), &format!("secret{number}")), "salted{number}");
    }
    assert_eq!(logs_in(&pair.target, "old", "old"), action == AccountAction::Create);
    let app = pair.target.sql("SHOW CREATE USER app@'%'; SHOW GRANTS FOR app@'%'").unwrap();
    for part in [
        "REQUIRE X509",
        "MAX_USER_CONNECTIONS 9",
        "ACCOUNT LOCK",
        "SELECT (`a`)",
        "INSERT ON `shop`.`pair`",
        "RELOAD ON *.*",
    ] {
        assert!(app.contains(part), "{part}: {app}");
    }
}

/// Passwords with other salts, so that some have quotes and backslashes.
const SALTS: usize = 12;

fn older_accounts(plugin: &str) -> String {
    let salted = (0..SALTS)
        .map(|number| format!("CREATE USER salted{number}@localhost IDENTIFIED WITH {plugin} BY 'secret{number}';"));
    let salted: String = salted.collect();
    format!(
        "{salted} CREATE USER old@'%' IDENTIFIED WITH mysql_native_password BY 'old';
         CREATE USER app@'%' IDENTIFIED WITH {plugin} BY 'x' REQUIRE X509 WITH MAX_USER_CONNECTIONS 9 ACCOUNT LOCK;
         GRANT INSERT, SELECT (a) ON shop.pair TO app@'%'; GRANT RELOAD ON *.* TO app@'%';"
    )
}

#[test]
#[ignore = "other servers: make soak"]
fn accounts_of_mysql_5_7_are_ready_with_the_switch() {
    accounts_of_an_older_mysql(Kind::MySql57, Kind::MySql80, &older_accounts("sha256_password"));
}

#[test]
#[ignore = "other servers: make soak"]
fn accounts_of_mysql_8_0_are_ready_with_the_switch() {
    accounts_of_an_older_mysql(Kind::MySql80, Kind::MySql97, &older_accounts("caching_sha2_password"));
}
