//! No table is in a general tablespace or in another directory.

use super::prelude::*;
use crate::catalog::placement;

pub(super) const CHECK: Check = Check {
    id: "tables.placement",
    area: Area::Tables,
    title: "no table is in a general tablespace or another directory",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let placed = tables.source.tables.iter().filter_map(|table| Some((table, placement(&table.create)?)));
    placed
        .map(|(table, place)| {
            Finding::block(table.label(), format!("it is in {place}, which the target may not have: not yet supported"))
                .option("--exclude")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, with_tables};

    fn placed(options: &str) -> Facts {
        let create = format!("CREATE TABLE `orders` (`id` int COMMENT 'TABLESPACE `x`') {options} ENGINE=InnoDB");
        with_tables(|tables| tables.source.tables.iter_mut().for_each(|table| table.create.clone_from(&create)))
    }

    #[test]
    fn places_are_refused() {
        finds(&CHECK, &placed("/*!50100 TABLESPACE `ts` */"), Effect::Block, "tablespace ts");
        finds(&CHECK, &placed("DATA DIRECTORY='/srv/'"), Effect::Block, "directory /srv/");
        assert_eq!(found(&CHECK, &placed("/*!50100 TABLESPACE `innodb_file_per_table` */")), []);
        assert_eq!(found(&CHECK, &placed("")), []);
    }
}
