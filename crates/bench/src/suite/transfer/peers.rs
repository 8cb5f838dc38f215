//! Which other programs take part.

use crate::{CopyPeer, Error, Rate, error::NEEDS_SERVER};

/// The peers that take part.
#[derive(Debug, Default)]
pub struct Peers {
    pub(super) there: Vec<&'static CopyPeer>,
    /// Names of unavailable peers, with what they need.
    pub(super) missing: Vec<String>,
}

impl Peers {
    /// Adds a peer. Requested peers must be available; giving a running server requests those that copy from one.
    pub(super) fn add(&mut self, peer: &'static CopyPeer, is_named: bool, is_served: bool) -> Result<(), Error> {
        let asked = is_named || (peer.from_server && is_served);
        let mut needs = peer.missing();
        if asked && !needs.is_empty() {
            return Err(Error::PeerMissing { peer: peer.name, programs: needs });
        }
        if peer.from_server && !is_served {
            needs.push(NEEDS_SERVER);
        }
        match needs.is_empty() {
            true => self.there.push(peer),
            false if asked => return Err(Error::PeerNeedsServer { peer: peer.name }),
            false => self.missing.push(format!("{} (needs {})", peer.name, needs.join(", "))),
        }
        Ok(())
    }

    /// Checks that the peers can use the given server and link.
    pub(super) fn check(&self, is_served: bool, rate: Option<Rate>) -> Result<(), Error> {
        if is_served && !self.there.iter().any(|peer| peer.from_server) {
            return Err(Error::NoPeerOfServer);
        }
        match self.there.iter().find(|peer| !peer.networked) {
            Some(peer) if rate.is_some() => Err(Error::PeerWithoutNetwork { peer: peer.name }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_must_match_the_link_and_the_server() {
        let peers = Peers { there: vec![CopyPeer::by_name("cp").unwrap()], missing: Vec::new() };
        assert!(matches!(peers.check(true, None), Err(Error::NoPeerOfServer)));
        let over_a_link = peers.check(false, "1Gbit".parse().ok()).unwrap_err();
        assert!(over_a_link.is_misuse() && over_a_link.to_string().starts_with("cp uses no network"));
        assert!(peers.check(false, None).is_ok());
    }
}
