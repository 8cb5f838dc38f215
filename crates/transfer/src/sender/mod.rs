//! The sender (donor).

mod connect;
mod encoders;
pub mod file_stream;
mod load;
mod peer_files;
mod queue;
mod redo;
mod rekey;
mod session;
mod stream;

use std::time::Duration;

use innodb::keys::KeySource;
use server::address::HostPort;

pub use self::session::{SentRound, Session};
pub use crate::source::SourceFile;
use crate::{
    codec::{level::Compression, page::KeyFileKeys},
    error::Error,
    hash::Hash,
    pairing::{PairingCode, Secret},
    plan::Plan,
    progress::Progress,
    tls::{
        Suite,
        identity::{Authorities, Identity},
    },
    wire::SUITES,
};

/// Keepalive interval of a connection while there is nothing to send on it.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);

/// Address of the receiver, and how the sides authenticate each other.
#[derive(Debug)]
pub enum Destination {
    /// A receiver that printed a pairing code.
    Paired(PairingCode),
    /// A receiver with a certificate of the site.
    Certified {
        /// Name or address that the receiver's certificate must have; IPv6 without brackets.
        host: String,
        /// TCP port.
        port: u16,
        /// Certificate and key of this side.
        identity: Identity,
        /// Authorities that may have signed the receiver's certificate.
        authorities: Authorities,
        /// A secret for this transfer, if the receiver generated one.
        secret: Option<Secret>,
    },
}

impl Destination {
    /// With certificates, a receiver at `HOST:PORT`; otherwise one that printed the pairing code `text`.
    ///
    /// # Errors
    /// [`Error::Code`], [`Error::NoAddress`].
    pub fn parse(text: &str, certificates: Option<(Identity, Authorities)>) -> Result<Self, Error> {
        let Some((identity, authorities)) = certificates else { return Ok(Self::Paired(text.parse()?)) };
        let HostPort { host, port } = address(text)?;
        Ok(Self::Certified { host, port, identity, authorities, secret: None })
    }
}

fn address(text: &str) -> Result<HostPort, Error> {
    text.parse().and_then(HostPort::to_connect).map_err(Error::NoAddress)
}

/// Whether the source is written during the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nothing writes it. A changed file aborts the transfer.
    Static,
    /// It may be written; the next round sends what changed.
    InUse,
    /// As above, and the files fit into memory: they stay in the page cache for the next round.
    InUseCached,
}

/// Settings of a sender.
#[derive(Clone, Debug)]
pub struct SendSettings {
    /// Number of data connections.
    pub streams: u16,
    /// Compression level.
    pub compression: Compression,
    /// Maximum bytes per second on the wire.
    pub bandwidth: Option<u64>,
    /// A fixed cipher suite.
    pub suite: Option<Suite>,
    /// How long the receiver may send nothing.
    pub timeout: Duration,
    /// Whether to send keys of MariaDB's key file where files are encrypted with them directly.
    pub key_file_keys: KeyFileKeys,
}

/// Result of a transfer on the sending side.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Hash of the list of files.
    pub tree: Hash,
    /// Number of files, directories and links.
    pub entries: usize,
    /// Name of the cipher suite.
    pub suite: &'static str,
    /// Rates of the suites on this side and on the receiver, in MB/s.
    pub speeds: [[u32; SUITES]; 2],
    /// Number of data connections.
    pub streams: u16,
    /// Number of files whose keys were sent to be rewrapped, if the receiver requested that.
    pub rekeyed: Option<usize>,
    /// Duration, including connecting and the receiver's commit.
    pub elapsed: Duration,
}

/// Sends everything in the plan. Returns when the receiver has committed it.
///
/// # Errors
/// [`Error`]: the first error of any thread.
pub fn send(
    plan: &Plan,
    destination: &Destination,
    keys: Option<&dyn KeySource>,
    settings: &SendSettings,
    progress: &Progress,
) -> Result<Sent, Error> {
    send_proven(plan, destination, keys, settings, progress, &|| Ok(()))
}

/// As [`send`], for a source that may turn out to be invalid after it was read: nothing is
/// committed unless `prove` succeeds.
///
/// # Errors
/// As [`send`], and the errors of `prove`.
pub(crate) fn send_proven(
    plan: &Plan,
    destination: &Destination,
    keys: Option<&dyn KeySource>,
    settings: &SendSettings,
    progress: &Progress,
    prove: &dyn Fn() -> Result<(), Error>,
) -> Result<Sent, Error> {
    let mut session = Session::open(destination, settings, progress)?;
    // An invalid source may also be unreadable.
    let sent = session.round(plan, keys, Source::Static);
    if let Err(error) = prove() {
        session.abort(&error.to_string());
        return Err(error);
    }
    sent?;
    session.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_a_pairing_code_or_an_address() {
        let wrong = Destination::parse("joiner:4444", None).err();
        assert!(wrong.is_some_and(|error| error.is_misuse() && error.hint().is_some()));
        assert_eq!(address("joiner:4444").unwrap(), HostPort::new("joiner", 4444));
        assert_eq!(address("[::1]:4444").unwrap(), HostPort::new("::1", 4444));
        for wrong in ["joiner", "joiner:", "joiner:65536", "joiner:0", "a:b:4444", "sealant1-abc"] {
            let error = address(wrong).unwrap_err();
            assert!(error.is_misuse() && !error.to_string().contains(wrong), "{error}");
        }
    }
}
