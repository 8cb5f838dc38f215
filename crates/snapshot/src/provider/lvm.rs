//! A snapshot of the logical volume that the file system of the data is on.
//!
//! LVM suspends the volume for it, and the kernel freezes the file system before that: writes that have begun end,
//! new ones wait, the page cache and the file system's own log go to the volume. So a snapshot is of one instant for all
//! files, and the server runs on but for writes that wait that long. Source: `dm_suspend` and `freeze_super` in Linux,
//! `lvcreate(8)`.
//!
//! The snapshot is mounted read-only, and is itself writable: XFS leaves something in its log for recovery even when it
//! is frozen, and ext4 replays its journal if it was not; either is written into the snapshot. `norecovery` or
//! `noload` would show what is older than the instant. XFS has to be told that two file systems of one UUID are meant.

use std::path::{Path, PathBuf};

use files::mounts::Mounts;

use super::{
    Prepared, Source, Way,
    covered::{nothing_outside, one_file_system, shows_what_is_mounted},
    mounted,
};
use crate::{
    Options,
    error::Error,
    location,
    stall::Stall,
    still::{Still, Taking},
    tools::Tools,
};

pub(super) struct Lvm;

/// By which a snapshot is known to be this program's.
const TAG: &str = "sealant";
/// A thick snapshot holds what its origin had where that is written since: less than this share of it is not worth a try.
const LEAST_SHARE: u64 = 20;

impl Way for Lvm {
    fn place(&self, source: &Source<'_>, options: &Options) -> Result<PathBuf, Error> {
        let datadir = source.datadir.path();
        let device = device_of(datadir)?;
        option_of(&device.kind)
            .ok_or_else(|| Error::NotThisFileSystem { path: datadir.to_owned(), kind: device.kind.clone() })?;
        nothing_outside(source)?;
        one_file_system(source)?;
        mounted::needs_root("lvm")?;
        let tools = Tools::default();
        Volume::of_device(&tools, &device.number)?.room()?;
        location::writable(datadir, options.place.as_deref())
    }

    fn take(&self, prepared: &Prepared<'_>, options: &Options) -> Result<Still, Error> {
        let datadir = prepared.source.datadir.path();
        let tools = Tools::default();
        let device = device_of(datadir)?;
        let origin = Volume::of_device(&tools, &device.number)?;
        let mut taking = Taking::begin_mounted(&prepared.place, datadir, &device.within, prepared.provider, options)?;
        let name = format!("{}/{}", origin.group, taking.volume_name());
        taking.uses(vec![name.clone()])?;
        // What is dirty now need not be written while the file system is frozen.
        super::write_out(datadir, &prepared.source.listing);
        let stall = Stall::watch(datadir);
        let made = tools.run("lvcreate", origin.arguments(taking.volume_name())?);
        let waited = stall.end();
        made?;
        let snapshot = Volume::named(&tools, &name)?.ok_or_else(|| Error::SnapshotGone { name: name.clone() })?;
        let option = option_of(&device.kind).unwrap_or_default();
        mounted::mount(&tools, &device.kind, option, &snapshot.path, taking.mount_point())?;
        shows_what_is_mounted(datadir, taking.root(), &prepared.source.listing.directories)?;
        self.check(&[name])?;
        taking.finish(waited, options.keep)
    }

    fn remove(&self, _: &Path, volumes: &[String]) -> Result<(), Error> {
        let tools = Tools::default();
        for name in volumes {
            let Some(snapshot) = Volume::named(&tools, name)? else { continue };
            // The record is in a directory that the server's user may write to.
            if !snapshot.is_ours() {
                return Err(Error::NotOurs { name: name.clone() });
            }
            mounted::unmount_device(&tools, &snapshot.number)?;
            tools.run("lvremove", ["--yes", "--quiet", "--quiet", name.as_str()])?;
        }
        Ok(())
    }

    /// A thick snapshot that became full shows blocks of later times, and a pool that failed shows none.
    fn check(&self, volumes: &[String]) -> Result<(), Error> {
        let tools = Tools::default();
        for name in volumes {
            let snapshot = Volume::named(&tools, name)?.ok_or_else(|| Error::SnapshotGone { name: name.clone() })?;
            if snapshot.is_void() {
                return Err(Error::Overflowed { name: name.clone() });
            }
        }
        Ok(())
    }
}

/// The device of a file system.
struct Device {
    /// `major:minor`.
    number: String,
    /// The file system on it.
    kind: String,
    /// The data directory in it.
    within: PathBuf,
}

fn device_of(datadir: &Path) -> Result<Device, Error> {
    let mounts = Mounts::own().map_err(|source| Error::Unreadable { path: "/proc/self/mountinfo".into(), source })?;
    let not_lvm = || Error::NotLvm { path: datadir.to_owned() };
    let mount = mounts.holding(datadir).ok_or_else(not_lvm)?;
    let uuid = std::fs::read_to_string(format!("/sys/dev/block/{}/dm/uuid", mount.device)).unwrap_or_default();
    if !uuid.starts_with("LVM-") {
        return Err(not_lvm());
    }
    Ok(Device { number: mount.device.clone(), kind: mount.kind.clone(), within: mount.within(datadir) })
}

/// How a second file system of that kind and the same UUID is mounted; `None` for those that cannot be, or were not tried.
fn option_of(kind: &str) -> Option<&'static str> {
    match kind {
        "xfs" => Some("nouuid"),
        "ext4" | "ext3" => Some(""),
        _ => None,
    }
}

/// A logical volume, as `lvs` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Volume {
    group: String,
    name: String,
    /// The thin pool that it is in.
    pool: String,
    /// The volume that it is a snapshot of.
    origin: String,
    /// Kind, state and health, one character each. Source: `lvs(8)`, "lv_attr".
    attributes: String,
    bytes: u64,
    free_bytes: u64,
    /// How full a thick snapshot is.
    full: String,
    tags: String,
    path: String,
    number: String,
}

const FIELDS: &str = "vg_name,lv_name,pool_lv,origin,lv_attr,lv_size,vg_free,data_percent,lv_tags,lv_dm_path,\
                      lv_kernel_major,lv_kernel_minor";

impl Volume {
    fn of_device(tools: &Tools, number: &str) -> Result<Self, Error> {
        let (major, minor) = number.split_once(':').unwrap_or_default();
        let which = format!("lv_kernel_major={major}&&lv_kernel_minor={minor}");
        let found = Self::list(tools, &["--select", &which])?.pop();
        found.ok_or_else(|| Error::Tool { program: "lvs", reason: format!("no logical volume is device {number}") })
    }

    /// The volume `GROUP/NAME`; `None` if there is none.
    fn named(tools: &Tools, name: &str) -> Result<Option<Self>, Error> {
        let safe = |part: &str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || b"+_.-".contains(&byte);
            !part.is_empty() && !part.starts_with('-') && part.bytes().all(known)
        };
        match name.split_once('/') {
            Some((group, volume)) if safe(group) && safe(volume) => {
                let which = format!("vg_name=\"{group}\"&&lv_name=\"{volume}\"");
                Ok(Self::list(tools, &["--select", &which])?.pop())
            }
            _ => Err(Error::NotOurs { name: name.to_owned() }),
        }
    }

    fn list(tools: &Tools, more: &[&str]) -> Result<Vec<Self>, Error> {
        let args = ["--reportformat", "json", "--units", "b", "--nosuffix", "--options", FIELDS];
        let text = tools.run("lvs", args.iter().chain(more))?;
        Self::parse(&text).ok_or_else(|| Error::Tool { program: "lvs", reason: "its answer is no report".to_owned() })
    }

    fn parse(text: &str) -> Option<Vec<Self>> {
        let report: serde_json::Value = serde_json::from_str(text).ok()?;
        let rows = report.get("report")?.get(0)?.get("lv")?.as_array()?;
        let volumes = rows.iter().map(|row| {
            let field = |name: &str| row.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
            Self {
                group: field("vg_name"),
                name: field("lv_name"),
                pool: field("pool_lv"),
                origin: field("origin"),
                attributes: field("lv_attr"),
                bytes: field("lv_size").parse().unwrap_or_default(),
                free_bytes: field("vg_free").parse().unwrap_or_default(),
                full: field("data_percent"),
                tags: field("lv_tags"),
                path: field("lv_dm_path"),
                number: format!("{}:{}", field("lv_kernel_major"), field("lv_kernel_minor")),
            }
        });
        Some(volumes.collect())
    }

    fn is_thin(&self) -> bool {
        !self.pool.is_empty()
    }

    /// Bytes for a thick snapshot: all of its origin, with which it cannot become full, or most of what is free. `None` for
    /// one in a thin pool, which takes what it needs.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if too little is free for it to last.
    fn room(&self) -> Result<Option<u64>, Error> {
        if self.is_thin() {
            return Ok(None);
        }
        // Where each block was goes there too: 16 bytes for a chunk of 4 KiB, by default.
        let whole = self.bytes.saturating_add(self.bytes / 100).saturating_add(8 << 20);
        // The rest is for what else may have to grow.
        let most = self.free_bytes / 5 * 4;
        let wanted = self.bytes / LEAST_SHARE;
        if most < wanted.max(1 << 20) {
            let (group, free_bytes) = (self.group.clone(), self.free_bytes);
            return Err(Error::NoRoom { group, free_bytes, wanted_bytes: wanted / 4 * 5 });
        }
        Ok(Some(whole.min(most)))
    }

    /// The arguments of `lvcreate` for a snapshot.
    fn arguments(&self, name: &str) -> Result<Vec<String>, Error> {
        let mut arguments =
            ["--snapshot", "--yes", "--quiet", "--quiet", "--addtag", TAG, "--name", name].map(str::to_owned).to_vec();
        match self.room()? {
            Some(bytes) => arguments.extend(["--size".to_owned(), format!("{}m", bytes >> 20)]),
            // Thin snapshots are not activated unless they are told to.
            None => arguments.extend(["--setactivationskip", "n"].map(str::to_owned)),
        }
        arguments.push(format!("{}/{}", self.group, self.name));
        Ok(arguments)
    }

    fn is_ours(&self) -> bool {
        !self.origin.is_empty() && self.tags.split(',').any(|tag| tag == TAG) && self.name.starts_with("sealant-")
    }

    fn is_void(&self) -> bool {
        let attribute = |number: usize| self.attributes.as_bytes().get(number).copied().unwrap_or_default();
        let invalid = matches!(attribute(4), b'I' | b'S');
        let failed = attribute(8) == b'F';
        let full = !self.is_thin() && self.full.parse::<f64>().is_ok_and(|percent| percent >= 100.0);
        invalid || failed || full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `lvs` 2.03.16.
    fn row(name: &str, attributes: &str, pool: &str, origin: &str, full: &str) -> String {
        format!(
            r#"{{"vg_name":"vg0", "lv_name":"{name}", "pool_lv":"{pool}", "origin":"{origin}", "lv_attr":"{attributes}",
                "lv_size":"1073741824", "vg_free":"536870912", "data_percent":"{full}", "lv_tags":"a,sealant",
                "lv_dm_path":"/dev/mapper/vg0-{name}", "lv_kernel_major":"253", "lv_kernel_minor":"4"}}"#
        )
    }

    fn volume(row: &str) -> Volume {
        let text = format!(r#"{{"report": [{{"lv": [{row}]}}]}}"#);
        Volume::parse(&text).unwrap().pop().unwrap()
    }

    #[test]
    fn a_snapshot_that_became_full_is_void() {
        let thick = |attributes: &str, full: &str| volume(&row("sealant-1", attributes, "", "mysql", full));
        assert!(!thick("swi-aos---", "99.99").is_void());
        assert!(thick("swi-I-s---", "100.00").is_void());
        assert!(thick("swi-aos---", "100.00").is_void());
        let thin = |attributes: &str| volume(&row("sealant-1", attributes, "pool", "mysql", "100.00"));
        assert!(!thin("Vwi-aotz--").is_void() && thin("Vwi-aotzF-").is_void());
    }

    #[test]
    fn only_snapshots_of_this_program_are_removed() {
        assert!(volume(&row("sealant-1", "swi-aos---", "", "mysql", "1")).is_ours());
        assert!(!volume(&row("mysql", "owi-aos---", "", "", "")).is_ours());
        assert!(!volume(&row("nightly", "swi-aos---", "", "mysql", "1")).is_ours());
        let untagged = row("sealant-1", "swi-aos---", "", "mysql", "1").replace("a,sealant", "sealants");
        assert!(!volume(&untagged).is_ours());
        for name in ["root", "vg0/", "vg0/--force", "vg0/a b", "vg0/a/b", "vg0/a\"||1=1"] {
            let refused = Volume::named(&Tools::default(), name);
            assert!(matches!(refused, Err(Error::NotOurs { .. })), "{name}: {refused:?}");
        }
    }

    #[test]
    fn a_thick_snapshot_has_room_for_its_origin_or_most_of_what_is_free() {
        let mut origin = volume(&row("mysql", "owi-aos---", "", "", ""));
        assert_eq!(origin.room().unwrap(), Some((512 << 20) / 5 * 4));
        origin.free_bytes = 4 << 30;
        assert!(origin.room().unwrap().unwrap() > 1 << 30);
        origin.free_bytes = 16 << 20;
        assert!(matches!(origin.room(), Err(Error::NoRoom { .. })));
        origin.pool = "pool".to_owned();
        assert_eq!(origin.room().unwrap(), None);
    }
}
