//! Where registers are stored.

use std::path::{Path, PathBuf};

use files::sha256_hex;
use rustix::fs::{Access, access};
use server::Identity;

use crate::Error;

/// State directory of the whole system.
const SYSTEM_STATE: &str = "/var/lib/sealant";

/// Where [`state_dir`] looks if none is given, for help texts.
pub const DEFAULT_STATE_DIR: &str = "/var/lib/sealant, or if that cannot be written $XDG_STATE_HOME/sealant, which is \
                                     ~/.local/state/sealant if the variable is not set";

/// The directory for registers and other state: the given one, else the system's if the user may write there, else the
/// user's.
///
/// # Errors
/// [`Error::NoStateDir`] if the user has no home directory.
pub fn state_dir(given: Option<PathBuf>) -> Result<PathBuf, Error> {
    if let Some(given) = given {
        return Ok(given);
    }
    let system = Path::new(SYSTEM_STATE);
    let nearest = system.ancestors().find(|path| path.exists());
    if nearest.is_some_and(|path| access(path, Access::WRITE_OK).is_ok()) {
        return Ok(system.to_owned());
    }
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).and_then(absolute);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    state.or_else(home).map(|state| state.join("sealant")).ok_or(Error::NoStateDir)
}

/// Name of a server's register: its UUID. On MariaDB a hash of host name and data directory, because `server_uid` is
/// the same for all servers of a host (seen on 10.11 and 11.8).
#[must_use]
pub fn server_name(identity: &Identity) -> String {
    let uuid = identity.server_uuid.as_deref().filter(|uuid| uuid.bytes().all(is_name_byte) && !uuid.is_empty());
    uuid.map_or_else(
        || {
            let identity = format!("{}\0{}", identity.hostname, identity.datadir.display());
            let hash = sha256_hex(identity.as_bytes());
            format!("mariadb-{}", hash.get(..32).unwrap_or(&hash))
        },
        str::to_owned,
    )
}

const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_the_directory_of_the_system() {
        assert!(DEFAULT_STATE_DIR.starts_with(SYSTEM_STATE));
    }
}
