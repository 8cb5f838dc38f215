//! Option files of the server, and of the clients on its host.

use std::path::{Path, PathBuf};

use server::option_file::{DATADIR_FILE, Entries, HOME_FILE, HOST_FILES, OptionFileArguments, Value, Warning};
use server::option_name;
use server::secret_name::{is_account_password, without_passwords};

use super::view::View;
use crate::facts::host::{OptionEntry, SecretLocation};

/// Content of the option files.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) entries: Vec<OptionEntry>,
    pub(super) unreadable: Vec<(String, String)>,
    pub(super) secrets: Vec<SecretLocation>,
    /// Files that were read.
    pub(super) files: Vec<PathBuf>,
}

/// A file to read, and whether the running server reads it.
struct Source {
    path: PathBuf,
    by_server: bool,
}

/// Reads the usual files, those on the server's command line, those that the operator named, and `~/.my.cnf` of every
/// home directory.
pub(super) fn read(view: &View, command_line: &[String], named: &[PathBuf], datadir: &Path, homes: &[PathBuf]) -> Read {
    let mut done = Read::default();
    for source in sources(command_line, datadir, homes) {
        if view.stat(&source.path).is_ok() {
            one(view, &source, &mut done);
        }
    }
    // The operator's files are on this host, not in the server's root, and must exist.
    for path in named {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        match View::ours().stat(&path) {
            Ok(_) => one(&View::ours(), &Source { path, by_server: false }, &mut done),
            Err(error) => done.unreadable.push((text(&path), error.to_string())),
        }
    }
    done
}

/// In the server's reading order; the files of clients come last.
fn sources(command_line: &[String], datadir: &Path, homes: &[PathBuf]) -> Vec<Source> {
    let OptionFileArguments { none, only, extra, .. } = OptionFileArguments::parse(command_line);
    let default = only.is_none() && !none;
    let mut sources: Vec<Source> =
        HOST_FILES.iter().map(|path| Source { path: PathBuf::from(path), by_server: default }).collect();
    // Up to MySQL 5.5, `my.cnf` in the data directory was the server's own.
    sources.push(Source { path: datadir.join(DATADIR_FILE), by_server: false });
    sources.extend(only.map(|path| Source { path, by_server: !none }));
    sources.extend(extra.map(|path| Source { path, by_server: default }));
    sources.extend(homes.iter().map(|home| Source { path: home.join(HOME_FILE), by_server: false }));
    sources
}

fn one(view: &View, source: &Source, done: &mut Read) {
    let reached = view.reach(&source.path);
    let prefix = view.foreign_root();
    let named = |path: &Path| match prefix.and_then(|prefix| path.strip_prefix(prefix).ok()) {
        Some(inside) => Path::new("/").join(inside),
        // A file reached through a link keeps the name of the link.
        None if path == reached => source.path.clone(),
        None => path.to_owned(),
    };
    let read = match Entries::read(&reached) {
        Ok(read) => read,
        Err(error) => {
            done.unreadable.push((text(&source.path), error.to_string()));
            return;
        }
    };
    for warning in read.warnings {
        match warning {
            Warning::Unreadable { file, reason } => done.unreadable.push((text(&named(&file)), reason)),
            Warning::WorldWritable { file } => {
                let why = "anybody may write it, so servers and clients ignore it".to_owned();
                done.unreadable.push((text(&named(&file)), why));
            }
            _ => {}
        }
    }
    let new = |path: &PathBuf, known: &[PathBuf]| !known.contains(path);
    let files: Vec<PathBuf> = read.files.iter().map(|file| named(file)).filter(|file| new(file, &done.files)).collect();
    for entry in read.entries {
        let file = named(&entry.file);
        if !files.contains(&file) {
            continue;
        }
        let secret = entry.value == Value::Secret;
        let key = option_name::with_underscores(&entry.key);
        if secret && is_account_password(&key) {
            password_in(view, &file, done);
        }
        done.entries.push(OptionEntry {
            file: text(&file),
            line: entry.line,
            group: entry.group,
            value: entry.value.text().map(without_passwords),
            key,
            secret,
            read_by_server: source.by_server,
        });
    }
    done.files.extend(files);
}

fn password_in(view: &View, file: &Path, done: &mut Read) {
    let location = text(file);
    if done.secrets.iter().all(|known| known.location != location) {
        let mode = view.stat(file).ok().map(|stat| stat.st_mode & 0o7777);
        done.secrets.push(SecretLocation { location, kind: "password in option file".to_owned(), mode });
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn passwords_are_located_and_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        fs::write(&path, "[client]\nuser=a\npassword=hunter2\nskip-ssl\n[mysqld]\nssl-ca = /x\n").unwrap();
        let mut done = Read::default();
        one(&View::ours(), &Source { path: path.clone(), by_server: true }, &mut done);
        assert_eq!(done.secrets.len(), 1);
        assert!(!format!("{done:?}").contains("hunter2"));
        let keys: Vec<&str> = done.entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["user", "password", "skip_ssl", "ssl_ca"]);
        one(&View::ours(), &Source { path, by_server: true }, &mut done);
        assert_eq!(done.entries.len(), 4);
    }

    #[test]
    fn the_command_line_decides_what_the_server_reads() {
        let by_server = |arguments: &[&str]| {
            let owned: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
            let sources = sources(&owned, Path::new("/d"), &[]);
            sources.into_iter().filter(|s| s.by_server).map(|s| text(&s.path)).collect::<Vec<_>>().join(" ")
        };
        assert!(by_server(&["mysqld"]).starts_with("/etc/my.cnf /etc/mysql/my.cnf"));
        assert_eq!(by_server(&["mysqld", "--defaults-file=/x.cnf"]), "/x.cnf");
        assert_eq!(by_server(&["mysqld", "--no-defaults"]), "");
    }

    #[test]
    fn a_named_file_is_ours_and_its_absence_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("client.cnf");
        fs::write(&file, "[client]\nssl-mode=DISABLED\n").unwrap();
        let gone = dir.path().join("gone.cnf");
        let read = read(&View::ours(), &[], &[file, gone.clone()], dir.path(), &[]);
        assert!(read.entries.iter().any(|entry| entry.key == "ssl_mode"));
        assert_eq!(read.unreadable.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), [gone.to_str().unwrap()]);
    }
}
