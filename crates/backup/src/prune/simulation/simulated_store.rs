//! A store that lets a host continue between its calls, and that can fail at any call.

use std::{
    fmt,
    io::{self, Cursor, Read},
    ops::Range,
    sync::{Arc, Mutex, MutexGuard},
};

use jiff::{SignedDuration, Timestamp};
use store::{Body, Deletion, Error as StoreError, Listed, LockState, Name, Put, Store};

use super::{
    host::Host,
    objects::{Objects, Random},
};

/// What happens between the calls of a prune.
pub(super) struct World {
    pub(super) objects: Objects,
    pub(super) host: Host,
    pub(super) random: Random,
    /// Whether the keeper can be killed, or its store can fail, at any call.
    pub(super) may_fail: bool,
    /// How many objects can be removed before the keeper is killed.
    pub(super) removals: u64,
    /// How old a listing can be, in hours: that of a store that is eventually consistent.
    pub(super) stale_hours: u64,
    /// Whether the host does nothing between the calls.
    pub(super) is_quiet: bool,
    pub(super) lost: Option<String>,
}

#[derive(Clone)]
pub(super) struct Simulated(pub(super) Arc<Mutex<World>>);

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Simulated")
    }
}

impl Simulated {
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// Lets the host take some steps; fails sometimes.
    fn between(&self) -> Result<MutexGuard<'_, World>, StoreError> {
        let mut world = self.world();
        // The host gets to know its repository only after it is created.
        let goes_on = !world.is_quiet && !world.host.repo.is_empty() && world.random.is_one_of(3);
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
        let mut world = self.between()?;
        let hours = world.stale_hours;
        let age = if hours > 0 { world.random.below(hours) } else { 0 };
        let at = world.objects.now - SignedDuration::from_hours(i64::try_from(age).unwrap());
        let is_listed = |name: &str, put: Timestamp| name.starts_with(prefix) && put <= at;
        let listed = world.objects.all.iter().filter(|(name, (_, put))| is_listed(name, *put));
        let listed = listed.map(|(name, (bytes, modified))| Listed {
            name: name.parse().unwrap(),
            bytes: bytes.len() as u64,
            modified: *modified,
            etag: None,
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
        if !world.objects.remove(name.as_str()) {
            return Ok(Deletion::Locked);
        }
        world.lost = world.lost.take().or_else(|| world.objects.lost());
        Ok(Deletion::Done)
    }

    fn lock(&self) -> Option<SignedDuration> {
        self.world().objects.lock
    }

    fn extend_lock(&self, name: &Name) -> Result<LockState, StoreError> {
        Ok(self.between()?.objects.extend_lock(name.as_str()))
    }

    fn now(&self) -> Timestamp {
        self.world().objects.now
    }

    fn location(&self) -> String {
        "simulated".to_owned()
    }
}
