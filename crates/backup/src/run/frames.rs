//! Collects changed units into frames: decrypts and compresses them, and adds them to packs.

use std::sync::atomic::Ordering;

use archive::{
    Description, PackWriter,
    pack::{DecryptedUnits, Extent, FrameAt, MAX_FRAME_BYTES, MAX_RUNS, Packer},
};
use codec::{
    hash::Hash,
    page::{DecryptBuffers, SpaceCipher},
};
use innodb::KeyVersion;
use zeroize::Zeroizing;

use super::{Run, files::FilePlan};
use crate::Error;

/// Room that a pack keeps: for one more frame with its description, and for what encryption adds.
const LAST_BYTES: u64 = MAX_FRAME_BYTES as u64 + (128 << 10);

/// Location of parts of a file in the current pack.
#[derive(Clone, Debug)]
pub(super) struct PackedPart {
    pub(super) file: usize,
    pub(super) extents: Vec<Extent>,
    pub(super) frame: FrameAt,
}

/// State of one thread.
pub(super) struct FrameBuilder<'r, 'j> {
    run: &'r Run<'r, 'j>,
    current: Option<(usize, &'r FilePlan)>,
    cipher: Option<(KeyVersion, SpaceCipher)>,
    extents: Vec<Extent>,
    bytes: Vec<u8>,
    memory: DecryptBuffers,
    marks: Vec<u8>,
    packer: Packer,
    pack: Option<PackWriter<Vec<u8>>>,
    parts: Vec<PackedPart>,
}

impl<'r, 'j> FrameBuilder<'r, 'j> {
    pub(super) fn new(run: &'r Run<'r, 'j>) -> Result<Self, Error> {
        Ok(Self {
            run,
            current: None,
            cipher: None,
            extents: Vec::new(),
            bytes: Vec::with_capacity(MAX_FRAME_BYTES),
            memory: DecryptBuffers::default(),
            marks: Vec::new(),
            packer: Packer::new(run.inputs.config.compression)?,
            pack: None,
            parts: Vec::new(),
        })
    }

    /// Starts a file, or another part of it.
    pub(super) fn begin(&mut self, number: usize, file: &'r FilePlan) {
        self.current = Some((number, file));
        self.cipher = None;
    }

    /// Adds consecutive units of the file that fill a whole frame, without copying them.
    pub(super) fn add_frame(&mut self, at: u64, units: &[u8]) -> Result<(), Error> {
        self.flush()?;
        self.write(vec![Extent { at, bytes: units.len() as u64 }], units)
    }

    /// Adds a unit of the file.
    pub(super) fn add(&mut self, at: u64, unit: &[u8]) -> Result<(), Error> {
        let follows = self.extents.last().is_some_and(|last| last.at.saturating_add(last.bytes) == at);
        let is_tablespace = self.current.is_some_and(|(_, file)| file.is_tablespace);
        let is_full = self.bytes.len().saturating_add(unit.len()) > MAX_FRAME_BYTES || self.extents.len() >= MAX_RUNS;
        // Only pages contain their own position.
        if is_full || !(follows || is_tablespace) {
            self.flush()?;
        }
        match self.extents.last_mut() {
            Some(last) if follows => last.bytes = last.bytes.saturating_add(unit.len() as u64),
            _ => self.extents.push(Extent { at, bytes: unit.len() as u64 }),
        }
        self.bytes.extend(unit);
        Ok(())
    }

    /// Ends a chunk: logs are decrypted chunk by chunk, so a frame of a log ends here.
    pub(super) fn end_of_chunk(&mut self) -> Result<(), Error> {
        if self.current.is_some_and(|(_, file)| file.is_tablespace) { Ok(()) } else { self.flush() }
    }

    /// Writes the collected units as a frame.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let (extents, mut bytes) = (std::mem::take(&mut self.extents), std::mem::take(&mut self.bytes));
        let written = self.write(extents, &bytes);
        bytes.clear();
        self.bytes = bytes;
        written
    }

    /// Writes a frame.
    fn write(&mut self, extents: Vec<Extent>, bytes: &[u8]) -> Result<(), Error> {
        let Some((number, file)) = self.current else { return Ok(()) };
        let Some(planned) = self.run.inputs.plan.entries.get(number) else { return Ok(()) };
        let (hash, path) = (Hash::compute(bytes), planned.entry.path.clone());
        let decrypted = self.decrypt(file, extents.first().map_or(0, |first| first.at), bytes);
        let description = Description { path, extents, hash, decrypted };
        let data = if description.decrypted.is_some() { self.memory.decrypted() } else { bytes };
        let pack = match &mut self.pack {
            Some(pack) => pack,
            none => none.insert(PackWriter::new(self.run.uploads.buffer()?, &self.run.inputs.config.recipients)?),
        };
        let frame = pack.add(&mut self.packer, &description, data)?;
        let is_full = pack.bytes() >= self.run.inputs.buffers.pack_bytes.saturating_sub(LAST_BYTES);
        let progress = self.run.inputs.progress;
        let bytes = bytes.len() as u64;
        progress.changed_bytes.fetch_add(bytes, Ordering::Relaxed);
        if description.decrypted.is_some() {
            progress.decrypted_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        self.parts.push(PackedPart { file: number, extents: description.extents, frame });
        if is_full { self.put() } else { Ok(()) }
    }

    /// Decrypts units if a given key fits; `None` if they stay encrypted or were never encrypted.
    fn decrypt(&mut self, file: &FilePlan, offset: u64, bytes: &[u8]) -> Option<DecryptedUnits> {
        let space = file.space.as_ref()?;
        let version = space.version_of(bytes);
        if self.cipher.as_ref().is_none_or(|(known, _)| *known != version) {
            let cipher = space.cipher(version, offset, bytes, self.run.inputs.keys)?;
            if let Some(id) = space.mariadb_key_id() {
                self.run.inputs.packs.needs(id, version.0);
            }
            self.cipher = Some((version, cipher));
        }
        let (_, cipher) = self.cipher.as_ref()?;
        let units = cipher.decrypt_marked(offset, bytes, &mut self.memory, &mut self.marks);
        (units > 0).then(|| DecryptedUnits {
            form: cipher.form(),
            unit_bytes: u32::try_from(cipher.unit_bytes(bytes.len())).unwrap_or(u32::MAX),
            marks: self.marks.clone(),
            kind: cipher.kind(),
            key_version: version.0,
            counter_mode: cipher.counter_mode(),
        })
    }

    /// Completes the pack and stores it.
    fn put(&mut self) -> Result<(), Error> {
        let Some(pack) = self.pack.take() else { return Ok(()) };
        self.run.uploads.put(pack.finish()?, std::mem::take(&mut self.parts));
        Ok(())
    }

    /// Stores the last pack.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        self.put()?;
        // The buffer has pages in clear text.
        drop(Zeroizing::new(std::mem::take(&mut self.bytes)));
        Ok(())
    }
}
