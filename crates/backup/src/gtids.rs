//! GTIDs of both families in the form that receipts and servers have them: a set of MySQL, or a position of MariaDB.
//! Neither can be parsed as the other, unless it is empty.

use ::binlog::{Body, replica::Replica};
use replication::gtid::{Executed, mariadb::GtidPosition, mysql::GtidSet};

/// The GTIDs before a log, if this event contains them.
pub(crate) fn before_log(body: &Body<'_>) -> Option<String> {
    match body {
        Body::PreviousGtids(previous) => Some(previous.set.to_string()),
        Body::GtidList(list) => {
            let mut position = GtidPosition::default();
            list.gtids.iter().for_each(|gtid| position.advance(*gtid));
            Some(position.to_string())
        }
        _ => None,
    }
}

/// Whether the GTIDs before a log include all GTIDs of the archive up to this log. Also `true` if either text cannot be
/// parsed: then a gap cannot be detected.
pub(crate) fn continues(archived: &str, before: &str) -> bool {
    let (Ok(archived), Ok(before)) = (archived.parse::<Executed>(), before.parse::<Executed>()) else { return true };
    before.follows(&archived)
}

/// The GTIDs up to the current position: those before the stream, and those that it delivered.
pub(crate) fn after(before: &str, replica: &Replica, is_mariadb: bool) -> String {
    if is_mariadb {
        let mut position: GtidPosition = before.parse().unwrap_or_default();
        replica.progress().mariadb.iter().for_each(|gtid| position.advance(gtid));
        return position.to_string();
    }
    let mut set: GtidSet = before.parse().unwrap_or_default();
    set.add(&replica.progress().mysql);
    set.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    #[test]
    fn a_log_continues_an_archive_if_it_has_the_gtids_of_those_before() {
        let mysql =
            |archived: &str, before: &str| continues(&format!("{UUID}:{archived}"), &format!("{UUID}:{before}"));
        assert!(mysql("1-9", "1-9") && mysql("1-9", "1-12") && continues("", &format!("{UUID}:1-3")));
        assert!(!mysql("1-9", "1-3") && !continues(&format!("{UUID}:1-9"), ""));
        assert!(continues("0-1-9,2-1-4", "0-1-9,2-1-4"));
        assert!(continues("0-1-9,2-1-4", "0-7-10"), "a domain may be removed");
        assert!(!continues("0-1-9", "0-1-3") && !continues("0-1-9", "") && !continues("0-1-9", "5-1-1"));
    }
}
