//! Accounts that the migration has created at the target.

use server::{Account, Connection};

use super::{failed, hex, name};
use crate::Error;

/// An account that the migration has created, or is about to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CreatedAccount {
    pub(crate) name: Account,
    pub(crate) is_role: bool,
    /// Whether it waits for the switch to be unlocked.
    pub(crate) opens: bool,
}

/// The accounts that the migration has created.
pub(crate) fn accounts(target: &mut Connection) -> Result<Vec<CreatedAccount>, Error> {
    let rows = target.query("SELECT name, is_role, opens FROM `_sealant`.`account` ORDER BY name").map_err(failed)?;
    let account = |row| {
        let (user, host) = rows.value(row, "name")?.split_once(',')?;
        let name = Account { user: name(user)?, host: name(host)? };
        let is = |column| rows.value(row, column) == Some("1");
        Some(CreatedAccount { name, is_role: is("is_role"), opens: is("opens") })
    };
    (0..rows.rows.len()).map(|row| account(row).ok_or(Error::State { what: "account" })).collect()
}

/// Stores an account before it is created, or that it was unlocked.
pub(crate) fn add_account(target: &mut Connection, created: &CreatedAccount) -> Result<(), Error> {
    let (name, is_role, opens) = (account_name(&created.name), u8::from(created.is_role), u8::from(created.opens));
    let sql = format!("REPLACE INTO `_sealant`.`account` VALUES ('{name}', {is_role}, {opens})");
    target.query(&sql).map(drop).map_err(failed)
}

pub(crate) fn remove_account(target: &mut Connection, name: &Account) -> Result<(), Error> {
    let sql = format!("DELETE FROM `_sealant`.`account` WHERE name = '{}'", account_name(name));
    target.query(&sql).map(drop).map_err(failed)
}

fn account_name(name: &Account) -> String {
    format!("{},{}", hex(name.user.as_bytes()), hex(name.host.as_bytes()))
}
