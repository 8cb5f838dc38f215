//! The next step after an error.

use std::borrow::Cow;

use archive::names;
use store::Error as StoreError;
use transfer::{Error as TransferError, rekey::RekeyFault};

use super::Error;

impl Error {
    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let own = self.backup_hint().or_else(|| self.restore_hint()).or_else(|| self.binlog_hint());
        own.or_else(|| self.hint_of_cause()).map(Cow::into_owned)
    }

    /// After an error of the configuration, the repository or a backup run.
    fn backup_hint(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(match self {
            Self::NoRepository { .. } => "create it with `sealant backup init`",
            Self::OtherRecipients { .. } => {
                "give --identity of one of them; a recipient is shown as the first 16 digits of the SHA-256 of its \
                 text: age-keygen -y IDENTITY | tr -d '\\n' | sha256sum"
            }
            Self::ReplacingStore { .. } => {
                "it does not protect backups from being overwritten: use a newer release of it, or another store"
            }
            Self::OtherMachine { .. } | Self::OldBackupState { .. } => {
                let lost = "a host that lost its state, or got an older copy of it, has to be allowed to list and read its backups for one `sealant \
                            backup init` and one run";
                return Some(format!("{OWN_NAME}; {lost}").into());
            }
            Self::UnknownRepository { .. } => {
                "write it as `id` under [repository]: it is in sealant-repo.json, and what `sealant backup init` prints"
            }
            Self::Answer => "give what `age -d` printed for the challenge that `sealant backup init` shows",
            Self::TooLong { .. } => "back up from a faster disk, or to a faster store; the next run is a full one",
            Self::UnknownKeeper { line, .. } => {
                return Some(format!("if this key is the keeper's, add the line: {line}").into());
            }
            Self::Prune { hint, .. } => hint,
            Self::NoServer { .. } => "send the directory itself: sealant send DIR CODE",
            Self::NoBackup { .. } => {
                "list the backups with `sealant backup list`; one whose receipt is lost is restored with --manifest"
            }
            Self::Reencrypt { .. } => {
                "give the keyring of the server with --keyring, or its key file with --mariadb-key-file"
            }
            Self::Lists(source) if files::is_disk_full(source) => {
                "a run keeps it in the directory of the state, a restore in the file system of its target or in TMPDIR: \
                 make room there"
            }
            Self::NoSocket => "give the socket, the user and its password file under [server]",
            _ => return None,
        }))
    }

    /// After an error of a restore, a proof or a replay.
    fn restore_hint(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(match self {
            Self::Rekey(fault) => rekey_hint(fault),
            Self::OtherRestore { number, .. } => {
                let finish = format!("the same command for backup {number} finishes it");
                return Some(format!("{finish}; to restore another one, empty the directory first").into());
            }
            Self::OtherOption { .. } => "finish it with the options that it was begun with",
            Self::UnknownRestore { .. } => {
                "`sealant receive --into` finishes a transfer; to restore, empty the directory first"
            }
            Self::RekeyMariaDb { .. } => "restore without --rekey, and give the server a copy of its key file",
            Self::KeyVersions { .. } | Self::NoSystemKey { .. } => {
                "the directory is restored, and its pages are verified; start the server itself on it"
            }
            Self::ProofStopped => {
                "a directory of --into is restored, and a server continues its recovery; if binary logs were to be \
                 replayed, remove it and restore again"
            }
            Self::NoFileKeys { .. } => SERVERS_KEYRING,
            Self::Prove { .. } => {
                "the directory is restored; the server has to be of the backup's version or newer, and --prove-option \
                 gives it options such as --lower-case-table-names=1"
            }
            Self::LeadsOut { .. } => {
                "no server is started on it; put a copy of what belongs there in place of the link, or remove the link \
                 if no server needs it, and start a server on the directory yourself"
            }
            Self::LinksOut { .. } => {
                "nothing is restored; with --leave-out-links everything but such links is; without --prove and a point \
                 in time they are restored, too: put a copy of what belongs there in place of each, and start a server \
                 on the directory yourself"
            }
            Self::Replay { .. } => {
                "the directory holds the backup, recovered, with a part of the changes: remove it and restore again"
            }
            Self::Memory { path, .. } => {
                let path = path.display();
                let example = "which in a container is an option such as docker run --shm-size=1g";
                return Some(format!("mount a large enough tmpfs on {path}, {example}").into());
            }
            Self::NewKeys { .. } => {
                "remove the directory, whose files need those keys, and restore again with the newest keyring of the \
                 server, or to an earlier point in time"
            }
            Self::ClearPages { .. } => {
                "remove the directory; for a table that is to be encrypted by a setting, \
                 --prove-option=--innodb-encrypt-tables=ON gives the replay that setting"
            }
            _ => return None,
        }))
    }

    /// After an error of the archive of binary logs, or of a point in time in it.
    fn binlog_hint(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(match self {
            Self::NoBinaryLog => "start it with log_bin",
            Self::OtherServer { .. } => {
                "the same command archives the logs of the new one; after a failover with GTIDs they continue \
                 this archive"
            }
            Self::OtherArchiver { .. } => {
                let lost = "a host that lost its state, or has an older copy of it, has to be allowed to list and read \
                            its receipts for one run";
                return Some(format!("{OWN_NAME}; {lost}").into());
            }
            Self::OldState { server, .. } => {
                return Some(
                    format!(
                        "if another machine archives as this host, give each its own name under [host]; if this state \
                         is an older copy, remove binlogs-{server}.json from the state directory: the next run then \
                         resumes at the end of the archive"
                    )
                    .into(),
                );
            }
            Self::SpoolMissing { path } => {
                return Some(
                    format!(
                        "mount the file system that has it, and run the same command again; if it is lost for good, \
                         create {} as an empty file: what waited is then read from the server again, if it still has it",
                        path.display()
                    )
                    .into(),
                );
            }
            Self::ServerClosed => "run the same command again: it resumes at the end of the archive",
            Self::Unreachable { .. } => "`sealant backup binlogs show` lists what is archived",
            Self::NewerBackup { .. } => {
                "restore an older one (`sealant backup list`), or latest, which chooses the newest that fits"
            }
            Self::AllNewer { .. } => {
                "choose a later point in time; `sealant backup list` says when each backup was taken"
            }
            Self::NoBinlogArchive { .. } => {
                "`sealant backup list --host HOST` tells whether the name is right; `sealant backup binlogs` archives \
                 the logs of a host"
            }
            _ => return None,
        }))
    }

    /// The hint of the error that this one contains.
    fn hint_of_cause(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Object { object, .. } if names::is_manifest(object) => Some(SALVAGE.into()),
            Self::Store(StoreError::Missing { name, .. }) if names::is_manifest(name.as_str()) => Some(SALVAGE.into()),
            Self::Object { source, .. } | Self::Archive(source) => source.hint().map(Cow::Borrowed),
            Self::Identity { source, .. } => source.hint().map(Cow::Borrowed),
            Self::Store(error) => error.hint(),
            Self::Keys(error) => error.hint().map(Cow::Borrowed),
            Self::Binlog(error) => error.hint(),
            Self::Snapshot(error) => error.hint(),
            Self::Transfer(error) => transfer_hint(error),
            _ => None,
        }
    }
}

/// Hint for two machines that write as one host.
const OWN_NAME: &str = "give each machine its own name under [host]";
/// Hint for a lost manifest.
const SALVAGE: &str = "with the right identity, `restore --salvage` restores what the packs alone contain";
/// Hint for missing keys.
const SERVERS_KEYRING: &str = "give the keyring of the server that was backed up with --keyring";

const fn rekey_hint(fault: &RekeyFault) -> &'static str {
    match fault {
        RekeyFault::NoKeyring { .. } => SERVERS_KEYRING,
        RekeyFault::KeyRecords { .. } => {
            "restore without --rekey, start a server on it with the old keyring, stop it, and give it its new keys \
             with `sealant send` and `sealant receive --rekey`"
        }
        _ => "restore without --rekey, with the old keyring",
    }
}

/// The next step after an error of a data directory, if the hint for transfers does not apply.
fn transfer_hint(error: &TransferError) -> Option<Cow<'static, str>> {
    match error {
        TransferError::NotEmpty { .. } | TransferError::Owner { .. } | TransferError::Space { .. } => error.hint(),
        TransferError::Changed { .. } => Some("stop the server, or let a provider take a consistent copy of it".into()),
        TransferError::Occupied { .. } => {
            Some("move it away and give the same command again: what was restored is kept".into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rustix::io::Errno;

    use super::*;

    #[test]
    fn room_for_the_lists_is_asked_for_only_if_the_disk_is_full() {
        for errno in [Errno::NOSPC, Errno::DQUOT] {
            assert!(Error::Lists(errno.into()).hint().is_some_and(|hint| hint.contains("make room")));
            assert!(Error::Lists(io::Error::other(io::Error::from(errno))).hint().is_some());
        }
        assert_eq!(Error::Lists(Errno::IO.into()).hint(), None);
    }
}
