//! Each table has a key by which it can be copied while clients change it.

use super::prelude::*;
use crate::preflight::{CopyMethod, copy_method, pairs::logs_cascades};

pub(super) const CHECK: Check = Check {
    id: "tables.lane",
    area: Area::Tables,
    title: "each table has a key by which changes can be followed",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let logged = logs_cascades(&facts.source.identity.version);
    let methods = tables.source.tables.iter().map(|table| (table, copy_method(&tables.source, table, logged)));
    methods
        .filter(|(_, method)| !CopyMethod::AVAILABLE.contains(method))
        .map(|(table, method)| {
            let why = match (method, &table.identity) {
                (CopyMethod::RereadChanged, _) => "only the server can compare its key (method touch)",
                (_, None) => "it has no key that is unique and not NULL (method lock)",
                (_, Some(_)) => "foreign keys change its rows, and the source does not log that (method lock)",
            };
            Finding::block(table.label(), format!("{why}: not yet supported"))
                .advice("leave it out with --exclude, or give it an integer primary key")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{cascade, finds, found, table, with_tables};

    #[test]
    fn methods_that_are_missing_are_refused() {
        let opaque = with_tables(|tables| {
            tables.source.tables.iter_mut().for_each(|table| table.identity.as_mut().unwrap().comparable = false);
        });
        finds(&CHECK, &opaque, Effect::Block, "shop.orders: only the server can compare its key (method touch)");
        let keyless = with_tables(|tables| tables.source.tables.iter_mut().for_each(|table| table.identity = None));
        finds(&CHECK, &keyless, Effect::Block, "shop.orders: it has no key");
    }

    #[test]
    fn cascades_depend_on_the_log() {
        let mut facts = with_tables(|tables| {
            tables.source.tables.push(table("lines"));
            tables.source.foreign_keys = vec![cascade("lines", "orders")];
        });
        assert_eq!(found(&CHECK, &facts), []);
        facts.source.identity.version.minor = 5;
        assert_eq!(found(&CHECK, &facts).len(), 2);
    }
}
