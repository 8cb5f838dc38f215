//! Key stores, private keys, certificates.

use agefile::{IDENTITY_PREFIX, Identity};
use archive::receipt;
use keyring::StoreKind;
use pki::Certificate;
use zeroize::Zeroizing;

use super::Candidate;
use crate::facts::files::Content;
use crate::facts::host::Role;

/// Maximum size of a PEM file that is read: system CA bundles have a quarter of it.
const PEM_BYTES: u64 = 1 << 20;
/// Maximum size of a key file of MariaDB that begins with `Salted__`; a larger file is a backup.
const SALTED_KEYS_BYTES: u64 = 64 << 10;

pub(super) fn store(file: &Candidate<'_>) -> Option<Content> {
    // Serialised dictionary information is also JSON with `elements`.
    if contains(file.head, b"\"mysqld_version_id\"") {
        return None;
    }
    let kind = keyring::recognise(file.head, file.name, file.size_bytes)?;
    if kind == StoreKind::CfpExportKey {
        return Some(Content::ExportKey);
    }
    let may_be_backup = file.role != Role::Key && (file.role == Role::Backup || file.size_bytes > SALTED_KEYS_BYTES);
    if kind == StoreKind::OpensslSalted && may_be_backup {
        return None;
    }
    let mut source = Reader { file, at: 0 };
    let bytes = keyring::read(&mut source, file.size_bytes).ok()?;
    keyring::inspect(&bytes).ok().map(|summary| Content::KeyStore { summary })
}

/// Reads from the start, without intermediate copies of keys.
struct Reader<'a> {
    file: &'a Candidate<'a>,
    at: u64,
}

impl std::io::Read for Reader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.source.read_at(self.at, buf)?;
        self.at = self.at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}

/// PEM (RFC 7468); encrypted keys are `ENCRYPTED PRIVATE KEY` (PKCS #8) or have the header `Proc-Type: 4,ENCRYPTED`
/// (RFC 1421). A file with key and certificate counts as a key.
pub(super) fn pem(file: &Candidate<'_>) -> Option<Content> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    if !contains(file.head, BEGIN) {
        return None;
    }
    let bytes = file.whole(PEM_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    let labels: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("-----BEGIN ")?.strip_suffix("-----")).collect();
    if labels.iter().any(|label| label.ends_with("PRIVATE KEY")) {
        let encrypted = labels.contains(&"ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED");
        return Some(Content::PrivateKey { encrypted });
    }
    if labels.contains(&"CERTIFICATE") || labels.contains(&"TRUSTED CERTIFICATE") {
        return Some(match Certificate::from_pem(&bytes) {
            Ok(certificates) => Content::Certificates { certificates },
            Err(error) => Content::Unreadable { why: error.to_string() },
        });
    }
    let harmless =
        ["PUBLIC KEY", "RSA PUBLIC KEY", "X509 CRL", "DH PARAMETERS", "CERTIFICATE REQUEST", "EC PARAMETERS"];
    labels.iter().any(|label| harmless.contains(label)).then_some(Content::Structure)
}

/// A file of identities as `age-keygen` writes it. Hardware identities (`AGE-PLUGIN-`) do not count, because they
/// decrypt nothing without the hardware. For kinds that `agefile` does not support, such as `AGE-SECRET-KEY-PQ-`, the
/// recipients are unknown.
pub(super) fn age_identity(file: &Candidate<'_>) -> Option<Content> {
    if !contains(file.head, IDENTITY_PREFIX.as_bytes()) {
        return None;
    }
    let bytes = Zeroizing::new(file.whole(PEM_BYTES)?);
    let lines = std::str::from_utf8(&bytes).ok()?.lines().map(str::trim);
    let secrets: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    if secrets.is_empty() || !secrets.iter().all(|line| line.starts_with(IDENTITY_PREFIX)) {
        return None;
    }
    let known = secrets.iter().filter_map(|line| line.parse().ok());
    Some(Content::AgeIdentity { recipients: known.map(|of: Identity| receipt::fingerprint(&of.recipient())).collect() })
}

pub(super) fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::super::testing::recognised;
    use super::*;

    #[test]
    fn private_keys_tell_whether_a_passphrase_protects_them() {
        let key = |text: &str| match recognised("k.pem", Role::Data, text.as_bytes()) {
            Content::PrivateKey { encrypted } => Some(encrypted),
            _ => None,
        };
        assert_eq!(key("-----BEGIN RSA PRIVATE KEY-----\nMII=\n"), Some(false));
        assert_eq!(key("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII=\n"), Some(true));
        assert_eq!(key("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"), Some(true));
        assert_eq!(key("Bag\n-----BEGIN CERTIFICATE-----\nA\n-----BEGIN PRIVATE KEY-----\n"), Some(false));
        assert_eq!(key("-----BEGIN PUBLIC KEY-----\nMII=\n"), None);
    }

    #[test]
    fn an_age_identity_tells_whose_it_is_and_not_what_it_is() {
        let identity = Identity::generate().unwrap();
        let text = format!("# created: today\n{}\n", *identity.to_secret_text());
        let content = recognised("key.txt", Role::Backup, text.as_bytes());
        assert!(!serde_json::to_string(&content).unwrap().contains("SECRET"), "{content:?}");
        let Content::AgeIdentity { recipients } = content else { panic!("{content:?}") };
        assert_eq!(recipients, [receipt::fingerprint(&identity.recipient())]);
        let with_rows = text + "1,Ada,4711\n";
        assert!(matches!(recognised("key.txt", Role::Backup, with_rows.as_bytes()), Content::Backup { .. }));
    }

    #[test]
    fn a_damaged_certificate_is_unreadable() {
        let text = b"-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
        assert!(matches!(recognised("c.pem", Role::Data, text), Content::Unreadable { .. }));
    }

    #[test]
    fn dictionary_information_is_no_keyring() {
        let sdi = br#"{"mysqld_version_id":90704,"dd_object":{"elements":[],"columns":[{"elements":[]}]}}"#;
        assert!(matches!(recognised("t_1.sdi", Role::Data, sdi), Content::Structure));
    }

    #[test]
    fn a_key_file_gives_no_key_away() {
        let key = "0123456789abcdef0123456789abcdef";
        let content = recognised("keys.txt", Role::Key, format!("1;{key}\n2;{key}\n").as_bytes());
        assert!(matches!(content, Content::KeyStore { .. }));
        assert!(!serde_json::to_string(&content).unwrap().contains(key));
    }
}
