//! Accounts and roles that the target will not have as the source has them are named.

use super::prelude::*;
use crate::{
    accounts::{AccountAction, AccountPlan, Accounts},
    preflight::grants::quoted_account,
};

pub(super) const CHECK: Check = Check {
    id: "accounts.carried",
    area: Area::Accounts,
    title: "the target will have every account as the source has it",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let Some(accounts) = &tables.accounts else {
        let evidence = "its accounts cannot be seen, and are not created at the target";
        return vec![Finding::tell(Side::Source, evidence)];
    };
    if facts.request.accounts == Accounts::Report {
        return told(&accounts.names());
    }
    let [source, target] = facts.servers().map(|server| server.identity.version.flavor.is_mysql_like());
    if source && !target {
        let evidence = "accounts of MySQL are not yet created at a MariaDB";
        return vec![Finding::block(Side::Target, evidence).option("--accounts report")];
    }
    let own = quoted_account(&facts.target.account);
    let missing = facts.accounts(|accounts, moved| accounts.missing(moved, &own)).unwrap_or_default();
    let lacks = |statement: String| {
        let object = format!("{}: {}", Side::Target, facts.target.account);
        Finding::unknown(object, "may not give what other accounts have to get").run(Side::Target, statement)
    };
    let plans = facts.accounts(|accounts, moved| accounts.plans(moved)).unwrap_or_default();
    missing.into_iter().map(lacks).chain(plans.iter().filter_map(finding)).collect()
}

/// The accounts of which nothing is created.
fn told(names: &[String]) -> Vec<Finding> {
    if names.is_empty() {
        return Vec::new();
    }
    let evidence = format!("not created at the target: {}", names.join(", "));
    vec![Finding::tell(Side::Source, evidence).option("--accounts create")]
}

fn finding(plan: &AccountPlan) -> Option<Finding> {
    let what = match plan.action {
        AccountAction::Create | AccountAction::Same => None,
        AccountAction::CreateLocked => Some("is created, and stays locked"),
        AccountAction::Different => Some("stays as the target has it"),
        AccountAction::LeaveOut => Some("is not created"),
    };
    if what.is_none() && plan.omitted.is_empty() {
        return None;
    }
    let why = what.map(|what| format!("{what}: {}", plan.why.as_deref().unwrap_or_default()));
    let omitted = plan.omitted.iter().map(|omitted| format!("without {omitted}"));
    let evidence: Vec<_> = why.into_iter().chain(omitted).collect();
    Some(Finding::ask(&plan.name, evidence.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{found, with_tables};

    #[test]
    fn each_account_is_described_by_what_it_lacks() {
        let plan = |action, why: Option<&str>, omitted: &[&str]| AccountPlan {
            name: "`app`@`%`".to_owned(),
            action,
            why: why.map(str::to_owned),
            omitted: omitted.iter().map(|text| (*text).to_owned()).collect(),
        };
        assert_eq!(finding(&plan(AccountAction::Create, None, &[])), None);
        assert_eq!(finding(&plan(AccountAction::Same, None, &[])), None);
        let text =
            finding(&plan(AccountAction::CreateLocked, Some("no plug-in x"), &["FILE ON *.*: unknown"])).unwrap();
        assert_eq!(text.evidence, "is created, and stays locked: no plug-in x; without FILE ON *.*: unknown");
        assert_eq!((text.effect, text.object.as_str()), (Effect::Ask, "`app`@`%`"));
    }

    #[test]
    fn accounts_that_cannot_be_seen_are_not_taken_for_absent() {
        let facts = with_tables(|tables| tables.accounts = None);
        let [(effect, text)] = &found(&CHECK, &facts)[..] else { panic!() };
        assert!(*effect == Effect::Tell && text.contains("cannot be seen"), "{text}");
    }
}
