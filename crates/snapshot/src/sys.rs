//! System calls without a safe wrapper: extents, dirty pages, btrfs subvolumes.

use std::{
    ffi::{OsStr, c_char, c_long},
    io,
    mem::size_of,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::ioctl::{Setter, Updater, ioctl, opcode};

/// `struct fiemap` without an extent array. Source: `linux/fiemap.h`.
#[repr(C)]
#[derive(Default)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

const FIEMAP: rustix::ioctl::Opcode = opcode::read_write::<Fiemap>(b'f', 11);

/// Number of extents of a file. The kernel counts them if there is no array (`fm_extent_count` 0).
pub(crate) fn extents(file: impl AsFd) -> io::Result<u64> {
    let mut map = Fiemap { length: u64::MAX, ..Fiemap::default() };
    // SAFETY: FS_IOC_FIEMAP reads and writes a `struct fiemap`, which `Fiemap` is; with room for no extent it writes
    // nothing after it.
    unsafe { ioctl(file, Updater::<FIEMAP, Fiemap>::new(&mut map))? };
    Ok(u64::from(map.mapped_extents))
}

/// `cachestat(2)`, the same number on every architecture; since Linux 6.5.
const CACHESTAT: c_long = 451;

#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Dirty bytes of a file in the page cache.
pub(crate) fn dirty_bytes(file: impl AsFd) -> io::Result<u64> {
    let range = [0_u64; 2];
    let mut stat = CacheStat::default();
    // SAFETY: the kernel reads two u64 (`struct cachestat_range`: offset, length) and writes five
    // (`struct cachestat`); both live until the call returns.
    let done = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_fd().as_raw_fd(),
            std::ptr::from_ref(&range),
            std::ptr::from_mut(&mut stat),
            0_u32,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: takes and returns integers.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Ok((stat.dirty + stat.writeback) * u64::try_from(page_bytes).unwrap_or(4096))
}

/// Starts to write the dirty pages of a file, and waits for them, without forcing a journal commit.
pub(crate) fn write_out(file: impl AsFd) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: takes a descriptor that is open and three integers; 0 bytes means up to the end.
    let done = unsafe { libc::sync_file_range(file.as_fd().as_raw_fd(), 0, 0, flags) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `struct btrfs_ioctl_vol_args_v2`. Source: `linux/btrfs.h`.
#[repr(C)]
struct VolumeArgs2 {
    descriptor: i64,
    transaction: u64,
    flags: u64,
    unused: [u64; 4],
    name: [c_char; 4040],
}

/// `struct btrfs_ioctl_vol_args`.
#[repr(C)]
struct VolumeArgs {
    descriptor: i64,
    name: [c_char; 4088],
}

const SNAP_CREATE_V2: rustix::ioctl::Opcode = opcode::write::<VolumeArgs2>(0x94, 23);
const SNAP_DESTROY: rustix::ioctl::Opcode = opcode::write::<VolumeArgs>(0x94, 15);
const SUBVOL_SETFLAGS: rustix::ioctl::Opcode = opcode::write::<u64>(0x94, 26);
const READ_ONLY: u64 = 1 << 1;

const _: () = assert!(size_of::<VolumeArgs2>() == 4096 && size_of::<VolumeArgs>() == 4096);

/// Makes a read-only snapshot of a btrfs subvolume, called `name`, in `directory`.
pub(crate) fn btrfs_snapshot(subvolume: BorrowedFd<'_>, directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let args = VolumeArgs2 {
        descriptor: subvolume.as_raw_fd().into(),
        transaction: 0,
        flags: READ_ONLY,
        unused: [0; 4],
        name: terminated(name)?,
    };
    // SAFETY: BTRFS_IOC_SNAP_CREATE_V2 reads a `btrfs_ioctl_vol_args_v2`, which `VolumeArgs2` is; the
    // descriptor in it is open for as long as the call takes.
    unsafe { ioctl(directory, Setter::<SNAP_CREATE_V2, _>::new(args))? };
    Ok(())
}

/// Removes the subvolume called `name` from `directory`.
pub(crate) fn btrfs_remove(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let args = VolumeArgs { descriptor: 0, name: terminated(name)? };
    // SAFETY: BTRFS_IOC_SNAP_DESTROY reads a `btrfs_ioctl_vol_args`, which `VolumeArgs` is.
    unsafe { ioctl(directory, Setter::<SNAP_DESTROY, _>::new(args))? };
    Ok(())
}

/// Makes a subvolume writable.
pub(crate) fn btrfs_make_writable(subvolume: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: BTRFS_IOC_SUBVOL_SETFLAGS reads a u64.
    unsafe { ioctl(subvolume, Setter::<SUBVOL_SETFLAGS, u64>::new(0))? };
    Ok(())
}

/// A name with a terminating zero byte.
fn terminated<const N: usize>(name: &OsStr) -> io::Result<[c_char; N]> {
    let bytes = name.as_bytes();
    if bytes.len() >= N || bytes.contains(&0) {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    let mut field = [0; N];
    for (to, from) in field.iter_mut().zip(bytes) {
        *to = c_char::from_ne_bytes([*from]);
    }
    Ok(field)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn extents_and_dirty_pages_are_counted() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[1; 1 << 20]).unwrap();
        // The call does not exist before Linux 6.5.
        if let Ok(dirty) = dirty_bytes(file.as_file()) {
            assert_eq!(dirty, 1 << 20);
        }
        write_out(file.as_file()).unwrap();
        if let Ok(dirty) = dirty_bytes(file.as_file()) {
            assert_eq!(dirty, 0);
        }
        if let Ok(extents) = extents(file.as_file()) {
            assert!((1..64).contains(&extents), "{extents}");
        }
    }
}
