//! Authentication plug-ins, by the names that servers and clients give them.
//!
//! Source: MySQL manual, "Authentication Plugins"; MariaDB documentation, "Authentication Plugins".

/// Before MySQL 4.1; its hash is broken.
pub const OLD_PASSWORD: &str = "mysql_old_password";
/// Unsalted SHA-1; the default before MySQL 8.0.
pub const NATIVE_PASSWORD: &str = "mysql_native_password";
/// Salted SHA-256 of MySQL 5.6; asks for the password itself.
pub const SHA256_PASSWORD: &str = "sha256_password";
/// Salted SHA-256 with a cache; the default since MySQL 8.0.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";
/// Sends the password itself, for LDAP and similar.
pub const CLEAR_PASSWORD: &str = "mysql_clear_password";
/// MariaDB's Ed25519, as clients call it.
pub const CLIENT_ED25519: &str = "client_ed25519";
/// MariaDB's Ed25519, as servers call it.
pub const ED25519: &str = "ed25519";
/// MariaDB 11.6 and newer.
pub const PARSEC: &str = "parsec";
/// No login at all, for accounts that only own views and routines.
pub const NO_LOGIN: &str = "mysql_no_login";
/// PAM, on MariaDB.
pub const PAM: &str = "pam";
/// MariaDB's PAM: questions and answers.
pub const DIALOG: &str = "dialog";
/// MySQL: the operating system's user at the other end of a Unix socket; no password.
pub const AUTH_SOCKET: &str = "auth_socket";
/// MariaDB: the operating system's user at the other end of a Unix socket; no password.
pub const UNIX_SOCKET: &str = "unix_socket";

/// The plug-in for the first answer to a greeting: the proposed one if its first answer reveals nothing about the
/// password, otherwise [`NATIVE_PASSWORD`]. Other plug-ins are used only if the server asks for them.
#[must_use]
pub fn unasked(proposed: &str) -> &str {
    let reveals_nothing = [NATIVE_PASSWORD, CACHING_SHA2_PASSWORD, CLIENT_ED25519, PARSEC];
    if reveals_nothing.contains(&proposed) { proposed } else { NATIVE_PASSWORD }
}
