//! Typed rows: plug-ins, accounts and tablespaces, according to the server.

use server::switch::is_on;

use super::Row;

/// A plug-in of the server.
#[derive(Debug, Clone, Copy)]
pub struct Plugin<'a> {
    /// Its name.
    pub name: &'a str,
    /// `AUTHENTICATION`, `KEYRING`, `ENCRYPTION`, …
    pub kind: &'a str,
}

impl<'a> Plugin<'a> {
    pub(super) fn from_row(row: &Row<'a>) -> Self {
        Self { name: row.text("name"), kind: row.text("type") }
    }
}

/// An account.
#[derive(Debug, Clone, Copy)]
pub struct Account<'a> {
    /// User part; empty is the anonymous account.
    pub user: &'a str,
    /// Host part.
    pub host: &'a str,
    /// Authentication plug-in.
    pub plugin: &'a str,
    /// `''`, `ANY`, `X509` or `SPECIFIED`.
    pub ssl_type: &'a str,
    /// Whether the account is locked.
    pub locked: bool,
    /// Whether the stored credential is empty.
    pub empty_credential: bool,
    /// Whether no password can match the stored hash, such as the hash `invalid` from MariaDB's installer; `None` if
    /// unknown.
    pub unusable_password: Option<bool>,
    /// Whether it is a role.
    pub role: bool,
    /// Whether it has SUPER or all privileges.
    pub administrator: bool,
    /// Whether it may read the binary log as a replica.
    pub replica: bool,
    /// Whether it may read and write files on the host.
    pub file: bool,
}

impl<'a> Account<'a> {
    pub(super) fn from_row(row: &Row<'a>) -> Self {
        Self {
            user: row.text("user"),
            host: row.text("host"),
            plugin: row.text("plugin"),
            ssl_type: row.text("ssl_type"),
            locked: row.yes("locked"),
            empty_credential: row.yes("empty_credential"),
            unusable_password: row.get("unusable_credential").map(is_on),
            role: row.yes("is_role"),
            administrator: row.yes("super") || row.yes("all_privileges"),
            replica: row.yes("repl_slave"),
            file: row.yes("file"),
        }
    }

    /// `'user'@'host'`, quoted for statements.
    #[must_use]
    pub fn quoted(&self) -> String {
        self.quoted_at(self.host)
    }

    /// The same user at another host.
    #[must_use]
    pub fn quoted_at(&self, host: &str) -> String {
        server::Account { user: self.user.to_owned(), host: host.to_owned() }.quoted_as_text()
    }

    /// Whether only processes on this host can use it.
    #[must_use]
    pub fn local_only(&self) -> bool {
        ["localhost", "::1"].contains(&self.host) || self.host.starts_with("127.")
    }

    /// Whether it is one of MySQL's internal locked accounts, or MariaDB's `mariadb.sys`.
    #[must_use]
    pub fn internal(&self) -> bool {
        // An account of the same name at another host is not internal: it is suspicious.
        let current = ["mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys"];
        self.host == "localhost" && current.contains(&self.user)
    }
}

/// A tablespace, according to the server.
#[derive(Debug, Clone, Copy)]
pub struct Tablespace<'a> {
    /// Space id.
    pub space_id: u32,
    /// `schema/table`, or the tablespace's name.
    pub name: &'a str,
    /// `Single`, `General`, `System`, `Undo`, `Temporary` or `Mysql`.
    pub kind: &'a str,
    /// Encryption according to the server: `Y`, `N`, or `P` for in progress.
    pub encrypted: &'a str,
    /// MariaDB's key id.
    pub key_id: Option<u64>,
    /// MariaDB: newest version of that key.
    pub current_key_version: Option<u64>,
    /// MariaDB: oldest version that a page still uses; 0 is clear text.
    pub min_key_version: Option<u64>,
}

impl<'a> Tablespace<'a> {
    pub(super) fn from_row(row: &Row<'a>) -> Option<Self> {
        Some(Self {
            space_id: u32::try_from(row.number("space_id")?).ok()?,
            name: row.text("name"),
            kind: row.text("type"),
            encrypted: row.text("encrypted"),
            key_id: row.number("key_id"),
            current_key_version: row.number("current_key_version"),
            min_key_version: row.number("min_key_version"),
        })
    }
}
