//! Commits a run: manifest, signature, receipt.

use std::{
    fs,
    io::{self, Cursor, Seek, SeekFrom},
};

use agefile::Encryptor;
use archive::{
    Digest, HashingStream, List, Manifest, Receipt, Run as FileRun,
    list::{ListWriter, Place},
    manifest::{self, ExcludedFile, Head, StoredFile},
    names::{self, Number},
    prune::{MAX_RUN_HOURS, is_run_too_old},
    receipt::{self, Bytes, Kind, NAMESPACE, Object, Pack, fingerprint},
    sshsig::{self, PublicKey, SigningKey},
};
use jiff::Timestamp;
use store::{Body, Put};
use transfer::plan::Plan;
use verify::Keys;

use super::{
    Phases, RunProgress, Source,
    contents::Contents,
    files::Files,
    own_receipts::OwnReceipts,
    packs::{Packs, StoredPacks},
    page_proofs::PageProofs,
};
use crate::{
    Config, Error, Repository,
    file_keys::{self, FileKeys},
    key_check::key_check,
    repository::{Attempt, name, put_signed},
    selection,
    state::{Draft, State, TEMPORARY_MANIFEST},
};

/// Compression level of manifests.
const MANIFEST_LEVEL: i32 = 3;

/// Facts about the backup that is committed.
pub(super) struct Commit<'c> {
    pub(super) repository: &'c Repository,
    pub(super) config: &'c Config,
    pub(super) source: &'c Source,
    pub(super) key: &'c SigningKey,
    pub(super) keys: &'c Keys,
    pub(super) began: Timestamp,
    /// Start of the first run whose packs the backup may use.
    pub(super) oldest: Timestamp,
    pub(super) number: Number,
    pub(super) previous: Option<Digest>,
    pub(super) full: bool,
    pub(super) phases: Phases,
}

/// Results that go into the receipt.
pub(super) struct Summary<'p> {
    pub(super) proofs: PageProofs,
    pub(super) left_out: Vec<ExcludedFile>,
    pub(super) unproven_recipients: Vec<String>,
    pub(super) progress: &'p RunProgress,
}

/// A backup whose receipt is stored.
pub(super) struct Committed {
    pub(super) receipt: Receipt,
    /// SHA-256 of the receipt.
    pub(super) sha256: Digest,
    /// Why the state of this host does not record that; the backup is complete nevertheless.
    pub(super) state_fault: Option<Error>,
}

impl Commit<'_> {
    /// Writes manifest, signature and receipt. The receipt commits the backup.
    pub(super) fn commit(
        &self,
        state: &State,
        draft: Draft,
        files: &Files,
        packs: Packs<'_>,
        plan: &Plan,
        summary: Summary<'_>,
    ) -> Result<Committed, Error> {
        if is_run_too_old(self.oldest, Timestamp::now()) {
            return Err(Error::TooLong { hours: MAX_RUN_HOURS });
        }
        // Another run must not reuse the number, even if this run ends before its receipt.
        state.reserve(self.number)?;
        let (stored, contents) = packs.into_stored();
        contents.sync().map_err(Error::Lists)?;
        let lists = ListWriter::new(Place::File(state.scratch()?));
        let (manifest, used) = self.manifest((files, plan), stored, &contents, lists, &summary.left_out)?;
        let object = self.noted(state, self.put_manifest(&draft, &manifest))?;
        let keys = files.keys.as_ref().map(|keys| self.put_keys(keys)).transpose();
        let keys = self.noted(state, keys)?;
        let states = files.states(&summary.proofs.sound);
        let receipt = self.receipt(&manifest, (object, keys), used, summary)?;
        let bytes = receipt.encode()?;
        let signature = sshsig::sign(self.key, NAMESPACE, &bytes);
        draft.finish(&manifest, &states, (&bytes, signature.as_bytes()), self.oldest)?;
        let put = put(self.repository, &self.config.host, self.number, &bytes, signature.as_bytes(), Attempt::First);
        self.noted(state, put)?;
        let state_fault = self.record(state).err();
        Ok(Committed { receipt, sha256: Digest::compute(&bytes), state_fault })
    }

    /// Records in the state that the receipt is stored. If this fails, the next run does it.
    fn record(&self, state: &State) -> Result<(), Error> {
        state.mark_committed(self.number)?;
        if self.repository.may_read() {
            state.mark_newest()?;
        }
        state.forget_others(self.number)
    }

    /// Returns `put`. If it failed because a backup that this host does not know uses the number, records that. A host
    /// that may not read the repository cannot find the newest backup, so it must not continue with a free number.
    fn noted<T>(&self, state: &State, put: Result<T, Error>) -> Result<T, Error> {
        if matches!(put, Err(Error::OtherMachine { .. })) && !self.repository.may_read() {
            state.mark_overtaken(self.number)?;
        }
        put
    }

    fn manifest(
        &self,
        (files, plan): (&Files, &Plan),
        stored: StoredPacks,
        contents: &Contents,
        runs: ListWriter<FileRun>,
        left_out: &[ExcludedFile],
    ) -> Result<(Manifest, Vec<Pack>), Error> {
        let UsedPacks { objects: packs, used, numbers } =
            UsedPacks::find((files, plan), &stored, contents).map_err(Error::Lists)?;
        // Those that are not needed would take memory.
        let StoredPacks { keys, packs: all, .. } = stored;
        drop(all);
        let stored = stored_files((files, plan), contents, runs, &numbers).map_err(Error::Lists)?;
        let root = manifest::Root {
            mode: plan.root_attributes.mode,
            uid: plan.root_attributes.uid,
            gid: plan.root_attributes.gid,
        };
        let head = Head {
            schema: manifest::SCHEMA.to_owned(),
            repo: self.repository.id.clone(),
            host: self.config.host.clone(),
            number: self.number,
            instant: self.source.instant,
            provider: self.source.provider.clone(),
            server_uuid: selection::server_uuid(self.source.guard.root()),
            checkpoint_lsn: files.checkpoint_lsn,
            position: self.source.position.clone(),
            parent: self.previous,
            root,
            entries: stored.len() as u64,
            left_out: left_out.to_vec(),
        };
        let keys = keys.into_iter().filter_map(|(id, version)| key_check(self.keys, id, version)).collect();
        Ok((Manifest { head, files: stored, packs, keys }, used))
    }

    fn put_manifest(&self, draft: &Draft, manifest: &Manifest) -> Result<Object, Error> {
        let (path, file) = draft.temporary_file(TEMPORARY_MANIFEST)?;
        let failed = |source| Error::Io { path: path.clone(), doing: "cannot be written", source };
        let age = Encryptor::new(HashingStream::new(file), &self.config.recipients).map_err(archive::Error::Age)?;
        let mut out = zstd::Encoder::new(age, MANIFEST_LEVEL).map_err(failed)?;
        manifest.write(&mut out)?;
        let summing = out.finish().and_then(Encryptor::finish).map_err(failed)?;
        let (mut file, sha256, bytes) = summing.finish();
        // A file system may notice only now that it cannot store it, and would give zeros to be sent.
        file.sync_data().map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let object =
            self.put_once(&names::manifest(&self.config.host, self.number), &mut file, Object { sha256, bytes })?;
        // The temporary manifest is not part of the state.
        fs::remove_file(&path).map_err(failed)?;
        Ok(object)
    }

    /// Puts an object that is named after the number of the backup, which no other machine may use.
    fn put_once(&self, object: &str, body: &mut dyn Body, expected: Object) -> Result<Object, Error> {
        let put = self.repository.store().put_new(&name(object)?, body, expected.bytes)?;
        let is_ours = match put {
            Put::New => true,
            Put::Exists => false,
            Put::Unclear => self.repository.is_ours(object, expected)?,
        };
        if is_ours { Ok(expected) } else { Err(other_machine(self.repository, &self.config.host, self.number)) }
    }

    fn put_keys(&self, keys: &FileKeys) -> Result<Object, Error> {
        let head = file_keys::Head::new(&self.repository.id, &self.config.host, self.number);
        let bytes = keys.encrypt(&head, &self.config.key_recipients)?;
        let object = Object { sha256: Digest::compute(&bytes), bytes: bytes.len() as u64 };
        self.put_once(&names::keys(&self.config.host, self.number), &mut Cursor::new(bytes), object)
    }

    fn receipt(
        &self,
        manifest: &Manifest,
        (object, keys): (Object, Option<Object>),
        packs: Vec<Pack>,
        summary: Summary<'_>,
    ) -> Result<Receipt, Error> {
        use std::sync::atomic::Ordering::Relaxed;
        let Summary { proofs: PageProofs { mut pages, findings, .. }, progress, unproven_recipients, .. } = summary;
        let changed = progress.changed_bytes.load(Relaxed);
        pages.changed = pages_of(manifest, &packs).map_err(Error::Lists)?;
        Ok(Receipt {
            schema: receipt::SCHEMA.to_owned(),
            repo: self.repository.id.clone(),
            host: self.config.host.clone(),
            number: self.number,
            kind: Kind::Backup,
            previous: self.previous,
            began: self.began,
            ended: Timestamp::now(),
            phases: Some(self.phases.into()),
            full: self.full,
            server_uuid: manifest.head.server_uuid.clone(),
            provider: self.source.provider.clone(),
            manifest: object,
            keys,
            packs,
            bytes: Bytes {
                data: manifest.bytes(),
                read: progress.bytes.load(Relaxed).saturating_sub(progress.unread_bytes.load(Relaxed)),
                changed,
                stored: progress
                    .stored_bytes
                    .load(Relaxed)
                    .saturating_add(object.bytes)
                    .saturating_add(keys.map_or(0, |keys| keys.bytes)),
            },
            pages,
            recipients: self.config.recipients.iter().map(fingerprint).collect(),
            key_recipients: self.config.key_recipients.iter().map(fingerprint).collect(),
            unproven_recipients,
            findings,
            tool: concat!("sealant ", env!("CARGO_PKG_VERSION")).to_owned(),
        })
    }
}

/// Number of 16 KiB units, or pages, in new packs.
fn pages_of(manifest: &Manifest, packs: &[Pack]) -> io::Result<u64> {
    let is_new = |pack: u32| usize::try_from(pack).ok().and_then(|pack| packs.get(pack)).is_some_and(|pack| pack.new);
    let mut pages = 0_u64;
    for run in manifest.files.iter().flat_map(|file| file.runs.iter()) {
        let run = run?;
        if is_new(run.pack) {
            pages = pages.saturating_add(run.bytes.div_ceil(16 << 10));
        }
    }
    Ok(pages)
}

/// The packs that a backup needs.
struct UsedPacks {
    objects: Vec<Object>,
    /// How much of each is needed.
    used: Vec<Pack>,
    /// The number that each pack of the run, needed or not, has among these.
    numbers: Vec<u32>,
}

impl UsedPacks {
    /// Drops the packs of the run that are no longer needed.
    fn find((files, plan): (&Files, &Plan), stored: &StoredPacks, contents: &Contents) -> io::Result<Self> {
        let mut live = vec![0_u64; stored.packs.len()];
        contents.each_run(plan, files, &mut |_, run| {
            let live = usize::try_from(run.pack).ok().and_then(|pack| live.get_mut(pack));
            let live = live.ok_or(io::ErrorKind::InvalidData)?;
            *live = live.saturating_add(run.bytes);
            Ok(())
        })?;
        let needed = live.iter().filter(|bytes| **bytes > 0).count();
        let (mut objects, mut used) = (Vec::with_capacity(needed), Vec::with_capacity(needed));
        let mut numbers = Vec::with_capacity(live.len());
        for (number, (pack, live_bytes)) in stored.packs.iter().zip(live).enumerate() {
            numbers.push(u32::try_from(objects.len()).unwrap_or(u32::MAX));
            if live_bytes > 0 {
                objects.push(*pack);
                used.push(Pack { sha256: pack.sha256, bytes: pack.bytes, live_bytes, new: number >= stored.old });
            }
        }
        Ok(Self { objects, used, numbers })
    }
}

/// All entries, with the hashes of files and the locations of their parts. `numbers` has the new number of each pack.
fn stored_files(
    (files, plan): (&Files, &Plan),
    contents: &Contents,
    mut runs: ListWriter<FileRun>,
    numbers: &[u32],
) -> io::Result<Vec<StoredFile>> {
    let mut stored = Vec::with_capacity(plan.entries.len());
    for (number, planned) in plan.entries.iter().enumerate() {
        let file = files.get(number).zip(planned.file_bytes());
        let chunks = file.map(|(file, bytes)| contents.chunks(file, bytes)).unwrap_or_default();
        let (entry, hash) = (planned.entry.clone(), chunks.file_hash()?);
        let head = file.and_then(|(file, _)| file.head.clone());
        stored.push(StoredFile { entry, hash, head, chunks, runs: List::default() });
    }
    contents.each_run(plan, files, &mut |number, run| {
        let file = stored.get_mut(number).ok_or(io::ErrorKind::InvalidData)?;
        let pack = usize::try_from(run.pack).ok().and_then(|pack| numbers.get(pack)).copied();
        let run = FileRun { pack: pack.ok_or(io::ErrorKind::InvalidData)?, ..run };
        // The parts of a file follow each other.
        if runs.push(&mut file.runs, &run)? { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    })?;
    runs.finish(stored.iter_mut().map(|file| &mut file.runs))?;
    Ok(stored)
}

/// Writes signature, then receipt. The manifest has reserved the number.
fn put(
    repository: &Repository,
    host: &str,
    number: Number,
    receipt: &[u8],
    signature: &[u8],
    attempt: Attempt,
) -> Result<(), Error> {
    let names = [names::signature(host, number), names::receipt(host, number)];
    let is_ours = put_signed(repository, &names, signature, receipt, attempt)?;
    if is_ours { Ok(()) } else { Err(other_machine(repository, host, number)) }
}

fn other_machine(repository: &Repository, host: &str, number: Number) -> Error {
    Error::OtherMachine { location: repository.store().location(), host: host.to_owned(), number }
}

/// Completes an interrupted run that had stored everything except its receipt; returns its number.
pub(super) fn finish_earlier(
    repository: &Repository,
    host: &str,
    key: &PublicKey,
    state: &State,
) -> Result<Option<Number>, Error> {
    let Some(remembered) = state.newest()? else { return Ok(None) };
    // A prune may have removed packs that no receipt names.
    if is_run_too_old(remembered.oldest, Timestamp::now()) {
        return Ok(None);
    }
    let number = remembered.receipt.number;
    let (receipt, signature) = (&remembered.receipt_bytes, &remembered.signature);
    if !repository.may_read() {
        if state.is_committed(number) {
            return Ok(None);
        }
        put(repository, host, number, receipt, signature, Attempt::Again)?;
        state.mark_committed(number)?;
        return Ok(Some(number));
    }
    let object = name(&names::receipt(host, number))?;
    if repository.store().head(&object)?.is_some() {
        return Ok(None);
    }
    let own = OwnReceipts::find(repository, host, key, Some(&remembered))?;
    // A later backup exists, or the predecessor is gone.
    if own.newest != remembered.receipt.previous {
        return Ok(None);
    }
    match put(repository, host, number, receipt, signature, Attempt::Again) {
        // Somebody else has put a signature of this name.
        Err(Error::OtherMachine { .. }) => Ok(None),
        ended => ended.map(|()| Some(number)),
    }
}

#[cfg(test)]
mod large;
