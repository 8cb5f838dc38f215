//! Group Replication.

use findings::Remedy;
use server::dialect::statement::{START_GROUP_REPLICATION, STOP_GROUP_REPLICATION};
use server::dialect::variable;

use crate::channel::group::{Group, group, members};
use crate::check::{CheckResults, Context};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;

checks! {
    CHECKS:
    traffic_plaintext,
    unverified,
}

/// The group's settings; `None` if this server is not a member.
///
/// # Errors
/// [`crate::facts::Unavailable`] if no server was queried.
fn member<'a>(cx: &Context<'a>) -> Observed<Option<(&'a SqlFacts, Group<'a>)>> {
    let sql = cx.facts.sql()?;
    Ok(group(sql).map(|group| (sql, group)))
}

fn no_member() -> CheckResults {
    CheckResults::not_applicable("the plug-in group_replication is not active")
}

/// Changes settings that all members must share, and that are read when the group starts.
///
/// A member accepts a new value at any time and shows it, but keeps using the old one. After all members have stopped,
/// there is no group to join: it must be bootstrapped again. Run on MySQL 9.7.
fn while_all_are_out(sql: &SqlFacts, set: Remedy) -> Remedy {
    if matches!(members(sql), Ok(None)) {
        return set.note("the same on every member");
    }
    restarted(set)
        .note("on every member, the primary last to stop and first to start; the others start without bootstrap_group")
}

/// Changes a setting that a member refuses to change while in its group; the group continues. Run on MySQL 9.7 (error
/// 3093).
pub(super) fn while_out(sql: &SqlFacts, set: Remedy) -> Remedy {
    match members(sql) {
        _ if group(sql).is_none() => set,
        Ok(None) => set,
        Ok(Some(1)) => restarted(set),
        Ok(Some(_)) | Err(_) => Remedy::statement(STOP_GROUP_REPLICATION)
            .and(set)
            .and(Remedy::statement(START_GROUP_REPLICATION))
            .note("on one member after the other"),
    }
}

/// Makes a member leave and rejoin the group. If all members have left, the last primary bootstraps it again.
fn restarted(set: Remedy) -> Remedy {
    Remedy::statement(STOP_GROUP_REPLICATION)
        .and(set)
        .and(
            Remedy::statement("SET GLOBAL group_replication_bootstrap_group = ON")
                .once("every member has reached this step; on the last primary only"),
        )
        .and(Remedy::statement(START_GROUP_REPLICATION))
        .and(Remedy::statement("SET GLOBAL group_replication_bootstrap_group = OFF"))
}

/// Changes a setting of recovery, which the next recovery reads. With the communication stack `MYSQL` the setting also
/// applies to the group's messages, so all members must leave.
fn set_recovery(sql: &SqlFacts, set: Remedy) -> Remedy {
    let stack = sql.variable_or_none(variable::GROUP_REPLICATION_COMMUNICATION_STACK);
    if stack.is_some_and(|stack| stack.eq_ignore_ascii_case("MYSQL")) { while_all_are_out(sql, set) } else { set }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FactsBuilder, mysql};

    fn in_group(states: &[&str]) -> FactsBuilder {
        let rows: Vec<[&str; 3]> = states.iter().map(|state| ["db", "3306", *state]).collect();
        let rows: Vec<&[&str]> = rows.iter().map(<[&str; 3]>::as_slice).collect();
        mysql()
            .answer("plugins", &["name", "status", "type"], &[&["group_replication", "ACTIVE", "GROUP REPLICATION"]])
            .answer("group_members", &["host", "port", "state"], &rows)
    }

    #[test]
    fn a_member_leaves_its_group_and_comes_back() {
        let set = || Remedy::statement("SET x = 1");
        let out = |made: &FactsBuilder| while_out(made.0.sql.as_ref().unwrap(), set()).to_string();
        assert_eq!(out(&mysql()), "SET x = 1");
        assert_eq!(out(&in_group(&["OFFLINE"])), "SET x = 1");
        assert!(out(&in_group(&["ONLINE"])).contains("bootstrap_group = ON; START GROUP_REPLICATION"));
        assert_eq!(
            out(&in_group(&["ONLINE", "RECOVERING"])),
            "STOP GROUP_REPLICATION; SET x = 1; START GROUP_REPLICATION -- on one member after the other"
        );
        let all = |made: &FactsBuilder| while_all_are_out(made.0.sql.as_ref().unwrap(), set()).to_string();
        assert!(all(&in_group(&["ONLINE", "ONLINE"])).contains("bootstrap_group = ON"));
        assert_eq!(all(&in_group(&["OFFLINE"])), "SET x = 1 -- the same on every member");
    }
}
