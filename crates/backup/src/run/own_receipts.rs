//! The receipts of this host, among all that have such names: whoever may put objects may have put others.

use std::collections::BTreeSet;

use archive::{
    Digest,
    names::{self, Number},
    receipt::MAX_BYTES,
    sshsig::{AllowedSigners, PublicKey},
};

use crate::{
    Error, Repository,
    repository::{read, receipt_fault},
    state::SavedState,
};

/// Longest gap between two numbers of a host: runs without a receipt leave gaps when a prune removes their objects. A
/// number behind a longer gap is somebody else's; if a host continued from it, one object could use up all numbers.
const LONGEST_GAP: Number = 1000;

/// What a run needs to know of this host's receipts.
pub(super) struct OwnReceipts {
    /// SHA-256 of the newest one.
    pub(super) newest: Option<Digest>,
    /// Number of the next backup, which no object has.
    pub(super) next: Number,
    /// Whether there are receipts, but none of this host.
    pub(super) are_foreign: bool,
}

impl OwnReceipts {
    /// Finds the newest receipt that this host's key has signed, and warns of newer ones. The one that this host
    /// remembers is its own, whatever key has signed it.
    pub(super) fn find(
        repository: &Repository,
        host: &str,
        key: &PublicKey,
        remembered: Option<&SavedState>,
    ) -> Result<Self, Error> {
        let signers = AllowedSigners::only(key, host);
        let (numbers, mut used) = repository.numbers(host)?;
        let keys = repository.store().list(&names::all_keys(host))?;
        used.extend(keys.iter().filter_map(|of| names::keys_number(host, of.name.as_str())));
        let mut newest = None;
        for number in numbers.iter().rev() {
            if let Some(sha256) = own(repository, (host, *number), &signers, remembered)? {
                newest = Some((*number, sha256));
                break;
            }
        }
        Ok(Self {
            newest: newest.map(|(_, sha256)| sha256),
            next: next(newest.map_or(0, |(number, _)| number), &used),
            are_foreign: newest.is_none() && !numbers.is_empty(),
        })
    }
}

/// SHA-256 of a receipt, if it is this host's; otherwise warns of it.
fn own(
    repository: &Repository,
    (host, number): (&str, Number),
    signers: &AllowedSigners,
    remembered: Option<&SavedState>,
) -> Result<Option<Digest>, Error> {
    let error = match repository.judged_receipt(host, number, Some(signers)) {
        Ok(stored) => return Ok(stored.map(|stored| stored.sha256)),
        Err(error) => error,
    };
    let (object, reason) = (names::receipt(host, number), receipt_fault(error, true)?);
    if let Some(remembered) = remembered.filter(|remembered| remembered.receipt.number == number) {
        let bytes = read(repository.store(), &object, MAX_BYTES)?;
        if bytes.is_some_and(|bytes| Digest::compute(&bytes) == remembered.sha256) {
            return Ok(Some(remembered.sha256));
        }
    }
    repository.leave_out(object, reason);
    Ok(None)
}

/// The number after this host's newest receipt, and after those in use behind it.
fn next(newest: Number, used: &BTreeSet<Number>) -> Number {
    let mut highest = newest;
    for number in used.range(newest..) {
        if number.saturating_sub(highest) > LONGEST_GAP {
            break;
        }
        highest = *number;
    }
    highest.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use archive::sshsig::SigningKey;

    use super::*;
    use crate::repository::tests::TestRepository;

    #[test]
    fn only_what_this_host_has_signed_is_continued() {
        let test = TestRepository::new();
        test.put_signed(1, &test.receipt(1));
        let newest = test.put_signed(2, &test.receipt(2));
        test.put(&names::receipt("db1", 3), &test.receipt(3));
        test.put_signed(4, &test.receipt(2));
        for number in [999_999, Number::MAX] {
            test.put(&names::receipt("db1", number), b"of somebody else");
        }
        test.put(&names::keys("db1", 5), b"of somebody else");
        let own = OwnReceipts::find(&test.repository, "db1", test.key.public(), None).unwrap();
        assert_eq!((own.newest, own.next, own.are_foreign), (Some(newest), 6, false));
        let warnings = test.repository.warnings();
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(warnings.iter().any(|warning| warning.contains("000003.json was left out: there is no signature")));

        let other = SigningKey::generate().unwrap();
        let none = OwnReceipts::find(&test.repository, "db1", other.public(), None).unwrap();
        assert_eq!((none.newest, none.next, none.are_foreign), (None, 6, true));
    }

    #[test]
    fn a_number_far_above_the_others_is_only_avoided() {
        let after = |newest, used: &[Number]| next(newest, &used.iter().copied().collect());
        assert_eq!(after(0, &[]), 1);
        assert_eq!(after(2, &[1, 2, 3, 5]), 6, "of runs without a receipt");
        assert_eq!(after(2, &[1, 2, 999_999, Number::MAX]), 3);
        assert_eq!(after(999_998, &[999_998, 999_999, Number::MAX]), 1_000_000);
        assert_eq!(after(0, &[Number::MAX]), 1);
    }
}
