//! Judges who can read or replace a key file, for the audit and for `sealant keyring check`.

use findings::Severity;

/// Permissions and owners of a file and its directory.
#[derive(Clone, Copy, Debug)]
pub struct KeyAccess {
    /// Permission bits of the file.
    pub mode: u32,
    /// User id of the owner, if known.
    pub uid: Option<u32>,
    /// Group id, if known.
    pub gid: Option<u32>,
    /// Whether an access control list grants more than the mode.
    pub acl: bool,
    /// Permission bits of the directory, if known.
    pub directory_mode: Option<u32>,
    /// Whether the file contains keys or a password for them. Any other file only determines which keys are used, so
    /// that others may read it.
    pub secret: bool,
}

impl KeyAccess {
    /// What is wrong with the file, for a server that runs with this user id. Severity: critical if everybody has
    /// access, high if a shared group has access, medium if only the owner's private group has.
    #[must_use]
    pub fn faults(&self, server: Option<u32>) -> Vec<(&'static str, Severity)> {
        let private_group = self.uid.is_some() && self.uid == self.gid;
        let group = if private_group { Severity::Medium } else { Severity::High };
        let service = matches!((self.uid, server), (Some(owner), Some(server)) if owner != server && owner != 0);
        // A sticky directory lets only the owner replace a file.
        let directory = self.directory_mode.filter(|mode| mode & 0o1000 == 0).unwrap_or(0);
        let found = [
            (self.secret && self.mode & 0o004 != 0, "is readable by everybody", Severity::Critical),
            (self.mode & 0o002 != 0, "is writable by everybody", Severity::Critical),
            (self.secret && self.mode & 0o040 != 0, "is readable by its group", group),
            (self.mode & 0o020 != 0, "is writable by its group", group),
            (self.acl, "has an access control list that grants more than its mode", Severity::High),
            (service, "belongs to another user than the server's", Severity::High),
            (directory & 0o002 != 0, "lies in a directory where everybody may replace it", Severity::Critical),
            (
                directory & 0o020 != 0 && !private_group,
                "lies in a directory where a group may replace it",
                Severity::High,
            ),
        ];
        found.into_iter().filter(|(is, ..)| *is).map(|(_, word, severity)| (word, severity)).collect()
    }
}
