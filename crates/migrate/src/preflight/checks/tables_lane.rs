//! How each table is followed: in chunks by its key, or copied whole.

use super::prelude::*;
use crate::preflight::{CopyMethod, cascade_groups};

pub(super) const CHECK: Check = Check {
    id: "tables.lane",
    area: Area::Tables,
    title: "each table can be copied in chunks while it changes",
    judge: Judge::Tables(judge),
};

/// What it means for the users of the source, and for the migration.
const HOW: &str = "copied whole from one snapshot (on MySQL locked for reading for a moment); meanwhile no change is applied, and an \
                   interrupted copy begins again";

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let groups = cascade_groups(&tables.source, &facts.source);
    let whole = |table: &&Table| CopyMethod::of(table, &groups) == CopyMethod::SingleSnapshot;
    let finding = |table: &Table| {
        let group = groups.iter().find(|group| group.contains(&table.full_name()));
        let others = group.map_or(0, |group| group.len().saturating_sub(1));
        let with = if others > 0 { format!(", together with {others} more") } else { String::new() };
        let why = match &table.identity {
            None => "it has no key that is unique and not NULL",
            Some(identity) if !identity.comparable => "only a server can compare its key",
            Some(_) => "foreign keys change rows, and the source does not log that",
        };
        Finding::tell(table.label(), format!("{why}: {HOW}{with}"))
    };
    tables.source.tables.iter().filter(whole).map(finding).collect()
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
        facts.source.identity.version.minor = 5;
        let told = found(&CHECK, &facts);
        assert!(told.iter().all(|(_, evidence)| evidence.ends_with(", together with 1 more")), "{told:?}");
        assert_eq!(told.len(), 2);
    }
}
