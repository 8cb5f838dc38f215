//! The source logs whole rows.

use super::prelude::*;

pub(super) const CHECK: Check =
    Check { id: "log.rows", area: Area::Log, title: "the source logs whole rows", judge: Judge::Servers(judge) };

/// Variables that must be set, their values, and the reasons.
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
            Finding::block(Side::Source, evidence).set(source, name, &quote::text(value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use findings::Action;
    use server::{ServerVersion, VersionHints};

    use super::*;
    use crate::preflight::{
        Remedy,
        testing::{finds, with},
    };

    #[test]
    fn statements_and_parts_of_rows_are_refused() {
        for (name, value) in
            [("binlog_format", "MIXED"), ("binlog_row_image", "MINIMAL"), ("binlog_row_value_options", "PARTIAL_JSON")]
        {
            finds(&CHECK, &with(Side::Source, name, value), Effect::Block, value);
        }
    }

    #[test]
    fn an_old_server_is_told_what_belongs_into_its_option_file() {
        let mut facts = with(Side::Source, "binlog_format", "MIXED");
        facts.source.identity.version = ServerVersion::parse("5.7.22", VersionHints::default()).unwrap();
        let [finding] = judge(&facts).try_into().unwrap();
        let text = "SET GLOBAL binlog_format = 'ROW' at the source, and binlog_format = ROW in its option file";
        assert_eq!(finding.remedy, Some(Remedy { action: Action::Advice { text: text.to_owned() }, side: None }));
    }
}
