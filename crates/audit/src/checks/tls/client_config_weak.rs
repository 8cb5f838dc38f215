//! `tls-client-config-weak`.

use findings::Severity;
use server::SslMode;
use server::{Capability, option_group};
use server::{option_name, switch::option_is_on};

use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, Certainty, ClosedBy, Exposes, LockedOut};
use crate::facts::host::OptionEntry;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "tls-client-config-weak",
    title: "An option file lets clients connect in clear or to any server",
    severity: Severity::High,
    explanation: "skip-ssl and ssl-mode=DISABLED switch TLS off, PREFERRED silently falls back to clear text, and \
        without verification a man in the middle can read the connection. On MariaDB before 11.4 the options ssl, \
        ssl-ca, ssl-cipher and tls-version do not enforce TLS: if the server, or a man in the middle, offers no TLS, \
        the client continues in clear. So does a newer client with ssl-verify-server-cert off. Judged from the client \
        groups of the option files on this host.",
    applies: "hosts with client options",
    fix: "ssl-mode=VERIFY_IDENTITY with ssl-ca on MySQL, ssl-verify-server-cert with ssl-ca on MariaDB",
    cost: "none on the server; clients refuse servers that they cannot verify",
    standards: &["PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Help(
        Attacker::Sniffer,
        "Sessions of clients on this host whose options switch TLS or its verification off",
    ),
    closed_by: ClosedBy::Administrator,
    locked_out: Some(LockedOut::new(Certainty::Configured, "options switch TLS off")),
    judge,
};

/// Options that MariaDB's clients before 11.4 ignore with a server without TLS.
const ADVISORY: &[&str] = &["ssl", "ssl_ca", "ssl_capath", "ssl_cert", "ssl_key", "ssl_cipher", "tls_version"];

/// Effect of the last line about an option in a group of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    Tls(bool),
    Verify(bool),
    Mode(Option<SslMode>),
    Advice,
}

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let host = cx.facts.host()?;
    let mut results = CheckResults::new();
    let lines: Vec<(&OptionEntry, Setting)> = host
        .options
        .iter()
        .filter(|entry| option_group::is_client(&entry.group))
        .filter_map(|entry| Some((entry, setting(entry)?)))
        .collect();
    let last: Vec<&(&OptionEntry, Setting)> =
        lines.iter().enumerate().filter(|(at, line)| !overridden(line, &lines, *at)).map(|(_, line)| line).collect();
    for (entry, setting) in &last {
        if let Some((severity, why)) = fault(cx.facts.sql.as_ref(), entry, *setting, &last) {
            results.push(result(cx, entry, why, severity));
        }
    }
    for (file, why) in &host.unreadable_options {
        results.push_unknown(file, unread(file, why));
    }
    if last.is_empty() && results.is_empty() {
        return Ok(CheckResults::not_applicable(
            "no client option on this host concerns TLS; clients use their defaults",
        ));
    }
    let pass = CheckResult::pass(
        "server",
        EvidenceGrade::Declared,
        format!("{} client options about TLS, none of them weakens it", last.len()),
    );
    results.pass_if_clean(last.iter().take(10).fold(pass, |pass, (entry, _)| pass.evidence(quote(entry))));
    Ok(results)
}

/// The effect of a line, in any notation: `skip-ssl`, `disable-ssl`, `ssl=0`, `loose-ssl-mode=…`.
fn setting(entry: &OptionEntry) -> Option<Setting> {
    let key = option_name::without_loose(&entry.key);
    let off = entry.value.as_deref().is_some_and(|value| !option_is_on(value));
    let negated = ["skip_", "disable_"].iter().find_map(|prefix| key.strip_prefix(prefix));
    let (name, on) = match negated {
        Some(name) => (name, off),
        None => (key.strip_prefix("enable_").unwrap_or(key), !off),
    };
    match name {
        "ssl" => Some(Setting::Tls(on)),
        "ssl_verify_server_cert" => Some(Setting::Verify(on)),
        "ssl_mode" => Some(Setting::Mode(SslMode::parse(entry.value.as_deref().unwrap_or_default()))),
        other if ADVISORY.contains(&other) => Some(Setting::Advice),
        _ => None,
    }
}

/// Whether a later line of the same group overrides it.
fn overridden(line: &(&OptionEntry, Setting), lines: &[(&OptionEntry, Setting)], at: usize) -> bool {
    lines.iter().skip(at + 1).any(|later| {
        later.0.group == line.0.group && std::mem::discriminant(&later.1) == std::mem::discriminant(&line.1)
    })
}

fn fault(
    sql: Option<&SqlFacts>,
    entry: &OptionEntry,
    setting: Setting,
    last: &[&(&OptionEntry, Setting)],
) -> Option<(Severity, String)> {
    let bad = |why: &str| Some((Severity::High, why.to_owned()));
    match setting {
        Setting::Tls(false) => bad("switches TLS off"),
        Setting::Verify(false) => bad("switches verification off, and on MariaDB silently falls back to clear text"),
        Setting::Mode(Some(SslMode::Disabled)) => bad("switches TLS off"),
        Setting::Mode(Some(SslMode::Preferred)) => bad("silently falls back to clear text"),
        Setting::Mode(Some(SslMode::Required)) => {
            let why = "encrypts, but accepts any server: a man in the middle can read the connection, with or without \
                ssl-ca"
                .to_owned();
            Some((Severity::Low, why))
        }
        Setting::Tls(true) | Setting::Advice if advisory(sql, &entry.group) && !verified(entry, last) => {
            bad("does not enforce TLS in these clients: if a server offers no TLS, they continue in clear")
        }
        _ => None,
    }
}

/// Whether the clients on this host treat `ssl` as a preference: those of MariaDB before 11.4 and of MySQL before
/// 5.7.3, assumed to be as old as the server. Later MySQL clients reject a bare `ssl` or treat it as REQUIRED; later
/// MariaDB clients verify by default.
fn advisory(sql: Option<&SqlFacts>, group: &str) -> bool {
    let Some(sql) = sql else { return false };
    !sql.can(Capability::ClientEnforcesTls) && (sql.is_mariadb() || !option_group::is_named_for_mariadb(group))
}

/// Whether the same programs are configured to verify, which enforces TLS.
fn verified(entry: &OptionEntry, last: &[&(&OptionEntry, Setting)]) -> bool {
    let strict = |setting: &Setting| match setting {
        Setting::Verify(on) => *on,
        Setting::Mode(mode) => mode.is_some_and(SslMode::verifies),
        _ => false,
    };
    last.iter().any(|(other, setting)| {
        strict(setting) && [&*entry.group, option_group::CLIENT, option_group::CLIENT_SERVER].contains(&&*other.group)
    })
}

fn result(cx: &Context<'_>, entry: &OptionEntry, why: String, severity: Severity) -> CheckResult {
    let artefact = format!("{} [{}] {}", entry.file, entry.group, entry.key);
    let message = format!("{}:{} [{}]: {} {why}", entry.file, entry.line, entry.group, line(entry));
    let mariadb =
        option_group::is_named_for_mariadb(&entry.group) || cx.facts.sql.as_ref().is_some_and(SqlFacts::is_mariadb);
    let instead =
        if mariadb { "ssl-verify-server-cert and ssl-ca=FILE" } else { "ssl-mode=VERIFY_IDENTITY and ssl-ca=FILE" };
    CheckResult::fail(artefact, EvidenceGrade::Declared, message)
        .severity(severity)
        .evidence(quote(entry))
        .fix(format!("in {} line {}: replace {} by {instead}", entry.file, entry.line, line(entry)))
}

fn line(entry: &OptionEntry) -> String {
    let key = option_name::with_hyphens(&entry.key);
    entry.value.as_ref().map_or_else(|| key.clone(), |value| format!("{key}={value}"))
}

fn quote(entry: &OptionEntry) -> Evidence {
    Evidence::Option {
        file: entry.file.clone(),
        line: entry.line,
        setting: format!("[{}] {}", entry.group, line(entry)),
    }
}

fn unread(file: &str, why: &str) -> Unavailable {
    Unavailable { what: format!("the client options of {file}"), why: why.to_owned(), remedy: access::reading(file) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{self, Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn with(made: FactsBuilder, lines: &[(&str, &str)]) -> FactsBuilder {
        let entry = |(number, (group, text)): (usize, &(&str, &str))| {
            let (key, value) = text.split_once('=').map_or((*text, None), |(key, value)| (key, Some(value.to_owned())));
            OptionEntry {
                file: "/etc/my.cnf".to_owned(),
                line: u32::try_from(number).unwrap() + 1,
                group: (*group).to_owned(),
                key: option_name::with_underscores(key),
                value,
                secret: false,
                read_by_server: false,
            }
        };
        let entries: Vec<OptionEntry> = lines.iter().enumerate().map(entry).collect();
        made.host(|host| host.options = entries)
    }

    fn status(made: FactsBuilder, lines: &[(&str, &str)]) -> Status {
        with(made, lines).statuses(&CHECK)[0]
    }

    #[test]
    fn tls_off_in_any_spelling_fails() {
        for line in [
            "skip-ssl",
            "ssl=0",
            "ssl=OFF",
            "disable-ssl",
            "loose-skip-ssl",
            "ssl-mode=DISABLED",
            "ssl-mode=preferred",
            "ssl-verify-server-cert=0",
            "disable-ssl-verify-server-cert",
            "skip-ssl-verify-server-cert",
        ] {
            for group in ["client", "mysql", "client-mariadb", "mysqldump", "mariadb-client", "client-server"] {
                assert_eq!(status(mysql(), &[(group, line)]), Fail, "[{group}] {line}");
            }
        }
        assert_eq!(status(mysql(), &[("mysqld", "skip-ssl")]), NotApplicable);
    }

    #[test]
    fn ssl_alone_is_advice_to_old_mariadb_clients_only() {
        assert_eq!(status(mariadb(), &[("client", "ssl")]), Fail);
        assert_eq!(status(mariadb(), &[("client", "ssl-ca=/etc/ca.pem")]), Fail);
        assert_eq!(status(mariadb(), &[("client", "ssl"), ("client", "ssl-verify-server-cert")]), Pass);
        let eleven = || FactsBuilder::server("11.8.6-MariaDB", "");
        assert_eq!(status(eleven(), &[("client", "ssl")]), Pass);
        assert_eq!(
            with(eleven(), &[("client", "ssl"), ("client", "disable-ssl-verify-server-cert")]).statuses(&CHECK),
            [Fail]
        );
        assert_eq!(status(mysql(), &[("client", "ssl-ca=/etc/ca.pem")]), Pass);
    }

    #[test]
    fn the_last_line_of_a_group_wins() {
        assert_eq!(status(mysql(), &[("client", "ssl-mode=DISABLED"), ("client", "ssl-mode=VERIFY_IDENTITY")]), Pass);
        assert_eq!(status(mysql(), &[("client", "ssl-mode=DISABLED"), ("mysql", "ssl-mode=VERIFY_IDENTITY")]), Fail);
    }

    #[test]
    fn required_is_weak_but_not_clear() {
        let found = with(mysql(), &[("client", "ssl-mode=REQUIRED")]).judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Fail, Severity::Low));
    }

    #[test]
    fn no_options_no_case_and_unread_files_are_unknown() {
        assert_eq!(status(mysql(), &[]), NotApplicable);
        assert_eq!(status(mysql(), &[("client", "port=3307")]), NotApplicable);
        let unread = mysql()
            .host(|host| host.unreadable_options.push(("/root/.my.cnf".to_owned(), "permission denied".to_owned())));
        assert_eq!(unread.statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
