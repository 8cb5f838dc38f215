//! No table is less encrypted at the target than at the source.

use server::{Flavor, dialect::variable::MARIADB_TABLESPACES};

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
    let less = less.map(|entry| {
        Finding::block(entry.table, "it is encrypted at the source, and would not be at the target")
            .advice("a table without its own encryption cannot be migrated from an encrypted one")
    });
    less.chain(below_a_service(facts, tables)).chain(words_in_clear(facts, tables)).collect()
}

/// Tables that are clear by themselves, but that the source's service may encrypt with its storage, which SQL does not show.
fn below_a_service(facts: &Facts, tables: &Tables) -> Option<Finding> {
    let clear = tables.source.tables.iter().filter(|table| !table.encrypted).count();
    if facts.request.encrypt != Encrypt::AsSource
        || facts.source.service.is_none()
        || facts.storage.is_ok()
        || clear == 0
    {
        return None;
    }
    let evidence = format!(
        "the tables without encryption of their own ({clear}) can be on storage that the service encrypts, and would be clear \
         at the target, of whose storage nothing is known"
    );
    Some(Finding::ask(Side::Source, evidence).option("--encrypt all, or --attest FILE"))
}

/// Tables whose full-text indexes would be in clear. MySQL encrypts the tablespaces of such indexes like the table; MariaDB
/// creates them with the default encryption, whatever the table has (`fts_create_one_index_table` in `fts0fts.cc`).
fn words_in_clear(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let [from_mysql, to_mysql] = facts.servers().map(|server| server.identity.version.flavor.is_mysql_like());
    if !from_mysql || to_mysql || facts.target.is_on(MARIADB_TABLESPACES) {
        return Vec::new();
    }
    let evidence = "it has a full-text index, whose words MariaDB encrypts only by innodb_encrypt_tables";
    let has_words = |table: &&Table| {
        let structure = tables.source.structure.get(&table.full_name());
        let mut objects = structure.into_iter().flat_map(|structure| structure.objects.values());
        objects.any(|attributes| attributes.get("type").is_some_and(|kind| kind == "FULLTEXT"))
    };
    let found = tables.source.tables.iter().filter(|table| facts.request.encrypt.requires(table)).filter(has_words);
    found.map(|table| Finding::block(table.label(), evidence).set(&facts.target, MARIADB_TABLESPACES, "ON")).collect()
}

#[cfg(test)]
mod tests {
    use server::dialect::managed::ManagedService;

    use super::*;
    use crate::catalog::Structure;
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
    fn tables_on_storage_of_a_service_do_not_become_clear_unasked() {
        let mut facts = with_tables(|tables| tables.source.tables[0].encrypted = false);
        facts.request.encrypt = Encrypt::AsSource;
        assert_eq!(found(&CHECK, &facts), []);
        facts.source.service = Some(ManagedService::Rds);
        finds(&CHECK, &facts, Effect::Ask, "source: the tables without encryption of their own (1)");
        for change in [
            |facts: &mut Facts| facts.storage = Ok("attested".to_owned()),
            |facts: &mut Facts| facts.request.encrypt = Encrypt::All,
            |facts: &mut Facts| facts.tables.as_mut().unwrap().source.tables[0].encrypted = true,
        ] {
            let mut facts = facts.clone();
            change(&mut facts);
            assert_eq!(found(&CHECK, &facts), []);
        }
    }

    #[test]
    fn words_of_full_text_indexes_need_an_encrypted_default_of_mariadb() {
        let mut facts = with_tables(|tables| {
            let words = [("type".to_owned(), "FULLTEXT".to_owned())].into();
            let structure = Structure { objects: [("index body".to_owned(), words)].into() };
            let table = tables.source.tables[0].full_name();
            tables.source.structure.insert(table, structure);
        });
        assert_eq!(found(&CHECK, &facts), []);
        facts.target.identity.version.flavor = Flavor::MariaDb;
        finds(&CHECK, &facts, Effect::Block, "full-text index");
        facts.target.variables.insert(MARIADB_TABLESPACES.to_owned(), "ON".to_owned());
        assert_eq!(found(&CHECK, &facts), []);
    }

    #[test]
    fn what_the_target_cannot_encrypt_is_refused() {
        let facts = with_tables(|tables| {
            tables.source.tables.iter_mut().for_each(|table| table.engine = "Aria".to_owned());
        });
        finds(&CHECK, &facts, Effect::Block, "shop.orders: it is encrypted at the source");
    }
}
