//! The key that distinguishes the rows of a table.

use super::{Column, Identity, Order};

/// A part of an index, as the information schema lists it.
#[derive(Clone, Debug)]
pub(super) struct IndexPart {
    pub(super) index: String,
    pub(super) unique: bool,
    /// `None` for an expression.
    pub(super) column: Option<String>,
    /// Whether the index contains only a prefix of the value.
    pub(super) prefix: bool,
    /// Whether rows can be read in its order. MariaDB makes hashes of unique values that are too long for an index.
    pub(super) ordered: bool,
}

/// The primary key, or else the first unique key, by name, whose columns cannot be NULL. Keys over an expression or a
/// prefix do not count: two rows can have the same value in such a column.
pub(super) fn identity(columns: &[Column], parts: &[IndexPart]) -> Option<Identity> {
    let mut indexes: Vec<&[IndexPart]> = parts.chunk_by(|one, next| one.index == next.index).collect();
    indexes.sort_by_key(|parts| parts.first().map(|part| (part.index != "PRIMARY", part.index.clone())));
    indexes.into_iter().find_map(|parts| of_index(columns, parts))
}

fn of_index(columns: &[Column], parts: &[IndexPart]) -> Option<Identity> {
    let positions = parts.iter().map(|part| position(columns, part)).collect::<Option<Vec<usize>>>()?;
    let name = parts.first()?.index.clone();
    // A chunk is read by the columns that are stored.
    let stored = |position: &usize| columns.get(*position).filter(|column| !column.generated);
    let comparable = positions.iter().all(|position| stored(position).and_then(Order::from_column).is_some());
    Some(Identity { index: name, columns: positions, comparable })
}

fn position(columns: &[Column], part: &IndexPart) -> Option<usize> {
    let name = part.column.as_ref().filter(|_| part.unique && !part.prefix && part.ordered)?;
    columns.iter().position(|column| column.name.eq_ignore_ascii_case(name) && !column.nullable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Table, key::KeyColumns, preflight::testing};

    fn column(name: &str, data_type: &str, collation: Option<&str>, nullable: bool) -> Column {
        Column {
            name: name.to_owned(),
            column_type: data_type.to_owned(),
            data_type: data_type.to_owned(),
            charset: collation.and_then(|name| name.split('_').next()).map(str::to_owned),
            collation: collation.map(str::to_owned),
            nullable,
            generated: false,
            persistent: true,
            invisible: false,
        }
    }

    fn part(index: &str, column: &str) -> IndexPart {
        IndexPart {
            index: index.to_owned(),
            unique: true,
            column: Some(column.to_owned()),
            prefix: false,
            ordered: true,
        }
    }

    #[test]
    fn the_primary_key_is_preferred() {
        let columns = [column("a", "int", None, false), column("b", "bigint", None, false)];
        let found = identity(&columns, &[part("A", "a"), part("PRIMARY", "b"), part("PRIMARY", "a")]).unwrap();
        assert_eq!(found, Identity { index: "PRIMARY".to_owned(), columns: vec![1, 0], comparable: true });
    }

    #[test]
    fn what_does_not_distinguish_rows_is_no_identity() {
        let columns = [column("a", "int", None, true), column("b", "varchar", Some("utf8mb4_bin"), false)];
        let not_unique = IndexPart { unique: false, ..part("k", "b") };
        let prefix = IndexPart { prefix: true, ..part("k", "b") };
        let expression = IndexPart { column: None, ..part("k", "b") };
        let hashes = IndexPart { ordered: false, ..part("k", "b") };
        for parts in
            [vec![part("k", "a")], vec![part("k", "a"), part("k", "b")], vec![not_unique], vec![prefix], vec![hashes]]
        {
            assert_eq!(identity(&columns, &parts), None, "{parts:?}");
        }
        assert_eq!(identity(&columns, &[expression]), None);
        assert_eq!(identity(&columns, &[part("k", "b")]).unwrap().columns, [1]);
    }

    #[test]
    fn what_keys_cannot_order_is_not_comparable() {
        for (data_type, collation, comparable) in [
            ("decimal", None, true),
            ("varbinary", None, true),
            ("bit", None, true),
            ("enum", Some("utf8mb4_0900_ai_ci"), false),
            ("set", Some("utf8mb4_bin"), false),
            ("varchar", Some("utf8mb4_0900_bin"), true),
            ("char", Some("latin1_bin"), true),
            ("varchar", Some("utf16_bin"), false),
            ("varchar", Some("utf8mb4_0900_ai_ci"), true),
            ("varchar", Some("utf8mb4_0900_as_cs"), true),
            ("varchar", Some("latin1_swedish_ci"), true),
            ("varchar", Some("utf8mb4_uca1400_as_ci"), false),
            ("varchar", Some("latin2_czech_cs"), false),
            ("varchar", Some("sjis_japanese_ci"), false),
            ("varchar", Some("utf8mb4_nopad_bin"), true),
            ("char", Some("utf8mb4_nopad_bin"), false),
            ("double", None, false),
            ("uuid", None, false),
        ] {
            let columns = [column("id", "int", None, false), column("a", data_type, collation, false)];
            let found = identity(&columns, &[part("PRIMARY", "id"), part("PRIMARY", "a")]).unwrap();
            assert_eq!(found.comparable, comparable, "{data_type} {collation:?}");
            // The plan and the run accept the same keys.
            let table = Table { columns: columns.to_vec(), identity: Some(found), ..testing::table("t") };
            assert_eq!(!KeyColumns::from_table(&table).is_empty(), comparable, "{data_type} {collation:?}");
        }
    }
}
