//! The ways to stop writes at the source, and what each of them guarantees.

use std::path::PathBuf;

use server::{Account, Flavor, ServerVersion};

/// How a cut-over stops writes at the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fencing {
    /// Whether a session locks the tables until the command ends.
    pub lock_tables: bool,
    /// What keeps clients from writing after that; `None` for nothing.
    pub lasting: Option<LastingFence>,
}

/// A fence that stays after the cut-over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LastingFence {
    /// `super_read_only`; `read_only` on MariaDB.
    ReadOnly,
    /// These accounts are locked, and their sessions ended.
    Accounts(Vec<Account>),
    /// The user has stopped writes, or this program does.
    External(Option<PathBuf>),
}

/// Privileges of the fence `read-only` that managed services give to nobody.
pub(crate) const WITHHELD: [&str; 3] = ["SYSTEM_VARIABLES_ADMIN", "READ_ONLY ADMIN", "SUPER"];

impl Default for Fencing {
    fn default() -> Self {
        Self { lock_tables: false, lasting: Some(LastingFence::ReadOnly) }
    }
}

impl Fencing {
    pub(crate) const fn is_read_only(&self) -> bool {
        matches!(self.lasting, Some(LastingFence::ReadOnly))
    }
}

/// A fence, as a plan describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    /// Its name for `--fence`.
    pub(crate) name: &'static str,
    pub(crate) guarantees: &'static str,
    pub(crate) lacks: &'static str,
    /// The privileges that it needs on the whole source.
    pub(crate) needs: &'static [&'static str],
    /// Whether it has to see the accounts.
    pub(crate) sees_accounts: bool,
}

/// The fences for a source of this version. `ends_sessions` is whether the source has a procedure that ends sessions, as
/// those of managed services have.
pub(crate) fn described(source: &ServerVersion, ends_sessions: bool) -> [Described; 4] {
    let is_mariadb = source.flavor == Flavor::MariaDb;
    let is_old = !is_mariadb && !source.at_least(8, 0, 0);
    let read_only = if is_mariadb {
        "accounts with READ_ONLY ADMIN can write, a restart forgets it, and managed services do not permit it"
    } else {
        "a restart forgets it, and managed services do not permit it"
    };
    [
        Described {
            name: "read-only",
            guarantees: "the server refuses writes of clients, until somebody makes it writable",
            lacks: read_only,
            needs: match (is_mariadb, is_old) {
                (true, _) => &["READ_ONLY ADMIN"],
                (_, true) => &["SUPER"],
                _ => &["SYSTEM_VARIABLES_ADMIN", "XA_RECOVER_ADMIN"],
            },
            sees_accounts: false,
        },
        Described {
            name: "lock-tables",
            guarantees: "nobody can write to the moved tables while the command runs, not even administrators; if it is \
                         killed before the switch, clients go on at the source",
            lacks: "statements that wait for the locks are executed at the source when the command ends, and later ones, \
                    too: add another fence (--fence lock-tables,accounts), or --accept-soft-fence",
            needs: &[],
            sees_accounts: false,
        },
        Described {
            name: "accounts",
            guarantees: "the accounts of --fence-account are locked and their sessions ended, so that they cannot write \
                         until somebody unlocks them",
            lacks: "accounts that are not named can write: before the switch that is noticed, after it it is not",
            needs: match (ends_sessions, is_mariadb, is_old) {
                (true, ..) => &["CREATE USER", "EVENT"],
                (_, true, _) => &["CREATE USER", "CONNECTION ADMIN", "EVENT"],
                (.., true) => &["CREATE USER", "SUPER", "EVENT"],
                _ => &["CREATE USER", "CONNECTION_ADMIN", "EVENT"],
            },
            sees_accounts: true,
        },
        Described {
            name: "external",
            guarantees: "no transaction is open and the log stands still when the target takes over",
            lacks: "only what you or --fence-program do keeps clients from writing, before the switch and after it",
            needs: &["EVENT"],
            sees_accounts: false,
        },
    ]
}
