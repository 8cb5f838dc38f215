//! The source's log omits no schema.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "log.filters",
    area: Area::Log,
    title: "the source's log omits no schema",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let filter = |(option, value): &(String, String)| {
        Finding::block(Side::Source, format!("{option} is {value}: changes of other schemas are not logged"))
            .advice(format!("remove {option} from its option file and restart it"))
    };
    tables.log_filters.iter().map(filter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with_tables};

    #[test]
    fn filters_are_refused() {
        let facts = with_tables(|tables| tables.log_filters = vec![("binlog-ignore-db".to_owned(), "shop".to_owned())]);
        finds(&CHECK, &facts, Effect::Block, "binlog-ignore-db is shop");
    }
}
