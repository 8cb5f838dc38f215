//! The configuration: one TOML file for all commands of `sealant backup`.

mod key_files;
mod sections;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use agefile::Recipient;
use archive::{pack::Compression, sshsig::SigningKey};
use serde::Deserialize;
use snapshot::{ProviderChoice, follow::Account};
use verify::{KeyStores, KeyWarning, Keys};

pub(crate) use self::key_files::signing_key;
pub use self::key_files::{allowed_signers, identities};
pub(crate) use self::sections::{RepositorySection, RetentionSection, StateSection, key_file};
use crate::{Error, location::Location};

/// The validated configuration.
#[derive(Debug)]
pub struct Config {
    /// Where the backups are stored.
    pub repository: Location,
    /// Id of the repository, for a host that may not read it.
    pub repository_id: Option<String>,
    /// Name of this host.
    pub host: String,
    /// File with the private key that signs receipts.
    pub signing_key: PathBuf,
    /// Paths of the server.
    pub server: Server,
    /// Recipients of the backups.
    pub recipients: Vec<Recipient>,
    /// Recipients of the files' keys, if these are stored.
    pub key_recipients: Vec<Recipient>,
    /// How encrypted pages are stored.
    pub pages: PageStorage,
    /// How hard pages are compressed.
    pub compression: Compression,
    /// Which files are read.
    pub scan: Scan,
    /// The snapshot provider.
    pub provider: ProviderChoice,
    /// Maximum time that the server may be frozen for the snapshot.
    pub max_freeze: Duration,
    /// Directory for copies of a running server, if not beside the data.
    pub copy_location: Option<PathBuf>,
    /// Number of threads.
    pub streams: u16,
    /// Maximum number of bytes per second that a run stores, if it is limited.
    pub bandwidth: Option<u64>,
    /// Maximum length of new packs.
    pub pack_bytes: u64,
    /// Maximum time that changes of definitions may wait for a copy by `follow`, if it is limited.
    pub ddl_wait_max: Option<Duration>,
    /// Directory of the state, which records the last backup of this host.
    pub state: PathBuf,
    /// Whether binary logs are archived.
    pub archives_binlogs: bool,
    /// Maximum time before changes are archived.
    pub segment_every: Duration,
    /// The server whose binary logs are archived, if not the one at the socket.
    pub binlog_source: Option<BinlogSource>,
    /// Maximum time that a server which takes over may need to apply the archived transactions of the one before.
    pub takeover_wait: Duration,
    /// Directory of the parts that wait on this host while the store cannot be reached; `None` for that of the state.
    pub spool: Option<PathBuf>,
    /// Maximum length of these parts; 0 for none.
    pub spool_bytes: u64,
    /// `server_id` of the replica that archives binary logs, if configured.
    pub replica_id: Option<u32>,
    /// Files that each run writes, and what goes into them.
    pub report: ReportFiles,
}

/// Files that each run writes after its backup, and that `sealant backup report` writes unless its options name others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportFiles {
    /// Page with a calendar.
    pub html: Option<PathBuf>,
    /// Metrics, for node_exporter's textfile collector.
    pub prometheus: Option<PathBuf>,
    /// Records of restores that go into both.
    pub restores: Option<PathBuf>,
    /// Allowed signers; without them no signature is verified.
    pub allowed_signers: Option<PathBuf>,
}

impl ReportFiles {
    /// Whether a run writes any.
    #[must_use]
    pub const fn are_written(&self) -> bool {
        self.html.is_some() || self.prometheus.is_some()
    }
}

/// A server that sends its binary logs over TCP with TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinlogSource {
    /// `mysql://USER@HOST:PORT`.
    pub url: String,
    /// File of the authorities that may issue its certificate.
    pub ca: PathBuf,
}

/// Paths of the server and its keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Data directory.
    pub datadir: PathBuf,
    /// Socket of the server.
    pub socket: Option<PathBuf>,
    /// Account on the server, for the provider `follow`.
    pub user: Option<String>,
    /// File with the password of the account.
    pub password_file: Option<PathBuf>,
    /// Pid file of the server.
    pub pid_file: Option<PathBuf>,
    /// Keyring file of MySQL.
    pub keyring: Option<PathBuf>,
    /// Configuration of component_keyring_file.
    pub keyring_config: Option<PathBuf>,
    /// Key file of MariaDB.
    pub mariadb_key_file: Option<PathBuf>,
    /// File with the password of the key file.
    pub mariadb_key_file_password_file: Option<PathBuf>,
}

/// Which files a run reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// All.
    All,
    /// Not the tablespaces that have not been written since they were read, at most this many days ago.
    Changed {
        /// After so many days a file is read in any case.
        full_scan_days: u16,
    },
}

/// How encrypted pages are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageStorage {
    /// Decrypted before compression: reading the backup takes only the age identity.
    #[default]
    #[serde(rename = "open")]
    Decrypted,
    /// Encrypted as on disk: reading takes the identity and the keyring, and the size more than doubles.
    AsIs,
}

impl PageStorage {
    /// Whether pages are decrypted.
    #[must_use]
    pub fn are_decrypted(self) -> bool {
        self == Self::Decrypted
    }
}

/// Reads a configuration file; `parse` returns what is wrong with the text.
pub(crate) fn read_with<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, Error> {
    let text = fs::read_to_string(path).map_err(Error::io(path, "the configuration cannot be read"))?;
    parse(&text).map_err(|reason| Error::Config { path: path.to_owned(), reason })
}

impl Config {
    /// Reads and validates a configuration file.
    ///
    /// # Errors
    /// [`Error::Config`] with the reason.
    pub fn read(path: &Path) -> Result<Self, Error> {
        read_with(path, Self::parse)
    }

    /// Shortens the retries of store calls, for a run that keeps reading the server while the store fails.
    pub fn end_calls_early(&mut self) {
        self.repository.end_calls_early();
    }

    /// Directory of the parts of binary logs that wait on this host, for the repository with this id.
    pub(crate) fn spools(&self, repository: &str) -> PathBuf {
        self.spool.as_ref().unwrap_or(&self.state).join(repository).join(&self.host)
    }

    /// All recipients; the identity of each has to be proven.
    #[must_use]
    pub fn all_recipients(&self) -> Vec<Recipient> {
        self.recipients.iter().chain(&self.key_recipients).cloned().collect()
    }

    /// Reads the signing key.
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Io`].
    pub fn signing_key(&self) -> Result<SigningKey, Error> {
        signing_key(&self.signing_key)
    }
}

/// Parses the name of a snapshot provider that a backup can use.
///
/// # Errors
/// Why backups cannot use it.
pub fn provider(text: &str) -> Result<ProviderChoice, String> {
    match text.parse()? {
        ProviderChoice::Stream(_) => Err("the stream of another program is not a consistent snapshot".to_owned()),
        provider => Ok(provider),
    }
}

impl Server {
    /// The account for locks and the position.
    pub(crate) fn account(&self, choice: ProviderChoice) -> Result<Option<Account>, snapshot::Error> {
        let (socket, password_file) = (self.socket.as_deref(), self.password_file.as_deref());
        Account::for_choice(choice, socket, self.user.as_deref(), password_file)
    }

    /// Loads the keys, and says what is wrong with single ones; an empty set if the configuration names none.
    ///
    /// # Errors
    /// [`Error::Keys`].
    pub fn keys(&self) -> Result<(Keys, Vec<KeyWarning>), Error> {
        let stores = KeyStores {
            keyrings: self.keyring.iter().cloned().collect(),
            keyring_config: self.keyring_config.clone(),
            key_files: self.mariadb_key_file.iter().cloned().collect(),
            password_file: self.mariadb_key_file_password_file.clone(),
        };
        Ok(stores.read(Some(&self.datadir))?)
    }

    /// Paths of the files with keys and their passwords.
    #[must_use]
    pub fn key_files(&self) -> Vec<PathBuf> {
        let named = [&self.keyring, &self.keyring_config, &self.mariadb_key_file, &self.mariadb_key_file_password_file];
        named.into_iter().flatten().cloned().collect()
    }
}
