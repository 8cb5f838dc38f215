//! Repairs the header that a power cut leaves in the last commits of `cryptsetup reencrypt`.
//!
//! When all data is rewritten, cryptsetup removes the old key's slots one by one, and its re-encryption metadata last.
//! If power fails before the first removal, cryptsetup still opens the volume, but encrypts it a second time when told
//! to resume (seen with 2.6.1). If power fails later, cryptsetup refuses to open, resume or repair, because the
//! metadata still asks for the old key (seen with 2.6.1 and 2.8.8). Once that metadata is removed (requirement, backup
//! segments, their digests and slots, the re-encryption slot), the header is that of a finished re-encryption.

use std::path::{Path, PathBuf};

use files::WriteOptions;
use rustix::fs::{SeekFrom, seek};
use serde_json::{Map, Value};

use super::lock;
use super::restore::put;
use super::{Header, Restored, open};
use crate::Error;
use crate::cryptsetup::Cryptsetup;
use crate::diff::{Difference, diff};
use crate::luks2::{Copy, make_copies};
use crate::read::{Readable, copy_in_use};
use crate::secret::Secret;
use crate::volume::{Digest, Slot, Volume, is_reencryption};

/// A repair that is possible and has not begun.
#[derive(Debug)]
pub struct Repair {
    device: PathBuf,
    before: Volume,
    repaired: Header,
}

impl Repair {
    /// Checks whether the header of `device` is in that state, and computes the repaired header. Changes nothing.
    ///
    /// # Errors
    /// [`Error::WouldDestroy`] for any other state.
    pub fn new(device: &Path) -> Result<Self, Error> {
        let file = open(device)?;
        let header = Header::read(&file, device)?;
        let refused = |why: &str| Err(Error::WouldDestroy(format!("{}: {why}; nothing was changed", device.display())));
        let Some(copy) = copy_in_use(&file).filter(|copy| copy.volume == header.volume) else {
            return refused("its header is not LUKS2, or is being changed");
        };
        if let Some(holder) = lock::holders(&file).first() {
            return refused(&format!("it is in use by {holder}; close it first"));
        }
        let size = seek(&file, SeekFrom::End(0)).map_err(std::io::Error::from).map_err(Error::io(device))?;
        if let Err(why) = check(&header.volume, size) {
            return refused(why);
        }
        let Some(bytes) = without_reencryption(&copy, &header) else {
            return refused("its metadata has no room for the change");
        };
        let repaired = Header::read(&bytes, device)?;
        let whole = repaired.readable == Readable::Yes && !repaired.volume.reencrypting();
        if !whole || repaired.volume.current_digests().count() != 1 {
            return refused("the header without the re-encryption metadata would be invalid");
        }
        Ok(Self { device: device.to_owned(), before: header.volume, repaired })
    }

    /// Fields that the repair changes.
    #[must_use]
    pub fn differences(&self) -> Vec<Difference> {
        diff(&self.before, &self.repaired.volume)
    }

    /// The planned steps, as lines for the user to confirm.
    #[must_use]
    pub fn describe(&self) -> String {
        let change = |difference: Difference| {
            let side = |side: Option<String>| side.unwrap_or_else(|| "-".to_owned());
            format!("  {}: {} -> {}\n", difference.field, side(difference.one), side(difference.other))
        };
        let changes: String = self.differences().into_iter().map(change).collect();
        format!("{}: the metadata of an unfinished re-encryption is removed\n{changes}", self.device.display())
    }

    /// Carries out the repair: proves on a copy of the header, in a file beside `save`, that the key opens it; saves
    /// the current header in the new file `save`; writes the repaired header; proves the key on the device, or puts the
    /// saved header back.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, cryptsetup: &Cryptsetup, key: &Secret, save: &Path) -> Result<Restored, Error> {
        let mut probe = save.as_os_str().to_owned();
        probe.push(".trial");
        let probe = PathBuf::from(probe);
        // A run that was killed left it.
        match std::fs::remove_file(&probe) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(&probe)(error)),
            _ => {}
        }
        files::write_atomic(&probe, &self.repaired.bytes, WriteOptions::SECRET).map_err(Error::saving(&probe))?;
        let opens = cryptsetup.opens(&probe, key, None);
        std::fs::remove_file(&probe).map_err(Error::io(&probe))?;
        if opens?.is_none() {
            let why =
                format!("the key does not open the repaired header of {}; nothing was changed", self.device.display());
            return Err(Error::WouldDestroy(why));
        }
        put(cryptsetup, key, &self.device, (Some(&self.before), &self.repaired), save)
    }
}

/// Accepts exactly the states that can be repaired: all data is one segment under one key that has a slot, and either
/// that segment is the planned result, or a key that only the re-encryption metadata refers to has no slot.
fn check(volume: &Volume, device_bytes: u64) -> Result<(), &'static str> {
    if !volume.reencrypting() {
        return Err("there is no unfinished re-encryption to repair");
    }
    if volume.requirements.iter().any(|requirement| !is_reencryption(requirement)) {
        return Err("its header has an unknown requirement");
    }
    if volume.excess().is_some() {
        return Err("a key slot or a digest asks for more work than any cryptsetup does");
    }
    let live: Vec<_> = volume.live().collect();
    let [data] = live.as_slice() else {
        return Err(
            "its data is in several parts, so the re-encryption is unfinished; `sealant luks reencrypt --resume` \
             continues it",
        );
    };
    if !data.is_crypt() || !data.flags.is_empty() {
        return Err(
            "the re-encryption was interrupted while it wrote data; `sealant luks reencrypt --resume` continues it",
        );
    }
    let covers = data.size.is_none_or(|size| data.offset.checked_add(size) == Some(device_bytes));
    if !covers || data.offset >= device_bytes {
        return Err("its segment does not cover the device");
    }
    let digests: Vec<_> = volume.current_digests().collect();
    let [digest] = digests.as_slice() else { return Err("its data is not encrypted with exactly one volume key") };
    if volume.slots_of(digest).next().is_none() {
        return Err("no key slot has the volume key of its data; only a header backup can restore it");
    }
    if !volume.is_rewritten() && reencryption_digests(volume).all(|other| volume.slots_of(other).next().is_some()) {
        return Err("its data is not rewritten yet; `sealant luks reencrypt --resume` continues it");
    }
    Ok(())
}

/// Digests of keys that only the re-encryption metadata refers to.
fn reencryption_digests(volume: &Volume) -> impl Iterator<Item = &Digest> {
    let is_live = |digest: &Digest| volume.current_digests().any(|live| live.id == digest.id);
    volume.digests.iter().filter(move |digest| !digest.segments.is_empty() && !is_live(digest))
}

/// The header without re-encryption metadata, in both copies; areas that held the old key are wiped.
fn without_reencryption(copy: &Copy, header: &Header) -> Option<Vec<u8>> {
    let old: Vec<&Slot> =
        reencryption_digests(&header.volume).flat_map(|digest| header.volume.slots_of(digest)).collect();
    let kept = |slot: &Slot| header.volume.current_digests().any(|digest| digest.slots.contains(&slot.id));
    if old.iter().any(|slot| kept(slot)) {
        return None;
    }
    let is_old = |id: &str| old.iter().any(|slot| slot.id.to_string() == id);
    let mut metadata: Value = serde_json::from_str(&copy.json).ok()?;
    drop_requirement(metadata.get_mut("config")?.as_object_mut()?);
    let segments = drop_where(metadata.get_mut("segments")?, |_, segment| has_flag(segment, "backup-"))?;
    let slots = drop_where(metadata.get_mut("keyslots")?, |id, slot| slot["type"] == "reencrypt" || is_old(id))?;
    let digests = metadata.get_mut("digests")?.as_object_mut()?;
    for digest in digests.values_mut() {
        drop_names(digest.get_mut("segments")?, &segments)?;
        drop_names(digest.get_mut("keyslots")?, &slots)?;
    }
    for token in metadata.get_mut("tokens")?.as_object_mut()?.values_mut() {
        drop_names(token.get_mut("keyslots")?, &slots)?;
    }
    let digests = metadata.get_mut("digests")?.as_object_mut()?;
    let empty = |digest: &Value, name: &str| digest[name].as_array().is_none_or(Vec::is_empty);
    digests.retain(|_, digest| !(empty(digest, "segments") && empty(digest, "keyslots")));
    let [first, second] = make_copies(copy, &metadata, copy.volume.sequence.checked_add(1)?)?;
    let behind = header.bytes.get(first.len().checked_add(second.len())?..)?;
    let mut bytes = [first.as_slice(), &second, behind].concat();
    for slot in old {
        let begin = usize::try_from(slot.area_offset).ok()?;
        bytes.get_mut(begin..begin.checked_add(usize::try_from(slot.area_bytes).ok()?)?)?.fill(0);
    }
    Some(bytes)
}

fn drop_requirement(config: &mut Map<String, Value>) {
    let Some(requirements) = config.get_mut("requirements").and_then(Value::as_object_mut) else { return };
    if let Some(mandatory) = requirements.get_mut("mandatory").and_then(Value::as_array_mut) {
        mandatory.retain(|name| !name.as_str().is_some_and(is_reencryption));
        if mandatory.is_empty() {
            requirements.remove("mandatory");
        }
    }
    if requirements.is_empty() {
        config.remove("requirements");
    }
}

fn has_flag(segment: &Value, prefix: &str) -> bool {
    let flags = segment["flags"].as_array().into_iter().flatten();
    flags.filter_map(Value::as_str).any(|flag| flag.starts_with(prefix))
}

/// Removes matching entries from an object; returns their names.
fn drop_where(object: &mut Value, is: impl Fn(&str, &Value) -> bool) -> Option<Vec<String>> {
    let object = object.as_object_mut()?;
    let names: Vec<String> = object.iter().filter(|(name, value)| is(name, value)).map(|(n, _)| n.clone()).collect();
    object.retain(|name, _| !names.contains(name));
    Some(names)
}

fn drop_names(list: &mut Value, names: &[String]) -> Option<()> {
    list.as_array_mut()?.retain(|name| !name.as_str().is_some_and(|name| names.iter().any(|current| current == name)));
    Some(())
}
