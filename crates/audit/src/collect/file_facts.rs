//! The facts about the files of a running server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use innodb::file_suffix;
use innodb::server_file::is_table_file;
use jiff::Timestamp;

use super::file_proofs::FileProofRun;
use super::files::{self, Found, Walk};
use super::location::ServerLocation;
use super::request::LiveOptions;
use super::stores::LoadedStores;
use super::view::{Host, View};
use super::{page_proofs, process, proofs, register, roots, stores, unlinked};
use crate::access;
use crate::facts::files::{Content, FileFact, FileFacts, KeyProof};
use crate::facts::host::Role;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};

/// Reads the files below the roots, and those that the server or a link names elsewhere; tests the keys on them.
pub(super) fn read_files(
    host: &Host,
    options: &LiveOptions<'_>,
    sql: &SqlFacts,
    seen: &ServerLocation,
    scan_roots: &[roots::ScanRoot],
    copies: Option<LoadedStores>,
) -> (FileFacts, Found) {
    let server_uid = seen.process.as_ref().map(|process| process.uid);
    let owner = || seen.view.stat(&seen.datadir).ok().map(|stat| stat.st_uid);
    let walk = Walk {
        view: &seen.view,
        scan_roots,
        deep: options.deep,
        server_uid: server_uid.or_else(owner),
        limits: &options.limits,
        progress: options.progress,
    };
    let mut found = files::walk(&walk);
    let external = files::named(&walk, &external_files(sql, seen, &found.files));
    found.files.extend(external);
    files::settle(&walk, &mut found, Timestamp::now().as_second(), options.limits.settle_time);
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    let key_file = page_proofs::KeyFileSettings::by(sql, &seen.view, &seen.datadir);
    let live_stores = roots::keyring_files(sql, &seen.datadir);
    let key_proofs = key_proofs(&seen.view, &found.files, &live_stores, &key_file);
    let file_proofs = FileProofRun {
        view: &seen.view,
        files: &found.files,
        found: &stores::found(&seen.view, &found.files, &live_stores, &key_file),
        live: true,
        limits: &options.limits,
        progress: options.progress,
    };
    let (proof, copy_proof) = file_proofs.proofs(options.deep, copies, &seen.view.reach(&seen.datadir));
    let unlinked = match (&seen.process, &seen.no_process) {
        (Some(process), _) => unlinked::of_process(host, process.pid),
        (None, why) => Err(why.clone().unwrap_or_default()),
    };
    let facts = FileFacts {
        roots: found.roots.clone(),
        files: std::mem::take(&mut found.files),
        unlinked_unseen: unlinked.as_ref().err().cloned(),
        unlinked: unlinked.unwrap_or_default(),
        server_uuid: process::server_uuid(&seen.view, &seen.datadir),
        directories: std::mem::take(&mut found.directories),
        bytes_read: found.bytes_read,
        key_proofs,
        proof,
        copy_proof,
    };
    (facts, found)
}

/// Tests MySQL's and MariaDB's key files on the tablespaces.
pub(super) fn key_proofs(
    view: &View,
    files: &[FileFact],
    stores: &[PathBuf],
    key_file: &page_proofs::KeyFileSettings,
) -> Vec<KeyProof> {
    let mut proofs = proofs::collect(view, files, stores);
    proofs.extend(page_proofs::collect(view, files, key_file));
    proofs
}

/// The keys in the key files that the server uses.
pub(super) fn keys_held(
    sql: &SqlFacts,
    read: Option<(&ServerLocation, &FileFacts)>,
) -> Observed<::register::Fingerprints> {
    let (seen, facts) = read.ok_or_else(|| Unavailable {
        what: "the keys that the server holds".to_owned(),
        why: "its files were not read".to_owned(),
        remedy: access::AS_SERVER_USER.to_owned(),
    })?;
    let key_file = page_proofs::KeyFileSettings::by(sql, &seen.view, &seen.datadir);
    register::held(&seen.view, &facts.files, &roots::keyring_files(sql, &seen.datadir), &key_file)
}

/// Data files outside the roots: those that the server lists, and the targets of links and `.isl`/`.link` files in the
/// data directory.
fn external_files(sql: &SqlFacts, seen: &ServerLocation, files: &[FileFact]) -> Vec<(PathBuf, String)> {
    let known: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut wanted = roots::datafiles(sql, &seen.datadir);
    for file in files.iter().filter(|file| file.role == Role::Data) {
        let base = Path::new(&file.path).parent().unwrap_or(&seen.datadir);
        match &file.content {
            Content::Link { target } if is_table_file(&file.name) => wanted.push(roots::normal(&base.join(target))),
            Content::Structure if file_suffix::has(&file.name, file_suffix::LINK) || file.name.ends_with(".link") => {
                let text = seen.view.read(Path::new(&file.path), 4096).unwrap_or_default();
                let path = String::from_utf8_lossy(&text).trim().to_owned();
                if !path.is_empty() && !path.contains('\0') {
                    wanted.push(roots::normal(&base.join(path)));
                }
            }
            _ => {}
        }
    }
    wanted.sort();
    wanted.dedup();
    let new = |path: &PathBuf| !known.contains(path.to_string_lossy().as_ref());
    wanted.into_iter().filter(new).map(|path| (path.clone(), path.to_string_lossy().into_owned())).collect()
}

/// Directories and files that exist but could not be read.
pub(super) fn gaps(read: &FileFacts, found: &Found) -> Vec<Unavailable> {
    const MOST: usize = 100;
    let remedy = access::AS_SERVER_USER;
    let gap =
        |what: &str, why: &str| Unavailable { what: what.to_owned(), why: why.to_owned(), remedy: remedy.to_owned() };
    let roots = read.unseen_roots().map(|root| gap(&root.path, root.error.as_deref().unwrap_or_default()));
    let unreadable = |file: &FileFact| match &file.content {
        Content::Unreadable { why } => Some(gap(&file.path, why)),
        _ => None,
    };
    let limits = found.left_out.iter().map(|what| Unavailable {
        what: what.clone(),
        why: "left out".to_owned(),
        remedy: "audit a smaller directory".to_owned(),
    });
    roots.chain(read.files.iter().filter_map(unreadable)).chain(limits).take(MOST).collect()
}
