//! The objects that the receipts of a host name, for its backups and its archives of binary logs.

use std::collections::{BTreeMap, BTreeSet};

use archive::{
    chain::{self, ChainBreak, Link},
    names::{self, Number},
    prune::is_signature_left,
    receipt::Object,
    sshsig::AllowedSigners,
};

use super::BadObject;
use crate::{
    Error, Repository,
    binlogs::{Archive, StoredPart},
    declarations::{DeclaredRemoval, HostDeclarations, declared},
};

/// The receipts of a host, and the objects that they name.
pub(super) struct Named {
    /// Receipts of backups that can be used, oldest first.
    pub(super) links: Vec<Link>,
    /// Number of receipts, good and bad.
    pub(super) receipts: u64,
    /// The objects to check.
    pub(super) objects: BTreeMap<String, Object>,
    /// Breaks of the chain of receipts.
    pub(super) breaks: Vec<ChainBreak>,
    /// Receipts, signatures and declarations that are wrong.
    pub(super) bad: Vec<BadObject>,
    archives: Vec<Archive>,
    /// What prunes have removed of each archive.
    pruned: BTreeMap<String, DeclaredRemoval>,
    /// Numbers of the backups that prunes have removed.
    removed: BTreeSet<Number>,
}

impl Named {
    /// Reads and verifies every receipt of a host; the objects are those of all backups and binary logs, or those of
    /// `only` one backup. Gaps that archives of binary logs declare are not findings.
    pub(super) fn read(
        repository: &Repository,
        host: &str,
        only: Option<Number>,
        signers: Option<&AllowedSigners>,
    ) -> Result<Self, Error> {
        let (links, receipts, mut bad) = links(repository, host, signers)?;
        let (mut declared, untrusted) = declared(repository, signers)?;
        bad.extend(untrusted.into_iter().map(|(object, what)| BadObject { object, what }));
        let HostDeclarations { removed, numbers, binlogs: pruned, .. } = declared.remove(host).unwrap_or_default();
        let breaks = chain::breaks(&repository.id, host, &links, &removed);
        let archives = if only.is_none() { Archive::read_all(repository, host, signers)? } else { Vec::new() };
        let of_archives = archives.iter().flat_map(|archive| archive.breaks.iter().cloned());
        bad.extend(of_archives.map(|(object, what)| BadObject { object, what }));
        let chosen = links.iter().filter(|link| only.is_none_or(|only| link.receipt.number == only));
        let mut objects: BTreeMap<String, Object> = chosen.flat_map(|link| link.receipt.objects()).collect();
        objects.extend(archives.iter().flat_map(Archive::parts).map(|part| (part.object, part.segment.object)));
        Ok(Self { links, receipts, objects, breaks, bad, archives, pruned, removed: numbers })
    }

    /// Whether no receipt is wrong.
    pub(super) const fn is_sound(&self) -> bool {
        self.bad.is_empty() && self.breaks.is_empty()
    }

    /// The parts of binary logs, by name.
    pub(super) fn parts(&self) -> BTreeMap<String, StoredPart<'_>> {
        self.archives.iter().flat_map(Archive::parts).map(|part| (part.object.clone(), part)).collect()
    }

    /// The objects of a listing that no receipt names, except receipts and their signatures.
    pub(super) fn unnamed(&self, host: &str, listed: impl Iterator<Item = String>) -> Vec<String> {
        let of_binlogs: BTreeSet<String> = self.archives.iter().flat_map(Archive::names).collect();
        let listed: Vec<String> = listed.collect();
        let of_receipt = |object: &str| names::receipt_number(host, object);
        let receipts: BTreeSet<Number> = listed
            .iter()
            .filter_map(|object| of_receipt(object).filter(|(_, is_receipt)| *is_receipt))
            .map(|(number, _)| number)
            .collect();
        let is_expected = |object: &String| match of_receipt(object) {
            Some((number, is_receipt)) => receipts.contains(&number) || !is_receipt && self.removed.contains(&number),
            None => {
                self.objects.contains_key(object) || of_binlogs.contains(object) || self.is_left_signature(host, object)
            }
        };
        listed.into_iter().filter(|object| !is_expected(object)).collect()
    }

    /// Whether an object is a signature that a prune has left.
    fn is_left_signature(&self, host: &str, object: &str) -> bool {
        names::binlog_signature_number(host, object).is_some_and(|(server, number)| {
            let is_pruned = self.pruned.get(server).is_some_and(|pruned| number <= pruned.removed.number);
            is_pruned && is_signature_left(number)
        })
    }
}

/// Reads and verifies every receipt. Wrong ones are bad objects, and left out of the links. Also returns their number.
fn links(
    repository: &Repository,
    host: &str,
    signers: Option<&AllowedSigners>,
) -> Result<(Vec<Link>, u64, Vec<BadObject>), Error> {
    let (mut links, mut count, mut bad) = (Vec::new(), 0_u64, Vec::new());
    for number in repository.numbers(host)?.0 {
        count = count.saturating_add(1);
        let (object, what) = match judged(repository, host, number, signers) {
            Ok(link) => {
                links.extend(link);
                continue;
            }
            Err(Error::Object { object, source }) => (object, source.to_string()),
            Err(Error::Untrusted { object, reason }) => (object, reason),
            Err(error) => return Err(error),
        };
        bad.push(BadObject { object, what });
    }
    Ok((links, count, bad))
}

/// Reads and verifies a receipt; `None` if it was removed.
fn judged(
    repository: &Repository,
    host: &str,
    number: Number,
    signers: Option<&AllowedSigners>,
) -> Result<Option<Link>, Error> {
    let Some((link, bytes)) = repository.receipt(host, number)? else { return Ok(None) };
    let Some(signers) = signers else { return Ok(Some(link)) };
    match repository.judge(host, number, &bytes, signers) {
        // A prune removes a receipt before its signature.
        Err(Error::Untrusted { .. }) if repository.receipt(host, number)?.is_none() => Ok(None),
        judged => judged.map(|()| Some(link)),
    }
}
