//! `tls-ca-key-on-host`.

use findings::Severity;
use process::shell_word;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::bak::{looked_at, unseen_root};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::{FileMode, Role};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "tls-ca-key-on-host",
    title: "The authority's private key is on the database host",
    severity: Severity::High,
    explanation: "Whoever can read it can issue server and client certificates that all clients and servers of this \
        authority accept. MySQL 5.7.6 and later leave ca-key.pem in the data directory when they create certificates. \
        Recognised by a PEM private key whose file name contains ca.",
    applies: "every server; MySQL 5.7.6+ creates one automatically",
    fix: "move the file to a machine without network, or remove it: the server does not need it",
    cost: "none",
    standards: &["PCI DSS 4.0.1 3.6.1.4", "NIST SP 800-53r5 SC-12"],
    exposes: Exposes::Help(
        Attacker::StolenDisk,
        "The private key of the certificate authority: whoever has it can pose as any server",
    ),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let mut results = CheckResults::new();
    let files = cx.facts.files.iter().flat_map(|files| &files.files);
    for file in files.filter(|file| is_authority_key(file.base_name())) {
        if let Content::PrivateKey { encrypted, .. } = &file.content {
            results.push(in_file(file, *encrypted));
        }
    }
    let modes = cx.facts.host.iter().flat_map(|host| &host.modes);
    let seen = |path: &str| cx.facts.files.as_ref().is_some_and(|files| files.at(path).is_some());
    for mode in modes.filter(|mode| mode.what == "ca key" && mode.mode.is_some() && !seen(&mode.path)) {
        results.push(by_mode(mode));
    }
    if results.is_empty() {
        let files = cx.facts.files()?;
        for root in files.unseen_roots().filter(|root| matches!(root.role, Role::Data | Role::Backup | Role::Tls)) {
            results.push_unknown(&root.path, unseen_root(root));
        }
        if files.data_seen() {
            let message = format!("no authority's key below {}", looked_at(files).join(", "));
            let searched = files.roots.iter().filter(|root| root.error.is_none() && root.role == Role::Data);
            let evidence = searched.take(3).map(|root| Evidence::Host {
                source: root.path.clone(),
                observation: format!("{} files, none an authority's key", files.files.len()),
            });
            let pass = CheckResult::pass("server", EvidenceGrade::Bytes, message);
            results.pass_if_clean(evidence.fold(pass, CheckResult::evidence));
        }
    }
    Ok(results)
}

fn in_file(file: &FileFact, encrypted: bool) -> CheckResult {
    let (message, severity) = if encrypted {
        ("holds an authority's private key, protected by a passphrase only", Severity::Medium)
    } else {
        ("holds an authority's private key in clear", Severity::High)
    };
    let observation = format!("PEM private key, mode {:04o}, passphrase: {encrypted}", file.mode & 0o7777);
    CheckResult::fail(&file.name, EvidenceGrade::Bytes, format!("{} {message}", file.path))
        .severity(severity)
        .evidence(Evidence::Host { source: file.path.clone(), observation })
        .fix(remove(&file.path))
}

fn by_mode(mode: &FileMode) -> CheckResult {
    let observation = format!("exists, mode {:04o}", mode.mode.unwrap_or_default() & 0o7777);
    CheckResult::fail(
        &mode.path,
        EvidenceGrade::Reported,
        format!("{} is named like an authority's private key", mode.path),
    )
    .evidence(Evidence::Host { source: mode.path.clone(), observation })
    .fix(remove(&mode.path))
}

fn remove(path: &str) -> String {
    format!("copy {0} to a machine without network, then shred -u {0}", shell_word(path))
}

/// Whether a file is named like an authority's key: `ca-key.pem`, `ca.key`, `cakey.pem`, `rootCA.key`,
/// `my_ca_private.pem`.
fn is_authority_key(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut message = name.split(|c: char| !c.is_ascii_alphabetic());
    message.any(|word| {
        ["ca", "cakey", "cakeys", "rootca", "myca", "authority"].contains(&word) || word.ends_with("rootca")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    #[test]
    fn names_of_authorities_keys_are_recognised() {
        for name in ["ca-key.pem", "ca.key", "CAkey.pem", "rootCA.key", "my_ca_private.pem"] {
            assert!(is_authority_key(name), "{name}");
        }
        for name in ["server-key.pem", "private_key.pem", "client-key.pem", "cache-key.pem", "california.key"] {
            assert!(!is_authority_key(name), "{name}");
        }
    }

    #[test]
    fn a_key_of_the_authority_in_the_data_directory_fails() {
        let key = |encrypted| Content::PrivateKey { encrypted };
        let found = FactsBuilder::nothing().file("ca-key.pem", key(false)).judge(&CHECK);
        assert_eq!(
            (found[0].status, found[0].artefact.as_str(), found[0].severity),
            (Fail, "ca-key.pem", Severity::High)
        );
        assert_eq!(FactsBuilder::nothing().file("ca-key.pem", key(true)).judge(&CHECK)[0].severity, Severity::Medium);
        assert_eq!(FactsBuilder::nothing().file("server-key.pem", key(false)).statuses(&CHECK), [Pass]);
        // A file of that name without a key does not count.
        assert_eq!(FactsBuilder::nothing().file("ca-key.pem", Content::Empty).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn without_files_nothing_is_known() {
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
