//! Accounts, databases and rows of a server to measure on.

/// Name of the clients' account.
pub(crate) const USER: &str = "bench";
/// Name of the administrator's account, which has no password: only the owner of the directory can reach the socket,
/// and a TCP connection never matches an account at `localhost`.
pub(crate) const ADMINISTRATOR: &str = "administrator";
/// The database that [`USER`] may write.
pub(crate) const OLTP_DATABASE: &str = "oltp";
/// Length of each of the thousand rows of `bench.noise`.
pub(super) const ROW_BYTES: u64 = 1000;

/// Statements for the init file, one a line.
pub(super) fn statements(mariadb: bool, administrator: bool) -> String {
    let (reload, last) = if mariadb {
        (
            "RELOAD",
            format!(
                "DELETE FROM mysql.global_priv WHERE user NOT IN ('{USER}', '{ADMINISTRATOR}', 'mariadb.sys', 'PUBLIC');"
            ),
        )
    } else {
        ("CONNECTION_ADMIN", "DROP USER root@localhost;".to_owned())
    };
    let digits = "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 \
                  UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)";
    let noise = ROW_BYTES / 50;
    let administrator = if administrator {
        format!(
            "CREATE USER {ADMINISTRATOR}@localhost;\nGRANT ALL ON *.* TO {ADMINISTRATOR}@localhost WITH GRANT OPTION;\n"
        )
    } else {
        String::new()
    };
    format!(
        "CREATE DATABASE bench;\n\
         CREATE TABLE bench.noise (v VARCHAR({ROW_BYTES}) CHARACTER SET latin1 NOT NULL) ENGINE=InnoDB;\n\
         INSERT INTO bench.noise SELECT REPEAT(LEFT(SHA2(CONCAT(a.d, b.d, c.d), 256), 50), {noise}) \
         FROM {digits} a, {digits} b, {digits} c;\n\
         CREATE DATABASE {OLTP_DATABASE};\n\
         CREATE USER {USER}@'%';\n\
         GRANT SELECT ON bench.* TO {USER}@'%';\n\
         GRANT ALL ON {OLTP_DATABASE}.* TO {USER}@'%';\n\
         GRANT {reload} ON *.* TO {USER}@'%';\n\
         {administrator}{last}\n\
         FLUSH PRIVILEGES;\n"
    )
}
