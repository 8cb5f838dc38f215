//! Snapshots of the ZFS data sets that contain the data.
//!
//! A snapshot has everything written by calls that had returned, and several snapshots of one pool
//! made by one command are of one instant: so a data directory may span several data sets. Source:
//! `zfs-snapshot(8)`.

use std::path::{Path, PathBuf};

use files::mounts::Mounts;

use super::{
    Driver, Prepared, Source,
    covered::{check_mounts, check_nothing_outside},
};
use crate::{
    Options,
    error::Error,
    listing::Listing,
    location::{self, ZFS},
    mounted,
    snapshot_copy::{PendingCopy, SnapshotCopy},
    tools::Tools,
    write_latency::WriteLatencyProbe,
};

pub(super) struct Zfs;

impl Driver for Zfs {
    fn location(&self, source: &Source<'_>, options: &Options) -> Result<PathBuf, Error> {
        let datadir = source.datadir.path();
        let is_zfs = rustix::fs::statfs(datadir).is_ok_and(|statfs| statfs.f_type == ZFS);
        if !is_zfs {
            return Err(Error::NotZfs { path: datadir.to_owned(), kind: location::filesystem_name(datadir) });
        }
        check_nothing_outside(source)?;
        data_sets(&mounted::process_mounts()?, datadir, &source.listing)?;
        mounted::needs_root("zfs")?;
        location::writable(datadir, options.location.as_deref())
    }

    fn take(&self, prepared: &Prepared<'_>, options: &Options) -> Result<SnapshotCopy, Error> {
        let datadir = prepared.source.datadir.path();
        let tools = Tools::default();
        let sets = data_sets(&mounted::process_mounts()?, datadir, &prepared.source.listing)?;
        let within = sets.first().map(|set| set.within.clone()).unwrap_or_default();
        let mut pending = PendingCopy::begin_mounted(&prepared.location, datadir, &within, prepared.provider, options)?;
        let names: Vec<String> = sets.iter().map(|set| format!("{}@{}", set.name, pending.volume_name())).collect();
        pending.record_volumes(names.clone())?;
        super::write_out(datadir, &prepared.source.listing);
        let probe = WriteLatencyProbe::watch(datadir);
        let made = snapshot(&tools, &names);
        let waited = probe.end();
        made?;
        mount_all(&tools, &sets, &names, pending.mount_point())?;
        check_mounts(datadir, pending.root(), &prepared.source.listing.directories)?;
        pending.finish(waited, options.keep)
    }

    fn remove(&self, directory: &Path, volumes: &[String]) -> Result<(), Error> {
        let tools = Tools::default();
        mounted::unmount_all(&tools, &mounted::point(directory.file_name().unwrap_or_default()))?;
        volumes.iter().try_for_each(|name| destroy(&tools, name))
    }
}

/// A data set with part of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DataSet {
    name: String,
    /// For the first one, path of the data directory in it; for others, their path in the data
    /// directory.
    within: PathBuf,
}

/// The data set of the data directory, and those mounted inside it.
fn data_sets(mounts: &Mounts, datadir: &Path, listing: &Listing) -> Result<Vec<DataSet>, Error> {
    let otherwise = |path: &Path| Error::TwoFileSystems { path: path.to_owned() };
    let current = mounts.holding(datadir).ok_or_else(|| otherwise(datadir))?;
    let pool = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
    let mut sets = vec![DataSet { name: current.source.clone(), within: current.within(datadir) }];
    for directory in &listing.directories {
        let path = datadir.join(directory);
        let mount = mounts.holding(&path).ok_or_else(|| otherwise(&path))?;
        if sets.iter().any(|set| set.name == mount.source) {
            continue;
        }
        // A snapshot shows its whole data set, so it cannot take the place of a mount that shows
        // only a part.
        let whole = mount.point == path && mount.within(&path) == Path::new("");
        if mount.kind != "zfs" || pool(&mount.source) != pool(&current.source) || !whole {
            return Err(otherwise(&path));
        }
        sets.push(DataSet { name: mount.source.clone(), within: current.within(datadir).join(directory) });
    }
    Ok(sets)
}

/// Makes all snapshots atomically.
fn snapshot(tools: &Tools, names: &[String]) -> Result<(), Error> {
    tools.run("zfs", ["snapshot"].into_iter().chain(names.iter().map(String::as_str))).map(drop)
}

/// Mounts each snapshot in the place of its data set.
fn mount_all(tools: &Tools, sets: &[DataSet], names: &[String], point: &Path) -> Result<(), Error> {
    for (number, (set, name)) in sets.iter().zip(names).enumerate() {
        match number {
            0 => mounted::mount(tools, "zfs", "", name, point)?,
            _ => mounted::mount_at(tools, "zfs", "", name, &point.join(&set.within))?,
        }
    }
    Ok(())
}

/// Removes one snapshot.
fn destroy(tools: &Tools, name: &str) -> Result<(), Error> {
    // The server's user may write to the directory of the record; `%` and `,` would name several
    // snapshots.
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.: /".contains(&byte);
    let ours = name.split_once('@').is_some_and(|(set, snapshot)| {
        !set.starts_with('-')
            && set.bytes().all(known)
            && snapshot.starts_with("sealant-")
            && snapshot.bytes().all(known)
    });
    if !ours {
        return Err(Error::NotOurs { name: name.to_owned() });
    }
    match tools.run("zfs", ["destroy", name]) {
        Err(Error::Tool { reason, .. }) if reason.contains("could not find any snapshots to destroy") => Ok(()),
        done => done.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TABLE: &str = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
        2 1 0:41 / /tank/mysql rw - zfs tank/mysql rw,xattr\n\
        3 2 0:42 / /tank/mysql/data/#innodb_redo rw - zfs tank/redo rw,xattr\n\
        4 2 0:43 / /tank/mysql/data/other rw - zfs dozer/other rw,xattr\n\
        5 2 8:1 /x /tank/mysql/data/bound rw - ext4 /dev/sda1 rw\n";

    fn listing(names: &[&str]) -> Listing {
        Listing { directories: names.iter().map(PathBuf::from).collect(), ..Listing::default() }
    }

    fn sets(names: &[&str]) -> Result<Vec<DataSet>, Error> {
        data_sets(&Mounts::parse(TABLE.as_bytes()), Path::new("/tank/mysql/data"), &listing(names))
    }

    #[test]
    fn data_sets_must_be_in_one_pool() {
        let set = |name: &str, within: &str| DataSet { name: name.to_owned(), within: within.into() };
        let found = sets(&["#innodb_redo", "shop"]).unwrap();
        assert_eq!(found, [set("tank/mysql", "data"), set("tank/redo", "data/#innodb_redo")]);
        for other in ["other", "bound"] {
            let refused = sets(&["shop", other]);
            assert!(matches!(&refused, Err(Error::TwoFileSystems { path }) if path.ends_with(other)), "{refused:?}");
        }
    }

    /// A script in place of `zfs` and `mount` that behaves as their manuals say and records its
    /// calls: the test kernels have no ZFS.
    fn fake_tools(directory: &Path) -> Tools {
        let zfs = r#"
            cd "$(dirname "$0")" || exit 1
            echo "zfs $*" >>calls
            case $1 in
            snapshot)
                shift
                for name; do
                    case $name in tank/mysql@*|tank/redo@*) ;; *) echo "cannot open '$name'" >&2; exit 1 ;; esac
                    grep -qxF "$name" snapshots 2>/dev/null && { echo "cannot create snapshot '$name': dataset already exists" >&2; exit 1; }
                done
                for name; do echo "$name" >>snapshots; done ;;
            destroy)
                [ $# = 2 ] || exit 2
                grep -qxF "$2" snapshots || { echo "could not find any snapshots to destroy; check snapshot names." >&2; exit 1; }
                grep -vxF "$2" snapshots >left; mv left snapshots ;;
            *) exit 2 ;;
            esac"#;
        let mount = "echo \"mount $*\" >>\"$(dirname \"$0\")/calls\"";
        for (name, text) in [("zfs", zfs), ("mount", mount)] {
            harness::script(&directory.join(name), text).unwrap();
        }
        Tools::in_directory(directory)
    }

    #[test]
    fn zfs_is_called_as_its_manual_says() {
        let directory = tempfile::tempdir().unwrap();
        let (tools, point) = (fake_tools(directory.path()), directory.path().join("point"));
        let sets = sets(&["#innodb_redo"]).unwrap();
        let names = ["tank/mysql@sealant-1", "tank/redo@sealant-1"].map(str::to_owned);
        snapshot(&tools, &names).unwrap();
        let again = snapshot(&tools, &names).unwrap_err().to_string();
        assert_eq!(again, "zfs: cannot create snapshot 'tank/mysql@sealant-1': dataset already exists");
        mount_all(&tools, &sets, &names, &point).unwrap();
        destroy(&tools, &names[0]).unwrap();
        // Removing it again succeeds.
        destroy(&tools, &names[0]).unwrap();
        for name in
            ["tank/mysql", "tank/mysql@nightly", "tank/mysql@sealant-1%sealant-2", "-r@sealant-1", "t@sealant-1,n"]
        {
            assert!(matches!(destroy(&tools, name), Err(Error::NotOurs { .. })), "{name}");
        }
        let calls = fs::read_to_string(directory.path().join("calls")).unwrap();
        let expected = format!(
            "zfs snapshot tank/mysql@sealant-1 tank/redo@sealant-1\n\
             zfs snapshot tank/mysql@sealant-1 tank/redo@sealant-1\n\
             mount -t zfs -o ro,nosuid,nodev,noexec tank/mysql@sealant-1 {0}\n\
             mount -t zfs -o ro,nosuid,nodev,noexec tank/redo@sealant-1 {0}/data/#innodb_redo\n\
             zfs destroy tank/mysql@sealant-1\nzfs destroy tank/mysql@sealant-1\n",
            point.display()
        );
        assert_eq!(calls, expected);
    }
}
