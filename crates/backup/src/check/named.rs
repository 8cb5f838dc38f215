//! The objects that the receipts of a host name, for its backups and its archives of binary logs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use archive::{
    Receipt,
    chain::{self, ChainBreak, Link},
    names::{self, Number},
    prune::is_signature_left,
    receipt::Object,
    sshsig::{AllowedSigners, PublicKey},
};

use super::BadObject;
use crate::{
    Error, Repository,
    binlogs::{Archive, StoredPart},
    declarations::{DeclaredRemoval, HostDeclarations, declared},
    repository::StoredReceipt,
    windows::ArchivedLogs,
};

/// The receipts of a host, and the objects that they name.
pub(super) struct Named {
    /// Receipts of backups that can be used, oldest first.
    pub(super) links: Vec<Link>,
    /// Number of receipts, good and bad.
    pub(super) receipts: u64,
    /// The objects to check.
    pub(super) objects: BTreeMap<String, Object>,
    /// Numbers of the backups that need one of the objects in question.
    pub(super) incomplete: BTreeSet<Number>,
    /// Breaks of the chain of receipts.
    pub(super) breaks: Vec<ChainBreak>,
    /// Receipts, signatures and declarations that are wrong.
    pub(super) bad: Vec<BadObject>,
    /// The key that has signed the newest of these receipts, if signatures were verified.
    pub(super) signer: Option<PublicKey>,
    archives: Vec<Archive>,
    /// What prunes have removed of each archive.
    pruned: BTreeMap<String, DeclaredRemoval>,
    /// Numbers of the backups that prunes have removed.
    removed: BTreeSet<Number>,
}

impl Named {
    /// Reads and verifies every receipt of a host; the objects are those of all backups and binary logs, or those of
    /// `only` one backup. Gaps that archives of binary logs declare are not findings. Backups that need one of the objects
    /// `in_question` are noted.
    pub(super) fn read(
        repository: &Repository,
        host: &str,
        only: Option<Number>,
        signers: Option<&AllowedSigners>,
        in_question: &[BadObject],
    ) -> Result<Self, Error> {
        let in_question: BTreeSet<&str> = in_question.iter().map(|bad| bad.object.as_str()).collect();
        // All backups of a host name mostly the same packs.
        let (mut packs, mut objects, mut incomplete) = (HashMap::new(), BTreeMap::new(), BTreeSet::new());
        let Links { links, receipts, mut bad, signer } = links(repository, host, signers, &mut |receipt| {
            if only.is_none_or(|only| receipt.number == only) {
                packs.extend(receipt.packs.iter().map(|pack| (pack.sha256, pack.bytes)));
                objects.extend(receipt.own_objects());
            }
            if !in_question.is_empty() && receipt.objects().any(|(object, _)| in_question.contains(object.as_str())) {
                incomplete.insert(receipt.number);
            }
        })?;
        let pack = |(sha256, bytes)| (names::pack(host, &sha256), Object { sha256, bytes });
        objects.extend(packs.into_iter().map(pack));
        let (mut declared, untrusted) = declared(repository, signers)?;
        bad.extend(untrusted.into_iter().map(|(object, what)| BadObject { object, what }));
        let HostDeclarations { removed, numbers, binlogs: pruned, .. } = declared.remove(host).unwrap_or_default();
        let breaks = chain::breaks(&repository.id, host, &links, &removed);
        let archives = if only.is_none() { Archive::read_all(repository, host, signers)? } else { Vec::new() };
        let of_archives = archives.iter().flat_map(|archive| archive.breaks.iter().cloned());
        bad.extend(of_archives.map(|(object, what)| BadObject { object, what }));
        objects.extend(archives.iter().flat_map(Archive::parts).map(|part| (part.object, part.segment.object)));
        Ok(Self { links, receipts, objects, incomplete, breaks, bad, signer, archives, pruned, removed: numbers })
    }

    /// Whether no receipt is wrong.
    pub(super) const fn is_sound(&self) -> bool {
        self.bad.is_empty() && self.breaks.is_empty()
    }

    /// What is archived of binary logs; `None` if nothing is, or only one backup is checked.
    pub(super) fn logs(&self) -> Option<ArchivedLogs> {
        ArchivedLogs::new(&self.archives)
    }

    /// The parts of binary logs, by name.
    pub(super) fn parts(&self) -> BTreeMap<String, StoredPart<'_>> {
        self.archives.iter().flat_map(Archive::parts).map(|part| (part.object.clone(), part)).collect()
    }

    /// The objects of `others` that are not expected. `others`: objects of a listing that no receipt names.
    pub(super) fn unnamed(&self, host: &str, others: Vec<String>) -> Vec<String> {
        let of_binlogs: BTreeSet<String> = self.archives.iter().flat_map(Archive::names).collect();
        let of_receipt = |object: &str| names::receipt_number(host, object);
        let receipts: BTreeSet<Number> = others
            .iter()
            .filter_map(|object| of_receipt(object).filter(|(_, is_receipt)| *is_receipt))
            .map(|(number, _)| number)
            .collect();
        let is_expected = |object: &String| match of_receipt(object) {
            Some((number, is_receipt)) => receipts.contains(&number) || !is_receipt && self.removed.contains(&number),
            None => of_binlogs.contains(object) || self.is_left_signature(host, object),
        };
        let mut unnamed: Vec<String> = others.into_iter().filter(|object| !is_expected(object)).collect();
        unnamed.sort_unstable();
        unnamed
    }

    /// Whether an object is a signature that a prune has left.
    fn is_left_signature(&self, host: &str, object: &str) -> bool {
        names::binlog_signature_number(host, object).is_some_and(|(server, number)| {
            let is_pruned = self.pruned.get(server).is_some_and(|pruned| pruned.has(number));
            is_pruned && is_signature_left(number)
        })
    }
}

/// The receipts of a host.
#[derive(Default)]
struct Links {
    links: Vec<Link>,
    receipts: u64,
    bad: Vec<BadObject>,
    signer: Option<PublicKey>,
}

/// Reads and verifies every receipt, and calls `visit` with each that can be used. Wrong ones are bad objects, and left
/// out of the links, but counted.
fn links(
    repository: &Repository,
    host: &str,
    signers: Option<&AllowedSigners>,
    visit: &mut dyn FnMut(&Receipt),
) -> Result<Links, Error> {
    let mut found = Links::default();
    for number in repository.numbers(host)?.0 {
        found.receipts = found.receipts.saturating_add(1);
        let (object, what) = match judged(repository, host, number, signers) {
            Ok(stored) => {
                if let Some((stored, signer)) = stored {
                    visit(&stored.receipt);
                    found.links.push(stored.link());
                    found.signer = signer;
                }
                continue;
            }
            Err(Error::Object { object, source }) => (object, source.to_string()),
            Err(Error::Untrusted { object, reason }) => (object, reason),
            Err(error) => return Err(error),
        };
        found.bad.push(BadObject { object, what });
    }
    Ok(found)
}

/// Reads and verifies a receipt; `None` if it was removed. Also returns its signer, if signatures are verified.
fn judged(
    repository: &Repository,
    host: &str,
    number: Number,
    signers: Option<&AllowedSigners>,
) -> Result<Option<(StoredReceipt, Option<PublicKey>)>, Error> {
    let Some(stored) = repository.receipt(host, number)? else { return Ok(None) };
    let Some(signers) = signers else { return Ok(Some((stored, None))) };
    match repository.judge(host, number, &stored.bytes, signers) {
        // A prune removes a receipt before its signature.
        Err(Error::Untrusted { .. }) if repository.receipt(host, number)?.is_none() => Ok(None),
        judged => judged.map(|signer| Some((stored, Some(signer)))),
    }
}
