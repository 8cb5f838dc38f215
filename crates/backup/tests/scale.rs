//! `list`, `prune --dry-run` and `check` over a repository with many objects, of which only receipts have content.
//!
//! `SEALANT_SCALE_OBJECTS` (10,000) is the number of objects, `SEALANT_SCALE_HOSTS` (2) that of the hosts they belong to.
//! Time and memory are printed: `make scale`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, which prints its measurements")]

mod simulated;

use std::{fs, time::Instant};

use archive::{prune::ORPHAN_DAYS, retention::Policy};
use backup::{
    Location, PruneConfig, Repository,
    check::{Depth, Selection, check},
    list::ListReport,
    prune::{PruneOptions, plan},
};
use simulated::{DAYS, LOG_PARTS, Shape, SimulatedStore};

/// Days of which no backup is kept.
const REMOVED: u32 = 10;

#[test]
fn receipts_of_many_objects_are_listed_pruned_and_checked() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (objects, hosts) = (number("SEALANT_SCALE_OBJECTS", 10_000), number("SEALANT_SCALE_HOSTS", 2));
    let shape = Shape::new(objects / hosts);
    let directory = tempfile::tempdir().unwrap();
    let store = SimulatedStore::make(directory.path(), hosts, shape);
    let keeper = keeper(directory.path(), &store);
    let repository = Repository::open(Box::new(store.clone())).unwrap();
    println!("{objects} objects of {hosts} hosts");
    let names = measured("hosts", || repository.hosts().unwrap());
    assert_eq!(names.len() as u64, hosts);
    measured("list", || names.iter().for_each(|host| lists(&repository, host)));
    measured("prune --dry-run", || prunes(&repository, &keeper, shape));
    measured("check", || names.iter().for_each(|host| checks(&repository, &keeper, host, shape)));
    finds_a_loss(&store, &repository, &names[0]);
}

fn lists(repository: &Repository, host: &str) {
    let list = ListReport::read(repository, host, Vec::new()).unwrap();
    assert_eq!((list.backups.len(), list.windows.len(), list.gaps.len()), (DAYS as usize, 1, 0));
}

fn prunes(repository: &Repository, keeper: &PruneConfig, shape: Shape) {
    let plan = plan(repository, keeper, &PruneOptions::default(), simulated::day(DAYS + 30)).unwrap();
    for host in &plan.hosts {
        assert_eq!((host.kept.len(), host.removed.len()), ((DAYS - REMOVED) as usize, REMOVED as usize));
        // Packs that only removed backups need, and their manifests.
        let removed = u64::from(REMOVED) * (shape.daily + 1);
        assert_eq!(host.unneeded_objects() as u64, removed + shape.orphans);
        // The logs of all days before the oldest backup, but for the last two.
        assert!(host.binlogs.len() == 1 && host.binlogs[0].receipts > 0);
        assert_eq!(host.binlogs[0].parts as u64, host.binlogs[0].receipts as u64 * LOG_PARTS);
    }
}

fn checks(repository: &Repository, keeper: &PruneConfig, host: &str, shape: Shape) {
    let signers = keeper.allowed_signers().unwrap();
    let (checked, _) = check(repository, host, Selection::All, &Depth::Names, Some(&signers)).unwrap();
    assert!(checked.is_sound(), "{:?} {:?}", checked.bad, checked.breaks);
    let named = shape.packs() + u64::from(DAYS) + shape.logs * LOG_PARTS;
    assert_eq!((checked.named, checked.present), (named, named));
    assert_eq!(checked.unnamed.len() as u64, shape.orphans);
}

/// The control: a pack that is missing is found, with the backups that need it.
fn finds_a_loss(store: &SimulatedStore, repository: &Repository, host: &str) {
    store.lose_newest_pack(host);
    let (checked, links) = check(repository, host, Selection::All, &Depth::Names, None).unwrap();
    assert_eq!(checked.bad.len(), 1);
    let newest = links.last().map(|link| link.receipt.number);
    assert_eq!(checked.incomplete.iter().copied().collect::<Vec<_>>(), newest.into_iter().collect::<Vec<_>>());
}

fn keeper(directory: &std::path::Path, store: &SimulatedStore) -> PruneConfig {
    let path = |name: &str| directory.join(name);
    let key = archive::sshsig::SigningKey::generate().unwrap();
    fs::write(path("key"), key.to_secret_text("keeper").unwrap().as_bytes()).unwrap();
    let of_keeper = format!("keeper namespaces=\"{}\" {}\n", archive::prune::NAMESPACE, key.public());
    fs::write(path("signers"), store.signers() + &of_keeper).unwrap();
    let none = Policy { keep_last: 0, daily: 0, weekly: 0, monthly: 0, yearly: 0, min_good: 2 };
    PruneConfig {
        repository: Location::Directory(path("unused")),
        name: "keeper".to_owned(),
        signing_key: path("key"),
        allowed_signers: path("signers"),
        policy: Policy { keep_last: DAYS - REMOVED, ..none },
        accept_unproven: false,
        orphan_days: ORPHAN_DAYS,
        state: path("unused"),
    }
}

/// Prints how long `work` takes, the time of its processors, and the memory that the process had at most meanwhile.
fn measured<T>(what: &str, work: impl FnOnce() -> T) -> T {
    // 5 resets the peak (proc(5)).
    let _ = fs::write("/proc/self/clear_refs", "5");
    let (began, used) = (Instant::now(), processor_seconds());
    let result = work();
    let used = processor_seconds() - used;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim().to_owned();
    println!("{what}: {:.1} s, {used:.1} s of processors, at most {peak} of memory", began.elapsed().as_secs_f64());
    result
}

/// Time of processors that this process has used, from the 14th and 15th field (proc(5)), in hundredths of a second.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = behind_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
