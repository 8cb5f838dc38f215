//! What to audit: a running server, a directory, or facts that were saved.

use std::path::PathBuf;

use server::login::{Login, Prompt};
use server::option_file::Warning;

use crate::Error;
use crate::collect::{self, KeyCopies, LiveOptions, OfflineOptions, Progress};
use crate::facts::Facts;

/// What to audit, and how closely.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The server's URL.
    pub url: Option<String>,
    /// The server's unix socket.
    pub socket: Option<PathBuf>,
    /// A data or backup directory without a server.
    pub offline: Option<PathBuf>,
    /// Facts that were saved.
    pub facts: Option<PathBuf>,
    /// Read every page of every file, not a sample.
    pub deep: bool,
    /// The server's data directory as seen from here, if the server says another path.
    pub datadir: Option<PathBuf>,
    /// Directories with dumps or backups.
    pub backup_dirs: Vec<PathBuf>,
    /// Copies of key stores that are to be proven sufficient.
    pub key_copies: KeyCopies,
    /// Directory of the register of keys.
    pub state_dir: Option<PathBuf>,
    /// Names that clients use for the server.
    pub client_names: Vec<String>,
    /// Option files to judge besides the usual ones.
    pub option_files: Vec<PathBuf>,
    /// Leave out the server's files.
    pub no_files: bool,
    /// Leave out the server's ports.
    pub no_wire: bool,
    /// Leave out the host.
    pub no_host: bool,
}

/// What happens while facts are gathered.
#[derive(Debug)]
pub enum Event<'e> {
    /// How far it is.
    Progress(Progress),
    /// Something is odd about an option file with connection options.
    OptionFile(&'e Warning),
}

impl Source {
    /// Whether keys will be in memory.
    #[must_use]
    pub fn reads_keys(&self) -> bool {
        self.deep || !self.key_copies.is_empty()
    }

    /// Gathers the facts, or loads them.
    ///
    /// # Errors
    /// [`Error::NothingNamed`] if neither this nor an option file names a server or a directory; those of the connection
    /// name the server.
    pub fn facts(&self, login: &Login, prompt: &dyn Prompt, tell: &dyn Fn(Event<'_>)) -> Result<Facts, Error> {
        if let Some(path) = &self.facts {
            return Facts::load(path);
        }
        let show = |progress| tell(Event::Progress(progress));
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
        files.warnings.iter().for_each(|odd| tell(Event::OptionFile(odd)));
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
            // Without a home there is no register: its checks say that it was not looked for.
            state_dir: register::state_dir(self.state_dir.clone()).ok(),
            deep: self.deep,
            files: !self.no_files,
            wire: !self.no_wire,
            plaintext_probe: !self.no_wire,
            host: !self.no_host,
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
