//! What the server's option files and command line say.

use std::path::{Path, PathBuf};

use server::option_file::{Entries, usual_files};

use crate::{arguments::Arguments, error::SstError};

/// Groups that the server reads.
const SERVER: [&str; 5] = ["mysqld", "server", "mariadb", "mariadbd", "galera"];
/// The group of state transfers.
const SST: [&str; 1] = ["sst"];

/// Options, later ones over earlier ones, the command line over all.
#[derive(Debug, Default)]
pub struct Options {
    files: Vec<Entries>,
    suffix: Option<String>,
    command_line: Vec<(String, String)>,
}

impl Options {
    /// Reads the files that the server read.
    ///
    /// # Errors
    /// [`SstError::OptionFile`].
    pub fn read(arguments: &Arguments) -> Result<Self, SstError> {
        let mut paths: Vec<PathBuf> = match &arguments.defaults_file {
            Some(file) => vec![file.clone()],
            None => usual_files().into_iter().filter(|path| path.exists()).collect(),
        };
        paths.extend(arguments.defaults_extra_file.clone());
        let files = paths.iter().map(|path| Entries::read(path)).collect::<Result<_, _>>()?;
        let options = arguments.server.iter().filter_map(|word| word.strip_prefix("--")?.split_once('='));
        let command_line = options.map(|(name, value)| (name.replace('_', "-"), value.to_owned())).collect();
        Ok(Self { files, suffix: arguments.defaults_group_suffix.clone(), command_line })
    }

    /// The text of an option of the server; `None` if it is not set, or empty.
    pub(crate) fn server(&self, name: &str) -> Option<&str> {
        let given = self.command_line.iter().rev().find(|(known, _)| known == name);
        let text = given.map(|(_, value)| value.as_str()).or_else(|| self.last(&SERVER, name));
        text.filter(|text| !text.is_empty())
    }

    /// The text of an option of state transfers; `None` if it is not set, or empty.
    pub(crate) fn sst(&self, name: &str) -> Option<&str> {
        self.last(&SST, name).filter(|text| !text.is_empty())
    }

    fn last(&self, groups: &[&str], name: &str) -> Option<&str> {
        let suffixed = groups.iter().map(|group| format!("{group}{}", self.suffix.as_deref().unwrap_or_default()));
        let suffixed: Vec<String> = suffixed.collect();
        let groups: Vec<&str> = groups.iter().copied().chain(suffixed.iter().map(String::as_str)).collect();
        self.files.iter().rev().find_map(|file| file.last(&groups, name))?.value.text()
    }

    /// A directory of the server, relative to its data directory.
    pub(crate) fn directory(&self, name: &str, datadir: &Path) -> PathBuf {
        self.server(name).map_or_else(|| datadir.to_path_buf(), |text| datadir.join(text))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_command_line_wins_over_files() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("my.cnf");
        let text = "[mysqld]\ninnodb_undo_directory=/file\naria-log-dir-path = /aria\n[sst]\ntca=/one\ntca=/two\n\
                    encrypt=0\n[sst2]\ntkey=/key\n";
        fs::write(&file, text).unwrap();
        let words = format!(
            "--role donor --address h --datadir /d --defaults-file {} --defaults-group-suffix 2 \
             --mysqld-args --innodb-undo_directory=undo",
            file.display()
        );
        let arguments = Arguments::parse(words.split_whitespace().map(str::to_owned)).unwrap();
        let options = Options::read(&arguments).unwrap();
        let datadir = Path::new("/d");
        assert_eq!(options.directory("innodb-undo-directory", datadir), Path::new("/d/undo"));
        assert_eq!(options.directory("aria-log-dir-path", datadir), Path::new("/aria"));
        assert_eq!(options.directory("innodb-data-home-dir", datadir), datadir);
        assert_eq!((options.sst("tca"), options.sst("tkey"), options.sst("tcert")), (Some("/two"), Some("/key"), None));
    }
}
