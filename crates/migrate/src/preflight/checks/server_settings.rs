//! Settings that change which results programs get from the same rows are equal.

use super::prelude::*;
use crate::catalog::{collation_at, current_name};

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

/// Modes that MySQL 8.0 and later refuses: it has removed them, or only MariaDB has them.
const REMOVED_MODES: [&str; 15] = [
    "DB2",
    "EMPTY_STRING_IS_NULL",
    "IGNORE_BAD_TABLE_OPTIONS",
    "MAXDB",
    "MSSQL",
    "MYSQL323",
    "MYSQL40",
    "NO_AUTO_CREATE_USER",
    "NO_FIELD_OPTIONS",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "ORACLE",
    "POSTGRESQL",
    "SIMULTANEOUS_ASSIGNMENT",
    "TIME_ROUND_FRACTIONAL",
];

fn judge(facts: &Facts) -> Vec<Finding> {
    let known = facts.tables.as_ref().map(|tables| &tables.target_collations);
    let wanted = |name: &str| match name {
        // Only the other fork has collations of other names.
        "collation_server" => {
            let name = facts.source.variable(name);
            known.and_then(|known| collation_at(name, known)).unwrap_or(name).to_owned()
        }
        "sql_mode" if facts.target.identity.version.flavor.is_mysql_like() => modes(facts.source.variable(name)),
        _ => facts.source.variable(known_as(&facts.source, name)).to_owned(),
    };
    let named = SETTINGS.iter().map(|(name, quoted)| (*name, known_as(&facts.target, name), quoted));
    let is_other = |(name, of_target, _): &(&str, &str, &bool)| {
        let (source, target) = (wanted(name), facts.target.variable(of_target));
        current_name(&source) != current_name(target)
    };
    let differ = named.filter(is_other);
    differ
        .map(|(name, of_target, quoted)| {
            let (source, target) = (wanted(name), facts.target.variable(of_target));
            let value = if *quoted { quote::text(&source) } else { source.clone() };
            Finding::tell(Side::Target, format!("{name} is '{target}', and '{source}' at the source")).set(
                &facts.target,
                of_target,
                &value,
            )
        })
        .collect()
}

/// A setting's name at a server. MariaDB before 11.1 has only the older name of the level of isolation.
fn known_as<'n>(server: &ServerFacts, name: &'n str) -> &'n str {
    const OLD_NAME: (&str, &str) = ("transaction_isolation", "tx_isolation");
    let (now, before) = OLD_NAME;
    if name == now && server.variable(now).is_empty() { before } else { name }
}

/// The modes of the source, without those that the target refuses.
fn modes(source: &str) -> String {
    source.split(',').filter(|mode| !REMOVED_MODES.contains(mode)).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn other_settings_are_told() {
        finds(&CHECK, &with(Side::Source, "sql_mode", "ANSI"), Effect::Tell, "sql_mode is '', and 'ANSI'");
        let mut renamed = with(Side::Source, "character_set_server", "utf8");
        renamed.source.variables.insert("collation_server".to_owned(), "utf8_general_ci".to_owned());
        for (name, value) in [("character_set_server", "utf8mb3"), ("collation_server", "utf8mb3_general_ci")] {
            renamed.target.variables.insert(name.to_owned(), value.to_owned());
        }
        assert_eq!(found(&CHECK, &renamed), []);
        let old = with(Side::Source, "sql_mode", "NO_ZERO_DATE,NO_AUTO_CREATE_USER");
        finds(&CHECK, &old, Effect::Tell, "and 'NO_ZERO_DATE' at the source");
    }
}
