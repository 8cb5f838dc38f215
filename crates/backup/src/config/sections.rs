//! The sections of the configuration file, and their valid values.

use std::{path::PathBuf, time::Duration};

use agefile::Recipient;
use archive::{
    names::is_host,
    pack::{Compression, MAX_PACK_BYTES},
    retention::Policy,
};
use codec::compression::{CompressionLevel, ZSTD_NAMES};
use serde::{Deserialize, de::IgnoredAny};
use snapshot::MAX_FREEZE;
use store::s3::{LockMode, Style};

use super::{BinlogSource, Config, PageStorage, ReportFiles, Scan, Server, provider};
use crate::location::{BucketOptions, Location};

/// Default directory for the state of hosts.
const STATE: &str = "/var/lib/sealant/backup";
const STREAMS: u16 = 4;
/// Minimum of a limit on bytes per second: a pack takes more than eight minutes, and several at a time take longer.
const MIN_BANDWIDTH: u64 = 64 << 10;
/// Minimum length of packs: each costs a request.
const MIN_PACK_BYTES: u64 = 4 << 20;
/// Why other files are not backed up.
const NO_INCLUDE: &str = "data.include is not supported: a backup has the files of the data directory alone, which a \
                          server recovers as they are; back up others, such as /etc/mysql, with those of the host";
/// Minimum time for which DDL may wait: how long it has waited is only looked at each second.
const MIN_DDL_WAIT: Duration = Duration::from_secs(1);
/// Days after which a file is read even if it has not been written.
const FULL_SCAN_DAYS: u16 = 7;
const SEGMENT_EVERY: Duration = Duration::from_secs(10);
/// Time in which a new source has to apply the transactions it received from the former source: default and maximum.
const TAKEOVER_WAIT: [Duration; 2] = [Duration::from_secs(600), Duration::from_secs(86_400)];
/// How much may wait on this host, by default, while the store cannot be reached.
const SPOOL_BYTES: u64 = 1 << 30;
/// Maximum of most time settings.
const MAX_TIME: Duration = Duration::from_secs(60);
/// Maximum time for which calls of a store are retried.
const MAX_GIVE_UP: Duration = Duration::from_secs(86_400);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sections {
    repository: RepositorySection,
    host: HostSection,
    server: Server,
    data: DataSection,
    keys: Option<KeysSection>,
    state: Option<StateSection>,
    #[serde(default)]
    binlogs: BinlogsSection,
    #[serde(default)]
    retention: RetentionSection,
    #[serde(default)]
    report: ReportFiles,
    /// Section of the keeper, which may be in the same file.
    #[serde(rename = "keeper")]
    _keeper: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositorySection {
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
struct HostSection {
    name: String,
    signing_key: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DataSection {
    recipients: Vec<String>,
    #[serde(default)]
    pages: PageStorage,
    compress: Option<String>,
    provider: Option<String>,
    max_freeze: Option<String>,
    location: Option<PathBuf>,
    streams: Option<u16>,
    bwlimit: Option<String>,
    pack: Option<String>,
    ddl_wait_max: Option<String>,
    scan: Option<String>,
    full_scan_days: Option<u16>,
    include: Option<IgnoredAny>,
    /// Setting of the keeper, who may have it in the same file.
    #[serde(default, rename = "accept_unproven")]
    _accept_unproven: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysSection {
    recipients: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct BinlogsSection {
    enabled: Option<bool>,
    url: Option<String>,
    ca: Option<PathBuf>,
    segment_every: Option<String>,
    takeover_wait: Option<String>,
    spool: Option<PathBuf>,
    spool_max: Option<String>,
    replica_id: Option<u32>,
}

/// What a keeper keeps, and the locks, which the section of the repository may name as well.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetentionSection {
    keep_last: Option<u32>,
    daily: Option<u32>,
    weekly: Option<u32>,
    monthly: Option<u32>,
    yearly: Option<u32>,
    min_good: Option<u32>,
    lock_days: Option<u16>,
    lock_mode: Option<LockMode>,
}

impl RetentionSection {
    /// Which backups are kept.
    pub(crate) fn policy(&self) -> Policy {
        let default = Policy::default();
        Policy {
            keep_last: self.keep_last.unwrap_or(default.keep_last),
            daily: self.daily.unwrap_or(default.daily),
            weekly: self.weekly.unwrap_or(default.weekly),
            monthly: self.monthly.unwrap_or(default.monthly),
            yearly: self.yearly.unwrap_or(default.yearly),
            min_good: self.min_good.unwrap_or(default.min_good),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateSection {
    directory: PathBuf,
}

impl StateSection {
    /// The directory, or its default.
    pub(crate) fn directory(section: Option<Self>) -> PathBuf {
        section.map_or_else(|| PathBuf::from(STATE), |section| section.directory)
    }
}

impl Config {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let sections: Sections = files::toml::parse(text)?;
        if !is_host(&sections.host.name) {
            return Err("host.name may have letters, digits, '.', '_' and '-', at most 64".to_owned());
        }
        if sections.data.include.is_some() {
            return Err(NO_INCLUDE.to_owned());
        }
        let recipients = recipients(&sections.data.recipients)?;
        let key_recipients = sections.keys.map_or_else(Vec::new, |keys| keys.recipients);
        let key_recipients = key_recipients_of(&key_recipients, &recipients, &sections.server)?;
        let provider = provider(sections.data.provider.as_deref().unwrap_or("auto"))
            .map_err(|error| format!("data.provider: {error}"))?;
        Ok(Self {
            repository_id: sections.repository.id.clone(),
            repository: sections.repository.location(&sections.retention)?,
            host: sections.host.name,
            signing_key: key_file("host.signing_key", sections.host.signing_key)?,
            server: sections.server,
            recipients,
            key_recipients,
            pages: sections.data.pages,
            compression: compression(sections.data.compress.as_deref())?,
            scan: scan(sections.data.scan.as_deref(), sections.data.full_scan_days)?,
            provider,
            max_freeze: time_or("data.max_freeze", sections.data.max_freeze.as_deref(), [MAX_FREEZE, MAX_TIME])?,
            copy_location: sections.data.location.map(|path| absolute("data.location", path)).transpose()?,
            streams: sections.data.streams.unwrap_or(STREAMS).clamp(1, 64),
            bandwidth: sections.data.bwlimit.as_deref().map(bandwidth).transpose()?,
            pack_bytes: sections.data.pack.as_deref().map_or(Ok(MAX_PACK_BYTES), pack_bytes)?,
            ddl_wait_max: sections.data.ddl_wait_max.as_deref().map_or(Ok(None), ddl_wait_max)?,
            state: StateSection::directory(sections.state),
            archives_binlogs: sections.binlogs.enabled.unwrap_or(true),
            segment_every: time_or(
                "binlogs.segment_every",
                sections.binlogs.segment_every.as_deref(),
                [SEGMENT_EVERY, MAX_TIME],
            )?,
            binlog_source: binlog_source(sections.binlogs.url, sections.binlogs.ca)?,
            takeover_wait: time_or("binlogs.takeover_wait", sections.binlogs.takeover_wait.as_deref(), TAKEOVER_WAIT)?,
            spool: sections.binlogs.spool.map(|path| absolute("binlogs.spool", path)).transpose()?,
            spool_bytes: sections.binlogs.spool_max.as_deref().map_or(Ok(SPOOL_BYTES), spool_bytes)?,
            replica_id: sections.binlogs.replica_id.filter(|id| *id > 0),
            report: sections.report,
        })
    }
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

impl RepositorySection {
    /// The location, with the locks that this section or that of the retention names.
    pub(crate) fn location(self, retention: &RetentionSection) -> Result<Location, String> {
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
            lock_days: one_of("lock_days", self.lock_days, retention.lock_days)?,
            lock_mode: one_of("lock_mode", self.lock_mode, retention.lock_mode)?,
        };
        Location::parse(&self.url, options)
    }
}

/// The value of a field that the sections of the repository and of the retention may have.
fn one_of<T>(field: &str, of_repository: Option<T>, of_retention: Option<T>) -> Result<Option<T>, String> {
    match (of_repository, of_retention) {
        (Some(_), Some(_)) => Err(format!("repository.{field} and retention.{field} mean the same: give one of them")),
        (of_repository, of_retention) => Ok(of_repository.or(of_retention)),
    }
}

/// Refuses the name of a key in an SSH agent, which would be taken for the path of a file.
pub(crate) fn key_file(name: &str, path: PathBuf) -> Result<PathBuf, String> {
    if path.to_str().is_some_and(|text| text.starts_with("agent:")) {
        return Err(format!("{name}: keys of an SSH agent are not supported; name the file of a key"));
    }
    Ok(path)
}

/// Refuses a relative path: what is started elsewhere would not find it.
fn absolute(name: &str, path: PathBuf) -> Result<PathBuf, String> {
    if path.is_absolute() { Ok(path) } else { Err(format!("{name} must be an absolute path")) }
}

/// Parses a limit in bytes per second. As in `send --bwlimit`, the unit may not be left out.
fn bandwidth(text: &str) -> Result<u64, String> {
    let bytes = files::quantity::bytes(text).ok().filter(|_| text.ends_with("iB"));
    let bytes = bytes.filter(|bytes| *bytes >= MIN_BANDWIDTH);
    bytes.ok_or_else(|| "data.bwlimit must be the bytes of a second, at least 64KiB, such as 50MiB".to_owned())
}

/// Parses the maximum length of packs.
fn pack_bytes(text: &str) -> Result<u64, String> {
    let bytes = files::quantity::bytes(text).ok().filter(|bytes| (MIN_PACK_BYTES..=MAX_PACK_BYTES).contains(bytes));
    bytes.ok_or_else(|| "data.pack must be a size from 4MiB to 32MiB".to_owned())
}

/// Parses the maximum time that DDL may wait; `None` for any.
fn ddl_wait_max(text: &str) -> Result<Option<Duration>, String> {
    if text == "off" {
        return Ok(None);
    }
    let time = files::quantity::time_with_unit(text).ok().filter(|time| *time >= MIN_DDL_WAIT);
    time.map(Some).ok_or_else(|| "data.ddl_wait_max must be off, or a time of at least 1s, such as 10m".to_owned())
}

/// Higher levels than the default take longer, and gain little on pages (docs/benchmarks.md).
fn compression(text: Option<&str>) -> Result<Compression, String> {
    let Some(text) = text else { return Ok(Compression::Fast) };
    match text.parse() {
        Ok(CompressionLevel::Zstd(level)) => Ok(Compression::Level(level)),
        _ => Err(format!("data.compress must be {ZSTD_NAMES}")),
    }
}

fn scan(text: Option<&str>, full_scan_days: Option<u16>) -> Result<Scan, String> {
    match (text, full_scan_days) {
        (None | Some("all"), None) => Ok(Scan::All),
        (None | Some("all"), Some(_)) => Err("data.full_scan_days goes with data.scan = \"changed\"".to_owned()),
        (Some("changed"), Some(0)) => Err("data.full_scan_days must be at least 1".to_owned()),
        (Some("changed"), days) => Ok(Scan::Changed { full_scan_days: days.unwrap_or(FULL_SCAN_DAYS) }),
        (Some(_), _) => Err("data.scan must be \"all\" or \"changed\"".to_owned()),
    }
}

/// A server that is reached over TCP, if one is named.
fn binlog_source(url: Option<String>, ca: Option<PathBuf>) -> Result<Option<BinlogSource>, String> {
    match (url, ca) {
        (None, None) => Ok(None),
        (Some(url), Some(ca)) => Ok(Some(BinlogSource { url, ca })),
        _ => Err("binlogs.url and binlogs.ca go together: the connection is encrypted and verified".to_owned()),
    }
}

/// Parses the maximum of what may wait, in bytes; 0 is allowed.
fn spool_bytes(text: &str) -> Result<u64, String> {
    files::quantity::bytes(text).map_err(|_| "binlogs.spool_max must be a size such as 10GiB".to_owned())
}

/// Parses the time that is the value of the setting `name`, if it has one.
fn time_or(name: &str, text: Option<&str>, [default, most]: [Duration; 2]) -> Result<Duration, String> {
    text.map_or(Ok(default), |text| time(name, text, most))
}

/// Parses the time that is the value of the setting `name`.
fn time(name: &str, text: &str, most: Duration) -> Result<Duration, String> {
    files::quantity::short_time(text, most).map_err(|_| format!("{name} must be 1ms to {}s", most.as_secs()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use snapshot::ProviderChoice;

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
        assert_eq!((config.pages, config.compression, config.streams), (PageStorage::Decrypted, Compression::Fast, 4));
        assert_eq!((config.provider, config.max_freeze), (ProviderChoice::Auto, MAX_FREEZE));
        assert_eq!((config.scan, config.state.as_path()), (Scan::All, Path::new(STATE)));
        assert_eq!(config.copy_location, None);
        let elsewhere = Config::parse(&format!("{TEXT}location = \"/copies\"\n")).unwrap();
        assert_eq!(elsewhere.copy_location.as_deref(), Some(Path::new("/copies")));
        assert!(Config::parse(&format!("{TEXT}location = \"copies\"\n")).is_err(), "relative to what?");
        let more = format!("{TEXT}pages = \"as-is\"\ncompress = \"zstd:3\"\nmax_freeze = \"250ms\"\n");
        let config = Config::parse(&more).unwrap();
        assert_eq!((config.pages, config.compression), (PageStorage::AsIs, Compression::Level(3)));
        assert_eq!(config.max_freeze, Duration::from_millis(250));
        assert!(Config::parse(&format!("{TEXT}accept_unproven = true\n")).is_ok());
        let changed = format!("{TEXT}scan = \"changed\"\n");
        assert_eq!(Config::parse(&changed).unwrap().scan, Scan::Changed { full_scan_days: 7 });
    }

    #[test]
    fn limits_are_off_unless_they_are_set() {
        let limits = |text: &str| {
            let config = Config::parse(&format!("{TEXT}{text}")).unwrap();
            (config.bandwidth, config.pack_bytes, config.ddl_wait_max)
        };
        assert_eq!(limits(""), (None, 32 << 20, None));
        assert_eq!(limits("pack = \"32MiB\"\nddl_wait_max = \"off\"\n"), (None, 32 << 20, None));
        let set = limits("bwlimit = \"50MiB\"\npack = \"8MiB\"\nddl_wait_max = \"10m\"\n");
        assert_eq!(set, (Some(50 << 20), 8 << 20, Some(Duration::from_secs(600))));
    }

    #[test]
    fn files_of_reports_and_of_binary_logs_may_be_elsewhere() {
        let config = Config::parse(TEXT).unwrap();
        assert!(config.archives_binlogs && !config.report.are_written());
        assert_eq!(config.spools("id"), Path::new(STATE).join("id/db1"));
        let more = "[binlogs]\nenabled = false\nspool = \"/spool\"\n[report]\nprometheus = \"/m/b.prom\"\n";
        let config = Config::parse(&format!("{TEXT}{more}")).unwrap();
        assert!(!config.archives_binlogs && config.report.are_written());
        assert_eq!(config.spools("id"), Path::new("/spool/id/db1"));
        assert_eq!(config.report.prometheus.as_deref(), Some(Path::new("/m/b.prom")));
    }

    #[test]
    fn the_packaged_example_is_valid_as_it_is_and_with_everything_that_it_shows() {
        const NOBODY: &str = "\"age1…\", \"age1…\"";
        let example = include_str!("../../../../packaging/examples/backup.toml");
        assert!(example.contains(NOBODY), "its recipients are nobody's");
        let example = example.replace(NOBODY, "\"age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj\"");
        let uncovered = |line: &str| match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
            _ => format!("{line}\n"),
        };
        let all: String = example.lines().map(uncovered).collect();
        assert_ne!(all, example);
        for text in [example, all] {
            let config = Config::parse(&text).unwrap();
            assert!(matches!(&config.repository, Location::Bucket(_)) && config.host == "db1", "{config:?}");
        }
    }

    #[test]
    fn what_may_wait_has_the_unit_of_the_configuration_or_none() {
        let bytes = |size: &str| Config::parse(&format!("{TEXT}[binlogs]\nspool_max = \"{size}\"\n"));
        let bytes = |size: &str| bytes(size).map(|config| config.spool_bytes);
        assert_eq!(["0", "4KiB", "10 MiB", "1GiB"].map(bytes), [0, 4 << 10, 10 << 20, 1 << 30].map(Ok));
        for size in ["", "1G", "1k", "1GB", "1.5GiB", "-1"] {
            assert!(bytes(size).unwrap_err().contains("binlogs.spool_max must be a size such as 10GiB"), "{size}");
        }
    }

    #[test]
    fn zstd_alone_means_the_same_level_as_in_send() {
        let of = |compress: &str| Config::parse(&format!("{TEXT}compress = \"{compress}\"\n")).unwrap().compression;
        assert_eq!(["zstd", "zstd:1", "zstd:19"].map(of), [3, 1, 19].map(Compression::Level));
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
            ("[data]", "[data]\nscan = \"some\"", "data.scan"),
            ("[data]", "[data]\nfull_scan_days = 7", "goes with data.scan"),
            ("[data]", "[data]\nbwlimit = \"50\"", "data.bwlimit"),
            ("[data]", "[data]\nbwlimit = \"63KiB\"", "data.bwlimit"),
            ("[data]", "[data]\npack = \"3MiB\"", "data.pack"),
            ("[data]", "[data]\npack = \"33MiB\"", "data.pack"),
            ("[data]", "[data]\nddl_wait_max = \"600\"", "data.ddl_wait_max"),
            ("[data]", "[data]\nddl_wait_max = \"500ms\"", "data.ddl_wait_max"),
            ("[data]", "[data]\ninclude = [\"/etc/mysql\"]", "not supported"),
            ("/etc/sealant/backup.key", "agent:SHA256:ZkAslGjFiUHdGf", "SSH agent"),
            ("[data]", "[binlogs]\nspool = \"spool\"\n[data]", "absolute"),
            ("[data]", "[report]\njson = \"/x\"\n[data]", "json"),
            ("[data]", "[retention]\nhourly = 3\n[data]", "hourly"),
            ("[data]", "[retention]\nlock_days = 3\n[data]", "for buckets"),
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
