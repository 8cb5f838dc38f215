//! The state of the source before it was fenced, as the migration stores it, and the way back to it.

use server::{Connection, error_code};

use super::{account_locks::Unlocked, read_only};
use crate::{
    Error, Side,
    fencing::{Fencing, LastingFence},
    link::{identity, same_server},
};

/// Names of the fences in the state; settings begin with a digit or `-`.
const ACCOUNTS: &str = "accounts";
const LOCKS: &str = "lock-tables";
const EXTERNAL: &str = "external";

/// What a fence has changed at the source, and which server that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Former {
    before: Before,
    pub(crate) server_uuid: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Before {
    Settings(read_only::Before),
    Accounts(Unlocked),
    /// Tables are locked until the session ends.
    Locks,
    /// A program, or the user, has stopped writes.
    External,
}

impl Former {
    /// Reads what this fence is going to change.
    ///
    /// # Errors
    /// [`Error::NotReady`] if an account does not exist, or is that of the migration.
    pub(crate) fn read(source: &mut Connection, fencing: &Fencing) -> Result<Self, Error> {
        let before = match &fencing.lasting {
            Some(LastingFence::ReadOnly) => Before::Settings(read_only::Before::read(source)?),
            Some(LastingFence::Accounts(names)) => Before::Accounts(Unlocked::read(source, names)?),
            Some(LastingFence::External(_)) => Before::External,
            None => Before::Locks,
        };
        Ok(Self { before, server_uuid: identity(source, Side::Source)? })
    }

    /// The text that the state stores.
    pub(crate) fn text(&self) -> String {
        let (first, second) = match &self.before {
            Before::Settings(settings) => settings.fields(),
            Before::Accounts(unlocked) => (ACCOUNTS.to_owned(), unlocked.field()),
            Before::Locks => (LOCKS.to_owned(), String::new()),
            Before::External => (EXTERNAL.to_owned(), String::new()),
        };
        format!("{first},{second},{}", self.server_uuid)
    }

    /// Parses the stored text; `None` if no fence is stored.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.splitn(3, ',');
        let (first, second) = (fields.next()?, fields.next()?);
        let before = match first {
            ACCOUNTS => Before::Accounts(Unlocked::parse(second)?),
            LOCKS => Before::Locks,
            EXTERNAL => Before::External,
            _ => Before::Settings(read_only::Before::parse(first, second)),
        };
        Some(Self { before, server_uuid: fields.next().unwrap_or_default().to_owned() })
    }

    /// Whether something outside of the server keeps clients from writing.
    pub(crate) fn is_external(&self) -> bool {
        self.before == Before::External
    }

    /// Restores the former state.
    ///
    /// # Errors
    /// [`Error::StillFenced`].
    pub(crate) fn restore(&self, source: &mut Connection) -> Result<(), Error> {
        self.try_restore(source).map_err(|error| self.still_fenced(&error))
    }

    pub(crate) fn still_fenced(&self, why: &Error) -> Error {
        let statements = match self.before {
            Before::External => "(undo what has stopped writes)".to_owned(),
            _ => self.statements().join("; "),
        };
        Error::StillFenced { why: why.to_string(), statements }
    }

    fn try_restore(&self, source: &mut Connection) -> Result<(), Error> {
        if !self.server_uuid.is_empty() {
            same_server(source, &self.server_uuid)?;
        }
        self.statements().iter().try_for_each(|sql| match source.query(sql) {
            // The account lacks the privilege, so it never fenced the source: the settings are unchanged.
            Err(server::Error::Server { code, .. })
                if error_code::ACCESS_DENIED.contains(&code) && self.is_unchanged(source)? =>
            {
                Ok(())
            }
            // Somebody has dropped the account.
            Err(server::Error::Server { code: error_code::CANNOT_USER, .. }) => Ok(()),
            ended => ended.map(drop).map_err(Error::at(Side::Source)),
        })
    }

    fn is_unchanged(&self, source: &mut Connection) -> Result<bool, Error> {
        match &self.before {
            Before::Settings(settings) => Ok(read_only::Before::read(source)? == *settings),
            Before::Accounts(unlocked) => unlocked.is_unchanged(source),
            Before::Locks | Before::External => Ok(true),
        }
    }

    fn statements(&self) -> Vec<String> {
        match &self.before {
            Before::Settings(settings) => settings.statements(),
            Before::Accounts(unlocked) => unlocked.statements(),
            Before::Locks | Before::External => Vec::new(),
        }
    }

    /// Locks the accounts of the fence; those that were locked before stay so.
    pub(super) fn lock_accounts(&self, source: &mut Connection) -> Result<(), Error> {
        match &self.before {
            Before::Accounts(unlocked) => unlocked.lock(source),
            Before::Settings(_) | Before::Locks | Before::External => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use server::Account;

    use super::*;

    #[test]
    fn what_was_on_before_stays_on() {
        let before = Former::parse("0,1,uuid").unwrap();
        assert_eq!(
            (before.text().as_str(), before.statements()),
            ("0,1,uuid", vec!["SET GLOBAL super_read_only = OFF".to_owned()])
        );
        assert_eq!(Former::parse("0,0").unwrap().statements().len(), 2);
        let mariadb = Former::parse("-,0,id").unwrap();
        let statements = vec!["SET GLOBAL read_only = OFF".to_owned()];
        assert_eq!((mariadb.text().as_str(), mariadb.statements()), ("-,0,id", statements));
        assert_eq!(Former::parse(""), None);
    }

    #[test]
    fn other_fences_are_stored_with_what_they_change() {
        let names = ["a,b@%", "c d@10.%"].map(|name| {
            let Ok(name) = name.parse::<Account>();
            name
        });
        for before in [
            Before::Accounts(names.to_vec().into()),
            Before::Accounts(Vec::new().into()),
            Before::Locks,
            Before::External,
        ] {
            let former = Former { before, server_uuid: "a,b".to_owned() };
            assert_eq!(Former::parse(&former.text()), Some(former));
        }
        let former = Former { before: Before::Accounts(names.to_vec().into()), server_uuid: String::new() };
        let expected = ["ALTER USER `a,b`@`%` ACCOUNT UNLOCK", "ALTER USER `c d`@`10.%` ACCOUNT UNLOCK"];
        assert_eq!(former.statements(), expected);
    }
}
