//! A host that makes backups.

use archive::{
    Digest, Receipt,
    names::{self, Number},
    prune::is_run_too_old,
    receipt::{self, Bytes, Kind, Object, Pack, Pages},
    sshsig::{self, SigningKey},
};
use jiff::{SignedDuration, Timestamp};

use super::{
    HOST,
    objects::{Objects, Random},
};

/// A machine that makes backups step by step, and may be killed after each step.
pub(super) struct Host {
    pub(super) key: SigningKey,
    pub(super) repo: String,
    pub(super) random: Random,
    pub(super) newest: Option<(Receipt, Digest)>,
    pub(super) run: Option<Run>,
    pub(super) highest: Number,
}

pub(super) struct Run {
    receipt: Receipt,
    left: u64,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Stage {
    Packs,
    Manifest,
    Signature,
    Receipt,
}

impl Host {
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
                run.receipt.packs.push(Pack { sha256, bytes: 8, live_bytes: 8, new: true });
                run.left -= 1;
            }
            Stage::Manifest => {
                assert!(objects.put(&run.receipt.manifest_name(), b"manifest"));
                run.receipt.ended = objects.now;
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
                self.newest = Some((run.receipt, Digest::compute(&bytes)));
                return;
            }
        }
        self.run = Some(run);
    }

    fn begin(&mut self, now: Timestamp) -> Run {
        self.highest += 1;
        let mut packs = self.newest.as_ref().map(|(receipt, _)| receipt.packs.clone()).unwrap_or_default();
        packs.retain(|_| !self.random.is_one_of(4));
        packs.iter_mut().for_each(|pack| pack.new = false);
        let manifest = Object { sha256: Digest::compute(b"manifest"), bytes: 8 };
        let damaged = u64::from(self.random.is_one_of(6));
        let receipt = Receipt {
            schema: receipt::SCHEMA.to_owned(),
            repo: self.repo.clone(),
            host: HOST.to_owned(),
            number: self.highest,
            kind: Kind::Backup,
            previous: self.newest.as_ref().map(|(_, sha256)| *sha256),
            began: now,
            ended: now,
            phases: None,
            full: packs.is_empty(),
            server_uuid: None,
            provider: "stopped".to_owned(),
            manifest,
            keys: None,
            packs,
            bytes: Bytes::default(),
            pages: Pages { seen: 1, changed: 1, damaged, unproven: 0 },
            recipients: Vec::new(),
            key_recipients: Vec::new(),
            unproven_recipients: Vec::new(),
            findings: Vec::new(),
            tool: "sealant".to_owned(),
        };
        Run { receipt, left: 1 + self.random.below(4), stage: Stage::Packs }
    }
}
