//! Sets up MariaDB's `file_key_management`: a key file encrypted with a password, a password file, and options.
//!
//! The key file uses the server's default encryption. Tables use AES-CBC, the default: with AES-CTR, someone who can
//! write to the disk can flip chosen bits of a row.
//! Source: MariaDB knowledge base, "File Key Management Encryption Plugin".

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use keyring::{Derivation, MariaDbKeys};
use server::{
    dialect::key_store::{MARIADB_KEYS, MARIADB_PASSWORD, MARIADB_PLUGIN, MARIADB_PLUGIN_LIBRARY, PASSWORD_FILE},
    option_file::Entries,
    option_group,
};

use super::{
    Error, InitRequest,
    host::Host,
    part::{Part, WriteMethod, directory, read},
};

/// Directories that the packages' option files include, on Debian and on Red Hat.
const INCLUDED: [&str; 3] = ["/etc/mysql/mariadb.conf.d", "/etc/my.cnf.d", "/etc/mysql/conf.d"];
const OPTION_FILE: &str = "sealant-keys.cnf";

pub(super) fn parts(
    host: &Host,
    keys: &Path,
    request: &InitRequest,
    notes: &mut Vec<String>,
) -> Result<Vec<(Part, WriteMethod)>, Error> {
    if !host.plugin_dir.join(MARIADB_PLUGIN_LIBRARY).is_file() {
        let reason = format!("{MARIADB_PLUGIN} is not installed in {}", host.plugin_dir.display());
        return Err(Error::NotFound { server: host.datadir.display().to_string(), reason });
    }
    let password = request.password.clone().unwrap_or_else(|| keys.with_extension("password"));
    if password.parent() == keys.parent() {
        notes.push(
            "the password lies beside the key file: --password-file puts it on another disk or a mounted secret"
                .to_owned(),
        );
    }
    for path in [keys, &password] {
        fits_option_file(path)?;
    }
    let owner = Some(host.owner);
    let mut parts = vec![directory(keys, host.owner, &host.datadir)?];
    if password.parent() != keys.parent() {
        parts.push(directory(&password, host.owner, &host.datadir)?);
    }
    let known = read(&password)?;
    let part = Part::secret(password.clone(), "password of the key file", 0o600, owner);
    parts.push((part.there(known.is_some()), WriteMethod::Password));
    let there = is_our_key_file(keys, known.as_ref().map(|bytes| bytes.as_slice()))?;
    let what = format!("{} random keys, encrypted with the password", request.keys);
    let part = Part::secret(keys.to_owned(), &what, 0o600, owner);
    parts.push((part.there(there), WriteMethod::Keys { keys: request.keys, password: password.clone() }));
    let target = OptionFileTarget::find(host, request)?;
    if target.shared {
        notes.push(format!(
            "every server of this host that reads the group [{}] of {} gets these keys: name this server's own file \
             with --config",
            target.group,
            target.path.display()
        ));
    }
    parts.push(options(keys, &password, &target)?);
    Ok(parts)
}

/// Whether a key file exists that the password opens: left by an interrupted run.
fn is_our_key_file(keys: &Path, password: Option<&[u8]>) -> Result<bool, Error> {
    let Some(bytes) = read(keys)? else { return Ok(false) };
    let opened = password
        .is_some_and(|password| MariaDbKeys::load_derived(&bytes, Some(password), Derivation::default()).is_ok());
    if opened { Ok(true) } else { Err(Error::KeysExist { path: keys.to_owned() }) }
}

/// The option file of the server, to which the lines are appended, and the group that they go into.
struct OptionFileTarget {
    path: PathBuf,
    group: String,
    /// Whether other servers of this host may read it, too.
    shared: bool,
}

impl OptionFileTarget {
    fn find(host: &Host, request: &InitRequest) -> Result<Self, Error> {
        let arguments_read = host.arguments_read.clone().unwrap_or_default();
        let group = format!("mariadb{}", arguments_read.suffix.as_deref().unwrap_or_default());
        if let Some(config) = &request.config {
            let absolute = std::path::absolute(config);
            let path = absolute.map_err(|source| Error::Look { path: config.clone(), source })?;
            return Ok(Self { path, group, shared: false });
        }
        let unknown =
            |reason: &str| Error::NotFound { server: host.datadir.display().to_string(), reason: reason.to_owned() };
        if host.arguments_read.is_none() {
            return Err(unknown("the server's option file could not be determined: name it with --config"));
        }
        if arguments_read.none {
            return Err(unknown("the server was started with --no-defaults, and reads no option file"));
        }
        let shared = arguments_read.suffix.is_none();
        match arguments_read.only.or(arguments_read.extra) {
            // The server may have changed its working directory since it started.
            Some(path) if path.is_relative() => {
                Err(unknown("the server was started with a relative path to its option file: name it with --config"))
            }
            Some(path) => Ok(Self { path, group, shared: false }),
            None => Ok(Self { path: included()?.join(OPTION_FILE), group, shared }),
        }
    }

    /// The groups in which this server would find the option.
    fn groups(&self) -> Vec<&str> {
        option_group::SERVER.iter().copied().chain([self.group.as_str()]).collect()
    }
}

/// The lines that load the plug-in, to append to an existing file.
fn options(keys: &Path, password: &Path, target: &OptionFileTarget) -> Result<(Part, WriteMethod), Error> {
    let text = format!(
        "# Keys of this server, by `sealant keyring init`.\n\
         [{}]\n\
         plugin_load_add = {MARIADB_PLUGIN}\n\
         {MARIADB_KEYS} = {}\n\
         {MARIADB_PASSWORD} = {PASSWORD_FILE}{}\n\
         file_key_management_encryption_algorithm = AES_CBC\n",
        target.group,
        keys.display(),
        password.display()
    );
    let groups = target.groups();
    let path = target.path.clone();
    let what = "load the plug-in with these keys";
    let Ok(metadata) = fs::metadata(&path) else {
        return Ok((Part::text(path, what, 0o644, None, text), WriteMethod::Text));
    };
    let owner = Some((metadata.uid(), metadata.gid()));
    let part = Part::text(path.clone(), what, metadata.mode() & 0o7777, owner, text);
    let entries = Entries::read(&path).map_err(Error::OptionFile)?;
    match entries.last(&groups, MARIADB_KEYS).map(|entry| entry.value.text().map(PathBuf::from)) {
        Some(Some(named)) if named == keys => Ok((part.there(true), WriteMethod::Append)),
        Some(_) => {
            let reason = format!("has {MARIADB_KEYS} already, for another file");
            Err(Error::Configured { path, reason })
        }
        None => Ok((part, WriteMethod::Append)),
    }
}

fn included() -> Result<PathBuf, Error> {
    let found = INCLUDED.iter().map(PathBuf::from).find(|directory| directory.is_dir());
    found.ok_or_else(|| Error::NotFound {
        server: "MariaDB".to_owned(),
        reason: "no usual directory for option files exists; name the server's option file with --config".to_owned(),
    })
}

/// Checks that a path is valid in option files, which have their own quotes, escapes and comments.
fn fits_option_file(path: &Path) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,".contains(c);
    if path.to_str().is_some_and(|text| text.chars().all(plain)) {
        return Ok(());
    }
    let reason = "has characters with a special meaning in option files".to_owned();
    Err(Error::Unsafe { path: path.to_owned(), reason })
}
