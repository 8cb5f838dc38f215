//! Limits that a site can set; the defaults are from the documents cited.

use std::path::Path;

use serde::Deserialize;

use crate::Error;

/// Limits of a site.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Maximum age of a master key in days. PCI DSS 3.7.4 requires a defined period.
    pub master_key_max_age_days: i64,
    /// A certificate that expires within this many days fails.
    pub certificate_fail_days: i64,
    /// A certificate that expires within this many days gets a warning.
    pub certificate_warn_days: i64,
    /// Minimum RSA modulus in bits. NIST SP 800-57: 2048.
    pub rsa_min_bits: u32,
    /// Minimum size of elliptic curves in bits.
    pub ec_min_bits: u32,
    /// Maximum age of the newest good backup in hours: a day, and two hours for the run.
    pub backup_max_age_hours: i64,
    /// Maximum age of the newest proven restore in days: a quarter of a year. NIST SP 800-53 CP-9(1) requires a defined
    /// period.
    pub restore_max_age_days: i64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            master_key_max_age_days: 365,
            certificate_fail_days: 30,
            certificate_warn_days: 90,
            rsa_min_bits: 2048,
            ec_min_bits: 256,
            backup_max_age_hours: 26,
            restore_max_age_days: 92,
        }
    }
}

impl Policy {
    /// Reads a TOML file; missing fields keep their defaults.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::BadConfiguration`] for an unknown field or a wrong type.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let bad = |why: String| Error::BadConfiguration { path: path.to_owned(), why };
        let policy: Self = files::toml::parse(&text).map_err(bad)?;
        policy.contradiction().map_or(Ok(policy), |why| Err(bad(why)))
    }

    /// Why no server, or every server, would satisfy the policy; `None` if it is usable.
    fn contradiction(&self) -> Option<String> {
        let positive = [
            ("master_key_max_age_days", self.master_key_max_age_days),
            ("certificate_fail_days", self.certificate_fail_days),
            ("certificate_warn_days", self.certificate_warn_days),
            ("backup_max_age_hours", self.backup_max_age_hours),
            ("restore_max_age_days", self.restore_max_age_days),
        ];
        if let Some((name, value)) = positive.iter().find(|(_, value)| *value < 0) {
            return Some(format!("{name} = {value} is negative"));
        }
        (self.certificate_warn_days < self.certificate_fail_days)
            .then(|| "certificate_warn_days is smaller than certificate_fail_days".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Policy, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("p.toml");
        std::fs::write(&file, text).unwrap();
        Policy::load(&file).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_named_keeps_its_default() {
        let policy = load("master_key_max_age_days = 90\n").unwrap();
        assert_eq!(policy, Policy { master_key_max_age_days: 90, ..Policy::default() });
        assert_eq!(load("").unwrap(), Policy::default());
    }

    #[test]
    fn misspelt_or_impossible_limits_are_refused() {
        assert!(load("master_key_age = 90\n").unwrap_err().contains("master_key_age"));
        assert!(load("certificate_fail_days = -1\n").is_err());
        assert!(load("certificate_fail_days = 100\n").unwrap_err().contains("smaller"));
    }
}
