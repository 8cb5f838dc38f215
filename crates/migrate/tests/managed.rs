//! Migrations from and to managed services, as far as local servers can be made like them: the migration's accounts have
//! the privileges that the plan asks for and the service's administrator gives, and no others.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{collections::HashSet, sync::atomic::Ordering, time::Duration};

use harness::{
    KeyringLocation, Kind, Server,
    certs::{Authority, Profile},
    limit, wait_until,
};
use jiff::Timestamp;
use migrate::{
    Attestation, Error, Fencing, LastingFence, Preparation, ProofVerdict, Settings, Side,
    catalog::{Encrypt, Filter},
    plan::{CheckState, Plan, Readiness, plan},
    preflight::Request,
};
use server::{Account, Connection, Password, Target};
use support::{Kinds, MARIADB_KEY, Pair, fill, root, schema, shop, writer, writers::Writers};

const ROWS: u32 = 600;
const WRITER: &str = "CREATE USER writer@localhost IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO writer@localhost;";
/// Who may not do what, on any of the services: `ER_ACCESS_DENIED_ERROR`, `ER_SPECIFIC_ACCESS_DENIED_ERROR`, and on a
/// table or schema `ER_TABLEACCESS_DENIED_ERROR`, `ER_DBACCESS_DENIED_ERROR`.
const DENIED: [u16; 4] = [1045, 1227, 1142, 1044];

/// One end of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A server of one's own, with a keyring.
    Own(Kind),
    Rds80,
    Rds84,
    Aurora3,
    RdsMariaDb,
    Azure,
    CloudSql,
}

impl End {
    const fn kind(self) -> Kind {
        match self {
            Self::Own(kind) => kind,
            Self::Rds80 => Kind::MySql80,
            Self::RdsMariaDb => Kind::MariaDb1011,
            // The newest of which every machine has one.
            Self::Rds84 | Self::Aurora3 | Self::Azure | Self::CloudSql => Kind::MySql97,
        }
    }

    /// The statements that make a server like the service.
    const fn fixture(self) -> &'static str {
        match self {
            Self::Own(_) => "",
            Self::Rds80 => include_str!("fixtures/managed/rds-8.0.sql"),
            Self::Rds84 => include_str!("fixtures/managed/rds-8.4.sql"),
            Self::Aurora3 => include_str!("fixtures/managed/aurora-3.sql"),
            Self::RdsMariaDb => include_str!("fixtures/managed/rds-mariadb.sql"),
            Self::Azure => include_str!("fixtures/managed/azure.sql"),
            Self::CloudSql => include_str!("fixtures/managed/cloudsql.sql"),
        }
    }

    const fn is_managed(self) -> bool {
        !matches!(self, Self::Own(_))
    }

    /// The server, without tables.
    fn start(self, name: &str, authority: &Authority) -> Server {
        let files = authority.issue(name, &Profile::default()).unwrap();
        let mut builder = Server::builder(self.kind()).tls(&files).options([
            "--log-bin=binlog",
            "--binlog-format=ROW",
            "--max-allowed-packet=64M",
            "--max-connections=200",
        ]);
        builder = match self {
            Self::Own(kind) if kind.is_mariadb() => {
                builder.mariadb_keys(MARIADB_KEY).options(["--encrypt-binlog=ON", "--innodb-encrypt-log=ON"])
            }
            Self::Own(_) => builder.keyring(KeyringLocation::Beside).options([
                "--binlog-encryption=ON",
                "--gtid-mode=ON",
                "--enforce-gtid-consistency=ON",
            ]),
            Self::RdsMariaDb => builder,
            // The default of its parameter groups.
            Self::Rds80 | Self::Rds84 => builder.option("--gtid-mode=OFF_PERMISSIVE"),
            Self::Aurora3 => builder.option("--gtid-mode=OFF"),
            Self::Azure => builder.option("--gtid-mode=OFF").init_option("--lower-case-table-names=1"),
            Self::CloudSql => builder.options(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]),
        };
        let server = builder.start().unwrap();
        server.sql(self.fixture()).unwrap();
        server
    }

    /// A session of the administrator, who makes the account of the migration if nobody else has.
    fn administrator(self, server: &Server, pair: &Pair) -> Connection {
        let mut administrator = if self.is_managed() { log_in("admin", server, pair) } else { root(server) };
        if self.is_managed() {
            self.withholds(&mut administrator);
        }
        if self != Self::CloudSql {
            administrator.query("CREATE USER mig@'%' IDENTIFIED BY 'secret' REQUIRE SSL").unwrap();
        }
        administrator
    }

    /// What no service permits its administrator.
    fn withholds(self, administrator: &mut Connection) {
        let mut denied =
            vec!["FLUSH TABLES WITH READ LOCK", "SET GLOBAL read_only = 1", "SET GLOBAL event_scheduler = OFF"];
        if self != Self::Azure {
            denied.push("SET SESSION sql_log_bin = 0");
        }
        if self == Self::RdsMariaDb {
            denied.push("BACKUP STAGE START");
        } else {
            denied.extend([
                "SET GLOBAL super_read_only = 1",
                "LOCK INSTANCE FOR BACKUP",
                "UPDATE mysql.user SET account_locked = 'N' WHERE user = 'admin'",
            ]);
        }
        for statement in denied {
            match administrator.query(statement) {
                Err(server::Error::Server { code, .. }) if DENIED.contains(&code) => {}
                other => panic!("{self:?}: {statement}: {other:?}"),
            }
        }
    }
}

fn log_in(user: &str, server: &Server, pair: &Pair) -> Connection {
    let mut options = server::Options { changes: true, ..Default::default() };
    options.password = Some(Password::new(b"secret".to_vec()));
    options.tls.ca_file = Some(pair.ca.clone());
    let target: Target = format!("mysql://{user}@127.0.0.1:{}", server.port()).parse().unwrap();
    Connection::open(&target, &options).unwrap()
}

/// A migration whose tables exist at the target.
struct Migration {
    pair: Pair,
    settings: Settings,
    /// At the source and at the target.
    administrators: [Connection; 2],
    plan: Plan,
}

impl Migration {
    /// `None` if a server is not installed.
    fn prepare(source: End, target: End, encrypt: Encrypt) -> Option<Self> {
        for end in [source, target] {
            harness::require(end.kind())?;
        }
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::create(directory.path()).unwrap();
        let servers = (source.start("source", &authority), target.start("target", &authority));
        let pair = Pair::of_servers(servers.0, servers.1, &authority, directory);
        let kinds = Kinds { source: source.kind(), target: target.kind(), gtids: true };
        let encrypted = match (source.is_managed(), source.kind().is_mariadb()) {
            (true, _) => "",
            (false, true) => "ENCRYPTED=YES",
            (false, false) => "ENCRYPTION='Y'",
        };
        let tables = schema(kinds).replace("ENCRYPTION='Y'", encrypted);
        pair.source.sql(&format!("{tables}{WRITER}{}", fill(ROWS, kinds))).unwrap();
        let mut administrators = [source.administrator(&pair.source, &pair), target.administrator(&pair.target, &pair)];
        let attestation = (encrypt == Encrypt::Storage).then(|| attestation(&pair.target));
        // Without the name of a schema: what is revoked for the schema mysql must not matter.
        let filter = if kinds.source.is_mariadb() { shop().filter } else { Filter::default() };
        let request = Request { filter, encrypt, attestation, ..Request::default() };
        let plan = granted(&pair, &request, &mut administrators);
        let addresses = pair.addresses();
        let (of_source, of_target) = (addresses.server(Side::Source), addresses.server(Side::Target));
        let prepared = migrate::prepare(of_source, of_target, request, |_| Ok::<(), Error>(())).unwrap();
        let mut settings = match prepared {
            Preparation::Ready(settings) => *settings,
            Preparation::Refused(plan) => panic!("{:#?}", findings(&plan)),
        };
        settings.chunk_bytes = 96 << 10;
        // On a busy machine the limit of 10 s is too short.
        settings.max_blocked = Duration::from_secs(60);
        Some(Self { pair, settings, administrators, plan })
    }

    /// Lets the administrator of the source give what the plan asks for a fence.
    fn allow(&mut self, fence: &str) {
        let fence = self.plan.fences.iter().find(|it| it.name == fence).unwrap();
        for statement in &fence.missing {
            let given = self.administrators[0].query(statement);
            given.unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }

    /// Copies, follows and compares under writers, and switches with the fence `accounts`, which the writers meet.
    fn switch_by_accounts(mut self) {
        self.allow("accounts");
        let Ok(name) = "writer@localhost".parse::<Account>();
        self.settings.fencing = Fencing { lock_tables: false, lasting: Some(LastingFence::Accounts(vec![name])) };
        let writers = self.run();
        migrate::cut_over(&self.settings, &mut |_| {}).unwrap();
        let acknowledged = writers.stop();
        self.pair.assert_equal();
        self.nothing_is_lost(&acknowledged);
        self.finish();
    }

    /// The same with locked tables, once the writers have ended: the service has no other fence.
    fn switch_by_locks(mut self) {
        let acknowledged = self.run().stop();
        let error = migrate::cut_over(&self.settings, &mut |_| {}).unwrap_err();
        assert!(matches!(error, Error::MissingGrant { .. }), "{error}");
        assert!(error.hint().unwrap().contains("take --fence lock-tables, accounts or external"), "{:?}", error.hint());
        self.allow("external");
        self.settings.fencing = Fencing { lock_tables: true, lasting: Some(LastingFence::External(None)) };
        migrate::cut_over(&self.settings, &mut |_| {}).unwrap();
        self.pair.assert_equal();
        self.nothing_is_lost(&acknowledged);
        self.finish();
    }

    /// A run under writers, up to the comparison.
    fn run(&self) -> Writers {
        let writers = Writers::with(vec![writer(&self.pair.source), writer(&self.pair.source)], 0, ROWS.into());
        wait_until("they write", limit(60), || writers.acknowledged.load(Ordering::Relaxed) > 40);
        migrate::run(&self.settings, &mut |_| {}).unwrap();
        writers
    }

    fn nothing_is_lost(&self, acknowledged: &[u64]) {
        let stored = self.pair.target.sql("SELECT marker FROM shop.ack").unwrap();
        let stored: HashSet<u64> = stored.lines().map(|line| line.parse().unwrap()).collect();
        assert!(acknowledged.len() > 3, "{}", acknowledged.len());
        assert!(acknowledged.iter().all(|marker| stored.contains(marker)), "an acknowledged row is lost");
    }

    fn finish(&self) {
        let proven = |proof: &migrate::Proof| {
            assert_eq!(proof.verdict(), ProofVerdict::Proven);
            Ok::<(), Error>(())
        };
        migrate::finish(&self.settings.target, None, Some(proven)).unwrap();
    }
}

/// What Amazon's interface would say about a server.
fn attestation(server: &Server) -> Attestation {
    let document = format!(
        r#"{{"DBInstances": [{{"Endpoint": {{"Address": "127.0.0.1", "Port": {}}}, "StorageEncrypted": true}}]}}"#,
        server.port()
    );
    // The tests have no server of the service's name.
    Attestation::parse(document.as_bytes(), "db2.json".to_owned(), Timestamp::now(), |_| true).unwrap()
}

/// The plan after both administrators have given what it asks for.
fn granted(pair: &Pair, request: &Request, administrators: &mut [Connection; 2]) -> Plan {
    let addresses = pair.addresses();
    let (source, target) = (addresses.server(Side::Source), addresses.server(Side::Target));
    // The schemas at the target are known only once the source can be read.
    for _ in 0..3 {
        let plan = plan(&source, &target, request.clone()).unwrap();
        if plan.readiness() != Readiness::Unknown {
            assert_eq!(plan.readiness(), Readiness::Ready, "{:#?}", findings(&plan));
            return plan;
        }
        for grant in plan.grants.iter().filter(|grant| !grant.held) {
            let administrator = &mut administrators[usize::from(grant.side == Side::Target)];
            let given = administrator.query(&grant.statement);
            given.unwrap_or_else(|error| panic!("{}: {error}", grant.statement));
        }
    }
    panic!("{:#?}", findings(&plan(&source, &target, request.clone()).unwrap()));
}

fn findings(plan: &Plan) -> Vec<String> {
    let found = plan.checks.iter().filter(|check| matches!(check.result, CheckState::Found | CheckState::Unknown));
    found.map(|check| format!("{}: {} {}", check.id, check.object, check.evidence)).collect()
}

#[test]
fn rds_to_azure() {
    let Some(migration) = Migration::prepare(End::Rds84, End::Azure, Encrypt::AsSource) else { return };
    let kept = migration.plan.checks.iter().find(|check| check.id == "log.retention").unwrap();
    assert!(kept.remedy.as_ref().unwrap().action.to_string().contains("rds_set_configuration"), "{kept:?}");
    let tables = migration.plan.checks.iter().find(|check| check.id == "encryption.tables").unwrap();
    assert!(tables.result == CheckState::Found && tables.evidence.contains("storage that the service"), "{tables:?}");
    migration.switch_by_accounts();
}

#[test]
fn an_encrypted_server_to_rds() {
    let own = End::Own(Kind::MySql97);
    let Some(migration) = Migration::prepare(own, End::Rds84, Encrypt::Storage) else { return };
    // Every verb needs the evidence.
    let unattested = Settings { attestation: None, ..migration.settings.clone() };
    let error = migrate::run(&unattested, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::LessEncrypted { check: "encryption.storage", .. }), "{error}");
    // Nor does another option let rows of encrypted tables into clear ones.
    let clear = Settings { encrypt: Encrypt::AsSource, ..migration.settings.clone() };
    let error = migrate::run(&clear, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Structure { .. }), "{error}");
    migration.switch_by_locks();
}

#[test]
fn rds_for_mariadb_to_an_encrypted_server() {
    let own = End::Own(Kind::MariaDb1011);
    let Some(migration) = Migration::prepare(End::RdsMariaDb, own, Encrypt::All) else { return };
    migration.switch_by_accounts();
}

/// The administrator cannot give privileges: the account is as the service makes it.
#[test]
fn cloud_sql_to_aurora() {
    let Some(migration) = Migration::prepare(End::CloudSql, End::Aurora3, Encrypt::AsSource) else { return };
    let read_only = migration.plan.fences.iter().find(|fence| fence.name == "read-only").unwrap();
    assert!(read_only.lacks.contains("managed services do not permit it") && !read_only.missing.is_empty());
    migration.switch_by_locks();
}

#[test]
#[ignore = "more pairs of the same: make soak"]
fn azure_to_cloud_sql() {
    let Some(migration) = Migration::prepare(End::Azure, End::CloudSql, Encrypt::AsSource) else { return };
    migration.switch_by_accounts();
}

#[test]
#[ignore = "more pairs of the same: make soak"]
fn aurora_to_rds() {
    let Some(migration) = Migration::prepare(End::Aurora3, End::Rds84, Encrypt::AsSource) else { return };
    migration.switch_by_accounts();
}

#[test]
#[ignore = "more pairs of the same: make soak"]
fn rds_8_0_to_rds_8_4() {
    let Some(migration) = Migration::prepare(End::Rds80, End::Rds84, Encrypt::AsSource) else { return };
    migration.switch_by_accounts();
}

#[test]
#[ignore = "more pairs of the same: make soak"]
fn an_encrypted_server_to_rds_for_mariadb() {
    let own = End::Own(Kind::MariaDb1011);
    let Some(migration) = Migration::prepare(own, End::RdsMariaDb, Encrypt::Storage) else { return };
    migration.switch_by_locks();
}
