//! The programs that stream backups.

use std::{fmt, path::PathBuf, str::FromStr};

use server::program::{MARIADB_BACKUP, XTRABACKUP};

/// A backup program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// mariabackup, of MariaDB.
    MariaBackup,
    /// xtrabackup, of Percona, for MySQL.
    XtraBackup,
}

impl Program {
    /// All programs.
    pub const ALL: [Self; 2] = [Self::MariaBackup, Self::XtraBackup];

    /// Name for messages and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MariaBackup => "mariabackup",
            Self::XtraBackup => "xtrabackup",
        }
    }

    /// Name of the executable file.
    #[must_use]
    pub const fn file(self) -> &'static str {
        match self {
            Self::MariaBackup => MARIADB_BACKUP[0],
            Self::XtraBackup => XTRABACKUP,
        }
    }

    /// The executable file on the search path; a host may have it under its older name only. If there is none, its
    /// name, which cannot be started.
    #[must_use]
    pub fn found(self) -> PathBuf {
        let names: &[&str] = match self {
            Self::MariaBackup => &MARIADB_BACKUP,
            Self::XtraBackup => &[XTRABACKUP],
        };
        names.iter().find_map(process::find).unwrap_or_else(|| self.file().into())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Program {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|program| program.name() == text).ok_or(())
    }
}
