//! The host below the server: disks, swap, core dumps, file modes, credentials lying about.

pub(super) mod config_secret;
pub(super) mod coredump;
pub(super) mod datadir_perms;
pub(super) mod disk_only_for_pan;
pub(super) mod disk_unencrypted;
mod luks;
pub(super) mod luks_damaged;
pub(super) mod luks_key_local;
pub(super) mod luks_weak;
pub(super) mod runs_as_root;
pub(super) mod swap_plaintext;

use crate::facts::host::HostFacts;
use crate::facts::{Facts, Seen, Unseen};
use crate::finding::Evidence;

/// The host that the server runs on; the host of a copied directory says nothing of it.
///
/// # Errors
/// [`Unseen`] if it was not looked at.
pub(super) fn servers_host(facts: &Facts) -> Seen<&HostFacts> {
    let host = facts.host()?;
    if facts.sql.is_some() || host.process.is_some() {
        return Ok(host);
    }
    Err(Unseen {
        what: "the server's host".to_owned(),
        why: "only files were looked at, which can lie on another host than their server".to_owned(),
        remedy: "run against the live server, on its host".to_owned(),
    })
}

pub(super) fn observed(source: impl Into<String>, observation: impl Into<String>) -> Evidence {
    Evidence::Host { source: source.into(), observation: observation.into() }
}

#[cfg(test)]
mod tests {
    use crate::facts::host::Process;

    /// A process of the server, run by uid 999.
    pub(super) fn process() -> Process {
        Process {
            pid: 7,
            found_by: "pid file".to_owned(),
            uid: 999,
            command_line: Vec::new(),
            core_limit: None,
            locked_kib: None,
            swapped_kib: None,
            listeners: Vec::new(),
            unreadable: Vec::new(),
        }
    }
}
