//! Finds the server process of a data directory.
//!
//! A socket or a pid file is only a hint. The locks that InnoDB and Aria hold on their files, or the open descriptors
//! of the process, prove that it has this directory open. Either can be hidden from this process, so one of them
//! suffices.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    os::unix::{fs::MetadataExt, net::UnixStream},
    path::{Path, PathBuf},
};

use files::{
    proc,
    regular::{self, Links},
};
use innodb::server_file::{ARIA_CONTROL, DICTIONARY, FIRST_OLDER_REDO, FIRST_SYSTEM, FIRST_UNDO, REDO_DIRECTORY};
use rustix::{
    net::sockopt::socket_peercred,
    process::{Flock, FlockType, Pid, fcntl_getlk},
};

use crate::error::Error;

/// A running server, proven to have the data directory open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProcess {
    /// Process id of the server.
    pub pid: Pid,
    /// How the server was found, for messages.
    pub found_by: &'static str,
}

/// Files that a running server keeps locked. Source: `os_file_lock` of InnoDB, `my_lock` of Aria.
const LOCKED: [&str; 5] = [FIRST_SYSTEM, DICTIONARY, FIRST_UNDO, ARIA_CONTROL, FIRST_OLDER_REDO];

/// Finds the server that has `datadir` open.
pub(crate) fn find(
    datadir: &Path,
    socket: Option<&Path>,
    pid_file: Option<&Path>,
) -> Result<Option<ServerProcess>, Error> {
    let mut named = Vec::new();
    if let Some(socket) = socket {
        named.extend(peer(socket)?.map(|pid| (pid, "the peer of its socket")));
    }
    if let Some(path) = pid_file {
        named.extend(pid_in(path)?.map(|pid| (pid, "its pid file")));
    }
    let holders = lock_holders(datadir)?;
    let files = server_files(datadir);
    // A process that only writes logs there does not own the data.
    let owns = |pid: Pid| match holders.is_empty() {
        true => has_open(pid, &files),
        false => holders.contains(&pid.as_raw_nonzero()),
    };
    for (pid, found_by) in named {
        if owns(pid) {
            return Ok(Some(ServerProcess { pid, found_by }));
        }
        if is_alive(pid) {
            return Err(Error::NotItsServer { pid, found_by, path: datadir.to_owned() });
        }
    }
    let mut owners: BTreeSet<_> = holders.into_iter().filter_map(|pid| Pid::from_raw(pid.get())).map(raw).collect();
    if owners.is_empty() {
        owners = processes().filter(|pid| has_open(*pid, &files)).map(raw).collect();
    }
    let mut owners = owners.into_iter().filter_map(Pid::from_raw);
    match (owners.next(), owners.next()) {
        (Some(one), Some(other)) => Err(Error::SeveralServers { path: datadir.to_owned(), one, other }),
        (Some(pid), None) => Ok(Some(ServerProcess { pid, found_by: "the locks and open files of its data" })),
        _ => Ok(None),
    }
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

/// The process that listens on a socket; `None` if there is none.
fn peer(socket: &Path) -> Result<Option<Pid>, Error> {
    let unreadable = |source| Error::Unreadable { path: socket.to_owned(), source };
    match UnixStream::connect(socket) {
        Ok(stream) => Ok(Some(socket_peercred(&stream).map_err(|error| unreadable(error.into()))?.pid)),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

fn pid_in(path: &Path) -> Result<Option<Pid>, Error> {
    const MAX_BYTES: u64 = 64;
    match regular::read(path, Links::Followed, MAX_BYTES) {
        Ok(text) => Ok(String::from_utf8_lossy(&text).trim().parse().ok().and_then(Pid::from_raw)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Unreadable { path: path.to_owned(), source }),
    }
}

/// Processes that hold a write lock on files of the directory.
fn lock_holders(datadir: &Path) -> Result<BTreeSet<std::num::NonZeroI32>, Error> {
    let mut holders = BTreeSet::new();
    for name in LOCKED {
        let path = datadir.join(name);
        let file = match regular::open(&path, Links::Followed) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(Error::Unreadable { path, source }),
        };
        if let Ok(Some(lock)) = fcntl_getlk(&file, &Flock::from(FlockType::ReadLock)) {
            // The kernel returns 0 for a process outside of this PID namespace.
            let pid = lock.pid.ok_or_else(|| Error::OutOfSight { path: path.clone() })?;
            holders.insert(pid.as_raw_nonzero());
        }
    }
    Ok(holders)
}

/// Device and inode numbers of the files that a server opens for writing.
fn server_files(datadir: &Path) -> BTreeSet<(u64, u64)> {
    let directories: [PathBuf; 3] = [datadir.to_owned(), datadir.join(REDO_DIRECTORY), datadir.join("mysql")];
    let items = directories.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
    let files = items.filter_map(|item| item.metadata().ok()).filter(fs::Metadata::is_file);
    files.map(|metadata| (metadata.dev(), metadata.ino())).collect()
}

/// Whether a process has one of these files open for writing.
fn has_open(pid: Pid, files: &BTreeSet<(u64, u64)>) -> bool {
    open_files(pid).is_ok_and(|mut open| open.any(|open| files.contains(&open.identity)))
}

/// A regular file that a process has open for writing.
pub(crate) struct OpenFile {
    /// Path as the process sees it.
    pub(crate) path: PathBuf,
    /// Device and inode number.
    pub(crate) identity: (u64, u64),
}

/// Regular files that a process has open for writing.
///
/// # Errors
/// Any error of the operating system: descriptors of other users' processes are hidden.
pub(crate) fn open_files(pid: Pid) -> io::Result<impl Iterator<Item = OpenFile>> {
    let process = of_process(pid);
    let descriptors = fs::read_dir(process.join("fd"))?;
    Ok(descriptors.flatten().filter_map(move |descriptor| {
        let metadata = fs::metadata(descriptor.path()).ok().filter(fs::Metadata::is_file)?;
        let flags = proc::open_flags(&process, &descriptor.file_name()).ok()?;
        let path = fs::read_link(descriptor.path()).ok()?;
        proc::is_for_writing(flags).then_some(OpenFile { path, identity: (metadata.dev(), metadata.ino()) })
    }))
}

/// Files that a process has mapped for writing, by name and inode: writes through a mapping do not
/// update their timestamps at once.
///
/// # Errors
/// Any error of the operating system: the maps of other users' processes are hidden.
pub fn mapped_for_writing(server: &ServerProcess) -> io::Result<BTreeSet<(OsString, u64)>> {
    let maps = fs::read_to_string(of_process(server.pid).join("maps"))?;
    Ok(maps.lines().filter_map(written_mapping).collect())
}

/// A line of `/proc/PID/maps`: addresses, permissions, offset, device, inode, path. Source: proc_pid_maps(5).
fn written_mapping(line: &str) -> Option<(OsString, u64)> {
    let mut message = line.splitn(6, ' ');
    let permissions = message.nth(1)?;
    let inode = message.nth(2)?.parse().ok()?;
    let path = Path::new(message.next()?.trim_start());
    let written = permissions.contains('w') && permissions.ends_with('s') && path.is_absolute();
    written.then(|| Some((path.file_name()?.to_owned(), inode)))?
}

fn processes() -> impl Iterator<Item = Pid> {
    let current = i32::try_from(std::process::id()).ok();
    let items = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = items.filter_map(|item| item.file_name().to_str()?.parse().ok());
    pids.filter(move |pid| Some(*pid) != current).filter_map(Pid::from_raw)
}

/// The `/proc` directory of a process.
pub(crate) fn of_process(pid: Pid) -> PathBuf {
    Path::new("/proc").join(raw(pid).to_string())
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: Pid) -> bool {
    fs::read_to_string(of_process(pid).join("stat")).is_ok_and(|stat| !matches!(state_in(&stat), Some('Z' | 'X')))
}

/// The state in a line of `/proc/PID/stat`: the letter after the name, which is in parentheses and
/// may contain any letter. Source: proc_pid_stat(5).
pub(crate) fn state_in(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write};

    use super::*;

    #[test]
    fn a_process_name_cannot_hide_the_state() {
        assert_eq!(state_in("42 (my) T (sqld) S 1 42"), Some('S'));
        assert_eq!(state_in("42 (mysqld) T 1 42"), Some('T'));
        assert_eq!(state_in("42"), None);
    }

    #[test]
    fn a_process_that_holds_no_file_of_the_directory_is_refused() {
        let datadir = tempfile::tempdir().unwrap();
        fs::write(datadir.path().join("ibdata1"), "x").unwrap();
        let pid_file = datadir.path().join("pid");
        write!(File::create(&pid_file).unwrap(), "1").unwrap();
        let found = find(datadir.path(), None, Some(&pid_file));
        assert!(matches!(found, Err(Error::NotItsServer { .. })), "{found:?}");
        fs::write(&pid_file, "4194999\n").unwrap();
        assert_eq!(find(datadir.path(), None, Some(&pid_file)).unwrap(), None, "nobody has this number");
        assert_eq!(find(datadir.path(), None, None).unwrap(), None);
    }

    #[test]
    fn shared_mappings_for_writing_are_found() {
        let log =
            "7f2d3c000000-7f2d3d000000 rw-s 00000000 00:1b 4242                       /dev/shm/a b/data/ib_logfile0";
        assert_eq!(written_mapping(log), Some(("ib_logfile0".into(), 4242)));
        for other in [
            "7f2d3c000000-7f2d3d000000 rw-p 00000000 00:1b 4242                       /usr/lib/libc.so.6",
            "7f2d3c000000-7f2d3d000000 r--s 00000000 00:1b 4242                       /usr/lib/gconv.cache",
            "7f2d3c000000-7f2d3d000000 rw-s 00000000 00:01 4242                       [aio]",
            "7f2d3c000000-7f2d3d000000 rw-p 00000000 00:00 0 ",
            "",
        ] {
            assert_eq!(written_mapping(other), None, "{other}");
        }
    }

    #[test]
    fn a_descriptor_for_reading_proves_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let identity = |file: &File| file.metadata().map(|m| (m.dev(), m.ino())).unwrap();
        let current = || {
            let open = open_files(rustix::process::getpid()).unwrap();
            open.map(|open| open.identity).collect::<Vec<_>>()
        };
        assert!(current().contains(&identity(file.as_file())));
        let other = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let reading = File::open(&other).unwrap();
        assert!(!current().contains(&identity(&reading)));
    }
}
