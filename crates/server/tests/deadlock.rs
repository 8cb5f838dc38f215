//! A statement that only reads survives a deadlock, and a transaction's loss is never hidden.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

mod common;

use std::{
    thread::{self, sleep},
    time::{Duration, Instant},
};

use common::{options, socket, start};
use harness::{Kind, Server};
use server::{Connection, Error, Options, Rows, Target, TlsMode};

const LOCK_ALL: &str = "SELECT id FROM d.t ORDER BY id FOR UPDATE";
const WAITING: &str = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";

fn connection(server: &Server, repeats_reads: bool) -> Connection {
    let target = Target { endpoint: socket(server), user: "root".to_owned() };
    Connection::open(&target, &Options { changes: true, repeats_reads, ..options("", TlsMode::Off) }).unwrap()
}

/// Runs [`LOCK_ALL`] after `begin`, while another transaction has all rows but the first, and asks for it.
fn read_in_a_deadlock(server: &Server, repeats_reads: bool, begin: Option<&str>) -> Result<Rows, Error> {
    let mut other = connection(server, false);
    other.query("START TRANSACTION").unwrap();
    other.query("UPDATE d.t SET v = v + 1 WHERE id > 1").unwrap();
    let mut reader = connection(server, repeats_reads);
    let reading = {
        let begin = begin.map(str::to_owned);
        thread::spawn(move || {
            begin.iter().for_each(|begin| drop(reader.query(begin).unwrap()));
            reader.query(LOCK_ALL)
        })
    };
    let begun = Instant::now();
    while server.value(WAITING).unwrap() != "1" {
        assert!(begun.elapsed() < harness::limit(20), "the reader does not wait");
        sleep(Duration::from_millis(50));
    }
    // The reader has the fewest locks and has changed nothing, so the server ends it.
    other.query("UPDATE d.t SET v = v + 1 WHERE id = 1").unwrap();
    other.query("COMMIT").unwrap();
    reading.join().unwrap()
}

#[test]
fn a_read_is_repeated_after_a_deadlock_if_wanted_but_not_in_a_transaction() {
    let Some(server) = start(Kind::MySql97, |builder| builder) else { return };
    server
        .sql(
            "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT);
             INSERT INTO d.t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i, 0 FROM n",
        )
        .unwrap();
    assert_eq!(read_in_a_deadlock(&server, true, None).unwrap().rows.len(), 100);
    for (repeats_reads, begin) in [(true, Some("START TRANSACTION")), (false, None)] {
        let lost = read_in_a_deadlock(&server, repeats_reads, begin);
        assert!(lost.as_ref().is_err_and(Error::is_deadlock), "{lost:?}");
    }
}
