//! The catalogues of real servers: read, created at another server, compared.

#![allow(clippy::unwrap_used, reason = "tests")]

use harness::{KeyringLocation, Kind, Server, require};
use migrate::{
    Error,
    catalog::{self, Catalog, Creation, Filter, Table},
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

/// What does not depend on the server's version.
fn is_described(found: &Catalog) {
    let names: Vec<String> = found.tables.iter().map(Table::label).collect();
    assert_eq!(names, ["shop.customers", "shop.log", "shop.orders", "shop.parts", "we`ird-schema.a b-#ü"]);
    let identity = |name| table(found, "shop", name).identity.as_ref();
    let whole = identity("orders").unwrap();
    assert_eq!((whole.index.as_str(), whole.columns.as_slice(), whole.comparable), ("whole", [0, 1].as_slice(), true));
    assert_eq!(identity("customers").unwrap().index, "PRIMARY");
    assert_eq!(identity("log"), None);
    let opaque = table(found, "we`ird-schema", "a b-#ü").identity.as_ref().unwrap();
    assert!(!opaque.comparable, "the order of words is the server's");

    let orders = table(found, "shop", "orders");
    let column = |name: &str| orders.columns.iter().find(|column| column.name == name).unwrap();
    assert!(column("vat").generated && !column("total").generated);
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
    let created = catalog::create(&mut connect(&target), &expected, Creation { encrypt: true }).unwrap();
    assert_eq!(catalog::differences(&expected, &created), []);
    for table in &created.tables {
        assert_eq!(table.encrypted, table.is_innodb(), "{}", table.label());
    }
    assert!(created.schemas.iter().all(|schema| schema.encrypted == Some(true)));
    // What exists is left as it is, and compared.
    catalog::create(&mut connect(&target), &expected, Creation { encrypt: true }).unwrap();
    target.sql("ALTER TABLE shop.customers DROP INDEX mail; ALTER TABLE shop.parts ENCRYPTION='N'").unwrap();
    let error = catalog::create(&mut connect(&target), &expected, Creation { encrypt: true }).unwrap_err();
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
    let created = catalog::create(&mut connect(&target), &read(&source), Creation { encrypt: false }).unwrap();
    assert!(!table(&created, "s", "clear").encrypted);
    assert!(table(&created, "s", "sealed").encrypted);
}
