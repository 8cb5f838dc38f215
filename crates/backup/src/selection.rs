//! Selects the files of a backup.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use archive::manifest::ExcludedFile;
use innodb::server_file;
use transfer::{
    key_files::key_files,
    plan::{Plan, Selection},
    sender::SourceFile,
};

use crate::{Error, live};

/// Maximum length of a file that is searched for a private key.
const MAX_KEY_BYTES: u64 = 64 << 10;

/// Scans a data directory; also returns the files left out, with reasons.
pub(crate) fn plan(root: &Path, extra_key_files: &[PathBuf]) -> Result<(Plan, Vec<ExcludedFile>), Error> {
    let selection = Selection { include: Vec::new(), exclude: live::excluded().collect() };
    let mut plan = Plan::scan(root, &selection)?;
    let mut left_out: Vec<(Vec<u8>, ExcludedFile)> = Vec::new();
    let mut leave_out = |path: &codec::path::RelativePath, why: &str| {
        left_out.push((path.as_bytes().to_vec(), ExcludedFile { path: path.to_string(), why: why.to_owned() }));
    };
    for file in key_files(&plan, extra_key_files)? {
        leave_out(&file.path, file.holds);
    }
    for (number, planned) in plan.entries.iter().enumerate() {
        let path = &planned.entry.path;
        if path.as_path() == Path::new(server::auto_cnf::NAME) {
            leave_out(path, "the identity of one server; a restored server creates its own");
        } else if server_file::is_certificate(path.as_path()) {
            // If one of these files exists, a server creates none of the others.
            leave_out(path, "a certificate or key of one server; a restored server creates its own");
        } else if planned.file_bytes().is_some_and(|bytes| bytes <= MAX_KEY_BYTES) && is_private_key(&plan, number)? {
            leave_out(path, "a private key");
        }
    }
    plan.keep(|planned| !left_out.iter().any(|(path, _)| path == planned.entry.path.as_bytes()));
    for path in &plan.skipped {
        let path = path.strip_prefix(root).unwrap_or(path).display().to_string();
        left_out.push((Vec::new(), ExcludedFile { path, why: "a socket, a pipe or a device".to_owned() }));
    }
    let mut left_out: Vec<ExcludedFile> = left_out.into_iter().map(|(_, left_out)| left_out).collect();
    left_out.sort_by(|one, other| one.path.cmp(&other.path));
    left_out.dedup_by(|one, other| one.path == other.path);
    Ok((plan, left_out))
}

/// Refuses links that lead out of the directory: the backup would not have what they point at, and a server on restored
/// files would follow them, perhaps to the files of another server. Such links are refused before a copy is taken, but
/// one may have been created since.
pub(crate) fn check_links(plan: &Plan) -> Result<(), Error> {
    match plan.external_links.first() {
        Some(link) => Err(snapshot::Error::leads_out(&plan.root, link.clone()).into()),
        None => Ok(()),
    }
}

/// Whether a small file contains a private key in PEM (RFC 7468).
fn is_private_key(plan: &Plan, number: usize) -> Result<bool, Error> {
    let Some(planned) = plan.entries.get(number) else { return Ok(false) };
    let name = planned.entry.path.as_path().file_name().unwrap_or_default().to_string_lossy();
    // Rows of a table may contain such text, but are not a key of the server.
    if server_file::is_engine_file(&name) || server_file::log_base(&name).is_some() {
        return Ok(false);
    }
    let head = SourceFile::open(plan, number)?.head(usize::try_from(MAX_KEY_BYTES).unwrap_or_default())?;
    Ok(head.windows(PRIVATE.len()).any(|bytes| bytes == PRIVATE))
}

const PRIVATE: &[u8] = b"PRIVATE KEY-----";

/// The UUID of a MySQL server, from its `auto.cnf`.
pub(crate) fn server_uuid(root: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(root.join(server::auto_cnf::NAME)).ok()?.take(4096).read_to_string(&mut text).ok()?;
    server::auto_cnf::server_uuid(&text).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn keys_and_what_is_of_one_server_stay_out_and_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("mysql")).unwrap();
        let pem = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n";
        let uuid = "8b1f8b5f-1e5b-11ef-9262-0242ac120002";
        for (name, content) in [
            ("mysql/db.opt", "x"),
            ("ca-key.pem", pem),
            ("public_key.pem", "-----BEGIN PUBLIC KEY-----\n"),
            ("mysql/other", pem),
            ("auto.cnf", &format!("[auto]\nserver-uuid={uuid}\n")),
            ("keyring", "Keyring file version:2.0\0"),
            ("mysql.sock.lock", "1"),
            ("mysql/rows.MYD", pem),
            ("binlog.000001", pem),
            ("given", "anything"),
        ] {
            fs::write(root.join(name), content).unwrap();
        }
        let (plan, left_out) = plan(root, &[root.join("given")]).unwrap();
        let goes: Vec<String> = plan.entries.iter().map(|planned| planned.entry.path.to_string()).collect();
        assert_eq!(goes, ["binlog.000001", "mysql", "mysql/db.opt", "mysql/rows.MYD"]);
        let named: Vec<&str> = left_out.iter().map(|left_out| left_out.path.as_str()).collect();
        assert_eq!(named, ["auto.cnf", "ca-key.pem", "given", "keyring", "mysql/other", "public_key.pem"]);
        assert_eq!(plan.bytes, 1 + 2 * pem.len() as u64);
        assert_eq!(server_uuid(root).as_deref(), Some(uuid));
    }

    #[test]
    fn links_that_lead_out_are_refused_whether_their_targets_exist_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap().join("data");
        fs::create_dir_all(root.join("mysql")).unwrap();
        symlink("mysql", root.join("within")).unwrap();
        // It stays out of the backup.
        symlink("/nowhere/cert.pem", root.join("server-cert.pem")).unwrap();
        let refused = || match check_links(&plan(&root, &[]).unwrap().0) {
            Ok(()) => None,
            Err(Error::Snapshot(error)) => Some(error),
            Err(error) => panic!("{error}"),
        };
        assert!(refused().is_none());
        let link = root.join("db");
        for (target, text) in [
            (Path::new("/nowhere/db"), "leads out of the data directory, to /nowhere/db, where nothing can be found"),
            (Path::new(".."), "leads out of the data directory, to "),
            (&root.join("mysql"), "is absolute; make it relative"),
        ] {
            symlink(target, &link).unwrap();
            let error = refused().unwrap().to_string();
            assert!(error.starts_with(&format!("{}: a link ", link.display())) && error.contains(text), "{error}");
            fs::remove_file(&link).unwrap();
        }
    }
}
