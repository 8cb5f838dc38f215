//! What a failure of a check means: what it exposes and to whom, what fixes it, and whom the fix cuts off.
//!
//! Each check states it in its definition; the report and `sealant encrypt` read it from there.

use crate::coverage::DataState;

/// The attacker who benefits from a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attacker {
    /// Whoever holds the disk, or a copy of it.
    StolenDisk,
    /// Whoever listens on the network.
    Sniffer,
    /// Whoever poses as the server or as a client on the network.
    Impostor,
    /// Whoever has an account on the server or a user on its host.
    Operator,
}

impl Attacker {
    /// State of the data that the attacker can read; `None` for an attacker inside the server or its host.
    #[must_use]
    pub const fn data_state(self) -> Option<DataState> {
        match self {
            Self::StolenDisk => Some(DataState::AtRest),
            Self::Sniffer | Self::Impostor => Some(DataState::InFlight),
            Self::Operator => None,
        }
    }

    /// Human-readable description.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StolenDisk => "whoever holds the disk or a copy of it",
            Self::Sniffer => "whoever listens on the network",
            Self::Impostor => "whoever answers or asks in another's name",
            Self::Operator => "whoever has an account on the server or a user on its host",
        }
    }
}

/// A flaw in how keys are stored. Two different flaws together expose the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFlaw {
    /// The keys can be read where they are stored.
    Readable,
    /// The keys are stored on the same disk as the data.
    BesideData,
}

/// What a failure exposes: a sentence without its full stop that needs no knowledge of the server. The artefacts follow
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposes {
    /// Nothing now: the failure concerns the future, or missing proof.
    Nothing,
    /// Data that can be read because of it.
    Data(Attacker, &'static str),
    /// Something that makes access to data easier.
    Help(Attacker, &'static str),
    /// Keys, on a stolen disk. Each flaw helps an attacker; both together expose the data.
    Keys(KeyFlaw, &'static str),
}

impl Exposes {
    /// The attacker who benefits.
    #[must_use]
    pub const fn attacker(self) -> Option<Attacker> {
        match self {
            Self::Nothing => None,
            Self::Data(attacker, _) | Self::Help(attacker, _) => Some(attacker),
            Self::Keys(..) => Some(Attacker::StolenDisk),
        }
    }

    /// State of the exposed data; `None` if it is exposed only to an insider, or to nobody.
    #[must_use]
    pub const fn data_state(self) -> Option<DataState> {
        match self.attacker() {
            Some(attacker) => attacker.data_state(),
            None => None,
        }
    }

    /// The exposed data, as text.
    #[must_use]
    pub const fn text(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Data(_, text) | Self::Help(_, text) | Self::Keys(_, text) => Some(text),
        }
    }
}

/// What closes a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosedBy {
    /// `sealant encrypt run`.
    Encrypt,
    /// As above, but only on MariaDB: MySQL keeps the data clear.
    EncryptOnMariaDb,
    /// An encrypted disk, or removal of the data: data at rest that no server encrypts.
    Disk,
    /// A restore: the existing data cannot be read, so nothing shows that it is encrypted.
    Restore,
    /// `sealant rotate run`.
    Rotate,
    /// `sealant keyring init`.
    Keyring,
    /// `sealant cert`.
    Cert,
    /// `sealant luks`.
    Luks,
    /// The administrator, following the finding's fix.
    Administrator,
}

impl ClosedBy {
    /// Name: a command of `sealant`, or a person.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Encrypt => "`sealant encrypt run`",
            Self::EncryptOnMariaDb => "`sealant encrypt run` on MariaDB; an encrypted disk on MySQL",
            Self::Disk => "an encrypted disk (`sealant luks`), or the fix: no server encrypts it",
            Self::Restore => "a restore",
            Self::Rotate => "`sealant rotate run`",
            Self::Keyring => "`sealant keyring init`",
            Self::Cert => "`sealant cert`",
            Self::Luks => "`sealant luks`",
            Self::Administrator => "the administrator, by the fix",
        }
    }
}

/// The clients named in a failure that would be cut off if TLS were enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockedOut {
    certainty: Certainty,
    text: &'static str,
}

/// How certain it is that a client would be cut off, the most certain first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Connected in clear text at this moment.
    Connected,
    /// Permitted to connect in clear text.
    Permitted,
    /// Configured to connect in clear text.
    Configured,
}

impl LockedOut {
    /// Certainty and description, such as `connected in clear now`.
    #[must_use]
    pub const fn new(certainty: Certainty, text: &'static str) -> Self {
        Self { certainty, text }
    }

    /// How certain it is.
    #[must_use]
    pub const fn certainty(self) -> Certainty {
        self.certainty
    }

    /// Description of the clients.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.text
    }
}
