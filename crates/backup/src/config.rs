//! The configuration: one TOML file for all commands of `sealant backup`.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use agefile::{Identity, Recipient};
use archive::names::is_host;
use archive::sshsig::{AllowedSigners, SigningKey};
use serde::{Deserialize, de::IgnoredAny};
use snapshot::{MAX_FREEZE, ProviderChoice, follow::Account};
use store::s3::{LockMode, Style};
use transfer::codec::level::{Compression, CompressionLevel};
use verify::Keys;
use zeroize::Zeroizing;

use crate::{
    Error,
    location::{BucketOptions, Location},
};

/// Default directory for the state of hosts.
const STATE: &str = "/var/lib/sealant/backup";
const STREAMS: u16 = 4;
const SEGMENT_EVERY: Duration = Duration::from_secs(10);
/// How long a new source may take, by default and at most, to apply what it received from the one before.
const TAKEOVER_WAIT: [Duration; 2] = [Duration::from_secs(600), Duration::from_secs(86_400)];
/// Default level of zstd. Higher levels take longer and gain little on pages (measured).
const LEVEL: i32 = 1;
/// Maximum of most time settings.
const MAX_TIME: Duration = Duration::from_secs(60);
/// Maximum time for which calls of a store are retried.
const MAX_GIVE_UP: Duration = Duration::from_secs(86_400);

/// The validated configuration.
#[derive(Debug)]
pub struct Config {
    /// The repository.
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
    /// Compression level of zstd.
    pub level: i32,
    /// The snapshot provider.
    pub provider: ProviderChoice,
    /// Maximum time that the server may be frozen for the snapshot.
    pub max_freeze: Duration,
    /// Number of threads.
    pub streams: u16,
    /// Directory of the state, which records the last backup of this host.
    pub state: PathBuf,
    /// Maximum time before changes are archived.
    pub segment_every: Duration,
    /// The server whose binary logs are archived, if not the one at the socket.
    pub binlog_source: Option<BinlogSource>,
    /// Maximum time that a server which takes over may need to apply the archived transactions of the one before.
    pub takeover_wait: Duration,
    /// `server_id` of the replica that archives binary logs, if configured.
    pub replica_id: Option<u32>,
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

/// How encrypted pages are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageStorage {
    /// Decrypted before compression: reading the backup takes only the age identity.
    #[default]
    Open,
    /// Encrypted as on disk: reading takes the identity and the keyring, and the size more than doubles.
    AsIs,
}

impl PageStorage {
    /// Whether pages are decrypted.
    #[must_use]
    pub fn are_opened(self) -> bool {
        self == Self::Open
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    repository: RawRepository,
    host: RawHost,
    server: Server,
    data: RawData,
    keys: Option<RawKeys>,
    state: Option<RawState>,
    #[serde(default)]
    binlogs: RawBinlogs,
    /// Section of the keeper, which may be in the same file.
    #[serde(rename = "keeper")]
    _keeper: Option<IgnoredAny>,
    #[serde(rename = "retention")]
    _retention: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRepository {
    url: String,
    id: Option<String>,
    endpoint: Option<String>,
    region: Option<String>,
    addressing: Option<Style>,
    ca: Option<PathBuf>,
    credentials: Option<PathBuf>,
    lock_days: Option<u16>,
    lock_mode: Option<LockMode>,
    timeout: Option<String>,
    give_up: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHost {
    name: String,
    signing_key: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawData {
    recipients: Vec<String>,
    #[serde(default)]
    pages: PageStorage,
    compress: Option<String>,
    provider: Option<String>,
    max_freeze: Option<String>,
    streams: Option<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKeys {
    recipients: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBinlogs {
    url: Option<String>,
    ca: Option<PathBuf>,
    segment_every: Option<String>,
    takeover_wait: Option<String>,
    replica_id: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawState {
    directory: PathBuf,
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

    fn parse(text: &str) -> Result<Self, String> {
        let raw: Raw = files::toml::parse(text)?;
        if !is_host(&raw.host.name) {
            return Err("host.name may have letters, digits, '.', '_' and '-', at most 64".to_owned());
        }
        let recipients = recipients(&raw.data.recipients)?;
        let key_recipients = raw.keys.map_or_else(Vec::new, |keys| keys.recipients);
        let key_recipients = key_recipients_of(&key_recipients, &recipients, &raw.server)?;
        let provider = provider(raw.data.provider.as_deref().unwrap_or("auto"))
            .map_err(|error| format!("data.provider: {error}"))?;
        Ok(Self {
            repository_id: raw.repository.id.clone(),
            repository: raw.repository.location()?,
            host: raw.host.name,
            signing_key: raw.host.signing_key,
            server: raw.server,
            recipients,
            key_recipients,
            pages: raw.data.pages,
            level: level(raw.data.compress.as_deref())?,
            provider,
            max_freeze: raw
                .data
                .max_freeze
                .as_deref()
                .map_or(Ok(MAX_FREEZE), |text| time("data.max_freeze", text, MAX_TIME))?,
            streams: raw.data.streams.unwrap_or(STREAMS).clamp(1, 64),
            state: raw.state.map_or_else(|| PathBuf::from(STATE), |state| state.directory),
            segment_every: raw
                .binlogs
                .segment_every
                .as_deref()
                .map_or(Ok(SEGMENT_EVERY), |text| time("binlogs.segment_every", text, MAX_TIME))?,
            binlog_source: match (raw.binlogs.url, raw.binlogs.ca) {
                (None, None) => None,
                (Some(url), Some(ca)) => Some(BinlogSource { url, ca }),
                _ => {
                    return Err(
                        "binlogs.url and binlogs.ca go together: the connection is encrypted and verified".to_owned()
                    );
                }
            },
            takeover_wait: raw
                .binlogs
                .takeover_wait
                .as_deref()
                .map_or(Ok(TAKEOVER_WAIT[0]), |text| time("binlogs.takeover_wait", text, TAKEOVER_WAIT[1]))?,
            replica_id: raw.binlogs.replica_id.filter(|id| *id > 0),
        })
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

    /// Loads the keys; an empty set if the configuration names none.
    ///
    /// # Errors
    /// [`Error::Keys`].
    pub fn keys(&self) -> Result<Keys, Error> {
        let mut keys = Keys::default();
        if let Some(path) = &self.keyring {
            keys.add_keyring(path)?;
        }
        if let Some(path) = &self.keyring_config {
            keys.add_keyring_config(path, Some(&self.datadir))?;
        }
        if let Some(path) = &self.mariadb_key_file {
            keys.add_key_file(path, self.mariadb_key_file_password_file.as_deref())?;
        }
        Ok(keys)
    }

    /// Paths of the files with keys and their passwords.
    #[must_use]
    pub fn key_files(&self) -> Vec<PathBuf> {
        let named = [&self.keyring, &self.keyring_config, &self.mariadb_key_file, &self.mariadb_key_file_password_file];
        named.into_iter().flatten().cloned().collect()
    }
}

/// Reads a private key for signatures.
///
/// # Errors
/// [`Error::Key`], [`Error::Io`].
pub(crate) fn signing_key(path: &Path) -> Result<SigningKey, Error> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(Error::io(path, "the signing key cannot be read"))?;
    SigningKey::parse(&text).map_err(|source| Error::Key { path: path.to_owned(), source })
}

/// Reads a file of allowed signers.
///
/// # Errors
/// [`Error::Unreadable`] and [`Error::Key`].
pub fn allowed_signers(path: &Path) -> Result<AllowedSigners, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
    AllowedSigners::parse(&text).map_err(|source| Error::Key { path: path.to_owned(), source })
}

/// Reads an age identity file.
///
/// # Errors
/// [`Error::Identity`], [`Error::Io`].
pub fn identities(path: &Path) -> Result<Vec<Identity>, Error> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(Error::io(path, "the identity file cannot be read"))?;
    Identity::parse_file(&text).map_err(|source| Error::Identity { path: path.to_owned(), source })
}

fn recipients(texts: &[String]) -> Result<Vec<Recipient>, String> {
    if texts.is_empty() {
        return Err("data.recipients is empty, so nobody could read the backups".to_owned());
    }
    parse_recipients(texts, "data.recipients")
}

fn parse_recipients(texts: &[String], name: &str) -> Result<Vec<Recipient>, String> {
    texts.iter().map(|text| text.parse().map_err(|error| format!("{name}: {error}"))).collect()
}

/// Parses the recipients of the keys. They must differ from those of the pages: otherwise the backup would be as
/// readable as without the keyring.
fn key_recipients_of(texts: &[String], of_data: &[Recipient], server: &Server) -> Result<Vec<Recipient>, String> {
    let recipients = parse_recipients(texts, "keys.recipients")?;
    let texts_of_data: Vec<String> = of_data.iter().map(ToString::to_string).collect();
    if let Some(both) = recipients.iter().map(ToString::to_string).find(|text| texts_of_data.contains(text)) {
        return Err(format!("keys.recipients: {both} is in data.recipients, too: that identity alone would be enough"));
    }
    if !recipients.is_empty() && server.mariadb_key_file.is_some() {
        return Err(
            "keys.recipients: MariaDB's files have no keys of their own; keep a copy of the key file".to_owned()
        );
    }
    Ok(recipients)
}

impl RawRepository {
    pub(crate) fn location(self) -> Result<Location, String> {
        let is_id = |id: &str| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if self.id.as_deref().is_some_and(|id| !is_id(id)) {
            return Err("repository.id must have 32 hexadecimal digits".to_owned());
        }
        let limit = |name, text: Option<&str>, most| text.map(|text| time(name, text, most)).transpose();
        let options = BucketOptions {
            timeout: limit("repository.timeout", self.timeout.as_deref(), MAX_TIME)?,
            give_up: limit("repository.give_up", self.give_up.as_deref(), MAX_GIVE_UP)?,
            endpoint: self.endpoint,
            region: self.region,
            addressing: self.addressing,
            ca: self.ca,
            credentials: self.credentials,
            lock_days: self.lock_days,
            lock_mode: self.lock_mode,
        };
        Location::parse(&self.url, options)
    }
}

fn level(text: Option<&str>) -> Result<i32, String> {
    let Some(text) = text else { return Ok(LEVEL) };
    match text.parse() {
        Ok(Compression::Fixed(CompressionLevel::Zstd(_))) if text == "zstd" => Ok(LEVEL),
        Ok(Compression::Fixed(CompressionLevel::Zstd(level))) => Ok(level),
        _ => Err("data.compress must be zstd, or zstd:1 to zstd:19".to_owned()),
    }
}

/// Parses the time that is the value of the setting `name`.
fn time(name: &str, text: &str, most: Duration) -> Result<Duration, String> {
    files::quantity::short_time(text, most).map_err(|_| format!("{name} must be 1ms to {}s", most.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[repository]
url = "/backup/repo"
[host]
name = "db1"
signing_key = "/etc/sealant/backup.key"
[server]
datadir = "/var/lib/mysql"
keyring_config = "/etc/mysql/component_keyring_file.cnf"
[data]
recipients = ["age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"]
"#;

    #[test]
    fn what_is_not_said_has_defaults() {
        let config = Config::parse(TEXT).unwrap();
        assert!(matches!(&config.repository, Location::Directory(path) if path == Path::new("/backup/repo")));
        assert_eq!((config.pages, config.level, config.streams), (PageStorage::Open, 1, 4));
        assert_eq!((config.provider, config.max_freeze), (ProviderChoice::Auto, MAX_FREEZE));
        assert_eq!(config.state, Path::new(STATE));
        let more = format!("{TEXT}pages = \"as-is\"\ncompress = \"zstd:3\"\nmax_freeze = \"250ms\"\n");
        let config = Config::parse(&more).unwrap();
        assert_eq!((config.pages, config.level, config.max_freeze), (PageStorage::AsIs, 3, Duration::from_millis(250)));
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, says) in [
            ("db1", "../db1", "host.name"),
            ("\"/backup/repo\"", "\"backup\"", "absolute"),
            ("age1zvky", "age1zvkx", "checksum"),
            ("[\"age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj\"]", "[]", "nobody"),
            ("[data]", "[data]\ncompress = \"lz4\"", "zstd"),
            ("[data]", "[data]\nprovider = \"mariabackup\"", "consistent"),
            ("[data]", "[data]\nmax_freeze = \"2m\"", "max_freeze"),
            ("[data]", "[data]\ntypo = 1", "typo"),
            ("[data]", "[binlogs]\nurl = \"mysql://u@db1\"\n[data]", "go together"),
            (
                "[data]",
                "[keys]\nrecipients = [\"age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj\"]\n[data]",
                "in data.recipients, too",
            ),
        ] {
            let text = TEXT.replace(from, to);
            let error = Config::parse(&text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
