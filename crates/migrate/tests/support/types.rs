//! A table with every type that two servers share, and its extreme values.

use harness::Kind;

use super::Kinds;

/// A column: its name, its type, how [`dump`] prints it, and its values in [`ROWS`].
struct Column {
    name: &'static str,
    kind: &'static str,
    print: Print,
    values: [&'static str; 3],
}

/// Prints of a value that hide no difference.
enum Print {
    Plain,
    /// The bytes.
    Bytes,
    /// A hash of a long value.
    Hash,
    /// A number that the server would print as a label or as bytes.
    Number,
    /// The bits of a floating-point number.
    Bits,
}

const fn column(name: &'static str, kind: &'static str, print: Print, values: [&'static str; 3]) -> Column {
    Column { name, kind, print, values }
}

use Print::{Bits, Bytes, Hash, Number, Plain};

/// The rows: lowest values, highest values, others, and NULL.
pub(crate) const ROWS: [&str; 4] = ["lowest", "highest", "others", "NULL"];

/// Types that both forks have.
const COLUMNS: [Column; 51] = [
    column("ti", "TINYINT", Plain, ["-128", "127", "0"]),
    column("tu", "TINYINT UNSIGNED", Plain, ["0", "255", "1"]),
    column("si", "SMALLINT", Plain, ["-32768", "32767", "-1"]),
    column("su", "SMALLINT UNSIGNED", Plain, ["0", "65535", "1"]),
    column("mi", "MEDIUMINT", Plain, ["-8388608", "8388607", "-1"]),
    column("mu", "MEDIUMINT UNSIGNED", Plain, ["0", "16777215", "1"]),
    column("i", "INT", Plain, ["-2147483648", "2147483647", "-1"]),
    column("iu", "INT UNSIGNED", Plain, ["0", "4294967295", "2147483648"]),
    column("bi", "BIGINT", Plain, ["-9223372036854775808", "9223372036854775807", "-1"]),
    column("bu", "BIGINT UNSIGNED", Plain, ["0", "18446744073709551615", "9223372036854775808"]),
    column("zf", "INT(9) UNSIGNED ZEROFILL", Plain, ["0", "4294967295", "7"]),
    column(
        "de",
        "DECIMAL(65,30)",
        Plain,
        [
            "-99999999999999999999999999999999999.999999999999999999999999999999",
            "99999999999999999999999999999999999.999999999999999999999999999999",
            "-0.000000000000000000000000000001",
        ],
    ),
    column("dn", "DECIMAL(10,0)", Plain, ["-9999999999", "9999999999", "0"]),
    column("f", "FLOAT", Bits, ["-3.402823466e38", "3.402823466e38", "1.401298464e-45"]),
    column("f3", "FLOAT", Bits, ["1.17549435e-38", "16777217", "0.1"]),
    column("d", "DOUBLE", Bits, ["-1.7976931348623157e308", "1.7976931348623157e308", "4.9e-324"]),
    column("d3", "DOUBLE", Bits, ["2.2250738585072014e-308", "9007199254740993", "0.1"]),
    column("b1", "BIT(1)", Number, ["0", "1", "1"]),
    column("b64", "BIT(64)", Number, ["0", "18446744073709551615", "9223372036854775808"]),
    column("y", "YEAR", Plain, ["1901", "2155", "0"]),
    column("da", "DATE", Plain, ["'1000-01-01'", "'9999-12-31'", "'0000-00-00'"]),
    column("di", "DATE", Plain, ["'2024-02-31'", "'2024-00-00'", "'0001-01-01'"]),
    column("dt", "DATETIME", Plain, ["'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'", "'0000-00-00 00:00:00'"]),
    column(
        "d6",
        "DATETIME(6)",
        Plain,
        ["'1000-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'", "'2024-02-29 12:00:00.5'"],
    ),
    column("t", "TIME", Plain, ["'-838:59:59'", "'838:59:59'", "'-00:00:01'"]),
    column("t6", "TIME(6)", Plain, ["'-838:59:59.999999'", "'838:59:59.999999'", "'-00:00:00.000001'"]),
    column("t3", "TIME(3)", Plain, ["'-00:00:00.001'", "'-01:00:00.999'", "'00:00:00'"]),
    column("ts", "TIMESTAMP NULL", Plain, ["'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'", "'0000-00-00 00:00:00'"]),
    column(
        "s6",
        "TIMESTAMP(6) NULL",
        Plain,
        ["'1970-01-01 00:00:01.000001'", "'2038-01-19 03:14:07.999999'", "'2024-02-29 00:00:00.1'"],
    ),
    column("c", "CHAR(10)", Bytes, ["''", "'0123456789'", "' a '"]),
    column(
        "cu",
        "CHAR(10) CHARACTER SET utf16",
        Bytes,
        ["''", "REPEAT(_utf8mb4 x'f09f9880', 10)", "_utf8mb4 x'c3a45c'"],
    ),
    column("cs", "CHAR(10) CHARACTER SET sjis", Bytes, ["''", "_sjis x'835c835c'", r"'\\'"]),
    column("cg", "VARCHAR(20) CHARACTER SET gbk", Bytes, ["''", "_gbk x'bf5cb05c'", "'a  '"]),
    column(
        "u8",
        "VARCHAR(300) CHARACTER SET utf8mb4",
        Bytes,
        [
            "''",
            "REPEAT(_utf8mb4 x'f09f9880', 300)",
            "CONCAT('tab', x'09', 'line', x'0a0d00', 'N', x'5c', x'5c4e', ' ')",
        ],
    ),
    column("bin", "BINARY(8)", Bytes, ["''", "x'ffffffffffffffff'", "x'0061000000'"]),
    column("vb", "VARBINARY(300)", Bytes, ["''", "REPEAT(x'ff', 300)", "x'00090a0d1a225c27'"]),
    column("tt", "TINYTEXT", Bytes, ["''", "REPEAT('x', 255)", "x'c3a4'"]),
    column("tx", "TEXT CHARACTER SET ucs2", Bytes, ["''", "REPEAT(_utf8mb4 x'c3bc', 30000)", "x'000a'"]),
    column("mt", "MEDIUMTEXT", Hash, ["''", "REPEAT('ab', 100000)", "' '"]),
    column("lt", "LONGTEXT", Hash, ["''", "REPEAT('cd', 100000)", r"'\''"]),
    column("tb", "TINYBLOB", Bytes, ["''", "REPEAT(x'5c', 255)", "x'00'"]),
    column("bl", "BLOB", Hash, ["''", "REPEAT(x'0a', 65535)", "x'5c'"]),
    column("mb", "MEDIUMBLOB", Hash, ["''", "REPEAT(x'00', 100000)", "x'5c4e'"]),
    column("lb", "LONGBLOB", Hash, ["''", "REPEAT(x'09', 100000)", "x'ff'"]),
    column("e", "ENUM('a','1','ü','b,c','')", Number, ["'a'", "''", "'1'"]),
    column("st", "SET('x','y','1','z w','')", Number, ["''", "'x,y,1,z w'", "16"]),
    column("j", "JSON", Bytes, ["'{}'", r#"'{"k": [1.0, 1e300, null, true, "\\u00e4\\n"]}'"#, "'90.33333333333333'"]),
    column("p", "POINT", Bytes, ["POINT(-1.7976931348623157e308, 4.9e-324)", "POINT(0.1, -0.2)", "POINT(0, 0)"]),
    column(
        "g",
        "GEOMETRY",
        Bytes,
        [
            "ST_GeomFromText('LINESTRING(0 0,1 1)', 4326)",
            "ST_GeomFromText('POLYGON((0 0,9 0,9 9,0 0))')",
            "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2))')",
        ],
    ),
    // MySQL has another name for the type.
    column(
        "gc",
        "GEOMETRYCOLLECTION",
        Bytes,
        [
            "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(0 0))')",
            "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))')",
            "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(-1 1e300))')",
        ],
    ),
    column("hidden", "INT INVISIBLE", Plain, ["7", "-7", "0"]),
];

/// Types of MariaDB alone. UUIDs are stored in another order of their bytes, and those with a later version in the same one;
/// zeros at the end of a value are not in the log.
const OF_MARIADB: [Column; 4] = [
    column(
        "uu",
        "UUID",
        Bytes,
        [
            "'00000000-0000-0000-0000-000000000000'",
            "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
            "'123e4567-e89b-12d3-a456-426614170000'",
        ],
    ),
    column(
        "u7",
        "UUID",
        Bytes,
        [
            "'01890000-0000-7000-8000-000000000000'",
            "'018e4c7c-7c7c-7abc-bdef-0123456789ab'",
            "'00112233-4455-4677-8899-aabbccddee00'",
        ],
    ),
    column("i6", "INET6", Bytes, ["'::'", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'", "'::ffff:192.168.0.0'"]),
    column("i4", "INET4", Bytes, ["'0.0.0.0'", "'255.255.255.255'", "'10.1.0.0'"]),
];

/// Types of MariaDB since 11.7.
const OF_NEW_MARIADB: [Column; 1] = [column(
    "ve",
    "VECTOR(3)",
    Bytes,
    ["VEC_FromText('[0,0,0]')", "VEC_FromText('[3.4028235e38,-1,1e-45]')", "VEC_FromText('[-3.4028235e38,0.1,1e-38]')"],
)];

/// The columns that both servers can have.
fn columns(kinds: Kinds) -> impl Iterator<Item = &'static Column> {
    let both = [kinds.source, kinds.target];
    let of_mariadb = OF_MARIADB.iter().filter(move |_| both.iter().all(|kind| kind.is_mariadb()));
    let of_new = OF_NEW_MARIADB.iter().filter(move |_| both == [Kind::MariaDb118; 2]);
    COLUMNS.iter().chain(of_mariadb).chain(of_new)
}

/// Creates a table with this definition of its column `id`.
pub(crate) fn create(kinds: Kinds, table: &str, id: &str) -> String {
    let columns: Vec<_> = columns(kinds).map(|column| format!("`{}` {}", column.name, column.kind)).collect();
    format!("CREATE TABLE shop.{table} ({id}, {}) CHARACTER SET latin1", columns.join(", "))
}

/// Inserts the rows, with ids from `first` on. The session accepts dates that do not exist. MariaDB's TIME has fractions of
/// the last second, which MySQL's does not have.
pub(crate) fn insert(kinds: Kinds, table: &str, first: usize) -> String {
    let names: Vec<_> = columns(kinds).map(|column| format!("`{}`", column.name)).collect();
    let rows = (0..ROWS.len()).map(|row| {
        let value = |column: &Column| column.values.get(row).map_or("NULL", |value| *value);
        let values: Vec<_> = columns(kinds).map(value).collect();
        format!("({}, {})", first + row, values.join(", "))
    });
    let statement = format!(
        "SET NAMES utf8mb4; SET time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES,STRICT_ALL_TABLES'; \
         INSERT INTO shop.{table} (id, {}) VALUES {}",
        names.join(", "),
        rows.collect::<Vec<_>>().join(", ")
    );
    let last_second = kinds.source.is_mariadb() && kinds.target.is_mariadb();
    if last_second { statement } else { statement.replace("838:59:59.9", "838:59:58.9") }
}

/// Prints every bit of the rows.
pub(crate) fn dump(kinds: Kinds, table: &str) -> String {
    let prints: Vec<_> = columns(kinds)
        .map(|Column { name, print, .. }| match print {
            Plain => format!("`{name}`"),
            Bytes => format!("HEX(`{name}`)"),
            Hash => format!("SHA2(`{name}`, 512)"),
            Number => format!("`{name}` + 0"),
            Bits => format!("HEX(POINT(`{name}`, 0))"),
        })
        .collect();
    format!("SET time_zone = '+00:00'; SELECT id, {} FROM shop.{table} ORDER BY id", prints.join(", "))
}
