//! The catalogues of real servers: read, created at another server, compared.

#![allow(clippy::unwrap_used, reason = "tests")]

use harness::{KeyringLocation, Kind, Server, require};
use migrate::{
    Error,
    catalog::{self, Catalog, Encrypt, Filter, Table},
};
use server::{Connection, Endpoint, Options, Target};

const SHOP: &str = r"
    CREATE DATABASE shop CHARACTER SET latin1 COLLATE latin1_bin;
    CREATE DATABASE `we``ird-schema`;
    CREATE TABLE shop.customers (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, email VARCHAR(100) CHARACTER SET utf8mb4,
        made TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3), UNIQUE KEY mail (email)) COMMENT='ENCRYPTION=''Y''';
    CREATE TABLE shop.orders (id BIGINT NOT NULL, part INT NOT NULL, customer INT UNSIGNED, total DECIMAL(10,2) DEFAULT 0,
        vat DECIMAL(10,2) GENERATED ALWAYS AS (total / 5) VIRTUAL, hidden INT INVISIBLE,
        state ENUM('new','paid') CHARACTER SET ascii, doc LONGTEXT,
        UNIQUE KEY whole (id, part), FULLTEXT KEY words (doc), CHECK (total >= 0),
        CONSTRAINT buyer FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE);
    CREATE TABLE shop.log (t DATETIME NULL, x VARBINARY(10)) ENGINE=MyISAM;
    CREATE TABLE `we``ird-schema`.`a b-#ü` (k VARCHAR(20) CHARACTER SET utf8mb4 PRIMARY KEY COMMENT ') ENCRYPTION=''N''');
    CREATE TABLE shop.parts (d INT NOT NULL PRIMARY KEY) PARTITION BY RANGE (d)
        (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE);
    CREATE VIEW shop.names AS SELECT email FROM shop.customers;
    CREATE TRIGGER shop.before_log BEFORE INSERT ON shop.log FOR EACH ROW SET NEW.t = NOW();
    INSERT INTO shop.customers (email) VALUES ('a'), ('b');";

/// Definitions that newer versions print differently, or for which they have other defaults.
const OLD: &str = r"
    CREATE DATABASE old CHARACTER SET utf8; CREATE DATABASE mb4 CHARACTER SET utf8mb4; USE old;
    CREATE TABLE numbers (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, yes TINYINT(1) DEFAULT 1, no TINYINT(1) UNSIGNED,
        n INT(5) UNSIGNED ZEROFILL, small SMALLINT(4), big BIGINT(20) UNSIGNED DEFAULT 18446744073709551615, y YEAR(4),
        f FLOAT(7,3), d DOUBLE UNSIGNED, m DECIMAL(10,2) NOT NULL DEFAULT '0.00', b BIT(3) DEFAULT b'101') COMMENT 'it''s';
    CREATE TABLE times (at TIMESTAMP, zero TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00', d DATE DEFAULT '0000-00-00',
        dt DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), t TIME(6), n TIMESTAMP(2) NULL, KEY (dt));
    CREATE TABLE texts (k VARCHAR(50) COLLATE utf8_bin NOT NULL, u VARCHAR(20) NOT NULL DEFAULT 'CURRENT_TIMESTAMP',
        m VARCHAR(20) CHARACTER SET utf8mb4, g TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci,
        l CHAR(9) CHARACTER SET latin1, e ENUM('a','b') DEFAULT 'b', s SET('x','y'), x LONGTEXT, UNIQUE KEY (k), KEY (m(5)),
        FULLTEXT KEY words (x)) DEFAULT CHARSET=utf8mb4;
    CREATE TABLE mb4.plain (id INT PRIMARY KEY, v VARCHAR(100)) ROW_FORMAT=COMPACT;
    CREATE TABLE zip (id INT PRIMARY KEY, j JSON, two INT AS (id * 2) VIRTUAL, three INT AS (id + two) STORED)
        ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;
    CREATE TABLE places (id INT PRIMARY KEY, p POINT NOT NULL, g GEOMETRY, SPATIAL KEY (p)) STATS_PERSISTENT=0;
    CREATE TABLE child (id INT PRIMARY KEY, parent INT, CONSTRAINT up FOREIGN KEY (parent) REFERENCES numbers (id));
    CREATE TABLE parts (id INT NOT NULL, y INT NOT NULL, PRIMARY KEY (id, y)) PARTITION BY RANGE (y) SUBPARTITION BY HASH (id)
        SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE);
    CREATE TABLE secret (id INT PRIMARY KEY) ENCRYPTION='Y';";

fn connect(server: &Server) -> Connection {
    let target = Target { endpoint: Endpoint::Socket(server.socket().to_owned()), user: "root".to_owned() };
    Connection::open(&target, &Options { changes: true, ..Options::default() }).unwrap()
}

fn mysql() -> Option<Server> {
    require(Kind::MySql97)?;
    Some(Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().unwrap())
}

fn read(server: &Server) -> Catalog {
    catalog::read(&mut connect(server), &Filter::default()).unwrap()
}

fn table<'c>(catalog: &'c Catalog, schema: &str, name: &str) -> &'c Table {
    catalog.tables.iter().find(|table| table.schema == schema && table.name == name).unwrap()
}

/// Checks what does not depend on the server's version.
fn is_described(found: &Catalog) {
    let names: Vec<String> = found.tables.iter().map(Table::label).collect();
    assert_eq!(names, ["shop.customers", "shop.log", "shop.orders", "shop.parts", "we`ird-schema.a b-#ü"]);
    let identity = |name| table(found, "shop", name).identity.as_ref();
    let whole = identity("orders").unwrap();
    assert_eq!((whole.index.as_str(), whole.columns.as_slice(), whole.comparable), ("whole", [0, 1].as_slice(), true));
    assert_eq!(identity("customers").unwrap().index, "PRIMARY");
    assert_eq!(identity("log"), None);
    let words = table(found, "we`ird-schema", "a b-#ü").identity.as_ref().unwrap();
    assert!(words.comparable, "the server has sort keys");

    let orders = table(found, "shop", "orders");
    let column = |name: &str| orders.columns.iter().find(|column| column.name == name).unwrap();
    assert!(column("vat").generated && !column("total").generated);
    assert!(!column("vat").persistent && column("total").persistent);
    assert!(column("hidden").invisible && !column("total").invisible);
    assert!(column("total").nullable && !column("id").nullable);
    assert_eq!(column("state").charset.as_deref(), Some("ascii"));
    assert_eq!(column("doc").collation.as_deref(), Some("latin1_bin"));

    let [buyer] = found.foreign_keys.as_slice() else { panic!("{:?}", found.foreign_keys) };
    assert!(buyer.cascades());
    assert_eq!((buyer.parent.1.as_str(), buyer.columns.as_slice()), ("customers", ["customer".to_owned()].as_slice()));
    let code: Vec<(&str, &str)> = found.code.iter().map(|code| (code.kind.as_str(), code.name.as_str())).collect();
    assert_eq!(code, [("trigger", "before_log"), ("view", "names")]);
}

#[test]
fn a_mysql_server_is_read() {
    let Some(server) = mysql() else { return };
    server.sql(SHOP).unwrap();
    server
        .sql(
            "CREATE TABLE shop.sealed (a INT) ENCRYPTION='Y';
             CREATE TABLESPACE ts ADD DATAFILE 'ts.ibd' ENCRYPTION='Y'; CREATE TABLE shop.general (a INT) TABLESPACE ts ENCRYPTION='Y';
             CREATE TABLE shop.`in#p#it` (a INT) ENCRYPTION='Y';
             CREATE TABLE shop.half (d INT) ENCRYPTION='Y' PARTITION BY HASH (d) PARTITIONS 3",
        )
        .unwrap();
    let found = read(&server);
    let encrypted: Vec<&str> =
        found.tables.iter().filter(|table| table.encrypted).map(|table| table.name.as_str()).collect();
    assert_eq!(encrypted, ["general", "half", "in#p#it", "sealed"]);
    let filter = Filter {
        schemas: vec!["shop".to_owned()],
        exclude: ["shop.sealed", "*.general", "shop.in*", "shop.h*"]
            .map(|pattern| glob::Pattern::new(pattern).unwrap())
            .to_vec(),
        ..Filter::default()
    };
    let some = catalog::read(&mut connect(&server), &filter).unwrap();
    assert_eq!(some.tables.len(), 4);
    assert_eq!(some.schemas.len(), 1);
    server.sql("DROP TABLE shop.sealed, shop.general, shop.`in#p#it`, shop.half").unwrap();
    is_described(&read(&server));
}

#[test]
fn a_mariadb_server_is_read() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let key = "1;0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let server = Server::builder(Kind::MariaDb1011).mariadb_keys(key).start().unwrap();
    server.sql(SHOP).unwrap();
    is_described(&read(&server));
    server
        .sql(
            "CREATE TABLE shop.sealed (a INT) ENCRYPTED=YES; CREATE SEQUENCE shop.s;
             CREATE TABLE shop.`sea-led` (a INT) ENCRYPTED=YES",
        )
        .unwrap();
    let found = read(&server);
    let encrypted: Vec<&str> =
        found.tables.iter().filter(|table| table.encrypted).map(|table| table.name.as_str()).collect();
    assert_eq!(encrypted, ["sea-led", "sealed"]);
    assert_eq!(found.others, [("SEQUENCE".to_owned(), ("shop".to_owned(), "s".to_owned()))]);
}

#[test]
fn tables_are_created_encrypted_and_equal() {
    let (Some(source), Some(target)) = (mysql(), mysql()) else { return };
    source.sql(SHOP).unwrap();
    source.sql("DROP TABLE shop.log").unwrap();
    let expected = read(&source);
    let created = catalog::create(&mut connect(&target), &expected, Encrypt::All).unwrap();
    assert_eq!(catalog::differences(&expected, &created), []);
    for table in &created.tables {
        assert_eq!(table.encrypted, table.is_innodb(), "{}", table.label());
    }
    assert!(created.schemas.iter().all(|schema| schema.encrypted == Some(true)));
    // Existing tables are left as they are, and compared.
    catalog::create(&mut connect(&target), &expected, Encrypt::All).unwrap();
    target.sql("ALTER TABLE shop.customers DROP INDEX mail; ALTER TABLE shop.parts ENCRYPTION='N'").unwrap();
    let error = catalog::create(&mut connect(&target), &expected, Encrypt::All).unwrap_err();
    let Error::Structure { differences } = &error else { panic!("{error}") };
    let named: Vec<(&str, &str)> = differences.iter().map(|one| (one.table.1.as_str(), one.object.as_str())).collect();
    assert_eq!(named, [("customers", "index mail"), ("parts", "tablespace")]);
    assert_eq!(error.to_string(), "target: shop.customers index mail is missing (1 more differences)");
}

#[test]
fn what_is_clear_stays_clear_if_asked() {
    let (Some(source), Some(target)) = (mysql(), mysql()) else { return };
    source
        .sql("CREATE DATABASE s; CREATE TABLE s.clear (a INT); CREATE TABLE s.sealed (a INT) ENCRYPTION='Y'")
        .unwrap();
    let created = catalog::create(&mut connect(&target), &read(&source), Encrypt::AsSource).unwrap();
    assert!(!table(&created, "s", "clear").encrypted);
    assert!(table(&created, "s", "sealed").encrypted);
}

fn old_definitions_are_equal(target: Kind) {
    if require(Kind::MySql57).is_none() || require(target).is_none() {
        return;
    }
    let start = |kind| Server::builder(kind).keyring(KeyringLocation::Beside).start().unwrap();
    let (source, target) = (start(Kind::MySql57), start(target));
    source.sql(&format!("SET sql_mode = ''; {OLD}")).unwrap();
    let expected = read(&source);
    let encrypted: Vec<_> = expected.tables.iter().filter(|table| table.encrypted).map(Table::label).collect();
    assert_eq!(encrypted, ["old.secret"]);
    let virtual_columns: Vec<&str> = table(&expected, "old", "zip")
        .columns
        .iter()
        .filter(|column| !column.persistent)
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(virtual_columns, ["two"]);
    let created = catalog::create(&mut connect(&target), &expected, Encrypt::All);
    let created = created.unwrap_or_else(|error| panic!("{error:#?}"));
    assert!(created.tables.iter().all(|table| table.encrypted));
    // The source's default collation differs from the target's.
    target.sql("ALTER TABLE mb4.plain CONVERT TO CHARACTER SET utf8mb4").unwrap();
    let error = catalog::create(&mut connect(&target), &expected, Encrypt::All).unwrap_err();
    assert!(matches!(&error, Error::Structure { differences } if differences[0].table.1 == "plain"), "{error}");
}

#[test]
fn definitions_of_mysql_5_7_are_equal_in_8_0() {
    old_definitions_are_equal(Kind::MySql80);
}

#[test]
fn definitions_of_mysql_5_7_are_equal_in_9_7() {
    old_definitions_are_equal(Kind::MySql97);
}
