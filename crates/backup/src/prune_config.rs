//! The configuration of a keeper, which prunes a repository, with its retention policy. It may be in a host's file, or
//! in its own file on another machine without a server.

use std::path::{Path, PathBuf};

use archive::{
    prune::ORPHAN_DAYS,
    retention::Policy,
    sshsig::{AllowedSigners, SigningKey},
};
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    Error,
    config::{RepositorySection, RetentionSection, StateSection, allowed_signers, key_file, read_with, signing_key},
    location::Location,
};

/// Default name: the principal of its signatures.
const NAME: &str = "keeper";

/// Which repository to prune, with whose signature, and what to keep.
#[derive(Debug)]
pub struct PruneConfig {
    /// Where the backups are stored.
    pub repository: Location,
    /// Name of the keeper: the principal of its signatures in the file of allowed signers.
    pub name: String,
    /// File with the private key that signs declarations.
    pub signing_key: PathBuf,
    /// File of the allowed signers of receipts and declarations.
    pub allowed_signers: PathBuf,
    /// Which backups are kept.
    pub policy: Policy,
    /// Whether backups with pages that could not be proven count as good.
    pub accept_unproven: bool,
    /// Minimum age, in days, of an object without a receipt before it is removed.
    pub orphan_days: u16,
    /// Directory of the state, in which receipts are kept.
    pub state: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sections {
    repository: RepositorySection,
    keeper: KeeperSection,
    #[serde(default)]
    retention: RetentionSection,
    #[serde(rename = "report")]
    _report: Option<IgnoredAny>,
    #[serde(rename = "host")]
    _host: Option<IgnoredAny>,
    #[serde(rename = "server")]
    _server: Option<IgnoredAny>,
    #[serde(default)]
    data: DataSection,
    #[serde(rename = "keys")]
    _keys: Option<IgnoredAny>,
    #[serde(rename = "binlogs")]
    _binlogs: Option<IgnoredAny>,
    state: Option<StateSection>,
}

/// The only field of a host's section that a keeper uses.
#[derive(Default, Deserialize)]
struct DataSection {
    #[serde(default)]
    accept_unproven: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeeperSection {
    name: Option<String>,
    signing_key: PathBuf,
    allowed_signers: PathBuf,
    orphan_days: Option<u16>,
}

impl PruneConfig {
    /// Reads and validates a configuration file.
    ///
    /// # Errors
    /// [`Error::Config`] with the reason.
    pub fn read(path: &Path) -> Result<Self, Error> {
        read_with(path, Self::parse)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let sections: Sections = files::toml::parse(text)?;
        let orphan_days = sections.keeper.orphan_days.unwrap_or(ORPHAN_DAYS);
        if orphan_days < ORPHAN_DAYS {
            return Err(format!("keeper.orphan_days must be at least {ORPHAN_DAYS}: a run may take that long"));
        }
        Ok(Self {
            repository: sections.repository.location(&sections.retention)?,
            name: sections.keeper.name.unwrap_or_else(|| NAME.to_owned()),
            signing_key: key_file("keeper.signing_key", sections.keeper.signing_key)?,
            allowed_signers: sections.keeper.allowed_signers,
            policy: sections.retention.policy(),
            accept_unproven: sections.data.accept_unproven,
            orphan_days,
            state: StateSection::directory(sections.state),
        })
    }

    /// Reads the signing key.
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Io`].
    pub fn signing_key(&self) -> Result<SigningKey, Error> {
        signing_key(&self.signing_key)
    }

    /// Reads the allowed signers.
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Unreadable`].
    pub fn allowed_signers(&self) -> Result<AllowedSigners, Error> {
        allowed_signers(&self.allowed_signers)
    }
}

#[cfg(test)]
mod tests {
    use store::s3::{Lock, LockMode};

    use super::*;

    const TEXT: &str = r#"
[repository]
url = "/backup/repo"
[keeper]
signing_key = "/etc/sealant/keeper.key"
allowed_signers = "/etc/sealant/signers"
"#;

    #[test]
    fn a_keeper_needs_no_server_and_may_share_its_file() {
        let keeper = PruneConfig::parse(TEXT).unwrap();
        assert_eq!((keeper.name.as_str(), keeper.orphan_days, keeper.policy), ("keeper", 7, Policy::default()));
        let shared = format!("{TEXT}[retention]\ndaily = 3\n[host]\nname = \"db1\"\n[server]\ndatadir = \"/x\"\n");
        let keeper = PruneConfig::parse(&shared).unwrap();
        assert_eq!((keeper.policy, keeper.accept_unproven), (Policy { daily: 3, ..Policy::default() }, false));
        let accepting = format!("{shared}[data]\nrecipients = []\naccept_unproven = true\n[report]\nhtml = \"/x\"\n");
        assert!(PruneConfig::parse(&accepting).unwrap().accept_unproven);
    }

    #[test]
    fn locks_may_be_among_what_is_kept() {
        let bucket = TEXT.replace("\"/backup/repo\"", "\"s3://backups/mysql\"\nregion = \"eu-central-1\"");
        let locks = "[retention]\ndaily = 3\nlock_days = 9\nlock_mode = \"governance\"\n";
        let keeper = PruneConfig::parse(&format!("{bucket}{locks}")).unwrap();
        assert_eq!(keeper.policy, Policy { daily: 3, ..Policy::default() });
        let Location::Bucket(settings) = &keeper.repository else { panic!("{:?}", keeper.repository) };
        assert_eq!(settings.lock, Some(Lock { mode: LockMode::Governance, days: 9 }));
        let twice = bucket.replace("region", "lock_days = 9\nregion");
        let error = PruneConfig::parse(&format!("{twice}{locks}")).unwrap_err();
        assert!(error.contains("retention.lock_days"), "{error}");
    }

    /// If every backup is damaged, this is the only way to remove any.
    #[test]
    fn no_backup_may_have_to_be_good() {
        let keeper = PruneConfig::parse(&format!("{TEXT}[retention]\nmin_good = 0\n")).unwrap();
        assert_eq!(keeper.policy, Policy { min_good: 0, ..Policy::default() });
    }

    #[test]
    fn mistakes_are_named() {
        for (more, says) in [
            ("orphan_days = 2\n", "orphan_days"),
            ("[retention]\nmin_good = -1\n", "expected u32"),
            ("[retention]\nhourly = 3\n", "hourly"),
            ("[typo]\n", "typo"),
            ("[retention]\nlock_days = 9\n", "for buckets"),
        ] {
            let error = PruneConfig::parse(&format!("{TEXT}{more}")).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
