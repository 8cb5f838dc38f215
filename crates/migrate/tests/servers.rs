//! Which servers a migration works on: they are told apart by what they do, not by names that a copy has, too.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use harness::{Kind, Server};
use migrate::{
    Error, Event, Settings, Side, Until,
    plan::{CheckResult, plan},
    preflight::Effect,
};
use support::{Addresses, Kinds, Pair, as_root, shop};

const MARIADB: Kinds = Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb1011, gtids: true };

/// What the plan finds out about the two servers.
fn two_servers(source: &migrate::Server, target: &migrate::Server) -> CheckResult {
    let plan = plan(source, target, shop()).unwrap();
    plan.checks.into_iter().find(|check| check.id == "pair.two-servers").unwrap()
}

/// The addresses differ: one is a socket, the other a port.
fn is_not_migrated_into_itself(kinds: Kinds) {
    let Some(pair) = Pair::of_kinds(kinds, 20) else { return };
    let mut settings = pair.addresses().settings();
    migrate::create_tables(&settings).unwrap();
    let itself = as_root((Side::Source, &pair.target));
    let found = two_servers(&itself, &settings.target);
    assert!(found.effect == Some(Effect::Block) && found.evidence.contains("this is the same server"), "{found:?}");
    let source = std::mem::replace(&mut settings.source, itself.clone());
    let refused = |settings: &Settings| {
        let error = migrate::run(settings, &mut |_| {}).unwrap_err();
        assert!(matches!(error, Error::OneServer) && error.is_refusal(), "{error}");
    };
    refused(&settings);
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'").unwrap(), "");
    settings.source = source;
    migrate::run(&settings, &mut |_| {}).unwrap();
    settings.source = itself;
    refused(&settings);
    let error = migrate::cut_over(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::OneServer), "{error}");
}

#[test]
fn mysql_is_not_migrated_into_itself() {
    is_not_migrated_into_itself(Kinds::MYSQL_97);
}

#[test]
#[ignore = "another server: make soak"]
fn mariadb_is_not_migrated_into_itself() {
    is_not_migrated_into_itself(MARIADB);
}

/// Forwards the first connections to one server and all others to another one, as a load balancer may.
fn balancer(first: usize, one: &Server, other: &Server) -> u16 {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, ports) = (listener.local_addr().unwrap().port(), [one.port(), other.port()]);
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let server = ports[usize::from(SEEN.fetch_add(1, Ordering::Relaxed) >= first)];
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                thread::spawn(move || {
                    drop(io::copy(&mut from, &mut to));
                    to.shutdown(Shutdown::Both)
                });
            }
        }
    });
    port
}

/// Two servers with one `server_uuid`, as after a copy of `auto.cnf`, are two.
#[test]
fn a_copied_uuid_makes_no_server_of_two() {
    let Some(mut pair) = Pair::of_kinds(Kinds { gtids: false, ..Kinds::MYSQL_97 }, 300) else { return };
    pair.target.stop().unwrap();
    std::fs::copy(pair.source.datadir().join("auto.cnf"), pair.target.datadir().join("auto.cnf")).unwrap();
    pair.target.start().unwrap();
    pair.target.sql("SET GLOBAL local_infile = ON").unwrap();
    let mut settings = pair.addresses().settings();
    let found = two_servers(&settings.source, &settings.target);
    assert!(found.effect == Some(Effect::Tell) && found.evidence.contains("copied auto.cnf"), "{found:?}");
    migrate::create_tables(&settings).unwrap();
    settings.until = Until::Copied;
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.source.sql("INSERT INTO shop.ack VALUES (1)").unwrap();

    // The reading sessions reach another server than the first one.
    pair.target.sql("GRANT SELECT, REPLICATION SLAVE ON *.* TO mig@'%'").unwrap();
    settings.until = Until::Verified;
    let addresses = pair.addresses();
    let source = balancer(2, &pair.source, &pair.target).to_string();
    let mixed = Addresses { source, ..pair.addresses() }.settings();
    let mut reasons = Vec::new();
    let error = migrate::run(&mixed, &mut |event| {
        if let Event::Resumed { why } = event {
            reasons.push(why);
        }
    });
    assert_eq!(reasons, [Error::SeveralServers.to_string()]);
    // At the second attempt, all sessions reach the target.
    let error = error.unwrap_err();
    assert!(matches!(error, Error::OneServer), "{error}");

    migrate::cut_over(&addresses.settings(), &mut |_| {}).unwrap();
    pair.assert_equal();
}

/// What the migration writes to the target would come back as changes of the source. `logs` is whether the source logs
/// what it applies.
fn is_not_followed(kinds: Kinds, logs: bool) {
    let Some(mut pair) = Pair::of_kinds(kinds, 100) else { return };
    let is_mariadb = kinds.source.is_mariadb();
    if is_mariadb && logs {
        pair.source.restart_with(&["--log-slave-updates=ON"]).unwrap();
    }
    let settings = pair.addresses().settings();
    migrate::create_tables(&settings).unwrap();
    pair.target.sql("GRANT REPLICATION SLAVE ON *.* TO mig@'%'").unwrap();
    let (end, word) = if is_mariadb { ("SHOW MASTER STATUS", "MASTER") } else { ("SHOW BINARY LOG STATUS", "SOURCE") };
    let end = pair.target.sql(end).unwrap();
    let mut end = end.split_whitespace();
    let (file, position, port) = (end.next().unwrap(), end.next().unwrap(), pair.target.port());
    let (change, thread) = match is_mariadb {
        true => ("CHANGE MASTER TO MASTER_USE_GTID=no,", "SLAVE"),
        false => ("CHANGE REPLICATION SOURCE TO", "REPLICA"),
    };
    let change = format!(
        "SET GLOBAL server_id = 99; {change} {word}_HOST='127.0.0.1', {word}_PORT={port}, {word}_USER='mig', \
         {word}_PASSWORD='secret', {word}_SSL=1, {word}_SSL_VERIFY_SERVER_CERT=0, {word}_LOG_FILE='{file}', \
         {word}_LOG_POS={position}; START {thread};"
    );
    pair.source.sql(&change).unwrap();
    let is_named = |error: &Error| match logs {
        true => matches!(error, Error::FollowsTarget { .. }) && error.is_refusal(),
        false => matches!(error, Error::UnloggedReplication),
    };
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(is_named(&error) && error.hint().unwrap().contains("STOP REPLICA"), "{error}");
    pair.source.sql(&format!("STOP {thread}")).unwrap();
    if logs {
        // The log keeps the row.
        let again = migrate::run(&settings, &mut |_| {}).unwrap_err();
        assert!(is_named(&again) && again.hint().unwrap().contains("abort --drop-tables"), "{again}");
        migrate::abort(&settings.source, &settings.target, Some(&shop().filter)).unwrap();
        migrate::create_tables(&settings).unwrap();
    }
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
}

#[test]
#[ignore = "three runs: make soak"]
fn mysql_that_follows_its_target_is_refused() {
    is_not_followed(Kinds::MYSQL_97, true);
}

/// By default, MariaDB does not log what it applies.
#[test]
#[ignore = "another server: make soak"]
fn mariadb_that_follows_its_target_is_refused() {
    is_not_followed(MARIADB, false);
}

#[test]
#[ignore = "another server: make soak"]
fn mariadb_that_logs_what_its_target_has_is_refused() {
    is_not_followed(MARIADB, true);
}

#[test]
fn without_gtids_another_server_is_not_followed() {
    let Some(mut pair) = Pair::of_kinds(Kinds { gtids: false, ..Kinds::MYSQL_97 }, 100) else { return };
    let settings = pair.addresses().settings();
    migrate::create_tables(&settings).unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let before = pair.source.value("SELECT @@server_uuid").unwrap();
    pair.source.stop().unwrap();
    std::fs::remove_file(pair.source.datadir().join("auto.cnf")).unwrap();
    pair.source.start().unwrap();
    for error in [migrate::run(&settings, &mut |_| {}).map(drop), migrate::cut_over(&settings, &mut |_| {}).map(drop)] {
        let error = error.unwrap_err();
        assert!(matches!(&error, Error::OtherServer { expected, .. } if *expected == before), "{error}");
        assert!(error.hint().unwrap().contains("GTID"));
    }
}
