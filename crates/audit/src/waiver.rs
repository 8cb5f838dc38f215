//! Waivers: failures or unavailable facts that somebody accepted in writing until a date.

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::Error;
use crate::finding::{Finding, Status};

/// A validated waiver file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waivers {
    #[serde(default)]
    waiver: Vec<Waiver>,
}

/// An accepted failure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// Id of the check.
    pub check: String,
    /// Glob for the target; everything if absent.
    #[serde(default = "anything")]
    pub server: String,
    /// Glob for the artefact; everything if absent.
    #[serde(default = "anything")]
    pub artefact: String,
    /// The reason.
    pub reason: String,
    /// The person who accepted it.
    pub approver: String,
    /// Last day of validity, UTC: a TOML date, or a string.
    #[serde(deserialize_with = "day")]
    pub expires: Date,
    /// Compensating control, such as an attestation of volume encryption.
    #[serde(default)]
    pub evidence: Option<String>,
}

/// Id of the check of waivers. Waiving it would hide expired ones.
pub(crate) const NEVER_WAIVED: &str = "ev-waiver-expired";

/// Whether a waiver can cover the finding.
#[must_use]
pub fn can_be_waived(finding: &Finding) -> bool {
    matches!(finding.status, Status::Fail | Status::Unknown) && finding.id != NEVER_WAIVED
}

/// Reads `2026-12-31` and `"2026-12-31"` alike: TOML has a date type.
fn day<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    use serde::de::Error as _;
    let value = toml::Value::deserialize(deserializer)?;
    let text = match &value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Datetime(datetime) => datetime.to_string(),
        _ => return Err(D::Error::custom("expires is no date")),
    };
    // A full date-time would suggest an hour; waivers end with a day.
    text.parse().map_err(|_| D::Error::custom(format!("expires = {text:?} is no date of the form YYYY-MM-DD")))
}

fn anything() -> String {
    "*".to_owned()
}

impl Waivers {
    /// Reads a TOML file of `[[waiver]]` tables.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::BadConfiguration`] if a field is missing, empty or unknown.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let bad = |why: String| Error::BadConfiguration { path: path.to_owned(), why };
        let waivers: Self = files::toml::parse(&text).map_err(bad)?;
        match waivers.waiver.iter().find(|w| w.reason.trim().is_empty() || w.approver.trim().is_empty()) {
            Some(w) => Err(bad(format!("the waiver for {} has no reason or no approver", w.check))),
            None => Ok(waivers),
        }
    }

    /// Changes findings that a valid waiver covers to WAIVED; they stay visible.
    pub fn apply(&self, findings: &mut [Finding], now: Timestamp) {
        for finding in findings.iter_mut() {
            if let Some(waiver) = self.covering(finding, now) {
                finding.status = Status::Waived;
                finding.waiver = Some(waiver.note());
            }
        }
    }

    /// The valid waiver that covers a failure or an unknown.
    #[must_use]
    pub fn covering(&self, finding: &Finding, now: Timestamp) -> Option<&Waiver> {
        let waivable = can_be_waived(finding);
        self.waiver.iter().find(|w| waivable && w.valid(now) && w.covers(finding))
    }

    /// All waivers, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Waiver> {
        self.waiver.iter()
    }

    /// Number of waivers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiver.len()
    }

    /// Whether there are no waivers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiver.is_empty()
    }
}

impl Waiver {
    /// Whether its last day has not passed.
    #[must_use]
    pub fn valid(&self, now: Timestamp) -> bool {
        now.to_zoned(TimeZone::UTC).date() <= self.expires
    }

    fn covers(&self, finding: &Finding) -> bool {
        self.check == finding.id && glob(&self.server, &finding.server) && glob(&self.artefact, &finding.artefact)
    }

    fn note(&self) -> String {
        let evidence = self.evidence.as_ref().map_or_else(String::new, |e| format!("; {e}"));
        format!("{} (approved by {} until {}{evidence})", self.reason, self.approver, self.expires)
    }
}

/// Whether `text` matches `pattern`: `*` matches any run, `?` one character.
#[must_use]
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // `matched[n]`: whether the pattern so far matches the first `n` characters of the text.
    let mut matched = vec![false; text.len() + 1];
    matched[0] = true;
    for p in pattern {
        let mut next = vec![false; text.len() + 1];
        next[0] = matched[0] && p == '*';
        for (i, t) in text.iter().enumerate() {
            next[i + 1] = match p {
                '*' => next[i] || matched[i + 1],
                '?' => matched[i],
                _ => matched[i] && p == *t,
            };
        }
        matched = next;
    }
    matched.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_matches_runs_and_single_characters() {
        assert!(glob("*", ""));
        assert!(glob("mysql://*:3306", "mysql://db:3306"));
        assert!(glob("demo/?.ibd", "demo/t.ibd"));
        assert!(!glob("demo/?.ibd", "demo/tt.ibd"));
        assert!(glob("a*b*c", "a--b--b-c"));
        assert!(!glob("a*b*c", "a--c--b"));
    }

    fn load(text: &str) -> Result<Waivers, Error> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("w.toml");
        std::fs::write(&file, text).unwrap();
        Waivers::load(&file)
    }

    fn waiver(rest: &str) -> Waivers {
        load(&format!("[[waiver]]\ncheck='key-local-file'\nreason='r'\napprover='a'\n{rest}\n")).unwrap()
    }

    fn finding(id: &str, status: Status) -> Finding {
        Finding {
            id: id.to_owned(),
            status,
            severity: findings::Severity::High,
            server: "mysql://db1:3306".to_owned(),
            artefact: "keyring".to_owned(),
            grade: None,
            message: String::new(),
            evidence: Vec::new(),
            remediation: None,
            remedies: Vec::new(),
            cost: None,
            standards: Vec::new(),
            waiver: None,
            fingerprint: String::new(),
        }
    }

    fn at(moment: &str) -> Timestamp {
        moment.parse().unwrap()
    }

    fn status_after(waivers: &Waivers, id: &str, status: Status, moment: &str) -> Status {
        let mut findings = [finding(id, status)];
        waivers.apply(&mut findings, at(moment));
        findings[0].status
    }

    #[test]
    fn a_waiver_without_expiry_is_refused() {
        let error = load("[[waiver]]\ncheck='x'\nreason='r'\napprover='a'\n").unwrap_err().to_string();
        assert!(error.contains("expires"), "{error}");
    }

    #[test]
    fn a_waiver_without_reason_or_with_unknown_fields_is_refused() {
        assert!(load("[[waiver]]\ncheck='x'\nreason=' '\napprover='a'\nexpires=2026-12-31\n").is_err());
        assert!(load("[[waiver]]\ncheck='x'\nreason='r'\napprover='a'\nexpires=2026-12-31\nforever=true\n").is_err());
        assert!(load("[[waiver]]\ncheck='x'\nreason='r'\napprover='a'\nexpires='soon'\n").is_err());
    }

    #[test]
    fn dates_are_read_with_and_without_quotes() {
        for expires in ["expires=2026-12-31", "expires='2026-12-31'"] {
            assert_eq!(waiver(expires).waiver[0].expires, Date::constant(2026, 12, 31));
        }
    }

    #[test]
    fn failures_and_unknowns_are_waived_until_the_end_of_the_last_day() {
        let waivers = waiver("expires=2026-12-31");
        let last = "2026-12-31T23:59:59Z";
        assert_eq!(status_after(&waivers, "key-local-file", Status::Fail, last), Status::Waived);
        assert_eq!(status_after(&waivers, "key-local-file", Status::Unknown, last), Status::Waived);
        assert_eq!(status_after(&waivers, "key-local-file", Status::Pass, last), Status::Pass);
        assert_eq!(status_after(&waivers, "key-same-disk", Status::Fail, last), Status::Fail);
        assert_eq!(status_after(&waivers, "key-local-file", Status::Fail, "2027-01-01T00:00:00Z"), Status::Fail);
    }

    #[test]
    fn scope_is_a_glob_over_server_and_artefact() {
        let here = waiver("expires=2026-12-31\nserver='mysql://db?:*'\nartefact='key*'");
        assert_eq!(status_after(&here, "key-local-file", Status::Fail, "2026-01-01T00:00:00Z"), Status::Waived);
        let there = waiver("expires=2026-12-31\nserver='mysql://web*'");
        assert_eq!(status_after(&there, "key-local-file", Status::Fail, "2026-01-01T00:00:00Z"), Status::Fail);
    }

    #[test]
    fn the_check_of_waivers_cannot_be_waived() {
        let text = "[[waiver]]\ncheck='ev-waiver-expired'\nreason='r'\napprover='a'\nexpires=2026-12-31\n";
        let waivers = load(text).unwrap();
        let now = "2026-11-20T12:00:00Z";
        assert_eq!(status_after(&waivers, "ev-waiver-expired", Status::Fail, now), Status::Fail);
    }
}
