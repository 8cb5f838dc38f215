//! Galera and Percona XtraDB Cluster.

use crate::channel::galera::{Galera, galera};
use crate::channel::transfer::Transfer;
use crate::check::{Context, Ruling, Verdict};
use crate::facts::Seen;
use crate::facts::sql::SqlFacts;
use crate::finding::Evidence;

checks! {
    CHECKS:
    traffic_plaintext,
    sst_plaintext,
    sst_unauthenticated,
}

/// The node's settings; none if this server is no node.
///
/// # Errors
/// [`crate::facts::Unseen`] if no server was asked.
fn node<'a>(cx: &Context<'a>) -> Seen<Option<(&'a SqlFacts, Galera<'a>)>> {
    let sql = cx.facts.sql()?;
    Ok(galera(sql).map(|node| (sql, node)))
}

fn no_node() -> Verdict {
    Verdict::not_applicable("no Galera provider is loaded (wsrep_provider, wsrep_on)")
}

/// What decides a state transfer, as evidence of a ruling.
fn quote(sql: &SqlFacts, transfer: &Transfer<'_>, ruling: Ruling) -> Ruling {
    let mut ruling = ruling.evidence(sql.variable_evidence("wsrep_sst_method"));
    if sql.variable_or_none("pxc_encrypt_cluster_traffic").is_some() {
        ruling = ruling.evidence(sql.variable_evidence("pxc_encrypt_cluster_traffic"));
    }
    let line = |entry: &&crate::facts::host::OptionEntry| {
        // The key of encrypt=1 is a secret; the collector leaves its value out.
        let value =
            entry.value.as_ref().filter(|_| !entry.secret).map_or_else(String::new, |value| format!("={value}"));
        Evidence::Option {
            file: entry.file.clone(),
            line: entry.line,
            setting: format!("[{}] {}{value}", entry.group, entry.key),
        }
    };
    transfer.options.iter().map(line).fold(ruling, Ruling::evidence)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::facts::host::OptionEntry;
    use crate::testing::{Made, mariadb};

    /// A node with these provider options.
    pub(in crate::checks) fn node(options: &str) -> Made {
        mariadb()
            .variable("wsrep_provider", "/usr/lib/galera/libgalera_smm.so")
            .variable("wsrep_on", "ON")
            .variable("wsrep_provider_options", options)
    }

    /// A node with this method and these lines of option files.
    pub(in crate::checks) fn transferring(method: &str, lines: &[(&str, &str, &str)]) -> Made {
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
