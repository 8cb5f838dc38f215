//! Galera's state transfer: evaluates its options as the transfer scripts do.
//!
//! Source: `wsrep_sst_common`, `wsrep_sst_mariabackup` and `wsrep_sst_rsync` of MariaDB 10.11.19;
//! Percona's `wsrep_sst_xtrabackup-v2`.

use server::SslMode;
use server::option_group;

use super::galera::Galera;
use crate::access;
use crate::facts::host::{HostFacts, OptionEntry};
use crate::facts::{Facts, Observed, Unavailable};

/// Security of a full state transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Clear text.
    Clear,
    /// Encryption with one shared key, which the script exposes on a command line and in the error log.
    SharedKey,
    /// TLS that accepts any peer.
    Unverified,
    /// TLS that requires a certificate of the cluster's authority.
    Chain,
    /// TLS that also verifies the peer's name.
    Identity,
}

/// The security, the reason, and the option lines that determine it.
#[derive(Debug, Clone)]
pub struct Transfer<'a> {
    /// Security of the transfer.
    pub security: Security,
    /// Human-readable reason.
    pub why: String,
    /// The relevant option lines.
    pub options: Vec<&'a OptionEntry>,
}

/// Security of a node's next state transfer.
///
/// # Errors
/// [`Unavailable`] if the option files, which the scripts read at transfer time, were not read.
pub fn transfer<'a>(facts: &'a Facts, node: &Galera<'_>) -> Observed<Transfer<'a>> {
    let plain = |security, why: &str| Transfer { security, why: why.to_owned(), options: Vec::new() };
    if node.sst_method.starts_with("sealant") {
        return Ok(plain(Security::Identity, "sealant transfers over mutually authenticated TLS 1.3 only"));
    }
    if node.pxc_encrypt == Some(true) {
        return Ok(plain(Security::Chain, "pxc_encrypt_cluster_traffic = ON sets encrypt=4"));
    }
    match node.sst_method {
        "mysqldump" => Ok(plain(Security::Clear, "the mysqldump method sends SQL text without TLS")),
        "clone" => Ok(plain(Security::Clear, "the clone method follows pxc_encrypt_cluster_traffic, which is not ON")),
        method => {
            let script = Script::from_facts(facts, method.starts_with("rsync"))?;
            Ok(if method.starts_with("rsync") { script.rsync() } else { script.backup() })
        }
    }
}

fn sst_group() -> String {
    format!("the [{}] group of the option files", option_group::SST)
}

/// The options that a transfer script sees.
struct Script<'a> {
    host: &'a HostFacts,
    rsync: bool,
    used: Vec<&'a OptionEntry>,
}

impl<'a> Script<'a> {
    fn from_facts(facts: &'a Facts, rsync: bool) -> Observed<Self> {
        let host = facts.host().map_err(|unseen| Unavailable { what: sst_group(), ..unseen })?;
        if let Some((file, why)) = host.unreadable_options.first() {
            return Err(Unavailable {
                what: sst_group(),
                why: format!("{file}: {why}"),
                remedy: access::reading(file),
            });
        }
        Ok(Self { host, rsync, used: Vec::new() })
    }

    /// The last value of `key`; an empty one counts as unset.
    fn value(&mut self, key: &str) -> Option<&'a str> {
        let (rsync, tls_file) = (self.rsync, ["tca", "tcapath", "tcert", "tkey"].contains(&key));
        let read = |group: &str| match group {
            option_group::SST => true,
            _ if tls_file => false,
            _ if option_group::BACKUP.contains(&group) => !rsync,
            _ => option_group::is_server(group),
        };
        let entry = self
            .host
            .options
            .iter()
            .rev()
            .find(|entry| entry.read_by_server && entry.key == key && read(&entry.group))?;
        self.used.push(entry);
        // The path of a private key is not secret, but a collector may have omitted it as if it were.
        entry.value.as_deref().or_else(|| entry.secret.then_some("set")).filter(|value| !value.is_empty())
    }

    /// Certificate with key, and authority. If an old option name is used, it hides the new ones.
    fn certificates(&mut self) -> (bool, bool) {
        let old = ["tca", "tcapath", "tcert", "tkey"].map(|key| self.value(key).is_some());
        let new = ["ssl_ca", "ssl_capath", "ssl_cert", "ssl_key"].map(|key| self.value(key).is_some());
        let [ca, ca_path, cert, key] = if old.contains(&true) { old } else { new };
        let per_role = |script: &mut Self, what: &str| {
            script.value(&format!("ssl_server_{what}")).is_some()
                && script.value(&format!("ssl_client_{what}")).is_some()
        };
        let certificate = (cert || per_role(self, "cert")) && (key || per_role(self, "key"));
        (certificate, ca || ca_path || per_role(self, "ca"))
    }

    fn ends(self, security: Security, why: impl Into<String>) -> Transfer<'a> {
        Transfer { security, why: why.into(), options: self.used }
    }

    fn backup(mut self) -> Transfer<'a> {
        let encrypt = self.value("encrypt").and_then(|value| value.parse::<u8>().ok()).unwrap_or(0);
        let mode = self.value("ssl_mode").unwrap_or(SslMode::Disabled.name()).to_ascii_uppercase();
        let (certificate, ca) = self.certificates();
        match encrypt {
            1 => self.ends(
                Security::SharedKey,
                "encrypt=1: a shared key, visible on the command line of openssl and in the error log",
            ),
            3 if !ca => self.ends(Security::Unverified, "encrypt=3 without an authority: verify=0"),
            2..=4 => self.ends(Security::Chain, format!("encrypt={encrypt}")),
            _ if mode == SslMode::Disabled.name() => {
                self.ends(Security::Clear, "encrypt=0 and ssl-mode=DISABLED, which are the defaults")
            }
            _ if !certificate => self.ends(
                Security::Clear,
                format!("ssl-mode={mode} without ssl-cert and ssl-key; older scripts then send in clear"),
            ),
            _ => {
                let security = security_of_mode(&mode);
                self.ends(security, format!("ssl-mode={mode}"))
            }
        }
    }

    fn rsync(mut self) -> Transfer<'a> {
        let mode = self.value("ssl_mode").map(str::to_ascii_uppercase);
        let (certificate, ca) = self.certificates();
        let mode = mode.unwrap_or_else(|| {
            if ca {
                SslMode::VerifyCa
            } else if certificate {
                SslMode::Required
            } else {
                SslMode::Disabled
            }
            .name()
            .to_owned()
        });
        if mode == SslMode::Disabled.name() {
            return self.ends(Security::Clear, "neither ssl-mode nor certificates are set for rsync");
        }
        if self.host.stunnel == Some(false) {
            return self.ends(
                Security::Clear,
                "stunnel is not installed; older rsync scripts then send in clear without a word",
            );
        }
        let security = security_of_mode(&mode);
        self.ends(security, format!("rsync through stunnel, ssl-mode={mode}"))
    }
}

/// Security of a mode in upper case. The scripts know the names with underscores only, and refuse any other.
fn security_of_mode(mode: &str) -> Security {
    match SslMode::parse(mode).filter(|known| known.name() == mode) {
        Some(SslMode::VerifyIdentity) => Security::Identity,
        Some(SslMode::VerifyCa) => Security::Chain,
        _ => Security::Unverified,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_count_only_as_the_scripts_spell_them() {
        assert_eq!(security_of_mode("VERIFY_IDENTITY"), Security::Identity);
        assert_eq!(security_of_mode("VERIFY_CA"), Security::Chain);
        for mode in ["VERIFY-IDENTITY", "VERIFY-CA", "REQUIRED", "PREFERRED", ""] {
            assert_eq!(security_of_mode(mode), Security::Unverified, "{mode}");
        }
    }
}
