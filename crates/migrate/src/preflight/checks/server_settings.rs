//! Settings that change what programs get from the same rows are equal.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "server.settings",
    area: Area::Server,
    title: "settings that programs notice are equal",
    judge: Judge::Servers(judge),
};

/// Settings, and whether their value has to be quoted.
const SETTINGS: [(&str, bool); 7] = [
    ("sql_mode", true),
    ("character_set_server", true),
    ("collation_server", true),
    ("time_zone", true),
    ("transaction_isolation", true),
    ("explicit_defaults_for_timestamp", false),
    ("event_scheduler", false),
];

fn judge(facts: &Facts) -> Vec<Finding> {
    let differ = SETTINGS.iter().filter(|(name, _)| facts.source.variable(name) != facts.target.variable(name));
    differ
        .map(|(name, quoted)| {
            let (source, target) = (facts.source.variable(name), facts.target.variable(name));
            let value = if *quoted { quote::text(source) } else { source.to_owned() };
            Finding::tell(Side::Target, format!("{name} is '{target}', and '{source}' at the source"))
                .run(Side::Target, format!("SET PERSIST {name} = {value}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, with};

    #[test]
    fn other_settings_are_told() {
        finds(&CHECK, &with(Side::Source, "sql_mode", "ANSI"), Severity::Tell, "sql_mode is '', and 'ANSI'");
    }
}
