//! Options from the server's option files and command line.

use std::path::{Path, PathBuf};

use server::option_file::{Entries, Entry, usual_files};
use server::option_name::{with_hyphens, without_loose};
use server::{dialect::directory, option_group};

use crate::{arguments::Arguments, error::Error};

/// Directories of InnoDB and Aria files. Old files there must not be mixed with new ones.
const LOCATIONS: [&str; 5] =
    [directory::SYSTEM, directory::SYSTEM_FILES, directory::REDO, directory::UNDO, directory::ARIA];

/// Options in order of precedence: later files override earlier ones, the command line overrides
/// all.
#[derive(Debug, Default)]
pub struct Options {
    files: Vec<Entries>,
    suffix: String,
    command_line: Vec<(String, String)>,
}

impl Options {
    /// Reads the option files that the server read.
    ///
    /// # Errors
    /// [`Error::OptionFile`], and [`Error::OneVersion`] if a group for one version sets the
    /// location of data: the server's version is not known here.
    pub fn read(arguments: &Arguments) -> Result<Self, Error> {
        let mut paths: Vec<PathBuf> = match &arguments.defaults_file {
            Some(file) => vec![file.clone()],
            None => usual_files().into_iter().filter(|path| path.exists()).collect(),
        };
        paths.extend(arguments.defaults_extra_file.clone());
        let files = paths.iter().map(|path| Entries::read(path)).collect::<Result<_, _>>()?;
        let suffix = arguments.defaults_group_suffix.clone().unwrap_or_default();
        let options = Self { files, suffix, command_line: command_line(&arguments.server) };
        options.check_versions()?;
        Ok(options)
    }

    /// Value of a server option; `None` if it is not set, or empty.
    pub(crate) fn server(&self, name: &str) -> Option<&str> {
        let name = with_hyphens(name);
        let given = self.command_line.iter().rev().find(|(known, _)| *known == name);
        let text = given.map(|(_, value)| value.as_str()).or_else(|| self.last(option_group::SERVER, &name));
        text.filter(|text| !text.is_empty())
    }

    /// Value of a state transfer option; `None` if it is not set, or empty.
    pub(crate) fn sst(&self, name: &str) -> Option<&str> {
        self.last(&[option_group::SST], name).filter(|text| !text.is_empty())
    }

    fn last(&self, groups: &[&str], name: &str) -> Option<&str> {
        let is_meant = |entry: &&Entry| {
            let group = self.without_suffix(&entry.group);
            without_loose(&entry.key) == name && (groups.contains(&group) || groups.contains(&entry.group.as_str()))
        };
        self.files.iter().rev().find_map(|file| file.entries.iter().rev().find(is_meant))?.value.text()
    }

    /// A group name without the suffix of `--defaults-group-suffix`.
    fn without_suffix<'g>(&self, group: &'g str) -> &'g str {
        group.strip_suffix(&self.suffix.to_ascii_lowercase()).unwrap_or(group)
    }

    fn check_versions(&self) -> Result<(), Error> {
        let of_one_version = |group: &str| option_group::of_one_version(self.without_suffix(group)).is_some();
        for entry in self.files.iter().flat_map(|file| &file.entries).filter(|entry| of_one_version(&entry.group)) {
            let is_set = |location: &&str| with_hyphens(location) == without_loose(&entry.key);
            let location = LOCATIONS.into_iter().find(is_set);
            if let Some(option) = location.filter(|location| self.server(location) != entry.value.text()) {
                return Err(Error::OneVersion { group: entry.group.clone(), option });
            }
        }
        Ok(())
    }

    /// A directory option of the server; relative paths are relative to the data directory.
    pub(crate) fn directory(&self, name: &str, datadir: &Path) -> PathBuf {
        self.server(name).map_or_else(|| datadir.to_path_buf(), |text| datadir.join(text))
    }
}

/// Options with values, after an equals sign or in the next argument.
fn command_line(message: &[String]) -> Vec<(String, String)> {
    let mut message = message.iter().peekable();
    let mut options = Vec::new();
    while let Some(word) = message.next() {
        let Some(word) = word.strip_prefix("--") else { continue };
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, message.next_if(|next| !next.starts_with('-')).map(String::as_str)),
        };
        let name = with_hyphens(name);
        options.extend(value.map(|value| (without_loose(&name).to_owned(), value.to_owned())));
    }
    options
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str, more: &str) -> Result<Options, Error> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("my.cnf");
        fs::write(&file, text).unwrap();
        let message = format!("--role donor --address h --datadir /d --defaults-file {} {more}", file.display());
        Options::read(&Arguments::parse(message.split_whitespace().map(str::to_owned)).unwrap())
    }

    #[test]
    fn the_command_line_takes_precedence_over_files() {
        let text = "[mysqld]\ninnodb_undo_directory=/file\naria-log-dir-path = /aria\n[sst]\ntca=/one\ntca=/two\n\
                    encrypt=0\n[sst2]\ntkey=/key\n";
        let more = "--defaults-group-suffix 2 --mysqld-args --innodb-undo_directory=undo";
        let options = read(text, more).unwrap();
        let datadir = Path::new("/d");
        assert_eq!(options.directory("innodb-undo-directory", datadir), Path::new("/d/undo"));
        assert_eq!(options.directory("aria-log-dir-path", datadir), Path::new("/aria"));
        assert_eq!(options.directory("innodb-data-home-dir", datadir), datadir);
        assert_eq!((options.sst("tca"), options.sst("tkey"), options.sst("tcert")), (Some("/two"), Some("/key"), None));
    }

    #[test]
    fn every_spelling_that_the_server_accepts_is_parsed() {
        let text = "[MYSQLD]\nloose_innodb_undo_directory=/undo\ntmpdir=/one\n[SST]\ntca=/ca\n[MariaDB-X]\n\
                    aria_log_dir_path=/aria\n";
        let more = "--defaults-group-suffix -X --mysqld-args --innodb-log-group-home-dir /redo --wsrep_on \
                    --loose-innodb_data_home_dir=/home --tmpdir /two --bind-address";
        let options = read(text, more).unwrap();
        for (name, value) in [
            ("innodb-undo-directory", Some("/undo")),
            ("innodb-log-group-home-dir", Some("/redo")),
            ("innodb-data-home-dir", Some("/home")),
            ("aria-log-dir-path", Some("/aria")),
            ("tmpdir", Some("/two")),
            ("wsrep-on", None),
        ] {
            assert_eq!(options.server(name), value, "{name}");
        }
        assert_eq!(options.sst("tca"), Some("/ca"));
    }

    #[test]
    fn directories_in_groups_of_one_version_are_refused() {
        for group in ["mariadb-10.11", "Mysqld-10.11", "mariadbd-11.8"] {
            let text = format!("[{group}]\ninnodb-log-group-home-dir=/redo\n");
            assert!(matches!(read(&text, ""), Err(Error::OneVersion { .. })), "{group}");
            // The same option in a group for all versions.
            let text = format!("[mysqld]\ninnodb_log_group_home_dir=/redo\n{text}");
            assert!(read(&text, "").is_ok(), "{group}");
        }
        assert!(read("[mariadb-10.11]\ntmpdir=/t\n[client-10]\ninnodb-data-home-dir=/x\n", "").is_ok());
    }
}
