//! The file system as the server sees it, which in a container or under systemd's `PrivateTmp` differs from ours.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use files::regular::{self, Links};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, open, statat};

/// Maximum number of links in a path, as in the kernel.
const MAX_LINKS: usize = 40;

/// Paths of this host's pseudo file systems; tests use their own.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    /// `/proc`.
    pub(crate) proc: PathBuf,
    /// `/sys`.
    pub(crate) sys: PathBuf,
}

impl Host {
    /// Those of the running system.
    pub(crate) fn this() -> Self {
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys") }
    }

    /// The same paths, for the `luks` crate to read descriptions of block devices.
    pub(crate) fn devices(&self) -> luks::device::Host {
        luks::device::Host { proc: self.proc.clone(), sys: self.sys.clone(), etc: PathBuf::from("/etc") }
    }

    /// `/proc/PID/what`.
    pub(crate) fn of_process(&self, pid: i32, what: &str) -> PathBuf {
        self.proc.join(pid.to_string()).join(what)
    }
}

/// Maps paths of the server to paths that we can open.
///
/// Links are resolved inside the server's root, so that an absolute link in a container leads to the container's file.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// `/proc/PID/root`; `None` if the server's root is ours.
    root: Option<PathBuf>,
}

impl View {
    /// Our own view.
    pub(crate) const fn ours() -> Self {
        Self { root: None }
    }

    /// The view of a process: its root, if it has another root or mount namespace.
    pub(crate) fn of_process(host: &Host, pid: i32) -> Self {
        let namespace = |who: &str| std::fs::read_link(host.proc.join(who).join("ns/mnt"));
        let root = host.of_process(pid, "root");
        let moved = std::fs::read_link(&root).is_ok_and(|path| path != Path::new("/"));
        let remote = matches!((namespace(&pid.to_string()), namespace("self")), (Ok(a), Ok(b)) if a != b);
        Self { root: (moved || remote).then_some(root) }
    }

    /// The server's root as a path of ours, if it differs from our root.
    pub(crate) fn foreign_root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Our path of the server's `path`, without resolving links.
    fn outside(&self, path: &Path) -> PathBuf {
        match &self.root {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_owned(),
        }
    }

    /// The server's absolute `path` with links resolved, as a path of the server. Parts that do not exist are kept.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        let mut todo: VecDeque<PathBuf> = path.components().map(|part| PathBuf::from(part.as_os_str())).collect();
        let mut done = PathBuf::from("/");
        let mut links = 0_usize;
        while let Some(part) = todo.pop_front() {
            match part.components().next() {
                Some(Component::ParentDir) => {
                    done.pop();
                }
                Some(Component::Normal(name)) => {
                    let next = done.join(name);
                    match std::fs::read_link(self.outside(&next)) {
                        Ok(target) if links < MAX_LINKS => {
                            links = links.saturating_add(1);
                            if target.is_absolute() {
                                done = PathBuf::from("/");
                            }
                            target.components().rev().for_each(|c| todo.push_front(PathBuf::from(c.as_os_str())));
                        }
                        _ => done = next,
                    }
                }
                Some(Component::RootDir) => done = PathBuf::from("/"),
                _ => {}
            }
        }
        done
    }

    /// Our path of the server's `path`, with links resolved.
    pub(crate) fn reach(&self, path: &Path) -> PathBuf {
        self.outside(&self.resolve(path))
    }

    /// Opens a directory by the server's path.
    pub(crate) fn open_dir(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(open(self.reach(path), flags, Mode::empty())?)
    }

    /// Opens a regular file by the server's path, without blocking.
    pub(crate) fn open_file(&self, path: &Path) -> io::Result<OwnedFd> {
        let reached = self.reach(path);
        open_at(CWD, reached.as_os_str())
    }

    /// Metadata of the server's `path`; a link at the end is not followed.
    pub(crate) fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(statat(CWD, self.reach(path), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Content of a file, at most `limit` bytes.
    pub(crate) fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        files::read_bytes(&File::from(self.open_file(path)?), 0, limit)
    }
}

/// Opens a file in a directory for reading.
pub(crate) fn open_at(dir: impl std::os::fd::AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    regular::open_at(dir, name, Links::Refused).map(OwnedFd::from)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_resolved_inside_the_servers_root() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("data/db")).unwrap();
        fs::create_dir_all(dir.path().join("var/lib")).unwrap();
        symlink("/data", dir.path().join("var/lib/mysql")).unwrap();
        fs::write(dir.path().join("data/db/t"), "x").unwrap();
        let view = View { root: Some(dir.path().to_owned()) };
        assert_eq!(view.resolve(Path::new("/var/lib/mysql/db/../db/t")), Path::new("/data/db/t"));
        assert_eq!(view.read(Path::new("/var/lib/mysql/db/t"), 10).unwrap(), b"x");
    }

    #[test]
    fn a_loop_of_links_ends() {
        let dir = tempfile::tempdir().unwrap();
        symlink("/b", dir.path().join("a")).unwrap();
        symlink("/a", dir.path().join("b")).unwrap();
        let view = View { root: Some(dir.path().to_owned()) };
        assert!(view.open_file(Path::new("/a/x")).is_err());
    }

    #[test]
    fn a_pipe_does_not_hang() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert_eq!(View::ours().open_file(&path).unwrap_err().to_string(), "a named pipe, not a file");
    }
}
