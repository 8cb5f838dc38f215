//! Creates the accounts at the target before the cut-over, and unlocks them after the switch.
//!
//! The state names each account before it is created, so that a later call can remove what an earlier one has left.

use server::{Account, Connection, Error as ServerError, Flavor, error_code};
use zeroize::Zeroizing;

use super::{
    AccountAction,
    facts::{AccountFacts, read_again},
    grant::{default_roles, quoted, revocations, statements},
    judge::{Judged, Moved, Order, difference},
};
use crate::{
    Error, Side, journal,
    link::{self, Server, flavor},
    state::{self, CreatedAccount},
};

/// Creates the accounts of the source at the target, locked, and compares them. Those that an earlier call has created
/// are created again, as the source has them now.
///
/// # Errors
/// [`Error::Account`], [`Error::MissingGrant`], [`Error::Server`].
pub(crate) fn create(
    (source, target): (&Server, &Server),
    moved: &Moved<'_>,
    state: &mut Connection,
) -> Result<(), Error> {
    let mut source = link::definitions(Side::Source, source)?;
    let mut target = link::definitions(Side::Target, target)?;
    remove(&mut target, state)?;
    let facts = AccountFacts::read(&mut source, &mut target)?;
    require_grants(&facts, moved, &mut target)?;
    let judged = facts.judge(moved);
    make(&judged.orders, state, &mut target)?;
    compare(&facts, &judged.orders, &mut target)?;
    journal::note(state, "accounts", &summary(&judged))
}

/// Checks that the account may give what others have to get.
fn require_grants(facts: &AccountFacts, moved: &Moved<'_>, target: &mut Connection) -> Result<(), Error> {
    let own = target.query("SELECT CURRENT_USER()").map_err(Error::at(Side::Target))?;
    let Ok(own) = own.scalar().unwrap_or_default().parse::<Account>();
    match facts.missing(moved, &own.quoted()).into_iter().next() {
        None => Ok(()),
        Some(statement) => Err(Error::MissingGrant {
            side: Side::Target,
            privileges: "what it has to give to other accounts".to_owned(),
            statement,
        }),
    }
}

fn make(orders: &[Order], state: &mut Connection, target: &mut Connection) -> Result<(), Error> {
    let flavor = flavor(target);
    for order in orders {
        let created = CreatedAccount { name: order.name.clone(), is_role: order.is_role, opens: order.opens };
        state::add_account(state, &created)?;
        let sql = match order.is_role {
            true => Zeroizing::new(format!("CREATE ROLE {}", quoted(&order.name))),
            false => order.definition.create(&order.name, flavor),
        };
        target.query(&sql).map(drop).map_err(|error| refused(&order.name, error))?;
    }
    let mut give = |sql: &str| target.query(sql).map(drop).map_err(Error::at(Side::Target));
    for order in orders {
        statements(&order.grants, &order.name).iter().try_for_each(|sql| give(sql))?;
        revocations(&order.revoked, &order.name).iter().try_for_each(|sql| give(sql))?;
    }
    for order in orders {
        default_roles(&order.default_roles, &order.name, flavor).iter().try_for_each(|sql| give(sql))?;
    }
    Ok(())
}

/// A refused definition. The server's message can quote it, and so is not shown.
fn refused(name: &Account, error: ServerError) -> Error {
    match error {
        ServerError::Server { code, .. } => {
            Error::Account { account: quoted(name), what: format!("the server refuses it with error {code}") }
        }
        error => Error::Server { side: Side::Target, error },
    }
}

/// Compares the accounts with what was ordered.
fn compare(facts: &AccountFacts, orders: &[Order], target: &mut Connection) -> Result<(), Error> {
    for order in orders {
        let found = read_again(target, &order.name, order.is_role).map_err(Error::at(Side::Target))?;
        let locked = Order { definition: order.definition.locked(), ..order.clone() };
        let what = match &found {
            None => Some("not there"),
            Some(found) => difference(&locked, found, facts.privileges_of_all()),
        };
        if let Some(what) = what {
            let what = format!("the target has it with another {what}");
            return Err(Error::Account { account: quoted(&order.name), what });
        }
    }
    Ok(())
}

/// What was done with which account.
fn summary(judged: &Judged) -> String {
    const WORDS: [(AccountAction, &str); 5] = [
        (AccountAction::Create, "created"),
        (AccountAction::CreateLocked, "created, and stay locked"),
        (AccountAction::Same, "were there"),
        (AccountAction::Different, "were there and differ"),
        (AccountAction::LeaveOut, "left out"),
    ];
    let named = |action| judged.plans.iter().filter(move |plan| plan.action == action).map(|plan| plan.name.as_str());
    let each = WORDS.map(|(action, word)| (word, named(action).collect::<Vec<_>>().join(", ")));
    let each = each.into_iter().filter(|(_, names)| !names.is_empty());
    each.map(|(word, names)| format!("{word}: {names}")).collect::<Vec<_>>().join("; ")
}

/// Unlocks the accounts that were created, after the switch. Goes on where an earlier call has ended.
pub(crate) fn open(target: &Server) -> Result<(), Error> {
    let mut state = link::target(target)?;
    let waiting: Vec<_> = state::accounts(&mut state)?.into_iter().filter(|created| created.opens).collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let mut target = link::definitions(Side::Target, target)?;
    for created in waiting {
        match target.query(&format!("ALTER USER {} ACCOUNT UNLOCK", created.name.quoted())) {
            // Somebody has dropped it.
            Ok(_) | Err(ServerError::Server { code: error_code::CANNOT_USER, .. }) => {}
            Err(error) => return Err(Error::at(Side::Target)(error)),
        }
        state::add_account(&mut state, &CreatedAccount { opens: false, ..created })?;
    }
    Ok(())
}

/// Drops the accounts that were created, before the switch.
pub(crate) fn drop_created(target: &Server, state: &mut Connection) -> Result<(), Error> {
    if state::accounts(state)?.is_empty() {
        return Ok(());
    }
    remove(&mut link::definitions(Side::Target, target)?, state)
}

/// Drops the accounts that an earlier call has created, unless somebody has unlocked them.
fn remove(target: &mut Connection, state: &mut Connection) -> Result<(), Error> {
    for created in state::accounts(state)? {
        let is_mariadb_role = created.is_role && flavor(target) == Flavor::MariaDb;
        let found = read_again(target, &created.name, is_mariadb_role).map_err(Error::at(Side::Target))?;
        let is_ours = |locked: bool| is_mariadb_role || locked;
        if found.is_some_and(|found| is_ours(found.definition.is_ok_and(|it| it.locked))) {
            let kind = if is_mariadb_role { "ROLE" } else { "USER" };
            let sql = format!("DROP {kind} IF EXISTS {}", quoted(&created.name));
            target.query(&sql).map_err(Error::at(Side::Target))?;
        }
        state::remove_account(state, &created.name)?;
    }
    Ok(())
}
