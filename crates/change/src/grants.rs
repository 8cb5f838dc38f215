//! Privileges of a session's account.

use server::{Account, Grants};

use crate::{Error, Session};

/// The grants of the account and its active roles.
pub(crate) fn query(session: &mut Session<'_>) -> Result<Grants, Error> {
    Ok(Grants::of_session(session.connection())?)
}

/// The account, as `GRANT` expects it.
pub(crate) fn account(session: &mut Session<'_>) -> Result<String, Error> {
    let Ok(account) = session.value("SELECT CURRENT_USER()")?.unwrap_or_default().parse::<Account>();
    Ok(account.quoted())
}
