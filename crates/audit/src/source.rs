//! What to audit: a running server, a directory, or saved facts.

use std::path::PathBuf;

use server::login::{Login, Prompt};
use server::option_file::Warning;

use crate::Error;
use crate::collect::{self, KeyCopies, LiveOptions, OfflineOptions, Packets, Progress};
use crate::facts::Facts;

/// What to audit, and how thoroughly.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The server's URL.
    pub url: Option<String>,
    /// The server's Unix socket.
    pub socket: Option<PathBuf>,
    /// A data directory or backup without a server.
    pub offline: Option<PathBuf>,
    /// A file of saved facts.
    pub facts: Option<PathBuf>,
    /// Read every page of every file, not only a sample.
    pub deep: bool,
    /// The data directory, if its path here differs from the server's.
    pub datadir: Option<PathBuf>,
    /// Directories with dumps or backups.
    pub backup_dirs: Vec<PathBuf>,
    /// Copies of key stores, to be proven.
    pub key_copies: KeyCopies,
    /// Directory of the register of keys.
    pub state_dir: Option<PathBuf>,
    /// Host names that clients use for the server.
    pub client_names: Vec<String>,
    /// Additional option files to judge.
    pub option_files: Vec<PathBuf>,
    /// Do not read the server's files.
    pub no_files: bool,
    /// Do not probe the server's ports.
    pub no_wire: bool,
    /// Do not collect host facts.
    pub no_host: bool,
    /// Judge the packets of the server's ports.
    pub packets: Option<Packets>,
}

/// Events while facts are collected.
#[derive(Debug)]
pub enum SourceEvent<'e> {
    /// Progress.
    Progress(Progress),
    /// A warning about an option file with connection options.
    OptionFile(&'e Warning),
}

impl Source {
    /// Whether keys will be loaded into memory.
    #[must_use]
    pub fn reads_keys(&self) -> bool {
        self.deep || !self.key_copies.is_empty()
    }

    /// Collects the facts, or loads them.
    ///
    /// # Errors
    /// [`Error::NothingNamed`] if no server or directory is given, also not in an option file; errors of the connection
    /// name the server.
    pub fn facts(&self, login: &Login, prompt: &dyn Prompt, tell: &dyn Fn(SourceEvent<'_>)) -> Result<Facts, Error> {
        if let Some(path) = &self.facts {
            return Facts::load(path);
        }
        let show = |progress| tell(SourceEvent::Progress(progress));
        if let Some(directory) = &self.offline {
            let options = OfflineOptions {
                deep: self.deep,
                backup_dirs: self.backup_dirs.clone(),
                client_names: self.client_names.clone(),
                key_copies: self.key_copies.clone(),
                progress: Some(&show),
                ..OfflineOptions::default()
            };
            return collect::offline(directory, &options);
        }
        let files = login.option_files()?;
        files.warnings.iter().for_each(|odd| tell(SourceEvent::OptionFile(odd)));
        let target = login.target(self.url.as_deref(), self.socket.as_deref(), &files)?.ok_or(Error::NothingNamed)?;
        let connect = login.options(&target, &files, prompt)?;
        let options = self.live(LiveOptions { progress: Some(&show), ..LiveOptions::new(target, connect) });
        collect::live(&options).map_err(|error| error.at(&options.target.endpoint))
    }

    fn live<'a>(&self, options: LiveOptions<'a>) -> LiveOptions<'a> {
        LiveOptions {
            datadir: self.datadir.clone(),
            backup_dirs: self.backup_dirs.clone(),
            client_names: self.client_names.clone(),
            option_files: self.option_files.clone(),
            key_copies: self.key_copies.clone(),
            // Without a home directory there is no register: its checks report that it was not looked for.
            state_dir: register::state_dir(self.state_dir.clone()).ok(),
            deep: self.deep,
            files: !self.no_files,
            wire: !self.no_wire,
            plaintext_probe: !self.no_wire,
            host: !self.no_host,
            packets: self.packets.clone(),
            ..options
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    struct Nobody;

    impl Prompt for Nobody {
        fn is_possible(&self) -> bool {
            false
        }

        fn password(&self, _: &str) -> io::Result<zeroize::Zeroizing<String>> {
            Err(io::Error::other("nobody is there"))
        }
    }

    #[test]
    fn keys_are_read_where_pages_are_opened() {
        assert!(!Source::default().reads_keys());
        assert!(Source { deep: true, ..Source::default() }.reads_keys());
        let key_copies = KeyCopies { keyrings: vec!["/safe/keyring".into()], ..KeyCopies::default() };
        assert!(Source { key_copies, ..Source::default() }.reads_keys());
    }

    #[test]
    fn a_source_has_to_be_named() {
        let dir = tempfile::tempdir().unwrap();
        let option_file = dir.path().join("my.cnf");
        std::fs::write(&option_file, "[client]\nuser=audit\n").unwrap();
        let login = Login { option_file: Some(option_file), ..Login::default() };
        let failed = Source::default().facts(&login, &Nobody, &|_| {}).unwrap_err();
        assert!(matches!(failed, Error::NothingNamed) && failed.is_misuse(), "{failed}");
    }
}
