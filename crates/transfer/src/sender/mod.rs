//! The donor's side.

mod dial;
mod encoders;
pub mod flow;
pub mod key_files;
mod known;
mod load;
mod queue;
mod redo;
mod rekey;
mod session;
mod source;
mod stream;

use std::time::Duration;

use innodb::keys::KeySource;

pub use self::{
    session::{Round, Session},
    source::SourceFile,
};
use crate::{
    codec::{effort::Compression, page::KeyFileKeys},
    error::TransferError,
    hash::Hash,
    pairing::{PairingCode, Secret},
    plan::Plan,
    progress::Progress,
    tls::identity::{Authorities, Identity},
    wire::message::SUITES,
};

/// Where to send, and how the two sides know each other.
#[derive(Debug)]
pub enum Destination {
    /// A receiver that printed a code.
    Paired(PairingCode),
    /// A receiver with a certificate of the site.
    Certified {
        /// Name or address, as its certificate has it.
        host: String,
        /// Port.
        port: u16,
        /// Who we are.
        identity: Identity,
        /// Who may have signed its certificate.
        authorities: Authorities,
        /// A secret of this one transfer, if the receiver made one.
        secret: Option<Secret>,
    },
}

/// Whether something writes the source while it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nothing does. A file that changes ends the transfer.
    Still,
    /// Something may, and the next round has what changed.
    InUse,
    /// The same, and what is to be read fits into memory: it stays in the page cache for the next round.
    InUseAndSmall,
}

/// How to send.
#[derive(Clone, Debug)]
pub struct SendSettings {
    /// Data connections.
    pub streams: u16,
    /// How hard to compress.
    pub compression: Compression,
    /// Bytes per second on the wire.
    pub bandwidth: Option<u64>,
    /// A cipher suite to use in any case: its place in [`tls::NAMES`](crate::tls::NAMES).
    pub suite: Option<usize>,
    /// How long the other side may be silent.
    pub patience: Duration,
    /// Whether keys of MariaDB's key file go to the other side where files need them as they are.
    pub key_file_keys: KeyFileKeys,
}

/// What was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Hash of the list of files.
    pub tree: Hash,
    /// Files, directories and links.
    pub entries: usize,
    /// Name of the cipher suite.
    pub suite: &'static str,
    /// Speeds of the suites here and there, in MB/s.
    pub speeds: [[u32; SUITES]; 2],
    /// Data connections.
    pub streams: u16,
    /// Files whose keys were handed over to be wrapped anew, if the receiver does that.
    pub rekeyed: Option<usize>,
    /// How long it took, connecting and the other side's commit included.
    pub elapsed: Duration,
}

/// Sends everything in the plan. Returns when the other side has committed it.
///
/// # Errors
/// [`TransferError`]: the first thing that went wrong, wherever it did.
pub fn send(
    plan: &Plan,
    destination: &Destination,
    keys: Option<&dyn KeySource>,
    settings: &SendSettings,
    progress: &Progress,
) -> Result<Sent, TransferError> {
    send_proven(plan, destination, keys, settings, progress, &|| Ok(()))
}

/// The same for a source that may be void when all of it has been read: nothing is committed unless `prove` finds that it
/// is not.
///
/// # Errors
/// As [`send`], and what `prove` returns.
pub fn send_proven(
    plan: &Plan,
    destination: &Destination,
    keys: Option<&dyn KeySource>,
    settings: &SendSettings,
    progress: &Progress,
    prove: &dyn Fn() -> Result<(), TransferError>,
) -> Result<Sent, TransferError> {
    let mut session = Session::open(destination, settings, progress)?;
    // A source that is void may be one that cannot be read, either.
    let sent = session.round(plan, keys, Source::Still);
    if let Err(error) = prove() {
        session.give_up(&error.to_string());
        return Err(error);
    }
    sent?;
    session.finish()
}
