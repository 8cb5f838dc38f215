//! What the account of a session may do.

use server::Grants;

use crate::{Error, Session};

/// The account's grants and those of its active roles.
pub(crate) fn of_session(session: &mut Session<'_>) -> Result<Grants, Error> {
    // MySQL has roles from 8.0 on; before, the name is taken for a stored function's.
    let has_roles = !session.identity().flavor().is_mysql_like() || session.identity().version.at_least(8, 0, 0);
    let roles = if has_roles { session.value("SELECT CURRENT_ROLE()")? } else { None };
    let roles = roles.filter(|roles| roles != "NONE");
    let sql = match roles {
        // MariaDB has one role at a time, and its grants are shown with the account's.
        Some(roles) if session.identity().version.flavor != server::Flavor::MariaDb => {
            format!("SHOW GRANTS FOR CURRENT_USER() USING {roles}")
        }
        _ => "SHOW GRANTS".to_owned(),
    };
    let rows = session.ask(&sql)?;
    Ok(Grants::parse(rows.rows.iter().filter_map(|row| row.first()?.as_deref())))
}

/// As `GRANT` takes it.
pub(crate) fn account(session: &mut Session<'_>) -> Result<String, Error> {
    let account = session.value("SELECT CURRENT_USER()")?.unwrap_or_default();
    let (user, host) = account.rsplit_once('@').unwrap_or((&account, "%"));
    Ok(format!("{}@{}", crate::quote::name(user), crate::quote::name(host)))
}
