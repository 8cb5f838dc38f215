//! Many rows over real connections: bytes stay bytes, and files are sent only when a statement of ours asks.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

mod common;

use std::ops::ControlFlow;

use common::{options, root, socket, start};
use harness::Kind;
use server::{Connection, Error, Executed, LOCAL_NAME, Options, Target, TlsMode};

/// Every byte, empty values, NULL, and one value larger than a packet of the "file".
fn values() -> Vec<Option<Vec<u8>>> {
    let every: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = every.iter().copied().cycle().take(3 << 20).collect();
    vec![Some(every), None, Some(Vec::new()), Some(b"\\N\t\n".to_vec()), Some(large)]
}

/// The content of the file, by the rules of `LOAD DATA`.
fn file(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut file = Vec::new();
    for (id, value) in values.iter().enumerate() {
        file.extend_from_slice(format!("{id}\t").as_bytes());
        match value {
            None => file.extend_from_slice(b"\\N"),
            Some(value) => value.iter().for_each(|byte| match byte {
                b'\t' => file.extend_from_slice(b"\\t"),
                b'\n' => file.extend_from_slice(b"\\n"),
                b'\\' => file.extend_from_slice(b"\\\\"),
                other => file.push(*other),
            }),
        }
        file.push(b'\n');
    }
    file
}

fn load(what: &str) -> Vec<u8> {
    format!("LOAD DATA LOCAL INFILE '{what}' INTO TABLE b.t CHARACTER SET binary (id, v)").into_bytes()
}

fn rows_survive(kind: Kind) {
    let Some(server) = start(kind, |builder| builder.options(["--local-infile=ON", "--max-allowed-packet=64M"])) else {
        return;
    };
    server.sql("CREATE DATABASE b; CREATE TABLE b.t (id INT PRIMARY KEY, v LONGBLOB)").unwrap();
    let target = Target { endpoint: socket(&server), user: "root".to_owned() };
    let bulk = Options { bulk_load: true, changes: true, ..options("", TlsMode::Off) };
    let mut connection = Connection::open(&target, &bulk).unwrap();
    connection.execute(b"SET NAMES binary").unwrap();
    let values = values();
    let loaded = connection.load_data(&load(LOCAL_NAME), &file(&values)).unwrap();
    assert_eq!(loaded, Executed { affected_rows: 5, warnings: 0 });

    let mut read = Vec::new();
    let whole = connection.query_rows(b"SELECT v FROM b.t ORDER BY id", &mut |row| {
        read.push(row[0].map(<[u8]>::to_vec));
        ControlFlow::Continue(())
    });
    assert!(whole.unwrap());
    assert!(read == values);

    // The same rows again are warnings, which the result tells.
    let again = connection.load_data(&load(LOCAL_NAME), &file(&values)).unwrap();
    assert_eq!(again, Executed { affected_rows: 0, warnings: 5 });
    assert_eq!(connection.execute(b"DELETE FROM b.t WHERE v LIKE '%\xff%'").unwrap().affected_rows, 2);
    assert!(matches!(connection.execute(b"SELECT 1 FROM nothing.at_all"), Err(Error::Server { .. })));
    assert_eq!(connection.query("SELECT 1").unwrap().scalar(), Some("1"));

    // A query that is left early ends the connection.
    assert!(!connection.query_rows(b"SELECT 1 UNION SELECT 2", &mut |_| ControlFlow::Break(())).unwrap());
    assert!(matches!(connection.query("SELECT 1"), Err(Error::Lost { .. })));

    // Every other statement is refused the file, even where loading is permitted.
    let mut connection = Connection::open(&target, &bulk).unwrap();
    let refused = connection.query(&String::from_utf8(load(LOCAL_NAME)).unwrap());
    assert!(matches!(refused, Err(Error::LocalInfileRefused)), "{refused:?}");
    let mut connection = Connection::open(&target, &bulk).unwrap();
    let refused = connection.load_data(&load("/etc/hostname"), b"9\tx\n");
    assert!(matches!(refused, Err(Error::LocalInfileRefused)), "{refused:?}");
    // Without permission the server does not even ask.
    let refused = root(&server).load_data(&load(LOCAL_NAME), b"9\tx\n");
    assert!(matches!(refused, Err(Error::Server { .. })), "{refused:?}");
    assert_eq!(server.value("SELECT COUNT(*) FROM b.t WHERE id = 9").unwrap(), "0");
}

#[test]
fn rows_survive_mysql_97() {
    rows_survive(Kind::MySql97);
}

#[test]
fn rows_survive_mariadb_1011() {
    rows_survive(Kind::MariaDb1011);
}
