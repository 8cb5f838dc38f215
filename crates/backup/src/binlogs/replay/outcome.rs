//! Checks by GTIDs that a server has executed the last planned transaction, and not the one after it.

use replication::gtid::has_executed;

use crate::binlogs::ResolvedTarget;

/// Compares the GTIDs of a server after a replay with the plan; returns what is wrong. `gtids` are a set of MySQL, or
/// the positions of MariaDB.
pub(super) fn difference(reach: &ResolvedTarget, gtids: &str) -> Option<String> {
    let gtid = |transaction: Option<&crate::binlogs::Transaction>| {
        transaction.map(|transaction| transaction.gtid.clone()).filter(|gtid| !gtid.is_empty())
    };
    if let Some(last) = gtid(reach.last.as_ref()).filter(|last| !has_executed(gtids, last)) {
        return Some(format!("it has not executed the last transaction, {last}"));
    }
    let next = gtid(reach.next.as_ref()).filter(|next| has_executed(gtids, next));
    next.map(|next| format!("it has executed a transaction that was to be left out, {next}"))
}

#[cfg(test)]
mod tests {
    use innodb::binlog::LogPosition;

    use super::*;
    use crate::binlogs::Transaction;

    fn reach(last: &str, next: &str) -> ResolvedTarget {
        let transaction = |gtid: &str| Transaction { gtid: gtid.to_owned(), ..Transaction::default() };
        let end = LogPosition { file: "binlog.000001".to_owned(), offset: 8 };
        ResolvedTarget { last: Some(transaction(last)), next: Some(transaction(next)), transactions: 1, end }
    }

    #[test]
    fn the_last_transaction_is_in_and_the_next_is_not() {
        const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let mysql = reach(&format!("{UUID}:7"), &format!("{UUID}:8"));
        assert_eq!(difference(&mysql, &format!("{UUID}:1-7")), None);
        assert!(difference(&mysql, &format!("{UUID}:1-6")).unwrap().contains("not executed the last"));
        assert!(difference(&mysql, "").unwrap().contains("not executed the last"));
        assert!(difference(&mysql, &format!("{UUID}:1-8")).unwrap().contains("left out"));
        let mariadb = reach("0-1-50", "1-1-9");
        assert_eq!(difference(&mariadb, "0-1-50,1-1-8,0-1-50"), None);
        assert!(difference(&mariadb, "0-1-49").unwrap().contains("not executed the last"));
        assert!(difference(&mariadb, "0-1-50,1-1-9").unwrap().contains("left out"));
        assert_eq!(difference(&reach("", ""), "0-1-1"), None);
    }
}
