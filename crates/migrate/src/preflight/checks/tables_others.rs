//! Schemas contain only tables and code: no sequences or other objects.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "tables.others",
    area: Area::Tables,
    title: "there is nothing but tables and code",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let finding = |(kind, (schema, name)): &(String, (String, String))| {
        Finding::block(format!("{schema}.{name}"), format!("a {} is not yet supported", kind.to_lowercase()))
            .option("--exclude")
    };
    tables.source.others.iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with_tables};

    #[test]
    fn sequences_are_refused() {
        let sequence = ("SEQUENCE".to_owned(), ("shop".to_owned(), "numbers".to_owned()));
        let facts = with_tables(|tables| tables.source.others = vec![sequence]);
        finds(&CHECK, &facts, Effect::Block, "shop.numbers: a sequence is not yet supported");
    }
}
