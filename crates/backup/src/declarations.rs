//! Reads the declarations of earlier prunes.

use std::collections::{BTreeMap, BTreeSet};

use archive::{
    Digest,
    names::{self, Number},
    prune::{MAX_BYTES, NAMESPACE, PruneDeclaration, RemovedLogs},
    sshsig::AllowedSigners,
};

use jiff::Timestamp;

use crate::{Error, Repository, repository::read};

/// Declarations by host.
pub(crate) type PruneDeclarations = BTreeMap<String, HostDeclarations>;

/// Declarations for one host.
#[derive(Debug, Default)]
pub(crate) struct HostDeclarations {
    /// The receipts that were removed, each with the one before it.
    pub(crate) removed: BTreeMap<Digest, Option<Digest>>,
    /// The numbers of these receipts.
    pub(crate) numbers: BTreeSet<Number>,
    /// The newest receipts of binary logs that were removed, by server.
    pub(crate) binlogs: BTreeMap<String, DeclaredRemoval>,
    /// Time of the last declaration.
    pub(crate) last: Option<Timestamp>,
}

/// A declared removal of binary log receipts: `removed` and all receipts before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredRemoval {
    /// The newest removed receipt.
    pub(crate) removed: RemovedLogs,
    /// Time of the declaration.
    pub(crate) at: Timestamp,
}

impl DeclaredRemoval {
    /// Whether it removes the receipt with this number.
    pub(crate) fn has(&self, number: Number) -> bool {
        number <= self.removed.number
    }
}

/// Reads all declarations, and verifies their signatures if `signers` are given. Untrusted declarations have no effect;
/// they are returned separately, with the reason.
///
/// # Errors
/// [`Error::Store`] if the repository cannot be read.
pub(crate) fn declared(
    repository: &Repository,
    signers: Option<&AllowedSigners>,
) -> Result<(PruneDeclarations, Vec<(String, String)>), Error> {
    let (mut declared, mut untrusted) = (PruneDeclarations::new(), Vec::new());
    for listed in repository.store().list(names::PRUNES)? {
        let object = listed.name.as_str();
        let Some(signature) = names::prune_signature(object) else { continue };
        match trusted(repository, (object, &signature), signers) {
            Ok(declaration) => {
                for (host, removed) in declaration.hosts {
                    let of_host = declared.entry(host).or_default();
                    of_host.removed.extend(removed.iter().map(|one| (one.sha256, one.previous)));
                    of_host.numbers.extend(removed.iter().map(|one| one.number));
                    of_host.last = of_host.last.max(Some(declaration.at));
                }
                for (host, servers) in declaration.binlogs {
                    let of_host = declared.entry(host).or_default();
                    for (server, removed) in servers {
                        let found = DeclaredRemoval { removed, at: declaration.at };
                        let newest = of_host.binlogs.entry(server).or_insert(found);
                        *newest = if newest.removed.number < removed.number { found } else { *newest };
                    }
                }
            }
            Err(Error::Store(error)) => return Err(error.into()),
            Err(Error::Untrusted { object, reason }) => untrusted.push((object, reason)),
            Err(error) => untrusted.push((object.to_owned(), error.to_string())),
        }
    }
    Ok((declared, untrusted))
}

fn trusted(
    repository: &Repository,
    (object, signature): (&str, &str),
    signers: Option<&AllowedSigners>,
) -> Result<PruneDeclaration, Error> {
    let untrusted = |reason: String| Error::Untrusted { object: object.to_owned(), reason };
    let bytes = read(repository.store(), object, MAX_BYTES)?.ok_or_else(|| untrusted("it is gone".to_owned()))?;
    let declaration = PruneDeclaration::parse(&bytes)?;
    repository.check_id(object, &declaration.repo)?;
    let Some(signers) = signers else { return Ok(declaration) };
    let signer = (declaration.keeper.as_str(), NAMESPACE);
    let signer = repository.signer(signature, signer, &bytes, signers)?;
    signer.map(|_| declaration).map_err(untrusted)
}
