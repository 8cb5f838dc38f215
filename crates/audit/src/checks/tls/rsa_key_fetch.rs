//! `tls-rsa-key-fetch`.

use findings::Severity;
use server::Capability;
use server::SslMode;
use server::{option_group, option_name, switch::option_is_on};

use crate::channel::replica::channels;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::host::OptionEntry;
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "tls-rsa-key-fetch",
    title: "A password is sent under a key that anybody can forge",
    severity: Severity::Medium,
    explanation: "Without TLS, caching_sha2_password encrypts the password with the server's RSA key. A client or \
        replica that fetches this key over the same clear connection accepts the key of a man in the middle, who then \
        gets the password. Judged from GET_PUBLIC_KEY of channels without TLS and from get-server-public-key of client \
        options.",
    applies: "MySQL 8.0.4+",
    fix: "use TLS; SOURCE_SSL=1, GET_SOURCE_PUBLIC_KEY=0",
    cost: "the channel stops for a moment",
    standards: &["PCI DSS 4.0.1 8.3.2"],
    exposes: Exposes::Data(Attacker::Impostor, "A password, to whoever poses as the server"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !sql.can(Capability::CachingSha2) {
        return Ok(CheckResults::not_applicable(format!("{} does not fetch password keys", sql.identity.version)));
    }
    let mut results = CheckResults::new();
    match channels(sql) {
        Ok(channels) => {
            for channel in channels.iter().filter(|channel| channel.fetches_key && !channel.tls) {
                let message =
                    format!("{} to {} fetches the password key in clear", channel.artefact(), channel.source());
                let answer = format!("{}: get_public_key = YES, ssl_allowed = NO", channel.artefact());
                results.push(
                    CheckResult::fail(channel.artefact(), EvidenceGrade::Reported, message)
                        .evidence(sql.evidence("replica_channels", answer))
                        .fix(crate::checks::repl::change(sql, channel.name, &["SSL=1", "GET_PUBLIC_KEY=0"])),
                );
            }
        }
        Err(unseen) => results.push_unknown("replication channels", unseen),
    }
    for entry in cx.facts.host.iter().flat_map(|host| &host.options).filter(|entry| fetches(entry)) {
        if !tls_forced(cx, &entry.group) {
            results.push(client(entry));
        }
    }
    let pass = CheckResult::pass("server", EvidenceGrade::Reported, "no channel fetches a password key in clear");
    results.pass_if_clean(
        pass.evidence(sql.evidence("replica_channels", "no row with get_public_key = YES and ssl_allowed = NO")),
    );
    Ok(results)
}

fn fetches(entry: &OptionEntry) -> bool {
    let off = entry.value.as_deref().is_some_and(|value| !option_is_on(value));
    option_name::without_loose(&entry.key) == "get_server_public_key" && !off
}

/// Whether the programs of a group refuse clear text, so that they never request the key.
fn tls_forced(cx: &Context<'_>, group: &str) -> bool {
    let mode = cx.facts.host.as_ref().and_then(|host| host.option(&[group, option_group::CLIENT], "ssl_mode"));
    let mode = mode.and_then(|entry| SslMode::parse(entry.value.as_deref()?));
    mode.is_some_and(SslMode::requires_tls)
}

fn client(entry: &OptionEntry) -> CheckResult {
    let artefact = format!("{} [{}] {}", entry.file, entry.group, entry.key);
    let message = format!(
        "{}:{} [{}]: clients fetch the password key over a clear connection",
        entry.file, entry.line, entry.group
    );
    let evidence = Evidence::Option {
        file: entry.file.clone(),
        line: entry.line,
        setting: format!("[{}] get-server-public-key", entry.group),
    };
    CheckResult::fail(artefact, EvidenceGrade::Declared, message).evidence(evidence).fix(format!(
        "in {} line {}: remove get-server-public-key and set ssl-mode=VERIFY_IDENTITY",
        entry.file, entry.line
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::repl::tests::channel;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    fn option(key: &str, value: Option<&str>) -> OptionEntry {
        OptionEntry {
            file: "/etc/my.cnf".to_owned(),
            line: 2,
            group: "client".to_owned(),
            key: key.to_owned(),
            value: value.map(str::to_owned),
            secret: false,
            read_by_server: false,
        }
    }

    #[test]
    fn a_clear_channel_that_fetches_the_key_fails() {
        let found = channel(mysql(), &[("get_public_key", "YES"), ("ssl_allowed", "NO")]).judge(&CHECK);
        assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "default channel"));
        assert!(found[0].remediation.as_deref().unwrap().contains("GET_SOURCE_PUBLIC_KEY=0"));
        assert_eq!(channel(mysql(), &[("get_public_key", "YES"), ("ssl_allowed", "YES")]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn clients_that_may_fall_back_to_clear_fail() {
        let client = |mode: Option<&str>| {
            let made = channel(mysql(), &[]);
            let made = made.host(|host| host.options.push(option("get_server_public_key", None)));
            made.host(|host| host.options.extend(mode.map(|mode| option("ssl_mode", Some(mode)))))
        };
        assert_eq!(client(None).statuses(&CHECK), [Fail]);
        assert_eq!(client(Some("PREFERRED")).statuses(&CHECK), [Fail]);
        assert_eq!(client(Some("VERIFY_CA")).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn mariadb_is_not_concerned_and_refusal_is_unknown() {
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().refused("replica_channels", 1142).statuses(&CHECK), [Unknown]);
    }
}
