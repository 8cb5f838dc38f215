//! Statements that write every type, with NULL and extremes, in every form of row events.

use std::fmt::Write;

use harness::Kind;

use super::chance::Chance;

/// A table and the rows of its columns, without the key.
struct Table {
    name: &'static str,
    columns: String,
    rows: Vec<String>,
}

/// Everything: tables, inserts, updates and deletes. `rounds` multiplies the random rows.
pub(crate) fn statements(kind: Kind, rounds: u64) -> String {
    let mut chance = Chance(23);
    let mut sql = "CREATE DATABASE IF NOT EXISTS w; USE w; SET SESSION sql_mode='ALLOW_INVALID_DATES'; \
                   SET time_zone='+00:00';\n"
        .to_owned();
    for table in tables(kind, &mut chance, rounds) {
        let Table { name, columns, rows } = table;
        let _ = writeln!(sql, "DROP TABLE IF EXISTS {name};");
        let _ = writeln!(sql, "CREATE TABLE {name} (id INT AUTO_INCREMENT PRIMARY KEY, {columns});");
        let _ = writeln!(sql, "INSERT INTO {name} () VALUES ();");
        for row in &rows {
            let _ = writeln!(sql, "INSERT INTO {name} VALUES (NULL, {row});");
        }
        // All together in an event of several rows, then changed in several.
        let _ = writeln!(sql, "INSERT INTO {name} VALUES (NULL, {});", rows.join("), (NULL, "));
        let _ = writeln!(sql, "UPDATE {name} SET id = id + 100000 WHERE id % 3 = 1;");
        let _ = writeln!(sql, "DELETE FROM {name} WHERE id % 5 = 2;");
    }
    if !kind.is_mariadb() && kind != Kind::MySql56 {
        sql += JSON_CHANGES;
    }
    sql + PARTITIONS + CONTEXT
}

/// Updates that `PARTIAL_JSON` logs as changes of JSON values.
const JSON_CHANGES: &str = r#"
CREATE TABLE IF NOT EXISTS changes (id INT PRIMARY KEY, a JSON, b INT, c JSON);
REPLACE INTO changes VALUES (1, '{"a": 1, "b": [1, 2, 3], "filler": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}', 1, '[1, 2, 3, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]'),
  (2, NULL, 2, '{}');
UPDATE changes SET a = JSON_SET(a, '$.a', 7, '$.new', CAST('{"x": [1, "y"]}' AS JSON), '$.t', 'it''s "quoted"');
UPDATE changes SET a = JSON_REMOVE(JSON_SET(a, '$.b[1]', 2.5), '$.a'), c = JSON_REMOVE(c, '$[0]');
UPDATE changes SET a = JSON_REPLACE(a, '$.b[0]', NULL), b = 9, c = JSON_SET(c, '$[1]', TRUE);
UPDATE changes SET a = JSON_SET(a, '$.d', CAST('2024-02-29' AS DATE), '$.e', CAST(1.50 AS DECIMAL(5,2)));
UPDATE changes SET c = '"whole"' WHERE id = 2;
"#;

const PARTITIONS: &str = "
CREATE TABLE IF NOT EXISTS parts (id INT PRIMARY KEY, n INT) PARTITION BY HASH (id) PARTITIONS 3;
REPLACE INTO parts VALUES (1, 1), (2, 2), (3, 3);
UPDATE parts SET id = id + 10;
DELETE FROM parts;
";

/// Statements that log other events than rows: session context, transactions of several statements, XA.
const CONTEXT: &str = "
CREATE TABLE IF NOT EXISTS plain (id INT AUTO_INCREMENT PRIMARY KEY, t TEXT, d DOUBLE);
CREATE TABLE IF NOT EXISTS `quoted``name` (a INT);
INSERT INTO `quoted``name` VALUES (-1);
BEGIN; INSERT INTO plain (d) VALUES (1); SAVEPOINT a; INSERT INTO plain (d) VALUES (2); ROLLBACK TO a; COMMIT;
XA START 'global', 'branch', 9; INSERT INTO plain (d) VALUES (3); XA END 'global', 'branch', 9;
XA PREPARE 'global', 'branch', 9; XA COMMIT 'global', 'branch', 9;
SET SESSION binlog_format = 'STATEMENT';
SET @text = 'it''s', @whole = -5, @none = NULL, @decimal = 1.50, @double = 1e0;
INSERT INTO plain (t, d) VALUES (@text, RAND()), (@none, @whole), (@decimal, @double);
INSERT INTO plain (t, d) VALUES ('last', LAST_INSERT_ID());
SET SESSION binlog_format = 'ROW';
";

/// The tables of all types.
fn tables(kind: Kind, chance: &mut Chance, rounds: u64) -> Vec<Table> {
    let mut tables = vec![
        numbers(chance, rounds),
        decimals(chance, rounds),
        times(kind, chance, rounds),
        labels(chance, rounds),
        text(chance, rounds),
    ];
    if !kind.is_mariadb() && kind != Kind::MySql56 {
        tables.push(json(chance, rounds));
    }
    if kind.is_mariadb() {
        tables.push(geometry());
        tables.push(mariadb_types());
    }
    if kind == Kind::MariaDb118 {
        tables.push(vectors("VEC_FromText"));
    }
    tables
}

/// Inserts of values that MySQL's tool cannot print or prints with too few digits, or that are stored compressed; and
/// queries that give each value in hexadecimal digits, in the order of the inserts.
pub(crate) fn selected(kind: Kind) -> Vec<(String, String)> {
    let mut chance = Chance(29);
    let mut tables =
        vec![(geometry(), vec!["HEX(g)", "HEX(p)"]), (texts_twice(&mut chance), vec!["HEX(c0)", "HEX(c1)"])];
    if kind.is_mariadb() {
        let columns = ["u", "i", "i4", "j", "vc", "bc", "vb"].map(|column| match column {
            "u" => "REPLACE(CAST(u AS CHAR), '-', '')",
            "i" => "HEX(i)",
            "i4" => "HEX(i4)",
            "j" => "HEX(j)",
            "vc" => "HEX(vc)",
            "bc" => "HEX(bc)",
            _ => "HEX(vb)",
        });
        tables.push((mariadb_types(), columns.to_vec()));
    }
    if kind == Kind::MySql97 {
        tables.push((vectors("STRING_TO_VECTOR"), vec!["HEX(v)"]));
    }
    if kind == Kind::MariaDb118 {
        tables.push((vectors("VEC_FromText"), vec!["HEX(v)"]));
    }
    tables
        .into_iter()
        .map(|(Table { name, columns, rows }, selected)| {
            let inserts: Vec<String> =
                rows.iter().map(|row| format!("INSERT INTO s_{name} VALUES (NULL, {row});")).collect();
            let create = format!("CREATE TABLE s_{name} (id INT AUTO_INCREMENT PRIMARY KEY, {columns});");
            let query = format!("SELECT {} FROM s_{name} ORDER BY id", selected.join(", "));
            (format!("{create} {}", inserts.concat()), query)
        })
        .collect()
}

/// Text columns with length fields of one byte and of two bytes.
fn texts_twice(chance: &mut Chance) -> Table {
    let columns = vec![
        ("VARCHAR(255) CHARACTER SET latin1", strings(&["''", "'a'", "REPEAT('b', 255)"])),
        ("LONGBLOB", strings(&["''", "X'00ff'", "REPEAT('c', 300000)"])),
    ];
    table("twice", columns, chance, 5)
}

/// Rows of columns whose values are listed: NULL, each extreme, and random values.
fn rows(columns: &[(&str, Vec<String>)], chance: &mut Chance, random: u64) -> Vec<String> {
    let longest = columns.iter().map(|(_, values)| values.len()).max().unwrap();
    let at = |index: usize| -> String {
        let values = columns.iter().map(|(_, values)| values[index % values.len()].clone());
        values.collect::<Vec<_>>().join(", ")
    };
    let mut found: Vec<String> = (0..longest).map(at).collect();
    found.push(vec!["NULL"; columns.len()].join(", "));
    for _ in 0..random {
        let values = columns.iter().map(|(_, values)| match chance.below(8) {
            0 => "NULL".to_owned(),
            _ => chance.choose(values).clone(),
        });
        found.push(values.collect::<Vec<_>>().join(", "));
    }
    found
}

fn table(name: &'static str, columns: Vec<(&str, Vec<String>)>, chance: &mut Chance, random: u64) -> Table {
    let found = rows(&columns, chance, random);
    let definitions: Vec<String> =
        columns.iter().enumerate().map(|(index, (kind, _))| format!("c{index} {kind} NULL")).collect();
    Table { name, columns: definitions.join(", "), rows: found }
}

fn strings(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

fn numbers(chance: &mut Chance, rounds: u64) -> Table {
    let mut columns = Vec::new();
    for (name, bits) in [("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32), ("BIGINT", 64)] {
        let half = 1_i128 << (bits - 1);
        let signed = [-half, half - 1, 0, -1, 1, 10 - half, half / 3].map(|number| number.to_string());
        let unsigned = [0, half * 2 - 1, half, half - 1, 1].map(|number| number.to_string());
        columns.push((name, signed.to_vec()));
        columns.push(match name {
            "TINYINT" => ("TINYINT UNSIGNED", unsigned.to_vec()),
            "SMALLINT" => ("SMALLINT UNSIGNED", unsigned.to_vec()),
            "MEDIUMINT" => ("MEDIUMINT UNSIGNED ZEROFILL", unsigned.to_vec()),
            "INT" => ("INT UNSIGNED", unsigned.to_vec()),
            _ => ("BIGINT UNSIGNED", unsigned.to_vec()),
        });
        columns.push(("YEAR", strings(&["1901", "2155", "0", "1999"])));
    }
    let mut doubles = strings(&[
        "0",
        "-0e0",
        "1",
        "-1",
        "0.1",
        "1e15",
        "123456789012345678",
        "1e-14",
        "1.7976931348623157e308",
        "-1.7976931348623157e308",
        "2.2250738585072014e-308",
        "5e-324",
        "3.141592653589793",
        "100000",
        "1e22",
    ]);
    for _ in 0..40 {
        let double = f64::from_bits(chance.number());
        if double.is_finite() {
            doubles.push(format!("{double:e}"));
        }
    }
    let floats =
        strings(&["0", "-0e0", "1", "0.1", "-3.40282e38", "3.40282e38", "1.17549e-38", "1e-45", "16777217", "1e6"]);
    columns.push(("FLOAT", floats));
    columns.push(("FLOAT UNSIGNED", strings(&["0", "1.5", "3.40282e38"])));
    columns.push(("DOUBLE", doubles));
    columns.push(("DOUBLE UNSIGNED", strings(&["0", "2.5e300"])));
    columns.push(("BOOL", strings(&["TRUE", "FALSE"])));
    table("numbers", columns, chance, 20 * rounds)
}

fn decimals(chance: &mut Chance, rounds: u64) -> Table {
    let mut columns = Vec::new();
    for (definition, precision, scale) in [
        ("DECIMAL(65,30)", 65, 30),
        ("DECIMAL(65,0)", 65, 0),
        ("DECIMAL(1,0)", 1, 0),
        ("DECIMAL(9,0)", 9, 0),
        ("DECIMAL(10,0)", 10, 0),
        ("DECIMAL(30,30)", 30, 30),
        ("DECIMAL(30,17)", 30, 17),
        ("DECIMAL(9,9)", 9, 9),
        ("DECIMAL(10,2)", 10, 2),
        ("DECIMAL(18,9)", 18, 9),
        ("DECIMAL(5,1) UNSIGNED", 5, 1),
        ("NUMERIC(38,5)", 38, 5),
    ] {
        let number = |digits: &str| {
            let (whole, fraction) = digits.split_at(precision - scale);
            format!("{}{}{fraction}", if whole.is_empty() { "0" } else { whole }, if scale > 0 { "." } else { "" })
        };
        let nines = number(&"9".repeat(precision));
        let one = number(&format!("{:0>precision$}", 1));
        let mut values = vec![nines.clone(), one.clone(), "0".to_owned()];
        for _ in 0..6 {
            let digits: String =
                (0..precision).map(|_| char::from(b'0' + u8::try_from(chance.below(10)).unwrap())).collect();
            values.push(number(&digits));
        }
        if !definition.ends_with("UNSIGNED") {
            values.extend([format!("-{nines}"), format!("-{one}")]);
        }
        columns.push((definition, values));
    }
    table("decimals", columns, chance, 20 * rounds)
}

fn times(kind: Kind, chance: &mut Chance, rounds: u64) -> Table {
    const NAMES: [[&str; 3]; 7] = [
        ["TIME", "DATETIME", "TIMESTAMP"],
        ["TIME(1)", "DATETIME(1)", "TIMESTAMP(1)"],
        ["TIME(2)", "DATETIME(2)", "TIMESTAMP(2)"],
        ["TIME(3)", "DATETIME(3)", "TIMESTAMP(3)"],
        ["TIME(4)", "DATETIME(4)", "TIMESTAMP(4)"],
        ["TIME(5)", "DATETIME(5)", "TIMESTAMP(5)"],
        ["TIME(6)", "DATETIME(6)", "TIMESTAMP(6)"],
    ];
    let mut columns =
        vec![("DATE", strings(&["'0000-00-00'", "'9999-12-31'", "'2024-02-29'", "'2023-00-31'", "'0001-01-01'"]))];
    for [time, datetime, timestamp] in NAMES {
        columns.push((
            time,
            strings(&[
                "'838:59:59'",
                "'-838:59:59'",
                "'00:00:00'",
                "'-00:00:00.000001'",
                "'-00:00:01.5'",
                "'12:34:56.789012'",
                "'-12:34:56.100001'",
                "'-00:00:00.9999'",
                "'23:59:59.99'",
                "'-01:00:00'",
            ]),
        ));
        columns.push((
            datetime,
            strings(&[
                "'0000-00-00 00:00:00'",
                "'9999-12-31 23:59:59'",
                "'2024-02-29 12:34:56.789012'",
                "'1000-01-01 00:00:00.000001'",
                "'2023-02-31 01:02:03.4'",
                "'0001-01-01 00:00:00'",
            ]),
        ));
        columns.push((
            timestamp,
            strings(&[
                "'1970-01-01 00:00:01'",
                "'2038-01-19 03:14:07'",
                "'2024-02-29 12:34:56.789012'",
                "'0000-00-00 00:00:00'",
                "'2001-09-09 01:46:40.000001'",
            ]),
        ));
    }
    if kind == Kind::MariaDb118 {
        columns.push(("TIMESTAMP", strings(&["'2106-02-07 06:28:15'", "'2040-01-01 00:00:00'"])));
    }
    table("times", columns, chance, 20 * rounds)
}

fn labels(chance: &mut Chance, rounds: u64) -> Table {
    let bits = |count: u32| -> Vec<String> {
        let all = if count == 64 { u64::MAX } else { (1 << count) - 1 };
        [0, all, 1, all / 3].map(|number| format!("b'{number:b}'")).to_vec()
    };
    let mut columns: Vec<(&str, Vec<String>)> = vec![
        ("BIT(1)", bits(1)),
        ("BIT(7)", bits(7)),
        ("BIT(8)", bits(8)),
        ("BIT(9)", bits(9)),
        ("BIT(33)", bits(33)),
        ("BIT(63)", bits(63)),
        ("BIT(64)", bits(64)),
        ("ENUM('a','b','it''s','')", strings(&["'a'", "'it''s'", "''", "1", "4", "2"])),
        ("SET('x','y','z')", strings(&["''", "'x,z'", "7", "'y'"])),
    ];
    let many: Vec<String> = (1..=300).map(|label| format!("'l{label}'")).collect();
    let wide_enum = format!("ENUM({})", many.join(","));
    let wide_set = format!("SET({})", many[..64].join(","));
    let set_9 = format!("SET({})", many[..9].join(","));
    let set_20 = format!("SET({})", many[..20].join(","));
    columns.push((&wide_enum, strings(&["1", "255", "256", "300"])));
    columns.push((&wide_set, strings(&["0", "18446744073709551615", "9223372036854775808", "1"])));
    columns.push((&set_9, strings(&["0", "511", "256", "1"])));
    columns.push((&set_20, strings(&["0", "1048575", "524288"])));
    table("labels", columns, chance, 10 * rounds)
}

/// A literal of bytes, in hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("X'{digits}'")
}

fn text(chance: &mut Chance, rounds: u64) -> Table {
    let all: Vec<u8> = (0..=255).collect();
    let repeat = |count: usize| -> Vec<u8> { (0..count).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect() };
    let of = |most: usize| -> Vec<String> {
        let mut values = vec!["''".to_owned(), "'it''s \\\\ \\n \\0'".to_owned(), hex(&repeat(most))];
        values.push(hex(&repeat(most.min(70_000) / 2)));
        values
    };
    let bytes = |most: usize| -> Vec<String> {
        let mut values = of(most);
        values.push(hex(&all[..most.min(256)]));
        values.push(hex(&[0]));
        values
    };
    let columns: Vec<(&str, Vec<String>)> = vec![
        ("CHAR(10)", of(10)),
        ("CHAR(255) CHARACTER SET utf8mb4", of(255)),
        ("CHAR(64) CHARACTER SET utf8mb4", strings(&["'äöü€'", "'日本語'", "'🦭'", "''"])),
        ("BINARY(16)", bytes(16)),
        ("BINARY(255)", bytes(255)),
        ("VARCHAR(10)", of(10)),
        ("VARCHAR(255) CHARACTER SET latin1", of(255)),
        ("VARCHAR(256) CHARACTER SET latin1", of(256)),
        ("VARCHAR(64) CHARACTER SET utf8mb4", strings(&["'äöü€'", "'日本語'", "'🦭'", "''"])),
        ("VARCHAR(2000) CHARACTER SET ucs2", strings(&["'äöü€'", "''"])),
        ("VARBINARY(255)", bytes(255)),
        ("VARBINARY(300)", bytes(300)),
        ("TINYTEXT", of(255)),
        ("TEXT", of(3000)),
        ("MEDIUMTEXT", of(3000)),
        ("LONGTEXT", of(3000)),
        ("TINYBLOB", bytes(255)),
        ("BLOB", bytes(65_535)),
        ("MEDIUMBLOB", bytes(70_000)),
        ("LONGBLOB", bytes(70_000)),
    ];
    table("texts", columns, chance, 6 * rounds)
}

fn geometry() -> Table {
    let shapes = [
        "POINT(1 2.5)",
        "LINESTRING(0 0, 1 1, 2 3)",
        "POLYGON((0 0, 0 1, 1 1, 0 0))",
        "MULTIPOINT(1 1, 2 2)",
        "GEOMETRYCOLLECTION(POINT(1 1), LINESTRING(0 0, 1 1))",
    ];
    let of = |shape: &str| format!("ST_GeomFromText('{shape}')");
    let rows = shapes.iter().map(|shape| format!("{}, {}", of(shape), of("POINT(-1.5 1e300)")));
    Table {
        name: "shapes",
        columns: "g GEOMETRY NULL, p POINT NULL".to_owned(),
        rows: rows.chain(["NULL, NULL".to_owned()]).collect(),
    }
}

fn json_value(chance: &mut Chance, depth: u64) -> String {
    match chance.below(if depth == 0 { 7 } else { 9 }) {
        0 => "null".to_owned(),
        1 => if chance.below(2) == 0 { "true" } else { "false" }.to_owned(),
        2 => {
            let bits = chance.below(64);
            (chance.number().cast_signed() >> bits).to_string()
        }
        3 => (chance.number() >> chance.below(64)).to_string(),
        4 => loop {
            let double = f64::from_bits(chance.number());
            if double.is_finite() {
                break format!("{double:e}");
            }
        },
        5 => {
            let cut = chance.below(1000) as f64 / 8.0;
            format!("{cut}")
        }
        6 => {
            let length = chance.choose(&[0, 1, 5, 127, 128, 300]);
            let texts = ["a", "\\u0001", "\\n", "\\\"", "ä", "🦭", "\\\\", "/"];
            let text: String = (0..*length).map(|_| *chance.choose(&texts)).collect();
            format!("\"{text}\"")
        }
        7 => {
            let items: Vec<String> = (0..chance.below(6)).map(|_| json_value(chance, depth - 1)).collect();
            format!("[{}]", items.join(","))
        }
        _ => {
            let members: Vec<String> =
                (0..chance.below(6)).map(|at| format!("\"k{}\":{}", at * 7, json_value(chance, depth - 1))).collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

fn json(chance: &mut Chance, rounds: u64) -> Table {
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    let mut rows: Vec<String> = [
        "null",
        "true",
        "0",
        "-0.0",
        "-32768",
        "65535",
        "-2147483649",
        "18446744073709551615",
        "1e15",
        "1e-15",
        "1.5e300",
        "[]",
        "{}",
        "\"\"",
        "[[[[[[]]]]]]",
        "{\"\":{\"a\":[1,2,{}]}}",
    ]
    .iter()
    .map(|text| quoted(text))
    .collect();
    rows.extend(strings(&[
        "NULL",
        "JSON_OBJECT('d', CAST('12.50' AS DECIMAL(10,2)), 'n', CAST('-99999999999999999999.99999' AS DECIMAL(30,5)))",
        "JSON_ARRAY(CAST('2024-02-29' AS DATE), CAST('-12:34:56.789' AS TIME(3)), CAST('2024-02-29 01:02:03.000004' AS DATETIME(6)))",
        "JSON_ARRAY(X'00ff27', b'101', CAST(X'00' AS BINARY), CAST(REPEAT('x', 200) AS BINARY))",
        "JSON_ARRAY(CAST(1.5 AS DOUBLE), 1.5, 1e0, 3e100)",
        "CAST(CONCAT('[', REPEAT('12345678,', 20000), '1]') AS JSON)",
        "CAST(CONCAT('{\"a\":\"', REPEAT('y', 70000), '\", \"b\": 70000, \"c\": -70000}') AS JSON)",
    ].map(|text| if text.contains("AS DOUBLE") { "JSON_ARRAY(1.5, 1e0, 3e100)" } else { text })));
    for _ in 0..60 * rounds {
        rows.push(quoted(&json_value(chance, 4)));
    }
    Table { name: "documents", columns: "j JSON NULL".to_owned(), rows }
}

fn vectors(function: &str) -> Table {
    let rows = ["[1,2,3]", "[-0.5,100000000,0.125]"].map(|text| format!("{function}('{text}')"));
    let mut rows = rows.to_vec();
    rows.push("NULL".to_owned());
    Table { name: "vectors", columns: "v VECTOR(3) NULL".to_owned(), rows }
}

fn mariadb_types() -> Table {
    let columns = "u UUID NULL, i INET6 NULL, i4 INET4 NULL, j JSON NULL, vc VARCHAR(200) COMPRESSED NULL, \
                   bc BLOB COMPRESSED NULL, vb VARBINARY(3000) COMPRESSED NULL";
    let long = "REPEAT('compressible ', 100)";
    let rows = [
        "UUID(), '::1', '127.0.0.1', '{\"a\": [1]}', 'short', 'short', ''".to_owned(),
        format!(
            "'ffffffff-ffff-4fff-bfff-ffffffffffff', 'ffff::ffff', '255.255.255.255', '[]', REPEAT('a', 200), {long}, {long}"
        ),
        "NULL, NULL, NULL, NULL, NULL, NULL, NULL".to_owned(),
        "'00000000-0000-0000-0000-000000000000', '::', '0.0.0.0', 'null', '', '', REPEAT('b', 3000)".to_owned(),
    ];
    Table { name: "special", columns: columns.to_owned(), rows: rows.to_vec() }
}
