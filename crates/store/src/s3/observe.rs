//! Observes how a store behaves, which may differ from what it reports.

use std::io::Cursor;

use data_encoding::HEXLOWER;
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use serde::{Deserialize, Serialize};

use super::{S3, S3Fault, client::Upload, sum_of};
use crate::{Error, Name, Put, Store};

/// Observed behaviour of a store. `None`: not observed, because a permission is missing or there was no need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// Whether it refuses bytes that do not have the checksum they came with, and stores nothing of them.
    pub checksums: Option<bool>,
    /// Whether it keeps replaced versions of an object.
    pub versions: Option<bool>,
    /// Whether a new object has the lock that was asked for.
    pub locks: Option<bool>,
    /// Seconds by which its clock is ahead of this host's.
    pub clock_ahead_seconds: Option<i64>,
}

impl S3 {
    /// Observes the store with two objects: `existing`, whose put returned `put`, and `absent`, which is put with a
    /// wrong checksum and which a careful store refuses. Also returns errors that prevented an observation, except
    /// missing permissions.
    pub fn observe(&self, existing: &Name, put: Put, absent: &Name) -> (Observed, Vec<Error>) {
        let (object, checksums) = (self.observe_object(existing, put), self.refuses_wrong_checksum(absent));
        let mut faults = Vec::new();
        let observed = unless_denied(object).unwrap_or_else(|fault| {
            faults.push(self.failed(fault));
            None
        });
        let checksums = unless_denied(checksums).unwrap_or_else(|fault| {
            faults.push(self.failed(fault));
            None
        });
        (Observed { checksums, ..observed.unwrap_or_default() }, faults)
    }

    fn observe_object(&self, name: &Name, put: Put) -> Result<Observed, S3Fault> {
        let key = self.client.address.key(name);
        let reply = self.call_head(&key)?;
        let date = reply.header("date").and_then(|date| rfc2822::parse(date).ok());
        let ahead = date.map(|date| date.timestamp().duration_since(Timestamp::now()).as_secs());
        let locked_until = reply.header("x-amz-object-lock-retain-until-date").and_then(|end| end.parse().ok());
        let is_locked = locked_until.is_some_and(|end: Timestamp| end > self.client.now());
        Ok(Observed {
            checksums: None,
            versions: Some(reply.header("x-amz-version-id").is_some_and(|version| version != "null")),
            // The lock of an older object may have ended, or none was asked for.
            locks: self.lock.map(|_| is_locked).filter(|is_locked| *is_locked || put == Put::New),
            clock_ahead_seconds: ahead,
        })
    }

    /// Puts bytes with the checksum of other bytes. If the store keeps the object, it is removed, if this user may
    /// delete.
    fn refuses_wrong_checksum(&self, name: &Name) -> Result<bool, S3Fault> {
        let unreadable = |error: std::io::Error| S3Fault::Answer(error.to_string());
        let (mut body, mut other) = (Cursor::new(b"probe".as_slice()), Cursor::new(b"other".as_slice()));
        let (sum, bytes) = sum_of(&mut body).map_err(unreadable)?;
        let (wrong, _) = sum_of(&mut other).map_err(unreadable)?;
        let upload = Upload { body: &mut body, bytes, sha256: HEXLOWER.encode(&sum), lock: None };
        match self.put(name, upload, &wrong) {
            Ok(_) => {}
            Err(S3Fault::Garbled | S3Fault::Refused { status: 400, .. }) => {
                // A user who may not read objects has to rely on the answer.
                let is_there = self.head(name).ok().flatten().is_some();
                if !is_there {
                    return Ok(true);
                }
            }
            Err(fault) => return Err(fault),
        }
        // The verdict does not depend on this removal.
        let _ = self.delete(name);
        Ok(false)
    }
}

impl Observed {
    /// Completes it with what `earlier` observed of the same store: whether it locks objects shows only in an object that
    /// was just put. The clock is that of now.
    #[must_use]
    pub fn or_earlier(self, earlier: &Self) -> Self {
        Self {
            checksums: self.checksums.or(earlier.checksums),
            versions: self.versions.or(earlier.versions),
            locks: self.locks.or(earlier.locks),
            clock_ahead_seconds: self.clock_ahead_seconds,
        }
    }

    /// Warnings for the user: checksums and locks that the store ignores, and a clock that differs.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        /// Usual difference between clocks, including the precision of the answer's date.
        const USUAL: SignedDuration = SignedDuration::from_secs(60);
        let mut warnings = Vec::new();
        if self.checksums == Some(false) {
            warnings.push(
                "the store keeps bytes whose checksum is wrong: let `sealant backup check --objects` read all".into(),
            );
        }
        if self.locks == Some(false) {
            warnings.push("the store ignores object locks: lock_days protects nothing".into());
        }
        if let Some(ahead) = self.clock_ahead_seconds.filter(|ahead| SignedDuration::from_secs(*ahead).abs() > USUAL) {
            let which = if ahead > 0 { "behind" } else { "ahead of" };
            warnings.push(format!("the clock of this host is {} s {which} the store's", ahead.abs()));
        }
        warnings
    }
}

/// `None` if the permission is missing.
fn unless_denied<T>(result: Result<T, S3Fault>) -> Result<Option<T>, S3Fault> {
    match result {
        Err(S3Fault::Denied { .. } | S3Fault::Unexplained { .. }) => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_observed_again_is_not_forgotten() {
        let earlier =
            Observed { checksums: Some(false), versions: Some(true), locks: Some(false), clock_ahead_seconds: Some(9) };
        let now = Observed { versions: Some(false), ..Observed::default() };
        let both = now.or_earlier(&earlier);
        assert_eq!((both.checksums, both.versions, both.locks), (Some(false), Some(false), Some(false)));
        assert_eq!(both.clock_ahead_seconds, None);
        assert!(both.warnings().iter().any(|warning| warning.contains("lock_days protects nothing")));
        let locked = Observed { locks: Some(true), ..Observed::default() };
        assert_eq!(locked.or_earlier(&earlier).locks, Some(true));
    }
}
