//! The receiver (joiner).

mod bind;
mod chunk_index;
mod commit_marker;
mod control;
mod data;
mod keyring_config;
mod listener;
mod parent_cache;
mod rekey;
mod resume;
mod round;
mod serve;
mod session;
mod staged_keys;
mod staging;
mod stream;
mod target;
mod unauthenticated;

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::{Duration, Instant},
};

use keyring::WritableKeyring;

use self::{
    bind::bind_listener,
    control::{TICK, explain},
    listener::{AuthenticatedSender, Listener, RejectedPeer},
    round::Outcome,
};
pub use self::{
    commit_marker::CommitMarker,
    parent_cache::ParentCache,
    session::{ReceiverListener, SenderSession},
    staged_keys::{check_committed, rekey_staged},
    staging::{Owner, Staging},
    target::TargetFile,
};
use innodb::file_suffix;

use crate::{
    error::Error,
    hash::Hash,
    manifest::Manifest,
    pairing::{PairingCode, Secret},
    progress::Progress,
    rekey::{Rekeyed, check_location},
    tls::identity::{Authorities, Identity},
    wire::{Control, Entry, Kind},
};

/// How sender and receiver authenticate each other.
#[derive(Debug)]
pub enum Trust {
    /// With a pairing code that the receiver generates.
    Pairing,
    /// With certificates of the site.
    Certificates {
        /// Certificate and key of this side.
        identity: Identity,
        /// Authorities that may have signed the sender's certificate.
        authorities: Authorities,
        /// A one-time secret that the sender has to know as well.
        secret: Option<Secret>,
    },
}

/// Settings of a receiver.
#[derive(Debug)]
pub struct ReceiveSettings {
    /// The target directory.
    pub into: PathBuf,
    /// Address and port to listen on; port 0 selects a free one.
    pub listen: SocketAddr,
    /// Addresses for the pairing code, instead of those of this host.
    pub advertise: Vec<IpAddr>,
    /// Maximum number of data connections.
    pub streams: u16,
    /// How long to wait for a sender.
    pub expiry: Duration,
    /// How long the sender may send nothing.
    pub timeout: Duration,
    /// Owner of everything, instead of the source's.
    pub owner: Option<Owner>,
    /// The sender's certificate must have one of these names; empty allows any name.
    pub allow: Vec<String>,
    /// Remove what an earlier transfer left, instead of continuing it.
    pub restart: bool,
    /// Wrap the keys of files with the master key of this keyring.
    pub rekey: Option<WritableKeyring>,
}

/// Result of a transfer on the receiving side.
#[derive(Clone, Debug)]
pub struct Received {
    /// Hash of the list of files.
    pub tree: Hash,
    /// Number of files, directories and links.
    pub entries: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Keys that were rewrapped.
    pub rekeyed: Option<Rekeyed>,
    /// Notes that the sender's program sent during the transfer.
    pub notes: Vec<String>,
    /// Links to files outside of the target, including InnoDB's `.isl` files, which contain the path of another file.
    pub external_links: Vec<PathBuf>,
    /// Time since the sender authenticated; `None` if only an interrupted commit was completed.
    pub elapsed: Option<Duration>,
}

/// A listening receiver.
#[derive(Debug)]
pub struct Receiver {
    settings: ReceiveSettings,
    staging: Staging,
    listener: Listener,
    code: Option<PairingCode>,
}

/// How long a sender may take to close after the commit.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

impl Receiver {
    /// Prepares the target and starts to listen.
    ///
    /// # Errors
    /// [`Error`] if the target or the address cannot be used.
    pub fn bind(settings: ReceiveSettings, trust: &Trust) -> Result<Self, Error> {
        if let Some(current) = &settings.rekey {
            check_location(current, &settings.into)?;
        }
        let staging = Staging::open(&settings.into, settings.owner)?;
        // An interrupted commit has already moved files: it can only be completed.
        if settings.restart && !staging.is_committed() {
            staging.clear()?;
        }
        let (listener, code) = bind_listener(&settings, trust)?;
        Ok(Self { settings, staging, listener, code })
    }

    /// The pairing code, if the sides authenticate with one.
    #[must_use]
    pub const fn code(&self) -> Option<&PairingCode> {
        self.code.as_ref()
    }

    /// Address and port of the listening socket.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Whether only an interrupted commit has to be completed.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        self.staging.is_committed()
    }

    /// Waits for a sender, receives, and returns when everything is committed and on disk.
    ///
    /// # Errors
    /// [`Error`]: the first error of any thread. What was received stays in the staging
    /// directory for the next attempt.
    pub fn run(self, progress: &Progress) -> Result<Received, Error> {
        if self.staging.is_committed() {
            let manifest = self.staging.staged_manifest()?;
            self.check_committed_keys()?;
            let notes = self.staging.mark()?.map(|mark| mark.notes).unwrap_or_default();
            self.staging.finish(&manifest)?;
            return Ok(received(&manifest, None, notes, None));
        }
        // One failed attempt invalidates a pairing code.
        let on_rejected = |rejected: &RejectedPeer| match rejected {
            RejectedPeer::WrongSecret(peer) => Err(Error::WrongSecret { peer: *peer }),
            RejectedPeer::Other(_) => Ok(()),
        };
        let sender = self.listener.wait_for_sender(&self.settings, self.code.is_some(), on_rejected)?;
        self.serve_sender(sender, progress)
    }

    fn serve_sender(&self, sender: AuthenticatedSender, progress: &Progress) -> Result<Received, Error> {
        let began = Instant::now();
        let mut control = sender.control;
        let outcome = self.serve(&mut control, sender.token, sender.streams, sender.data, progress);
        match outcome {
            Ok(Outcome { tree, manifest, rekeyed, notes }) => {
                // The commit is done even if the sender no longer receives the message.
                if control.send(&Control::Committed { tree }).is_ok() {
                    let until = Instant::now() + CLOSE_TIMEOUT;
                    while Instant::now() < until && control.receive(TICK).is_ok() {}
                }
                Ok(received(&manifest, rekeyed, notes, Some(began.elapsed())))
            }
            Err(error) => Err(explain(error, &mut control)),
        }
    }

    /// Keys of a committed transfer can no longer be wrapped: check that it was done.
    fn check_committed_keys(&self) -> Result<(), Error> {
        match &self.settings.rekey {
            Some(current) => check_committed(&self.staging, current, &self.settings.into),
            None => Ok(()),
        }
    }
}

fn received(manifest: &Manifest, rekeyed: Option<Rekeyed>, notes: Vec<String>, elapsed: Option<Duration>) -> Received {
    let (tree, entries, bytes) = (manifest.tree(), manifest.entries.len(), manifest.bytes());
    let external_links = manifest.entries.iter().filter(|(entry, _)| external_links(entry));
    let external_links = external_links.map(|(entry, _)| entry.path.as_path().to_owned()).collect();
    Received { tree, entries, bytes, rekeyed, notes, external_links, elapsed }
}

fn external_links(entry: &Entry) -> bool {
    let is_link_file = file_suffix::has(entry.path.as_path(), file_suffix::LINK);
    matches!(entry.kind, Kind::Link { .. }) || is_link_file
}
