//! What can go wrong, by cause.

use std::{borrow::Cow, io, net::SocketAddr, path::PathBuf};

use keyring::KeyringError;

use crate::{pairing::CodeError, wire::Malformed};

/// Why a transfer ended without a commit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// A file of the source cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of the source is not what it was when the transfer began.
    #[error("{}: changed while it was sent ({change})", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What changed.
        change: &'static str,
    },
    /// The source is the target of a transfer that was cut off.
    #[error("{}: holds a transfer that was not finished, so it is not whole", path.display())]
    Unfinished {
        /// The source.
        path: PathBuf,
    },
    /// What was sent turned out to be of no use.
    #[error("{reason}")]
    Void {
        /// Why.
        reason: String,
    },
    /// A stream that is sent makes no sense.
    #[error("the stream of the backup is damaged: {reason}")]
    Stream {
        /// What is wrong.
        reason: String,
        /// Whether it is that the stream ends where it should not.
        ends_early: bool,
    },
    /// Something in or about the target failed.
    #[error("{}: {doing}: {source}", path.display())]
    Target {
        /// The file or directory.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The target holds something else.
    #[error("{}: not empty, and not a transfer that was cut off", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// Something came into the target while it was filled.
    #[error("{}: came into the target while it was filled, and is not written over", path.display())]
    Occupied {
        /// What came.
        path: PathBuf,
    },
    /// What an earlier try left is another user's.
    #[error("{}: belongs to another user ({uid}), or others may write it", path.display())]
    NotOurs {
        /// The staging directory.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// Files cannot be given to the owner that was asked for.
    #[error("{}: files in it cannot be given to {uid}:{gid}: {source}", path.display())]
    Owner {
        /// The target.
        path: PathBuf,
        /// User.
        uid: u32,
        /// Group.
        gid: u32,
        /// Why not.
        source: io::Error,
    },
    /// Another receiver works in the target.
    #[error("{}: another transfer into it is running", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// The target's file system is too small.
    #[error("{}: {wanted_bytes} bytes are needed, {free_bytes} are free", path.display())]
    Space {
        /// The directory.
        path: PathBuf,
        /// Needed.
        wanted_bytes: u64,
        /// Free.
        free_bytes: u64,
    },
    /// The connection failed.
    #[error("{peer}: {doing}: {source}")]
    Network {
        /// The other side.
        peer: String,
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The other side went away in the middle.
    #[error("{peer}: closed the connection in the middle of the transfer")]
    Gone {
        /// The other side.
        peer: String,
    },
    /// Nothing came for too long.
    #[error("{peer}: no sign of life for {seconds} s")]
    Stalled {
        /// The other side.
        peer: String,
        /// How long.
        seconds: u64,
    },
    /// TLS failed: certificates, keys, or bytes changed on the way.
    #[error("{peer}: {}", tls13::in_words(source))]
    Tls {
        /// The other side.
        peer: String,
        /// Why.
        source: rustls::Error,
    },
    /// Certificates or keys given cannot be used.
    #[error("{}: {reason}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The other side proved nothing.
    #[error("{peer}: tried the pairing code with a wrong secret, so the code is void")]
    WrongSecret {
        /// The other side.
        peer: SocketAddr,
    },
    /// The receiver does not know the secret.
    #[error("{peer}: is not the receiver that made the pairing code")]
    NotTheReceiver {
        /// The other side.
        peer: String,
    },
    /// The receiver has several addresses, and answers at none of them.
    #[error("the receiver was reached at none of its addresses: {}", listed(tried))]
    Unreached {
        /// What happened at each, in the order they were tried.
        tried: Vec<Self>,
    },
    /// Nobody came in time.
    #[error(
        "no sender came within {seconds} s{}{}",
        if *paired { ", so the pairing code is void" } else { "" },
        refused.as_ref().map(|why| format!("; the last one that was turned away: {why}")).unwrap_or_default()
    )]
    Expired {
        /// How long was waited.
        seconds: u64,
        /// Whether there was a pairing code.
        paired: bool,
        /// Why the last one was turned away that tried to come in.
        refused: Option<String>,
    },
    /// The pairing code cannot be read.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The other side speaks another version.
    #[error("{peer}: speaks version {theirs} of the protocol, this side {ours}; use the same release on both sides")]
    Version {
        /// The other side.
        peer: String,
        /// Its version.
        theirs: u16,
        /// Ours.
        ours: u16,
    },
    /// The other side breaks the protocol.
    #[error("{peer}: broke the protocol ({what})")]
    Protocol {
        /// The other side.
        peer: String,
        /// How.
        what: &'static str,
    },
    /// The other side gave up.
    #[error("{peer}: gave up: {reason}")]
    Peer {
        /// The other side.
        peer: String,
        /// Its words.
        reason: String,
    },
    /// Bytes arrived that are not those that were read.
    #[error("{}: chunk {chunk} is not what was sent (its hash does not hold)", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Number of the chunk.
        chunk: u64,
    },
    /// The receiver wraps keys by its own master key, and that of a file cannot be handed over or
    /// wrapped.
    #[error("{}: the receiver asks for its key to wrap it anew, but {reason}", path.display())]
    Rekey {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The same, for want of a keyring.
    #[error(
        "{}: the receiver asks for its key to wrap it anew, but no keyring of this side was given",
        path.display()
    )]
    NoKeyring {
        /// The file.
        path: PathBuf,
    },
    /// The receiver wraps keys by its own master key, which files that are written meanwhile do not allow.
    #[error("keys can be wrapped anew only where the source is still, and this one is in use")]
    RekeyInUse,
    /// The keyring that keys are to be wrapped under cannot be used.
    #[error("{}: {source}", path.display())]
    OwnKeyring {
        /// The keyring.
        path: PathBuf,
        /// Why.
        source: KeyringError,
    },
    /// The keyring lies where the data is to go.
    #[error("{}: lies in the directory that is received into, so what comes could take its place", path.display())]
    KeyringInside {
        /// The keyring.
        path: PathBuf,
    },
    /// The keyring lost the keys that were added to it.
    #[error(
        "{}: the master keys that were added for this transfer are gone; something else has written it meanwhile",
        path.display()
    )]
    KeysLost {
        /// The keyring.
        path: PathBuf,
    },
    /// A commit that was cut off was one without these new keys.
    #[error(
        "{}: an earlier transfer was committed but for its last moves, and its keys are not wrapped by this keyring",
        path.display()
    )]
    CommittedOtherwise {
        /// The target.
        path: PathBuf,
    },
    /// Both sides made another list of files.
    #[error("the lists of files of both sides differ; nothing was committed")]
    TreeDiffers,
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    Randomness,
    /// A key or certificate could not be made.
    #[error("a key for the connection could not be made: {0}")]
    Identity(String),
    /// Another thread failed first; its error is the one to show.
    #[error("stopped")]
    Stopped,
}

fn listed(errors: &[TransferError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl TransferError {
    /// The next step, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::Unfinished { path } => {
                return Some(Cow::Owned(format!(
                    "finish it with `sealant receive --into {}`, or remove .sealant-staging in it if nothing of that \
                     transfer is wanted",
                    path.display()
                )));
            }
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
            Self::NotOurs { .. } => "go on as the user who began, or remove it to begin anew",
            Self::Owner { .. } => "only root can give files to others: run it as root, or leave out --owner",
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
            Self::Gone { .. } | Self::Stalled { .. } => {
                "what arrived so far is kept: run `sealant receive` and `sealant send` again to go on"
            }
            Self::NoKeyring { .. } => {
                "give --keyring or --keyring-config; a file that is not needed can be left out with --exclude"
            }
            Self::OwnKeyring { .. } => "give --rekey the keyring that this server will use",
            Self::KeyringInside { .. } => "keep the keyring beside the data directory, not in it",
            Self::KeysLost { .. } => "let no server use the keyring meanwhile, and run both sides again",
            Self::CommittedOtherwise { .. } => {
                "run it without --rekey to finish that transfer, or empty the directory to begin anew"
            }
            _ => return None,
        };
        Some(Cow::Borrowed(hint))
    }

    /// Makes an error of a malformed message.
    pub(crate) fn malformed(peer: &str) -> impl Fn(Malformed) -> Self + '_ {
        move |_| Self::Protocol { peer: peer.to_owned(), what: "malformed message" }
    }

    pub(crate) fn protocol(peer: &str, what: &'static str) -> Self {
        Self::Protocol { peer: peer.to_owned(), what }
    }

    /// Whether a file of the source is not any more what it was, or not there.
    pub(crate) fn is_change(&self) -> bool {
        match self {
            Self::Changed { .. } => true,
            Self::Source { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Whether this only says that something else failed.
    pub(crate) const fn is_echo(&self) -> bool {
        matches!(self, Self::Stopped)
    }

    /// Whether the other side's going away could be the consequence of an error it tells elsewhere.
    pub(crate) const fn is_loss(&self) -> bool {
        matches!(self, Self::Network { .. } | Self::Gone { .. } | Self::Stopped)
    }
}
