//! The state of the source before it was fenced, as the migration stores it, and the way back to it.

use data_encoding::HEXLOWER;
use server::{
    Account, Connection,
    dialect::{
        statement::{READ_ONLY_OFF, SUPER_READ_ONLY_OFF},
        variable::{READ_ONLY, SUPER_READ_ONLY},
    },
    error_code,
};

use crate::{
    Error, Side, accounts,
    fencing::{Fencing, LastingFence},
    link::{identity, same_server, variable},
};

/// Stands for a variable that the server does not have, in the state.
const NONE: &str = "-";
/// Names of the fences in the state; settings begin with a digit or [`NONE`].
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
    Settings {
        /// `None` if the server does not have it.
        super_read_only: Option<bool>,
        read_only: bool,
    },
    /// These accounts were not locked.
    Accounts(Vec<Account>),
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
            Some(LastingFence::ReadOnly) => {
                let mut value = |name| variable(source, Side::Source, name);
                let (super_read_only, read_only) = (value(SUPER_READ_ONLY)?, value(READ_ONLY)?);
                let super_read_only = (!super_read_only.is_empty()).then(|| super_read_only == "1");
                Before::Settings { super_read_only, read_only: read_only == "1" }
            }
            Some(LastingFence::Accounts(names)) => Before::Accounts(unlocked(source, names)?),
            Some(LastingFence::External(_)) => Before::External,
            None => Before::Locks,
        };
        Ok(Self { before, server_uuid: identity(source, Side::Source)? })
    }

    /// The text that the state stores.
    pub(crate) fn text(&self) -> String {
        let uuid = &self.server_uuid;
        match &self.before {
            Before::Settings { super_read_only, read_only } => {
                let super_read_only = super_read_only.map_or(NONE, |on| if on { "1" } else { "0" });
                format!("{super_read_only},{},{uuid}", u8::from(*read_only))
            }
            Before::Accounts(names) => {
                let hex = |text: &str| HEXLOWER.encode(text.as_bytes());
                let names = names.iter().map(|name| format!("{}@{}", hex(&name.user), hex(&name.host)));
                format!("{ACCOUNTS},{},{uuid}", names.collect::<Vec<_>>().join(" "))
            }
            Before::Locks => format!("{LOCKS},,{uuid}"),
            Before::External => format!("{EXTERNAL},,{uuid}"),
        }
    }

    /// Parses the stored text; `None` if no fence is stored.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.splitn(3, ',');
        let (first, second) = (fields.next()?, fields.next()?);
        let before = match first {
            ACCOUNTS => Before::Accounts(second.split_whitespace().map(account).collect::<Option<_>>()?),
            LOCKS => Before::Locks,
            EXTERNAL => Before::External,
            _ => {
                Before::Settings { super_read_only: (first != NONE).then_some(first != "0"), read_only: second != "0" }
            }
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
        let fencing = match &self.before {
            Before::Settings { .. } => Fencing::default(),
            Before::Accounts(names) => {
                Fencing { lock_tables: false, lasting: Some(LastingFence::Accounts(names.clone())) }
            }
            Before::Locks | Before::External => return Ok(true),
        };
        Ok(Self::read(source, &fencing)? == *self)
    }

    fn statements(&self) -> Vec<String> {
        match &self.before {
            Before::Settings { super_read_only, read_only } => {
                let super_read_only = (*super_read_only == Some(false)).then_some(SUPER_READ_ONLY_OFF);
                let all = super_read_only.into_iter().chain((!read_only).then_some(READ_ONLY_OFF));
                all.map(str::to_owned).collect()
            }
            Before::Accounts(names) => {
                names.iter().map(|name| format!("ALTER USER {} ACCOUNT UNLOCK", name.quoted())).collect()
            }
            Before::Locks | Before::External => Vec::new(),
        }
    }

    /// The accounts that the fence locks; those that were locked before stay so.
    pub(crate) fn locks(&self) -> &[Account] {
        match &self.before {
            Before::Accounts(names) => names,
            _ => &[],
        }
    }
}

fn account(text: &str) -> Option<Account> {
    let part = |hex: &str| String::from_utf8(HEXLOWER.decode(hex.as_bytes()).ok()?).ok();
    let (user, host) = text.split_once('@')?;
    Some(Account { user: part(user)?, host: part(host)? })
}

/// Those of the accounts that are not locked.
fn unlocked(source: &mut Connection, names: &[Account]) -> Result<Vec<Account>, Error> {
    let own = source.query("SELECT CURRENT_USER()").map_err(Error::at(Side::Source))?;
    let Ok(own) = own.scalar().unwrap_or_default().parse::<Account>();
    let refused =
        |name: &Account, what: &str| Error::NotReady { what: format!("the account {} {what}", name.quoted()) };
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
    Ok(unlocked)
}

#[cfg(test)]
mod tests {
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
        for before in [Before::Accounts(names.to_vec()), Before::Accounts(Vec::new()), Before::Locks, Before::External]
        {
            let former = Former { before, server_uuid: "a,b".to_owned() };
            assert_eq!(Former::parse(&former.text()), Some(former));
        }
        let former = Former { before: Before::Accounts(names.to_vec()), server_uuid: String::new() };
        let expected = ["ALTER USER `a,b`@`%` ACCOUNT UNLOCK", "ALTER USER `c d`@`10.%` ACCOUNT UNLOCK"];
        assert_eq!(former.statements(), expected);
    }
}
