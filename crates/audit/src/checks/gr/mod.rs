//! Group Replication.

use crate::channel::group::{Group, group};
use crate::check::{Context, Verdict};
use crate::facts::Seen;
use crate::facts::sql::SqlFacts;

checks! {
    CHECKS:
    traffic_plaintext,
    unverified,
}

/// The group's settings; none if this server is no member.
///
/// # Errors
/// [`crate::facts::Unseen`] if no server was asked.
fn member<'a>(cx: &Context<'a>) -> Seen<Option<(&'a SqlFacts, Group<'a>)>> {
    let sql = cx.facts.sql()?;
    Ok(group(sql).map(|group| (sql, group)))
}

fn no_member() -> Verdict {
    Verdict::not_applicable("the plug-in group_replication is not active")
}
