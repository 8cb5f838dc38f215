//! Reports columns that a plain `SELECT *` or `INSERT` would handle wrongly.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "tables.columns",
    area: Area::Tables,
    title: "no columns are generated or invisible",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let columns = || tables.source.tables.iter().flat_map(|table| &table.columns);
    let (generated, invisible) =
        (columns().filter(|column| column.generated).count(), columns().filter(|column| column.invisible).count());
    let mut findings = Vec::new();
    if generated > 0 {
        let evidence = format!("{generated} generated columns: the target computes them; stored ones are compared");
        findings.push(Finding::tell("columns", evidence));
    }
    if invisible > 0 {
        findings.push(Finding::tell("columns", format!("{invisible} invisible columns: they are copied too")));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{column, finds, with_tables};

    #[test]
    fn special_columns_are_told() {
        let with = |column: crate::catalog::Column| {
            with_tables(|tables| tables.source.tables.iter_mut().for_each(|table| table.columns.push(column.clone())))
        };
        let generated = with(crate::catalog::Column { generated: true, ..column("vat") });
        finds(&CHECK, &generated, Effect::Tell, "1 generated");
        let invisible = with(crate::catalog::Column { invisible: true, ..column("hidden") });
        finds(&CHECK, &invisible, Effect::Tell, "1 invisible");
    }
}
