//! Finds key files in the source: with them the recipient could decrypt everything.

use std::path::PathBuf;

use glob::Pattern;
use innodb::{
    keys::{BINARY_LOG_KEY_PREFIX, MASTER_KEY_PREFIX},
    server_file,
};
use keyring::StoreKind;
use zeroize::Zeroizing;

use crate::{error::Error, path::RelativePath, plan::Plan, source::SourceFile};

/// Bytes needed to recognise a file.
const HEAD_BYTES: usize = 4096;
/// Maximum length of a keyring.
const MAX_KEYRING_BYTES: usize = 16 << 20;

/// A file that holds keys, or credentials for keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFile {
    /// Path in the source.
    pub path: RelativePath,
    /// What it contains, for messages.
    pub holds: &'static str,
}

impl KeyFile {
    /// A warning that the keys next to the data decrypt all of it, with the options to exclude them.
    #[must_use]
    pub fn warning(&self, plan: &Plan) -> String {
        let location = plan.root.join(self.path.as_path());
        let pattern = Pattern::escape(&self.path.to_string());
        format!("{}: will be sent, and is {}; --exclude '{pattern}' leaves it out", location.display(), self.holds)
    }
}

/// Files of the plan that are key stores by content, or identical with one of `given`.
///
/// # Errors
/// [`Error::Source`] names what cannot be read.
pub fn key_files(plan: &Plan, given: &[PathBuf]) -> Result<Vec<KeyFile>, Error> {
    let given: Vec<_> = given.iter().filter_map(|path| path.metadata().ok()).collect();
    let mut found = Vec::new();
    for (number, planned) in plan.entries.iter().enumerate().filter(|(_, planned)| planned.file_bytes().is_some()) {
        let holds = if given.iter().any(|given| planned.is_same_file(given)) {
            Some("keys that were given on the command line")
        } else {
            match recognised(plan, number) {
                Err(error) if error.is_change() => None,
                holds => holds?,
            }
        };
        let path = planned.entry.path.clone();
        found.extend(holds.map(|holds| KeyFile { path, holds }));
    }
    Ok(found)
}

fn recognised(plan: &Plan, number: usize) -> Result<Option<&'static str>, Error> {
    let Some(path) = plan.entries.get(number).map(|planned| &planned.entry.path) else { return Ok(None) };
    let name = path.as_path().file_name().unwrap_or_default().to_string_lossy();
    if server_file::is_engine_file(&name) {
        return Ok(None);
    }
    let source = SourceFile::open_in_use(plan, number)?;
    let head = Zeroizing::new(source.head(HEAD_BYTES)?);
    Ok(match store_kind(&source, &head, path)? {
        Some(
            StoreKind::ComponentFile | StoreKind::PluginFileV1 | StoreKind::PluginFileV2 | StoreKind::KmsWrappedFile,
        ) => Some("a keyring of MySQL"),
        Some(StoreKind::MariaDbPlain) => Some("a key file of MariaDB"),
        Some(StoreKind::OpensslSalted) => Some("a file encrypted with a password, as key files of MariaDB are"),
        Some(StoreKind::VaultConfig | StoreKind::KmipConfig | StoreKind::KmsConfig) => {
            Some("credentials for a key server")
        }
        Some(StoreKind::CfpExportKey) => Some("the transfer key of an exported table"),
        _ => None,
    })
}

/// The kind of key store a file is, if any. `head` has at least its first 4 KiB.
pub(crate) fn store_kind(
    source: &SourceFile<'_>,
    head: &[u8],
    path: &RelativePath,
) -> Result<Option<StoreKind>, Error> {
    let name = path.as_path().file_name().unwrap_or_default().to_string_lossy();
    let kind = keyring::recognise(head, &name, source.bytes());
    if kind == Some(StoreKind::ComponentFile) {
        // Other JSON can look like a component's keyring, but names no master key.
        let bytes = usize::try_from(source.bytes()).unwrap_or(usize::MAX).min(MAX_KEYRING_BYTES);
        let whole = Zeroizing::new(source.head(bytes)?);
        let names = |name: &str| whole.windows(name.len()).any(|found| found == name.as_bytes());
        return Ok(kind.filter(|_| names(MASTER_KEY_PREFIX) || names(BINARY_LOG_KEY_PREFIX)));
    }
    Ok(kind)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::plan::Selection;

    #[test]
    fn keys_among_the_files_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("db")).unwrap();
        let key = "3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82";
        let component = format!(r#"{{"version":"1.0","elements":[{{"data_id":"INNODBKey-1","data":"{key}"}}]}}"#);
        let files = [
            ("keyring", component.as_str()),
            ("db/keyring.old", "Keyring file version:2.0\0"),
            ("keys.txt", &format!("# keys\n1;{key}\n")),
            ("keys.enc", "Salted__12345678"),
            ("db/t.cfp", "\0\0\0\x20"),
            ("given", "anything"),
            ("auto.cnf", "[auto]\nserver-uuid=1\n"),
            ("facts.json", r#"{"elements": []}"#),
            ("db/t.ibd", "Salted__ is no name of a page"),
        ];
        for (name, content) in files {
            fs::write(root.join(name), content).unwrap();
        }
        let plan = Plan::scan(root, &Selection::default()).unwrap();
        let found = key_files(&plan, &[root.join("given"), root.join("gone")]).unwrap();
        let paths: Vec<String> = found.iter().map(|found| found.path.to_string()).collect();
        assert_eq!(paths, ["db/keyring.old", "db/t.cfp", "given", "keyring", "keys.enc", "keys.txt"]);
    }
}
