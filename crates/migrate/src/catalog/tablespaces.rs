//! Which tables are encrypted, by the server's list of tablespaces.

use std::collections::BTreeMap;

use innodb::file_name;
use server::{Connection, Error, Flavor, ServerVersion, dialect};

/// Separator between the names of a table and of its partition.
const PARTITION: &str = "#p#";

/// The tablespaces of a server: whether each is encrypted, by `schema/table` or by its own name.
#[derive(Debug, Default)]
pub(super) struct TablespaceEncryption {
    encrypted: BTreeMap<String, bool>,
}

impl TablespaceEncryption {
    /// Asks the server. Needs PROCESS.
    pub(super) fn read(connection: &mut Connection, version: &ServerVersion) -> Result<Self, Error> {
        let mut spaces = Self::default();
        let Some(query) = dialect::query(version, "tablespaces") else { return Ok(spaces) };
        let rows = query.run(connection)?;
        let encoded = dialect::innodb::dictionary(version).encoded || version.flavor == Flavor::MariaDb;
        for row in 0..rows.rows.len() {
            let Some(name) = rows.value(row, "name") else { continue };
            let encrypted = rows.value(row, "encrypted") == Some("Y");
            let name = if encoded { decoded(name) } else { name.to_owned() };
            // A table is encrypted if all its partitions are. A table's own name may look like a partition's.
            let table = of_table(&name);
            for name in [Some(name.clone()), (table != name).then_some(table)].into_iter().flatten() {
                spaces.encrypted.entry(name).and_modify(|all| *all &= encrypted).or_insert(encrypted);
            }
        }
        Ok(spaces)
    }

    /// Whether the table is encrypted: its own tablespace, or else the one that its options name, or else the system
    /// tablespace.
    pub(super) fn is_encrypted(&self, schema: &str, table: &str, named: Option<&str>) -> bool {
        let own = self.encrypted.get(&format!("{schema}/{table}"));
        let shared = || self.encrypted.get(named.unwrap_or("innodb_system"));
        own.or_else(shared).copied().unwrap_or(false)
    }
}

fn decoded(name: &str) -> String {
    name.split('/').map(file_name::decoded).collect::<Vec<_>>().join("/")
}

/// `schema/table` for the tablespace of a table or of a partition.
fn of_table(space: &str) -> String {
    // Older versions write `#P#`.
    let lower = space.to_ascii_lowercase();
    lower.find(PARTITION).and_then(|at| space.get(..at)).unwrap_or(space).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_belong_to_their_table() {
        assert_eq!(of_table("shop/orders#p#p0#sp#s1"), "shop/orders");
        assert_eq!(of_table("shop/Orders#P#P0"), "shop/Orders");
        assert_eq!(of_table("shop/orders"), "shop/orders");
    }

    #[test]
    fn a_table_without_its_own_space_is_as_the_shared_one() {
        let encrypted = [("ts", true), ("innodb_system", false), ("shop/own", true)];
        let spaces = TablespaceEncryption { encrypted: encrypted.map(|(name, is)| (name.to_owned(), is)).into() };
        assert!(spaces.is_encrypted("shop", "own", None));
        assert!(spaces.is_encrypted("shop", "in_ts", Some("ts")));
        assert!(!spaces.is_encrypted("shop", "in_system", None));
    }
}
