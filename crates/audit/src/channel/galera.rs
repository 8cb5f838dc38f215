//! Galera replication and incremental state transfer, which share one set of options.

use std::collections::BTreeMap;

use server::switch::is_on;

use crate::facts::sql::SqlFacts;

/// Settings of a Galera node.
#[derive(Debug, Clone)]
pub struct Galera<'a> {
    /// `wsrep_provider_options` by key, in lower case.
    pub options: BTreeMap<String, &'a str>,
    /// `pxc_encrypt_cluster_traffic` of Percona XtraDB Cluster.
    pub pxc_encrypt: Option<bool>,
    /// `wsrep_sst_method`.
    pub sst_method: &'a str,
}

/// The node's settings, if a provider is loaded: every MariaDB has the variables.
#[must_use]
pub fn galera(sql: &SqlFacts) -> Option<Galera<'_>> {
    let provider = sql.variable_or_none("wsrep_provider")?;
    if provider.is_empty() || provider.eq_ignore_ascii_case("none") || sql.variable_on("wsrep_on") == Ok(false) {
        return None;
    }
    Some(Galera {
        options: parse_options(sql.variable_or_none("wsrep_provider_options").unwrap_or_default()),
        pxc_encrypt: sql.variable_or_none("pxc_encrypt_cluster_traffic").map(is_on),
        sst_method: sql.variable_or_none("wsrep_sst_method").unwrap_or_default(),
    })
}

impl Galera<'_> {
    /// Whether the provider encrypts; `None` if it does not show it.
    ///
    /// The provider lists effective options, so they take precedence over Percona's variable. Without `socket.ssl`, a
    /// certificate with its key enables TLS (`gu_asio.cpp`, `ssl_prepare`).
    #[must_use]
    pub fn encrypted(&self) -> Option<bool> {
        if let Some(value) = self.option("socket.ssl") {
            return Some(is_yes(value));
        }
        if self.option("socket.ssl_cert").is_some() && self.option("socket.ssl_key").is_some() {
            return Some(true);
        }
        self.pxc_encrypt.or_else(|| (!self.options.is_empty()).then_some(false))
    }

    /// Whether peers without TLS are accepted, too.
    #[must_use]
    pub fn takes_clear_peers(&self) -> bool {
        self.option("socket.dynamic").is_some_and(is_yes)
    }

    /// A provider option, if it is set.
    #[must_use]
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).copied().filter(|value| !value.is_empty())
    }
}

/// The provider's notations of true.
fn is_yes(value: &str) -> bool {
    is_on(value) || value.eq_ignore_ascii_case("T")
}

/// `a = b; c = d` as pairs. A substring match would take `socket.ssl=no` for TLS.
fn parse_options(text: &str) -> BTreeMap<String, &str> {
    pairs(text).map(|(key, value)| (key.to_ascii_lowercase(), value)).collect()
}

fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(';').filter_map(|part| part.split_once('=')).map(|(key, value)| (key.trim(), value.trim()))
}

/// One of the provider's options; it may be empty.
pub(crate) fn provider_option<'o>(options: &'o str, key: &str) -> Option<&'o str> {
    pairs(options).find(|(set, _)| set.eq_ignore_ascii_case(key)).map(|(_, value)| value)
}

/// Provider options with some of them changed, or removed if they have no new value. The others stay unchanged and in
/// order.
#[must_use]
pub fn with_options(set: &str, renewed: &[(&str, Option<&str>)]) -> String {
    let stays = |(key, _): &(&str, &str)| !renewed.iter().any(|(other, _)| key.eq_ignore_ascii_case(other));
    let wanted = renewed.iter().filter_map(|(key, value)| Some((*key, (*value)?)));
    let all: Vec<String> =
        pairs(set).filter(stays).chain(wanted).map(|(key, value)| format!("{key}={value}")).collect();
    all.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(options: &str) -> Galera<'_> {
        Galera { options: parse_options(options), pxc_encrypt: None, sst_method: "rsync" }
    }

    #[test]
    fn options_are_keys_and_values_not_substrings() {
        assert_eq!(node("gcache.size = 128M; socket.ssl=no;").encrypted(), Some(false));
        assert_eq!(node("socket.ssl_cipher = ; socket.ssl = YES").encrypted(), Some(true));
        assert_eq!(node("SOCKET.SSL=true").encrypted(), Some(true));
        assert_eq!(node("socket.ssl_cert=/c.pem;socket.ssl_key=/k.pem").encrypted(), Some(true));
        assert_eq!(node("socket.ssl=0;socket.ssl_cert=/c.pem;socket.ssl_key=/k.pem").encrypted(), Some(false));
        assert_eq!(node("gcache.size = 128M").encrypted(), Some(false));
        assert_eq!(node("").encrypted(), None);
    }

    #[test]
    fn options_stay_when_others_are_set() {
        let set = "gcache.size = 8M; Socket.SSL=no;; base_dir=/a b;socket.dynamic=true";
        let renewed = [("socket.ssl", Some("yes")), ("socket.dynamic", None), ("socket.ssl_ca", Some("/ca.pem"))];
        assert_eq!(with_options(set, &renewed), "gcache.size=8M;base_dir=/a b;socket.ssl=yes;socket.ssl_ca=/ca.pem");
        assert_eq!(with_options("", &[("socket.ssl", Some("yes"))]), "socket.ssl=yes");
    }
}
