//! The decoder against the servers' own: `mysqlbinlog -v`, `mariadb-binlog -v`, and `SHOW BINLOG EVENTS`.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use binlog::{Body, ColumnType, Error, EventType, Limits, LogFile, Value};
use harness::{KeyringLocation, Kind, Server, require};
use innodb::keys::{KeySource, NoKeys};
use support::{
    logs, tool,
    verbose::{self, Family, Printer},
    workload,
};
use verify::Keys;

fn family(kind: Kind) -> Family {
    if kind.is_mariadb() { Family::MariaDb } else { Family::MySql }
}

/// Every row as the server's tool prints it.
fn assert_same(log: &Path, found: &[Vec<u8>], expected: &[Vec<u8>]) {
    let mut statement = "";
    for (index, (ours, theirs)) in found.iter().zip(expected).enumerate() {
        if theirs.starts_with(b"### ") && !theirs.starts_with(b"###   ") {
            statement = str::from_utf8(theirs).unwrap();
        }
        let show = |line: &[u8]| String::from_utf8_lossy(&line[..line.len().min(400)]).into_owned();
        if ours != theirs {
            let at = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count().saturating_sub(40);
            let [ours, theirs] = [ours, theirs].map(|line| show(&line[at.min(line.len())..]));
            panic!("{} line {index}, in {statement}:\nours:   {ours}\ntheirs: {theirs}", log.display());
        }
    }
    assert_eq!(found.len(), expected.len(), "{}", log.display());
}

fn print(kind: Kind, log: &Path, keys: &impl KeySource) -> Printer {
    let mut file = LogFile::open(fs::File::open(log).unwrap(), keys, Limits::default()).unwrap();
    verbose::print(&mut file, family(kind))
}

fn options(kind: Kind) -> Vec<&'static str> {
    let mut options = vec!["--log-bin=binlog", "--binlog-format=ROW", "--max-allowed-packet=64M"];
    match kind {
        Kind::MariaDb1011 | Kind::MariaDb114 | Kind::MariaDb118 => {}
        Kind::MySql56 | Kind::MySql57 => options.push("--binlog-rows-query-log-events=ON"),
        _ => options.extend(["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--binlog-rows-query-log-events=ON"]),
    }
    options
}

/// Settings, each for a log of its own.
fn variants(kind: Kind) -> Vec<&'static str> {
    let mut variants = vec![
        "SELECT 1",
        "SET GLOBAL binlog_checksum='NONE'",
        "SET SESSION binlog_row_image='MINIMAL'",
        "SET SESSION binlog_row_image='NOBLOB'",
    ];
    if kind == Kind::MySql97 {
        variants.push("SET SESSION gtid_next='AUTOMATIC:tag_1'");
    }
    match kind {
        Kind::MySql56 | Kind::MySql57 => {}
        kind if kind.is_mariadb() => variants.extend([
            "SET GLOBAL binlog_row_metadata='FULL'",
            "SET GLOBAL log_bin_compress=1, GLOBAL log_bin_compress_min_len=10",
        ]),
        _ => variants.extend([
            "SET GLOBAL binlog_row_metadata='FULL'",
            "SET SESSION binlog_transaction_compression=ON",
            "SET SESSION binlog_row_value_options='PARTIAL_JSON'",
        ]),
    }
    variants
}

/// Types of events that a workload must have written, or the comparison says less than it seems to.
fn expected_kinds(kind: Kind) -> Vec<EventType> {
    use EventType as T;
    let mut kinds =
        vec![T::FORMAT_DESCRIPTION, T::QUERY, T::TABLE_MAP, T::XID, T::ROTATE, T::INTVAR, T::RAND, T::USER_VAR];
    kinds.push(T::XA_PREPARE);
    if kind.is_mariadb() {
        kinds.extend([T::GTID_MARIADB, T::GTID_LIST, T::BINLOG_CHECKPOINT, T::ANNOTATE_ROWS, T::QUERY_COMPRESSED]);
        kinds.extend([T::WRITE_ROWS_V1, T::UPDATE_ROWS_V1, T::DELETE_ROWS_V1]);
        kinds.extend([T::WRITE_ROWS_COMPRESSED_V1, T::UPDATE_ROWS_COMPRESSED_V1, T::DELETE_ROWS_COMPRESSED_V1]);
    } else {
        kinds.extend([T::GTID, T::PREVIOUS_GTIDS, T::ROWS_QUERY, T::TRANSACTION_PAYLOAD, T::PARTIAL_UPDATE_ROWS]);
        kinds.extend([T::WRITE_ROWS, T::UPDATE_ROWS, T::DELETE_ROWS]);
    }
    if kind == Kind::MySql97 {
        kinds.push(T::GTID_TAGGED);
    }
    kinds
}

fn every_type(kind: Kind, rounds: u64) {
    if require(kind).is_none() {
        return;
    }
    let server = Server::builder(kind).options(options(kind)).start().unwrap();
    let workload = workload::statements(kind, rounds);
    for variant in variants(kind) {
        server.sql(&format!("{variant}; {workload} FLUSH LOGS;")).unwrap();
    }
    let (mut lines, mut kinds) = (0, BTreeSet::new());
    for log in logs(&server) {
        let printed = print(kind, &log, &NoKeys);
        assert_same(&log, &printed.lines, &tool::rows(kind, &log).unwrap());
        let (ours, theirs) = (events(&log), shown_events(&server, &log));
        ours.iter().zip(&theirs).for_each(|(ours, theirs)| assert_eq!(ours, theirs, "{}", log.display()));
        assert_eq!(ours.len(), theirs.len());
        lines += printed.lines.len();
        kinds.extend(printed.kinds);
    }
    assert!(lines > 10_000, "{lines} lines");
    let missing: Vec<_> = expected_kinds(kind).into_iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "{missing:?} of {kinds:?}");
}

/// An event as `SHOW BINLOG EVENTS` lists it: position, type, server, end, and the GTID if it has one.
type Shown = (u64, String, u32, u64, String);

fn shown_events(server: &Server, log: &Path) -> Vec<Shown> {
    let name = log.file_name().unwrap().to_str().unwrap();
    let mut found = Vec::new();
    let mut payload_end = u64::MAX;
    for row in server.sql(&format!("SHOW BINLOG EVENTS IN '{name}'")).unwrap().lines() {
        let mut cells = row.split('\t').skip(1);
        let mut next = || cells.next().unwrap();
        let (position, kind, server_id, end, info) = (next(), next(), next(), next(), next());
        let (position, end) = (position.parse().unwrap(), end.parse().unwrap());
        // Events inside of a compressed transaction follow it, with its end.
        if end == payload_end {
            continue;
        }
        payload_end = if kind == "Transaction_payload" { end } else { u64::MAX };
        let gtid = if matches!(kind, "Gtid" | "Gtid_tagged_log_event") { gtid_of(info) } else { String::new() };
        found.push((position, kind.to_owned(), server_id.parse().unwrap(), end, gtid));
    }
    found
}

/// `SET @@SESSION.GTID_NEXT= 'uuid:1'`, or `BEGIN GTID 0-1-5`.
fn gtid_of(info: &str) -> String {
    match info.split_once("GTID ") {
        Some((_, gtid)) => gtid.split(' ').next().unwrap().to_owned(),
        None => info.split('\'').nth(1).unwrap_or_default().to_owned(),
    }
}

fn events(log: &Path) -> Vec<Shown> {
    let mut file = LogFile::open(fs::File::open(log).unwrap(), &NoKeys, Limits::default()).unwrap();
    let mut found = Vec::new();
    while let Some((position, event)) = file.next_event().unwrap() {
        let gtid = match &event.body {
            Body::Gtid(event) => event.gtid.as_ref().map(ToString::to_string).unwrap_or_default(),
            Body::MariaDbGtid(event) => event.gtid.to_string(),
            _ => String::new(),
        };
        let header = event.header;
        found.push((position, header.kind.to_string(), header.server_id, u64::from(header.end_position), gtid));
    }
    found
}

#[test]
fn rows_of_mysql_97_equal_those_of_its_tool() {
    every_type(Kind::MySql97, 1);
}

#[test]
fn rows_of_mysql_80_equal_those_of_its_tool() {
    every_type(Kind::MySql80, 1);
}

#[test]
fn rows_of_mariadb_1011_equal_those_of_its_tool() {
    every_type(Kind::MariaDb1011, 1);
}

#[test]
fn rows_of_mariadb_118_equal_those_of_its_tool() {
    every_type(Kind::MariaDb118, 1);
}

/// Values of the rows that the server selects: those that its tool does not print.
fn selected_values(kind: Kind) {
    if require(kind).is_none() {
        return;
    }
    let server = Server::builder(kind).options(options(kind)).start().unwrap();
    let tables = workload::selected(kind);
    let inserts: String = tables.iter().map(|(inserts, _)| inserts.as_str()).collect();
    server.sql(&format!("CREATE DATABASE w; USE w; {inserts}")).unwrap();
    let queries: String = tables.iter().map(|(_, query)| format!("{query};")).collect();
    let expected = server.sql(&format!("USE w; {queries}")).unwrap();
    let log = logs(&server).pop().unwrap();
    let mut file = LogFile::open(fs::File::open(log).unwrap(), &NoKeys, Limits::default()).unwrap();
    let mut found = String::new();
    while let Some((_, event)) = file.next_event().unwrap() {
        let Body::Rows(rows) = event.body else { continue };
        for change in rows.changes().unwrap() {
            let row = change.unwrap().after.unwrap();
            let columns = &rows.table.as_ref().unwrap().columns[1..];
            let values: Vec<String> = row[1..]
                .iter()
                .zip(columns)
                .map(|(value, column)| selected_text(value.as_ref().unwrap(), column.kind))
                .collect();
            found += &(values.join("\t") + "\n");
        }
    }
    for (ours, theirs) in found.lines().zip(expected.lines()) {
        assert_eq!(ours.to_lowercase(), theirs.to_lowercase());
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

fn selected_text(value: &Value<'_>, kind: ColumnType) -> String {
    let bytes = match (value, kind) {
        (Value::Null, _) => return "NULL".to_owned(),
        // UUID and INET: the log has them without the zeros at the end, as BINARY.
        (Value::String(bytes), ColumnType::String { max_bytes }) => {
            let mut padded = bytes.to_vec();
            padded.resize(usize::from(max_bytes), 0);
            padded
        }
        (value, _) => logged_bytes(value),
    };
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn logged_bytes(value: &Value<'_>) -> Vec<u8> {
    match value {
        Value::String(bytes) | Value::Blob(bytes) | Value::Geometry(bytes) | Value::Vector(bytes) => bytes.to_vec(),
        Value::Compressed(column) => column.decompress(1 << 20).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_of_mysql_97_equal_those_it_selects() {
    selected_values(Kind::MySql97);
}

#[test]
fn values_of_mariadb_1011_equal_those_it_selects() {
    selected_values(Kind::MariaDb1011);
}

#[test]
fn values_of_mariadb_118_equal_those_it_selects() {
    selected_values(Kind::MariaDb118);
}

/// Encrypted logs: our decryption and decoding against what the server sends to its own tool.
fn encrypted(server: &Server, keys: &Keys, workload: &str) {
    server.sql(&format!("{workload} FLUSH LOGS;")).unwrap();
    let mut lines = 0;
    for log in logs(server) {
        let printed = print(server.kind(), &log, keys);
        assert_same(&log, &printed.lines, &tool::remote_rows(server, &log).unwrap());
        lines += printed.lines.len();
        let no_key = LogFile::open(fs::File::open(&log).unwrap(), &NoKeys, Limits::default());
        let fault = no_key.and_then(|mut log| {
            while log.next_event()?.is_some() {}
            Ok(())
        });
        assert!(matches!(fault, Err(Error::Key { .. })), "{fault:?}");
    }
    assert!(lines > 1000, "{lines} lines");
}

#[test]
fn encrypted_logs_of_mysql_are_decrypted() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let builder = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).options(options(Kind::MySql97));
    let server = builder.option("--binlog-encryption=ON").start().unwrap();
    let mut keys = Keys::default();
    keys.add_keyring(&server.dir().join("keyring")).unwrap();
    encrypted(&server, &keys, &workload::statements(Kind::MySql97, 1));
}

#[test]
fn encrypted_logs_of_mariadb_are_decrypted_in_both_modes() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    const KEY: &str = "1;0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    for mode in ["aes_cbc", "aes_ctr"] {
        let builder = Server::builder(Kind::MariaDb1011).mariadb_keys(KEY).options(options(Kind::MariaDb1011));
        let mode = format!("--file-key-management-encryption-algorithm={mode}");
        let server = builder.option("--encrypt-binlog=ON").option(mode).start().unwrap();
        let mut keys = Keys::default();
        keys.add_key_file_bytes(KEY.as_bytes(), None, Path::new("keys")).unwrap();
        encrypted(&server, &keys, &workload::statements(Kind::MariaDb1011, 1));
    }
}

#[test]
fn rows_of_old_servers_equal_those_of_the_tool() {
    for kind in [Kind::MySql57, Kind::MariaDb114] {
        if require(kind).is_none() || require(Kind::MySql80).is_none() || require(Kind::MariaDb118).is_none() {
            continue;
        }
        let server = Server::builder(kind).options(options(kind)).option("--server-id=7").start().unwrap();
        server.sql(&format!("{} FLUSH LOGS;", workload::statements(kind, 1))).unwrap();
        for log in logs(&server) {
            assert_same(&log, &print(kind, &log, &NoKeys).lines, &tool::rows(kind, &log).unwrap());
        }
    }
}

/// A column as the server describes it: table, name, nullable, unsigned, number of the collation, labels, key part.
type Described = (String, String, bool, bool, String, String, bool);

/// What table maps say with `binlog_row_metadata=FULL` is what the server's catalogue says.
fn catalogue(kind: Kind) {
    if require(kind).is_none() {
        return;
    }
    let server = Server::builder(kind).options(options(kind)).start().unwrap();
    server.sql("SET GLOBAL binlog_row_metadata='FULL'").unwrap();
    let inserts: String = workload::selected(kind).into_iter().map(|(inserts, _)| inserts).collect();
    let interleaved = "CREATE TABLE between_numbers (a YEAR, b INT, c BIT(3), d INT, e INT UNSIGNED, f YEAR, g INT UNSIGNED, \
        h TEXT, i GEOMETRY, j TEXT CHARACTER SET latin1, k ENUM('x','y') CHARACTER SET latin1, l VARCHAR(3), \
        m INT NOT NULL, n TEXT NOT NULL, PRIMARY KEY (m, n(5))); INSERT INTO between_numbers (m, n) VALUES (1, '');";
    server.sql(&format!("{} {inserts} {interleaved}", workload::statements(kind, 1))).unwrap();
    // MariaDB's catalogue has the names of its newer collations in full only here.
    let collations = match kind.is_mariadb() {
        true => "SELECT full_collation_name name, id FROM information_schema.collation_character_set_applicability",
        false => "SELECT collation_name name, id FROM information_schema.collations",
    };
    let rows = server
        .sql(&format!(
            "SELECT c.table_name, c.column_name, is_nullable = 'YES', column_type LIKE '%unsigned%', IFNULL(l.id, 0), \
             IF(data_type IN ('enum', 'set'), column_type, ''), column_key = 'PRI' FROM information_schema.columns c \
             LEFT JOIN ({collations}) l ON l.name = c.collation_name WHERE table_schema = 'w' \
             ORDER BY c.table_name, ordinal_position"
        ))
        .unwrap();
    let expected: Vec<Described> = rows
        .lines()
        .map(|row| {
            let cells: Vec<&str> = row.split('\t').collect();
            let text = |at: usize| cells[at].to_owned();
            (text(0), text(1), cells[2] == "1", cells[3] == "1", text(4), text(5), cells[6] == "1")
        })
        .collect();
    let mut found = BTreeMap::new();
    for log in logs(&server) {
        let mut file = LogFile::open(fs::File::open(log).unwrap(), &NoKeys, Limits::default()).unwrap();
        while let Some((_, event)) = file.next_event().unwrap() {
            if let Body::TableMap(table) = event.body
                && table.database == "w"
            {
                found.insert(table.name.clone(), table);
            }
        }
    }
    for expected in expected {
        let Some(table) = found.get(&expected.0) else { continue };
        let (index, column) =
            table.columns.iter().enumerate().find(|(_, column)| column.name.as_ref() == Some(&expected.1)).unwrap();
        // The catalogue has none for the others.
        let has_text = !matches!(column.kind, ColumnType::Geometry { .. } | ColumnType::Vector { .. });
        let ours: Described = (
            expected.0.clone(),
            expected.1.clone(),
            column.nullable,
            // The server's own type of YEAR is unsigned; its catalogue does not say so.
            column.unsigned == Some(true) && column.kind != ColumnType::Year,
            match column.collation.filter(|_| has_text) {
                // Binary: the catalogue has no collation.
                Some(63) | None => "0".to_owned(),
                Some(collation) => collation.to_string(),
            },
            labels(&column.labels, column.kind),
            table.primary_key.iter().any(|part| part.column == index),
        );
        assert_eq!(ours, expected);
    }
    let key: Vec<_> = found["between_numbers"].primary_key.iter().map(|part| (part.column, part.prefix)).collect();
    assert_eq!(key, [(12, 0), (13, 5)]);
}

/// As `COLUMN_TYPE` writes them.
fn labels(labels: &[Vec<u8>], kind: ColumnType) -> String {
    let name = match kind {
        ColumnType::Enum { .. } => "enum",
        ColumnType::Set { .. } => "set",
        _ => return String::new(),
    };
    let quoted: Vec<String> =
        labels.iter().map(|label| format!("'{}'", str::from_utf8(label).unwrap().replace('\'', "''"))).collect();
    format!("{name}({})", quoted.join(","))
}

#[test]
fn table_maps_of_mysql_97_equal_its_catalogue() {
    catalogue(Kind::MySql97);
}

#[test]
fn table_maps_of_mariadb_118_equal_its_catalogue() {
    catalogue(Kind::MariaDb118);
}
