//! The configuration file.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use audit::fleet::Fleet;
use audit::policy::Policy;
use audit::rules::Rules;
use audit::source::Source;
use audit::waiver::Waivers;
use files::quantity::time_with_unit;
use findings::Severity;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::Error;
use crate::schedule::{Intervals, Scope};
use crate::sources;

/// The configuration of a monitor.
///
/// ```toml
/// fleet = "fleet.toml"
/// listen = ["127.0.0.1:9447"]
/// light-every = "1m"
/// full-every = "1d"
/// ```
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The servers, as `sealant audit --fleet` reads them.
    fleet: PathBuf,
    /// Directory of the last facts about each server.
    #[serde(default = "default_state_directory")]
    pub(crate) state_directory: PathBuf,
    /// Addresses of the pages.
    #[serde(default = "default_listen")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Time between two light rounds of a server.
    #[serde(default = "default_light", deserialize_with = "interval")]
    light_every: Duration,
    /// Time between two full rounds of a server.
    #[serde(default = "default_full", deserialize_with = "interval")]
    full_every: Duration,
    /// Longest time for one round of one server.
    #[serde(default = "default_time_limit", deserialize_with = "interval")]
    pub(crate) time_limit: Duration,
    /// Directory of the register of keys, if it differs from the default of `sealant keys`.
    key_register: Option<PathBuf>,
    /// Whether full rounds read every page.
    #[serde(default)]
    deep: bool,
    /// Waivers, as `sealant audit --waivers` reads them.
    waivers: Option<PathBuf>,
    /// Limits of the site, as `sealant audit --policy` reads them.
    policy: Option<PathBuf>,
    /// File with the token that readers of the pages have to send.
    pub(crate) token_file: Option<PathBuf>,
    /// Certificates of the pages.
    pub(crate) tls: Option<Tls>,
    /// Metrics of other processes of this host that are passed on.
    #[serde(default)]
    pub(crate) metrics: Vec<sources::Source>,
    /// Severities at which `monitor check` reports WARNING and CRITICAL.
    #[serde(default)]
    pub(crate) check: Thresholds,
    /// Path of this file.
    #[serde(skip)]
    path: PathBuf,
}

/// Certificates of the pages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Tls {
    /// The monitor's certificate and intermediate ones, PEM.
    pub(crate) certificate: PathBuf,
    /// Its key, PEM.
    pub(crate) key: PathBuf,
    /// Authority that issues client certificates to readers, PEM; without it, readers need no certificate.
    pub(crate) client_ca: Option<PathBuf>,
}

/// Minimum severity of a failure for WARNING, and for CRITICAL.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Thresholds {
    pub(crate) warning: Severity,
    pub(crate) critical: Severity,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { warning: Severity::Medium, critical: Severity::High }
    }
}

fn default_state_directory() -> PathBuf {
    "/var/lib/sealant-monitor".into()
}

fn default_listen() -> Vec<SocketAddr> {
    vec![SocketAddr::from(([127, 0, 0, 1], 9447))]
}

const fn default_light() -> Duration {
    Duration::from_secs(60)
}

const fn default_full() -> Duration {
    Duration::from_secs(24 * 3600)
}

const fn default_time_limit() -> Duration {
    Duration::from_secs(600)
}

/// The shortest and the longest interval.
const INTERVALS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(366 * 24 * 3600);

fn interval<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let time = time_with_unit(&text).ok().filter(|time| INTERVALS.contains(time));
    time.ok_or_else(|| D::Error::custom(format!("{text:?} is not a time like \"30s\", \"5m\", \"6h\" or \"1d\"")))
}

impl Config {
    /// Reads a configuration file; paths in it are relative to its directory.
    ///
    /// # Errors
    /// [`Error::UnreadConfig`], [`Error::BadConfig`], [`Error::OpenListener`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        let unread = |source| Error::UnreadConfig { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(unread)?;
        let bad = |why: String| Error::BadConfig { path: path.to_owned(), why };
        let mut config: Self = files::toml::parse(&text).map_err(bad)?;
        config.path = path.to_owned();
        config.resolve(path.parent().unwrap_or_else(|| Path::new(".")));
        if config.full_every < config.light_every {
            return Err(
                bad("full-every is shorter than light-every, but a full round includes a light one".to_owned()),
            );
        }
        if config.check.critical < config.check.warning {
            return Err(bad("check: critical is less severe than warning".to_owned()));
        }
        if let Some(mistake) = config.metrics.iter().find_map(sources::Source::mistake) {
            return Err(bad(mistake));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = config.metrics.iter().find(|source| !names.insert(&source.name)) {
            return Err(bad(format!("metrics: two sources are called {:?}", twice.name)));
        }
        config.check_listeners()?;
        Ok(config)
    }

    fn resolve(&mut self, base: &Path) {
        let tls = self.tls.iter_mut();
        let tls = tls.flat_map(|tls| [Some(&mut tls.certificate), Some(&mut tls.key), tls.client_ca.as_mut()]);
        let own = [&mut self.waivers, &mut self.policy, &mut self.token_file, &mut self.key_register]
            .into_iter()
            .map(Option::as_mut);
        let always = [Some(&mut self.fleet), Some(&mut self.state_directory)];
        let sources = self.metrics.iter_mut().map(|source| source.file.as_mut());
        for path in tls.chain(own).chain(always).chain(sources).flatten() {
            *path = base.join(&*path);
        }
    }

    /// Findings tell an attacker where to look. A listener that other hosts can reach therefore needs TLS, and a token
    /// or client certificates.
    fn check_listeners(&self) -> Result<(), Error> {
        let readers_are_known =
            self.token_file.is_some() || self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        let missing = match (&self.tls, readers_are_known) {
            (None, _) => "[tls]",
            (Some(_), false) => "token-file or client-ca",
            (Some(_), true) => return Ok(()),
        };
        match self.listen.iter().find(|address| !address.ip().is_loopback()) {
            Some(address) => Err(Error::OpenListener { path: self.path.clone(), address: *address, missing }),
            None => Ok(()),
        }
    }

    /// Reads the fleet file.
    ///
    /// # Errors
    /// [`Error::Audit`]; [`Error::BadConfig`] if two servers have one name.
    pub(crate) fn fleet(&self) -> Result<Fleet, Error> {
        let fleet = Fleet::load(&self.fleet)?;
        let bad = |why: String| Error::BadConfig { path: self.fleet.clone(), why };
        let mut names = BTreeSet::new();
        for member in fleet.members() {
            let name = member.label();
            if member.is_offline() {
                let timer = "audit it with sealant audit --offline from a timer";
                return Err(bad(format!("{name:?} is a directory without a server: {timer}")));
            }
            if !names.insert(name.clone()) {
                return Err(bad(format!(
                    "two servers are called {name:?}: give each a name of its own (name = \"…\")"
                )));
            }
        }
        Ok(fleet)
    }

    /// The same configuration with the listeners of another one.
    ///
    /// # Errors
    /// [`Error::OpenListener`] if these need protection that this configuration does not have.
    pub(crate) fn with_listeners(self, listen: &[SocketAddr]) -> Result<Self, Error> {
        let config = Self { listen: listen.to_vec(), ..self };
        config.check_listeners()?;
        Ok(config)
    }

    /// Reads waivers and policy.
    ///
    /// # Errors
    /// [`Error::Audit`].
    pub(crate) fn rules(&self) -> Result<Rules, Error> {
        Ok(Rules {
            policy: self.policy.as_deref().map(Policy::load).transpose()?.unwrap_or_default(),
            waivers: self.waivers.as_deref().map(Waivers::load).transpose()?.unwrap_or_default(),
            ..Rules::default()
        })
    }

    pub(crate) const fn intervals(&self) -> Intervals {
        Intervals { light: self.light_every, full: self.full_every }
    }

    /// What a round of this scope reads.
    pub(crate) fn source(&self, scope: Scope) -> Source {
        let light = scope == Scope::Light;
        let state_dir = self.key_register.clone();
        Source { no_files: light, no_host: light, deep: self.deep && !light, state_dir, ..Source::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<Config, Error> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("monitor.toml");
        std::fs::write(&file, text).unwrap();
        Config::load(&file)
    }

    #[test]
    fn a_fleet_is_enough() {
        let config = config("fleet = \"fleet.toml\"\n").unwrap();
        assert!(config.fleet.is_absolute() && config.listen.iter().all(|address| address.ip().is_loopback()));
        assert_eq!(config.intervals(), Intervals { light: Duration::from_secs(60), full: Duration::from_secs(86_400) });
        assert!(config.source(Scope::Light).no_files && !config.source(Scope::Full).no_files);
    }

    #[test]
    fn wrong_values_are_named() {
        for (text, says) in [
            ("", "missing field `fleet`"),
            ("fleet = \"f\"\nlight = \"1m\"\n", "line 2: unknown field `light`"),
            ("fleet = \"f\"\nlight-every = \"60\"\n", "is not a time like"),
            ("fleet = \"f\"\nlight-every = \"0s\"\n", "is not a time like"),
            ("fleet = \"f\"\nlight-every = \"500ms\"\n", "is not a time like"),
            ("fleet = \"f\"\nlight-every = \"367d\"\n", "line 2"),
            ("fleet = \"f\"\nlight-every = \"2h\"\nfull-every = \"1h\"\n", "shorter than light-every"),
            ("fleet = \"f\"\nlisten = [\"localhost\"]\n", "line 2"),
            ("fleet = \"f\"\n[[metrics]]\nname = \"a\"\n", "give either address or file"),
            (
                "fleet = \"f\"\n[[metrics]]\nname = \"a\"\nfile = \"b\"\n[[metrics]]\nname = \"a\"\nfile = \"c\"\n",
                "two sources are called \"a\"",
            ),
            ("fleet = \"f\"\n[check]\nwarning = \"high\"\ncritical = \"low\"\n", "less severe"),
        ] {
            let error = config(text).unwrap_err();
            assert!(error.is_misuse() && error.to_string().contains(says), "{text}: {error}");
            assert!(error.hint().is_some(), "{text}: {error}");
        }
    }

    #[test]
    fn other_hosts_need_tls_and_have_to_prove_who_they_are() {
        let tls = "[tls]\ncertificate = \"c\"\nkey = \"k\"\n";
        for (text, missing) in [
            (String::new(), "[tls]"),
            ("token-file = \"t\"\n".to_owned(), "[tls]"),
            (tls.to_owned(), "token-file or client-ca"),
        ] {
            let error = config(&format!("fleet = \"f\"\nlisten = [\"0.0.0.0:9447\"]\n{text}")).unwrap_err();
            assert!(matches!(&error, Error::OpenListener { missing: m, .. } if *m == missing), "{text}: {error}");
            assert!(config(&format!("fleet = \"f\"\nlisten = [\"[::1]:9447\"]\n{text}")).is_ok(), "{text}");
        }
        for proof in [format!("token-file = \"t\"\n{tls}"), format!("{tls}client-ca = \"ca\"\n")] {
            assert!(config(&format!("fleet = \"f\"\nlisten = [\"0.0.0.0:9447\"]\n{proof}")).is_ok(), "{proof}");
        }
    }
}
