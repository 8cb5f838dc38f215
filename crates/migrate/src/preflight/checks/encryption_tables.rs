//! No table is less encrypted at the target than at the source.

use server::Flavor;

use super::prelude::*;
use crate::{catalog::Encrypt, encryption};

pub(super) const CHECK: Check = Check {
    id: "encryption.tables",
    area: Area::Encryption,
    title: "no table becomes less encrypted",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    if facts.request.encrypt == Encrypt::AsSource && facts.source.identity.version.flavor == Flavor::MariaDb {
        let evidence = "MariaDB encrypts tables in the background, so that a table can be clear in part: as-source is not \
                        yet supported";
        return vec![Finding::block(Side::Source, evidence).option("--encrypt all")];
    }
    if facts.request.encrypt == Encrypt::Storage {
        // The storage has a check of its own.
        return Vec::new();
    }
    let less = encryption::planned(&tables.source, facts.request.encrypt, &facts.storage)
        .into_iter()
        .filter(encryption::TableEncryption::is_less);
    less.map(|entry| {
        Finding::block(entry.table, "it is encrypted at the source, and would not be at the target")
            .advice("a table without its own encryption cannot be migrated from an encrypted one")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{facts, finds, found, with_tables};

    #[test]
    fn an_encrypted_table_stays_encrypted_without_the_option_too() {
        let mut facts = facts();
        facts.request.encrypt = Encrypt::AsSource;
        assert_eq!(found(&CHECK, &facts), []);
        facts.source.identity.version.flavor = Flavor::MariaDb;
        finds(&CHECK, &facts, Effect::Block, "clear in part");
    }

    #[test]
    fn what_the_target_cannot_encrypt_is_refused() {
        let facts = with_tables(|tables| {
            tables.source.tables.iter_mut().for_each(|table| table.engine = "Aria".to_owned());
        });
        finds(&CHECK, &facts, Effect::Block, "shop.orders: it is encrypted at the source");
    }
}
