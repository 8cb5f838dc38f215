//! A snapshot of the logical volume that the file system of the data is on.
//!
//! LVM suspends the volume for it, and before that the kernel freezes the file system: writes in
//! progress end, new ones wait, and the page cache and the file system's log are flushed to the
//! volume. So a snapshot is of one instant for all files, and the server keeps running except for
//! its waiting writes. Source: `dm_suspend` and `freeze_super` in Linux, `lvcreate(8)`.
//!
//! The snapshot is mounted read-only but is writable: XFS leaves something in its log for recovery
//! even when it is frozen, and ext4 replays its journal if it was not frozen. `norecovery` or
//! `noload` would show an older state. XFS needs an option to mount two file systems with one UUID.

use std::path::{Path, PathBuf};

use super::{
    Driver, Prepared, Source,
    covered::{check_mounts, check_nothing_outside, check_one_file_system},
};
use crate::{
    Options,
    error::Error,
    location, mounted,
    snapshot_copy::{PendingCopy, SnapshotCopy},
    tools::Tools,
    write_latency::WriteLatencyProbe,
};

pub(super) struct Lvm;

/// Tag of the snapshots that this program makes.
const TAG: &str = "sealant";
/// Smallest size of a thick snapshot as a divisor of its origin's size: it holds the old content of
/// all blocks that are written.
const MIN_SHARE: u64 = 20;

impl Driver for Lvm {
    fn location(&self, source: &Source<'_>, options: &Options) -> Result<PathBuf, Error> {
        let datadir = source.datadir.path();
        let device = device_of(datadir)?;
        mount_option(&device.kind)
            .ok_or_else(|| Error::NotThisFileSystem { path: datadir.to_owned(), kind: device.kind.clone() })?;
        check_nothing_outside(source)?;
        check_one_file_system(source)?;
        mounted::needs_root("lvm")?;
        let tools = Tools::default();
        Volume::volume_of_device(&tools, &device.number)?.snapshot_bytes()?;
        location::writable(datadir, options.location.as_deref())
    }

    fn take(&self, prepared: &Prepared<'_>, options: &Options) -> Result<SnapshotCopy, Error> {
        let datadir = prepared.source.datadir.path();
        let tools = Tools::default();
        let device = device_of(datadir)?;
        let origin = Volume::volume_of_device(&tools, &device.number)?;
        let mut pending =
            PendingCopy::begin_mounted(&prepared.location, datadir, &device.within, prepared.provider, options)?;
        let name = format!("{}/{}", origin.group, pending.volume_name());
        pending.record_volumes(vec![name.clone()])?;
        // Dirty pages written now need not be written during the freeze.
        super::write_out(datadir, &prepared.source.listing);
        let probe = WriteLatencyProbe::watch(datadir);
        let made = tools.run("lvcreate", origin.arguments(pending.volume_name())?);
        let waited = probe.end();
        made?;
        let snapshot = Volume::named(&tools, &name)?.ok_or_else(|| Error::SnapshotGone { name: name.clone() })?;
        let option = mount_option(&device.kind).unwrap_or_default();
        mounted::mount(&tools, &device.kind, option, &snapshot.path, pending.mount_point())?;
        check_mounts(datadir, pending.root(), &prepared.source.listing.directories)?;
        self.check(&[name])?;
        pending.finish(waited, options.keep)
    }

    fn remove(&self, _: &Path, volumes: &[String]) -> Result<(), Error> {
        let tools = Tools::default();
        for name in volumes {
            let Some(snapshot) = Volume::named(&tools, name)? else { continue };
            // The server's user may write to the directory of the record, so it is not trusted.
            if !snapshot.is_ours() {
                return Err(Error::NotOurs { name: name.clone() });
            }
            mounted::unmount_device(&tools, &snapshot.number)?;
            tools.run("lvremove", ["--yes", "--quiet", "--quiet", name.as_str()])?;
        }
        Ok(())
    }

    /// A full thick snapshot shows newer blocks, and a failed pool shows none.
    fn check(&self, volumes: &[String]) -> Result<(), Error> {
        let tools = Tools::default();
        for name in volumes {
            let snapshot = Volume::named(&tools, name)?.ok_or_else(|| Error::SnapshotGone { name: name.clone() })?;
            if snapshot.is_invalid() {
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
    /// Path of the data directory in it.
    within: PathBuf,
}

fn device_of(datadir: &Path) -> Result<Device, Error> {
    let mounts = mounted::process_mounts()?;
    let not_lvm = || Error::NotLvm { path: datadir.to_owned() };
    let mount = mounts.holding(datadir).ok_or_else(not_lvm)?;
    let uuid = std::fs::read_to_string(format!("/sys/dev/block/{}/dm/uuid", mount.device)).unwrap_or_default();
    if !uuid.starts_with("LVM-") {
        return Err(not_lvm());
    }
    Ok(Device { number: mount.device.clone(), kind: mount.kind.clone(), within: mount.within(datadir) })
}

/// Mount option for a second file system of this kind with the same UUID; `None` if not supported
/// or not tested.
fn mount_option(kind: &str) -> Option<&'static str> {
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
    /// Its thin pool, if any.
    pool: String,
    /// The volume of which it is a snapshot, if any.
    origin: String,
    /// Type, state and health, one character each. Source: `lvs(8)`, "lv_attr".
    attributes: String,
    bytes: u64,
    free_bytes: u64,
    /// Fill level of a thick snapshot in percent.
    full: String,
    tags: String,
    path: String,
    number: String,
}

const FIELDS: &str = "vg_name,lv_name,pool_lv,origin,lv_attr,lv_size,vg_free,data_percent,lv_tags,lv_dm_path,\
                      lv_kernel_major,lv_kernel_minor";

impl Volume {
    fn volume_of_device(tools: &Tools, number: &str) -> Result<Self, Error> {
        let (major, minor) = number.split_once(':').unwrap_or_default();
        let which = format!("lv_kernel_major={major}&&lv_kernel_minor={minor}");
        let found = Self::list(tools, &["--select", &which])?.pop();
        found.ok_or_else(|| Error::Tool { program: "lvs", reason: format!("no logical volume is device {number}") })
    }

    /// The volume `GROUP/NAME`; `None` if it does not exist.
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

    /// Bytes for a thick snapshot: the size of its origin, with which it cannot run full, or most
    /// of the free space. `None` for a snapshot in a thin pool.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if there is too little free space.
    fn snapshot_bytes(&self) -> Result<Option<u64>, Error> {
        if self.is_thin() {
            return Ok(None);
        }
        // Including the exception table: 16 bytes per chunk of 4 KiB by default.
        let whole = self.bytes.saturating_add(self.bytes / 100).saturating_add(8 << 20);
        // Leaves a fifth for other volumes to grow.
        let most = self.free_bytes / 5 * 4;
        let wanted = (self.bytes / MIN_SHARE).max(1 << 20);
        if most < wanted {
            let (group, free_bytes) = (self.group.clone(), self.free_bytes);
            return Err(Error::NoRoom { group, free_bytes, wanted_bytes: wanted.div_ceil(4) * 5 });
        }
        Ok(Some(whole.min(most)))
    }

    /// Arguments of `lvcreate` for a snapshot.
    fn arguments(&self, name: &str) -> Result<Vec<String>, Error> {
        let mut arguments =
            ["--snapshot", "--yes", "--quiet", "--quiet", "--addtag", TAG, "--name", name].map(str::to_owned).to_vec();
        match self.snapshot_bytes()? {
            Some(bytes) => arguments.extend(["--size".to_owned(), format!("{}m", bytes >> 20)]),
            // Thin snapshots are not activated by default.
            None => arguments.extend(["--setactivationskip", "n"].map(str::to_owned)),
        }
        arguments.push(format!("{}/{}", self.group, self.name));
        Ok(arguments)
    }

    fn is_ours(&self) -> bool {
        !self.origin.is_empty() && self.tags.split(',').any(|tag| tag == TAG) && self.name.starts_with("sealant-")
    }

    fn is_invalid(&self) -> bool {
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

    /// A row of `lvs` 2.03.16.
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
    fn a_full_snapshot_is_invalid() {
        let thick = |attributes: &str, full: &str| volume(&row("sealant-1", attributes, "", "mysql", full));
        assert!(!thick("swi-aos---", "99.99").is_invalid());
        assert!(thick("swi-I-s---", "100.00").is_invalid());
        assert!(thick("swi-aos---", "100.00").is_invalid());
        let thin = |attributes: &str| volume(&row("sealant-1", attributes, "pool", "mysql", "100.00"));
        assert!(!thin("Vwi-aotz--").is_invalid() && thin("Vwi-aotzF-").is_invalid());
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
    fn a_thick_snapshot_has_the_size_of_its_origin_or_most_of_the_free_space() {
        let mut origin = volume(&row("mysql", "owi-aos---", "", "", ""));
        assert_eq!(origin.snapshot_bytes().unwrap(), Some((512 << 20) / 5 * 4));
        origin.free_bytes = 4 << 30;
        assert!(origin.snapshot_bytes().unwrap().unwrap() > 1 << 30);
        origin.free_bytes = 16 << 20;
        let refused = origin.snapshot_bytes().unwrap_err();
        assert!(matches!(refused, Error::NoRoom { free_bytes, wanted_bytes, .. } if free_bytes < wanted_bytes));
        origin.pool = "pool".to_owned();
        assert_eq!(origin.snapshot_bytes().unwrap(), None);
    }
}
