//! The backup that a run builds on, or why there is none.

use std::{collections::BTreeSet, io};

use archive::{
    Digest,
    names::Number,
    receipt::{Pack, Receipt},
    repack::{self, PackUse},
    sshsig::PublicKey,
};
use innodb::keys::KeySource;

use super::{Scope, own_receipts::OwnReceipts};
use crate::{
    Error, Repository,
    state::{Base, SavedState, State},
};

/// Why a backup is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FullReason {
    /// The user asked for it.
    #[error("it was requested")]
    Asked,
    /// The host has no earlier backup.
    #[error("it is the first backup")]
    First,
    /// The host has no earlier backup that it has signed.
    #[error("no receipt in the repository is signed with the key of this host")]
    Foreign,
    /// This host has no state.
    #[error("this host has no state of the last backup, so the changed pages are not known")]
    NoState,
    /// The state does not belong to the newest backup.
    #[error("the state of this host does not belong to the newest backup in the repository")]
    OtherState,
    /// Packs that the last backup needs are missing or truncated.
    #[error("packs of the last backup are missing or damaged in the repository")]
    LostPacks,
    /// The packs of the last backup are encrypted to other recipients.
    #[error("the recipients have changed, and the identity of a new one does not open what is stored")]
    OtherRecipients,
}

/// State of the repository before this backup.
pub(super) struct Predecessor {
    pub(super) number: Number,
    pub(super) previous: Option<Digest>,
    pub(super) base: Option<Base>,
    pub(super) full: Option<FullReason>,
    /// Packs of the last backup that are to be stored again.
    pub(super) repacked: Repacked,
}

/// Packs of which the last backup needs little, and which the run does not use any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repacked {
    /// Number of packs.
    pub packs: u64,
    /// Bytes of files in them that are stored again.
    pub bytes: u64,
}

impl Predecessor {
    /// `key`: the one that signs this host's receipts; `recipients`: fingerprints of those to whom the next backup is
    /// encrypted; `keys`: those of the server.
    pub(super) fn find(
        repository: &Repository,
        host: &str,
        key: &PublicKey,
        state: &State,
        scope: &Scope,
        recipients: &BTreeSet<String>,
        keys: &dyn KeySource,
    ) -> Result<Self, Error> {
        let newest = state.newest()?;
        let earlier: Option<BTreeSet<_>> =
            newest.as_ref().map(|newest| newest.receipt.recipients.iter().cloned().collect());
        let found = match repository.may_read() {
            true => Self::in_repository(repository, (host, key), newest, scope, keys)?,
            false => Self::remembered(state, newest, scope, keys)?,
        };
        let found = if earlier.is_none_or(|earlier| earlier == *recipients) { found } else { found.not_incremental() };
        found.without_sparse_packs()
    }

    /// Does not build on a backup for other recipients.
    fn not_incremental(self) -> Self {
        if self.base.is_none() {
            return self;
        }
        Self { base: None, full: Some(FullReason::OtherRecipients), ..self }
    }

    /// Drops the packs of which little is needed, so that what is needed of them counts as changed.
    fn without_sparse_packs(mut self) -> Result<Self, Error> {
        let Some(base) = self.base.take() else { return Ok(self) };
        let (sparse, repacked) = sparse(&base).map_err(Error::Lists)?;
        Ok(Self { base: Some(base.only_with(|pack| !sparse.contains(pack))), repacked, ..self })
    }

    fn in_repository(
        repository: &Repository,
        (host, key): (&str, &PublicKey),
        newest: Option<SavedState>,
        scope: &Scope,
        keys: &dyn KeySource,
    ) -> Result<Self, Error> {
        let own = OwnReceipts::find(repository, host, key, newest.as_ref())?;
        let previous = own.newest;
        let (base, full) = match (previous, newest) {
            (None, _) if own.are_foreign => (None, Some(FullReason::Foreign)),
            (None, _) => (None, Some(FullReason::First)),
            _ if *scope == Scope::All => (None, Some(FullReason::Asked)),
            (Some(_), None) => (None, Some(FullReason::NoState)),
            (Some(previous), Some(remembered)) if remembered.sha256 != previous => (None, Some(FullReason::OtherState)),
            (Some(_), Some(remembered)) => match remembered.base(keys)? {
                None => (None, Some(FullReason::NoState)),
                Some(_) if !has_packs(repository, &remembered.receipt, scope)? => (None, Some(FullReason::LostPacks)),
                Some(base) => (Some(base.only_with(|pack| scope.uses(pack))), None),
            },
        };
        Ok(Self { number: own.next, previous, base, full, repacked: Repacked::default() })
    }

    /// Number of the backup that the next one builds on.
    pub(super) fn base_number(&self) -> Option<Number> {
        self.base.as_ref().map(|base| base.manifest.head.number)
    }

    /// Like [`Self::find`], from the host's own state, since it may not read the repository. Only a check can find lost
    /// packs.
    fn remembered(
        state: &State,
        remembered: Option<SavedState>,
        scope: &Scope,
        keys: &dyn KeySource,
    ) -> Result<Self, Error> {
        let highest = remembered.as_ref().map_or(0, |remembered| remembered.receipt.number).max(state.reserved()?);
        // `finish_earlier` found this run too old to complete, so its receipt was never stored.
        let unfinished = remembered.as_ref().filter(|remembered| !state.is_committed(remembered.receipt.number));
        if let Some(unfinished) = unfinished {
            let previous = unfinished.receipt.previous;
            return Ok(Self {
                number: highest.saturating_add(1),
                previous,
                base: None,
                full: Some(FullReason::NoState),
                repacked: Repacked::default(),
            });
        }
        let previous = remembered.as_ref().map(|remembered| remembered.sha256);
        let (base, full) = match remembered.map(|remembered| remembered.base(keys)).transpose()? {
            None => (None, Some(FullReason::First)),
            Some(_) if *scope == Scope::All => (None, Some(FullReason::Asked)),
            Some(None) => (None, Some(FullReason::NoState)),
            Some(Some(base)) => (Some(base.only_with(|pack| scope.uses(pack))), None),
        };
        Ok(Self { number: highest.saturating_add(1), previous, base, full, repacked: Repacked::default() })
    }
}

/// The packs that are to be stored again.
fn sparse(base: &Base) -> io::Result<(BTreeSet<Digest>, Repacked)> {
    let mut uses = repack::uses(&base.manifest)?;
    let unused = uses.iter_mut().zip(&base.uses_pack).filter(|(_, is_used)| !**is_used);
    unused.for_each(|(of, _)| *of = PackUse::default());
    let (mut sparse, mut repacked) = (BTreeSet::new(), Repacked::default());
    for index in repack::sparse(&uses) {
        let (Some(pack), Some(used)) = (base.manifest.packs.get(index), uses.get(index)) else { continue };
        sparse.insert(pack.sha256);
        repacked.packs = repacked.packs.saturating_add(1);
        repacked.bytes = repacked.bytes.saturating_add(used.live_bytes);
    }
    Ok((sparse, repacked))
}

/// Refuses a state that is older than the repository, if this host may not read the newer backups: packs of the state's
/// last backup may be gone, and the repository may have another receipt with its number.
pub(super) fn check_state(repository: &Repository, host: &str, state: &State) -> Result<(), Error> {
    match state.overtaken()? {
        Some(number) if !repository.may_read() => {
            Err(Error::OldBackupState { location: repository.store().location(), host: host.to_owned(), number })
        }
        _ => Ok(()),
    }
}

/// Whether all packs of a backup that may be reused exist with the right length.
fn has_packs(repository: &Repository, receipt: &Receipt, scope: &Scope) -> Result<bool, Error> {
    let lengths = repository.lengths(&receipt.host)?;
    let has = |pack: &Pack| lengths.get(&archive::names::pack(&receipt.host, &pack.sha256)) == Some(&pack.bytes);
    Ok(receipt.packs.iter().filter(|pack| scope.uses(&pack.sha256)).all(has))
}
