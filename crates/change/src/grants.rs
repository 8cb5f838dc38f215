//! Privileges of a session's account.

use server::{Account, Flavor, Grants, ServerVersion, quote};

use crate::{Error, Session};

/// Privilege to set `sql_log_bin`.
pub(crate) const SESSION_VARIABLES: &str = "SESSION_VARIABLES_ADMIN ON *.*";
/// Privilege to set global variables; includes [`SESSION_VARIABLES`].
pub(crate) const SYSTEM_VARIABLES: &str = "SYSTEM_VARIABLES_ADMIN ON *.*";
/// Privilege to write on a MariaDB server with `read_only`.
pub(crate) const READ_ONLY_ADMIN: &str = "READ_ONLY ADMIN ON *.*";
const SUPER: &str = "SUPER ON *.*";

/// Refuses a run whose account lacks a privilege, and names all that are missing. Needs are written
/// `PRIVILEGE ON OBJECT`.
pub(crate) fn require<N: AsRef<str>>(session: &mut Session<'_>, needs: &[N]) -> Result<(), Error> {
    let grants = own(session)?;
    match missing(&grants, &session.identity().version, needs) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(Error::Privileges { account: account(session)?, missing }),
    }
}

/// The grants of the session's account.
pub(crate) fn own(session: &mut Session<'_>) -> Result<Grants, Error> {
    Ok(Grants::of_session(session.connection())?)
}

/// What the grants do not cover, as `GRANT` expects it.
///
/// The privileges that end in `_ADMIN` exist since MySQL 8.0, where `SUPER` still includes them; before, there is only
/// `SUPER` (MySQL manual, "Static Versus Dynamic Privileges"). MariaDB's `SUPER` includes those that end in `ADMIN`
/// before 11.0.1 (`suite/binlog/t/binlog_grant.test` of 10.5; seen that it does not on 11.8), except for `READ_ONLY
/// ADMIN`, which it includes before 10.11 (MariaDB documentation, "GRANT").
pub(crate) fn missing<N: AsRef<str>>(grants: &Grants, version: &ServerVersion, needs: &[N]) -> Vec<String> {
    let is_admin = |need: &str| need.contains("_ADMIN ") || need.contains(" ADMIN ");
    let is_mariadb = version.flavor == Flavor::MariaDb;
    let only_super = if is_mariadb { !version.at_least(10, 5, 2) } else { !version.at_least(8, 0, 0) };
    let is_in_super = |need: &str| match need {
        _ if !is_mariadb => true,
        READ_ONLY_ADMIN => !version.at_least(10, 11, 0),
        _ => !version.at_least(11, 0, 1),
    };
    let is_granted = |need: &str| {
        let wider = need == SESSION_VARIABLES && grants.cover(SYSTEM_VARIABLES);
        wider || grants.cover(need) || is_admin(need) && is_in_super(need) && grants.cover(SUPER)
    };
    let mut missing: Vec<String> = Vec::new();
    for need in needs.iter().map(AsRef::as_ref).filter(|need| !is_granted(need)) {
        let named = if only_super && is_admin(need) { SUPER.to_owned() } else { quoted(need) };
        if !missing.contains(&named) {
            missing.push(named);
        }
    }
    missing
}

/// A need as `GRANT` expects it: a schema's name may be a reserved word.
fn quoted(need: &str) -> String {
    match need.split_once(" ON ").and_then(|(privilege, object)| Some((privilege, object.split_once('.')?))) {
        Some((privilege, (schema, rest))) if schema != "*" => {
            format!("{privilege} ON {}.{rest}", quote::identifier(schema))
        }
        _ => need.to_owned(),
    }
}

/// The account, as `GRANT` expects it.
pub(crate) fn account(session: &mut Session<'_>) -> Result<String, Error> {
    let Ok(account) = session.value("SELECT CURRENT_USER()")?.unwrap_or_default().parse::<Account>();
    Ok(account.quoted())
}

#[cfg(test)]
mod tests {
    use server::VersionHints;

    use super::*;

    #[test]
    fn privileges_are_named_as_the_version_knows_them() {
        let lacks = |version: &str, grants: &[&str]| {
            let version = ServerVersion::parse(version, VersionHints::default()).unwrap();
            let needs = ["PROCESS ON *.*", SYSTEM_VARIABLES, SESSION_VARIABLES, "BINLOG ADMIN ON *.*", "DROP ON a-b.*"];
            missing(&Grants::parse(grants.iter().copied()), &version, &needs).join("; ")
        };
        let process = "GRANT PROCESS, BINLOG ADMIN, DROP ON *.* TO `a`@`%`";
        let all_super = "GRANT PROCESS, SUPER, DROP ON *.* TO `a`@`%`";
        assert_eq!(lacks("9.7.0", &[process]), [SYSTEM_VARIABLES, SESSION_VARIABLES].join("; "));
        assert_eq!(lacks("9.7.0", &[process, "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `a`@`%`"]), "");
        assert_eq!(lacks("5.7.44", &[process]), SUPER);
        assert_eq!(lacks("5.7.44", &[all_super]), "");
        assert_eq!(lacks("10.11.6-MariaDB", &[all_super]), "");
        assert_eq!(lacks("10.4.34-MariaDB", &["GRANT PROCESS, DROP ON *.* TO `a`@`%`"]), SUPER);
        let read_only = |version: &str| {
            let version = ServerVersion::parse(version, VersionHints::default()).unwrap();
            missing(&Grants::parse([all_super]), &version, &[READ_ONLY_ADMIN])
        };
        assert_eq!((read_only("10.6.1-MariaDB").len(), read_only("10.11.6-MariaDB").len()), (0, 1));
        assert!(lacks("11.8.2-MariaDB", &[all_super]).ends_with("; BINLOG ADMIN ON *.*"));
        assert!(lacks("9.7.0", &["GRANT PROCESS ON *.* TO `a`@`%`"]).ends_with("; DROP ON `a-b`.*"));
    }
}
