//! Simulates concurrent runs and prunes: whatever happens between two calls of a prune, no backup loses an object, and
//! nothing is removed that must be kept.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Cursor, Read},
    ops::Range,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
};

use archive::{
    Digest, Receipt,
    names::{self, Number},
    prune::is_run_too_old,
    receipt::{self, Bytes, Kind, Object, Pack, Pages},
    retention::Policy,
    sshsig::{self, SigningKey},
};
use jiff::{SignedDuration, Timestamp};
use store::{Body, Deletion, Error as StoreError, Listed, Name, Put, Store};

use super::{HostPlan, PruneOptions, plan, prune};
use crate::{
    Error, Location, PruneConfig, Repository,
    check::{Depth, Selection, check},
};

/// Simulations, each of several prunes.
const SEEDS: u64 = 170;
const PRUNES: u32 = 6;
const HOST: &str = "db1";
const POLICY: Policy = Policy { keep_last: 2, daily: 3, weekly: 1, monthly: 0, yearly: 0, min_good: 2 };

/// Random numbers from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn is_one_of(&mut self, limit: u64) -> bool {
        self.below(limit) == 0
    }
}

/// Objects in memory, with the store's clock.
struct Objects {
    all: BTreeMap<String, (Vec<u8>, Timestamp)>,
    /// The receipts among them.
    receipts: BTreeMap<String, Receipt>,
    now: Timestamp,
}

impl Objects {
    fn put(&mut self, name: &str, bytes: &[u8]) -> bool {
        let is_new = !self.all.contains_key(name);
        if is_new {
            self.all.insert(name.to_owned(), (bytes.to_vec(), self.now));
            if names::is_receipt(name) {
                self.receipts.insert(name.to_owned(), Receipt::parse(bytes).unwrap());
            }
        }
        is_new
    }

    fn remove(&mut self, name: &str) {
        self.all.remove(name);
        self.receipts.remove(name);
    }

    /// The first object that a receipt names but that does not exist.
    fn lost(&self) -> Option<String> {
        let needed = self.receipts.values().flat_map(Receipt::objects);
        needed.map(|(object, _)| object).find(|object| !self.all.contains_key(object))
    }
}

/// A machine that makes backups step by step, and may be killed after each step.
struct Host {
    key: SigningKey,
    repo: String,
    random: Random,
    newest: Option<(Receipt, Digest)>,
    run: Option<Run>,
    highest: Number,
}

struct Run {
    receipt: Receipt,
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
    fn step(&mut self, objects: &mut Objects) {
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

/// What happens between the calls of a prune.
struct World {
    objects: Objects,
    host: Host,
    random: Random,
    /// Whether the keeper can be killed, or its store can fail, at any call.
    may_fail: bool,
    /// How many objects can be removed before the keeper is killed.
    removals: u64,
    lost: Option<String>,
}

#[derive(Clone)]
struct Simulated(Arc<Mutex<World>>);

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Simulated")
    }
}

impl Simulated {
    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// Lets the host take some steps; fails sometimes.
    fn between(&self) -> Result<MutexGuard<'_, World>, StoreError> {
        let mut world = self.world();
        // The host gets to know its repository only after it is created.
        let goes_on = !world.host.repo.is_empty() && world.random.is_one_of(3);
        let steps = if goes_on { world.random.below(3) } else { 0 };
        let World { objects, host, .. } = &mut *world;
        (0..steps).for_each(|_| host.step(objects));
        if world.may_fail && world.random.is_one_of(30) {
            let source = io::ErrorKind::ConnectionReset.into();
            return Err(StoreError::Io { path: "store".to_owned(), doing: "killed", source });
        }
        Ok(world)
    }
}

impl Store for Simulated {
    fn put_new(&self, name: &Name, body: &mut dyn Body, _bytes: u64) -> Result<Put, StoreError> {
        let mut bytes = Vec::new();
        body.read_to_end(&mut bytes).unwrap();
        let is_new = self.between()?.objects.put(name.as_str(), &bytes);
        Ok(if is_new { Put::New } else { Put::Exists })
    }

    fn get(&self, name: &Name, _range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, StoreError> {
        match self.between()?.objects.all.get(name.as_str()) {
            Some((bytes, _)) => Ok(Box::new(Cursor::new(bytes.clone()))),
            None => Err(StoreError::Missing { location: self.location(), name: name.clone() }),
        }
    }

    fn head(&self, name: &Name) -> Result<Option<u64>, StoreError> {
        Ok(self.between()?.objects.all.get(name.as_str()).map(|(bytes, _)| bytes.len() as u64))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError> {
        let world = self.between()?;
        let listed = world.objects.all.iter().filter(|(name, _)| name.starts_with(prefix));
        let listed = listed.map(|(name, (bytes, modified))| Listed {
            name: name.parse().unwrap(),
            bytes: bytes.len() as u64,
            modified: *modified,
        });
        Ok(listed.collect())
    }

    fn delete(&self, name: &Name) -> Result<Deletion, StoreError> {
        let mut world = self.between()?;
        let Some(left) = world.removals.checked_sub(1) else {
            let source = io::ErrorKind::ConnectionReset.into();
            return Err(StoreError::Io { path: "store".to_owned(), doing: "killed", source });
        };
        world.removals = left;
        world.objects.remove(name.as_str());
        world.lost = world.lost.take().or_else(|| world.objects.lost());
        Ok(Deletion::Done)
    }

    fn location(&self) -> String {
        "simulated".to_owned()
    }
}

/// The same store, for someone beside whom a prune works on; it begins before a call and is killed before another.
struct Beside {
    simulation: Arc<Simulation>,
    random: Mutex<Random>,
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Beside")
    }
}

impl Beside {
    fn store(&self) -> &Simulated {
        let mut random = self.random.lock().unwrap();
        if random.is_one_of(4) {
            self.simulation.store.world().removals = random.below(12);
            match self.simulation.prune() {
                Ok(()) | Err(Error::Store(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        &self.simulation.store
    }
}

impl Store for Beside {
    fn put_new(&self, name: &Name, body: &mut dyn Body, bytes: u64) -> Result<Put, StoreError> {
        self.store().put_new(name, body, bytes)
    }

    fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, StoreError> {
        self.store().get(name, range)
    }

    fn head(&self, name: &Name) -> Result<Option<u64>, StoreError> {
        self.store().head(name)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError> {
        self.store().list(prefix)
    }

    fn delete(&self, name: &Name) -> Result<Deletion, StoreError> {
        self.store().delete(name)
    }

    fn location(&self) -> String {
        "simulated".to_owned()
    }
}

struct Simulation {
    store: Simulated,
    repository: Repository,
    keeper: PruneConfig,
}

impl Simulation {
    fn new(directory: &Path, seed: u64, orphan_days: u16) -> Self {
        let (host_key, keeper_key) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
        let path = |name: &str| directory.join(name);
        std::fs::write(path("key"), keeper_key.to_secret_text("keeper").unwrap().as_bytes()).unwrap();
        let (of_host, of_keeper) = (host_key.public(), keeper_key.public());
        let signers = format!(
            "{HOST} namespaces=\"{}\" {of_host}\nkeeper namespaces=\"{}\" {of_keeper}\n",
            receipt::NAMESPACE,
            archive::prune::NAMESPACE
        );
        std::fs::write(path("signers"), signers).unwrap();
        let host =
            Host { key: host_key, repo: String::new(), random: Random(seed), newest: None, run: None, highest: 0 };
        let objects =
            Objects { all: BTreeMap::new(), receipts: BTreeMap::new(), now: "2026-01-01T00:00:00Z".parse().unwrap() };
        let random = Random(seed.wrapping_mul(31));
        let world = World { objects, host, random, may_fail: false, removals: u64::MAX, lost: None };
        let store = Simulated(Arc::new(Mutex::new(world)));
        let repo = Repository::create(&store).unwrap().1;
        store.world().host.repo = repo;
        let repository = Repository::open(Box::new(store.clone())).unwrap();
        let keeper = PruneConfig {
            repository: Location::Directory(path("unused")),
            name: "keeper".to_owned(),
            signing_key: path("key"),
            allowed_signers: path("signers"),
            policy: POLICY,
            orphan_days,
        };
        Self { store, repository, keeper }
    }

    fn prune(&self) -> Result<(), Error> {
        let at = self.store.world().objects.now;
        let options = PruneOptions { allow_shrunk: true, ..PruneOptions::default() };
        let plan = plan(&self.repository, &self.keeper, &options, at)?;
        plan.hosts.iter().for_each(keeps_enough);
        prune(&self.repository, &self.keeper, &plan, &|_| ()).map(|_| ())
    }

    /// Runs and prunes; returns the first object that a backup lost.
    fn run(&self, prunes: u32) -> Option<String> {
        for _ in 0..prunes {
            {
                let mut world = self.store.world();
                world.may_fail = world.random.is_one_of(2);
                let World { objects, host, random, .. } = &mut *world;
                (0..random.below(60)).for_each(|_| host.step(objects));
            }
            match self.prune() {
                Ok(()) | Err(Error::Store(_)) => {}
                Err(error) => panic!("{error}"),
            }
            let mut world = self.store.world();
            world.may_fail = false;
            let lost = world.lost.take().or_else(|| world.objects.lost());
            if lost.is_some() {
                return lost;
            }
        }
        None
    }

    fn is_sound(&self) -> bool {
        self.is_sound_in(&self.repository, &Depth::Names)
    }

    fn is_sound_in(&self, repository: &Repository, depth: &Depth<'_>) -> bool {
        let signers = self.keeper.allowed_signers().unwrap();
        let (checked, _) = check(repository, HOST, Selection::All, depth, Some(&signers)).expect("it can be read");
        checked.bad.iter().for_each(|bad| println!("{}: {}", bad.object, bad.what));
        checked.breaks.iter().for_each(|broken| println!("{broken}"));
        checked.is_sound()
    }
}

/// The newest backup is kept, and the required number of good ones.
fn keeps_enough(host: &HostPlan) {
    let kept: Vec<&Receipt> = host.kept.iter().map(|kept| &kept.link.receipt).collect();
    let removed: Vec<&Receipt> = host.removed.iter().map(|link| &link.receipt).collect();
    let newest = kept.iter().chain(&removed).map(|receipt| receipt.number).max();
    assert_eq!(kept.last().map(|receipt| receipt.number), newest);
    let good = |of: &[&Receipt]| of.iter().filter(|receipt| receipt.is_good()).count();
    assert!(good(&kept) >= (good(&kept) + good(&removed)).min(2));
}

#[test]
fn no_backup_loses_an_object_while_runs_and_prunes_interleave() {
    let directory = tempfile::tempdir().unwrap();
    let mut left = 0;
    for seed in 0..SEEDS {
        let simulation = Simulation::new(directory.path(), seed, archive::prune::ORPHAN_DAYS);
        assert_eq!(simulation.run(PRUNES), None, "seed {seed}");
        let world = simulation.store.world();
        left += world.objects.receipts.len();
        assert!(world.host.highest > 3, "seed {seed}");
    }
    assert!(left > 340, "of each, a few stay: {left}");
}

#[test]
fn a_pruned_chain_is_sound() {
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..20 {
        let simulation = Simulation::new(directory.path(), seed, archive::prune::ORPHAN_DAYS);
        assert_eq!(simulation.run(4), None, "seed {seed}");
        assert!(simulation.is_sound(), "seed {seed}");
    }
}

#[test]
fn a_check_beside_a_prune_does_not_miss_what_that_removes() {
    for seed in 0..10 {
        let directory = tempfile::tempdir().unwrap();
        let simulation = Arc::new(Simulation::new(directory.path(), seed, archive::prune::ORPHAN_DAYS));
        {
            let mut world = simulation.store.world();
            let World { objects, host, .. } = &mut *world;
            (0..150).for_each(|_| host.step(objects));
        }
        let beside = Beside { simulation: Arc::clone(&simulation), random: Mutex::new(Random(seed + 7)) };
        let repository = Repository::open(Box::new(beside)).unwrap();
        for depth in [Depth::Names, Depth::Objects] {
            assert!(simulation.is_sound_in(&repository, &depth), "seed {seed}");
        }
        // What is really lost is still found.
        let lost = {
            let mut world = simulation.store.world();
            let lost = world.objects.receipts.values().next_back().unwrap().manifest_name();
            world.objects.all.remove(&lost);
            lost
        };
        assert!(!simulation.is_sound(), "seed {seed}: {lost}");
    }
}

/// The negative control: without the minimum age, the simulation finds a loss.
#[test]
fn without_the_age_a_running_backup_loses_its_packs() {
    let directory = tempfile::tempdir().unwrap();
    let lost = (0..50).filter(|seed| Simulation::new(directory.path(), *seed, 0).run(PRUNES).is_some()).count();
    assert!(lost > 5, "{lost} of 50");
}
