//! The directories and files of a private server, given to the user that it runs as, and removed with it.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt, chown},
    path::{Path, PathBuf},
};

use rustix::process::geteuid;
use server::auto_cnf;

use crate::{Error, temporary_directory::remove_stale};

/// Prefix of private directories, followed by the process id.
const PREFIX: &str = "sealant-prove-";
/// Writes the server's UUID, so that it has the same one as the server that was backed up.
pub(super) fn write_identity(path: &Path, uuid: &str, (uid, gid): (u32, u32)) -> Result<(), Error> {
    let text = format!("[auto]\nserver-uuid={uuid}\n");
    // The text becomes a file of the server, so it must contain nothing but the UUID.
    if auto_cnf::server_uuid(&text) != Some(uuid) {
        return Ok(());
    }
    let written = fs::write(path, text);
    let given = written.and_then(|()| if geteuid().is_root() { chown(path, Some(uid), Some(gid)) } else { Ok(()) });
    given.map_err(Error::io(path, "cannot be written"))
}

/// Creates a directory with a short name, for the path of the socket.
pub(super) fn private_directory(parent: &Path) -> Result<PathBuf, Error> {
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
pub(super) fn give(directory: &Path, (uid, gid): (u32, u32)) -> Result<(), Error> {
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

/// Removes the secrets and the server's identity: a second server with the same UUID must not start from the directory.
pub(super) fn clean_up(directory: &Path, secrets: &Path, made_identity: Option<&Path>) {
    if let Some(identity) = made_identity {
        let _ = fs::remove_file(identity);
    }
    for directory in [secrets, directory] {
        let _ = fs::remove_dir_all(directory);
    }
}
