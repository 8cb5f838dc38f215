//! How each table is followed: in chunks by its key, or copied whole.

use std::collections::BTreeSet;

use super::prelude::*;
use crate::{
    catalog::{TableName, reaching},
    copy_method::{CopyMethod, cascade_groups},
    preflight::NATIVE_FOREIGN_KEYS,
};

pub(super) const CHECK: Check = Check {
    id: "tables.lane",
    area: Area::Tables,
    title: "each table can be copied in chunks while it changes",
    judge: Judge::Tables(judge),
};

const GIB: u64 = 1 << 30;
/// Size above which a table is copied whole only after the user agrees: the source keeps old versions of rows meanwhile,
/// and the target's binary log gets the table at once.
const LARGE_BYTES: u64 = 10 * GIB;

/// What it means for the users of the source, and for the migration.
const HOW: &str = "copied whole from one snapshot (on MySQL locked for reading for a moment); meanwhile no change is applied, and an \
                   interrupted copy begins again";

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let groups = cascade_groups(&tables.source, facts.source.logs_cascades());
    let whole = |table: &&Table| CopyMethod::of(table, &groups) == CopyMethod::Whole;
    let finding = |table: &Table| {
        let group = groups.iter().find(|group| group.contains(&table.full_name()));
        let others = group.map_or(0, |group| group.len().saturating_sub(1));
        let with = if others > 0 { format!(", together with {others} more") } else { String::new() };
        let why = match &table.identity {
            None => "it has no key that is unique and not NULL",
            Some(identity) if !identity.comparable => "only a server can compare its key",
            Some(_) => "foreign keys change rows, and the source does not log that",
        };
        let evidence = format!("{why}: {HOW}{with}");
        if table.bytes > LARGE_BYTES {
            let gib = table.bytes / GIB;
            return Finding::ask(
                table.label(),
                format!("{evidence}; that is one transaction of {gib} GiB at the target"),
            );
        }
        Finding::tell(table.label(), evidence)
    };
    let found = tables.source.tables.iter().filter(whole).map(finding);
    found.chain(too_deep(facts, tables, &groups)).chain(logged_but_undone(facts, tables)).collect()
}

/// Levels of cascades from which on MySQL since 9.6 goes on after a deadlock, and logs the changes that this has undone. Seen on
/// 9.7.4; not with InnoDB's own foreign keys.
const UNDONE_LEVELS: u32 = 2;

/// Tables whose cascades can be in the log of the source although they were undone.
fn logged_but_undone(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    if !facts.source.logs_cascades() {
        return Vec::new();
    }
    let finding = |(schema, name): TableName| {
        let evidence = "its foreign keys change rows in two or more levels of tables: after a deadlock in that, the source goes on, \
                        and logs what it has undone, so that rows differ";
        let advice = format!("set {NATIVE_FOREIGN_KEYS} = ON in the option file of the source, and restart it");
        Finding::tell(format!("{schema}.{name}"), evidence).advice(advice)
    };
    reaching(&tables.source, UNDONE_LEVELS).into_iter().map(finding).collect()
}

/// Levels of cascades of which MySQL since 9.6 leaves out rows, and from which on it refuses tables that reference
/// themselves. Seen on 9.7.4: a deletion left rows of the second level whose parents were gone, or ended with error 6575. With
/// InnoDB's own foreign keys it did not.
const LEVELS: u32 = 3;

/// Tables whose changes the target's foreign keys would repeat wrongly.
fn too_deep(facts: &Facts, tables: &Tables, groups: &[BTreeSet<TableName>]) -> Vec<Finding> {
    if groups.is_empty() || !facts.target.logs_cascades() {
        return Vec::new();
    }
    let finding = |(schema, name): TableName| {
        let evidence = "its foreign keys change rows in three or more levels of tables, and the target does not do that \
                        completely";
        let advice = format!("set {NATIVE_FOREIGN_KEYS} = ON in the option file of the target, and restart it");
        Finding::block(format!("{schema}.{name}"), evidence).advice(advice)
    };
    reaching(&tables.source, LEVELS).into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{cascade, finds, found, table, with_tables};

    #[test]
    fn tables_without_a_comparable_key_are_told() {
        let opaque = with_tables(|tables| {
            tables.source.tables.iter_mut().for_each(|table| table.identity.as_mut().unwrap().comparable = false);
        });
        finds(&CHECK, &opaque, Effect::Tell, "shop.orders: only a server can compare its key");
        let keyless = with_tables(|tables| tables.source.tables.iter_mut().for_each(|table| table.identity = None));
        finds(&CHECK, &keyless, Effect::Tell, "shop.orders: it has no key");
    }

    #[test]
    fn cascades_depend_on_the_log() {
        let mut facts = with_tables(|tables| {
            tables.source.tables.push(table("lines"));
            tables.source.foreign_keys = vec![cascade("lines", "orders")];
        });
        assert_eq!(found(&CHECK, &facts), []);
        let mut deeper = facts.clone();
        deeper.tables.as_mut().unwrap().source.foreign_keys.push(cascade("parts", "lines"));
        finds(&CHECK, &deeper, Effect::Tell, "shop.orders: its foreign keys change rows in two or more levels");
        deeper.source.variables.insert(NATIVE_FOREIGN_KEYS.to_owned(), "ON".to_owned());
        assert!(found(&CHECK, &deeper).iter().all(|(_, evidence)| !evidence.contains("undone")));
        facts.source.identity.version.minor = 5;
        let told = found(&CHECK, &facts);
        assert!(told.iter().all(|(_, evidence)| evidence.ends_with(", together with 1 more")), "{told:?}");
        assert_eq!(told.len(), 2);
    }

    #[test]
    fn the_target_repeats_two_levels_of_cascades() {
        let mut facts = with_tables(|tables| {
            tables.source.tables.extend(["lines", "parts"].map(table));
            tables.source.foreign_keys = vec![cascade("lines", "orders"), cascade("parts", "lines")];
        });
        facts.source.identity.version.minor = 5;
        assert!(found(&CHECK, &facts).iter().all(|(effect, _)| *effect == Effect::Tell));
        facts.tables.as_mut().unwrap().source.foreign_keys.push(cascade("rest", "parts"));
        let is_refused = |(effect, text): &(Effect, String)| {
            *effect == Effect::Block
                && text.starts_with("shop.orders: its foreign keys change rows in three or more levels")
        };
        assert!(found(&CHECK, &facts).iter().any(is_refused));
        facts.target.variables.insert(NATIVE_FOREIGN_KEYS.to_owned(), "ON".to_owned());
        assert!(found(&CHECK, &facts).iter().all(|(effect, _)| *effect == Effect::Tell));
    }
}
