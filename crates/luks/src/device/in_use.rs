//! Checks that a disk is unused. A volume is created only on a disk that no process uses, no table names, and that
//! holds no data.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, SeekFrom, seek};

use super::{Block, Host, system_code};
use crate::Error;
use crate::usage_sign::MIN_BYTES;
pub use crate::usage_sign::UsageSign;

/// Bytes that are read in full at each end of the disk.
const END_BYTES: u64 = 4 << 20;
/// Blocks that are sampled in between, at equal distances.
const SAMPLES: u64 = 256;
/// Bytes of one sample.
const SAMPLE_BYTES: usize = 4096;

/// All signs of use of `path`; writes nothing. A blank regular file counts as unused: it is an image. `unknown_data`
/// says whether to look for data without a signature.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::Program`] if `blkid` fails.
pub fn usage_signs(host: &Host, path: &Path, unknown_data: bool) -> Result<Vec<UsageSign>, Error> {
    let io = || Error::io(path);
    let kind = fs::metadata(path).map_err(io())?.file_type();
    if !kind.is_block_device() && !kind.is_file() {
        return Ok(vec![UsageSign::NotADisk]);
    }
    let mut found = Vec::new();
    if let Some(block) = Block::find(host, path).map_err(io())? {
        found.extend(in_use(host, &block));
        // With O_EXCL, the kernel refuses a device that is in use: mounted, swap, part of an array or a volume.
        let exclusive = i32::try_from((OFlags::EXCL | OFlags::NONBLOCK).bits()).unwrap_or_default();
        match OpenOptions::new().read(true).custom_flags(exclusive).open(path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && found.is_empty() => {
                found.push(UsageSign::Claimed)
            }
            Err(error) if error.kind() != io::ErrorKind::ResourceBusy => return Err(io()(error)),
            _ => {}
        }
    }
    found.extend(usage_signs_of_file(host, path));
    found.extend(named(host, path));
    let file = File::open(path).map_err(io())?;
    let bytes = seek(&file, SeekFrom::End(0)).map_err(|error| io()(error.into()))?;
    if bytes < MIN_BYTES {
        found.push(UsageSign::TooSmall(bytes));
    }
    match signature(path)? {
        Some(kind) => found.push(UsageSign::Signature(kind)),
        None if unknown_data => {
            found.extend(data(&file, bytes).map_err(io())?.map(|offset| UsageSign::Data { offset }))
        }
        None => {}
    }
    Ok(found)
}

/// Uses that the kernel does not prevent: processes that have it open, as far as we may see them, and, for a file, the
/// loop devices backed by it, which may carry an open volume.
#[must_use]
pub(crate) fn usage_signs_of_file(host: &Host, path: &Path) -> Vec<UsageSign> {
    let Ok(current) = fs::metadata(path) else { return Vec::new() };
    let mut found = open_by(host, &current);
    if current.file_type().is_file() {
        let loops = fs::read_dir(host.sys.join("class/block")).into_iter().flatten().flatten();
        let is_ours = |directory: &Path| {
            let backing = fs::read_to_string(directory.join("loop/backing_file")).unwrap_or_default();
            fs::metadata(backing.trim_end_matches('\n')).is_ok_and(|backing| is_same(&current, &backing))
        };
        let ours = loops.filter(|entry| is_ours(&entry.path()));
        found.extend(ours.map(|entry| UsageSign::Loop(entry.file_name().to_string_lossy().into_owned())));
    }
    found
}

/// Whether both are the same file, or device nodes of the same block device.
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    match (one.file_type().is_block_device(), other.file_type().is_block_device()) {
        (true, true) => one.rdev() == other.rdev(),
        (false, false) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

fn in_use(host: &Host, block: &Block) -> Vec<UsageSign> {
    let mut found = Vec::new();
    let partitions = block.partitions();
    let parts = partitions.iter().filter_map(|name| Block::by_name(host, name));
    let numbers: Vec<Block> = std::iter::once(block.clone()).chain(parts).collect();
    let mounts = host.mounts();
    let of_disk = mounts.iter().filter(|mount| numbers.iter().any(|current| current.number == mount.device));
    found.extend(of_disk.map(|mount| UsageSign::Mounted(mount.point.clone())));
    let swaps = fs::read_to_string(host.proc.join("swaps")).unwrap_or_default();
    let swap = |line: &str| {
        let name = line.split_whitespace().next().and_then(|path| fs::canonicalize(path).ok());
        let name = name.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        numbers.iter().any(|current| Some(&current.name) == name.as_ref())
    };
    if swaps.lines().skip(1).any(swap) {
        found.push(UsageSign::Swap);
    }
    found.extend(numbers.iter().flat_map(Block::holders).map(UsageSign::Holder));
    if block.is_read_only() {
        found.push(UsageSign::ReadOnly);
    }
    if !partitions.is_empty() {
        found.push(UsageSign::Partitions(partitions));
    }
    found
}

/// Other processes that have the disk open, as far as we may see them.
fn open_by(host: &Host, current: &Metadata) -> Vec<UsageSign> {
    let this_pid = std::process::id().to_string();
    let is_pid = |name: &OsStr| name != this_pid.as_str() && name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    let processes = fs::read_dir(&host.proc).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for process in processes.filter(|entry| is_pid(&entry.file_name())) {
        let descriptors = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        // Descriptors that are not files have names like `pipe:[7]`.
        let is_file = |path: &Path| fs::read_link(path).is_ok_and(|target| target.is_absolute());
        let mut files = descriptors.map(|entry| entry.path()).filter(|path| is_file(path));
        if files.any(|path| fs::metadata(path).is_ok_and(|other| is_same(current, &other))) {
            let program = fs::read_to_string(process.path().join("comm")).unwrap_or_default().trim().to_owned();
            found.push(UsageSign::OpenBy { pid: process.file_name().to_string_lossy().into_owned(), program });
        }
    }
    found
}

/// Lines of `fstab` and `crypttab` that name the disk, also through links.
fn named(host: &Host, path: &Path) -> Vec<UsageSign> {
    let Ok(current) = fs::metadata(path) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, field) in [("fstab", 0), ("crypttab", 1)] {
        let file = host.etc.join(name);
        let text = fs::read_to_string(&file).unwrap_or_default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
            let device = line.split_whitespace().nth(field).and_then(device_of);
            if device.is_some_and(|device| fs::metadata(device).is_ok_and(|device| is_same(&current, &device))) {
                found.push(UsageSign::Named { file: file.clone(), line: number.saturating_add(1) });
            }
        }
    }
    found
}

/// The path that a table entry means: a path, or a tag for which udev keeps a link. Source: fstab(5), crypttab(5).
fn device_of(spec: &str) -> Option<PathBuf> {
    if spec.starts_with('/') {
        return Some(PathBuf::from(spec));
    }
    let (tag, value) = spec.split_once('=')?;
    let directory = match tag {
        "UUID" => "by-uuid",
        "LABEL" => "by-label",
        "PARTUUID" => "by-partuuid",
        "PARTLABEL" => "by-partlabel",
        "ID" => "by-id",
        _ => return None,
    };
    Some(Path::new("/dev/disk").join(directory).join(value.trim_matches('"')))
}

/// The signature that `blkid` finds. Exit code 2 means none, 8 means more than one. Source: blkid(8).
fn signature(path: &Path) -> Result<Option<String>, Error> {
    let args = ["-p", "-o", "export", "--"].map(OsStr::new);
    let (code, ended) = system_code("blkid", &[&args[..], &[path.as_os_str()]].concat())?;
    let value = |name: &str| ended.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    match code {
        Some(0) => Ok(value("TYPE")
            .map(|kind| format!("a {kind} signature"))
            .or_else(|| value("PTTYPE").map(|kind| format!("a partition table ({kind})")))),
        Some(2) => Ok(None),
        Some(8) => Ok(Some("signatures of more than one kind".to_owned())),
        _ => Err(Error::Program { program: "blkid", message: ended.error_output() }),
    }
}

/// Offset of the first nonzero byte found: both ends are read in full, samples between them.
fn data(file: &File, bytes: u64) -> io::Result<Option<u64>> {
    let step = u64::try_from(SAMPLE_BYTES).unwrap_or(u64::MAX);
    let tail = bytes.saturating_sub(END_BYTES);
    let distance = bytes.checked_div(SAMPLES).unwrap_or_default();
    let between = (1..SAMPLES).map(|n| distance.saturating_mul(n)).map(|at| at & !step.saturating_sub(1));
    let ends = |from: u64| (from..from.saturating_add(END_BYTES)).step_by(SAMPLE_BYTES);
    let (zeros, mut block) = ([0; SAMPLE_BYTES], [0; SAMPLE_BYTES]);
    for offset in ends(0).chain(between).chain(ends(tail)) {
        let count = file.read_at(&mut block, offset)?;
        // Comparing whole blocks is fast: there are megabytes of them.
        if block.get(..count) != zeros.get(..count) {
            return Ok(Some(offset));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(dir: &Path) -> Host {
        let host = Host { proc: dir.join("proc"), sys: dir.join("sys"), etc: dir.join("etc") };
        fs::create_dir_all(host.proc.join("7/fd")).unwrap();
        fs::create_dir_all(&host.etc).unwrap();
        host
    }

    fn image(dir: &Path) -> PathBuf {
        let path = fs::canonicalize(dir).unwrap().join("image");
        File::create(&path).unwrap().set_len(MIN_BYTES).unwrap();
        path
    }

    #[test]
    fn a_blank_image_is_free() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(usage_signs(&host(dir.path()), &image(dir.path()), true).unwrap(), []);
    }

    #[test]
    fn tables_and_processes_that_use_a_disk_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let (host, image) = (host(dir.path()), image(dir.path()));
        fs::write(host.etc.join("fstab"), format!("# {0}\n{0} /mnt ext4 noauto 0 0\n", image.display())).unwrap();
        fs::write(host.proc.join("7/comm"), "mysqld\n").unwrap();
        std::os::unix::fs::symlink(&image, host.proc.join("7/fd/3")).unwrap();
        let found = usage_signs(&host, &image, true).unwrap();
        let said: Vec<String> = found.iter().map(UsageSign::to_string).collect();
        assert_eq!(said[0], "is open in process 7 (mysqld)");
        assert!(said[1].ends_with("fstab line 2"), "{said:?}");
    }

    #[test]
    fn the_backing_file_of_a_loop_device_is_in_use_under_any_path() {
        let dir = tempfile::tempdir().unwrap();
        let (host, image) = (host(dir.path()), image(dir.path()));
        let other = dir.path().join("other name");
        fs::hard_link(&image, &other).unwrap();
        let device = host.sys.join("class/block/loop3/loop");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("backing_file"), format!("{}\n", other.display())).unwrap();
        assert_eq!(usage_signs(&host, &image, true).unwrap(), [UsageSign::Loop("loop3".to_owned())]);
        assert_eq!(usage_signs_of_file(&host, &image), [UsageSign::Loop("loop3".to_owned())]);
    }

    #[test]
    fn tags_in_tables_resolve_to_udev_links() {
        let path = |spec| device_of(spec).map(|path| path.display().to_string());
        assert_eq!(path("PARTUUID=\"1-2\"").as_deref(), Some("/dev/disk/by-partuuid/1-2"));
        assert_eq!(path("/dev/sda").as_deref(), Some("/dev/sda"));
        assert_eq!(path("tmpfs"), None);
    }

    #[test]
    fn data_is_found_at_any_offset() {
        let dir = tempfile::tempdir().unwrap();
        let (host, image) = (host(dir.path()), image(dir.path()));
        for offset in [0, END_BYTES - 1, MIN_BYTES / 2, MIN_BYTES - 1] {
            let file = OpenOptions::new().write(true).open(&image).unwrap();
            file.write_all_at(&[7; 1], offset).unwrap();
            let found = usage_signs(&host, &image, true).unwrap();
            assert!(matches!(found.as_slice(), [UsageSign::Data { .. }]), "{offset}: {found:?}");
            assert_eq!(usage_signs(&host, &image, false).unwrap(), [], "{offset}");
            file.write_all_at(&[0; 1], offset).unwrap();
        }
    }

    #[test]
    fn small_files_and_special_files_are_no_disks() {
        let dir = tempfile::tempdir().unwrap();
        let host = host(dir.path());
        assert_eq!(usage_signs(&host, dir.path(), true).unwrap(), [UsageSign::NotADisk]);
        let small = dir.path().join("small");
        File::create(&small).unwrap().set_len(1 << 20).unwrap();
        assert_eq!(usage_signs(&host, &small, true).unwrap(), [UsageSign::TooSmall(1 << 20)]);
    }
}
