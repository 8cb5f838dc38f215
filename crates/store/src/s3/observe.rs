//! What a store does, which is not always what it says.

use std::io::Cursor;

use data_encoding::HEXLOWER;
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use serde::{Deserialize, Serialize};

use super::{S3, S3Fault, client::Upload, sum_of};
use crate::{Error, Name, Put, Store};

/// What was observed of a store. `None`: it could not be observed, for lack of a permission or because it was not needed.
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
    /// Observes the store by the object `existing`, which was put as `put`, and by one of the name `absent`, which a
    /// careful store refuses. What cannot be observed for another reason than a missing permission is also returned.
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
        let is_locked = locked_until.is_some_and(|end: Timestamp| end > Timestamp::now());
        Ok(Observed {
            checksums: None,
            versions: Some(reply.header("x-amz-version-id").is_some_and(|version| version != "null")),
            // The lock of an older object may have ended, or none was asked for.
            locks: self.lock.map(|_| is_locked).filter(|is_locked| *is_locked || put == Put::New),
            clock_ahead_seconds: ahead,
        })
    }

    /// Puts bytes with the checksum of others. What a careless store keeps of them is removed, if this user may do that.
    fn refuses_wrong_checksum(&self, name: &Name) -> Result<bool, S3Fault> {
        let unreadable = |error: std::io::Error| S3Fault::Answer(error.to_string());
        let (mut body, mut other) = (Cursor::new(b"probe".as_slice()), Cursor::new(b"other".as_slice()));
        let (sum, bytes) = sum_of(&mut body).map_err(unreadable)?;
        let (wrong, _) = sum_of(&mut other).map_err(unreadable)?;
        let without_lock = Self { lock: None, ..self.clone() };
        let upload = Upload { body: &mut body, bytes, sha256: HEXLOWER.encode(&sum) };
        match without_lock.put(name, upload, &wrong) {
            Ok(_) => {}
            Err(S3Fault::Garbled | S3Fault::Refused { status: 400, .. }) => {
                // Whoever may not look can only believe it.
                let is_there = self.head(name).ok().flatten().is_some();
                if !is_there {
                    return Ok(true);
                }
            }
            Err(fault) => return Err(fault),
        }
        // Whether it can be removed does not matter to the verdict.
        let _ = self.delete(name);
        Ok(false)
    }
}

impl Observed {
    /// What a user has to know: what the store does not do, and a clock that differs.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        /// By how much clocks usually differ, with the precision of the answer.
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
        Err(S3Fault::Denied { .. }) => Ok(None),
        result => result.map(Some),
    }
}
