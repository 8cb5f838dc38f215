//! Judges format, flags and unfinished operations.

use super::Details;
use crate::finding::{Code, Finding};
use crate::volume::{Format, Segment, Volume, is_reencryption};

/// Judges the header apart from ciphers and slots.
pub(super) fn judge(volume: &Volume) -> Vec<Finding> {
    let found = [
        (volume.format == Format::Luks1).then(|| {
            Finding::new(
                Code::Luks1,
                "one header copy, PBKDF2 only; `cryptsetup convert --type luks2` while it is closed",
            )
        }),
        tokens(volume),
        discards(volume),
        no_journal(volume),
        detached(volume),
        reencryption(volume),
        requirements(volume),
    ];
    found.into_iter().flatten().collect()
}

fn tokens(volume: &Volume) -> Option<Finding> {
    let mut details = Details::new(Code::Tokens);
    volume.tokens.iter().for_each(|token| details.add(token.clone()));
    details.finding("")
}

fn has_flag(volume: &Volume, flag: &str) -> bool {
    volume.flags.iter().any(|current| current == flag)
}

fn discards(volume: &Volume) -> Option<Finding> {
    let detail = "TRIM is passed on: the disk shows which sectors are free";
    has_flag(volume, "allow-discards").then(|| Finding::new(Code::FlagDiscards, detail))
}

fn no_journal(volume: &Volume) -> Option<Finding> {
    let integrity = volume.live().any(|segment| segment.integrity.is_some());
    let detail = "a power cut leaves unreadable sectors";
    (integrity && has_flag(volume, "no-journal")).then(|| Finding::new(Code::FlagNoJournal, detail))
}

fn detached(volume: &Volume) -> Option<Finding> {
    let detail = "the data is on another device, which has no header of its own";
    volume.is_detached().then(|| Finding::new(Code::DetachedHeader, detail))
}

fn reencryption(volume: &Volume) -> Option<Finding> {
    if !volume.reencrypting() {
        return None;
    }
    let missing = missing_key(volume);
    Some(match missing {
        Some(digest) => Finding::new(
            Code::ReencryptStuck,
            format!(
                "cryptsetup asks for the volume key of digest {digest}, and no slot has it any more; \
                 `sealant luks header repair` if all data is under one key"
            ),
        ),
        None if volume.is_rewritten() => Finding::new(
            Code::ReencryptUnfinished,
            "all data is re-encrypted, only the header is unfinished: run `sealant luks header repair`; `cryptsetup \
             reencrypt --resume-only` would encrypt the data a second time and destroy it",
        ),
        None if volume.is_detached() => Finding::new(
            Code::ReencryptUnfinished,
            "`cryptsetup reencrypt --resume-only --header` continues with its data",
        ),
        None => Finding::new(Code::ReencryptUnfinished, "`sealant luks reencrypt --resume` continues it"),
    })
}

/// A digest that has no slot although cryptsetup needs its key to resume: the digest of the old or of the planned
/// segments. Parts that are not encrypted need none.
fn missing_key(volume: &Volume) -> Option<u32> {
    let asked = |segment: &&Segment| {
        segment.is_crypt() && (segment.has_flag("backup-previous") || segment.has_flag("backup-final"))
    };
    let live = volume.segments.iter().filter(|segment| segment.is_crypt() && !segment.is_backup());
    let segments = volume.segments.iter().filter(asked).chain(live);
    let ids: Vec<u32> = segments.map(|segment| segment.id).collect();
    let digests = volume.digests.iter().filter(|digest| digest.segments.iter().any(|id| ids.contains(id)));
    digests.filter(|digest| volume.slots_of(digest).next().is_none()).map(|digest| digest.id).next()
}

fn requirements(volume: &Volume) -> Option<Finding> {
    let mut details = Details::new(Code::RequirementUnknown);
    volume.requirements.iter().filter(|name| !is_reencryption(name)).for_each(|name| details.add(name.clone()));
    details.finding("do not change the header: a program that does not know this may destroy it")
}
