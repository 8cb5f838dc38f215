//! Removes backups that retention does not keep and objects without a receipt. Extends the locks of all others.
//!
//! A declaration is stored before anything is removed, to distinguish a pruned receipt from a lost one. Receipts are
//! removed first, then the objects that no other receipt needs: after an interruption, all remaining backups restore,
//! and the next prune removes the rest. A running backup uses packs of the newest receipt, which is always kept, and
//! its own packs, which are too young to be removed. So no lock is needed.

mod binlogs;
mod live;
mod locks;
mod newest;
mod plan;
mod removable;
mod report;
#[cfg(test)]
mod simulation;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use archive::{
    names::{self, Number},
    prune::{NAMESPACE, PruneDeclaration, Removed, RemovedLogs, SCHEMA, is_signature_left},
    sshsig,
};
use serde::Serialize;
use store::{Deletion, LockState, Put};

pub use self::{
    binlogs::BinlogPlan,
    plan::{HostPlan, Kept, Plan, PruneOptions, hosts, plan},
    report::PruneReport,
};
use self::{
    locks::{LockEnds, Unlocked},
    newest::NewestSeen,
};
use crate::{Error, PruneConfig, Repository, parallel, repository::name};

/// Number of names that are tried for the declaration: another keeper may write one in the same second.
const ATTEMPTS: u32 = 10;
/// Number of receipts of binary logs that are removed together: each names parts of up to a minute.
const RECEIPTS_AT_ONCE: usize = 256;
/// Number of objects after which the ends of their locks are noted, so that an interrupted prune goes on from there.
const NOTED_AT_ONCE: usize = 250_000;

/// Result of a prune.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Backups removed.
    pub backups: u64,
    /// Objects removed, receipts and signatures included.
    pub objects: u64,
    /// Their length in bytes, without receipts and signatures.
    pub bytes: u64,
    /// Objects that a lock still protects.
    pub locked: u64,
    /// Objects that stay, and whose locks were extended.
    pub extended: u64,
    /// Those of them that were not locked until then.
    pub unlocked: u64,
}

/// Carries out a plan; `progress` is called for each object that is removed.
///
/// # Errors
/// [`Error`]; the next prune removes the rest.
pub fn prune(
    repository: &Repository,
    keeper: &PruneConfig,
    plan: &Plan,
    progress: &dyn Fn(&Pruned),
) -> Result<Pruned, Error> {
    // Without the note, the next prune notices only what is missing in the chain.
    let newest = plan.hosts.iter().map(|host| (host.host.as_str(), host.kept.last().map(|kept| &kept.link)));
    let _ = NewestSeen::read(&keeper.state, &repository.id).note(newest);
    if plan.hosts.iter().any(HostPlan::removes_receipts) {
        declare(repository, keeper, plan)?;
    }
    let mut removal = Removal { repository, state: &keeper.state, pruned: Pruned::default(), progress };
    for host in &plan.hosts {
        removal.host(host)?;
    }
    // Last, because a policy of an older version does not permit it.
    removal.extend_locks(&plan.to_lock, &mut LockEnds::default())?;
    Ok(removal.pruned)
}

/// Stores the declaration, after its signature.
fn declare(repository: &Repository, keeper: &PruneConfig, plan: &Plan) -> Result<(), Error> {
    let removed = |host: &HostPlan| -> Vec<Removed> {
        let one = |link: &archive::chain::Link| Removed {
            number: link.receipt.number,
            sha256: link.sha256,
            previous: link.receipt.previous,
        };
        host.removed.iter().map(one).collect()
    };
    let hosts = plan.hosts.iter().filter(|host| !host.removed.is_empty());
    let declaration = PruneDeclaration {
        schema: SCHEMA.to_owned(),
        repo: repository.id.clone(),
        keeper: keeper.name.clone(),
        at: plan.at,
        hosts: hosts.map(|host| (host.host.clone(), removed(host))).collect(),
        binlogs: plan.hosts.iter().filter(|host| !host.binlogs.is_empty()).map(removed_logs).collect(),
        tool: concat!("sealant ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let bytes = declaration.encode()?;
    let signature = sshsig::sign(&keeper.signing_key()?, NAMESPACE, &bytes);
    for attempt in 0..ATTEMPTS {
        let object = names::prune(plan.at, attempt);
        let beside = names::prune_signature(&object).unwrap_or_default();
        if put(repository, &beside, signature.as_bytes())? == Put::New && put(repository, &object, &bytes)? == Put::New
        {
            return Ok(());
        }
    }
    let (object, reason) = (names::prune(plan.at, 0), "other keepers write at the same time".to_owned());
    Err(Error::Untrusted { object, reason })
}

fn removed_logs(host: &HostPlan) -> (String, BTreeMap<String, RemovedLogs>) {
    let of_server = |logs: &BinlogPlan| Some((logs.server.clone(), logs.declared()?));
    (host.host.clone(), host.binlogs.iter().filter_map(of_server).collect())
}

fn put(repository: &Repository, object: &str, bytes: &[u8]) -> Result<Put, Error> {
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Ok(repository.store().put_new(&name(object)?, &mut std::io::Cursor::new(bytes), length)?)
}

struct Removal<'r> {
    repository: &'r Repository,
    /// The keeper's state directory.
    state: &'r Path,
    pruned: Pruned,
    progress: &'r dyn Fn(&Pruned),
}

impl Removal<'_> {
    fn host(&mut self, host: &HostPlan) -> Result<(), Error> {
        self.extend_locks_of(&host.host, &host.to_lock)?;
        // While a receipt exists, the backup must stay restorable.
        let mut of_locked = BTreeSet::new();
        for link in &host.removed {
            let number = link.receipt.number;
            if self.delete(&names::receipt(&host.host, number), 0)? == Deletion::Locked {
                let locked = self.repository.receipt(&host.host, number)?;
                let Some(locked) = locked.filter(|locked| locked.sha256 == link.sha256) else {
                    let reason = "it is locked, and has changed since it was read".to_owned();
                    return Err(Error::Untrusted { object: names::receipt(&host.host, number), reason });
                };
                of_locked.extend(locked.receipt.objects().map(|(object, _)| object));
                continue;
            }
            // The signature stays: its name shows a host with an old state that the number was in use.
            self.pruned.backups = self.pruned.backups.saturating_add(1);
        }
        let unneeded = host.unneeded.iter().filter(|(object, _)| !of_locked.contains(*object));
        let unneeded: Vec<(&str, u64)> = unneeded.map(|(object, bytes)| (object.as_str(), *bytes)).collect();
        self.delete_all(&unneeded)?;
        host.binlogs.iter().try_for_each(|logs| self.logs(&host.host, logs))
    }

    /// Extends the locks of a host's objects, and notes their ends for the next prune.
    fn extend_locks_of(&mut self, host: &str, objects: &[Unlocked]) -> Result<(), Error> {
        let mut ends = LockEnds::read(self.state, &self.repository.id, host);
        for part in objects.chunks(NOTED_AT_ONCE) {
            let extended = self.extend_locks(part, &mut ends);
            // Without the note, the next prune asks the store again.
            let _ = ends.write(self.repository.store().now());
            extended?;
        }
        Ok(())
    }

    fn extend_locks(&mut self, objects: &[Unlocked], ends: &mut LockEnds) -> Result<(), Error> {
        let store = self.repository.store();
        let extend =
            |unlocked: &Unlocked| -> Result<LockState, Error> { Ok(store.extend_lock(&name(&unlocked.object)?)?) };
        parallel::each(objects, &extend, &mut |index, lock| {
            let LockState { until, is_extended, was_locked } = lock?;
            let id = objects.get(index).and_then(|unlocked| unlocked.id);
            if let Some((id, until)) = id.zip(until) {
                ends.note(id, until);
            }
            self.pruned.extended = self.pruned.extended.saturating_add(u64::from(is_extended));
            self.pruned.unlocked = self.pruned.unlocked.saturating_add(u64::from(is_extended && !was_locked));
            (self.progress)(&self.pruned);
            Ok(())
        })
    }

    /// Removes receipts of binary logs, each after its parts: while a receipt exists, the next prune finds its
    /// remaining parts.
    fn logs(&mut self, host: &str, logs: &BinlogPlan) -> Result<(), Error> {
        for receipts in logs.removed.chunks(RECEIPTS_AT_ONCE) {
            let parts = receipts.iter().flat_map(|receipt| {
                receipt.parts.iter().map(move |(part, bytes)| (receipt.number, (part.as_str(), *bytes)))
            });
            let (numbers, parts): (Vec<Number>, Vec<(&str, u64)>) = parts.unzip();
            let locked = self.delete_all(&parts)?;
            let locked: BTreeSet<&Number> = locked.into_iter().filter_map(|index| numbers.get(index)).collect();
            let mut removed: Vec<Number> = receipts.iter().map(|receipt| receipt.number).collect();
            removed.retain(|number| !locked.contains(number));
            removed = self.delete_each(&removed, &|number| names::binlog_receipt(host, &logs.server, number))?;
            removed.retain(|number| !is_signature_left(*number));
            self.delete_each(&removed, &|number| names::binlog_signature(host, &logs.server, number))?;
        }
        Ok(())
    }

    /// Deletes the object of each number; returns the numbers of those that are not locked.
    fn delete_each(&mut self, numbers: &[Number], object: &dyn Fn(Number) -> String) -> Result<Vec<Number>, Error> {
        let objects: Vec<String> = numbers.iter().map(|number| object(*number)).collect();
        let objects: Vec<(&str, u64)> = objects.iter().map(|object| (object.as_str(), 0)).collect();
        let locked = self.delete_all(&objects)?;
        let numbers = numbers.iter().enumerate().filter(|(index, _)| !locked.contains(index));
        Ok(numbers.map(|(_, number)| *number).collect())
    }

    /// Deletes objects, many at a time; returns the indexes of those that are locked.
    fn delete_all(&mut self, objects: &[(&str, u64)]) -> Result<BTreeSet<usize>, Error> {
        let store = self.repository.store();
        let delete = |(object, _): &(&str, u64)| -> Result<Deletion, Error> { Ok(store.delete(&name(object)?)?) };
        let mut locked = BTreeSet::new();
        parallel::each(objects, &delete, &mut |index, deleted| {
            let deletion = deleted?;
            self.count(deletion, objects.get(index).map_or(0, |(_, bytes)| *bytes));
            locked.extend(Some(index).filter(|_| deletion == Deletion::Locked));
            Ok::<_, Error>(())
        })?;
        Ok(locked)
    }

    fn delete(&mut self, object: &str, bytes: u64) -> Result<Deletion, Error> {
        let deletion = self.repository.store().delete(&name(object)?)?;
        self.count(deletion, bytes);
        Ok(deletion)
    }

    fn count(&mut self, deletion: Deletion, bytes: u64) {
        match deletion {
            Deletion::Done => {
                self.pruned.objects = self.pruned.objects.saturating_add(1);
                self.pruned.bytes = self.pruned.bytes.saturating_add(bytes);
            }
            Deletion::Locked => self.pruned.locked = self.pruned.locked.saturating_add(1),
        }
        (self.progress)(&self.pruned);
    }
}

/// Objects by name, with their length in bytes.
type Objects = BTreeMap<String, u64>;

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        io::Read,
        ops::Range,
        sync::Mutex,
        time::{Duration, SystemTime},
    };

    use archive::{Digest, binlog::BinlogReceipt, receipt, retention::Policy, sshsig::SigningKey};
    use jiff::{SignedDuration, Timestamp};
    use store::{Body, Directory, Listed, Name, Store};

    use super::{plan::shared_to_lock, *};
    use crate::{
        Location,
        repository::{Attempt, put_signed},
    };

    /// Ending of the names of objects that cannot be deleted.
    const LOCKED: &str = "-locked.age";

    /// A store that locks objects for two hours, extends locks to four, and notes whose locks it was asked for.
    #[derive(Debug)]
    struct Locking {
        inner: Directory,
        extended: &'static Mutex<Vec<String>>,
    }

    impl Store for Locking {
        fn put_new(&self, name: &Name, body: &mut dyn Body, bytes: u64) -> Result<Put, store::Error> {
            self.inner.put_new(name, body, bytes)
        }

        fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, store::Error> {
            self.inner.get(name, range)
        }

        fn head(&self, name: &Name) -> Result<Option<u64>, store::Error> {
            self.inner.head(name)
        }

        fn list(&self, prefix: &str) -> Result<Vec<Listed>, store::Error> {
            self.inner.list(prefix)
        }

        fn delete(&self, name: &Name) -> Result<Deletion, store::Error> {
            if name.as_str().ends_with(LOCKED) { Ok(Deletion::Locked) } else { self.inner.delete(name) }
        }

        fn lock(&self) -> Option<SignedDuration> {
            Some(SignedDuration::from_hours(2))
        }

        fn extend_lock(&self, name: &Name) -> Result<LockState, store::Error> {
            self.extended.lock().unwrap().push(name.to_string());
            Ok(LockState { until: Some(after(240)), is_extended: true, was_locked: true })
        }

        fn location(&self) -> String {
            self.inner.location()
        }
    }

    #[test]
    fn locks_of_objects_without_a_host_are_extended() {
        static EXTENDED: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let directory = tempfile::tempdir().unwrap();
        let open = || Directory::make(&directory.path().join("repository")).unwrap();
        Repository::create(&open()).unwrap();
        let repository = Repository::open(Box::new(Locking { inner: open(), extended: &EXTENDED })).unwrap();
        let (now, own) = (Timestamp::now(), names::REPOSITORY.to_owned());
        let declaration = names::prune(now, 0);
        put(&repository, &declaration, b"{}").unwrap();
        let to_lock = |minutes| shared_to_lock(&repository, after(minutes)).unwrap();
        assert_eq!(to_lock(50), [Unlocked { object: own.clone(), id: None }], "less than half of the time has passed");
        let plan = Plan { at: now, hosts: Vec::new(), to_lock: to_lock(70) };
        let mut removal = removal(&repository, directory.path());
        removal.extend_locks(&plan.to_lock, &mut LockEnds::default()).unwrap();
        let mut extended = std::mem::take(&mut *EXTENDED.lock().unwrap());
        extended.sort_unstable();
        assert_eq!(extended, [declaration, own]);
        assert_eq!(removal.pruned.extended, 2);
    }

    #[test]
    fn a_receipt_of_binary_logs_stays_while_a_part_of_it_is_locked() {
        static EXTENDED: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let directory = tempfile::tempdir().unwrap();
        let open = || Directory::make(&directory.path().join("repository")).unwrap();
        Repository::create(&open()).unwrap();
        let repository = Repository::open(Box::new(Locking { inner: open(), extended: &EXTENDED })).unwrap();
        let mut logs = BinlogPlan::of_receipts("7", 1..=300);
        for receipt in &mut logs.removed {
            let ending = if receipt.number.is_multiple_of(100) { LOCKED } else { ".age" };
            for part in ["a", "b"] {
                receipt.parts.insert(format!("{}{part}-{}{ending}", names::binlogs("db1"), receipt.number), 9);
            }
        }
        let all: BTreeSet<String> = logs.objects("db1").collect();
        all.iter().for_each(|object| assert_eq!(put(&repository, object, b"something").unwrap(), Put::New));
        let mut removal = removal(&repository, directory.path());
        removal.logs("db1", &logs).unwrap();
        let left = repository.store().list(names::HOSTS).unwrap();
        let left: BTreeSet<String> = left.iter().map(|left| left.name.to_string()).collect();
        let of_locked = [100, 200, 300].iter().flat_map(|number| {
            let receipt = [names::binlog_receipt, names::binlog_signature].map(|of| of("db1", "7", *number));
            ["a", "b"]
                .map(|part| format!("{}{part}-{number}{LOCKED}", names::binlogs("db1")))
                .into_iter()
                .chain(receipt)
        });
        let taken = [1, 64, 128, 192, 256].map(|number| names::binlog_signature("db1", "7", number));
        assert_eq!(left, of_locked.chain(taken).collect());
        let removed = (all.len() - left.len()) as u64;
        assert_eq!((removal.pruned.locked, removal.pruned.objects), (6, removed));
    }

    fn after(minutes: i64) -> Timestamp {
        Timestamp::now().checked_add(SignedDuration::from_mins(minutes)).unwrap()
    }

    fn removal<'r>(repository: &'r Repository, state: &'r Path) -> Removal<'r> {
        Removal { repository, state, pruned: Pruned::default(), progress: &|_| () }
    }

    /// Puts a backup without packs, with its receipt.
    fn put_backup(repository: &Repository, key: &SigningKey) {
        let (repo, sha256) = (&repository.id, Digest::compute(b"manifest"));
        let text = format!(
            r#"{{"schema":"sealant.receipt/1","repo":"{repo}","host":"db1","number":1,"kind":"backup",
            "began":"2026-11-23T01:00:00Z","ended":"2026-11-23T01:00:00Z","full":true,"provider":"stopped",
            "manifest":{{"sha256":"{sha256}","bytes":8}},"packs":[],
            "bytes":{{"data":0,"read":0,"changed":0,"stored":0}},
            "pages":{{"seen":0,"changed":0,"damaged":0,"unproven":0}},"recipients":[],"tool":"sealant"}}"#
        );
        let signature = sshsig::sign(key, receipt::NAMESPACE, text.as_bytes());
        put(repository, &names::manifest("db1", 1), b"manifest").unwrap();
        let objects = [names::signature("db1", 1), names::receipt("db1", 1)];
        assert!(put_signed(repository, &objects, signature.as_bytes(), text.as_bytes(), Attempt::First).unwrap());
    }

    /// A keeper with its files in a directory, who trusts the host db1.
    fn keeper(directory: &Path, host_key: &SigningKey) -> PruneConfig {
        let path = |name: &str| directory.join(name);
        let keeper_key = SigningKey::generate().unwrap();
        fs::write(path("key"), keeper_key.to_secret_text("keeper").unwrap().as_bytes()).unwrap();
        let signers = format!(
            "db1 namespaces=\"{}\" {}\nkeeper namespaces=\"{NAMESPACE}\" {}\n",
            receipt::NAMESPACE,
            host_key.public(),
            keeper_key.public()
        );
        fs::write(path("signers"), signers).unwrap();
        PruneConfig {
            repository: Location::Directory(path("unused")),
            name: "keeper".to_owned(),
            signing_key: path("key"),
            allowed_signers: path("signers"),
            policy: Policy::default(),
            accept_unproven: false,
            orphan_days: archive::prune::ORPHAN_DAYS,
            state: path("state"),
        }
    }

    #[test]
    fn what_a_hidden_backup_needs_stays() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Box::new(Directory::make(&directory.path().join("repository")).unwrap());
        Repository::create(&*open()).unwrap();
        let repository = Repository::open(open()).unwrap();
        let host_key = SigningKey::generate().unwrap();
        put_backup(&repository, &host_key);
        let keeper = keeper(directory.path(), &host_key);
        let late = after(30 * 24 * 60);
        let planned = |allow_breaks| {
            let options = PruneOptions { allow_breaks, ..PruneOptions::default() };
            plan(&repository, &keeper, &options, late)
        };
        let prune = |plan: &Plan| prune(&repository, &keeper, plan, &|_| ()).unwrap();
        assert_eq!(prune(&planned(false).unwrap()).objects, 0);
        let object = |name: &str| directory.path().join("repository").join(name);
        let manifest = object(&names::manifest("db1", 1));
        for name in [names::receipt("db1", 1), names::signature("db1", 1)] {
            fs::remove_file(object(&name)).unwrap();
        }
        let refused = planned(false).unwrap_err();
        assert!(matches!(&refused, Error::Prune { host, .. } if host == "db1"), "{refused}");
        assert!(refused.to_string().contains("backup 1 is hidden or gone"), "{refused}");
        assert!(manifest.exists());
        let accepted = planned(true).unwrap();
        assert_eq!((prune(&accepted).objects, manifest.exists()), (1, false));
        assert!(planned(false).unwrap().hosts.is_empty(), "it is accepted that the host has no backups");
    }

    /// Puts receipts of binary logs, each with one part, which begins a log. Returns the names of the objects of each.
    fn put_logs(repository: &Repository, key: &SigningKey) -> [[String; 3]; 3] {
        let mut previous = None;
        [1, 2, 3].map(|number: u32| {
            let of = removable::tests::receipt(number.into(), &[(4, 1000 * number)]);
            let receipt = BinlogReceipt { repo: repository.id.clone(), previous, ..of };
            let (part, bytes) = (receipt.segments[0].name("db1", "7"), receipt.encode().unwrap());
            previous = Some(Digest::compute(&bytes));
            let signature = sshsig::sign(key, receipt::NAMESPACE, &bytes);
            let names = [names::binlog_signature, names::binlog_receipt].map(|of| of("db1", "7", number.into()));
            assert!(put_signed(repository, &names, signature.as_bytes(), &bytes, Attempt::First).unwrap());
            put(repository, &part, b"part").unwrap();
            let [signature, receipt] = names;
            [part, receipt, signature]
        })
    }

    #[test]
    fn binary_logs_without_backups_go_when_a_backup_would() {
        static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let directory = tempfile::tempdir().unwrap();
        let open = || Directory::make(&directory.path().join("repository")).unwrap();
        Repository::create(&open()).unwrap();
        let repository = Repository::open(Box::new(Locking { inner: open(), extended: &ASKED })).unwrap();
        let host_key = SigningKey::generate().unwrap();
        let logs = put_logs(&repository, &host_key);
        let mut keeper = keeper(directory.path(), &host_key);
        let planned = |keeper: &PruneConfig, days: i64, allow_breaks| {
            let options = PruneOptions { allow_breaks, ..PruneOptions::default() };
            plan(&repository, keeper, &options, after(days * 24 * 60)).unwrap()
        };
        let receipts = |plan: &Plan| plan.hosts[0].binlogs.iter().map(|logs| logs.receipts).sum::<usize>();
        assert_eq!([372, 374].map(|days| receipts(&planned(&keeper, days, false))), [0, 2]);
        keeper.policy = Policy { daily: 0, weekly: 0, monthly: 0, ..Policy::default() };
        assert_eq!(receipts(&planned(&keeper, 9999, false)), 0, "it only counts backups");
        keeper.policy = Policy::default();

        // The receipt of a pack may be hidden.
        let pack = names::pack("db1", &Digest::compute(b"pack"));
        put(&repository, &pack, b"pack").unwrap();
        for (allow_breaks, unneeded) in [(false, 0), (true, 1)] {
            let plan = planned(&keeper, 374, allow_breaks);
            assert_eq!((receipts(&plan), plan.hosts[0].unneeded_objects()), (0, unneeded));
        }
        repository.store().delete(&pack.parse().unwrap()).unwrap();

        let pruned = prune(&repository, &keeper, &planned(&keeper, 374, false), &|_| ()).unwrap();
        let left: BTreeSet<String> =
            repository.store().list(names::HOSTS).unwrap().iter().map(|left| left.name.to_string()).collect();
        let [[_, _, first], [..], last] = logs;
        assert_eq!((left, pruned.objects), (last.iter().cloned().chain([first]).collect(), 5));
        let asked = std::mem::take(&mut *ASKED.lock().unwrap());
        assert!(last.iter().all(|object| asked.contains(object)) && asked.len() == 4, "{asked:?}");
    }

    #[test]
    fn the_store_is_asked_only_for_locks_that_may_end_soon() {
        static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let open = || Directory::make(&path("repository")).unwrap();
        Repository::create(&open()).unwrap();
        let repository = Repository::open(Box::new(Locking { inner: open(), extended: &ASKED })).unwrap();
        let host_key = SigningKey::generate().unwrap();
        put_backup(&repository, &host_key);
        let keeper = keeper(directory.path(), &host_key);
        let asked_after = |minutes: i64| {
            let plan = plan(&repository, &keeper, &PruneOptions::default(), after(minutes)).unwrap();
            let pruned = prune(&repository, &keeper, &plan, &|_| ()).unwrap();
            let mut asked = std::mem::take(&mut *ASKED.lock().unwrap());
            assert_eq!(pruned.extended, asked.len() as u64);
            asked.sort_unstable();
            asked
        };
        let manifest = names::manifest("db1", 1);
        let own = names::REPOSITORY.to_owned();
        let all = [manifest.clone(), names::receipt("db1", 1), names::signature("db1", 1), own.clone()];
        assert_eq!(asked_after(50), std::slice::from_ref(&own), "less than half of the time has passed");
        assert_eq!(asked_after(70), all);
        assert_eq!(asked_after(75), std::slice::from_ref(&own));
        assert_eq!(asked_after(190), all, "less than half of the time of the new lock is left");

        // Another object of that name is not locked by the old one's lock.
        let replaced = File::options().write(true).open(path("repository").join(&manifest)).unwrap();
        replaced.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        assert_eq!(asked_after(75), [manifest, own.clone()]);
        assert_eq!(asked_after(75), [own]);

        // Without its notes, the keeper asks for everything again.
        fs::remove_dir_all(path("state")).unwrap();
        assert_eq!(asked_after(75), all);
        fs::remove_dir_all(path("state")).unwrap();
        fs::write(path("state"), "not a directory").unwrap();
        assert_eq!((asked_after(75), asked_after(75)), (all.to_vec(), all.to_vec()));
    }

    /// A host with an old state, or with a copy of another host's state, may have no permission to read. Then only a
    /// refused put shows that a number was used.
    #[test]
    fn a_number_that_a_prune_has_removed_is_soon_found_taken() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Box::new(Directory::make(&directory.path().join("repository")).unwrap());
        let (_, id) = Repository::create(&*open()).unwrap();
        let repository = Repository::open(open()).unwrap();
        let names_of = |number| [names::binlog_signature, names::binlog_receipt].map(|of| of("db1", "7", number));
        let logs = BinlogPlan::of_receipts("7", 1..=200);
        for object in logs.objects("db1") {
            put(&repository, &object, b"first").unwrap();
        }
        removal(&repository, directory.path()).logs("db1", &logs).unwrap();
        let left: Vec<String> =
            repository.store().list(names::HOSTS).unwrap().iter().map(|left| left.name.to_string()).collect();
        assert_eq!(left, [1, 64, 128, 192].map(|number| names::binlog_signature("db1", "7", number)));

        let unread = Repository::unread(open(), id);
        let put = |number| put_signed(&unread, &names_of(number), b"second", b"second", Attempt::First).unwrap();
        let taken = (70..).find(|number| !put(*number));
        assert_eq!(taken, Some(128));
    }
}
