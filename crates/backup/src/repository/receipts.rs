//! Receipts of a repository: their numbers, their signatures, and how they are put.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Cursor,
};

use archive::{
    Digest, Error as ArchiveError, Receipt,
    chain::Link,
    names::{self, Number},
    receipt::{self, NAMESPACE, Object},
    sshsig::{AllowedSigners, MAX_SIGNATURE_BYTES, PublicKey, Signature},
};
use store::Put;

use super::{
    Repository,
    objects::{name, read},
};
use crate::Error;

/// A receipt in a repository.
#[derive(Debug)]
pub struct StoredReceipt {
    /// SHA-256 of the stored bytes.
    pub sha256: Digest,
    /// The receipt, parsed from these bytes.
    pub receipt: Receipt,
    /// The stored bytes, for which the signature was made.
    pub bytes: Vec<u8>,
}

impl StoredReceipt {
    /// The receipt without its list of packs.
    #[must_use]
    pub fn link(&self) -> Link {
        Link { sha256: self.sha256, receipt: self.receipt.summary() }
    }
}

impl Repository {
    /// Numbers of a host's receipts, in order, and all numbers in use.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn numbers(&self, host: &str) -> Result<(Vec<Number>, BTreeSet<Number>), Error> {
        let listed = self.store.list(&names::receipts(host))?;
        let found: Vec<_> = listed.iter().filter_map(|of| names::receipt_number(host, of.name.as_str())).collect();
        // An interrupted run may have left a manifest without a receipt.
        let manifests = self.store.list(&names::manifests(host))?;
        let manifests = manifests.iter().filter_map(|of| names::manifest_number(host, of.name.as_str()));
        let used = found.iter().map(|(number, _)| *number).chain(manifests).collect();
        let numbers: BTreeMap<_, _> = found.into_iter().filter(|(_, is_receipt)| *is_receipt).collect();
        Ok((numbers.into_keys().collect(), used))
    }

    /// A receipt; `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error::Object`], [`Error::Store`].
    pub fn receipt(&self, host: &str, number: Number) -> Result<Option<StoredReceipt>, Error> {
        self.judged_receipt(host, number, None)
    }

    /// A receipt; `None` if it does not exist. If `signers` are given, one of them must have signed it; only then is it
    /// parsed.
    ///
    /// # Errors
    /// [`Error::Untrusted`], [`Error::Object`], [`Error::Store`]; [`receipt_fault`] distinguishes them.
    pub(crate) fn judged_receipt(
        &self,
        host: &str,
        number: Number,
        signers: Option<&AllowedSigners>,
    ) -> Result<Option<StoredReceipt>, Error> {
        let object = names::receipt(host, number);
        let Some(bytes) = read(&*self.store, &object, receipt::MAX_BYTES)? else { return Ok(None) };
        if let Some(signers) = signers {
            self.judge(host, number, &bytes, signers)?;
        }
        let unusable = |source| Error::Object { object: object.clone(), source };
        let receipt = Receipt::parse(&bytes).map_err(unusable)?;
        if (receipt.repo.as_str(), receipt.host.as_str(), receipt.number) != (self.id.as_str(), host, number) {
            let reason = "it was written for another name, host or repository".to_owned();
            return Err(Error::Untrusted { object, reason });
        }
        Ok(Some(StoredReceipt { sha256: Digest::compute(&bytes), receipt, bytes }))
    }

    /// Verifies that the receipt is signed by an allowed signer of the host. Returns the signer's key.
    ///
    /// # Errors
    /// [`Error::Untrusted`].
    pub fn judge(
        &self,
        host: &str,
        number: Number,
        receipt: &[u8],
        signers: &AllowedSigners,
    ) -> Result<PublicKey, Error> {
        self.judge_object(&names::signature(host, number), host, receipt, signers)
    }

    /// Like [`Self::judge`], for any receipt of the host; `object` is the name of the signature.
    pub(crate) fn judge_object(
        &self,
        object: &str,
        host: &str,
        receipt: &[u8],
        signers: &AllowedSigners,
    ) -> Result<PublicKey, Error> {
        let signer = self.signer(object, (host, NAMESPACE), receipt, signers)?;
        signer.map_err(|reason| Error::Untrusted { object: object.to_owned(), reason })
    }

    /// Returns the key that has signed a document, or what is wrong with the signature: the object `signature`, by
    /// `principal` for `namespace`.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(crate) fn signer(
        &self,
        signature: &str,
        (principal, namespace): (&str, &str),
        document: &[u8],
        signers: &AllowedSigners,
    ) -> Result<Result<PublicKey, String>, Error> {
        let Some(text) = read(&*self.store, signature, MAX_SIGNATURE_BYTES as u64)? else {
            return Ok(Err("there is no signature".to_owned()));
        };
        Ok(Signature::parse(&text).map_err(|fault| fault.to_string()).and_then(|signature| {
            let key = signature.verify(namespace, document).map_err(|fault| fault.to_string())?;
            signers.allow(key, principal, namespace).map_err(|fault| fault.to_string())?;
            Ok(*key)
        }))
    }
}

/// What is wrong with a receipt that could not be used. Whoever may put objects may have put it, so it is no reason to
/// stop. `is_signed`: whether signatures were verified; a signed receipt that cannot be parsed is of a newer release.
///
/// # Errors
/// `error` if it is not the fault of the receipt.
pub(crate) fn receipt_fault(error: Error, is_signed: bool) -> Result<String, Error> {
    match error {
        Error::Untrusted { reason, .. } => Ok(reason),
        Error::Object { source, .. } if !is_signed && !matches!(source, ArchiveError::Io(_)) => Ok(source.to_string()),
        error => Err(error),
    }
}

/// Whether an earlier attempt may have put the same receipt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    First,
    Again,
}

/// Writes a signature, then its receipt. Returns `false` if other objects have these names.
pub(crate) fn put_signed(
    repository: &Repository,
    [signature_name, receipt_name]: &[String; 2],
    signature: &[u8],
    receipt: &[u8],
    attempt: Attempt,
) -> Result<bool, Error> {
    for (object, bytes) in [(signature_name, signature), (receipt_name, receipt)] {
        let expected = Object { sha256: Digest::compute(bytes), bytes: bytes.len() as u64 };
        let put = repository.store().put_new(&name(object)?, &mut Cursor::new(bytes), expected.bytes)?;
        let is_ours = match put {
            Put::New => true,
            Put::Exists if attempt == Attempt::First && !repository.may_read() => false,
            Put::Exists | Put::Unclear => repository.is_ours(object, expected)?,
        };
        if !is_ours {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::tests::TestRepository;

    #[test]
    fn what_anyone_may_have_put_is_a_fault_of_the_receipt() {
        let test = TestRepository::new();
        let signers = AllowedSigners::only(test.key.public(), "db1");
        test.put_signed(1, &test.receipt(1));
        let newer = String::from_utf8(test.receipt(2)).unwrap().replace("receipt/1", "receipt/2");
        test.put_signed(2, newer.as_bytes());
        test.put(&names::receipt("db1", 3), newer.as_bytes());
        let judged =
            |number: Number, signers: Option<&AllowedSigners>| test.repository.judged_receipt("db1", number, signers);
        assert!(judged(1, Some(&signers)).unwrap().is_some() && judged(4, Some(&signers)).unwrap().is_none());
        let fault = |number: Number, signers: Option<&AllowedSigners>| {
            receipt_fault(judged(number, signers).unwrap_err(), signers.is_some())
        };
        assert!(matches!(fault(2, Some(&signers)), Err(Error::Object { .. })), "signed, and of a newer release");
        assert_eq!(fault(3, Some(&signers)).unwrap(), "there is no signature");
        assert!(fault(3, None).unwrap().contains("use a newer release"));
    }
}
