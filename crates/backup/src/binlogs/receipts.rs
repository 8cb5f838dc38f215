//! Reads the receipts of binary logs and verifies their signatures.

use std::collections::BTreeMap;

use archive::{
    Digest,
    binlog::{BinlogReceipt, MAX_BYTES},
    names,
    sshsig::AllowedSigners,
};
use jiff::Timestamp;

use crate::{
    Error, Repository,
    declarations::{DeclaredRemoval, declared},
    parallel,
    repository::read,
};

/// Number of receipts that are read at a time.
pub(super) const RECEIPTS: usize = 64;

/// Receipts of binary logs of a server in a repository: number, and time when it was put.
pub(crate) type StoredReceipts = BTreeMap<u64, Timestamp>;

/// The servers with an archive of binary logs, and their receipts.
pub(crate) fn servers(repository: &Repository, host: &str) -> Result<BTreeMap<String, StoredReceipts>, Error> {
    let mut servers: BTreeMap<String, StoredReceipts> = BTreeMap::new();
    for listed in repository.store().list(&names::binlogs(host))? {
        if let Some((server, number)) = names::binlog_receipt_number(host, listed.name.as_str()) {
            servers.entry(server.to_owned()).or_default().insert(number, listed.modified);
        }
    }
    Ok(servers)
}

/// What prunes have removed of each server's archive.
pub(super) fn pruned(
    repository: &Repository,
    host: &str,
    signers: Option<&AllowedSigners>,
) -> Result<BTreeMap<String, DeclaredRemoval>, Error> {
    let (mut declared, _) = declared(repository, signers)?;
    Ok(declared.remove(host).unwrap_or_default().binlogs)
}

/// Reads receipts and verifies their signatures in parallel, because each request to a distant store takes long.
pub(super) fn judged_receipts(
    repository: &Repository,
    host: &str,
    server: &str,
    numbers: &[u64],
    signers: Option<&AllowedSigners>,
) -> Vec<Result<(BinlogReceipt, Digest), Error>> {
    let read = |number: u64| {
        let object = names::binlog_receipt(host, server, number);
        let bytes = read(repository.store(), &object, MAX_BYTES)?.unwrap_or_default();
        let receipt = judged(repository, (host, server, number), &bytes, signers)?;
        Ok((receipt, Digest::compute(&bytes)))
    };
    parallel::all(numbers, &|number| read(*number))
}

/// Visits receipts in order with their numbers, `None` for one that cannot be trusted.
///
/// # Errors
/// [`Error::Store`].
pub(crate) fn each_receipt(
    repository: &Repository,
    host: &str,
    server: &str,
    numbers: &[u64],
    signers: &AllowedSigners,
    visit: &mut dyn FnMut(u64, Option<(BinlogReceipt, Digest)>),
) -> Result<(), Error> {
    for some in numbers.chunks(RECEIPTS) {
        for (number, found) in some.iter().zip(judged_receipts(repository, host, server, some, Some(signers))) {
            let trusted = match found {
                Err(Error::Object { .. } | Error::Untrusted { .. }) => None,
                found => Some(found?),
            };
            visit(*number, trusted);
        }
    }
    Ok(())
}

/// Number of the newest receipt after `number` that can be trusted; `None` if there is none.
///
/// # Errors
/// [`Error::Store`].
pub(super) fn newest_trusted(
    repository: &Repository,
    (host, server): (&str, &str),
    number: u64,
    signers: &AllowedSigners,
) -> Result<Option<u64>, Error> {
    let listed = repository.store().list(&names::binlog_receipts(host, server))?;
    let numbers = listed.iter().filter_map(|listed| names::binlog_receipt_number(host, listed.name.as_str()));
    let behind: Vec<u64> = numbers.map(|(_, found)| found).filter(|found| *found > number).collect();
    // Anyone may put an object with such a name, but only this host signs it.
    for found in behind.into_iter().rev() {
        match judged_receipts(repository, host, server, &[found], Some(signers)).pop() {
            Some(Ok(_)) => return Ok(Some(found)),
            Some(Err(Error::Object { .. } | Error::Untrusted { .. })) | None => {}
            Some(Err(error)) => return Err(error),
        }
    }
    Ok(None)
}

/// Parses a receipt and verifies its signature.
fn judged(
    repository: &Repository,
    (host, server, number): (&str, &str, u64),
    bytes: &[u8],
    signers: Option<&AllowedSigners>,
) -> Result<BinlogReceipt, Error> {
    let object = names::binlog_receipt(host, server, number);
    let unusable = |source| Error::Object { object: object.clone(), source };
    let receipt = BinlogReceipt::parse(bytes).map_err(unusable)?;
    let names = (&receipt.repo, receipt.host.as_str(), receipt.server.as_str(), receipt.number);
    if names != (&repository.id, host, server, number) {
        let reason = "it was written for another name, host, server or repository".to_owned();
        return Err(Error::Untrusted { object, reason });
    }
    if let Some(signers) = signers {
        repository.judge_object(&names::binlog_signature(host, server, number), host, bytes, signers)?;
    }
    Ok(receipt)
}
