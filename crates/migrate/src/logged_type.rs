//! Whether a column of the log has the type that it had when the migration began.

use binlog::ColumnType;

use crate::{Column, fixed_binary, value::is_unsigned};

/// Whether a column of the log can be this column. Lengths of text are not compared: the log has them in bytes, and
/// they do not change how values are read.
pub(crate) fn agrees(column: &Column, logged: &binlog::Column) -> bool {
    use ColumnType as T;
    let [first, second] = numbers(&column.column_type);
    let decimals = u8::try_from(first.unwrap_or(0)).ok();
    let is_integer = |bytes: u8| {
        logged.kind == T::Integer { bytes } && logged.unsigned.is_none_or(|unsigned| unsigned == is_unsigned(column))
    };
    let is_blob = |bytes: u8| logged.kind == T::Blob { length_bytes: bytes };
    match (column.data_type.as_str(), logged.kind) {
        ("tinyint", _) => is_integer(1),
        ("smallint", _) => is_integer(2),
        ("mediumint", _) => is_integer(3),
        ("int", _) => is_integer(4),
        ("bigint", _) => is_integer(8),
        ("float", kind) => kind == T::Float,
        ("double", kind) => kind == T::Double,
        ("decimal", T::Decimal { precision, scale }) => {
            (first, second) == (Some(u64::from(precision)), Some(u64::from(scale)))
        }
        ("year", kind) => kind == T::Year,
        ("date", kind) => kind == T::Date,
        ("time", T::Time { decimals: logged }) => Some(logged) == decimals,
        ("datetime", T::DateTime { decimals: logged }) => Some(logged) == decimals,
        ("timestamp", T::Timestamp { decimals: logged }) => Some(logged) == decimals,
        ("time", kind) => kind == T::OldTime,
        ("datetime", kind) => kind == T::OldDateTime,
        ("timestamp", kind) => kind == T::OldTimestamp,
        ("bit", T::Bit { bits }) => first == Some(u64::from(bits)),
        ("enum", kind) => matches!(kind, T::Enum { .. }),
        ("set", kind) => matches!(kind, T::Set { .. }),
        ("char", kind) => matches!(kind, T::String { .. }),
        ("varchar", kind) => matches!(kind, T::VarChar { .. }),
        ("binary", T::String { max_bytes }) | ("varbinary", T::VarChar { max_bytes }) => {
            first == Some(u64::from(max_bytes))
        }
        ("tinytext" | "tinyblob", _) => is_blob(1),
        ("text" | "blob", _) => is_blob(2),
        ("mediumtext" | "mediumblob", _) => is_blob(3),
        ("longtext" | "longblob", _) => is_blob(4),
        ("json", kind) => matches!(kind, T::Json { .. }),
        ("vector", T::Vector { .. }) => true,
        // MariaDB stores and logs it as bytes: four of each dimension.
        ("vector", T::VarChar { max_bytes }) => first == Some(u64::from(max_bytes) / 4),
        ("uuid" | "inet4" | "inet6", T::String { max_bytes }) => {
            fixed_binary::length(column) == Some(usize::from(max_bytes))
        }
        ("decimal" | "bit" | "binary" | "varbinary" | "vector" | "uuid" | "inet4" | "inet6", _) => false,
        // All other types are GEOMETRY and its subtypes.
        (_, kind) => matches!(kind, T::Geometry { .. }),
    }
}

/// The numbers in brackets, such as 10 and 2 in `decimal(10,2) unsigned`.
fn numbers(column_type: &str) -> [Option<u64>; 2] {
    let inside =
        column_type.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(inside, _)| inside);
    let mut numbers = inside.split(',').map(|number| number.trim().parse().ok());
    [numbers.next().flatten(), numbers.next().flatten()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::column;

    fn agree(column_type: &str, kind: ColumnType, unsigned: Option<bool>) -> bool {
        let column = Column {
            column_type: column_type.to_owned(),
            data_type: column_type.split(['(', ' ']).next().unwrap_or_default().to_owned(),
            nullable: true,
            ..column("c")
        };
        let logged = binlog::Column {
            kind,
            nullable: true,
            unsigned,
            name: None,
            collation: None,
            labels: Vec::new(),
            geometry: None,
            dimensions: None,
            visible: None,
        };
        agrees(&column, &logged)
    }

    #[test]
    fn types_are_compared_with_what_changes_their_values() {
        use ColumnType as T;
        assert!(agree("int unsigned", T::Integer { bytes: 4 }, Some(true)));
        assert!(agree("int unsigned", T::Integer { bytes: 4 }, None));
        assert!(!agree("int", T::Integer { bytes: 4 }, Some(true)));
        assert!(!agree("int", T::Integer { bytes: 8 }, Some(false)));
        assert!(agree("decimal(10,2)", T::Decimal { precision: 10, scale: 2 }, Some(false)));
        assert!(!agree("decimal(10,2)", T::Decimal { precision: 10, scale: 3 }, Some(false)));
        assert!(agree("datetime", T::DateTime { decimals: 0 }, None));
        assert!(!agree("datetime(6)", T::DateTime { decimals: 0 }, None));
        assert!(agree("timestamp(3)", T::Timestamp { decimals: 3 }, None));
        assert!(agree("varbinary(200)", T::VarChar { max_bytes: 200 }, None));
        assert!(!agree("varbinary(200)", T::VarChar { max_bytes: 100 }, None));
        assert!(!agree("varchar(20)", T::Blob { length_bytes: 2 }, None));
        assert!(agree("bit(12)", T::Bit { bits: 12 }, None));
        assert!(agree("enum('a','b')", T::Enum { bytes: 1 }, None));
        assert!(agree("point", T::Geometry { length_bytes: 4 }, None));
        assert!(!agree("json", T::Blob { length_bytes: 4 }, None));
        assert!(agree("uuid", T::String { max_bytes: 16 }, None) && agree("inet4", T::String { max_bytes: 4 }, None));
        assert!(
            !agree("inet6", T::String { max_bytes: 4 }, None) && !agree("uuid", T::VarChar { max_bytes: 16 }, None)
        );
        assert!(agree("vector(3)", T::VarChar { max_bytes: 12 }, None));
        assert!(!agree("vector(3)", T::VarChar { max_bytes: 16 }, None));
        assert!(agree("vector(3)", T::Vector { length_bytes: 4 }, None));
    }
}
