//! Collects the facts from the files of a directory, without its server.

use std::path::Path;

use jiff::Timestamp;

use super::file_facts::{gaps, key_proofs};
use super::file_proofs::FileProofRun;
use super::files::{Walk, walk};
use super::request::OfflineOptions;
use super::view::View;
use super::{page_proofs, process, roots, stores};
use crate::Error;
use crate::access;
use crate::facts::files::{FileFact, FileFacts};
use crate::facts::host::Role;
use crate::facts::{Facts, Scope, Unavailable};

/// Collects the facts from the files of a directory.
///
/// # Errors
/// [`Error::NotADataDirectory`] if it cannot be read, or has no file of a server; [`Error::KeyStore`] if a given copy
/// is not a key store.
pub fn offline(dir: &Path, options: &OfflineOptions<'_>) -> Result<Facts, Error> {
    let not = |why: String| Error::NotADataDirectory { path: dir.to_owned(), why };
    let copies = options.key_copies.load()?;
    let absolute = std::fs::canonicalize(dir).map_err(|error| not(error.to_string()))?;
    let view = View::ours();
    view.open_dir(&absolute).map_err(|error| not(error.to_string()))?;
    let mut facts = Facts::empty(&absolute.to_string_lossy(), Timestamp::now());
    facts.client_names.clone_from(&options.client_names);
    facts.scope = Scope { files: true, deep: options.deep, ..Scope::default() };
    let role = if options.backup { Role::Backup } else { Role::Data };
    let mut scan_roots = roots::from_directory(&absolute, role);
    scan_roots.extend(roots::from_backups(&options.backup_dirs));
    let found = walk(&Walk {
        view: &view,
        scan_roots: &scan_roots,
        deep: options.deep,
        server_uid: None,
        limits: &options.limits,
        progress: options.progress,
    });
    let named = |file: &&FileFact| Path::new(&file.path).starts_with(&absolute);
    if !found.files.iter().filter(named).any(|file| file.content.is_of_a_server()) {
        return Err(not("no file of a server here".to_owned()));
    }
    facts.gaps.push(Unavailable {
        what: "host".to_owned(),
        why: "the directory is audited without its server, whose host may be another".to_owned(),
        remedy: access::RUNNING.to_owned(),
    });
    let key_file = page_proofs::KeyFileSettings::default();
    let file_proofs = FileProofRun {
        view: &view,
        files: &found.files,
        found: &stores::found(&view, &found.files, &[], &key_file),
        live: false,
        limits: &options.limits,
        progress: options.progress,
    };
    let (proof, copy_proof) = file_proofs.proofs(options.deep, copies, &absolute);
    let read = FileFacts {
        server_uuid: process::server_uuid(&view, &absolute),
        unlinked_unseen: Some("no server was running on these files".to_owned()),
        key_proofs: key_proofs(&view, &found.files, &[], &key_file),
        proof,
        copy_proof,
        roots: found.roots.clone(),
        files: found.files.clone(),
        directories: found.directories.clone(),
        bytes_read: found.bytes_read,
        unlinked: Vec::new(),
    };
    facts.gaps.extend(gaps(&read, &found));
    facts.files = Some(read);
    Ok(facts)
}
