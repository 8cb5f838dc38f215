//! `ddl.log`, in which MariaDB notes each change of a table's definition while a backup runs.
//!
//! Each line has fields separated by tabs: time, kind, engine, whether it is partitioned, schema, table, id, and the
//! last five again for the table after the change. Names are spelled as in file names. Source: `sql/backup.cc`
//! (`backup_log_ddl`); confirmed on MariaDB 10.11.

use std::{collections::BTreeSet, path::Path};

use innodb::server_file::full_text_table_id;

/// Name of the file, in the data directory.
pub(super) const NAME: &str = "ddl.log";

/// The tables whose definition changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ChangedTables {
    /// Pairs of schema and table.
    tables: BTreeSet<(String, String)>,
}

const SCHEMA: usize = 4;
const NEW_SCHEMA: usize = 9;
const FIELDS: usize = 12;

impl ChangedTables {
    /// Reads the log.
    ///
    /// # Errors
    /// The line that does not parse.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut changed = Self::default();
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            if fields.len() != FIELDS {
                return Err(line.to_owned());
            }
            for schema in [SCHEMA, NEW_SCHEMA] {
                if let Some([schema, table]) = fields.get(schema..schema + 2)
                    && !schema.is_empty()
                {
                    changed.tables.insert(((*schema).to_owned(), (*table).to_owned()));
                }
            }
        }
        Ok(changed)
    }

    /// Whether a tablespace, given by its path in the data directory, belongs to one of the tables: its own file or one
    /// of its partitions. Also true for every full-text index of the same schema, since its name does not contain the
    /// table's.
    pub(super) fn contains(&self, path: &Path) -> bool {
        let schema = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let (Some(schema), Some(name)) = (schema, path.file_stem().and_then(|name| name.to_str())) else {
            return false;
        };
        // A partition's file is named TABLE#P#PARTITION; the `P` may be lower-case.
        let table = name.split_once("#P#").or_else(|| name.split_once("#p#")).map_or(name, |(table, _)| table);
        let mut of_schema = self.tables.iter().filter(|(of, _)| of == schema);
        of_schema.any(|(_, changed)| changed == table || full_text_table_id(name).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by MariaDB 10.11.19.
    const LOG: &str = "\
2026-11-24  6:24:02\tRENAME\tInnoDB\t0\td@002d@1o\tt@0020@0k\ta3e1ff52-e7cf-11f1-a120-02fc00000001\tInnoDB\t0\tx\tu@002fv\ta3e1ff52-e7cf-11f1-a120-02fc00000001
2026-11-24  6:24:02\tTRUNCATE\tInnoDB\t1\tx\tp\ta33ce58f-e7cf-11f1-a120-02fc00000001\t\t0\t\t\t
2026-11-24  6:24:02\tCREATE\tVIEW\t0\tx\tv\t\t\t0\t\t\t
2026-11-24  6:24:03\tDROP\tDATABASE\t0\td@002d@1o\t\t\t\t0\t\t\t
";

    #[test]
    fn files_of_changed_tables_are_recognised() {
        let changed = ChangedTables::parse(LOG).unwrap();
        for path in ["d@002d@1o/t@0020@0k.ibd", "x/u@002fv.ibd", "x/p#P#p0.ibd", "x/FTS_0000000000000012_CONFIG.ibd"] {
            assert!(changed.contains(Path::new(path)), "{path}");
        }
        for path in ["x/q.ibd", "y/p.ibd", "ibdata1", "y/FTS_0000000000000012_CONFIG.ibd"] {
            assert!(!changed.contains(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn an_unknown_line_is_reported() {
        assert_eq!(ChangedTables::parse("").unwrap(), ChangedTables::default());
        assert_eq!(ChangedTables::parse("ALTER\tx").unwrap_err(), "ALTER\tx");
    }
}
