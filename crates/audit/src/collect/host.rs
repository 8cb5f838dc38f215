//! Host facts besides the server's files: its process, the devices below paths, swap, option files, exposed secrets,
//! and permissions of key files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use files::accounts;
use server::program::takes_password;

use super::disks::Disks;
use super::luks;
use super::modes;
use super::options;
use super::process;
use super::roots::{Extent, ScanRoot};
use super::secret::without_secrets;
use super::view::{Host, View};
use crate::facts::files::FileFact;
use crate::facts::host::{CrypttabEntry, HostFacts, PathOnDisk, Process, Role, SecretLocation};
use crate::facts::sql::SqlFacts;

/// Maximum size of a history file that is searched.
const HISTORY_BYTES: usize = 1 << 20;

/// Input of the collection of host facts.
pub(super) struct HostSources<'a> {
    pub(super) host: &'a Host,
    pub(super) view: &'a View,
    pub(super) process: Option<Process>,
    pub(super) sql: Option<&'a SqlFacts>,
    pub(super) datadir: &'a Path,
    pub(super) scan_roots: &'a [ScanRoot],
    /// The files that were found: for key files, and for directories outside the roots.
    pub(super) files: &'a [FileFact],
    /// Directories on another device than their root.
    pub(super) mounts: &'a [(PathBuf, Role)],
    /// Option files that the operator named.
    pub(super) option_files: &'a [PathBuf],
}

/// Collects all host facts.
pub(super) fn collect(sources: HostSources<'_>) -> HostFacts {
    let pid = sources.process.as_ref().map(|process| process.pid);
    let disks = Disks::read(sources.host, pid);
    let raw_command_line = pid.map(|pid| process::command_line(sources.host, pid)).unwrap_or_default();
    let homes = homes(sources.view);
    let read = options::read(sources.view, &raw_command_line, sources.option_files, sources.datadir, &homes);
    let swaps = disks.swaps();
    let mut secrets = read.secrets;
    let mut unseen = Vec::new();
    secrets.extend(secrets_of_processes(sources.host, &mut unseen));
    secrets.extend(homes.iter().flat_map(|home| secrets_in_home(sources.view, home, &mut unseen)));
    HostFacts {
        virtual_machine: disks.virtual_machine,
        paths: paths(&sources, &disks),
        swaps_unseen: swaps.as_ref().err().cloned(),
        swaps: swaps.unwrap_or_default(),
        core_pattern: fs::read_to_string(sources.host.proc.join("sys/kernel/core_pattern"))
            .ok()
            .map(|text| text.trim().to_owned()),
        modes: modes::collect(&sources, &read.files),
        options: read.entries,
        unreadable_options: read.unreadable,
        secrets,
        secrets_unseen: unseen,
        same_user: sources
            .process
            .as_ref()
            .and_then(|process| process::same_user(sources.host, process.pid, process.uid)),
        crypttab: crypttab(sources.view, &disks),
        luks: Some(luks::collect(sources.host, Path::new("/dev"))),
        stunnel: Some(is_installed(sources.view, &search_path(sources.host, pid), "stunnel")),
        process: sources.process,
    }
}

fn paths(sources: &HostSources<'_>, disks: &Disks) -> Vec<PathOnDisk> {
    let mut wanted = wanted(sources.view, sources.scan_roots);
    let external = sources.files.iter().filter(|file| file.role == Role::ExternalData);
    for parent in external.filter_map(|file| Path::new(&file.path).parent()) {
        wanted.entry((parent.to_owned(), Role::ExternalData)).or_insert_with(|| "data file".to_owned());
    }
    for (path, role) in sources.mounts {
        wanted.entry((path.clone(), *role)).or_insert_with(|| "mounted in the directory".to_owned());
    }
    wanted.into_iter().map(|((path, role), via)| disks.below(&path, role, &via)).collect()
}

/// The paths whose disks count, and the variable that names each.
pub(super) fn wanted(view: &View, scan_roots: &[ScanRoot]) -> BTreeMap<(PathBuf, Role), String> {
    let mut wanted: BTreeMap<(PathBuf, Role), String> = BTreeMap::new();
    let configures = |scan_root: &&ScanRoot| {
        scan_root.path.extension().is_some_and(|end| end == "cnf" || end == "my" || end == "conf")
    };
    let matters =
        |scan_root: &&ScanRoot| scan_root.role != Role::Tls && !(scan_root.role == Role::Key && configures(scan_root));
    for scan_root in scan_roots.iter().filter(matters) {
        // A single file counts with its directory; a key file for itself, to compare devices.
        let path = match scan_root.extent {
            Extent::File if scan_root.role != Role::Key => scan_root.directory(),
            _ => &scan_root.path,
        };
        if view.stat(path).is_ok() {
            wanted.entry((path.to_owned(), scan_root.role)).or_insert_with(|| scan_root.via.clone());
        }
    }
    wanted
}

/// Home directories in `/etc/passwd`, root's first.
fn homes(view: &View) -> Vec<PathBuf> {
    const MOST: usize = 1000;
    let passwd = view.read(Path::new(accounts::USERS), 1 << 20).unwrap_or_default();
    let text = String::from_utf8_lossy(&passwd);
    let homes = accounts::homes(&text).filter(|home| home.is_absolute() && *home != Path::new("/"));
    let all: BTreeSet<PathBuf> = homes.take(MOST).map(Path::to_owned).collect();
    let root = PathBuf::from("/root");
    let others = all.into_iter().filter(|home| *home != root);
    std::iter::once(root.clone()).chain(others).filter(|home| view.stat(home).is_ok()).collect()
}

/// `MYSQL_PWD` in environments and passwords in arguments, of accessible processes.
fn secrets_of_processes(host: &Host, unseen: &mut Vec<String>) -> Vec<SecretLocation> {
    let mut found = Vec::new();
    for pid in process::pids(host) {
        let arguments = process::command_line(host, pid);
        let Some(program) = arguments
            .first()
            .and_then(|path| Path::new(path).file_name())
            .map(|name| name.to_string_lossy().into_owned())
        else {
            continue;
        };
        let program = program.trim_end_matches(':').to_owned();
        let location = format!("process {pid} ({program})");
        if has_password_variable(host, pid, unseen) {
            found.push(SecretLocation {
                location: location.clone(),
                kind: "MYSQL_PWD in environment".to_owned(),
                mode: None,
            });
        }
        if takes_password(&program) && without_secrets(&arguments).1 {
            found.push(SecretLocation { location, kind: "password on command line".to_owned(), mode: None });
        }
    }
    found
}

/// Whether `MYSQL_PWD` is set and not empty. The value is not kept.
fn has_password_variable(host: &Host, pid: i32, unseen: &mut Vec<String>) -> bool {
    let path = host.of_process(pid, "environ");
    let environment = match fs::read(&path) {
        Ok(environment) => environment,
        Err(error) => {
            note(unseen, &path, &error);
            return false;
        }
    };
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry.strip_prefix(b"MYSQL_PWD=").is_some_and(|value| !value.is_empty()))
}

/// Records a path that exists but is not accessible.
fn note(unseen: &mut Vec<String>, path: &Path, error: &std::io::Error) {
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        unseen.push(path.to_string_lossy().into_owned());
    }
}

fn secrets_in_home(view: &View, home: &Path, unseen: &mut Vec<String>) -> Vec<SecretLocation> {
    let mut found = Vec::new();
    if let Err(error) = view.open_dir(home) {
        note(unseen, home, &error);
        return found;
    }
    for name in [".mysql_history", ".mariadb_history"] {
        let path = home.join(name);
        let bytes = match view.read(&path, HISTORY_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => {
                note(unseen, &path, &error);
                continue;
            }
        };
        if shows_password(&String::from_utf8_lossy(&bytes)) {
            found.push(secret_file(view, &path, "client history"));
        }
    }
    let login = home.join(".mylogin.cnf");
    if view.stat(&login).is_ok_and(|stat| stat.st_size > 0) {
        found.push(secret_file(view, &login, "login path (obfuscated only)"));
    }
    found
}

fn secret_file(view: &View, path: &Path, kind: &str) -> SecretLocation {
    let mode = view.stat(path).ok().map(|stat| stat.st_mode & 0o7777);
    SecretLocation { location: path.to_string_lossy().into_owned(), kind: kind.to_owned(), mode }
}

/// Whether statements in a history set a password. Clients omit most of them, but not all, and older clients none. The
/// line editor may write a space as `\040`.
fn shows_password(history: &str) -> bool {
    let message = [
        "IDENTIFIED BY '",
        "IDENTIFIED BY \"",
        "PASSWORD('",
        "PASSWORD = '",
        "PASSWORD='",
        "SET PASSWORD",
        "IDENTIFIED WITH",
    ];
    history.lines().any(|line| {
        let line = line.replace("\\040", " ").to_ascii_uppercase();
        let quoted = line.contains('\'') || line.contains('"');
        quoted && message.iter().any(|word| line.contains(word)) && !line.contains("IDENTIFIED WITH 'AUTH_SOCKET'")
    })
}

/// `/etc/crypttab`: name, device, key file, options. `none`, `-` and an empty field mean that the passphrase is asked
/// for; a device such as `/dev/urandom` generates a key. Source: `crypttab(5)`.
fn crypttab(view: &View, disks: &Disks) -> Option<Vec<CrypttabEntry>> {
    let bytes = match view.read(Path::new("/etc/crypttab"), 1 << 20) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(Vec::new()),
        Err(_) => return None,
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Some(lines.filter_map(|line| crypttab_entry(line, view, disks)).collect())
}

fn crypttab_entry(line: &str, view: &View, disks: &Disks) -> Option<CrypttabEntry> {
    let mut fields = line.split_whitespace();
    let (name, _, key) = (fields.next()?, fields.next()?, fields.next().unwrap_or("none"));
    let key = key.split(':').next().filter(|key| key.starts_with('/') && !key.starts_with("/dev/"));
    let found = key.map(Path::new).filter(|key| view.stat(key).is_ok());
    Some(CrypttabEntry {
        name: name.to_owned(),
        key_file: key.map(str::to_owned),
        key_layer: found.map(|key| disks.below(key, Role::Key, "/etc/crypttab").layer),
    })
}

/// The server's `PATH`, if its environment can be read: programs that it starts by name are searched there first.
fn search_path(host: &Host, pid: Option<i32>) -> Vec<PathBuf> {
    let environment = pid.and_then(|pid| fs::read(host.of_process(pid, "environ")).ok()).unwrap_or_default();
    let path = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"PATH="));
    let directories = path.unwrap_or_default().split(|byte| *byte == b':');
    directories.map(|directory| PathBuf::from(OsStr::from_bytes(directory))).filter(|path| path.is_absolute()).collect()
}

fn is_installed(view: &View, path: &[PathBuf], program: &str) -> bool {
    let usual = ::process::USER_DIRECTORIES.iter().chain(&::process::ADMIN_DIRECTORIES).map(Path::new);
    let directories = path.iter().map(PathBuf::as_path).chain(usual);
    directories.into_iter().any(|directory| view.stat(&directory.join(program)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_the_server_finds_them() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("7");
        fs::create_dir_all(own.join("bin")).unwrap();
        fs::write(own.join("environ"), format!("HOME=/\0PATH=relative:{}/bin:/sbin\0", own.display())).unwrap();
        let host = Host { proc: dir.path().to_owned(), sys: dir.path().to_owned() };
        let path = search_path(&host, Some(7));
        assert_eq!(path, [own.join("bin"), PathBuf::from("/sbin")]);
        assert!(!is_installed(&View::ours(), &path, "a-program-of-ours"));
        fs::write(own.join("bin/a-program-of-ours"), "").unwrap();
        assert!(is_installed(&View::ours(), &path, "a-program-of-ours"));
        assert!(search_path(&host, Some(8)).is_empty() && search_path(&host, None).is_empty());
    }

    #[test]
    fn secrets_of_processes_are_seen_and_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let add = |pid: &str, cmdline: &str, environ: &str| {
            let current = dir.path().join(pid);
            fs::create_dir_all(&current).unwrap();
            fs::write(current.join("cmdline"), cmdline).unwrap();
            fs::write(current.join("environ"), environ).unwrap();
        };
        add("10", "/usr/bin/mysql\0-phunter2\0", "HOME=/root\0");
        add("11", "/usr/bin/ssh\0-p2222\0", "");
        add("12", "/opt/backup.sh\0", "MYSQL_PWD=hunter2\0");
        add("13", "mysqldump\0--password=xxxxxxx\0", "");
        let host = Host { proc: dir.path().to_owned(), sys: dir.path().to_owned() };
        let found = secrets_of_processes(&host, &mut Vec::new());
        let locations: Vec<&str> = found.iter().map(|secret| secret.location.as_str()).collect();
        assert_eq!(locations, ["process 10 (mysql)", "process 12 (backup.sh)"]);
        assert!(!format!("{found:?}").contains("hunter2"));
    }

    #[test]
    fn only_key_files_of_crypttab_count() {
        let dir = tempfile::tempdir().unwrap();
        let disks = Disks::read(&Host { proc: dir.path().to_owned(), sys: dir.path().to_owned() }, None);
        let key = |line: &str| crypttab_entry(line, &View::ours(), &disks).unwrap().key_file;
        assert_eq!(key("data UUID=1 /etc/keys/data.key luks").as_deref(), Some("/etc/keys/data.key"));
        assert_eq!(key("swap /dev/sda2 /dev/urandom swap"), None);
        assert_eq!(key("data UUID=1 none luks"), None);
        assert_eq!(key("data UUID=1"), None);
    }

    #[test]
    fn a_history_counts_only_with_a_password_in_it() {
        assert!(shows_password("CREATE\\040USER\\040a\\040IDENTIFIED\\040BY\\040'x';\n"));
        assert!(shows_password("change master to master_user='r', master_password='x';\n"));
        assert!(!shows_password("SELECT password FROM t;\nSHOW TABLES;\n"));
    }
}
