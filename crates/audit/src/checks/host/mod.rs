//! The server's host: disks, swap, core dumps, file modes, exposed credentials.

mod luks;

use crate::access;
use crate::facts::host::HostFacts;
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::Evidence;

checks! {
    CHECKS:
    disk_unencrypted,
    disk_only_for_pan,
    luks_weak,
    luks_damaged,
    luks_key_local,
    swap_plaintext,
    coredump,
    datadir_perms,
    config_secret,
    runs_as_root,
}

/// Facts about the server's host. The host of a copied directory is irrelevant.
///
/// # Errors
/// [`Unavailable`] if they were not collected.
pub(super) fn servers_host(facts: &Facts) -> Observed<&HostFacts> {
    let host = facts.host()?;
    if facts.sql.is_some() || host.process.is_some() {
        return Ok(host);
    }
    Err(Unavailable {
        what: "the server's host".to_owned(),
        why: "only files were examined, which can be on another host than their server".to_owned(),
        remedy: access::RUNNING.to_owned(),
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
