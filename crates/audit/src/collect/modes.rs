//! Permissions of files that must be private.

use std::path::{Path, PathBuf};

use rustix::fs::{FileType, lgetxattr_query};
use server::dialect::key_store::{KEY_FILE_VARIABLES, KeyFile, named_file};
use server::dialect::variable;

use super::host::HostSources;
use super::roots::{self, key_store_files, normal};
use super::view::View;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::{FileMode, Role};
use crate::facts::sql::SqlFacts;

/// Permissions of key stores, private keys, certificates and option files, and of the directories with the server's
/// files: an inaccessible one protects what is below it.
pub(super) fn collect(sources: &HostSources<'_>, option_files: &[PathBuf]) -> Vec<FileMode> {
    let view = sources.view;
    let mut wanted: Vec<(PathBuf, &str, String)> = Vec::new();
    if let Some(sql) = sources.sql {
        of_variables(view, sql, sources.datadir, &mut wanted);
    }
    for scan_root in sources.scan_roots.iter().filter(|scan_root| !matches!(scan_root.role, Role::Key | Role::Tls)) {
        wanted.push((scan_root.directory().to_owned(), "directory", scan_root.via.clone()));
    }
    for file in sources.files {
        if let Some(what) = private(file) {
            wanted.push((PathBuf::from(&file.path), what, "found among the server's files".to_owned()));
        }
    }
    wanted
        .extend(option_files.iter().map(|path| (path.clone(), "option file", "read by server or clients".to_owned())));
    let mut found: Vec<FileMode> = Vec::new();
    for (path, what, via) in wanted {
        if !found.iter().any(|known| Path::new(&known.path) == path) {
            found.push(of_file(view, &path, what, via));
        }
    }
    found
}

fn of_variables(view: &View, sql: &SqlFacts, datadir: &Path, wanted: &mut Vec<(PathBuf, &'static str, String)>) {
    let value = |name: &str| sql.variable_or_none(name).filter(|value| !value.is_empty());
    for (name, holds) in KEY_FILE_VARIABLES {
        if let Some(path) = value(name).and_then(|value| named_file(name, value)) {
            wanted.push((normal(&datadir.join(path)), kind_of(holds), name.to_owned()));
        }
    }
    for path in key_store_files(sql, datadir).into_iter().filter(|path| path.extension().is_none_or(|end| end != "cnf"))
    {
        wanted.push((path, "keyring", "performance_schema.keyring_component_status".to_owned()));
    }
    for name in roots::TLS_FILES {
        let what = match name.rsplit('_').next() {
            Some("key") => "tls key",
            Some("ca") => "ca certificate",
            _ => "certificate",
        };
        if let Some(path) = value(name) {
            wanted.push((normal(&datadir.join(path)), what, (*name).to_owned()));
            if *name == variable::SSL_CA {
                let ca = normal(&datadir.join(path));
                wanted.extend(ca_key_beside(view, &ca));
                // The file may be a link to the authority's own directory.
                wanted.extend(ca_key_beside(view, &view.resolve(&ca)));
            }
        }
    }
}

const fn kind_of(file: KeyFile) -> &'static str {
    match file {
        KeyFile::Keyring => "keyring",
        KeyFile::Configuration => "keyring configuration",
        KeyFile::MariaDbKeys => "key file",
        KeyFile::MariaDbPassword => "key file password",
    }
}

/// `ca-key.pem` next to `ca.pem`, as MySQL creates them.
fn ca_key_beside(view: &View, ca: &Path) -> Option<(PathBuf, &'static str, String)> {
    let key = ca.with_file_name("ca-key.pem");
    view.stat(&key).is_ok().then(|| (key, "ca key", "beside ssl_ca".to_owned()))
}

/// The kind of a recognised file, if it must be private.
fn private(file: &FileFact) -> Option<&'static str> {
    match &file.content {
        Content::KeyStore { summary } => match summary.kind {
            keyring::StoreKind::ComponentFile
            | keyring::StoreKind::PluginFileV1
            | keyring::StoreKind::PluginFileV2
            | keyring::StoreKind::AwsPlugin
            | keyring::StoreKind::KmsWrappedFile => Some("keyring"),
            keyring::StoreKind::Manifest => Some("keyring manifest"),
            keyring::StoreKind::ComponentConfig
            | keyring::StoreKind::VaultConfig
            | keyring::StoreKind::KmipConfig
            | keyring::StoreKind::KmsConfig => Some("keyring configuration"),
            _ => Some("key file"),
        },
        Content::ExportKey => Some("key file"),
        Content::PrivateKey { .. } if file.base_name().starts_with("ca") => Some("ca key"),
        // The key pair of the password plug-ins is not for TLS, but must be as private.
        Content::PrivateKey { .. } => Some("tls key"),
        _ => None,
    }
}

fn of_file(view: &View, path: &Path, what: &str, via: String) -> FileMode {
    let directory = path.parent().and_then(|parent| view.stat(parent).ok()).map(|stat| stat.st_mode & 0o7777);
    let reached = view.reach(path);
    let (stat, error) = match view.stat(path) {
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile | FileType::Directory => (Some(stat), None),
            _ => (None, Some("not a regular file".to_owned())),
        },
        Err(error) => (None, Some(error.to_string())),
    };
    FileMode {
        path: path.to_string_lossy().into_owned(),
        what: what.to_owned(),
        via,
        mode: stat.as_ref().map(|stat| stat.st_mode & 0o7777),
        uid: stat.as_ref().map(|stat| stat.st_uid),
        gid: stat.as_ref().map(|stat| stat.st_gid),
        // A minimal access control list, which is equivalent to the mode, is not stored.
        acl: lgetxattr_query(&reached, "system.posix_acl_access").is_ok_and(|bytes| bytes > 0),
        directory_mode: directory,
        error,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::collect::view::Host;
    use crate::testing::mysql;

    #[test]
    fn variables_lead_to_modes() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("server-key.pem"), "x").unwrap();
        fs::set_permissions(dir.path().join("server-key.pem"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(dir.path().join("ca-key.pem"), "x").unwrap();
        let made = mysql()
            .variable("ssl_key", "server-key.pem")
            .variable("ssl_ca", "ca.pem")
            .variable("keyring_file_data", "/nowhere/keyring");
        let sources = HostSources {
            host: &Host::this(),
            view: &View::ours(),
            process: None,
            sql: made.0.sql.as_ref(),
            datadir: dir.path(),
            scan_roots: &roots::from_directory(dir.path(), Role::Data),
            files: &[],
            mounts: &[],
            option_files: &[],
        };
        let modes = collect(&sources, &[]);
        let of = |what: &str| modes.iter().find(|mode| mode.what == what).unwrap();
        assert_eq!(of("tls key").mode, Some(0o644));
        assert_eq!(of("ca key").error, None);
        assert!(of("directory").mode.is_some());
        assert!(of("keyring").mode.is_none() && of("keyring").error.is_some());
    }
}
