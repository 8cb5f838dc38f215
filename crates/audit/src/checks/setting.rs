//! Variables in option files and on the command line, interpreted as the server does.
//!
//! Both families read `-` as `_` in names, a bare option as ON, `skip_x` and `disable_x` as `x = OFF`, `enable_x` as
//! ON, and ignore an unknown option that begins with `loose_`.

pub(super) use server::option_group::SERVER as SERVER_GROUPS;
use server::option_group::of_one_version;
use server::switch::is_on;
use server::{option_name, switch};

use crate::facts::host::{HostFacts, OptionEntry, Process};
use crate::facts::sql::SqlFacts;
use crate::finding::Evidence;

/// An entry of an option file that sets a variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct OptionSetting<'a> {
    pub(super) entry: &'a OptionEntry,
    /// Whether the name is negated.
    negated: bool,
}

/// An argument of the server's command line that sets a variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Argument<'a> {
    /// The argument.
    pub(super) text: &'a str,
    value: Option<&'a str>,
    negated: bool,
}

impl<'a> OptionSetting<'a> {
    /// The value for the variable.
    pub(super) fn value(&self) -> &'a str {
        value_of(self.entry.value.as_deref(), self.negated)
    }

    /// Whether the value means ON.
    pub(super) fn is_on(&self) -> bool {
        is_on(self.value())
    }

    /// The line as evidence, without a secret.
    pub(super) fn evidence(&self) -> Evidence {
        let value = if self.entry.secret { Some("(secret)") } else { self.entry.value.as_deref() };
        Evidence::Option {
            file: self.entry.file.clone(),
            line: self.entry.line,
            setting: value.map_or_else(|| self.entry.key.clone(), |value| format!("{} = {value}", self.entry.key)),
        }
    }
}

impl<'a> Argument<'a> {
    /// The value for the variable.
    pub(super) fn value(&self) -> &'a str {
        value_of(self.value, self.negated)
    }

    /// Whether the value means ON.
    pub(super) fn is_on(&self) -> bool {
        is_on(self.value())
    }
}

fn value_of(value: Option<&str>, negated: bool) -> &str {
    match (value, negated) {
        (Some(value), false) => value,
        (Some(value), true) if !is_on(value) => "ON",
        (None, false) => "ON",
        (_, true) => "OFF",
    }
}

/// The last entry in the option files that sets `name`; files that the running server does not read are skipped.
pub(super) fn option<'a>(host: &'a HostFacts, groups: &[&str], name: &str) -> Option<OptionSetting<'a>> {
    let in_group = |entry: &&OptionEntry| {
        let group = entry.group.as_str();
        groups.contains(&of_one_version(group).unwrap_or(group))
    };
    host.options.iter().rev().filter(|entry| entry.read_by_server).filter(in_group).find_map(|entry| {
        let negated = sets(&entry.key, name)?;
        Some(OptionSetting { entry, negated })
    })
}

/// The last argument that sets `name`.
pub(super) fn on_command_line<'a>(process: &'a Process, name: &str) -> Option<Argument<'a>> {
    process.command_line.iter().skip(1).rev().find_map(|text| {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (text.as_str(), None),
        };
        let negated = sets(key.strip_prefix("--")?, name)?;
        Some(Argument { text, value, negated })
    })
}

/// Whether `key` sets `name`, and whether it negates it.
///
/// `skip_grant_tables` and similar names are not negations.
fn sets(key: &str, name: &str) -> Option<bool> {
    let key = option_name::with_underscores(key);
    let key = option_name::without_loose(&key);
    if key == name || key.strip_prefix("enable_") == Some(name) {
        return Some(false);
    }
    let negated = key.strip_prefix("skip_").or_else(|| key.strip_prefix("disable_"))?;
    (negated == name).then_some(true)
}

/// Whether two notations of a value mean the same to the server.
pub(super) fn same_value(a: &str, b: &str) -> bool {
    let message = |value: &str| {
        let mut message: Vec<String> = value.split([',', ':']).map(|word| word.trim().to_ascii_lowercase()).collect();
        message.sort();
        message
    };
    match (switch::parse(a), switch::parse(b)) {
        (Some(a), Some(b)) => a == b,
        _ => message(a) == message(b),
    }
}

/// Whether the option files and the command line of the running server are known.
pub(super) fn start_is_known(host: &HostFacts) -> bool {
    host.process.as_ref().is_some_and(|process| !process.command_line.is_empty()) && host.unreadable_options.is_empty()
}

/// A variable's value, distinguishing NULL from an empty string.
pub(super) fn nullable<'a>(sql: &'a SqlFacts, name: &str) -> crate::facts::Observed<Option<&'a str>> {
    sql.variable(name)?;
    let row = sql.rows("variables")?.into_iter().find(|row| row.text("name").eq_ignore_ascii_case(name));
    Ok(row.and_then(|row| row.get("value")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(entries: &[(&str, &str, Option<&str>)]) -> HostFacts {
        let entry = |(line, (group, key, value)): (usize, &(&str, &str, Option<&str>))| OptionEntry {
            file: "/etc/my.cnf".to_owned(),
            line: u32::try_from(line + 1).unwrap(),
            group: (*group).to_owned(),
            key: (*key).to_owned(),
            value: value.map(str::to_owned),
            secret: false,
            read_by_server: true,
        };
        HostFacts { options: entries.iter().enumerate().map(entry).collect(), ..HostFacts::default() }
    }

    #[test]
    fn the_last_entry_of_a_server_group_wins() {
        let host = host(&[
            ("mysqld", "local_infile", Some("1")),
            ("mysqld-8.0", "loose_local_infile", Some("0")),
            ("client", "local_infile", Some("1")),
        ]);
        let found = option(&host, SERVER_GROUPS, "local_infile").unwrap();
        assert_eq!((found.entry.line, found.is_on()), (2, false));
    }

    #[test]
    fn bare_and_negated_options_are_read_as_the_server_does() {
        let host = host(&[
            ("mysqld", "skip_log_bin", None),
            ("mysqld", "log_raw", None),
            ("mysqld", "disable_local_infile", None),
        ]);
        assert_eq!(option(&host, SERVER_GROUPS, "log_bin").unwrap().value(), "OFF");
        assert_eq!(option(&host, SERVER_GROUPS, "log_raw").unwrap().value(), "ON");
        assert_eq!(option(&host, SERVER_GROUPS, "local_infile").unwrap().value(), "OFF");
        assert!(option(&host, SERVER_GROUPS, "general_log").is_none());
    }

    #[test]
    fn values_are_compared_by_meaning() {
        assert!(same_value("1", "ON") && same_value("off", "0"));
        assert!(same_value("TLSv1.3,TLSv1.2", "TLSv1.2, TLSv1.3"));
        assert!(!same_value("TLSv1.2", "TLSv1.2,TLSv1.3"));
        assert!(!same_value("FORCE", "ON"));
    }
}
