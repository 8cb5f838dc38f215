//! Two real servers, tables of many types, writers, and a comparison that shares no code with the product's.

#![allow(dead_code, reason = "each test program uses its part")]

pub(crate) mod types;
pub(crate) mod writers;

use std::path::PathBuf;

use harness::{
    KeyringLocation, Kind, Server,
    certs::{Authority, Profile},
};
use migrate::{
    Accept, Settings, Side,
    catalog::{Encrypt, Filter},
    preflight::Request,
};
use server::{Connection, Password, Target, tls::TlsVersion};

const SCHEMA: &str = "CREATE DATABASE shop; USE shop;
CREATE TABLE item (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) CHARACTER SET utf8mb4, price DECIMAL(10,2),
  f FLOAT, d DOUBLE, note TEXT CHARACTER SET utf16, at DATETIME(6), flags SET('a','b','c'), kind ENUM('x','y','z'),
  data VARBINARY(200), doc JSON, seen TIMESTAMP(3) NULL, b BIT(12), y YEAR, t TIME(2), day DATE, c CHAR(9), p POINT,
  doubled DOUBLE AS (d * 2) STORED, KEY (name), KEY (at)) ENCRYPTION='Y';
CREATE TABLE pair (a INT NOT NULL, k VARBINARY(16) NOT NULL, v VARCHAR(20), u INT, PRIMARY KEY (a, k), UNIQUE (u)) ENCRYPTION='Y';
CREATE TABLE wide (day DATE NOT NULL, n DECIMAL(6,2) NOT NULL, body LONGBLOB, UNIQUE KEY byday (day, n)) ENCRYPTION='Y';
CREATE TABLE word (w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  l CHAR(4) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL, n BIGINT, PRIMARY KEY (w, l)) ENCRYPTION='Y';
CREATE TABLE label (l VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL,
  c CHAR(9) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL, w VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL, n BIGINT,
  PRIMARY KEY (c, l, w)) DEFAULT CHARSET=utf8mb4 ENCRYPTION='Y';
CREATE TABLE entry (n BIGINT, t VARCHAR(30) CHARACTER SET utf8mb4, f FLOAT, doc JSON, b BINARY(6), at DATETIME(3), KEY (n)) ENCRYPTION='Y';
CREATE TABLE grade (e ENUM('x','y','z') NOT NULL, d DOUBLE NOT NULL, v VARCHAR(20) CHARACTER SET latin1, PRIMARY KEY (e, d)) ENCRYPTION='Y';
CREATE TABLE bill (id INT NOT NULL PRIMARY KEY, v VARCHAR(20)) ENCRYPTION='Y';
CREATE TABLE bill_line (id BIGINT AUTO_INCREMENT PRIMARY KEY, bill INT NOT NULL, v BIGINT,
  FOREIGN KEY (bill) REFERENCES bill (id) ON DELETE CASCADE ON UPDATE CASCADE) ENCRYPTION='Y';
CREATE TABLE part (n BIGINT, line BIGINT, FOREIGN KEY (line) REFERENCES bill_line (id) ON DELETE SET NULL) ENCRYPTION='Y';
CREATE TABLE ack (marker BIGINT PRIMARY KEY) ENCRYPTION='Y';";

/// The tables of a pair of servers.
pub(crate) fn schema(kinds: Kinds) -> String {
    let is_mysql_8 = |kind: Kind| !kind.is_mariadb() && kind != Kind::MySql57;
    if kinds.source.is_mariadb() != kinds.target.is_mariadb() {
        // Another fork may order texts otherwise, and compute another value.
        let schema = ["_unicode_ci", "_swedish_ci", "_general_ci"]
            .iter()
            .fold(SCHEMA.to_owned(), |schema, suffix| schema.replace(suffix, "_bin"));
        schema.replace("DOUBLE AS (d * 2) STORED", "DOUBLE")
    } else if is_mysql_8(kinds.source) && is_mysql_8(kinds.target) {
        SCHEMA.replace("_unicode_ci", "_0900_ai_ci")
    } else {
        SCHEMA.to_owned()
    }
}

/// The privileges that a migration needs on MariaDB. Its administrator can write in spite of `read_only`, so the writers
/// have an account of their own.
const MARIADB_SOURCE_GRANTS: &str = "CREATE USER mig@'%' IDENTIFIED BY 'secret' REQUIRE SSL;
GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, LOCK TABLES, REPLICATION SLAVE, BINLOG MONITOR, PROCESS, READ_ONLY ADMIN ON *.* TO mig@'%';
CREATE USER writer@localhost IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO writer@localhost;";
const MARIADB_TARGET_GRANTS: &str = "CREATE USER mig@'%' IDENTIFIED BY 'secret' REQUIRE SSL;
GRANT ALL ON shop.* TO mig@'%'; GRANT ALL ON `\\_sealant`.* TO mig@'%';
GRANT REPLICATION SLAVE, BINLOG MONITOR, PROCESS ON *.* TO mig@'%';";
pub(crate) const MARIADB_KEY: &str = "1;0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

const SOURCE_GRANTS: &str = "CREATE USER mig@'%' IDENTIFIED BY 'secret';
GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, LOCK TABLES, REPLICATION SLAVE, REPLICATION CLIENT, PROCESS ON *.* TO mig@'%';";
/// Privileges for the cut-over.
const FENCE_GRANTS: &str = "GRANT SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN ON *.* TO mig@'%';";
/// MySQL 5.7 has no privileges for single settings.
const FENCE_GRANTS_57: &str = "GRANT SUPER ON *.* TO mig@'%';";

const TARGET_GRANTS: &str = "CREATE USER mig@'%' IDENTIFIED BY 'secret' REQUIRE SSL;
GRANT ALL ON shop.* TO mig@'%'; GRANT ALL ON `\\_sealant`.* TO mig@'%';
GRANT REPLICATION CLIENT, PROCESS ON *.* TO mig@'%'; SET GLOBAL local_infile = ON;";
/// To keep the default collation of MySQL 5.7.
const SESSION_GRANT: &str = "GRANT SESSION_VARIABLES_ADMIN ON *.* TO mig@'%'";

/// Statements that print the rows of each table as text, without any conversion that could hide a difference.
const DUMPS: [&str; 11] = [
    "SELECT id, HEX(name), price, f*1E0, d, HEX(note), at, flags+0, kind+0, HEX(data), HEX(doc), seen, b+0, y, t, day, HEX(c), \
     HEX(ST_AsWKB(p)), doubled FROM shop.item ORDER BY id",
    "SELECT a, HEX(k), HEX(v), u FROM shop.pair ORDER BY a, k",
    "SELECT day, n, SHA2(body, 512), LENGTH(body) FROM shop.wide ORDER BY day, n",
    "SELECT HEX(w), HEX(l), n FROM shop.word ORDER BY w, l",
    "SELECT HEX(l), HEX(c), HEX(w), n FROM shop.label ORDER BY c, l, w",
    "SELECT n, HEX(t), f*1E0, HEX(doc), HEX(b), at FROM shop.entry ORDER BY 1, 2, 3, 4, 5, 6",
    "SELECT e+0, HEX(POINT(d, 0)), HEX(v) FROM shop.grade ORDER BY 1, 2",
    "SELECT id, v FROM shop.bill ORDER BY id",
    "SELECT id, bill, v FROM shop.bill_line ORDER BY id",
    "SELECT n, line FROM shop.part ORDER BY n, line",
    "SELECT marker FROM shop.ack ORDER BY marker",
];

/// A request for the tables of the tests, all of them encrypted.
pub(crate) fn shop() -> Request {
    let filter = Filter { schemas: vec!["shop".to_owned()], ..Filter::default() };
    Request { filter, encrypt: Encrypt::All, ..Request::default() }
}

/// Where both servers are, for another process.
pub(crate) struct Addresses {
    /// A port, or the path of a socket. MySQL 5.7 uses a socket, because it is built with a TLS that is too old for any
    /// link.
    pub(crate) source: String,
    pub(crate) target: String,
    pub(crate) ca: PathBuf,
}

/// The servers of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kinds {
    pub(crate) source: Kind,
    pub(crate) target: Kind,
    /// Whether the source's transactions have GTIDs, which those of MariaDB always have.
    pub(crate) gtids: bool,
}

impl Kinds {
    pub(crate) const MYSQL_97: Self = Self { source: Kind::MySql97, target: Kind::MySql97, gtids: true };
}

pub(crate) struct Pair {
    pub(crate) source: Server,
    pub(crate) target: Server,
    pub(crate) ca: PathBuf,
    _directory: tempfile::TempDir,
}

fn start(name: &str, kind: Kind, gtids: bool, authority: &Authority) -> Server {
    let files = authority.issue(name, &Profile::default()).unwrap();
    let builder =
        Server::builder(kind).options(["--log-bin=binlog", "--max-allowed-packet=64M", "--max-connections=200"]);
    if kind.is_mariadb() {
        let builder = builder.mariadb_keys(MARIADB_KEY).tls(&files).options([
            "--server-id=7",
            "--encrypt-binlog=ON",
            "--innodb-encrypt-log=ON",
        ]);
        // Only a source has to log rows. MariaDB's default is MIXED.
        let format = if name == "source" { "ROW" } else { "MIXED" };
        return builder.option(format!("--binlog-format={format}")).start().unwrap();
    }
    let mut builder = builder.keyring(KeyringLocation::Beside);
    builder = builder.options(match gtids {
        true => ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"],
        false => ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"],
    });
    if kind != Kind::MySql57 {
        builder = builder.tls(&files).options(["--binlog-encryption=ON", "--innodb-redo-log-capacity=64M"]);
    }
    builder.start().unwrap()
}

impl Pair {
    /// Two servers of MySQL 9.7 with the same empty tables; those of the source have rows.
    pub(crate) fn start(rows: u32) -> Option<Self> {
        let pair = Self::of_kinds(Kinds::MYSQL_97, rows)?;
        pair.target.sql(&schema(Kinds::MYSQL_97)).unwrap();
        Some(pair)
    }

    /// A source whose tables have rows, and an empty target.
    pub(crate) fn of_kinds(kinds: Kinds, rows: u32) -> Option<Self> {
        harness::require(kinds.source)?;
        harness::require(kinds.target)?;
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::create(directory.path()).unwrap();
        let source = start("source", kinds.source, kinds.gtids, &authority);
        let target = start("target", kinds.target, true, &authority);
        let filled = fill(rows, kinds);
        if kinds.source.is_mariadb() {
            let schema = schema(kinds).replace("ENCRYPTION='Y'", "ENCRYPTED=YES");
            source.sql(&format!("{MARIADB_SOURCE_GRANTS}{schema}{filled}")).unwrap();
        } else {
            let fence = if kinds.source == Kind::MySql57 { FENCE_GRANTS_57 } else { FENCE_GRANTS };
            source.sql(&format!("{SOURCE_GRANTS}{fence}{}{filled}", schema(kinds))).unwrap();
        }
        if kinds.source.is_mariadb() && !kinds.target.is_mariadb() {
            target.sql("SET GLOBAL innodb_redo_log_encrypt = ON").unwrap();
        }
        target.sql(if kinds.target.is_mariadb() { MARIADB_TARGET_GRANTS } else { TARGET_GRANTS }).unwrap();
        if kinds.source == Kind::MySql57 {
            target.sql(SESSION_GRANT).unwrap();
        }
        Some(Self::of_servers(source, target, &authority, directory))
    }

    /// These servers, whose certificates are of an authority with this directory.
    pub(crate) fn of_servers(
        source: Server,
        target: Server,
        authority: &Authority,
        directory: tempfile::TempDir,
    ) -> Self {
        Self { source, target, ca: authority.certificate(), _directory: directory }
    }

    pub(crate) fn addresses(&self) -> Addresses {
        let of = |server: &Server| match server.kind() {
            Kind::MySql57 => server.socket().display().to_string(),
            _ => server.port().to_string(),
        };
        Addresses { source: of(&self.source), target: of(&self.target), ca: self.ca.clone() }
    }

    /// Compares every row of both servers.
    pub(crate) fn assert_equal(&self) {
        for dump in DUMPS {
            let (source, target) = (self.source.sql(dump).unwrap(), self.target.sql(dump).unwrap());
            let (source, target): (Vec<_>, Vec<_>) = (source.lines().collect(), target.lines().collect());
            let differ = source.iter().zip(&target).find(|(one, other)| one != other);
            assert_eq!(differ, None, "{dump}");
            assert_eq!(source.len(), target.len(), "{dump}");
        }
    }

    pub(crate) fn root(&self) -> Connection {
        root(&self.source)
    }

    /// A client that writes to the source.
    pub(crate) fn client(&self) -> Connection {
        if !self.source.kind().is_mariadb() {
            return root(&self.source);
        }
        writer(&self.source)
    }
}

/// A connection of the account `writer`, which cannot write to a server that is read-only.
pub(crate) fn writer(server: &Server) -> Connection {
    let password = Some(Password::new(b"secret".to_vec()));
    let target = Target { user: "writer".to_owned(), ..root_target(server) };
    Connection::open(&target, &server::Options { changes: true, password, ..Default::default() }).unwrap()
}

pub(crate) fn root(server: &Server) -> Connection {
    Connection::open(&root_target(server), &server::Options { changes: true, ..Default::default() }).unwrap()
}

/// The server as a migration with the administrator's account uses it.
pub(crate) fn as_root((side, server): (Side, &Server)) -> migrate::Server {
    let accept = Accept { any_name: false, unverified: false, min_tls: TlsVersion::Tls13 };
    migrate::Server::new(side, root_target(server), server::Options::default(), accept).unwrap()
}

fn root_target(server: &Server) -> Target {
    Target { endpoint: server::Endpoint::Socket(server.socket().to_owned()), user: "root".to_owned() }
}

pub(crate) fn fill(rows: u32, kinds: Kinds) -> String {
    // MySQL 5.7 has no recursive queries.
    let numbers: Vec<String> = (1..=rows).map(|number| format!("({number})")).collect();
    let few = rows / 100 + 8;
    // MySQL 8.0 reads some fractions in JSON as the next larger or smaller number.
    let number = if kinds.target == Kind::MySql80 { "i" } else { "i / 3e0" };
    format!(
        "SET NAMES utf8mb4; CREATE TEMPORARY TABLE n (i INT PRIMARY KEY); INSERT INTO n VALUES {};
         INSERT INTO item (name, price, f, d, note, at, flags, kind, data, doc, seen, b, y, t, day, c, p)
         SELECT CONCAT('näme \\t', i), i / 7, i / 3, IF(i % 5 = 0, NULL, PI() / i), REPEAT(CHAR(65 + i % 26), i % 90),
           FROM_UNIXTIME(1500000000 + i * 7.123457), i % 8, 1 + i % 3, UNHEX(LEFT(SHA2(i, 256), 32)),
           JSON_OBJECT('k', i, 'l', JSON_ARRAY({number}, NULL, 'é\"\\\\')), FROM_UNIXTIME(1600000000 + i / 1000), i % 4096,
           1901 + i % 200, SEC_TO_TIME(-i % 100000), '2000-02-28' + INTERVAL i % 9000 DAY, CONCAT(' c', i), POINT(i / 3, -i) FROM n;
         INSERT INTO pair SELECT i % 97 - 48, UNHEX(LEFT(SHA2(i, 256), 32)), IF(i % 3 = 0, NULL, CONCAT('v', i)), i FROM n;
         INSERT IGNORE INTO word SELECT {word}, LEFT(SHA2(i, 256), 1), i FROM n;
         INSERT IGNORE INTO label SELECT {word}, SUBSTR('aAbBäÄ\t  ', 1 + i % 9, 1), CONCAT(REVERSE({word}), i), i FROM n;
         INSERT INTO wide SELECT '2020-01-01' + INTERVAL i % 13 DAY, (i - 20) / 4, REPEAT(UNHEX(SHA2(i, 512)), 1 + i * 37 % 1500)
           FROM n WHERE i <= {few};
         INSERT INTO wide VALUES ('1999-01-01', 0, 'planted');
         INSERT INTO entry SELECT i % 300, {word}, i % 50 / 3, JSON_OBJECT('i', i % 7, 'l', '\\'\\\\'), LEFT(CONCAT(i % 90, 'x'), 2),
           '2020-01-01' + INTERVAL i % 11 * 1001000 MICROSECOND FROM n;
         INSERT INTO entry SELECT NULL, t, NULL, doc, b, NULL FROM entry WHERE n < 9;
         INSERT INTO bill SELECT i, CONCAT('b', i) FROM n WHERE i <= {few};
         INSERT INTO bill_line (bill, v) SELECT 1 + i % LEAST({few}, {rows}), i FROM n;
         INSERT INTO part SELECT v % 90, id FROM bill_line WHERE v % 3 = 0;
         INSERT INTO grade SELECT 1 + i % 3, i / 7, CONCAT('v', i) FROM n WHERE i <= {few};",
        numbers.join(","),
        word = word("i")
    )
}

/// A text of a number, as an expression: of letters that some collations do not tell apart, and of tabs and spaces, which may
/// not count at the end.
pub(crate) fn word(number: impl std::fmt::Display) -> String {
    let replaced = [("0", " "), ("1", "\\t"), ("2", "é"), ("3", "e"), ("4", "E"), ("5", "b"), ("6", "B")];
    let digits = format!("CONV({number}, 10, 7)");
    replaced.iter().fold(digits, |text, (digit, by)| format!("REPLACE({text}, '{digit}', '{by}')"))
}

/// Tells a child where the servers are: `source:target:CA`.
const ADDRESSES: &str = "SEALANT_TEST_ADDRESSES";

impl Addresses {
    /// The addresses that a child process of a test was given.
    pub(crate) fn from_environment() -> Option<Self> {
        let text = std::env::var(ADDRESSES).ok()?;
        let mut fields = text.splitn(3, ':');
        let mut address = || fields.next().unwrap().to_owned();
        let (source, target) = (address(), address());
        Some(Self { source, target, ca: fields.next().unwrap().into() })
    }

    /// Runs a test of this program in a process that can be killed.
    pub(crate) fn child(&self, test: &str) -> std::process::Child {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact"])
            .env(ADDRESSES, format!("{}:{}:{}", self.source, self.target, self.ca.display()))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Settings with small chunks, so that there are many.
    pub(crate) fn settings(&self) -> Settings {
        let (source, target) = (self.server(Side::Source), self.server(Side::Target));
        let mut settings = Settings::read(source, target, &shop()).unwrap();
        settings.chunk_bytes = 96 << 10;
        settings
    }

    pub(crate) fn server(&self, side: Side) -> migrate::Server {
        let address = if side == Side::Source { &self.source } else { &self.target };
        let mut options = server::Options { password: Some(Password::new(b"secret".to_vec())), ..Default::default() };
        let target = match address.starts_with('/') {
            true => Target { endpoint: server::Endpoint::Socket(address.clone().into()), user: "mig".to_owned() },
            false => format!("mysql://mig@127.0.0.1:{address}").parse().unwrap(),
        };
        options.tls.ca_file = Some(self.ca.clone());
        let accept = Accept { any_name: false, unverified: false, min_tls: TlsVersion::Tls13 };
        migrate::Server::new(side, target, options, accept).unwrap()
    }
}
