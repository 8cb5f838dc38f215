//! Checks certificates: of a file, of an authority's directory, or of a server.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use crate::{
    Certificate, Credentials, Error, Files, Level, Limits, Problem, credentials::read_certificates, files::names_in,
    judge, worst,
};

/// Schema of a check's report.
pub const SCHEMA: &str = "sealant.cert-check/1";

/// What to check.
#[derive(Debug)]
pub enum CheckTarget<'s> {
    /// A certificate, and its key if that is given.
    File {
        /// Path of the certificate.
        certificate: &'s Path,
        /// Path of the key.
        key: Option<&'s Path>,
    },
    /// All certificates of an authority, each with its key if that exists.
    Authority(&'s Path),
    /// The chain that a server presents.
    Served {
        /// Address of the server.
        address: &'s Path,
        /// The chain, DER.
        chain: Vec<Vec<u8>>,
    },
}

/// Requirements for certificates.
#[derive(Clone, Debug)]
pub struct Criteria {
    /// Names and addresses that each certificate must have.
    pub hosts: Vec<String>,
    /// When to warn of expiry.
    pub limits: Limits,
    /// Time of the check.
    pub now: Timestamp,
}

/// Report of a check.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: &'static str,
    /// The checked certificates.
    pub checked: Vec<Checked>,
}

/// A checked certificate.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// Path of its file, or address of the server.
    #[serde(rename = "place")]
    pub path: PathBuf,
    /// The worst problem; `None` if everything is in order.
    pub level: Option<Level>,
    /// Subject as `CN=…, O=…`.
    pub subject: String,
    /// DNS names and addresses that a client may check.
    pub names: Vec<String>,
    /// End of validity.
    pub not_after: Timestamp,
    /// Whole days until then; negative after it.
    pub days_left: i64,
    /// All problems.
    pub problems: Vec<Problem>,
}

impl Report {
    /// The worst problem; `None` if everything is in order.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        self.checked.iter().filter_map(|one| one.level).max()
    }
}

impl Criteria {
    /// Checks certificates. A certificate or a chain must lead to the authority `ca`, if that is given.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Content`] name the file.
    pub fn check(&self, subject: CheckTarget<'_>, ca: Option<&Path>) -> Result<Report, Error> {
        let checked = match subject {
            CheckTarget::Authority(directory) => self.authority(directory)?,
            CheckTarget::File { certificate, key } => {
                vec![self.checked(certificate, &Credentials::read(certificate, key, ca)?)]
            }
            CheckTarget::Served { address, chain } => {
                vec![self.checked(address, &Credentials::served(address, chain, ca)?)]
            }
        };
        Ok(Report { schema: SCHEMA, checked })
    }

    fn authority(&self, directory: &Path) -> Result<Vec<Checked>, Error> {
        let authority = Files::for_authority(directory);
        let mut checked = vec![self.with_key(&authority, None)?];
        for name in names_in(directory)? {
            checked.push(self.with_key(&Files::for_name(directory, &name), Some(&authority.certificate))?);
        }
        Ok(checked)
    }

    /// Checks a certificate, with its key if the file exists: keys may be stored elsewhere.
    fn with_key(&self, files: &Files, ca: Option<&Path>) -> Result<Checked, Error> {
        let key = files.key.exists().then_some(files.key.as_path());
        let credentials = Credentials::read(&files.certificate, key, ca)?;
        Ok(self.checked(&files.certificate, &credentials))
    }

    fn checked(&self, path: &Path, credentials: &Credentials) -> Checked {
        let problems = judge(credentials, &self.hosts, &self.limits, self.now);
        let leaf = credentials.leaf();
        let not_after = leaf.map_or(Timestamp::UNIX_EPOCH, |leaf| leaf.not_after);
        Checked {
            path: path.to_owned(),
            level: worst(&problems),
            subject: leaf.map(|leaf| leaf.subject.clone()).unwrap_or_default(),
            names: leaf.map(Certificate::names).unwrap_or_default(),
            not_after,
            days_left: not_after.as_second().saturating_sub(self.now.as_second()).div_euclid(24 * 3600),
            problems,
        }
    }
}

/// Descriptions of a file's certificates.
#[derive(Debug, Serialize)]
pub struct FileCertificates {
    /// Path of the file.
    pub file: PathBuf,
    /// Its certificates, in the order of the file.
    pub certificates: Vec<Certificate>,
}

/// Describes the certificates of PEM files.
///
/// # Errors
/// [`Error::Read`] and [`Error::Content`] name the file.
pub fn describe(files: &[PathBuf]) -> Result<Vec<FileCertificates>, Error> {
    let one = |file: &PathBuf| Ok(FileCertificates { certificates: read_certificates(file)?, file: file.clone() });
    files.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::{Authority, IssueRequest, KeyType, RenewalSelector, Usage};

    fn authority(directory: &Path) -> Authority {
        Authority::create(directory, None, KeyType::EcdsaP256, 3650, false).unwrap();
        Authority::open(directory).unwrap()
    }

    fn issue(authority: &Authority, name: &str, days: u32) {
        let name = name.parse().unwrap();
        let request = IssueRequest {
            name,
            alternatives: Vec::new(),
            key: KeyType::EcdsaP256,
            usage: Usage::Both,
            days,
            replace: false,
        };
        authority.issue(&request).unwrap();
    }

    fn criteria() -> Criteria {
        let limits = Limits { warning_days: 30, critical_days: 7 };
        Criteria { hosts: Vec::new(), limits, now: Timestamp::now() }
    }

    #[test]
    fn the_level_of_a_directory_is_that_of_its_worst_certificate() {
        let dir = tempfile::tempdir().unwrap();
        let authority = authority(dir.path());
        let check = |criteria: Criteria| criteria.check(CheckTarget::Authority(dir.path()), None).unwrap();
        issue(&authority, "db1", 300);
        assert_eq!(check(criteria()).level(), None);
        issue(&authority, "db2", 20);
        let report = check(criteria());
        assert_eq!((report.checked.len(), report.level()), (3, Some(Level::Warning)));
        let late = Criteria { now: Timestamp::now() + SignedDuration::from_hours(15 * 24), ..criteria() };
        assert_eq!(check(late).level(), Some(Level::Critical));
    }

    #[test]
    fn only_certificates_that_expire_soon_are_renewed() {
        let dir = tempfile::tempdir().unwrap();
        let authority = authority(dir.path());
        issue(&authority, "db1", 300);
        issue(&authority, "db2", 20);
        let due = authority.due(30).unwrap();
        assert_eq!(due.iter().map(crate::Name::as_str).collect::<Vec<_>>(), ["db2"]);
        let (renewed, failed) = authority.renew_all(&due, 300, false);
        assert!(failed.is_none() && renewed.len() == 1);
        assert!(authority.due(30).unwrap().is_empty());
    }

    #[test]
    fn due_certificates_of_a_directory_are_renewed() {
        let dir = tempfile::tempdir().unwrap();
        issue(&authority(dir.path()), "db2", 20);
        for (due, renewed) in [
            (RenewalSelector::Within(30), 1),
            (RenewalSelector::Within(30), 0),
            (RenewalSelector::Name("db2".parse().unwrap()), 1),
            (RenewalSelector::Authority, 1),
        ] {
            let (files, failed) = Authority::renew_in(dir.path(), &due, None, false).unwrap();
            assert!(failed.is_none() && files.len() == renewed, "{due:?}");
        }
    }

    #[test]
    fn a_failed_renewal_does_not_stop_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let authority = authority(dir.path());
        issue(&authority, "db2", 20);
        let names = ["db1".parse().unwrap(), "db2".parse().unwrap()];
        let (renewed, failed) = authority.renew_all(&names, 300, false);
        assert_eq!(renewed.len(), 1);
        assert!(matches!(failed, Some(Error::NoCertificate { .. })));
    }
}
