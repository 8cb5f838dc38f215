//! Configuration of keyrings that keep keys in a HashiCorp Vault.
//!
//! Source: documentation of Percona's `keyring_vault` plug-in (lines `name = value`) and component (JSON, same names);
//! no sample file.

use crate::{
    summary::{Damage, StoreKind, StoreSummary, VaultConfig, VaultIssue},
    vault_settings::Settings,
};

pub(crate) fn inspect(bytes: &[u8]) -> StoreSummary {
    let mut summary = StoreSummary::new(StoreKind::VaultConfig, false);
    match Settings::from_percona(bytes) {
        Ok(settings) => {
            let config = VaultConfig::new(&settings);
            summary.readable_without_password = config.token_inline;
            summary.vault = Some(config);
        }
        Err(error) => summary.damage.push(Damage::from_json(&error)),
    }
    summary
}

impl VaultConfig {
    fn new(settings: &Settings<'_>) -> Self {
        let (url, ca_file) = (settings.text("vault_url"), settings.text("vault_ca"));
        let plain = url.is_some_and(|url| !url.to_ascii_lowercase().starts_with("https://"));
        let token_inline = settings.text("token").is_some();
        let issues = [
            (url.is_none(), VaultIssue::NoUrl),
            (plain, VaultIssue::PlainHttp),
            (ca_file.is_none(), VaultIssue::NoCa),
            (token_inline, VaultIssue::TokenInline),
        ];
        Self {
            address: url.map(address),
            mount_point: settings.text("secret_mount_point").map(str::to_owned),
            ca_file: ca_file.map(str::to_owned),
            token_inline,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weak_configuration_of_the_plugin_has_issues() {
        let text = b"vault_url = http://u:p@vault.example:8200/v1\n\
            secret_mount_point = mysql\ntoken = s.abcdef\n";
        let vault = crate::inspect(text).unwrap().vault.unwrap();
        assert_eq!(vault.address.as_deref(), Some("http://vault.example:8200"));
        assert_eq!(vault.issues, [VaultIssue::PlainHttp, VaultIssue::NoCa, VaultIssue::TokenInline]);
        assert!(!format!("{vault:?}").contains("abcdef"));
    }

    #[test]
    fn a_sound_configuration_of_the_component_has_none() {
        let text = br#"{"timeout":15,"vault_url":"https://vault.example:8200",
            "secret_mount_point":"mysql","vault_ca":"/etc/ca.pem","token":""}"#;
        let summary = crate::inspect(text).unwrap();
        assert!(!summary.readable_without_password);
        assert_eq!(summary.vault.unwrap().issues, []);
    }
}
