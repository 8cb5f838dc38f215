//! The source logs whole rows.

use super::prelude::*;

pub(super) const CHECK: Check =
    Check { id: "log.rows", area: Area::Log, title: "the source logs whole rows", judge: Judge::Servers(judge) };

/// Variables that have to be set, their values, and why.
pub(crate) const ROW_SETTINGS: [(&str, &str, &str); 3] = [
    ("binlog_format", "ROW", "statements cannot be applied exactly"),
    ("binlog_row_image", "FULL", "columns that did not change are not logged"),
    ("binlog_row_value_options", "", "only parts of JSON documents are logged"),
];

fn judge(facts: &Facts) -> Vec<Finding> {
    let source = &facts.source;
    let wrong = ROW_SETTINGS.iter().filter(|(name, value, _)| !source.variable(name).eq_ignore_ascii_case(value));
    wrong
        .map(|(name, value, why)| {
            let evidence = format!("{name} is {}: {why}", source.variable(name));
            let statement = format!("SET PERSIST {name} = '{value}'");
            Finding::block(Side::Source, evidence).run(Side::Source, statement)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with};

    #[test]
    fn statements_and_parts_of_rows_are_refused() {
        for (name, value) in
            [("binlog_format", "MIXED"), ("binlog_row_image", "MINIMAL"), ("binlog_row_value_options", "PARTIAL_JSON")]
        {
            finds(&CHECK, &with(Side::Source, name, value), Severity::Block, value);
        }
    }
}
