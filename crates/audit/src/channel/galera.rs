//! Galera replication and incremental state transfer, which share one set of options.

use server::dialect::variable;
use server::{ProviderOptions, switch::is_on};

use crate::facts::sql::SqlFacts;

/// Settings of a Galera node.
#[derive(Debug, Clone)]
pub struct Galera<'a> {
    /// `wsrep_provider_options`.
    pub options: ProviderOptions<'a>,
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
        options: ProviderOptions::parse(sql.variable_or_none(variable::WSREP_PROVIDER_OPTIONS).unwrap_or_default()),
        pxc_encrypt: sql.variable_or_none(variable::PXC_ENCRYPT_CLUSTER_TRAFFIC).map(is_on),
        sst_method: sql.variable_or_none(variable::WSREP_SST_METHOD).unwrap_or_default(),
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
        self.options.get(key).filter(|value| !value.is_empty())
    }
}

/// The provider's notations of true.
fn is_yes(value: &str) -> bool {
    is_on(value) || value.eq_ignore_ascii_case("T")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(options: &str) -> Galera<'_> {
        Galera { options: ProviderOptions::parse(options), pxc_encrypt: None, sst_method: "rsync" }
    }

    #[test]
    fn options_are_keys_and_values_not_substrings() {
        assert_eq!(node("gcache.size = 128M; socket.ssl=no;").encrypted(), Some(false));
        assert_eq!(node("socket.ssl_cipher = ; socket.ssl = YES").encrypted(), Some(true));
        assert_eq!(node("socket.ssl=no;socket.ssl=true").encrypted(), Some(true));
        // Names of Galera's options are case-sensitive.
        assert_eq!(node("SOCKET.SSL=true").encrypted(), Some(false));
        assert_eq!(node("socket.ssl_cert=/c.pem;socket.ssl_key=/k.pem").encrypted(), Some(true));
        assert_eq!(node("socket.ssl=0;socket.ssl_cert=/c.pem;socket.ssl_key=/k.pem").encrypted(), Some(false));
        assert_eq!(node("gcache.size = 128M").encrypted(), Some(false));
        assert_eq!(node("").encrypted(), None);
    }
}
