//! Every JSON value can be written as text and read back as the same value.

use super::prelude::*;
use crate::preflight::JsonScalars;

pub(super) const CHECK: Check = Check {
    id: "tables.json",
    area: Area::Tables,
    title: "JSON values can be sent as text",
    judge: Judge::Tables(judge),
};

fn judge(_: &Facts, tables: &Tables) -> Vec<Finding> {
    let columns = tables.json_columns.iter();
    columns
        .map(|json| match &json.scalars {
            JsonScalars::Found(kind) => {
                let evidence = format!(
                    "column {} has a {kind} in its JSON, which text cannot hold: it would become another number or a string",
                    json.column
                );
                Finding::block(&json.table, evidence).advice(
                    "write such values again from text, as CAST('…' AS JSON), or leave the table out with --exclude",
                )
            }
            unknown @ (JsonScalars::Unknown | JsonScalars::NotListed) => {
                let column = &json.column;
                let evidence = match unknown {
                    JsonScalars::NotListed => format!(
                        "column {column} cannot be searched by this version: a DECIMAL or date in its JSON would become \
                         a number or a string, and 1.0 an integer"
                    ),
                    _ => format!(
                        "column {column} was not read in time: a DECIMAL or date in its JSON would become a number or a \
                         string"
                    ),
                };
                Finding::ask(&json.table, evidence)
                    .advice("use JSON that was written as text, or leave the table out with --exclude")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::{
        JsonColumn,
        testing::{finds, with_tables},
    };

    fn having(scalars: JsonScalars) -> Facts {
        let [table, column] = ["shop.orders", "doc"].map(str::to_owned);
        with_tables(|tables| tables.json_columns = vec![JsonColumn { table, column, scalars }])
    }

    #[test]
    fn what_text_cannot_hold_is_refused() {
        finds(&CHECK, &having(JsonScalars::Found("DECIMAL".to_owned())), Effect::Block, "column doc has a DECIMAL");
        finds(&CHECK, &having(JsonScalars::Unknown), Effect::Ask, "column doc was not read in time");
        finds(&CHECK, &having(JsonScalars::NotListed), Effect::Ask, "column doc cannot be searched");
    }
}
