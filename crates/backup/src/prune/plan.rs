//! Decides what a prune keeps and removes.

use std::collections::{BTreeMap, BTreeSet};

use archive::{
    Digest,
    chain::{self, Link},
    names::{self, Number},
    prune::NAMESPACE,
    retention::{self, Candidate, Reason},
    sshsig::AllowedSigners,
};
use jiff::{SignedDuration, Timestamp};
use store::Listed;

use super::{
    Objects,
    binlogs::{self, BinlogPlan},
    live::{Live, Uses},
    locks::{LockEnds, ObjectId, Unlocked},
    newest::NewestSeen,
};
use crate::{
    Error, PruneConfig, Repository,
    declarations::{HostDeclarations, PruneDeclarations, declared},
};

/// Options of a prune.
#[derive(Clone, Debug, Default)]
pub struct PruneOptions {
    /// Prune only this host.
    pub host: Option<String>,
    /// Allow that the newest backup has less than half of the data of the one before it.
    pub allow_shrunk: bool,
    /// Allow missing receipts that no earlier prune removed.
    pub allow_breaks: bool,
}

/// What a prune keeps and removes.
#[derive(Debug)]
pub struct Plan {
    /// When it was made.
    pub at: Timestamp,
    /// Plans by host.
    pub hosts: Vec<HostPlan>,
    /// Objects of no host whose lock to extend.
    pub(super) to_lock: Vec<Unlocked>,
}

/// What a prune keeps and removes for one host.
#[derive(Debug)]
pub struct HostPlan {
    /// Name of the host.
    pub host: String,
    /// Backups that are kept, oldest first.
    pub kept: Vec<Kept>,
    /// Receipts of the backups that are removed, oldest first.
    pub removed: Vec<Link>,
    /// Archived binary logs from before the kept backups, by server.
    pub binlogs: Vec<BinlogPlan>,
    /// Objects that the kept backups need.
    pub(super) live: Live,
    /// Objects of the kept backups, with receipts and signatures, for which more than half of the first lock's time has
    /// passed, and whose lock is not known to last for half of its time.
    pub(super) to_lock: Vec<Unlocked>,
    /// Objects that no kept backup needs and that are old enough, with their length.
    pub(super) unneeded: Objects,
}

/// A backup that is kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its receipt.
    pub link: Link,
    /// Why it is kept.
    pub reasons: BTreeSet<Reason>,
}

impl HostPlan {
    /// Whether it removes receipts, which has to be declared.
    pub(super) fn removes_receipts(&self) -> bool {
        !self.removed.is_empty() || !self.binlogs.is_empty()
    }

    /// Whether backups stay only because fewer than `min_good` are good.
    #[must_use]
    pub fn has_few_good(&self) -> bool {
        let few_good = BTreeSet::from([Reason::FewGood]);
        self.kept.iter().any(|kept| kept.reasons == few_good)
    }

    /// Whether every backup that is kept has damaged pages, so that none would be good if unproven pages were accepted.
    #[must_use]
    pub fn keeps_only_damaged(&self) -> bool {
        self.kept.iter().all(|kept| kept.link.receipt.pages.damaged > 0)
    }

    /// Number of objects to remove, without receipts and signatures.
    #[must_use]
    pub fn unneeded_objects(&self) -> usize {
        self.unneeded.len()
    }

    /// Length of these objects in bytes.
    #[must_use]
    pub fn unneeded_bytes(&self) -> u64 {
        self.unneeded.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }
}

/// Plans a prune. Every receipt must be signed and none may be missing, since any pack may be needed by a hidden
/// receipt: neither one in the chain, nor the newest that an earlier prune has seen.
///
/// # Errors
/// [`Error::Prune`] if something is wrong with the backups of a host; [`Error`].
pub fn plan(
    repository: &Repository,
    keeper: &PruneConfig,
    options: &PruneOptions,
    at: Timestamp,
) -> Result<Plan, Error> {
    let signers = keeper.allowed_signers()?;
    // Without this, every check would report pruned backups as lost.
    let key = *keeper.signing_key()?.public();
    signers.allow(&key, &keeper.name, NAMESPACE).map_err(|_| Error::UnknownKeeper {
        name: keeper.name.clone(),
        signers: keeper.allowed_signers.clone(),
        line: format!("{} namespaces=\"{NAMESPACE}\" {key}", keeper.name),
    })?;
    let (declared, untrusted) = declared(repository, Some(&signers))?;
    if let Some((object, reason)) = untrusted.into_iter().next() {
        return Err(Error::Untrusted { object, reason });
    }
    let seen = NewestSeen::read(&keeper.state, &repository.id);
    let hosts = match &options.host {
        Some(host) => BTreeSet::from([host.clone()]),
        None => hosts_of(repository, &seen)?,
    };
    let planning = Planning { repository, keeper, options, signers, declared, seen, at };
    let hosts = hosts.into_iter().map(|host| planning.host(host)).collect::<Result<_, _>>()?;
    Ok(Plan { at, hosts, to_lock: shared_to_lock(repository, at)? })
}

/// The hosts of a repository: those that have receipts or binary logs, and those that an earlier prune of this keeper has
/// seen.
///
/// # Errors
/// [`Error::Store`].
pub fn hosts(repository: &Repository, keeper: &PruneConfig) -> Result<BTreeSet<String>, Error> {
    hosts_of(repository, &NewestSeen::read(&keeper.state, &repository.id))
}

fn hosts_of(repository: &Repository, seen: &NewestSeen) -> Result<BTreeSet<String>, Error> {
    let mut hosts: BTreeSet<String> = repository.hosts()?.into_iter().chain(seen.hosts().cloned()).collect();
    for host in repository.store().children(names::HOSTS)? {
        let is_known = !names::is_host(&host) || hosts.contains(&host);
        if !is_known && !repository.store().children(&names::binlogs(&host))?.is_empty() {
            hosts.insert(host);
        }
    }
    Ok(hosts)
}

/// Objects whose lock to extend, and which belong to no host: the repository's own, without which nothing opens it, and
/// declarations of prunes, without which pruned backups look lost.
pub(super) fn shared_to_lock(repository: &Repository, at: Timestamp) -> Result<Vec<Unlocked>, Error> {
    let Some(half) = half_of_lock(repository) else { return Ok(Vec::new()) };
    // There are few, so the ends of their locks are not noted.
    let unlocked = |object: String| Unlocked { object, id: None };
    let mut to_lock = vec![unlocked(names::REPOSITORY.to_owned())];
    repository.store().visit(names::PRUNES, &mut |listed| {
        if at.duration_since(listed.modified) > half {
            to_lock.push(unlocked(listed.name.to_string()));
        }
    })?;
    Ok(to_lock)
}

/// Half of the time for which new objects are locked; `None` if they are not.
fn half_of_lock(repository: &Repository) -> Option<SignedDuration> {
    repository.store().lock().map(|lock| lock.checked_div(2).unwrap_or_default())
}

struct Planning<'p> {
    repository: &'p Repository,
    keeper: &'p PruneConfig,
    options: &'p PruneOptions,
    signers: AllowedSigners,
    declared: PruneDeclarations,
    seen: NewestSeen,
    at: Timestamp,
}

impl Planning<'_> {
    fn host(&self, host: String) -> Result<HostPlan, Error> {
        let listed = self.repository.store().list(&names::receipts(&host))?;
        let put: BTreeMap<Number, Timestamp> = receipts(&host, &listed).collect();
        let (links, uses) = self.links(&host, &put)?;
        let none = HostDeclarations::default();
        let declared = self.declared.get(&host).unwrap_or(&none);
        self.check_chain(&host, &links, &declared.removed)?;
        self.check_newest(&host, &links, declared)?;
        self.check_sizes(&host, &links, |number| put.get(&number).copied() > declared.last)?;
        let candidates = candidates(&links, &put, self.keeper.accept_unproven);
        let mut reasons = retention::kept(&self.keeper.policy, &candidates);
        let (mut kept, mut removed) = (Vec::new(), Vec::new());
        for link in links {
            match reasons.remove(&link.receipt.number) {
                Some(reasons) => kept.push(Kept { link, reasons }),
                None => removed.push(link),
            }
        }
        let live = uses.live(&host, &kept.iter().map(|kept| kept.link.receipt.number).collect());
        let began =
            |link: &Link| put.get(&link.receipt.number).map_or(link.receipt.began, |put| link.receipt.began.min(*put));
        // Includes backups that are removed now: a lock of the bucket may keep them, and as long as they exist, they
        // must stay restorable.
        let links = || kept.iter().map(|kept| &kept.link).chain(&removed);
        let uuids = links().filter_map(|link| link.receipt.server_uuid.as_deref()).collect();
        let mut objects = self.objects(&host, &live, &put, declared)?;
        let oldest = links().map(began).min().unwrap_or_else(|| self.without_backups(&mut objects));
        let HostObjects { mut unneeded, may_be_orphans, .. } = objects;
        let may_be_orphans: Vec<&Listed> = may_be_orphans.iter().collect();
        let (binlogs, orphans) =
            binlogs::plan(self.repository, &host, &self.signers, declared, (oldest, &uuids), &may_be_orphans)?;
        unneeded.extend(orphans);
        let mut plan = HostPlan { host, kept, removed, binlogs, live, to_lock: Vec::new(), unneeded };
        plan.to_lock = self.to_lock(&plan, objects.unlocked);
        Ok(plan)
    }

    /// The time up to which a host without receipts of backups needs no binary logs: if it has nothing else, a backup
    /// would be kept for no longer. The receipts of other objects may be hidden, so these stay, and all logs with them.
    fn without_backups(&self, objects: &mut HostObjects) -> Timestamp {
        let days = self.keeper.policy.days();
        if objects.has_data && !self.options.allow_breaks {
            objects.unneeded.clear();
        }
        if objects.has_data || days == 0 {
            return Timestamp::MIN;
        }
        self.at.checked_sub(SignedDuration::from_hours(24_i64.saturating_mul(days.into()))).unwrap_or(Timestamp::MIN)
    }

    /// The receipts, oldest first, each with a valid signature, and the objects that they name.
    fn links(&self, host: &str, put: &BTreeMap<Number, Timestamp>) -> Result<(Vec<Link>, Uses), Error> {
        let (mut links, mut uses) = (Vec::new(), Uses::new(put.len()));
        for number in put.keys() {
            // Another keeper may have removed it in the meantime.
            let Some(stored) = self.repository.receipt(host, *number)? else { continue };
            self.repository.judge(host, *number, &stored.bytes, &self.signers)?;
            links.push(stored.link());
            uses.add(&stored.receipt);
        }
        Ok((links, uses))
    }

    /// Sorts the objects of a host by what a prune may do with them. One object at a time is looked at, since a host may
    /// have millions.
    fn objects(
        &self,
        host: &str,
        live: &Live,
        put: &BTreeMap<Number, Timestamp>,
        declared: &HostDeclarations,
    ) -> Result<HostObjects, Error> {
        let of_binlogs = names::binlogs(host);
        let (half, location) = (half_of_lock(self.repository), self.repository.store().location());
        let known = half.map(|_| LockEnds::read(&self.keeper.state, &self.repository.id, host)).unwrap_or_default();
        let lasts = |listed: &Listed, half: SignedDuration| {
            let id = ObjectId::new(&location, listed);
            let is_known = self.at.checked_add(half).is_ok_and(|time| known.last_beyond(id, time));
            (id, is_known)
        };
        let mut objects = HostObjects::default();
        self.repository.store().visit(&names::of_host(host), &mut |listed| {
            let object = listed.name.as_str();
            objects.has_data |= !object.starts_with(&of_binlogs);
            if let Some(half) = half.filter(|half| self.at.duration_since(listed.modified) > *half)
                && let (id, false) = lasts(&listed, half)
            {
                objects.unlocked.push(Unlocked { object: object.to_owned(), id: Some(id) });
            }
            if !self.is_old(&listed) {
                return;
            }
            if is_unneeded(host, object, live, put, &declared.numbers) {
                objects.unneeded.insert(object.to_owned(), listed.bytes);
            } else if binlogs::may_be_orphan(host, object, declared) {
                objects.may_be_orphans.push(Listed { etag: None, ..listed });
            }
        })?;
        Ok(objects)
    }

    fn check_chain(&self, host: &str, links: &[Link], removed: &BTreeMap<Digest, Option<Digest>>) -> Result<(), Error> {
        let breaks = chain::breaks(&self.repository.id, host, links, removed);
        match breaks.first().filter(|_| !self.options.allow_breaks) {
            None => Ok(()),
            Some(broken) => Err(Error::Prune {
                host: host.to_owned(),
                reason: broken.to_string(),
                hint: "a receipt that is only hidden needs packs that would go; if it is lost for good, use --allow-breaks",
            }),
        }
    }

    /// Rejects a host whose newest receipt is older than what an earlier prune has seen.
    fn check_newest(&self, host: &str, links: &[Link], declared: &HostDeclarations) -> Result<(), Error> {
        let hidden = self.seen.hidden(host, links, declared).filter(|_| !self.options.allow_breaks);
        let Some(number) = hidden else { return Ok(()) };
        Err(Error::Prune {
            host: host.to_owned(),
            reason: format!("backup {number} is hidden or gone, and an earlier prune has seen it"),
            hint: "a backup that is only hidden needs packs that would go; if it is lost for good, use --allow-breaks",
        })
    }

    /// Rejects a backup that is much smaller than its predecessor: backups of a host that was emptied, by mistake or by
    /// a thief, must not displace the earlier ones. Backups that an earlier prune saw are exempt.
    fn check_sizes(&self, host: &str, links: &[Link], is_new: impl Fn(Number) -> bool) -> Result<(), Error> {
        let bytes = |link: &Link| link.receipt.bytes.data;
        let shrunk = links
            .iter()
            .zip(links.iter().skip(1))
            .find(|(before, after)| is_new(after.receipt.number) && bytes(after) < bytes(before).div_ceil(2));
        let Some((before, after)) = shrunk.filter(|_| !self.options.allow_shrunk) else { return Ok(()) };
        let (number, after, before) = (after.receipt.number, bytes(after), bytes(before));
        Err(Error::Prune {
            host: host.to_owned(),
            reason: format!("backup {number} has {after} bytes of data, the one before it {before}"),
            hint: "if data was removed on purpose, use --allow-shrunk",
        })
    }

    /// Objects whose lock to extend: those of `unlocked` that are kept. Young objects are not among them: the store locked
    /// them when they were put.
    fn to_lock(&self, plan: &HostPlan, unlocked: Vec<Unlocked>) -> Vec<Unlocked> {
        let HostPlan { host, kept, live, binlogs, unneeded, .. } = plan;
        let removed: BTreeSet<String> = binlogs.iter().flat_map(|logs| logs.objects(host)).collect();
        let numbers: BTreeSet<Number> = kept.iter().map(|kept| kept.link.receipt.number).collect();
        let of_binlogs = names::binlogs(host);
        let is_kept = |Unlocked { object, .. }: &Unlocked| {
            live.contains(object)
                || object.starts_with(&of_binlogs) && !removed.contains(object) && !unneeded.contains_key(object)
                || names::receipt_number(host, object).is_some_and(|(number, _)| numbers.contains(&number))
        };
        let mut to_lock: Vec<Unlocked> = unlocked.into_iter().filter(is_kept).collect();
        to_lock.sort_unstable_by(|one, other| one.object.cmp(&other.object));
        to_lock
    }

    /// Whether an object is too old for a run to still need it, if no receipt names it.
    fn is_old(&self, listed: &Listed) -> bool {
        let age = SignedDuration::from_hours(24_i64.saturating_mul(i64::from(self.keeper.orphan_days)));
        self.at.duration_since(listed.modified) > age
    }
}

/// The objects of a host that a prune may remove or lock.
#[derive(Default)]
struct HostObjects {
    /// Objects that no kept backup needs, with their length.
    unneeded: Objects,
    /// Objects of binary logs that are too old for an archiver to still name them.
    may_be_orphans: Vec<Listed>,
    /// Whether it has other objects than those of binary logs.
    has_data: bool,
    /// Objects for which more than half of the first lock's time has passed, and whose lock is not known to last.
    unlocked: Vec<Unlocked>,
}

/// Whether no remaining receipt names an object that is too old for a run to still need it. Only names that Sealant
/// gives to packs, manifests, keys and signatures count. The signatures of removed receipts stay. `put`: the receipts
/// that exist; `removed`: those that prunes have removed.
fn is_unneeded(
    host: &str,
    object: &str,
    live: &Live,
    put: &BTreeMap<Number, Timestamp>,
    removed: &BTreeSet<Number>,
) -> bool {
    let is_ours = names::pack_digest(host, object).is_some()
        || names::manifest_number(host, object).is_some()
        || names::keys_number(host, object).is_some()
        || names::receipt_number(host, object).is_some_and(|(number, is_receipt)| {
            !is_receipt && !put.contains_key(&number) && !removed.contains(&number)
        });
    is_ours && !live.contains(object)
}

/// Receipts in a listing, with the time when each was put.
fn receipts<'l>(host: &'l str, listed: &'l [Listed]) -> impl Iterator<Item = (Number, Timestamp)> + 'l {
    listed.iter().filter_map(move |listed| {
        let (number, is_receipt) = names::receipt_number(host, listed.name.as_str())?;
        is_receipt.then_some((number, listed.modified))
    })
}

/// The backups as retention sees them. If unproven pages are accepted, only damaged ones make a backup a bad one.
fn candidates(links: &[Link], put: &BTreeMap<Number, Timestamp>, accept_unproven: bool) -> Vec<Candidate> {
    let candidate = |link: &Link| {
        let receipt = &link.receipt;
        let is_good = receipt.is_good() || accept_unproven && receipt.pages.damaged == 0;
        let put = put.get(&receipt.number).copied().unwrap_or(receipt.ended);
        Candidate { number: receipt.number, is_good, day: retention::day(receipt.ended, put) }
    };
    links.iter().map(candidate).collect()
}
