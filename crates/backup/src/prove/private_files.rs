//! The directories and files of a private server, given to the user that it runs as, and removed with it.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt, chown},
    path::{Path, PathBuf},
};

use rustix::process::geteuid;
use server::{ServerFiles, auto_cnf};

use super::memory;
use crate::{Error, temporary_directory::remove_stale};

/// Prefix of private directories, followed by the process id.
const PREFIX: &str = "sealant-prove-";
/// Name of the socket. Short, since the path of a socket has at most 107 bytes.
const SOCKET: &str = "s";

/// Where the keys of a private server come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeySource {
    /// Files on the disks of this host.
    Files,
    /// A service: they are on no disk of this host.
    Service,
}

/// The directories of a server, removed on drop. The file with the server's UUID is removed, too, unless it existed
/// before: a second server with the same UUID must not start from the data directory.
pub(super) struct PrivateDirectories {
    /// Directory of its program, its settings and its socket.
    pub(super) own: PathBuf,
    /// Copies of the keys, in memory where the system has such a file system.
    pub(super) secrets: PathBuf,
    /// Directory of its log and its temporary files.
    rows: PathBuf,
    datadir: PathBuf,
    has_identity: bool,
}

impl PrivateDirectories {
    /// Creates directories for a server that may write rows outside of its data directory to disk.
    pub(super) fn create(datadir: &Path, keys: KeySource) -> Result<Self, Error> {
        let mut directories = Self::without_secrets(datadir)?;
        directories.secrets = secrets_directory(Path::new(memory::DIRECTORY), &directories.own, keys)?;
        Ok(directories)
    }

    /// Creates directories for a server that must keep all rows outside of its data directory in memory.
    pub(super) fn in_memory(datadir: &Path) -> Result<Self, Error> {
        memory::free_bytes(Path::new(memory::DIRECTORY))?;
        let mut directories = Self::without_secrets(datadir)?;
        directories.secrets = private_directory(Path::new(memory::DIRECTORY))?;
        directories.rows.clone_from(&directories.secrets);
        Ok(directories)
    }

    fn without_secrets(datadir: &Path) -> Result<Self, Error> {
        let own = private_directory(&std::env::temp_dir())?;
        let has_identity = datadir.join(auto_cnf::NAME).exists();
        Ok(Self { secrets: own.clone(), rows: own.clone(), own, datadir: datadir.to_owned(), has_identity })
    }

    /// The files of the server.
    pub(super) fn files(&self) -> ServerFiles {
        ServerFiles {
            datadir: self.datadir.clone(),
            socket: self.own.join(SOCKET),
            pid_file: self.own.join("pid"),
            temporary: self.rows.clone(),
            log: self.rows.join("log"),
        }
    }

    /// Gives everything to the server's user, and gives the server the UUID of the server that was backed up.
    pub(super) fn give(&self, user: (u32, u32), server_uuid: Option<&str>) -> Result<(), Error> {
        give(&self.secrets, user)?;
        give(&self.own, user)?;
        match server_uuid.filter(|_| !self.has_identity) {
            Some(uuid) => write_identity(&self.datadir.join(auto_cnf::NAME), uuid, user),
            None => Ok(()),
        }
    }
}

impl Drop for PrivateDirectories {
    fn drop(&mut self) {
        if !self.has_identity {
            let _ = fs::remove_file(self.datadir.join(auto_cnf::NAME));
        }
        for directory in [&self.secrets, &self.own] {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// Writes the server's UUID, so that it has the same one as the server that was backed up.
fn write_identity(path: &Path, uuid: &str, (uid, gid): (u32, u32)) -> Result<(), Error> {
    let text = format!("[auto]\nserver-uuid={uuid}\n");
    // The text becomes a file of the server, so it must contain nothing but the UUID.
    if auto_cnf::server_uuid(&text) != Some(uuid) {
        return Ok(());
    }
    let written = fs::write(path, text);
    let given = written.and_then(|()| if geteuid().is_root() { chown(path, Some(uid), Some(gid)) } else { Ok(()) });
    given.map_err(Error::io(path, "cannot be written"))
}

/// Creates the directory of the keys in memory. Copies of files may also be in a private directory on a disk, keys of a
/// service may not.
fn secrets_directory(memory: &Path, own: &Path, keys: KeySource) -> Result<PathBuf, Error> {
    match keys {
        KeySource::Files => private_directory(memory).or_else(|_| private_directory(own)),
        KeySource::Service => {
            memory::free_bytes(memory)?;
            private_directory(memory)
        }
    }
}

/// Creates a directory with a short name, for the path of the socket.
fn private_directory(parent: &Path) -> Result<PathBuf, Error> {
    let mut random = [0; 4];
    aws_lc_rs::rand::fill(&mut random).map_err(|_| Error::Randomness)?;
    let number = random.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    // Directories of killed proofs contain keys.
    remove_stale(parent, PREFIX)?;
    let directory = parent.join(format!("{PREFIX}{}-{number:x}", std::process::id()));
    let made = fs::DirBuilder::new().mode(0o700).create(&directory);
    made.map_err(Error::io(&directory, "cannot be created"))?;
    Ok(directory)
}

/// Gives the private directory and its files to the server's user.
fn give(directory: &Path, (uid, gid): (u32, u32)) -> Result<(), Error> {
    if !geteuid().is_root() || uid == 0 {
        return Ok(());
    }
    for item in fs::read_dir(directory).map_err(Error::io(directory, "cannot be listed"))?.flatten() {
        let path = item.path();
        if path.is_file() {
            chown(&path, Some(uid), Some(gid)).map_err(Error::io(&path, "cannot be given to the server's user"))?;
        }
    }
    chown(directory, Some(uid), Some(gid)).map_err(Error::io(directory, "cannot be given to the server's user"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_service_are_never_written_to_a_disk() {
        let own = tempfile::tempdir().unwrap();
        let no_memory = own.path().join("none");
        let copies = secrets_directory(&no_memory, own.path(), KeySource::Files).unwrap();
        assert!(copies.starts_with(own.path()));
        for elsewhere in [no_memory.as_path(), Path::new("/proc")] {
            let refused = secrets_directory(elsewhere, own.path(), KeySource::Service);
            assert!(matches!(&refused, Err(Error::Memory { path, .. }) if path == elsewhere), "{refused:?}");
        }
    }
}
