//! Encryption of the disk below a path: from the mount table down the layers of block devices
//! (`/sys/dev/block/M:N/slaves`) to real or virtual hardware.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use files::{
    mounts::{Mount, Mounts},
    proc::Processor,
};
use luks::device::{self, Block, cryptsetup_format};
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, major, minor, statx};

use super::view::{Host, View};
use crate::facts::host::{DiskLayer, PathOnDisk, Role, Swap};

/// Maximum number of layers below one path; real stacks have fewer than ten.
const MAX_DEPTH: u32 = 32;

/// The disks of this host, as seen by the server's process.
#[derive(Debug)]
pub(crate) struct Disks {
    host: Host,
    /// Where the kernel describes block devices.
    devices: device::Host,
    view: View,
    /// The server's mount table.
    mounts: Mounts,
    /// The audit's own mount table, in which the kernel names backing files and upper directories.
    process_mounts: Mounts,
    /// Whether this host is a virtual machine.
    pub(crate) virtual_machine: bool,
}

/// State of the descent from one path.
#[derive(Debug, Default)]
struct Descent {
    /// Names of the devices so far.
    chain: Vec<String>,
}

impl Disks {
    /// Reads the mount tables; `pid` is the server's process, if known.
    pub(crate) fn read(host: &Host, pid: Option<i32>) -> Self {
        let process_mounts = Mounts::read(&host.proc.join("self/mountinfo")).unwrap_or_default();
        let of_server = pid.and_then(|pid| Mounts::read(&host.of_process(pid, "mountinfo")).ok());
        Self {
            host: host.clone(),
            devices: host.devices(),
            view: pid.map_or_else(View::ours, |pid| View::of_process(host, pid)),
            mounts: of_server.unwrap_or_else(|| process_mounts.clone()),
            process_mounts,
            virtual_machine: is_virtual_machine(host),
        }
    }

    /// The layers below `path`, a path of the server.
    pub(crate) fn below(&self, path: &Path, role: Role, via: &str) -> PathOnDisk {
        let resolved = self.view.resolve(path);
        let mount = self.mounts.holding(&resolved);
        let mut descent = Descent::default();
        let layer = match mount {
            _ if fscrypt(&self.view.reach(path)) => DiskLayer::Encrypted { by: "fscrypt".to_owned() },
            Some(mount) => self.of_mount(mount, &mut descent, 0),
            None => unknown("the mount table does not show what holds it"),
        };
        let (mount_point, fs_type) = mount.map_or_else(Default::default, |m| (text(&m.point), m.kind.clone()));
        // The device number of files below it; for btrfs it is not that in the mount table.
        let number = self.view.stat(path).ok().map(|stat| format!("{}:{}", major(stat.st_dev), minor(stat.st_dev)));
        let device = number.or_else(|| mount.map(|m| m.device.clone())).unwrap_or_default();
        PathOnDisk {
            path: text(path),
            resolved: text(&resolved),
            role,
            via: via.to_owned(),
            mount_point,
            fs_type,
            device,
            chain: descent.chain,
            layer,
        }
    }

    /// The active swap areas. Source: `proc_swaps(5)`.
    ///
    /// # Errors
    /// Why the list cannot be read.
    pub(crate) fn swaps(&self) -> Result<Vec<Swap>, String> {
        let path = self.host.proc.join("swaps");
        let table = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(table.lines().skip(1).filter_map(|line| self.swap(line)).collect())
    }

    fn swap(&self, line: &str) -> Option<Swap> {
        let mut fields = line.split_whitespace();
        let (name, kind) = (fields.next()?.replace("\\040", " "), fields.next()?);
        let layer = if kind == "partition" {
            self.of_device_file(Path::new(&name), &mut Descent::default(), 0)
        } else {
            self.process_path(Path::new(&name), &mut Descent::default(), 0)
        };
        Some(Swap { name, layer })
    }

    /// A path in the audit's own view: a backing file, an upper directory, a swap file.
    fn process_path(&self, path: &Path, descent: &mut Descent, depth: u32) -> DiskLayer {
        let resolved = View::ours().resolve(path);
        match self.process_mounts.holding(&resolved) {
            Some(mount) if depth < MAX_DEPTH => self.of_mount(mount, descent, depth),
            _ => unknown(&format!("the mount that holds {} is not visible", path.display())),
        }
    }

    fn of_mount(&self, mount: &Mount, descent: &mut Descent, depth: u32) -> DiskLayer {
        if depth >= MAX_DEPTH {
            return unknown("the layers below it are too many to follow, or form a loop");
        }
        match mount.kind.as_str() {
            "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => DiskLayer::Memory,
            "overlay" => self.of_overlay(mount, descent, depth),
            "zfs" => unknown(&format!(
                "ZFS data set {0}: `zfs get encryption,keystatus {0}` tells; attest it in a waiver",
                mount.source
            )),
            "ecryptfs" | "fuse.gocryptfs" | "fuse.encfs" | "fuse.cryfs" | "fuse.securefs" => {
                DiskLayer::Encrypted { by: mount.kind.trim_start_matches("fuse.").to_owned() }
            }
            "btrfs" => self.of_btrfs(mount, descent, depth),
            other if is_remote(other) => {
                unknown(&format!("{other} file system {}: its server decides; attest it in a waiver", mount.source))
            }
            _ => self.of_block(mount, descent, depth),
        }
    }

    fn of_block(&self, mount: &Mount, descent: &mut Descent, depth: u32) -> DiskLayer {
        if mount.device.starts_with("0:") {
            return self.of_device_file(Path::new(&mount.source), descent, depth);
        }
        match Block::by_number(&self.devices, &mount.device) {
            Some(device) => self.of_device(&device, descent, depth),
            None => unknown(&format!("device {} is not in /sys, as in a container", mount.device)),
        }
    }

    /// The upper directory receives writes; the kernel names it in the audit's own view.
    fn of_overlay(&self, mount: &Mount, descent: &mut Descent, depth: u32) -> DiskLayer {
        match mount.option("upperdir") {
            Some(upper) if Path::new(&upper).is_dir() => {
                self.process_path(Path::new(&upper), descent, depth.saturating_add(1))
            }
            _ => unknown("overlay file system of a container: run on the container's host, or attest it in a waiver"),
        }
    }

    /// A btrfs has no device number of its own, and may span several devices.
    fn of_btrfs(&self, mount: &Mount, descent: &mut Descent, depth: u32) -> DiskLayer {
        let name = device_name(Path::new(&mount.source));
        let systems = sorted_entries(&self.host.sys.join("fs/btrfs"));
        let devices = systems.iter().map(|fs| sorted_entries(&fs.join("devices")));
        let of_this = |devices: &Vec<PathBuf>| devices.iter().any(|device| device.file_name() == name.file_name());
        match devices.into_iter().find(of_this) {
            Some(all) => {
                let named = |device: PathBuf| self.of_device_file(&device, descent, depth);
                weakest(all.into_iter().map(named).collect())
            }
            None => self.of_device_file(Path::new(&mount.source), descent, depth),
        }
    }

    /// A device by its name below `/dev`.
    fn of_device_file(&self, path: &Path, descent: &mut Descent, depth: u32) -> DiskLayer {
        let name = device_name(path);
        let found = name.file_name().and_then(|name| Block::by_name(&self.devices, &name.to_string_lossy()));
        match found {
            Some(device) => self.of_device(&device, descent, depth),
            None => unknown(&format!("device {} is not in /sys", path.display())),
        }
    }

    fn of_device(&self, device: &Block, descent: &mut Descent, depth: u32) -> DiskLayer {
        descent.chain.push(device.name.clone());
        if depth >= MAX_DEPTH {
            return unknown("the layers below it are too many to follow, or form a loop");
        }
        let deeper = depth.saturating_add(1);
        if let Some(by) = dm_crypt(device) {
            return DiskLayer::Encrypted { by };
        }
        if device.name.starts_with("zram") || device.name.starts_with("ram") {
            return DiskLayer::Memory;
        }
        if let Some(file) = device.backing_file() {
            return self.process_path(Path::new(&file), descent, deeper);
        }
        let slaves: Vec<Block> =
            device.slaves().iter().filter_map(|slave| Block::by_name(&self.devices, slave)).collect();
        if !slaves.is_empty() {
            return weakest(slaves.iter().map(|slave| self.of_device(slave, descent, deeper)).collect());
        }
        match device.whole_disk() {
            Some(disk) => self.of_device(&disk, descent, deeper),
            None => self.of_hardware(device),
        }
    }

    fn of_hardware(&self, device: &Block) -> DiskLayer {
        let name = device.name.as_str();
        let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if ["nbd", "rbd", "drbd"].contains(&kind) {
            return unknown(&format!("network disk {name}: its other end decides; attest it in a waiver"));
        }
        if name.starts_with("dm-") {
            return unknown(&format!("{name} shows no device below it"));
        }
        let virtual_disk = kind.starts_with("vd") || kind.starts_with("xvd") || kind == "pmem";
        if virtual_disk || self.virtual_machine {
            return unknown(&format!(
                "virtual disk {name}: the hypervisor or cloud may encrypt it; attest it in a waiver"
            ));
        }
        if device.is_iscsi() {
            return unknown(&format!("iSCSI disk {name}: the storage may encrypt it; attest it in a waiver"));
        }
        DiskLayer::Plain
    }
}

/// What encrypts a device of dm-crypt. The verity and integrity devices of cryptsetup do not encrypt.
fn dm_crypt(device: &Block) -> Option<String> {
    let uuid = device.mapper_uuid()?;
    let format = cryptsetup_format(&uuid)?;
    let hides = !["VERITY", "INTEGRITY", "SUBDEV"].contains(&format);
    let name = device.mapper_name().unwrap_or_default();
    hides.then(|| format!("dm-crypt {format} {name}").trim_end().to_owned())
}

/// Several devices are as secure as the weakest one.
fn weakest(mut layers: Vec<DiskLayer>) -> DiskLayer {
    let rank = |layer: &DiskLayer| match layer {
        DiskLayer::Plain => 0,
        DiskLayer::Unknown { .. } => 1,
        DiskLayer::Memory => 2,
        DiskLayer::Encrypted { .. } => 3,
    };
    layers.sort_by_key(rank);
    layers.into_iter().next().unwrap_or_else(|| unknown("no device is below it"))
}

/// Whether the kernel encrypts the files of this directory (ext4, f2fs, ubifs).
fn fscrypt(path: &Path) -> bool {
    statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::ENCRYPTED))
}

fn is_remote(fs_type: &str) -> bool {
    let kinds = [
        "nfs",
        "cifs",
        "smb",
        "ceph",
        "9p",
        "virtiofs",
        "glusterfs",
        "lustre",
        "ocfs2",
        "gfs",
        "fuse",
        "vboxsf",
        "beegfs",
        "gpfs",
    ];
    kinds.iter().any(|kind| fs_type.starts_with(kind)) && fs_type != "fuseblk"
}

/// Whether this host is a virtual machine: a CPU flag on x86, elsewhere the firmware's names.
fn is_virtual_machine(host: &Host) -> bool {
    let cpuinfo = fs::read_to_string(host.proc.join("cpuinfo")).unwrap_or_default();
    let firmware =
        ["sys_vendor", "product_name", "bios_vendor"].map(|name| one_line(&host.sys.join("class/dmi/id").join(name)));
    let names = [
        "QEMU",
        "KVM",
        "VMware",
        "VirtualBox",
        "innotek",
        "Xen",
        "Virtual Machine",
        "OpenStack",
        "Google Compute",
        "BHYVE",
    ];
    Processor::parse(&cpuinfo).is_virtual()
        || firmware.iter().flatten().any(|text| names.iter().any(|name| text.contains(name)))
        || host.sys.join("hypervisor/type").exists()
        || host.proc.join("device-tree/hypervisor").exists()
}

/// `/dev/mapper/x` and `/dev/disk/by-id/y` are links to the kernel's device name.
fn device_name(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn sorted_entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn one_line(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim_end_matches('\n').to_owned()).filter(|text| !text.is_empty())
}

fn unknown(why: &str) -> DiskLayer {
    DiskLayer::Unknown { why: why.to_owned() }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Builds a `/proc` and a `/sys`.
    struct Machine {
        dir: tempfile::TempDir,
        mounts: String,
    }

    impl Machine {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for sub in ["proc/self", "sys/dev/block", "sys/class/block", "sys/devices"] {
                fs::create_dir_all(dir.path().join(sub)).unwrap();
            }
            Self { dir, mounts: String::new() }
        }

        /// A block device at `devices/WHERE`, with number and name.
        fn device(self, location: &str, number: &str) -> Self {
            let path = self.dir.path().join("sys/devices").join(location);
            fs::create_dir_all(path.join("slaves")).unwrap();
            fs::write(path.join("dev"), format!("{number}\n")).unwrap();
            symlink(&path, self.dir.path().join("sys/dev/block").join(number)).unwrap();
            symlink(&path, self.dir.path().join("sys/class/block").join(path.file_name().unwrap())).unwrap();
            self
        }

        fn file(self, location: &str, text: &str) -> Self {
            let path = self.dir.path().join("sys/devices").join(location);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        fn partition(self, location: &str, number: &str) -> Self {
            self.device(location, number).file(&format!("{location}/partition"), "1\n")
        }

        fn slave(self, upper: &str, lower: &str) -> Self {
            let devices = self.dir.path().join("sys/devices");
            let name = Path::new(lower).file_name().unwrap();
            symlink(devices.join(lower), devices.join(upper).join("slaves").join(name)).unwrap();
            self
        }

        fn dm(self, location: &str, number: &str, uuid: &str, name: &str) -> Self {
            self.device(location, number)
                .file(&format!("{location}/dm/uuid"), uuid)
                .file(&format!("{location}/dm/name"), name)
        }

        fn mount(mut self, number: &str, point: &str, fs_type: &str, source: &str) -> Self {
            self.mounts += &format!("1 0 {number} / {point} rw - {fs_type} {source} rw\n");
            self
        }

        fn virtual_machine(self) -> Self {
            fs::write(self.dir.path().join("proc/cpuinfo"), "processor : 0\nflags\t\t: fpu hypervisor lm\n").unwrap();
            self
        }

        fn disks(&self) -> Disks {
            fs::write(self.dir.path().join("proc/self/mountinfo"), &self.mounts).unwrap();
            Disks::read(&Host { proc: self.dir.path().join("proc"), sys: self.dir.path().join("sys") }, None)
        }

        fn below(&self, path: &str) -> (Vec<String>, DiskLayer) {
            let found = self.disks().below(Path::new(path), Role::Data, "datadir");
            (found.chain, found.layer)
        }
    }

    fn encrypted(by: &str) -> DiskLayer {
        DiskLayer::Encrypted { by: by.to_owned() }
    }

    #[test]
    fn lvm_on_luks_is_encrypted() {
        let machine = Machine::new()
            .device("pci/nvme0n1", "259:0")
            .partition("pci/nvme0n1/nvme0n1p2", "259:2")
            .dm("virtual/dm-0", "253:0", "CRYPT-LUKS2-0123-data\n", "data\n")
            .dm("virtual/dm-1", "253:1", "LVM-abc\n", "vg-mysql\n")
            .slave("virtual/dm-0", "pci/nvme0n1/nvme0n1p2")
            .slave("virtual/dm-1", "virtual/dm-0")
            .mount("253:1", "/", "xfs", "/dev/mapper/vg-mysql");
        let (chain, layer) = machine.below("/nowhere/mysql");
        assert_eq!((chain.join(" "), layer), ("dm-1 dm-0".to_owned(), encrypted("dm-crypt LUKS2 data")));
    }

    #[test]
    fn luks_on_lvm_is_encrypted_and_its_neighbour_is_not() {
        let machine = Machine::new()
            .device("pci/sda", "8:0")
            .partition("pci/sda/sda1", "8:1")
            .dm("virtual/dm-0", "253:0", "LVM-a\n", "vg-a\n")
            .dm("virtual/dm-1", "253:1", "LVM-b\n", "vg-b\n")
            .dm("virtual/dm-2", "253:2", "CRYPT-LUKS1-0123-x\n", "x\n")
            .slave("virtual/dm-0", "pci/sda/sda1")
            .slave("virtual/dm-1", "pci/sda/sda1")
            .slave("virtual/dm-2", "virtual/dm-0")
            .mount("253:1", "/", "ext4", "/dev/mapper/vg-b")
            .mount("253:2", "/crypt", "ext4", "/dev/mapper/x");
        assert_eq!(machine.below("/crypt/mysql").1, encrypted("dm-crypt LUKS1 x"));
        let (chain, layer) = machine.below("/nowhere");
        assert_eq!((chain.join(" "), layer), ("dm-1 sda1 sda".to_owned(), DiskLayer::Plain));
    }

    #[test]
    fn an_array_is_as_good_as_its_worst_member() {
        let machine = Machine::new()
            .device("pci/sda", "8:0")
            .device("pci/sdb", "8:16")
            .dm("virtual/dm-0", "253:0", "CRYPT-LUKS2-1-a\n", "a\n")
            .slave("virtual/dm-0", "pci/sda")
            .device("virtual/md0", "9:0")
            .slave("virtual/md0", "virtual/dm-0")
            .slave("virtual/md0", "pci/sdb")
            .mount("9:0", "/", "ext4", "/dev/md0");
        assert_eq!(machine.below("/x").1, DiskLayer::Plain);
    }

    #[test]
    fn a_virtual_disk_is_unknown_and_says_why() {
        let virtio = Machine::new().device("pci/vda", "254:0").mount("254:0", "/", "ext4", "/dev/vda");
        let nvme =
            Machine::new().device("pci/nvme0n1", "259:0").mount("259:0", "/", "ext4", "/dev/nvme0n1").virtual_machine();
        for machine in [virtio, nvme] {
            let (_, layer) = machine.below("/x");
            assert!(matches!(layer, DiskLayer::Unknown { why } if why.contains("attest it in a waiver")));
        }
        let metal = Machine::new().device("pci/nvme0n1", "259:0").mount("259:0", "/", "ext4", "/dev/nvme0n1");
        assert_eq!(metal.below("/x").1, DiskLayer::Plain);
    }

    #[test]
    fn a_loop_device_is_as_good_as_its_file() {
        let machine = Machine::new()
            .device("pci/sda", "8:0")
            .dm("virtual/dm-0", "253:0", "CRYPT-PLAIN-x\n", "x\n")
            .device("virtual/loop0", "7:0")
            .file("virtual/loop0/loop/backing_file", "/images/disk.img\n")
            .mount("8:0", "/", "ext4", "/dev/sda")
            .mount("253:0", "/images", "ext4", "/dev/mapper/x")
            .mount("7:0", "/loop", "ext4", "/dev/loop0");
        let (chain, layer) = machine.below("/loop/mysql");
        assert_eq!((chain.join(" "), layer), ("loop0 dm-0".to_owned(), encrypted("dm-crypt PLAIN x")));
    }

    #[test]
    fn a_loop_device_on_itself_ends() {
        let machine = Machine::new()
            .device("virtual/loop0", "7:0")
            .file("virtual/loop0/loop/backing_file", "/x.img\n")
            .mount("7:0", "/", "ext4", "/dev/loop0");
        assert!(matches!(machine.below("/x").1, DiskLayer::Unknown { .. }));
    }

    #[test]
    fn verity_and_integrity_hide_nothing() {
        let machine = Machine::new()
            .device("pci/sda", "8:0")
            .dm("virtual/dm-0", "253:0", "CRYPT-VERITY-1-root\n", "root\n")
            .slave("virtual/dm-0", "pci/sda")
            .mount("253:0", "/", "ext4", "/dev/mapper/root");
        assert_eq!(machine.below("/x").1, DiskLayer::Plain);
    }

    #[test]
    fn a_btrfs_is_as_good_as_its_worst_device() {
        let machine = Machine::new()
            .device("pci/sda", "8:0")
            .device("pci/sdb", "8:16")
            .dm("virtual/dm-0", "253:0", "CRYPT-LUKS2-1-a\n", "a\n")
            .slave("virtual/dm-0", "pci/sda")
            .mount("0:30", "/", "btrfs", "/dev/dm-0");
        assert_eq!(machine.below("/x").1, encrypted("dm-crypt LUKS2 a"));
        let members = machine.dir.path().join("sys/fs/btrfs/uuid/devices");
        fs::create_dir_all(&members).unwrap();
        symlink("/x", members.join("dm-0")).unwrap();
        symlink("/y", members.join("sdb")).unwrap();
        assert_eq!(machine.below("/x").1, DiskLayer::Plain);
    }

    #[test]
    fn file_systems_without_a_disk_are_recognised() {
        let machine = Machine::new()
            .mount("0:1", "/tmp", "tmpfs", "tmpfs")
            .mount("0:2", "/net", "nfs4", "nas:/x")
            .mount("0:3", "/pool", "zfs", "tank/mysql")
            .mount("0:4", "/box", "overlay", "overlay")
            .mount("0:5", "/enc", "fuse.gocryptfs", "/c");
        assert_eq!(machine.below("/tmp/x").1, DiskLayer::Memory);
        assert!(matches!(machine.below("/net/x").1, DiskLayer::Unknown { why } if why.contains("nas:/x")));
        assert!(matches!(machine.below("/pool/x").1, DiskLayer::Unknown { why } if why.contains("zfs get")));
        assert!(matches!(machine.below("/box/x").1, DiskLayer::Unknown { why } if why.contains("container")));
        assert_eq!(machine.below("/enc/x").1, encrypted("gocryptfs"));
    }

    #[test]
    fn swap_is_judged_by_what_it_lies_on() {
        let machine = Machine::new()
            .device("pci/sda", "8:0")
            .device("virtual/zram0", "252:0")
            .dm("virtual/dm-0", "253:0", "CRYPT-PLAIN-swap\n", "swap\n")
            .mount("8:0", "/", "ext4", "/dev/sda");
        let table = "Filename Type Size Used Priority\n/dev/dm-0 partition 1 0 -2\n/dev/zram0 partition 1 0 100\n/swapfile file 1 0 -3\n";
        fs::write(machine.dir.path().join("proc/swaps"), table).unwrap();
        let layers: Vec<DiskLayer> = machine.disks().swaps().unwrap().into_iter().map(|swap| swap.layer).collect();
        assert_eq!(layers, [encrypted("dm-crypt PLAIN swap"), DiskLayer::Memory, DiskLayer::Plain]);
    }
}
