//! Galera and Percona XtraDB Cluster.

use findings::Remedy;
use server::dialect::variable;
use server::{ProviderOptions, option_group, secret_name::LEFT_OUT};

use crate::channel::galera::{Galera, galera};
use crate::channel::transfer::Transfer;
use crate::check::{CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::facts::host::HostFacts;
use crate::facts::sql::SqlFacts;
use crate::facts::{Facts, Observed};
use crate::finding::Evidence;

checks! {
    CHECKS:
    traffic_plaintext,
    sst_plaintext,
    sst_unauthenticated,
}

/// The node's settings; `None` if this server is not a node.
///
/// # Errors
/// [`crate::facts::Unavailable`] if no server was queried.
fn node<'a>(cx: &Context<'a>) -> Observed<Option<(&'a SqlFacts, Galera<'a>)>> {
    let sql = cx.facts.sql()?;
    Ok(galera(sql).map(|node| (sql, node)))
}

fn no_node() -> CheckResults {
    CheckResults::not_applicable("no Galera provider is loaded (wsrep_provider, wsrep_on)")
}

/// Sets provider options, or removes those without a value, at the next start.
///
/// The option file has all of them in one value: a line with only the new options would remove the others. The server's
/// variable also contains defaults, so only the option files show which options were set.
pub(super) fn set_provider_options(facts: &Facts, sql: &SqlFacts, options: &[(&str, Option<&str>)]) -> Remedy {
    let Some(host) = facts.host.as_ref().filter(|host| host.unreadable_options.is_empty()) else {
        return Remedy::advice(provider_options_advice(sql, options)).then_restart();
    };
    let current = configured_provider_options(host).unwrap_or_default();
    // The collector omits passwords, so the new line would lack them.
    if current.contains(LEFT_OUT) {
        return Remedy::advice(provider_options_advice(sql, options)).then_restart();
    }
    let value = ProviderOptions::parse(current).with(options);
    let value = format!("\"{}\"", value.replace('\\', "\\\\"));
    advice::option(sql, variable::WSREP_PROVIDER_OPTIONS, &value).then_restart()
}

/// The value in the server's option files; the last one wins.
fn configured_provider_options(host: &HostFacts) -> Option<&str> {
    let counts = |entry: &&crate::facts::host::OptionEntry| {
        entry.read_by_server && entry.key == variable::WSREP_PROVIDER_OPTIONS && option_group::is_server(&entry.group)
    };
    host.options.iter().rev().find(counts)?.value.as_deref()
}

fn provider_options_advice(sql: &SqlFacts, options: &[(&str, Option<&str>)]) -> String {
    let (new, gone): (Vec<_>, Vec<_>) = options.iter().partition(|(_, value)| value.is_some());
    let new: Vec<String> = new.iter().map(|(key, value)| format!("{key}={}", value.unwrap_or_default())).collect();
    let gone: Vec<String> = gone.iter().map(|(key, _)| format!("without {key}")).collect();
    let group = advice::group(sql);
    format!(
        "{} in the value of wsrep_provider_options under [{group}] of the option file; keep its other options",
        [new.join(";"), gone.join(", ")].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" and ")
    )
}

/// The path of a TLS file from the server's variable, or a usual path.
fn tls_file<'a>(sql: &'a SqlFacts, variable: &str, otherwise: &'a str) -> &'a str {
    sql.variable_or_none(variable).filter(|path| path.starts_with('/')).unwrap_or(otherwise)
}

/// CA, certificate and key of the server's TLS, which Galera can use as well.
fn certificates(sql: &SqlFacts) -> [&str; 3] {
    [
        tls_file(sql, variable::SSL_CA, "/etc/mysql/ca.pem"),
        tls_file(sql, variable::SSL_CERT, "/etc/mysql/cert.pem"),
        tls_file(sql, variable::SSL_KEY, "/etc/mysql/key.pem"),
    ]
}

/// Makes state transfers require certificates of the cluster's CA.
///
/// Sets both options: older scripts ignore `ssl-mode` and read `encrypt`. If an option of the older file names is set,
/// scripts ignore the newer ones.
fn verify_transfers(facts: &Facts, sql: &SqlFacts, method: &str) -> Remedy {
    let [ca, cert, key] = certificates(sql);
    let is_old = |key: &str| ["tca", "tcapath", "tcert", "tkey"].contains(&key);
    let old = facts.host.iter().flat_map(|host| &host.options);
    let old =
        old.into_iter().any(|entry| entry.read_by_server && entry.group == option_group::SST && is_old(&entry.key));
    let names = if old { ["tca", "tcert", "tkey"] } else { ["ssl-ca", "ssl-cert", "ssl-key"] };
    let files = names.iter().zip([ca, cert, key]).map(|(name, file)| format!("{name} = {file}"));
    let rsync = method.starts_with("rsync");
    let mode = ["encrypt = 4", "ssl-mode = VERIFY_CA"].into_iter().skip(usize::from(rsync)).map(str::to_owned);
    let lines =
        Remedy::option_file(option_group::SST, mode.chain(files)).note("on every node, before the next transfer");
    let stunnel = facts.host.as_ref().and_then(|host| host.stunnel);
    if rsync && stunnel != Some(true) { Remedy::advice("install stunnel").and(lines) } else { lines }
}

/// The options that determine a state transfer, as evidence.
fn quote(sql: &SqlFacts, transfer: &Transfer<'_>, result: CheckResult) -> CheckResult {
    let mut result = result.evidence(sql.variable_evidence(variable::WSREP_SST_METHOD));
    if sql.variable_or_none(variable::PXC_ENCRYPT_CLUSTER_TRAFFIC).is_some() {
        result = result.evidence(sql.variable_evidence(variable::PXC_ENCRYPT_CLUSTER_TRAFFIC));
    }
    let line = |entry: &&crate::facts::host::OptionEntry| {
        // The key of encrypt=1 is secret; the collector omits its value.
        let value =
            entry.value.as_ref().filter(|_| !entry.secret).map_or_else(String::new, |value| format!("={value}"));
        Evidence::Option {
            file: entry.file.clone(),
            line: entry.line,
            setting: format!("[{}] {}{value}", entry.group, entry.key),
        }
    };
    transfer.options.iter().map(line).fold(result, CheckResult::evidence)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::facts::host::OptionEntry;
    use crate::testing::{FactsBuilder, mariadb};

    /// A node with these provider options.
    pub(in crate::checks) fn node(options: &str) -> FactsBuilder {
        mariadb()
            .variable("wsrep_provider", "/usr/lib/galera/libgalera_smm.so")
            .variable("wsrep_on", "ON")
            .variable("wsrep_provider_options", options)
    }

    /// A node with this method and these lines of option files.
    pub(in crate::checks) fn transferring(method: &str, lines: &[(&str, &str, &str)]) -> FactsBuilder {
        let entry = |(group, key, value): &(&str, &str, &str)| OptionEntry {
            file: "/etc/mysql/my.cnf".to_owned(),
            line: 7,
            group: (*group).to_owned(),
            key: (*key).to_owned(),
            value: Some((*value).to_owned()),
            secret: false,
            read_by_server: true,
        };
        let entries: Vec<OptionEntry> = lines.iter().map(entry).collect();
        node("socket.ssl = YES").variable("wsrep_sst_method", method).host(|host| host.options = entries)
    }
}
