//! One transfer, from the list of files to the commit.

use std::{
    sync::{Arc, Mutex, PoisonError, RwLock, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{
    CommitMarker, Receiver,
    chunk_index::ChunkIndex,
    control::{alive, list},
    keyring_config::write_configuration,
    rekey::{self, Rekeying},
    resume,
    round::{EntryList, Outcome, Receiving, Round, check_drained, note},
};
use crate::{
    error::Error,
    hash::{Hash, chunk_bytes},
    manifest::Manifest,
    progress::{Progress, load},
    rekey::{Rekeyed, check_names},
    stop::Stop,
    tls::ControlChannel,
    wire::{Control, Entry, Kind, TOKEN_BYTES},
};

/// Interval of reports while data is received, by which the sender adapts compression.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

impl Receiver {
    pub(super) fn serve(
        &self,
        control: &mut ControlChannel,
        token: [u8; TOKEN_BYTES],
        streams: u16,
        data: Arc<rustls::ServerConfig>,
        progress: &Progress,
    ) -> Result<Outcome, Error> {
        let EntryList { entries, allocated_bytes, more, root } = list(control, None)?;
        if more && self.settings.rekey.is_some() {
            return Err(Error::RekeyInUse);
        }
        let files = entries.iter().filter(|entry| matches!(entry.kind, Kind::File { .. })).count();
        progress.total_bytes.store(bytes_of(&entries), Ordering::Relaxed);
        progress.total_files.store(files as u64, Ordering::Relaxed);
        let resumed = self.staging.has_files()?;
        let chunk_index = alive(control, progress, || self.prepare(&entries, allocated_bytes, resumed))??;
        for message in resume::messages(&entries, &chunk_index) {
            control.queue(&message.map_err(self.staging.hashes_failed())?)?;
        }
        control.send(&Control::Ready { rekey: self.settings.rekey.is_some() })?;
        let rekeying = match &self.settings.rekey {
            Some(current) => Some(Rekeying::agree(control, &self.staging, current, &entries)?),
            None => None,
        };
        count_kept(&chunk_index, &entries, progress);
        let stop = Stop::default();
        let receiving = Receiving {
            staging: &self.staging,
            journal: self.staging.journal()?,
            progress,
            stop: &stop,
            rekeying,
            notes: Mutex::default(),
            round: RwLock::new(Arc::new(Round { entries, chunk_index, resumed, more, root })),
        };
        let came = self.receive(control, &receiving, token, streams, &data)?;
        let tree = came.tree();
        let (manifest, rekeyed) = self.written_manifest(&receiving, came)?;
        let master_keys = rekeyed.as_ref().map(|rekeyed| rekeyed.master_keys.clone());
        let root = Some(receiving.round().root);
        let notes = receiving.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mark = CommitMarker { root, owner: self.settings.owner, notes: notes.clone(), verdict: None, master_keys };
        // On NFS an unnamed file has a name until it is closed, and its directory cannot be
        // removed.
        drop((receiving.journal, receiving.round));
        // From here on the sender is not needed.
        match alive(control, progress, || self.staging.commit(&manifest, &mark)) {
            Ok(committed) => committed?,
            Err(_) if self.staging.is_gone() => {}
            Err(error) => return Err(error),
        }
        Ok(Outcome { tree, manifest, rekeyed, notes })
    }

    /// The manifest of what was written: rewrapped keys change files.
    fn written_manifest(
        &self,
        receiving: &Receiving<'_>,
        came: Manifest,
    ) -> Result<(Manifest, Option<Rekeyed>), Error> {
        let (Some(rekeying), Some(current)) = (&receiving.rekeying, &self.settings.rekey) else {
            return Ok((came, None));
        };
        let written = rekeying.manifest(came, &receiving.round().chunk_index);
        let mut written = written.map_err(self.staging.hashes_failed())?;
        let named = write_configuration(&self.staging, current, &mut written)?;
        let rekeyed = rekeying.summary(current, named);
        check_names(current, &rekeyed.master_keys, || Error::KeysLost { path: current.path().to_owned() })?;
        Ok((written, Some(rekeyed)))
    }

    /// Creates the files of a list, and finds the chunks that are already present.
    fn prepare(&self, entries: &[Entry], allocated_bytes: u64, resumed: bool) -> Result<ChunkIndex, Error> {
        let hashes_failed = self.staging.hashes_failed();
        let new_index = || ChunkIndex::new(self.staging.scratch()?, entries).map_err(&hashes_failed);
        if !resumed {
            self.staging.check_space(allocated_bytes)?;
            self.staging.make(entries)?;
            return new_index();
        }
        let journal = self.staging.old_journal()?;
        self.staging.make_resumed(entries)?;
        let staged = self.staging.staged_bytes(entries);
        self.staging.check_space(allocated_bytes.saturating_sub(staged))?;
        let chunk_index = new_index()?;
        let Some(journal) = journal else { return Ok(chunk_index) };
        resume::read_claims(journal, entries, &chunk_index).map_err(&hashes_failed)?;
        let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        resume::verify(&self.staging, entries, &chunk_index, threads)?;
        if self.settings.rekey.is_some() {
            rekey::forget_first_chunks(&self.staging, entries, &chunk_index)?;
        }
        Ok(chunk_index)
    }

    /// Continues with the next list: received chunks stay if they are still part of a file.
    fn next_round(&self, peer: &str, receiving: &Receiving<'_>, list: EntryList) -> Result<(), Error> {
        let before = receiving.round();
        self.staging.change(&before.entries, &list.entries)?;
        let chunk_index =
            before.chunk_index.next_list(&before.entries, &list.entries).map_err(self.staging.hashes_failed())?;
        let round = Round { entries: list.entries, chunk_index, resumed: true, more: list.more, root: list.root };
        let mut now = receiving.round.write().unwrap_or_else(PoisonError::into_inner);
        check_drained(peer, &before)?;
        *now = Arc::new(round);
        Ok(())
    }

    /// Reports progress to the sender until it says that it has finished.
    pub(super) fn report_progress(
        &self,
        control: &mut ControlChannel,
        receiving: &Receiving<'_>,
    ) -> Result<Hash, Error> {
        let (mut last, mut waited) = (Instant::now(), 0);
        loop {
            receiving.stop.check()?;
            match control.receive(REPORT_INTERVAL)? {
                Some(Control::Finish { tree }) if !receiving.round().more => return Ok(tree),
                Some(first @ (Control::Entry(_) | Control::PlanEnd { .. })) if receiving.round().more => {
                    let list = list(control, Some(first))?;
                    let peer = control.peer().to_owned();
                    alive(control, receiving.progress, || self.next_round(&peer, receiving, list))??;
                    control.send(&Control::Ready { rekey: false })?;
                }
                Some(Control::Note { text }) => note(control.peer(), receiving, text)?,
                Some(Control::Failed { reason }) => {
                    return Err(Error::Peer { peer: control.peer().to_owned(), reason });
                }
                Some(Control::Ping) | None => {}
                Some(_) => return Err(Error::protocol(control.peer(), "unexpected message")),
            }
            if last.elapsed() >= REPORT_INTERVAL {
                let streams = receiving.progress.streams.load(Ordering::Relaxed).max(1);
                let now = load(&receiving.progress.network_wait);
                #[allow(clippy::cast_precision_loss, reason = "a share")]
                let share = (now - waited) as f64 / (last.elapsed().as_secs_f64() * 1e9 * streams as f64);
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 1000")]
                let starving = (share.clamp(0.0, 1.0) * 1000.0) as u16;
                (last, waited) = (Instant::now(), now);
                control.send(&Control::Progress { bytes: load(&receiving.progress.bytes), starving })?;
            }
        }
    }
}

/// Counts the chunks that an earlier transfer left as done.
fn count_kept(chunk_index: &ChunkIndex, entries: &[Entry], progress: &Progress) {
    for (file, run) in chunk_index.runs() {
        let bytes = entries.get(file).map_or(0, |entry| bytes_of(std::slice::from_ref(entry)));
        let length = run.map(|chunk| chunk_bytes(bytes, chunk) as u64).sum();
        Progress::add(&progress.bytes, length);
        Progress::add(&progress.kept_bytes, length);
    }
}

fn bytes_of(entries: &[Entry]) -> u64 {
    let bytes = entries.iter().map(|entry| match entry.kind {
        Kind::File { bytes } => bytes,
        _ => 0,
    });
    bytes.fold(0, u64::saturating_add)
}
