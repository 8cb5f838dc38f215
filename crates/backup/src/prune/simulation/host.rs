//! A host that makes backups.

use archive::{
    Digest, Receipt,
    names::{self, Number},
    prune::is_run_too_old,
    receipt::{self, Bytes, Kind, Object, Pack, Pages},
    repack::{self, PackUse},
    sshsig::{self, SigningKey},
};
use jiff::{SignedDuration, Timestamp};

use super::{
    HOST,
    objects::{Objects, Random},
};

/// Pages of the server.
const PAGES: usize = 40;

/// A machine that makes backups step by step, and may be killed after each step.
pub(super) struct Host {
    pub(super) key: SigningKey,
    pub(super) repo: String,
    pub(super) random: Random,
    newest: Option<Newest>,
    run: Option<Run>,
    pub(super) highest: Number,
    /// Number of packs that were not used any more although something of them was needed.
    pub(super) repacked: usize,
}

/// The newest backup.
struct Newest {
    sha256: Digest,
    packs: Vec<PackPages>,
}

/// A pack, and how many pages were written to it.
#[derive(Clone)]
struct PackPages {
    sha256: Digest,
    written: usize,
    /// The pages that are needed.
    live: Vec<usize>,
}

struct Run {
    receipt: Receipt,
    /// Packs that the backup needs.
    packs: Vec<PackPages>,
    /// Pages to be stored.
    pages: Vec<usize>,
    left: u64,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Packs,
    Manifest,
    Signature,
    Receipt,
}

impl Host {
    pub(super) fn new(key: SigningKey, random: Random) -> Self {
        Self { key, repo: String::new(), random, newest: None, run: None, highest: 0, repacked: 0 }
    }

    pub(super) fn step(&mut self, objects: &mut Objects) {
        objects.now += SignedDuration::from_hours(i64::try_from(self.random.below(20)).unwrap());
        let Some(mut run) = self.run.take() else {
            self.run = Some(self.begin(objects.now));
            return;
        };
        if is_run_too_old(run.receipt.began, objects.now) || self.random.is_one_of(25) {
            return;
        }
        match run.stage {
            Stage::Packs if run.left == 0 => run.stage = Stage::Manifest,
            Stage::Packs => {
                let bytes = self.random.below(u64::MAX).to_le_bytes();
                let sha256 = Digest::compute(&bytes);
                objects.put(&names::pack(HOST, &sha256), &bytes);
                run.left -= 1;
                let last = if run.left == 0 { 0 } else { self.random.below(1 + run.pages.len() as u64) };
                let live = run.pages.split_off(usize::try_from(last).unwrap());
                run.packs.push(PackPages { sha256, written: live.len(), live });
            }
            Stage::Manifest => {
                assert!(objects.put(&run.receipt.manifest_name(), b"manifest"));
                run.receipt.ended = objects.now;
                let pack = |pack: &PackPages| Pack { sha256: pack.sha256, bytes: 8, live_bytes: 8, new: true };
                run.packs.retain(|pack| !pack.live.is_empty());
                run.receipt.packs = run.packs.iter().map(pack).collect();
                run.stage = Stage::Signature;
            }
            Stage::Signature => {
                let signature = sshsig::sign(&self.key, receipt::NAMESPACE, &run.receipt.encode().unwrap());
                objects.put(&names::signature(HOST, run.receipt.number), signature.as_bytes());
                run.stage = Stage::Receipt;
            }
            Stage::Receipt => {
                let bytes = run.receipt.encode().unwrap();
                assert!(objects.put(&names::receipt(HOST, run.receipt.number), &bytes));
                let mut pages: Vec<usize> = run.packs.iter().flat_map(|pack| pack.live.clone()).collect();
                pages.sort_unstable();
                assert!(pages.into_iter().eq(0..PAGES), "each page is in one of its packs");
                self.newest = Some(Newest { sha256: Digest::compute(&bytes), packs: run.packs });
                return;
            }
        }
        self.run = Some(run);
    }

    fn begin(&mut self, now: Timestamp) -> Run {
        self.highest += 1;
        let mut packs = self.newest.as_ref().map(|newest| newest.packs.clone()).unwrap_or_default();
        self.drop_sparse(&mut packs);
        let random = &mut self.random;
        packs.iter_mut().for_each(|pack| pack.live.retain(|_| !random.is_one_of(4)));
        let kept: Vec<usize> = packs.iter().flat_map(|pack| pack.live.clone()).collect();
        let pages = (0..PAGES).filter(|page| !kept.contains(page)).collect();
        let manifest = Object { sha256: Digest::compute(b"manifest"), bytes: 8 };
        let damaged = u64::from(self.random.is_one_of(6));
        let receipt = Receipt {
            schema: receipt::SCHEMA.to_owned(),
            repo: self.repo.clone(),
            host: HOST.to_owned(),
            number: self.highest,
            kind: Kind::Backup,
            previous: self.newest.as_ref().map(|newest| newest.sha256),
            began: now,
            ended: now,
            phases: None,
            full: kept.is_empty(),
            server_uuid: None,
            provider: "stopped".to_owned(),
            manifest,
            keys: None,
            packs: Vec::new(),
            bytes: Bytes::default(),
            pages: Pages { seen: 1, changed: 1, damaged, unproven: 0 },
            recipients: Vec::new(),
            key_recipients: Vec::new(),
            unproven_recipients: Vec::new(),
            findings: Vec::new(),
            tool: "sealant".to_owned(),
        };
        Run { receipt, packs, pages, left: 1 + self.random.below(4), stage: Stage::Packs }
    }

    /// Stops using the packs of which little is needed, as a run does.
    fn drop_sparse(&mut self, packs: &mut Vec<PackPages>) {
        let mebibytes = |pages: usize| (pages as u64) << 20;
        let used = |pack: &PackPages| PackUse {
            pack_bytes: mebibytes(pack.written),
            packed_bytes: mebibytes(pack.live.len()),
            live_bytes: mebibytes(pack.live.len()),
        };
        let sparse = repack::sparse(&packs.iter().map(used).collect::<Vec<_>>());
        self.repacked += sparse.len();
        let mut index = 0..;
        packs.retain(|_| index.next().is_some_and(|index| !sparse.contains(&index)));
    }
}
