//! Errors of headers, keys, volumes and key sources.

mod hint;

use std::io;
use std::path::{Path, PathBuf};

use crate::finding::Finding;
use crate::usage_sign::UsageSign;
use crate::version::Version;

/// Why a header was not read, saved or restored, a key not changed or fetched, or a volume not created, opened, mounted
/// or closed. A damaged header is a finding, not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device or file cannot be read.
    #[error("cannot be read: {0}")]
    Read(io::Error),
    /// A comparison needs a readable header on both sides.
    #[error("it has no readable LUKS header to compare with ({0})")]
    NothingToCompare(&'static str),
    /// A file or device cannot be opened, read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Path of the file or device.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },

    /// The file to save a header to already exists.
    #[error("{path}: {source}", path = .path.display())]
    BackupExists {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The path is neither a disk nor a disk image.
    #[error("{path}: neither a block device nor a file", path = .path.display())]
    NoDisk {
        /// The path, as it was given.
        path: PathBuf,
    },
    /// A header cannot be read.
    #[error("{path}: {detail} ({code})", path = .path.display())]
    Unreadable {
        /// The file or device.
        path: PathBuf,
        /// Code of the finding.
        code: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// The header of the device to restore to cannot be read.
    #[error("{path}: {detail} ({code})", path = .path.display())]
    DeviceUnreadable {
        /// Path of the device.
        path: PathBuf,
        /// Code of the finding.
        code: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// The file or device ends before the key slots do.
    #[error("{path}: ends after {found} of {expected} bytes; key slots are missing", path = .path.display())]
    Short {
        /// The file or device.
        path: PathBuf,
        /// Bytes present.
        found: u64,
        /// Bytes that the header takes.
        expected: u64,
    },
    /// The header changed each time it was read.
    #[error("{path}: its header is being changed; try again later", path = .path.display())]
    Changing {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// The manifest is malformed.
    #[error("{path}: not a manifest of a header backup: {why}", path = .path.display())]
    Manifest {
        /// Path of the manifest.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The restore would destroy data.
    #[error("{0}")]
    WouldDestroy(String),
    /// Reading back gave other bytes than were written.
    #[error(
        "{path}: reading it back gave other bytes than were written; the previous header is in {saved}",
        path = .path.display(),
        saved = .saved.display()
    )]
    NotWritten {
        /// Path of the device.
        path: PathBuf,
        /// Path of the previous header.
        saved: PathBuf,
    },
    /// The key opens the backup but did not open the device after the restore. The previous header was put back.
    #[error(
        "{path}: does not open after its header was written; the previous header was put back and is also in {saved}",
        path = .path.display(),
        saved = .saved.display()
    )]
    Undone {
        /// Path of the device.
        path: PathBuf,
        /// Path of the previous header.
        saved: PathBuf,
    },

    /// `-` was given as the file of a key to create.
    #[error("-: is standard input, and a new key needs a file")]
    KeyToStdin,
    /// The key file to create already exists.
    #[error("{path}: exists, and a key is never overwritten", path = .path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// The key opens no slot.
    #[error("{key}: does not open {device}; nothing was changed", key = .key.display(), device = .device.display())]
    WrongKey {
        /// The key file.
        key: PathBuf,
        /// Path of the device that has the volume.
        device: PathBuf,
    },
    /// The old key still opens the volume although its slots were removed.
    #[error("{device}: the old key still opens slot {slot}; both keys are kept", device = .device.display())]
    OldKeyOpens {
        /// Path of the device that has the volume.
        device: PathBuf,
        /// Slot that it opens.
        slot: u32,
    },
    /// Another rotation is running.
    #[error("{path}: another rotation is running here", path = .path.display())]
    Busy {
        /// Directory of the key file.
        path: PathBuf,
    },
    /// The caller asked to stop between two steps.
    #[error("stopped; the same command resumes it")]
    Stopped,

    /// The device is in use or holds data.
    #[error("{device}: {}; nothing was changed", list(.uses), device = .device.display())]
    Used {
        /// Path of the device.
        device: PathBuf,
        /// All signs of use.
        uses: Vec<UsageSign>,
    },
    /// The current state forbids the operation.
    #[error("{what}: {why}; nothing was changed", what = .what.display())]
    Refused {
        /// The device or directory.
        what: PathBuf,
        /// The reason, as messages give it.
        why: String,
    },
    /// There are no boot entries to remove.
    #[error("{name}: nothing was installed for this name")]
    NothingInstalled {
        /// Name of the volume.
        name: String,
    },
    /// A step was done, but its check failed.
    #[error("{what}: {why}", what = .what.display())]
    NotProven {
        /// The device or directory.
        what: PathBuf,
        /// The expectation that failed.
        why: String,
    },
    /// A program of the system failed.
    #[error("{program}: {message}")]
    Program {
        /// Name of the program.
        program: &'static str,
        /// Its error output.
        message: String,
    },

    /// cryptsetup is not installed.
    #[error("cryptsetup is not installed")]
    Missing,
    /// cryptsetup is older than any tested release.
    #[error("{program} is version {found}; {oldest} or newer is needed")]
    TooOld {
        /// Path of the program.
        program: PathBuf,
        /// Its version.
        found: Version,
        /// Oldest supported release.
        oldest: Version,
    },
    /// The version cannot be read from cryptsetup's output.
    #[error("{program} does not report its version")]
    NoVersion {
        /// Path of the program.
        program: PathBuf,
    },
    /// cryptsetup cannot be started, or its pipes fail.
    #[error("cryptsetup cannot be run: {0}")]
    Run(io::Error),
    /// cryptsetup was killed at its time limit.
    #[error("cryptsetup {verb} was killed after {seconds} s")]
    TimedOut {
        /// Its subcommand.
        verb: String,
        /// The limit in seconds.
        seconds: u64,
    },
    /// The key opens no slot, or not the selected one. Exit code 2 of cryptsetup, which also means "no permission".
    #[error("no key slot of {device} opens with this key")]
    NoSlotOpens {
        /// Path of the device.
        device: PathBuf,
    },
    /// The key derivation of a slot or digest would exhaust the machine; it was not computed.
    #[error("{device}: {what}, far more than cryptsetup ever asks for; nothing was computed")]
    ExcessiveDerivation {
        /// Path of the device.
        device: PathBuf,
        /// The part of the header, and the cost that it demands.
        what: String,
    },
    /// cryptsetup failed for another reason.
    #[error("cryptsetup {verb} on {device} failed ({reason}): {message}")]
    Failed {
        /// Its subcommand.
        verb: String,
        /// Path of the device.
        device: PathBuf,
        /// The meaning of its exit code.
        reason: &'static str,
        /// Its message, in one line.
        message: String,
    },

    /// A file or device with a key did not appear in time.
    #[error("{}: did not appear in time", path.display())]
    Absent {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// A file cannot be read or holds no key.
    #[error("{}: {source}", path.display())]
    KeyFile {
        /// Path of the file or device.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The path of a key is a directory, a pipe or a device.
    #[error("{}: is not a file", path.display())]
    NotAFile {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// The device that holds the key's file has no file system that can be mounted.
    #[error("{}: cannot be mounted: {reason}", device.display())]
    NotMounted {
        /// Path of the device.
        device: PathBuf,
        /// What `mount` says.
        reason: String,
    },
    /// The program that gives the key cannot be started, or its output is not a key.
    #[error("{}: {reason}", program.display())]
    KeyProgram {
        /// Path of the program.
        program: PathBuf,
        /// The reason, as messages give it.
        reason: String,
    },
    /// The program that gives the key failed or took too long.
    #[error("{}: failed, or gave no key in time", program.display())]
    KeyProgramFailed {
        /// Path of the program.
        program: PathBuf,
    },
    /// Vault gave no key.
    #[error(transparent)]
    Vault(#[from] keyservice::Error),
    /// The field of the secret holds no key.
    #[error("the field `{}`: {reason}", field.escape_debug())]
    KeyField {
        /// Name of the field.
        field: String,
        /// The reason, as messages give it.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// As [`Self::io`], for a file that must not exist yet.
    pub(crate) fn saving(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::AlreadyExists => Self::BackupExists { path, source },
            _ => Self::Io { path, source },
        }
    }

    pub(crate) fn key_file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::KeyFile { path, source }
    }

    pub(crate) fn unreadable(path: &Path, findings: &[Finding]) -> Self {
        let (code, detail) = findings
            .first()
            .map_or(("not-luks", String::new()), |finding| (finding.code.as_str(), finding.detail.clone()));
        Self::Unreadable { path: path.to_owned(), code, detail }
    }

    pub(crate) fn refused(what: &Path, why: impl Into<String>) -> Self {
        Self::Refused { what: what.to_owned(), why: why.into() }
    }

    pub(crate) fn no_uuid(what: &Path) -> Self {
        Self::refused(what, "its UUID is malformed, so cryptsetup did not write its header")
    }

    pub(crate) fn not_proven(what: &Path, why: impl Into<String>) -> Self {
        Self::NotProven { what: what.to_owned(), why: why.into() }
    }
}

fn list(uses: &[UsageSign]) -> String {
    uses.iter().map(UsageSign::to_string).collect::<Vec<_>>().join(", ")
}
