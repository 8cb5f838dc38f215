//! Errors of capturing and reading packets.

use std::{io, path::PathBuf};

use crate::service::{MAX_PORTS, Ports};

/// Why packets could not be captured or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The process may not open a packet socket.
    #[error("this process may not watch packets: it needs the capability CAP_NET_RAW")]
    NotPermitted,
    /// There is no such interface.
    #[error("{name:?}: there is no such network interface")]
    NoInterface {
        /// The name that was given.
        name: String,
    },
    /// More ports than a kernel filter can have ([`MAX_PORTS`]).
    #[error("{count} ports are too many to watch at once")]
    TooManyPorts {
        /// Their number.
        count: usize,
    },
    /// The packet socket failed.
    #[error("packets cannot be watched: {0}")]
    Socket(io::Error),
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file has another format.
    #[error("{}: is neither a pcap nor a pcapng file", path.display())]
    NotACapture {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("{} at byte {offset}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Offset of the damaged block, in bytes.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// All packets of the file have an unsupported link type.
    #[error("{}: packets of link type {number} are not read", path.display())]
    LinkType {
        /// The file.
        path: PathBuf,
        /// Number of the first unsupported link type.
        number: i32,
    },
}

impl Error {
    /// The next step for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotPermitted => {
                let ports: Vec<String> = Ports::usual().numbers().iter().map(u16::to_string).collect();
                Some(format!(
                    "run it as root or give the program the capability (setcap cap_net_raw+ep PROGRAM), or let \
                     tcpdump write a file (tcpdump -i any -s 2048 -w FILE tcp port {}) and read that with sealant \
                     sniff --pcap FILE",
                    ports.join(" or ")
                ))
            }
            Self::NoInterface { .. } => Some("ip link lists them; without --interface all are watched".to_owned()),
            Self::TooManyPorts { .. } => Some(format!("name at most {MAX_PORTS}")),
            Self::LinkType { .. } => {
                Some("Ethernet, Linux cooked (tcpdump -i any), raw IP and BSD's loopback are read".to_owned())
            }
            Self::NotACapture { .. } => Some("tcpdump -w FILE writes one".to_owned()),
            Self::Socket(_) | Self::File { .. } | Self::Damaged { .. } => None,
        }
    }

    /// Whether the command line is wrong.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::NoInterface { .. } | Self::TooManyPorts { .. })
    }
}
