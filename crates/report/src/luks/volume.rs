//! Volumes: created, opened, mounted, re-encrypted, with new keys.

use std::io::Write;
use std::path::{Path, PathBuf};

use luks::cryptsetup::device_file;
use luks::device::{Created, MountPointGuard, Mounted, Opened};

use crate::{Error, Message};

/// Writes the kernel's description of an open volume.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_opened(name: &str, opened: &Opened, out: &mut dyn Write) -> Result<(), Error> {
    let (status, state) = (&opened.status, if opened.already { "is open already" } else { "open" });
    let flags = if status.flags.is_empty() { String::new() } else { format!(", {}", status.flags.join(", ")) };
    Ok(writeln!(
        out,
        "{}: {state}: LUKS volume {} on {}, {}, {} key bits, {}-byte sectors{flags}",
        device_file(name).display(),
        opened.uuid,
        status.device.display(),
        status.cipher,
        status.key_bits,
        status.sector_bytes
    )?)
}

/// Writes the mount points of a volume.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_mounted(name: &str, directory: &Path, mounted: &Mounted, out: &mut dyn Write) -> Result<(), Error> {
    let state = match mounted {
        Mounted::Before { .. } => "is mounted already",
        Mounted::Now(MountPointGuard::Immutable) => "mounted; the directory below is immutable",
        Mounted::Now(MountPointGuard::Permissions) => "mounted; the directory below is closed to all but root",
    };
    Ok(writeln!(out, "{}: {} {state}", directory.display(), device_file(name).display())?)
}

/// Warnings about plaintext on the disk below a mounted volume, or that may still be written there.
#[must_use]
pub fn luks_mount_messages(directory: &Path, mounted: &Mounted) -> Vec<Message> {
    match mounted {
        Mounted::Now(MountPointGuard::Immutable) | Mounted::Before { hidden: None } => Vec::new(),
        Mounted::Now(MountPointGuard::Permissions) => vec![not_immutable(directory)],
        Mounted::Before { hidden: Some(name) } => vec![
            Message::warning(format!(
                "{}: {} lies in plaintext below the volume",
                directory.display(),
                name.to_string_lossy()
            )),
            Message::hint("stop the server, `sealant luks close --unmount`, `chattr -i`, move it, and mount again"),
        ],
    }
}

/// A warning about a mount point that only its permissions protect while the volume is not mounted.
pub(super) fn not_immutable(directory: &Path) -> Message {
    Message::warning(format!(
        "{}: its file system has no immutable flag; as root, a server could still write there in plaintext",
        directory.display()
    ))
}

/// Writes that a volume was created on `device`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_created(device: &Path, created: &Created, out: &mut dyn Write) -> Result<(), Error> {
    Ok(writeln!(out, "{}: LUKS2 volume {}", device.display(), created.uuid)?)
}

/// Hint after a volume was created: keep copies of its key and header.
#[must_use]
pub fn luks_created_message() -> Message {
    Message::hint("without its key and its header the data is gone: keep copies of both elsewhere")
}

/// Writes that a volume is closed.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_closed(name: &str, out: &mut dyn Write) -> Result<(), Error> {
    Ok(writeln!(out, "{}: closed", device_file(name).display())?)
}

/// Writes which slot of `device` a new key opens.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_key_added(device: &Path, slot: u32, out: &mut dyn Write) -> Result<(), Error> {
    Ok(writeln!(out, "{}: the new key opens slot {slot}", device.display())?)
}

/// Hint after a key was added: older header backups lack it.
#[must_use]
pub fn luks_key_added_message() -> Message {
    Message::hint("older header backups do not contain this key: make one with `sealant luks header backup`")
}

/// Writes that all data of `device` was encrypted again, and where its header was saved.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_reencrypted(device: &Path, header: &Path, out: &mut dyn Write) -> Result<(), Error> {
    Ok(writeln!(out, "{}: all data has a new volume key; header in {}", device.display(), header.display())?)
}

/// Hint after a re-encryption: older header backups are useless and dangerous.
#[must_use]
pub fn luks_reencrypted_message() -> Message {
    Message::hint("destroy older header backups: they open nothing but noise, and restoring one destroys the data")
}

/// Warnings about header backups that the key from before a rotation may still open.
#[must_use]
pub fn luks_stale_backup_messages(backups: &[PathBuf]) -> Vec<Message> {
    let older = |path: &PathBuf| {
        Message::warning(format!("{}: an older header backup, which the old key may still open", path.display()))
    };
    let hint = "destroy them, and copies elsewhere; if the old key has leaked, only `sealant luks reencrypt` helps";
    let hint = (!backups.is_empty()).then(|| Message::hint(hint));
    backups.iter().map(older).chain(hint).collect()
}
