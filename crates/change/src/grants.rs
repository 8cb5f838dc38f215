//! Privileges of a session's account.

use server::{Capability, Grants, dialect::statement::SHOW_GRANTS, quote};

use crate::{Error, Session};

/// The grants of the account and its active roles.
pub(crate) fn query(session: &mut Session<'_>) -> Result<Grants, Error> {
    // Roles exist since MySQL 8.0; older servers parse `CURRENT_ROLE()` as a stored function.
    let has_roles = session.can(Capability::Roles);
    let roles = if has_roles { session.value("SELECT CURRENT_ROLE()")? } else { None };
    let roles = roles.filter(|roles| roles != "NONE");
    let sql = match roles {
        // MariaDB has one active role at a time, and lists its grants with the account's.
        Some(roles) if session.identity().version.flavor != server::Flavor::MariaDb => {
            format!("{SHOW_GRANTS} FOR CURRENT_USER() USING {roles}")
        }
        _ => SHOW_GRANTS.to_owned(),
    };
    let rows = session.query(&sql)?;
    Ok(Grants::parse(rows.rows.iter().filter_map(|row| row.first()?.as_deref())))
}

/// The account, as `GRANT` expects it.
pub(crate) fn account(session: &mut Session<'_>) -> Result<String, Error> {
    let account = session.value("SELECT CURRENT_USER()")?.unwrap_or_default();
    let (user, host) = account.rsplit_once('@').unwrap_or((&account, "%"));
    Ok(format!("{}@{}", quote::identifier(user), quote::identifier(host)))
}
