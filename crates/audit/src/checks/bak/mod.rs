//! Backups and dumps.

use files::quantity::size;
use findings::{Remedy, Severity};
use innodb::tablespace::TablespaceKind;

use crate::access;
use crate::artefact::Artefact;
use crate::check::{CheckResult, Context};
use crate::facts::Unavailable;
use crate::facts::files::{Content, FileFacts, Root};
use crate::facts::host::Role;
use crate::finding::{Evidence, EvidenceGrade};

checks! {
    CHECKS:
    set_plaintext,
    redo_in_clear,
    too_old,
    unproven,
    never_restored,
    identity_in_reach,
    keyring_in_reach,
    keyring_unproven,
    no_lock,
}

mod history;

/// Kind of a file in a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// With rows: a dump, an archive, a table's file.
    Rows,
    /// Other files of a physical backup: redo, undo, binary log, system tablespace.
    Companion,
}

fn part_of(artefact: &Artefact<'_>) -> Option<Part> {
    Some(match &artefact.file?.content {
        Content::Backup { .. } | Content::AriaData { .. } | Content::PlainTable { .. } => Part::Rows,
        Content::Tablespace { scan } => match scan.kind {
            TablespaceKind::FilePerTable | TablespaceKind::General | TablespaceKind::Dictionary => Part::Rows,
            _ => Part::Companion,
        },
        Content::Redo { .. } | Content::Doublewrite { .. } | Content::BinaryLog { .. } | Content::AriaLog => {
            Part::Companion
        }
        _ => return None,
    })
}

/// A clear file fails, unless its disk is encrypted.
fn clear(cx: &Context<'_>, artefact: &Artefact<'_>, message: &str, fix: impl Into<Remedy>) -> CheckResult {
    let result = match artefact.disk_encryption() {
        Some(layer) => {
            let message =
                format!("{} {message}, covered by the disk only ({layer}); see PCI DSS 3.5.1.2", artefact.name);
            CheckResult::pass(&artefact.name, EvidenceGrade::Bytes, message).severity(Severity::Info)
        }
        None => {
            CheckResult::fail(&artefact.name, EvidenceGrade::Bytes, format!("{} {message}", artefact.name)).fix(fix)
        }
    };
    quote(cx, artefact).into_iter().fold(result, CheckResult::evidence)
}

fn quote(cx: &Context<'_>, artefact: &Artefact<'_>) -> Vec<Evidence> {
    match artefact.file.map(|file| (file, &file.content)) {
        Some((file, Content::Backup { backup })) => vec![Evidence::Bytes {
            path: file.path.clone(),
            offset: 0,
            hex: String::new(),
            meaning: format!("recognised as {}, {}", backup.layers.join(" in "), size(file.size_bytes)),
        }],
        _ => artefact.evidence(cx.facts),
    }
}

/// Directories searched for data or backups, each once.
pub(super) fn looked_at(files: &FileFacts) -> Vec<&str> {
    let walked = files
        .roots
        .iter()
        .filter(|root| root.error.is_none() && matches!(root.role, Role::Data | Role::Backup | Role::ExternalData));
    let mut paths: Vec<&str> = walked.map(|root| root.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// A directory that could not be read.
pub(super) fn unseen_root(root: &Root) -> Unavailable {
    Unavailable {
        what: format!("{} {}", root.role.as_str(), root.path),
        why: root.error.clone().unwrap_or_else(|| "it was not walked".to_owned()),
        remedy: access::reading(&root.path),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::facts::files::BackupFile;
    use crate::testing::FactsBuilder;

    /// A dump or archive of these layers.
    pub(in crate::checks) fn backup(layers: &[&str], readable: Option<bool>) -> Content {
        let layers = layers.iter().map(|layer| (*layer).to_owned()).collect();
        Content::Backup { backup: BackupFile { layers, readable, holds_keys: false } }
    }

    /// Adds a file of a backup directory.
    pub(in crate::checks) fn in_set(made: FactsBuilder, name: &str, content: Content) -> FactsBuilder {
        let mut made = made.file(name, content);
        let files: &mut FileFacts = made.0.files.as_mut().unwrap();
        let file = files.files.last_mut().unwrap();
        file.role = Role::Backup;
        file.path = format!("/backup/{name}");
        if !files.roots.iter().any(|root| root.role == Role::Backup) {
            files.roots.push(Root {
                path: "/backup".to_owned(),
                role: Role::Backup,
                via: "--backup".to_owned(),
                error: None,
                missing: false,
            });
        }
        made
    }
}
