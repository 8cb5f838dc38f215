//! The next step after an error, and the reason in a few words.

use std::{borrow::Cow, io};

use innodb::{log_copy::LogCopyFault, redo_copy::RedoCopyFault};

use server::dialect::backup_lock;

use super::Error;
use crate::lock_holder::Holder;
use crate::prepare_fault::{PrepareFault, manual_steps};

/// Hint for a path that is not a data directory.
const WHERE: &str = "SELECT @@datadir on the server shows its data directory";

impl Error {
    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Unprepared { fault: PrepareFault::LeadsOut(_), .. } => {
                Some("do not run the program on it: it would write where that leads; ask who sent this".into())
            }
            Self::Unprepared { directory, program, .. } => Some(manual_steps(*program, directory).into()),
            Self::Lock { statement, holders, grant, .. } => Some(lock_hint(statement, holders.as_deref(), grant)),
            Self::NoProvider { refused, .. } => {
                let worth_saying = refused.iter().rev().find_map(|(_, error)| error.hint());
                worth_saying.or_else(|| Some("stop the server and use its directory as it is".into()))
            }
            other => other.fixed_hint().map(Cow::Borrowed),
        }
    }

    /// The hint of an error, if its text is constant.
    fn fixed_hint(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { source, .. } => match source.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Some(WHERE),
                io::ErrorKind::PermissionDenied => Some("run it as root or as the server's user"),
                _ => None,
            },
            Self::NoSuchCopy { .. } => Some("see `sealant snapshot list`"),
            Self::NotADataDir { .. } => Some(WHERE),
            Self::Incomplete { .. } => Some(
                "start its server, which knows where the rest is; if this is no data directory, SELECT @@datadir on \
                 the server shows it",
            ),
            Self::NotItsServer { .. } => Some("give --socket or --pid-file of the server that has it open, or neither"),
            Self::Runs { .. } => Some("stop it, or leave the choice to --provider auto"),
            Self::AlreadyStopped { .. } => {
                Some("wait for the copy that is being taken, or send it SIGCONT if nothing is")
            }
            Self::NoClones { .. } => Some(
                "give the server's --socket and --user for a copy while it works (MySQL 8.0.30, MariaDB 10.8 and \
                 newer), or keep the data on XFS (reflink=1), btrfs, ZFS or LVM, or stop the server for the copy, or \
                 send a backup (sealant send --live --provider mariabackup); copying files under locks is not sound \
                 and not offered",
            ),
            Self::OverBudget { .. } => Some(
                "raise --max-freeze, or defragment the files (xfs_fsr), or keep the data on btrfs, where the server \
                    is not frozen",
            ),
            Self::Sending { .. } => Some("try again when that node has joined"),
            Self::CutOff { .. } => Some("if that node does not become Synced within a minute, start it again"),
            Self::TooSlow { .. } => Some("try again when less is written, or raise --max-freeze"),
            Self::OtherFileSystem { .. } => Some("give --location a directory on the file system of the data"),
            Self::TablespaceOutside { .. } => {
                Some("move the table into the data directory; a copy of the stopped server would not have it, either")
            }
            Self::LeadsOut { .. } => Some(
                "move what it points at into the data directory, in place of the link, or remove the link if no server \
                 needs it; if the server runs, the providers reflink and follow copy what links point at",
            ),
            Self::LeadsNowhere { .. } => Some(
                "remove the link if no server needs it, or put what belongs there into the data directory, in place of \
                 the link",
            ),
            Self::LeadsBack { .. } => Some("replace it by a link whose path leads there from its own directory"),
            Self::Hidden { .. } => Some("run it as root"),
            Self::Signal { .. } => Some("run it as root or as the server's user"),
            Self::OutOfSight { .. } => {
                Some("run it where the server's process can be seen, on the host of the container")
            }
            Self::NoRoom { .. } => Some(
                "make room in the volume group, or keep the data in a thin pool, whose snapshots take what they need",
            ),
            Self::Overflowed { .. } => Some(
                "try again when less is written, or make room in the volume group: a snapshot as large as its volume \
                 cannot become full",
            ),
            Self::NeedsRoot { .. } => Some("run it as root"),
            Self::NotThisFileSystem { .. } => Some("btrfs takes snapshots of its own: --provider btrfs"),
            Self::InUse { .. } => Some("wait for that program, or end it"),
            _ => self.hint_of_running_server(),
        }
    }

    /// Hints for a copy of a running server.
    const fn hint_of_running_server(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoAccount => {
                concat!(
                    "give the server's socket (--socket) and an account (--user, --password-file) that has, on ",
                    crate::privileges::follow_privileges!()
                )
            }
            Self::Privilege { grant, .. } => grant,
            Self::DdlUnseen { advice } => advice,
            Self::DdlWaited { .. } => "try again when no definitions are changed, or raise ddl_wait_max",
            Self::RedoEncrypted | Self::Redo { source: RedoCopyFault::Encrypted(_), .. } => {
                "give the keyring (--keyring or --keyring-config), or keep the data on btrfs, XFS, ZFS or LVM"
            }
            Self::RedoDisabled => "ALTER INSTANCE ENABLE INNODB REDO_LOG, when what was loaded without it is done",
            Self::OtherConsumer => "try again when the other one has ended",
            Self::Moving { .. } | Self::BinaryLogs | Self::Redo { source: RedoCopyFault::Unwritten(_), .. } => {
                "try again when less is written"
            }
            Self::SameTablespaceId { .. } => {
                "try again when ALTER TABLE … IMPORT TABLESPACE is done, or remove the file that belongs to no table"
            }
            Self::Unsupported { .. } => {
                "keep the data on btrfs, XFS, ZFS or LVM, or send a backup (sealant send --live --provider mariabackup)"
            }
            Self::NotRunning { .. } => "leave the choice to --provider auto",
            Self::OtherServer { .. } => "give the socket of the server that has this data directory open",
            Self::Log(LogCopyFault::Overrun { .. }) => "raise innodb_log_file_size, or try again when less is written",
            Self::Log(LogCopyFault::Resized) => "try again when the redo log keeps its size",
            Self::Changing { .. } => "try again when less is written",
            Self::NewerPage { .. } => {
                "if the file belongs to no table of this server, move it out of the data directory; otherwise try again"
            }
            Self::NoSpace { .. } => {
                "make room, or name another directory: --location, or location under [data] of a configuration of backups"
            }
            _ => return None,
        })
    }

    /// The reason without the path, for log lines that already name it.
    #[must_use]
    pub fn brief(&self) -> String {
        match self {
            Self::NoProvider { refused, .. } => refused.last().map_or_else(String::new, |(_, error)| error.brief()),
            Self::NoClones { kind, .. } => format!("{kind} cannot clone files"),
            Self::OverBudget { estimate, limit } => {
                format!("it would take {:.0} ms, more than {}", estimate.freeze_ms, limit.as_millis())
            }
            Self::Hidden { .. } => "the server's open files are hidden from this user".to_owned(),
            Self::TablespaceOutside { .. } => "a table is outside the data directory".to_owned(),
            Self::KeptOutside { .. }
            | Self::LeadsOut { .. }
            | Self::OtherSubvolume { .. }
            | Self::TwoFileSystems { .. } => "the data is in more than one place".to_owned(),
            Self::LeadsNowhere { .. } | Self::LeadsBack { .. } => {
                "a link in the data directory would not lead to the same in a copy".to_owned()
            }
            Self::NotItsOwner { .. } => "the subvolume belongs to another user".to_owned(),
            Self::NotRemovable { .. } => "btrfs is not mounted with user_subvol_rm_allowed".to_owned(),
            Self::Sending { .. } => {
                "the server is sending the joiner write-sets, which a stop would cut off".to_owned()
            }
            Self::NeedsRoot { provider } => format!("{provider} needs root"),
            other => other.to_string(),
        }
    }
}

/// What to do about sessions that hold up a backup lock.
fn lock_hint(statement: &str, holders: Option<&[Holder]>, grant: &'static str) -> Cow<'static, str> {
    match holders {
        // MariaDB does not say which session a stage waits for.
        Some([_, ..]) if statement.starts_with(backup_lock::STAGE) => {
            "one of these may hold it: wait until their statements are done; then try again".into()
        }
        Some([first, ..]) => {
            format!("wait until that statement is done, or end it (KILL QUERY {}); then try again", first.id).into()
        }
        Some([]) => "whatever held it has ended: try again".into(),
        None => format!("{grant}, so that the next error names the session that holds it").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_to_end_a_session_that_may_not_hold_the_lock() {
        let session = Holder { id: 12, user: "app".to_owned(), statement: "UPDATE".to_owned(), seconds: 61 };
        let hint = |statement| lock_hint(statement, Some(std::slice::from_ref(&session)), "GRANT");
        assert!(hint(backup_lock::LOCK_INSTANCE).contains("KILL QUERY 12"));
        for stage in [backup_lock::STAGE_START, backup_lock::STAGE_BLOCK_COMMIT] {
            let hint = hint(stage);
            assert!(hint.contains("one of these may hold it") && !hint.contains("KILL"), "{hint}");
        }
    }
}
