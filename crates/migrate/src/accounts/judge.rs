//! What becomes of each account at the target, and which of its rights are left out.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use server::{Account, Flavor, dialect::accounts::other_names};

use super::{
    definition::Definition,
    facts::{AccountFacts, Record, TargetFacts},
    grant::{ALL, Grant, Object, needed, quoted},
};
use crate::catalog::{Filter, TableName};

/// What becomes of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccountPlan {
    /// `` `app`@`%` ``, or the name of a role of MariaDB.
    pub name: String,
    /// What the cut-over does with it.
    pub action: AccountAction,
    /// Why it is not created as it is.
    pub why: Option<String>,
    /// Rights and rules that it does not get, each with the reason.
    pub omitted: Vec<String>,
}

/// What a cut-over does with an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountAction {
    /// It is created, and can be used after the switch.
    Create,
    /// It is created, and stays locked.
    CreateLocked,
    /// The target has the same account.
    Same,
    /// The target has an account of this name that differs, and stays as it is.
    Different,
    /// It is not created.
    LeaveOut,
}

/// An account that is to be created.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) name: Account,
    pub(super) is_role: bool,
    pub(super) definition: Definition,
    pub(super) grants: BTreeSet<Grant>,
    pub(super) revoked: BTreeSet<Grant>,
    pub(super) default_roles: Vec<Account>,
    /// Whether it can be used after the switch.
    pub(super) opens: bool,
}

/// The tables that the target will have, and which schemas were chosen.
pub(crate) struct Moved<'m> {
    pub(crate) filter: &'m Filter,
    pub(crate) tables: &'m BTreeSet<TableName>,
}

/// The accounts, in the order of their names, and the orders for those that are to be created.
pub(super) struct Judged {
    pub(super) plans: Vec<AccountPlan>,
    pub(super) orders: Vec<Order>,
}

/// Schemas of servers, which are never moved.
const OF_SERVERS: [&str; 4] = ["mysql", "performance_schema", "sys", "information_schema"];
/// The privileges on a schema that [`ALL`] contains, and that servers of both forks know.
const OF_SCHEMA: [&str; 18] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EVENT",
    "TRIGGER",
];

impl AccountFacts {
    /// The names of the source's accounts and roles.
    pub(crate) fn names(&self) -> Vec<String> {
        self.source.keys().map(quoted).collect()
    }

    /// What becomes of each account.
    pub(crate) fn plans(&self, moved: &Moved<'_>) -> Vec<AccountPlan> {
        self.judge(moved).plans
    }

    /// The statements that give the migration's account what it has to give to others on schemas and below; an account
    /// such as `` `mig`@`%` ``. Rights on the whole server that it may not give are left out instead.
    pub(crate) fn missing(&self, moved: &Moved<'_>, own: &str) -> Vec<String> {
        let mut missing = BTreeMap::<Object, BTreeSet<String>>::new();
        let orders = self.judge(moved).orders;
        for grant in orders.iter().flat_map(|order| &order.grants) {
            if !matches!(grant.object, Object::Global | Object::Role(_)) && !self.target.may_give(grant) {
                let column = grant.column.as_ref().map(|_| grant.privilege.clone());
                let privilege = column.unwrap_or_else(|| grant.privilege.clone());
                missing.entry(grant.object.clone()).or_default().insert(privilege);
            }
        }
        let statement = |(object, privileges): (Object, BTreeSet<String>)| {
            let privileges: Vec<_> = privileges.into_iter().collect();
            let all = privileges.iter().any(|name| name == ALL);
            needed(&object, &if all { vec![ALL.to_owned()] } else { privileges }, own)
        };
        missing.into_iter().map(statement).collect()
    }

    /// The privileges that [`ALL`] on the whole target stands for.
    pub(super) fn privileges_of_all(&self) -> BTreeSet<String> {
        self.target.privileges_of_all()
    }

    pub(super) fn judge(&self, moved: &Moved<'_>) -> Judged {
        let mut judged = Judged { plans: Vec::new(), orders: Vec::new() };
        for (name, record) in &self.source {
            let mut plan =
                AccountPlan { name: quoted(name), action: AccountAction::LeaveOut, why: None, omitted: Vec::new() };
            match self.order(name, record, moved, &mut plan) {
                Err(why) => plan.why = Some(why),
                Ok(order) => match self.target.accounts.get(&order.name) {
                    Some(there) => {
                        let difference = difference(&order, there, self.target.privileges_of_all());
                        plan.action = if difference.is_none() { AccountAction::Same } else { AccountAction::Different };
                        plan.why = difference
                            .map(|what| format!("the target has an account of this name with another {what}"));
                        plan.omitted.clear();
                    }
                    None => judged.orders.push(order),
                },
            }
            judged.plans.push(plan);
        }
        // A role that the target will not have cannot be given.
        let names: BTreeSet<_> = judged.orders.iter().map(|order| order.name.clone()).collect();
        let has = |role: &Account| names.contains(role) || self.target.accounts.contains_key(role);
        for order in &mut judged.orders {
            let lacks = |grant: &Grant| matches!(&grant.object, Object::Role(role) if !has(role));
            let lost: Vec<_> = order.grants.iter().filter(|grant| lacks(grant)).cloned().collect();
            order.grants.retain(|grant| !lacks(grant));
            order.default_roles.retain(has);
            let shown = quoted(&order.name);
            let shown =
                judged.plans.iter_mut().find(|plan| plan.name == shown || format!("{}@`%`", plan.name) == shown);
            if let Some(plan) = shown {
                plan.omitted.extend(lost.iter().map(|grant| format!("{grant}: the target will not have it")));
            }
        }
        judged
    }

    /// What has to be created for an account.
    ///
    /// # Errors
    /// Why it is left out.
    fn order(
        &self,
        name: &Account,
        record: &Record,
        moved: &Moved<'_>,
        plan: &mut AccountPlan,
    ) -> Result<Order, String> {
        let [from, to] = self.flavors;
        if name.user.is_empty() {
            return Err("it has no name".to_owned());
        }
        if name.host.is_empty() && !record.is_role {
            return Err("it has no host".to_owned());
        }
        let there = here(name, from, to);
        if record.is_role && there != *name && self.source.contains_key(&there) {
            return Err(format!("the account {} would have its name", quoted(&there)));
        }
        let definition = record
            .definition
            .as_ref()
            .map_err(|word| format!("this version does not know {word} in its definition"))?;
        if let Some(line) = record.grants.unknown.first() {
            return Err(format!("this version does not know its grant {line}"));
        }
        if !record.grants.revoked.is_empty() && !self.target.revokes {
            return Err(
                "parts of its global privileges are revoked, and the target has partial_revokes = OFF".to_owned()
            );
        }
        let (definition, why, lost) = definition.for_server(from, to, |plugin| self.target.plugins.contains(plugin));
        plan.action = if why.is_some() { AccountAction::CreateLocked } else { AccountAction::Create };
        let opens = why.is_none() && !definition.locked && !record.is_role;
        plan.why = why;
        plan.omitted.extend(lost.into_iter().map(|rule| format!("{rule}: the target does not know it")));
        if record.has_second_password {
            plan.omitted.push("its second password: the source does not show it".to_owned());
        }
        let mut grants = BTreeSet::new();
        for grant in &record.grants.given {
            match self.carried(grant, moved) {
                Ok(carried) => grants.extend(carried),
                Err(why) => plan.omitted.push(format!("{grant}: {why}")),
            }
        }
        let mut roles: Vec<_> = definition.default_roles.iter().map(|role| here(role, from, to)).collect();
        if to == Flavor::MariaDb && !roles.is_empty() && !self.target.may_set_default_roles() {
            plan.omitted.push(
                "its default role: the migration's account at the target may not set it (GRANT UPDATE ON mysql.*)"
                    .to_owned(),
            );
            roles.clear();
        }
        Ok(Order {
            name: there,
            is_role: record.is_role,
            definition,
            grants,
            revoked: record.grants.revoked.clone(),
            default_roles: roles,
            opens,
        })
    }

    /// The grants of the target that stand for one of the source.
    ///
    /// # Errors
    /// Why there is none.
    fn carried(&self, grant: &Grant, moved: &Moved<'_>) -> Result<Vec<Grant>, String> {
        let [from, to] = self.flavors;
        match &grant.object {
            Object::Proxy(_) => return Err("rights to act as another account are not carried".to_owned()),
            Object::Routine(..) => return Err("routines are not created at the target".to_owned()),
            Object::Role(role) => {
                return Ok(vec![Grant { object: Object::Role(here(role, from, to)), ..grant.clone() }]);
            }
            Object::Table(schema, table) => {
                let name = (schema.clone(), table.clone());
                if !moved.tables.contains(&name) && !self.target.tables.contains(&name) {
                    return Err("this table is not moved".to_owned());
                }
            }
            Object::Schema(pattern) => {
                let schema = pattern.replace("\\_", "_").replace("\\%", "%");
                let schemas = &moved.filter.schemas;
                if !schemas.is_empty() && !schemas.contains(&schema) && !OF_SERVERS.contains(&schema.as_str()) {
                    return Err("this schema is not moved".to_owned());
                }
            }
            Object::Global => {}
        }
        let known = |name: &str| name == ALL || name == "USAGE" || self.target.privileges.contains(name);
        let is_global = grant.object == Object::Global;
        let others = if is_global { other_names(&grant.privilege) } else { &[] };
        let object = self.object_there(&grant.object)?;
        let names = match known(&grant.privilege) {
            true => vec![grant.privilege.as_str()],
            false => others.iter().copied().filter(|name| known(name)).collect(),
        };
        if names.is_empty() {
            return Err("the target does not know this privilege".to_owned());
        }
        let carried =
            names.into_iter().map(|name| Grant { object: object.clone(), privilege: name.to_owned(), ..grant.clone() });
        let carried: Vec<_> = carried.collect();
        if is_global && let Some(withheld) = carried.iter().find(|grant| !self.target.may_give(grant)) {
            return Err(format!(
                "the migration's account at the target may not give it (GRANT {} ON *.* … WITH GRANT OPTION)",
                withheld.privilege
            ));
        }
        Ok(carried)
    }

    /// The object as the target names it: where parts of privileges can be revoked, `_` and `%` in the name of a schema
    /// stand for themselves, and else for other characters.
    ///
    /// # Errors
    /// Why the target has no name for it.
    fn object_there(&self, object: &Object) -> Result<Object, String> {
        let Object::Schema(pattern) = object else { return Ok(object.clone()) };
        match (self.source_revokes, self.target.revokes) {
            (true, false) => Ok(Object::Schema(escaped(pattern))),
            (false, true) if escaped(pattern) != *pattern => {
                Err("_ and % stand for other characters, which the target does not know with partial_revokes = ON"
                    .to_owned())
            }
            _ => Ok(object.clone()),
        }
    }
}

/// The name of a schema in a grant, in which `_` and `%` stand for themselves.
fn escaped(pattern: &str) -> String {
    let mut escaped = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if matches!(character, '_' | '%') {
            escaped.push('\\');
        }
        escaped.push(character);
        if character == '\\' {
            escaped.extend(characters.next());
        }
    }
    escaped
}

impl TargetFacts {
    /// Whether the migration's account may give this to others.
    fn may_give(&self, grant: &Grant) -> bool {
        if grant.privilege == ALL && grant.object != Object::Global {
            return self.may_give_privilege(ALL, &grant.object)
                || OF_SCHEMA.iter().all(|name| self.may_give_privilege(name, &grant.object));
        }
        if grant.privilege == ALL {
            let all = self.privileges_of_all();
            return self.may_give_privilege(ALL, &grant.object)
                || all.iter().all(|name| self.may_give_privilege(name, &grant.object));
        }
        self.may_give_privilege(&grant.privilege, &grant.object)
    }

    /// MariaDB asks for write access to the schema `mysql`.
    fn may_set_default_roles(&self) -> bool {
        let objects = [Object::Global, Object::Schema("mysql".to_owned())];
        let is = |grant: &Grant| ["UPDATE", ALL].contains(&grant.privilege.as_str()) && objects.contains(&grant.object);
        self.own.given.iter().any(is)
    }

    fn may_give_privilege(&self, privilege: &str, object: &Object) -> bool {
        let contains = |own: &Object| match (own, object) {
            (Object::Global, _) => true,
            (Object::Schema(own), Object::Schema(schema)) => plain(own) == plain(schema),
            (Object::Schema(own), Object::Table(schema, _)) => plain(own) == *schema,
            (own, object) => own == object,
        };
        let named = |grant: &&Grant| privilege == "USAGE" || grant.privilege == privilege || grant.privilege == ALL;
        self.own
            .given
            .iter()
            .filter(named)
            .any(|grant| grant.gives && grant.column.is_none() && contains(&grant.object))
    }

    /// The privileges that [`ALL`] on the whole server stands for.
    fn privileges_of_all(&self) -> BTreeSet<String> {
        const APART: [&str; 3] = ["GRANT OPTION", "PROXY", "USAGE"];
        self.privileges.iter().filter(|name| !APART.contains(&name.as_str())).cloned().collect()
    }
}

/// A schema's name in a grant, without the escapes.
fn plain(pattern: &str) -> String {
    pattern.replace("\\_", "_").replace("\\%", "%")
}

/// The name at the target: MySQL's roles have a host.
fn here(name: &Account, from: Flavor, to: Flavor) -> Account {
    let host = if from != to && name.host.is_empty() { "%" } else { &name.host };
    Account { user: name.user.clone(), host: host.to_owned() }
}

/// What an account of the target has that was not ordered, or lacks. `all` are the privileges that [`ALL`] stands for.
pub(super) fn difference(order: &Order, found: &Record, all: BTreeSet<String>) -> Option<&'static str> {
    let expanded = |grants: &BTreeSet<Grant>| -> BTreeSet<Grant> {
        let each = |grant: &Grant| match grant.privilege == ALL && grant.object == Object::Global {
            true => all.iter().map(|name| Grant { privilege: name.clone(), ..grant.clone() }).collect(),
            false => vec![grant.clone()],
        };
        grants.iter().flat_map(each).collect()
    };
    let is_role = order.is_role || found.is_role;
    let definition = match &found.definition {
        Err(_) => Some("definition"),
        Ok(_) if is_role => None,
        Ok(found) => order.definition.difference(found),
    };
    let sorted = |roles: &[Account]| roles.iter().cloned().collect::<BTreeSet<_>>();
    let roles = found.definition.as_ref().map(|found| sorted(&found.default_roles)).unwrap_or_default();
    if definition.is_some() {
        definition
    } else if expanded(&order.grants) != expanded(&found.grants.given) || order.revoked != found.grants.revoked {
        Some("set of grants")
    } else if !is_role && sorted(&order.default_roles) != roles {
        Some("set of default roles")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::grant::Grants;

    fn name(text: &str) -> Account {
        let Ok(name) = text.parse();
        name
    }

    fn record(definition: &str, grants: &[&str]) -> Record {
        let grants = Grants::parse(grants.iter().copied(), None);
        Record { is_role: false, definition: Definition::parse(definition), grants, has_second_password: false }
    }

    fn facts(source: &[(&str, Record)], own: &[&str]) -> AccountFacts {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        AccountFacts {
            source: source.iter().map(|(account, record)| (name(account), record.clone())).collect(),
            flavors: [Flavor::MySql, Flavor::MySql],
            source_revokes: false,
            target: TargetFacts {
                accounts: BTreeMap::new(),
                own: Grants::parse(own.iter().copied(), None),
                plugins: texts(&["caching_sha2_password"]),
                privileges: texts(&["SELECT", "INSERT", "SET_ANY_DEFINER", "ALLOW_NONEXISTENT_DEFINER"]),
                revokes: false,
                tables: BTreeSet::new(),
            },
        }
    }

    fn judged(facts: &AccountFacts, schemas: &[&str]) -> Vec<AccountPlan> {
        let filter = Filter { schemas: schemas.iter().map(|name| (*name).to_owned()).collect(), ..Filter::default() };
        facts.plans(&Moved { filter: &filter, tables: &[("shop".to_owned(), "t".to_owned())].into() })
    }

    const SHA2: &str = "CREATE USER `a`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 0x24 REQUIRE SSL";
    const ALL_ON_ALL: &str = "GRANT ALL PRIVILEGES ON *.* TO `mig`@`%` WITH GRANT OPTION";

    #[test]
    fn what_cannot_be_carried_is_named() {
        let grants = [
            "GRANT SELECT, FILE, SET_USER_ID ON *.* TO `a`@`%`",
            "GRANT SELECT ON `other`.* TO `a`@`%`",
            "GRANT INSERT ON `shop`.`t` TO `a`@`%`",
            "GRANT INSERT ON `shop`.`view` TO `a`@`%`",
            "GRANT EXECUTE ON FUNCTION `shop`.`f` TO `a`@`%`",
            "GRANT `gone`@`%` TO `a`@`%`",
        ];
        let facts = facts(&[("a@%", record(SHA2, &grants))], &[ALL_ON_ALL]);
        let [plan] = &judged(&facts, &["shop"])[..] else { panic!() };
        assert_eq!((plan.action, plan.why.as_deref()), (AccountAction::Create, None));
        let expected = [
            "FILE ON *.*: the target does not know this privilege",
            "SELECT ON `other`.*: this schema is not moved",
            "INSERT ON `shop`.`view`: this table is not moved",
            "EXECUTE ON FUNCTION `shop`.`f`: routines are not created at the target",
            "role `gone`@`%`: the target will not have it",
        ];
        assert_eq!(plan.omitted, expected);
        // Without --schema the whole server is moved.
        assert_eq!(judged(&facts, &[])[0].omitted.len(), 4);
    }

    /// With `partial_revokes = ON`, `a_b` is one schema, and else many.
    #[test]
    fn names_of_schemas_are_not_wider_than_at_the_source() {
        let grants = ["a_b", "a\\_b", "a%"].map(|pattern| format!("GRANT SELECT ON `{pattern}`.* TO `a`@`%`"));
        let grants = grants.each_ref().map(String::as_str);
        let mut facts = facts(&[("a@%", record(SHA2, &grants))], &[ALL_ON_ALL]);
        let judged = |source: bool, target: bool, facts: &mut AccountFacts| {
            (facts.source_revokes, facts.target.revokes) = (source, target);
            let (filter, tables) = (Filter::default(), BTreeSet::new());
            let judged = facts.judge(&Moved { filter: &filter, tables: &tables });
            let carried: Vec<_> = judged.orders[0].grants.iter().map(ToString::to_string).collect();
            (carried, judged.plans[0].omitted.clone())
        };
        let same = ["SELECT ON `a%`.*", "SELECT ON `a\\_b`.*", "SELECT ON `a_b`.*"].map(str::to_owned);
        for both in [false, true] {
            assert_eq!(judged(both, both, &mut facts), (same.to_vec(), Vec::new()));
        }
        let one = ["SELECT ON `a\\%`.*", "SELECT ON `a\\_b`.*"].map(str::to_owned);
        assert_eq!(judged(true, false, &mut facts), (one.to_vec(), Vec::new()));
        let (carried, omitted) = judged(false, true, &mut facts);
        assert_eq!(carried, ["SELECT ON `a\\_b`.*"]);
        let refused = ["SELECT ON `a%`.*: _ and % stand for", "SELECT ON `a_b`.*: _ and % stand for"];
        assert!(omitted.iter().zip(refused).all(|(why, start)| why.starts_with(start)), "{omitted:?}");
        assert_eq!(omitted.len(), 2);
    }

    #[test]
    fn accounts_that_cannot_be_as_safe_are_left_out_or_locked() {
        let native = SHA2.replace("caching_sha2", "mysql_native");
        let revoked = ["GRANT SELECT ON *.* TO `a`@`%`", "REVOKE SELECT ON `x`.* FROM `a`@`%`"];
        let all = [
            ("a@%", record(&native, &[])),
            ("b@%", record(SHA2, &revoked)),
            ("c@%", record("CREATE USER `c`@`%` INITIAL", &[])),
            ("@%", record(SHA2, &[])),
        ];
        let plans = judged(&facts(&all, &[ALL_ON_ALL]), &[]);
        let found: Vec<_> = plans.iter().map(|plan| (plan.action, plan.why.as_deref().unwrap_or_default())).collect();
        use AccountAction::{CreateLocked, LeaveOut};
        assert_eq!(found[0], (LeaveOut, "it has no name"));
        assert_eq!(found[1], (CreateLocked, "the target has no plug-in mysql_native_password"));
        assert!(found[2].0 == LeaveOut && found[2].1.contains("partial_revokes = OFF"), "{found:?}");
        assert_eq!(found[3], (LeaveOut, "this version does not know INITIAL in its definition"));
    }

    #[test]
    fn an_account_of_the_target_is_compared_and_stays() {
        let grants = ["GRANT SELECT ON `shop`.* TO `a`@`%`"];
        let mut facts = facts(&[("a@%", record(SHA2, &grants))], &[ALL_ON_ALL]);
        let action = |facts: &AccountFacts| judged(facts, &[])[0].action;
        facts.target.accounts.insert(name("a@%"), record(SHA2, &grants));
        assert_eq!(action(&facts), AccountAction::Same);
        for other in [record(SHA2, &[]), record(&SHA2.replace("0x24", "0x25"), &grants)] {
            facts.target.accounts.insert(name("a@%"), other);
            assert_eq!(action(&facts), AccountAction::Different);
        }
    }

    #[test]
    fn rights_that_the_account_may_not_give_are_missing_or_left_out() {
        let grants = ["GRANT SELECT ON *.* TO `a`@`%`", "GRANT SELECT, INSERT ON `shop`.* TO `a`@`%`"];
        let own =
            ["GRANT SELECT ON `shop`.* TO `mig`@`%` WITH GRANT OPTION", "GRANT INSERT, SELECT ON *.* TO `mig`@`%`"];
        let facts = facts(&[("a@%", record(SHA2, &grants))], &own);
        assert!(judged(&facts, &[])[0].omitted[0].starts_with("SELECT ON *.*: the migration's account"));
        let (filter, tables) = (Filter::default(), BTreeSet::new());
        let missing = facts.missing(&Moved { filter: &filter, tables: &tables }, "`mig`@`%`");
        assert_eq!(missing, ["GRANT INSERT ON `shop`.* TO `mig`@`%` WITH GRANT OPTION"]);
    }
}
