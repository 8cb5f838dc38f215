//! Simulates concurrent runs and prunes: whatever happens between two calls of a prune, no backup loses an object, and
//! nothing is removed that must be kept.

mod host;
mod objects;
mod simulated_store;

use std::{
    collections::BTreeSet,
    fmt,
    io::Read,
    ops::Range,
    path::Path,
    sync::{Arc, Mutex},
};

use archive::{
    names,
    receipt::{self, Summary},
    retention::Policy,
    sshsig::SigningKey,
};
use jiff::SignedDuration;
use store::{Body, Deletion, Error as StoreError, Listed, Name, Put, Store};

use self::{
    host::Host,
    objects::{Objects, Random},
    simulated_store::{Simulated, World},
};
use super::{HostPlan, Plan, PruneOptions, plan, prune};
use crate::{
    Error, Location, PruneConfig, Repository,
    check::{Depth, Selection, check},
};

/// Simulations, each of several prunes.
const SEEDS: u64 = 170;
const PRUNES: u32 = 6;
const HOST: &str = "db1";
const POLICY: Policy = Policy { keep_last: 2, daily: 3, weekly: 1, monthly: 0, yearly: 0, min_good: 2 };

/// The same store for another user: a prune runs before some of the calls, and may be killed after some removals.
struct StoreWithPrunes {
    simulation: Arc<Simulation>,
    random: Mutex<Random>,
}

impl fmt::Debug for StoreWithPrunes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreWithPrunes")
    }
}

impl StoreWithPrunes {
    fn store(&self) -> &Simulated {
        let mut random = self.random.lock().unwrap();
        if random.is_one_of(4) {
            self.simulation.store.world().removals = random.below(12);
            match self.simulation.prune() {
                Ok(_) | Err(Error::Store(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        &self.simulation.store
    }
}

impl Store for StoreWithPrunes {
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
        let host = Host::new(host_key, Random(seed));
        let objects = Objects::new("2026-01-01T00:00:00Z".parse().unwrap());
        let random = Random(seed.wrapping_mul(31));
        let world = World {
            objects,
            host,
            random,
            may_fail: false,
            removals: u64::MAX,
            stale_hours: 0,
            is_quiet: false,
            lost: None,
        };
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
            accept_unproven: false,
            orphan_days,
            state: path("unused"),
        };
        Self { store, repository, keeper }
    }

    fn prune(&self) -> Result<Plan, Error> {
        let options = PruneOptions { allow_shrunk: true, ..PruneOptions::default() };
        let plan = plan(&self.repository, &self.keeper, &options, self.repository.store().now())?;
        plan.hosts.iter().for_each(keeps_enough);
        prune(&self.repository, &self.keeper, &plan, &|_| ()).map(|_| plan)
    }

    /// Prunes while the host does nothing, and the store does not fail.
    fn prune_alone(&self) -> Plan {
        self.store.world().is_quiet = true;
        let plan = self.prune().unwrap();
        self.store.world().is_quiet = false;
        plan
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
                Ok(_) | Err(Error::Store(_)) => {}
                // What an earlier listing had seems to be missing.
                Err(Error::Prune { .. }) if self.store.world().stale_hours > 0 => {}
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
    let kept: Vec<&Summary> = host.kept.iter().map(|kept| &kept.link.receipt).collect();
    let removed: Vec<&Summary> = host.removed.iter().map(|link| &link.receipt).collect();
    let newest = kept.iter().chain(&removed).map(|receipt| receipt.number).max();
    assert_eq!(kept.last().map(|receipt| receipt.number), newest);
    let good = |of: &[&Summary]| of.iter().filter(|receipt| receipt.is_good()).count();
    assert!(good(&kept) >= (good(&kept) + good(&removed)).min(2));
    assert!(good(&kept) >= 2 || removed.is_empty());
}

#[test]
fn no_backup_loses_an_object_while_runs_and_prunes_interleave() {
    let directory = tempfile::tempdir().unwrap();
    let (mut left, mut repacked) = (0, 0);
    for seed in 0..SEEDS {
        let simulation = Simulation::new(directory.path(), seed, archive::prune::ORPHAN_DAYS);
        assert_eq!(simulation.run(PRUNES), None, "seed {seed}");
        let world = simulation.store.world();
        left += world.objects.receipts.len();
        repacked += world.host.repacked;
        assert!(world.host.highest > 3, "seed {seed}");
    }
    assert!(left > 340, "of each, a few stay: {left}");
    assert!(repacked > 340, "packs of which little was needed are not used any more: {repacked}");
}

/// Locks end in another order than backups go: a receipt can still be locked when those of its packs have ended, and the
/// other way round. No prune waits so long that a lock of what it keeps ends.
#[test]
fn no_locked_backup_loses_an_object_and_kept_ones_stay_locked() {
    let directory = tempfile::tempdir().unwrap();
    let (mut locked, mut checked) = (0, 0);
    for seed in 0..60 {
        let simulation = Simulation::new(directory.path(), seed, archive::prune::ORPHAN_DAYS);
        let lock = SignedDuration::from_hours(24 * 30);
        simulation.store.world().objects.lock = Some(lock);
        assert_eq!(simulation.run(PRUNES), None, "seed {seed}");
        let plan = simulation.prune_alone();
        let world = simulation.store.world();
        let kept: BTreeSet<_> =
            plan.hosts.iter().flat_map(|host| &host.kept).map(|kept| kept.link.receipt.number).collect();
        locked += world.objects.receipts.len() - kept.len();
        for receipt in world.objects.receipts.values().filter(|receipt| kept.contains(&receipt.number)) {
            let own = [names::receipt(HOST, receipt.number), names::signature(HOST, receipt.number)];
            for object in receipt.objects().map(|(object, _)| object).chain(own) {
                let end = world.objects.lock_end(&object);
                assert!(end.is_some_and(|end| end >= world.objects.now + lock / 2), "seed {seed}: {object}: {end:?}");
                checked += 1;
            }
        }
    }
    assert!(locked > 20, "receipts that only a lock keeps: {locked}");
    assert!(checked > 600, "{checked}");
}

/// A run lasts at most six days, and its packs are old after seven: a listing may be a day old.
#[test]
fn no_backup_loses_an_object_because_a_listing_is_old() {
    let directory = tempfile::tempdir().unwrap();
    let mut removed = 0;
    for seed in 0..60 {
        let simulation = Simulation::new(directory.path(), seed, archive::prune::ORPHAN_DAYS);
        simulation.store.world().stale_hours = 24;
        assert_eq!(simulation.run(PRUNES), None, "seed {seed}");
        let world = simulation.store.world();
        removed += world.host.highest - world.objects.receipts.len() as u64;
    }
    assert!(removed > 60, "{removed}");
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
        let beside = StoreWithPrunes { simulation: Arc::clone(&simulation), random: Mutex::new(Random(seed + 7)) };
        let repository = Repository::open(Box::new(beside)).unwrap();
        for depth in [Depth::Names, Depth::Objects] {
            assert!(simulation.is_sound_in(&repository, &depth), "seed {seed}");
        }
        // A real loss is still found.
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
