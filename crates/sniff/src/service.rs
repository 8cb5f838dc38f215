//! The service that is expected on a port. The port number says what should listen there, not which
//! protocol is actually spoken.

use serde::{Deserialize, Serialize};
use server::{
    DEFAULT_ADMIN_PORT, DEFAULT_GALERA_PORT, DEFAULT_GROUP_PORT, DEFAULT_IST_PORT, DEFAULT_PORT,
    DEFAULT_STATE_TRANSFER_PORT, DEFAULT_X_PORT,
};

/// A service of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Clients and replicas, over the classic protocol.
    Classic,
    /// Administrators, over the classic protocol.
    Admin,
    /// Clients, over the X Protocol.
    X,
    /// Galera replication between nodes.
    Galera,
    /// Incremental state transfer of Galera.
    IncrementalTransfer,
    /// State transfer of Galera.
    StateTransfer,
    /// Group Replication between members of a group.
    GroupCommunication,
    /// Another server, from which the audited one replicates. No port number tells this.
    Source,
    /// A port whose service is not known.
    Other,
}

impl Service {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "clients",
            Self::Admin => "administrators",
            Self::X => "X Protocol",
            Self::Galera => "Galera",
            Self::IncrementalTransfer => "state transfer (IST)",
            Self::StateTransfer => "state transfer (SST)",
            Self::GroupCommunication => "Group Replication",
            Self::Source => "a replication source",
            Self::Other => "other",
        }
    }
}

/// Default ports, with their services.
const USUAL: [(u16, Service); 7] = [
    (DEFAULT_PORT, Service::Classic),
    (DEFAULT_ADMIN_PORT, Service::Admin),
    (DEFAULT_X_PORT, Service::X),
    (DEFAULT_GALERA_PORT, Service::Galera),
    (DEFAULT_IST_PORT, Service::IncrementalTransfer),
    (DEFAULT_STATE_TRANSFER_PORT, Service::StateTransfer),
    (DEFAULT_GROUP_PORT, Service::GroupCommunication),
];

/// Maximum number of ports. Limits the length of the kernel filter, which has four instructions for
/// each.
pub const MAX_PORTS: usize = 64;

/// The ports to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports {
    ports: Vec<(u16, Service)>,
    any: bool,
}

impl Ports {
    /// The default ports of the MySQL family.
    #[must_use]
    pub fn usual() -> Self {
        Self::new(USUAL)
    }

    /// Watches these ports. A second entry for a port is ignored.
    #[must_use]
    pub fn new(ports: impl IntoIterator<Item = (u16, Service)>) -> Self {
        let mut known: Vec<(u16, Service)> = Vec::new();
        for (port, service) in ports {
            if !known.iter().any(|(other, _)| *other == port) {
                known.push((port, service));
            }
        }
        Self { ports: known, any: false }
    }

    /// Watches these ports, each with the service that usually listens there.
    #[must_use]
    pub fn numbered(ports: impl IntoIterator<Item = u16>) -> Self {
        Self::new(ports.into_iter().map(|port| (port, usual_service(port))))
    }

    /// Watches every port. Meant for files, which were already filtered when they were captured.
    #[must_use]
    pub fn any() -> Self {
        Self { any: true, ..Self::usual() }
    }

    /// Numbers of the watched ports; empty if every port is watched.
    #[must_use]
    pub fn numbers(&self) -> Vec<u16> {
        if self.any { Vec::new() } else { self.ports.iter().map(|(port, _)| *port).collect() }
    }

    /// The service on this port; `None` if the port is not listed.
    pub(crate) fn service(&self, port: u16) -> Option<Service> {
        self.ports.iter().find(|(known, _)| *known == port).map(|(_, service)| *service)
    }

    /// Whether a connection between these ports is watched.
    pub(crate) fn watches(&self, one: u16, other: u16) -> bool {
        self.any || self.service(one).is_some() || self.service(other).is_some()
    }
}

fn usual_service(port: u16) -> Service {
    USUAL.iter().find(|(usual, _)| *usual == port).map_or(Service::Other, |(_, service)| *service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_known_by_its_number() {
        let ports = Ports::numbered([3306, 4444, 3307, 3306]);
        assert_eq!(ports.numbers(), [3306, 4444, 3307]);
        assert_eq!(ports.service(4444), Some(Service::StateTransfer));
        assert_eq!(ports.service(3307), Some(Service::Other));
        assert!(ports.watches(50000, 3307) && ports.watches(3306, 1) && !ports.watches(1, 2));
        assert!(Ports::any().watches(1, 2) && Ports::any().numbers().is_empty());
        assert!(Ports::usual().numbers().len() <= MAX_PORTS);
    }
}
