//! Configuration of keyrings that keep keys in a HashiCorp Vault.
//!
//! Source: documentation of Percona's `keyring_vault` plug-in (lines `name = value`) and component (JSON, same names);
//! no sample file.

use serde::{Deserialize, Serialize};

use crate::{
    config::{Text, anything_else, json_damage},
    store::{StoreKind, StoreSummary, contains},
};

/// The configuration, without its token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultConfig {
    /// Scheme, host and port of the Vault; no credentials, no path.
    pub address: Option<String>,
    /// Mount point of the keys in the Vault.
    pub mount_point: Option<String>,
    /// File with the certificate authority.
    pub ca_file: Option<String>,
    /// Whether the file contains a token.
    pub token_inline: bool,
    /// Weaknesses of the configuration.
    pub issues: Vec<VaultIssue>,
}

/// A weakness of a Vault configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VaultIssue {
    /// Keys and token are sent in clear text.
    PlainHttp,
    /// The Vault's certificate is checked only against the system's authorities, if at all.
    NoCa,
    /// Anyone who can read the file can fetch the keys.
    TokenInline,
    /// The address is missing.
    NoUrl,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    vault_url: Text,
    secret_mount_point: Text,
    vault_ca: Text,
    token: Present,
}

pub(crate) fn inspect(bytes: &[u8]) -> StoreSummary {
    let mut summary = StoreSummary::new(StoreKind::VaultConfig, false);
    let fields = if bytes.trim_ascii_start().starts_with(b"{") {
        match serde_json::from_slice(bytes) {
            Ok(fields) => fields,
            Err(error) => {
                summary.damage.push(json_damage(&error));
                return summary;
            }
        }
    } else {
        Fields::from_lines(bytes)
    };
    let config = fields.judge();
    summary.readable_without_password = config.token_inline;
    summary.vault = Some(config);
    summary
}

/// Whether the bytes are lines `name = value` of such a configuration.
pub(crate) fn is_key_value(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(65536)).unwrap_or_default();
    contains(head, b"vault_url")
        && contains(head, b"=")
        && lines(head).any(|(name, _)| name == "vault_url" || name == "secret_mount_point")
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = (&str, &str)> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| str::from_utf8(line).ok()?.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
}

impl Fields {
    fn from_lines(bytes: &[u8]) -> Self {
        let mut fields = Self::default();
        for (name, value) in lines(bytes) {
            let text = || Text(Some(value.to_owned()));
            match name {
                "vault_url" => fields.vault_url = text(),
                "secret_mount_point" => fields.secret_mount_point = text(),
                "vault_ca" => fields.vault_ca = text(),
                "token" => fields.token = Present(!value.is_empty()),
                _ => {}
            }
        }
        fields
    }

    fn judge(self) -> VaultConfig {
        let url = self.vault_url.0.filter(|url| !url.is_empty());
        let ca_file = self.vault_ca.0.filter(|ca| !ca.is_empty());
        let plain = url.as_deref().is_some_and(|url| !url.to_ascii_lowercase().starts_with("https://"));
        let issues = [
            (url.is_none(), VaultIssue::NoUrl),
            (plain, VaultIssue::PlainHttp),
            (ca_file.is_none(), VaultIssue::NoCa),
            (self.token.0, VaultIssue::TokenInline),
        ];
        VaultConfig {
            address: url.as_deref().map(address),
            mount_point: self.secret_mount_point.0,
            ca_file,
            token_inline: self.token.0,
            issues: issues.into_iter().filter_map(|(found, issue)| found.then_some(issue)).collect(),
        }
    }
}

/// Scheme, host and port of a URL.
fn address(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
}

/// Whether a non-empty string is present; its content is dropped.
#[derive(Default)]
struct Present(bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PresentVisitor)
    }
}

struct PresentVisitor;

impl<'de> serde::de::Visitor<'de> for PresentVisitor {
    type Value = Present;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<Present, E> {
        Ok(Present(!text.is_empty()))
    }

    anything_else!(Present(false));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_configuration_in_lines() {
        let text = b"vault_url = http://u:p@vault.example:8200/v1\n\
            secret_mount_point = mysql\ntoken = s.abcdef\n";
        let vault = crate::inspect(text).unwrap().vault.unwrap();
        assert_eq!(vault.address.as_deref(), Some("http://vault.example:8200"));
        assert_eq!(vault.issues, [VaultIssue::PlainHttp, VaultIssue::NoCa, VaultIssue::TokenInline]);
        assert!(!format!("{vault:?}").contains("abcdef"));
    }

    #[test]
    fn sound_configuration_in_json() {
        let text = br#"{"timeout":15,"vault_url":"https://vault.example:8200",
            "secret_mount_point":"mysql","vault_ca":"/etc/ca.pem","token":""}"#;
        let summary = crate::inspect(text).unwrap();
        assert!(!summary.readable_without_password);
        assert_eq!(summary.vault.unwrap().issues, []);
    }
}
