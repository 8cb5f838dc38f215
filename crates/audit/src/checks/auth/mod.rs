//! Accounts: who can log in, how, from where, and with which privileges.

use std::collections::{HashMap, HashSet};

use server::auth_plugin;

use crate::check::Context;
use crate::facts::sql::{Account, SqlFacts};
use crate::facts::{Observed, Unavailable};
use crate::finding::Evidence;

checks! {
    CHECKS:
    cleartext_plugin_no_tls,
    weak_plugin,
    empty_or_anonymous,
    root_remote,
    wildcard_host,
    skip_grant_tables,
    key_admins,
}

/// Plug-ins whose stored credential is a password hash, so that an empty one means no password.
const PASSWORD_PLUGINS: &[&str] = &[
    "",
    auth_plugin::NATIVE_PASSWORD,
    auth_plugin::OLD_PASSWORD,
    auth_plugin::SHA256_PASSWORD,
    auth_plugin::CACHING_SHA2_PASSWORD,
    auth_plugin::ED25519,
    auth_plugin::PARSEC,
];

/// All accounts and roles of the server.
///
/// # Errors
/// [`Unavailable`] if the server refused, or returned no account: every server has some.
fn all_accounts<'a>(cx: &'a Context<'_>) -> Observed<(&'a SqlFacts, Vec<Account<'a>>)> {
    let sql = cx.facts.sql()?;
    let accounts = sql.accounts()?;
    if accounts.is_empty() {
        return Err(Unavailable {
            what: "accounts".to_owned(),
            why: "the server listed none".to_owned(),
            remedy: sql.grant("SELECT ON mysql.*"),
        });
    }
    Ok((sql, accounts))
}

/// Accounts that can log in: no roles, no locked accounts, no internal ones.
///
/// # Errors
/// Those of [`all_accounts`].
pub(super) fn logins<'a>(cx: &'a Context<'_>) -> Observed<(&'a SqlFacts, Vec<Account<'a>>)> {
    let (sql, accounts) = all_accounts(cx)?;
    let usable = |account: &Account<'_>| {
        !account.role && !account.locked && !account.internal() && !has_plugin(account, &[auth_plugin::NO_LOGIN])
    };
    Ok((sql, accounts.into_iter().filter(usable).collect()))
}

/// Authentication plug-ins of an account; MariaDB separates alternatives by commas.
fn plugins<'a>(account: &Account<'a>) -> impl Iterator<Item = &'a str> {
    account.plugin.split([',', '|']).map(str::trim)
}

/// Whether the account uses one of these plug-ins.
fn has_plugin(account: &Account<'_>, names: &[&str]) -> bool {
    plugins(account).any(|plugin| names.iter().any(|name| plugin.eq_ignore_ascii_case(name)))
}

/// Whether the account logs in with a password that the server stores.
fn by_password(account: &Account<'_>) -> bool {
    has_plugin(account, PASSWORD_PLUGINS)
}

/// Whether only this host can use it; includes MariaDB's `root@HOSTNAME`, created by its installer.
pub(super) fn from_here_only(sql: &SqlFacts, account: &Account<'_>) -> bool {
    account.local_only()
        || (!sql.identity.hostname.is_empty() && account.host.eq_ignore_ascii_case(&sql.identity.hostname))
}

/// The server's row of an account, without its credential.
fn account_evidence(sql: &SqlFacts, account: &Account<'_>) -> Evidence {
    let answer = format!(
        "{}: plugin = {:?}, ssl_type = {:?}, locked = {}, administrator = {}, FILE = {}",
        account.quoted(),
        account.plugin,
        account.ssl_type,
        account.locked,
        account.administrator,
        account.file,
    );
    sql.evidence("accounts", answer)
}

/// An account or role by user and host, to look up the grants of roles.
pub(super) type Key = (String, String);

pub(super) fn key_of(user: &str, host: &str) -> Key {
    (user.to_owned(), host.to_ascii_lowercase())
}

/// Administrators, by own grants or through nested roles.
fn administrators(sql: &SqlFacts, accounts: &[Account<'_>]) -> HashSet<Key> {
    holders(sql, accounts, |account| account.administrator)
}

/// Accounts that satisfy `own`, by direct grants or through roles.
///
/// Without roles, or if they are unknown, only own grants count.
pub(super) fn holders(
    sql: &SqlFacts,
    accounts: &[Account<'_>],
    current: impl Fn(&Account<'_>) -> bool,
) -> HashSet<Key> {
    let current = accounts.iter().filter(|account| current(account));
    spread(sql, accounts, current.map(|account| key_of(account.user, account.host)).collect())
}

/// These accounts and roles, and everyone who may activate one of the roles.
fn spread(sql: &SqlFacts, accounts: &[Account<'_>], mut holders: HashSet<Key>) -> HashSet<Key> {
    let mut members: HashMap<Key, Vec<Key>> = HashMap::new();
    for edge in sql.rows("role_edges").unwrap_or_default() {
        let role = key_of(edge.text("role_user"), edge.text("role_host"));
        members.entry(role).or_default().push(key_of(edge.text("user"), edge.text("host")));
    }
    for role in roles_of_all(sql) {
        let everybody = accounts.iter().filter(|account| !account.role);
        members.entry(role).or_default().extend(everybody.map(|account| key_of(account.user, account.host)));
    }
    let mut todo: Vec<Key> = holders.iter().cloned().collect();
    while let Some(role) = todo.pop() {
        for member in members.get(&role).into_iter().flatten() {
            if holders.insert(member.clone()) {
                todo.push(member.clone());
            }
        }
    }
    holders
}

/// Roles that every account has implicitly: MariaDB's PUBLIC (10.11), MySQL's `mandatory_roles`.
fn roles_of_all(sql: &SqlFacts) -> Vec<Key> {
    if sql.is_mariadb() {
        return vec![key_of("PUBLIC", "")];
    }
    let named = |role: &str| {
        let Ok(server::Account { user, host }) = role.parse();
        let plain = |part: &str| part.trim().trim_matches(['`', '\'', '"']).to_owned();
        (!user.trim().is_empty()).then(|| key_of(&plain(&user), &plain(&host)))
    };
    sql.variable_or_none("mandatory_roles").unwrap_or_default().split(',').filter_map(named).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use crate::testing::FactsBuilder;

    /// Columns of the answer that tests fill.
    pub(in crate::checks) const COLUMNS: &[&str] =
        &["user", "host", "plugin", "ssl_type", "locked", "empty_credential", "is_role", "super", "repl_slave", "file"];

    /// An account with a password, without privileges; its host is `%` if none is given.
    pub(in crate::checks) const ALICE: [&str; 10] =
        ["alice", "10.0.0.%", "caching_sha2_password", "ANY", "N", "N", "N", "N", "N", "N"];

    /// Adds accounts.
    pub(in crate::checks) fn with(made: FactsBuilder, accounts: &[&[&str]]) -> FactsBuilder {
        made.answer("accounts", COLUMNS, accounts)
    }

    /// `ALICE` with some columns changed.
    pub(in crate::checks) fn alice_but<'a>(changes: &[(&str, &'a str)]) -> Vec<&'a str> {
        let mut row: Vec<&'a str> = ALICE.to_vec();
        for (column, value) in changes {
            row[COLUMNS.iter().position(|c| c == column).unwrap()] = value;
        }
        row
    }
}
