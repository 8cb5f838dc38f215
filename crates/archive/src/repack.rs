//! Packs of which a backup needs little: what it needs of them is to be stored again, so that a prune can remove them.
//!
//! Only the host can do that, while it reads the pages anyway. A keeper has no identity to decrypt a pack, and cannot
//! copy encrypted chunks into another pack: each is encrypted with the key of its own pack, and with its number there.

use std::{collections::BTreeSet, io};

use crate::{Manifest, Run};

/// A pack of which less is needed, in percent, is stored again.
const MIN_NEEDED_PERCENT: u64 = 40;
/// The maximum of what one run stores again, in percent of the data. One pack is always allowed.
const MAX_AGAIN_PERCENT: u64 = 10;
/// A pack is kept if storing it again would free less: its header for 1024 recipients and the tags of its chunks are
/// that long, and a new pack has them, too.
const MIN_FREED_BYTES: u64 = 128 << 10;

/// How much of a pack a backup needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackUse {
    /// Length of the pack.
    pub pack_bytes: u64,
    /// About how much of that is needed. Of a frame of which a part is needed, so is this share of its length.
    pub packed_bytes: u64,
    /// Bytes of files.
    pub live_bytes: u64,
}

impl PackUse {
    fn percent(self) -> u64 {
        self.packed_bytes.saturating_mul(100).checked_div(self.pack_bytes).unwrap_or(100)
    }

    fn is_sparse(self) -> bool {
        let freed = self.pack_bytes.saturating_sub(self.packed_bytes);
        self.live_bytes > 0 && freed >= MIN_FREED_BYTES && self.percent() < MIN_NEEDED_PERCENT
    }
}

/// A frame of which some runs have been seen.
#[derive(Clone, Copy, Default)]
struct OpenFrame {
    at: u64,
    /// Length in the pack.
    packed_bytes: u64,
    /// Needed bytes.
    live_bytes: u64,
    /// The last needed byte. The frame may be longer than that, so its share is rather too high.
    end: u64,
}

impl OpenFrame {
    fn needed(self) -> u64 {
        self.packed_bytes.saturating_mul(self.live_bytes).checked_div(self.end).unwrap_or(0).min(self.packed_bytes)
    }
}

/// How much of each pack of a manifest is needed.
///
/// # Errors
/// The list of runs cannot be read.
pub fn uses(manifest: &Manifest) -> io::Result<Vec<PackUse>> {
    let use_of = |pack_bytes| (PackUse { pack_bytes, ..PackUse::default() }, OpenFrame::default());
    let mut uses: Vec<_> = manifest.packs.iter().map(|pack| use_of(pack.bytes)).collect();
    // In each file, the frames of one pack are in the order of the file.
    for run in manifest.files.iter().flat_map(|file| file.runs.iter()) {
        let run = run?;
        let used = usize::try_from(run.pack).ok().and_then(|pack| uses.get_mut(pack));
        used.into_iter().for_each(|(used, frame)| add(used, frame, &run));
    }
    let close = |(used, frame): (PackUse, OpenFrame)| PackUse {
        packed_bytes: used.packed_bytes.saturating_add(frame.needed()),
        ..used
    };
    Ok(uses.into_iter().map(close).collect())
}

fn add(used: &mut PackUse, frame: &mut OpenFrame, run: &Run) {
    used.live_bytes = used.live_bytes.saturating_add(run.bytes);
    if frame.live_bytes == 0 || frame.at != run.frame_at {
        used.packed_bytes = used.packed_bytes.saturating_add(frame.needed());
        *frame = OpenFrame { at: run.frame_at, packed_bytes: u64::from(run.frame_bytes), ..OpenFrame::default() };
    }
    frame.live_bytes = frame.live_bytes.saturating_add(run.bytes);
    frame.end = frame.end.max(u64::from(run.offset).saturating_add(run.bytes));
}

/// The packs to store again, by index: those of which least is needed come first, until it is a tenth of the data.
#[must_use]
pub fn sparse(uses: &[PackUse]) -> BTreeSet<usize> {
    let all = uses.iter().fold(0, |sum: u64, used| sum.saturating_add(used.live_bytes));
    let most = all.saturating_mul(MAX_AGAIN_PERCENT).checked_div(100).unwrap_or(0);
    let mut sparse: Vec<_> = uses.iter().enumerate().filter(|(_, used)| used.is_sparse()).collect();
    sparse.sort_by_key(|(index, used)| (used.percent(), *index));
    let (mut chosen, mut again) = (BTreeSet::new(), 0_u64);
    for (index, used) in sparse {
        again = again.saturating_add(used.live_bytes);
        if again > most && !chosen.is_empty() {
            break;
        }
        chosen.insert(index);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use codec::{
        entry::{Entry, Kind},
        path::RelativePath,
    };

    use super::*;
    use crate::{
        Digest, List,
        manifest::{Head, Root, SCHEMA, StoredFile},
        receipt::Object,
    };

    const MIB: u64 = 1 << 20;
    const PAGE: u64 = 16 << 10;

    fn run(at: u64, bytes: u64, pack: u32, frame_at: u64, offset: u64) -> Run {
        Run { at, bytes, pack, offset: offset as u32, frame_at, frame_bytes: 500_000 }
    }

    fn manifest(packs: &[u64], files: Vec<Vec<Run>>) -> Manifest {
        let object = |bytes: &u64| Object { sha256: Digest::compute(&bytes.to_be_bytes()), bytes: *bytes };
        let file = |runs: Vec<Run>| StoredFile {
            entry: Entry {
                path: RelativePath::parse(b"t.ibd").unwrap(),
                kind: Kind::File { bytes: 1 << 30 },
                mode: 0,
                uid: 0,
                gid: 0,
                modified: (0, 0),
            },
            hash: None,
            head: None,
            chunks: List::default(),
            runs: runs.into(),
        };
        let head = Head {
            schema: SCHEMA.to_owned(),
            repo: String::new(),
            host: "db1".to_owned(),
            number: 1,
            instant: jiff::Timestamp::UNIX_EPOCH,
            provider: "stopped".to_owned(),
            server_uuid: None,
            checkpoint_lsn: None,
            position: None,
            parent: None,
            root: Root { mode: 0, uid: 0, gid: 0 },
            entries: 0,
            left_out: Vec::new(),
        };
        let packs = packs.iter().map(object).collect();
        Manifest { head, files: files.into_iter().map(file).collect(), packs, keys: Vec::new() }
    }

    #[test]
    fn a_new_pack_is_needed_as_a_whole() {
        let whole: Vec<Run> = (0..20).map(|number| run(number * MIB, MIB, 0, number * 500_000, 0)).collect();
        let pages: Vec<Run> = (0..64).map(|page| run(3 * page * PAGE, PAGE, 1, 0, page * PAGE)).collect();
        let uses = uses(&manifest(&[10_010_000, 500_300], vec![whole, pages])).unwrap();
        let expected = |pack_bytes, packed_bytes, live_bytes| PackUse { pack_bytes, packed_bytes, live_bytes };
        assert_eq!(uses, [expected(10_010_000, 10_000_000, 20 * MIB), expected(500_300, 500_000, MIB)]);
        assert!(sparse(&uses).is_empty());
    }

    #[test]
    fn a_frame_counts_by_its_share() {
        // Of the first frame every second page is left, the other pages are in another pack; of the second one page.
        let mut runs: Vec<Run> =
            (0..64).map(|page| run(page * PAGE, PAGE, (page % 2) as u32, 0, page / (1 + page % 2) * PAGE)).collect();
        runs.push(run(MIB, PAGE, 0, 500_000, 0));
        let uses = uses(&manifest(&[2_000_000, 500_000], vec![runs])).unwrap();
        assert_eq!(uses[0].live_bytes, 33 * PAGE);
        // 32 of 63 pages; of a frame of which only the first page is needed the length is not known.
        assert!((750_000..770_000).contains(&uses[0].packed_bytes), "{uses:?}");
    }

    /// A pack with this share left, in percent, and as many MiB of files.
    fn left(percent: u64, live: u64) -> PackUse {
        PackUse { pack_bytes: 30 * MIB, packed_bytes: 30 * MIB * percent / 100, live_bytes: live * MIB }
    }

    #[test]
    fn the_emptiest_packs_are_stored_again_up_to_a_tenth_of_the_data() {
        let mut uses = vec![left(39, 30), left(40, 30), left(5, 4), left(20, 15), left(100, 700)];
        assert_eq!(sparse(&uses), BTreeSet::from([0, 2, 3]));
        uses[4].live_bytes = 300 * MIB;
        assert_eq!(sparse(&uses), BTreeSet::from([2, 3]));
        // One pack is always stored again: otherwise it would stay for ever.
        uses[4].live_bytes = 0;
        uses[2].live_bytes = 90 * MIB;
        assert_eq!(sparse(&uses), BTreeSet::from([2]));
    }

    #[test]
    fn a_small_pack_is_not_stored_again_for_its_header() {
        let small = PackUse { pack_bytes: 100_900, packed_bytes: 200, live_bytes: PAGE };
        assert!(sparse(&[small, left(100, 30)]).is_empty());
        let nothing = PackUse { pack_bytes: MIB, ..PackUse::default() };
        assert!(sparse(&[nothing]).is_empty());
    }
}
