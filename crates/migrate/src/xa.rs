//! XA transactions on other tables. Their prepare and commit are separate in the log.

use std::collections::HashSet;

use binlog::event::XaPrepare;
use data_encoding::HEXLOWER;

/// Names of the transactions that the stream has seen prepared, as servers write them: `x'…',x'…',format`.
#[derive(Debug, Default)]
pub(crate) struct Prepared(HashSet<String>);

impl Prepared {
    /// Notes a prepared transaction, unless it is committed at once.
    pub(crate) fn note(&mut self, prepare: &XaPrepare<'_>) {
        if !prepare.one_phase {
            let [global, branch] = [prepare.xid.global, prepare.xid.branch].map(|part| HEXLOWER.encode(part));
            self.0.insert(format!("x'{global}',x'{branch}',{}", prepare.xid.format));
        }
    }

    /// Forgets the transaction that `XA COMMIT` or `XA ROLLBACK` names. Returns whether it was noted.
    pub(crate) fn take(&mut self, statement: &[u8]) -> bool {
        let text = String::from_utf8_lossy(statement).to_ascii_lowercase();
        text.split_ascii_whitespace().nth(2).is_some_and(|name| self.0.remove(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use binlog::event::Xid;

    #[test]
    fn only_what_was_prepared_is_committed() {
        let mut prepared = Prepared::default();
        let xid = Xid { format: 1, global: b"it", branch: b"" };
        prepared.note(&XaPrepare { one_phase: false, xid });
        prepared.note(&XaPrepare { one_phase: true, xid: Xid { format: 2, ..xid } });
        assert!(!prepared.take(b"XA COMMIT X'6974',X'',2"));
        assert!(!prepared.take(b"XA COMMIT X'69',X'',1"));
        assert!(prepared.take(b"XA COMMIT X'6974',X'',1"));
        assert!(!prepared.take(b"XA COMMIT X'6974',X'',1"));
    }
}
