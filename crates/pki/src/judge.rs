//! Judges certificates: what is wrong, or soon will be.

use jiff::Timestamp;
use serde::Serialize;

use crate::{Certificate, Credentials, Purpose, Untrusted, leads_to};

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// It works now, but will not for long.
    Warning,
    /// It does not work, or will fail within days.
    Critical,
}

/// Kind of a problem, stable for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProblemKind {
    /// It has expired.
    Expired,
    /// It expires soon.
    Expires,
    /// It is not valid yet; perhaps a clock is wrong.
    NotYetValid,
    /// It does not chain to the authority.
    Chain,
    /// The authority has expired or expires soon.
    Authority,
    /// It does not name the host.
    Name,
    /// The key belongs to another certificate.
    Key,
    /// It has no names that a peer could check.
    NoNames,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Severity.
    pub level: Level,
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// The problem as a sentence, with dates and names.
    pub text: String,
}

/// Days before expiry at which problems are reported.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Fewer days than this before expiry are a warning; 30 by default.
    pub warning_days: u32,
    /// Fewer days than this before expiry are a critical problem; 7 by default.
    pub critical_days: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { warning_days: 30, critical_days: 7 }
    }
}

/// Judges a certificate: its dates, its chain if an authority is given, its key if that exists, and whether it has
/// these hosts' names.
#[must_use]
pub fn judge(credentials: &Credentials, hosts: &[String], limits: &Limits, now: Timestamp) -> Vec<Problem> {
    let mut found = Vec::new();
    let Some(leaf) = credentials.leaf() else { return found };
    found.extend(dates("the certificate", leaf, limits, now));
    if let Some((key, _)) = &credentials.key
        && !key.belongs_to(leaf)
    {
        found.push(critical(ProblemKind::Key, "the key is not this certificate's".to_owned()));
    }
    found.extend(chain(credentials, limits, now));
    for host in hosts.iter().filter(|host| !leaf.names_host(host)) {
        let names = leaf.names().join(", ");
        found.push(critical(ProblemKind::Name, format!("it is not for {host}; it names {names}")));
    }
    if leaf.san_dns.is_empty() && leaf.san_ip.is_empty() && !leaf.is_ca {
        let text = "it has no subject alternative names, so most clients cannot check its name";
        found.push(Problem { level: Level::Warning, kind: ProblemKind::NoNames, text: text.to_owned() });
    }
    found
}

/// The most severe problem.
#[must_use]
pub fn worst(problems: &[Problem]) -> Option<Level> {
    problems.iter().map(|problem| problem.level).max()
}

fn dates(what: &str, certificate: &Certificate, limits: &Limits, now: Timestamp) -> Option<Problem> {
    let day = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M UTC").to_string();
    if now < certificate.not_before {
        let text = format!(
            "{what} is valid from {} on, and it is {} here; is a clock wrong?",
            day(certificate.not_before),
            day(now)
        );
        return Some(critical(ProblemKind::NotYetValid, text));
    }
    if now >= certificate.not_after {
        return Some(critical(ProblemKind::Expired, format!("{what} expired on {}", day(certificate.not_after))));
    }
    let days = days_between(now, certificate.not_after);
    let level = match days {
        _ if days < i64::from(limits.critical_days) => Level::Critical,
        _ if days < i64::from(limits.warning_days) => Level::Warning,
        _ => return None,
    };
    let text = format!("{what} expires in {days} days, on {}", day(certificate.not_after));
    Some(Problem { level, kind: ProblemKind::Expires, text })
}

/// Whole days between two times.
pub(crate) fn days_between(now: Timestamp, then: Timestamp) -> i64 {
    then.as_second().saturating_sub(now.as_second()).div_euclid(24 * 3600)
}

fn chain(credentials: &Credentials, limits: &Limits, now: Timestamp) -> Vec<Problem> {
    let Some((authorities, _)) = &credentials.authorities else { return Vec::new() };
    let mut found = Vec::new();
    let purpose = match credentials.leaf() {
        Some(leaf) if leaf.ext_key_usage.iter().all(|usage| usage == "clientAuth") => Purpose::Client,
        _ => Purpose::Server,
    };
    match leads_to(credentials.ders(), authorities, purpose, now) {
        // The dates were judged already.
        Ok(()) | Err(Untrusted::Expired | Untrusted::NotYetValid) => {}
        Err(why) => found.push(critical(ProblemKind::Chain, format!("it does not lead to the authority: {why}"))),
    }
    for authority in authorities.iter().filter_map(|der| Certificate::from_der(der).ok()) {
        let problem = dates(&format!("the authority {}", authority.subject), &authority, limits, now);
        found.extend(problem.map(|problem| Problem { kind: ProblemKind::Authority, ..problem }));
    }
    found
}

fn critical(kind: ProblemKind, text: String) -> Problem {
    Problem { level: Level::Critical, kind, text }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::SignedDuration;

    use super::*;
    use crate::{Authority, IssueRequest, KeyType, Usage};

    fn made(directory: &Path) -> Credentials {
        Authority::create(directory, None, KeyType::default(), 3650, false).unwrap();
        let request = IssueRequest {
            name: "db1".parse().unwrap(),
            alternatives: Vec::new(),
            key: KeyType::default(),
            usage: Usage::default(),
            days: 100,
            replace: false,
        };
        let files = Authority::open(directory).unwrap().issue(&request).unwrap();
        Credentials::read(&files.certificate, Some(&files.key), Some(&directory.join("ca.pem"))).unwrap()
    }

    fn kinds(credentials: &Credentials, hosts: &[&str], days: i64) -> Vec<(Level, ProblemKind)> {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let at = Timestamp::now().saturating_add(SignedDuration::from_hours(days.saturating_mul(24))).unwrap();
        let found = judge(credentials, &hosts, &Limits::default(), at);
        found.into_iter().map(|problem| (problem.level, problem.kind)).collect()
    }

    #[test]
    fn each_problem_is_reported() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (mut good, foreign) = (made(one.path()), made(other.path()));
        assert_eq!(kinds(&good, &["db1"], 0), []);
        assert_eq!(kinds(&good, &["db2"], 0), [(Level::Critical, ProblemKind::Name)]);
        assert_eq!(kinds(&good, &[], 80), [(Level::Warning, ProblemKind::Expires)]);
        assert_eq!(kinds(&good, &[], 95), [(Level::Critical, ProblemKind::Expires)]);
        assert_eq!(kinds(&good, &[], 101), [(Level::Critical, ProblemKind::Expired)]);
        let early = kinds(&good, &[], -2);
        assert!(early.contains(&(Level::Critical, ProblemKind::NotYetValid)), "{early:?}");
        good.authorities = foreign.authorities;
        assert_eq!(kinds(&good, &[], 0), [(Level::Critical, ProblemKind::Chain)]);
        good.authorities = None;
        good.key = foreign.key;
        assert_eq!(kinds(&good, &[], 0), [(Level::Critical, ProblemKind::Key)]);
    }
}
