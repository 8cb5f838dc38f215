//! Errors of transfers, by cause.

use std::{borrow::Cow, io, net::SocketAddr, path::PathBuf};

use codec::Malformed;
use files::STAGING;
use server::address::AddressFault;

use crate::fault::{CodeFault, ManifestFault};

/// Why a transfer ended without a commit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the source cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Source {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file of the source changed since the transfer started.
    #[error("{}: changed while it was sent ({change})", path.display())]
    Changed {
        /// Path of the file.
        path: PathBuf,
        /// What changed.
        change: &'static str,
    },
    /// The source is the target of an interrupted transfer.
    #[error("{}: contains an unfinished transfer, so it is incomplete", path.display())]
    Unfinished {
        /// The source directory.
        path: PathBuf,
    },
    /// The source turned out to be invalid after it was sent.
    #[error("{reason}")]
    SourceInvalid {
        /// Why it is invalid.
        reason: String,
    },
    /// A backup stream has an invalid format.
    #[error("the stream of the backup is damaged: {reason}")]
    Stream {
        /// What is invalid.
        reason: String,
        /// `true` if the stream ends too early.
        ends_early: bool,
    },
    /// An operation on the target failed.
    #[error("{}: {doing}: {source}", path.display())]
    Target {
        /// Path of the file or directory.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The target is not empty and has no interrupted transfer.
    #[error("{}: is not empty, and has no interrupted transfer to resume", path.display())]
    NotEmpty {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Another program created something in the target during the transfer.
    #[error("{}: was created in the target during the transfer, and is not overwritten", path.display())]
    Occupied {
        /// Path of what was created.
        path: PathBuf,
    },
    /// The staging directory of an earlier transfer belongs to another user, or others may write it.
    #[error("{}: belongs to another user ({uid}), or others may write it", path.display())]
    NotOurs {
        /// The staging directory.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// Files cannot get the requested owner.
    #[error("{}: files in it cannot be given to {uid}:{gid}: {source}", path.display())]
    Owner {
        /// The target.
        path: PathBuf,
        /// User id.
        uid: u32,
        /// Group id.
        gid: u32,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Another receiver uses the target.
    #[error("{}: another process is already filling it", path.display())]
    Busy {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The target's file system has too little space.
    #[error("{}: {wanted_bytes} bytes are needed, {free_bytes} are free", path.display())]
    Space {
        /// Path of the directory.
        path: PathBuf,
        /// Bytes needed.
        wanted_bytes: u64,
        /// Bytes available.
        free_bytes: u64,
    },
    /// A network operation failed.
    #[error("{peer}: {doing}: {source}")]
    Network {
        /// The peer's address.
        peer: String,
        /// The operation that failed.
        doing: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The peer closed the connection during the transfer.
    #[error("{peer}: closed the connection in the middle of the transfer")]
    Disconnected {
        /// The peer's address.
        peer: String,
    },
    /// The peer sent nothing until the timeout.
    #[error("{peer}: no sign of life for {seconds} s")]
    Stalled {
        /// The peer's address.
        peer: String,
        /// The timeout in seconds.
        seconds: u64,
    },
    /// TLS failed: certificates, keys, or modified records.
    #[error("{peer}: {}", tls13::describe(source))]
    Tls {
        /// The peer's address.
        peer: String,
        /// Error of the TLS library.
        source: rustls::Error,
    },
    /// The given certificates or keys cannot be used.
    #[error("{}: {reason}", path.display())]
    Credentials {
        /// Path of the file.
        path: PathBuf,
        /// Why it cannot be used.
        reason: String,
    },
    /// The peer did not prove the pairing code's secret.
    #[error("{peer}: tried the pairing code with a wrong secret, so the code is void")]
    WrongSecret {
        /// The peer's address.
        peer: SocketAddr,
    },
    /// The receiver does not know the pairing code's secret.
    #[error("{peer}: is not the receiver that made the pairing code")]
    NotTheReceiver {
        /// The peer's address.
        peer: String,
    },
    /// The receiver could not be reached at any of its addresses.
    #[error("the receiver could not be reached at any of its addresses: {}", listed(tried))]
    Unreached {
        /// The error of each address, in the order in which they were tried.
        tried: Vec<Self>,
    },
    /// No sender connected before the deadline.
    #[error(
        "no sender connected within {seconds} s{}{}",
        if *paired { ", so the pairing code is void" } else { "" },
        refused.as_ref().map(|why| format!("; the last one that was turned away: {why}")).unwrap_or_default()
    )]
    Expired {
        /// Length of the wait in seconds.
        seconds: u64,
        /// Whether there was a pairing code.
        paired: bool,
        /// Why the last peer was rejected.
        refused: Option<String>,
    },
    /// The pairing code is invalid.
    #[error(transparent)]
    Code(#[from] CodeFault),
    /// With certificates, the receiver has to be given by its address.
    ///
    /// The message does not repeat the text, since it may be a pairing code.
    #[error("with certificates the destination is HOST:PORT, but {0}")]
    NoAddress(AddressFault),
    /// A manifest cannot be used.
    #[error("{}: {fault}", path.display())]
    Manifest {
        /// Its file.
        path: PathBuf,
        /// What is wrong with its content.
        fault: ManifestFault,
    },
    /// The peer has another version of the protocol.
    #[error("{peer}: speaks version {theirs} of the protocol, this side {ours}; use the same release on both sides")]
    Version {
        /// The peer's address.
        peer: String,
        /// The peer's version.
        theirs: u16,
        /// Our version.
        ours: u16,
    },
    /// The peer violated the protocol.
    #[error("{peer}: violated the protocol ({what})")]
    Protocol {
        /// The peer's address.
        peer: String,
        /// The violation.
        what: &'static str,
    },
    /// The peer aborted the transfer.
    #[error("{peer}: aborted: {reason}")]
    Peer {
        /// The peer's address.
        peer: String,
        /// The reason it sent.
        reason: String,
    },
    /// Received bytes differ from those that the sender read.
    #[error("{}: chunk {chunk} differs from what was sent (its hash does not match)", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Number of the chunk.
        chunk: u64,
    },
    /// The receiver wraps keys with its own master key, but the key of a file cannot be unwrapped
    /// or sent.
    #[error("{}: the receiver requests its key to rewrap it, but {reason}", path.display())]
    Rekey {
        /// Path of the file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// As [`Self::Rekey`], because no keyring was given.
    #[error(
        "{}: the receiver requests its key to rewrap it, but no keyring of this side was given",
        path.display()
    )]
    NoKeyring {
        /// Path of the file.
        path: PathBuf,
    },
    /// The receiver wraps keys with its own master key, which is not possible for a source in use.
    #[error("keys can be rewrapped only while nothing writes the source, but it is in use")]
    RekeyInUse,
    /// The keyring with the receiver's master keys cannot be used.
    #[error("{}: {source}", path.display())]
    Keyring {
        /// Path of the keyring.
        path: PathBuf,
        /// Error of the keyring.
        source: keyring::Error,
    },
    /// The keyring is inside the target directory.
    #[error("{}: is inside the target directory, so a received file could replace it", path.display())]
    KeyringInside {
        /// Path of the keyring.
        path: PathBuf,
    },
    /// The keyring no longer has the keys that were added to it.
    #[error(
        "{}: the master keys that were added just now are gone; another program has written the file",
        path.display()
    )]
    KeysLost {
        /// Path of the keyring.
        path: PathBuf,
    },
    /// The interrupted commit was made without these new keys.
    #[error(
        "{}: an earlier run was committed except for its last renames, and its keys are not wrapped by this keyring",
        path.display()
    )]
    CommittedOtherwise {
        /// The target directory.
        path: PathBuf,
    },
    /// Sender and receiver have different lists of files.
    #[error("the lists of files of both sides differ; nothing was committed")]
    TreeDiffers,
    /// The operating system returned no random numbers.
    #[error("the system provides no random numbers")]
    Randomness,
    /// A key or certificate could not be made.
    #[error("a key for the connection could not be made: {0}")]
    Identity(String),
    /// Another thread failed first; its error is reported instead.
    #[error("stopped")]
    Stopped,
}

fn listed(errors: &[Error]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Error {
    /// Whether the command line is wrong.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Code(_) | Self::NoAddress(_))
    }

    /// The next step for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::Unfinished { path } => {
                return Some(Cow::Owned(format!(
                    "finish it with `sealant receive --into {}`, or remove {STAGING} in it if nothing of that \
                     transfer is wanted",
                    path.display()
                )));
            }
            Self::Code(CodeFault::Prefix) => "HOST:PORT needs --tls-cert, --tls-key and --tls-ca",
            Self::NotEmpty { .. } => "give a directory that does not exist, or an empty one",
            Self::Changed { .. } => {
                "send a stopped server's directory or a snapshot; what arrived so far is kept, run both sides again"
            }
            Self::Expired { paired: true, .. } => {
                "run `sealant receive` again for a new code; --expiry makes it good for longer"
            }
            Self::Expired { paired: false, .. } => "run `sealant receive` again; --expiry makes it wait longer",
            Self::Occupied { .. } => {
                "move it away and run both sides again: what arrived is kept; is something starting a server there?"
            }
            Self::NotOurs { .. } => "continue as the user who started, or remove it to start again",
            Self::Owner { .. } => "only root can change owners: run it as root, or leave out --owner",
            Self::WrongSecret { .. } => {
                "if that was not you, someone else knows this address; run `sealant receive` again for a new code"
            }
            Self::NotTheReceiver { .. } => {
                "the code is of another run of `sealant receive`, or something between the hosts answers in its place"
            }
            Self::Unreached { .. } => {
                "`sealant receive --advertise` puts the address under which the donor sees the joiner into the code"
            }
            Self::Space { .. } => "make room, or give another directory with --into",
            Self::Disconnected { .. } | Self::Stalled { .. } => {
                "what arrived so far is kept: run `sealant receive` and `sealant send` again to resume"
            }
            Self::NoKeyring { .. } => {
                "give --keyring or --keyring-config; a file that is not needed can be left out with --exclude"
            }
            Self::Keyring { source, .. } => {
                source.hint().unwrap_or("give --rekey the keyring that this server will use")
            }
            Self::KeyringInside { .. } => "keep the keyring beside the data directory, not in it",
            Self::KeysLost { .. } => "let no server use the keyring meanwhile, and run both sides again",
            Self::CommittedOtherwise { .. } => {
                "run it without --rekey to complete that transfer, or empty the directory to start again"
            }
            _ => return None,
        };
        Some(Cow::Borrowed(hint))
    }

    /// Converts a decoding error of a message from `peer`.
    pub(crate) fn malformed(peer: &str) -> impl Fn(Malformed) -> Self + '_ {
        move |_| Self::Protocol { peer: peer.to_owned(), what: "malformed message" }
    }

    pub(crate) fn protocol(peer: &str, what: &'static str) -> Self {
        Self::Protocol { peer: peer.to_owned(), what }
    }

    /// Whether a file of the source changed or disappeared.
    pub(crate) fn is_change(&self) -> bool {
        match self {
            Self::Changed { .. } => true,
            Self::Source { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Whether this is only the consequence of another thread's error.
    pub(crate) const fn is_consequence(&self) -> bool {
        matches!(self, Self::Stopped)
    }

    /// Whether this is a lost connection, which may be the consequence of an error that the peer reports on another
    /// connection.
    pub(crate) const fn is_connection_loss(&self) -> bool {
        matches!(self, Self::Network { .. } | Self::Disconnected { .. } | Self::Stopped)
    }
}
