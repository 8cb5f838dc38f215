//! The fence `accounts`: named accounts are locked, and their sessions ended.

use data_encoding::HEXLOWER;
use server::{
    Account, Connection,
    dialect::{
        managed::{ManagedService, end_session_by},
        statement::sessions_of,
    },
    error_code,
};

use super::{checks::wait_until, not_ready};
use crate::{Error, Side, accounts, shared::Shared};

/// The accounts that were not locked before; the fence locks these alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unlocked(Vec<Account>);

impl Unlocked {
    /// Those of the accounts that are not locked.
    ///
    /// # Errors
    /// [`Error::NotReady`] if an account does not exist, or is that of the migration.
    pub(super) fn read(source: &mut Connection, names: &[Account]) -> Result<Self, Error> {
        let own = source.query("SELECT CURRENT_USER()").map_err(Error::at(Side::Source))?;
        let Ok(own) = own.scalar().unwrap_or_default().parse::<Account>();
        let refused = |name: &Account, what: &str| not_ready(format!("the account {} {what}", name.quoted()));
        let mut unlocked = Vec::new();
        for name in names {
            // Sessions are known by their users alone.
            if name.user == own.user {
                return Err(refused(name, "has the user of the migration, whose sessions cannot be ended"));
            }
            match accounts::is_locked(source, name).map_err(Error::at(Side::Source))? {
                None => return Err(refused(name, "of --fence-account is not at the source")),
                Some(false) => unlocked.push(name.clone()),
                Some(true) => {}
            }
        }
        Ok(Self(unlocked))
    }

    /// Whether the same accounts are unlocked now.
    pub(super) fn is_unchanged(&self, source: &mut Connection) -> Result<bool, Error> {
        Ok(Self::read(source, &self.0)? == *self)
    }

    pub(super) fn lock(&self, source: &mut Connection) -> Result<(), Error> {
        self.alter("LOCK").iter().try_for_each(|sql| source.query(sql).map(drop).map_err(Error::at(Side::Source)))
    }

    /// The statements that unlock the accounts again.
    pub(super) fn statements(&self) -> Vec<String> {
        self.alter("UNLOCK")
    }

    fn alter(&self, lock: &str) -> Vec<String> {
        self.0.iter().map(|name| format!("ALTER USER {} ACCOUNT {lock}", name.quoted())).collect()
    }

    /// A field of the stored state.
    pub(super) fn field(&self) -> String {
        let hex = |text: &str| HEXLOWER.encode(text.as_bytes());
        let names = self.0.iter().map(|name| format!("{}@{}", hex(&name.user), hex(&name.host)));
        names.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn parse(field: &str) -> Option<Self> {
        field.split_whitespace().map(account).collect::<Option<_>>().map(Self)
    }
}

#[cfg(test)]
impl From<Vec<Account>> for Unlocked {
    fn from(accounts: Vec<Account>) -> Self {
        Self(accounts)
    }
}

fn account(text: &str) -> Option<Account> {
    let part = |hex: &str| String::from_utf8(HEXLOWER.decode(hex.as_bytes()).ok()?).ok();
    let (user, host) = text.split_once('@')?;
    Some(Account { user: part(user)?, host: part(host)? })
}

/// Ends the sessions of locked accounts, which their locks do not end.
///
/// # Errors
/// [`Error::NotReady`].
pub(super) fn end_sessions(source: &mut Connection, names: &[Account], shared: &Shared) -> Result<(), Error> {
    let service = ManagedService::of_session(source).map_err(Error::at(Side::Source))?;
    let kill_procedure = service.and_then(ManagedService::kill_procedure);
    wait_until(shared, "sessions of locked accounts do not end", || {
        let sessions = sessions(source, names)?;
        for id in &sessions {
            match source.query(&end_session_by(kill_procedure, id)) {
                Ok(_) | Err(server::Error::Server { code: error_code::NO_SUCH_THREAD, .. }) => {}
                Err(error) => return Err(Error::at(Side::Source)(error)),
            }
        }
        Ok(sessions.is_empty())
    })
}

/// Checks that the accounts are still locked, and have no sessions.
///
/// # Errors
/// [`Error::NotReady`].
pub(super) fn require_held(source: &mut Connection, names: &[Account]) -> Result<(), Error> {
    for name in names {
        if accounts::is_locked(source, name).map_err(Error::at(Side::Source))? == Some(false) {
            return Err(not_ready(format!("the account {} was unlocked", name.quoted())));
        }
    }
    if sessions(source, names)?.is_empty() { Ok(()) } else { Err(not_ready("accounts that are locked have sessions")) }
}

/// The sessions of these users.
fn sessions(source: &mut Connection, names: &[Account]) -> Result<Vec<String>, Error> {
    let users: Vec<_> = names.iter().map(|name| name.user.as_str()).collect();
    let rows = source.query(&sessions_of(&users)).map_err(Error::at(Side::Source))?;
    Ok(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}
