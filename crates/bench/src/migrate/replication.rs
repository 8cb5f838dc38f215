//! The servers' own replication with one thread that applies changes: what migrations by hand use.

use std::time::Duration;

use server::dialect::statement::{ReplicationTerms, end_channel, replication_terms};
use zeroize::Zeroizing;

use super::{ChangeTool, LogEnd, Pair, Side, pair::ACCOUNT};
use crate::Error;

/// Replication from the source to the target, over TLS.
#[derive(Debug)]
pub(crate) struct Replication;

impl Replication {
    /// Name for reports.
    pub(crate) const NAME: &str = "replication, one thread";
}

/// Time for the target to apply everything; shorter than that for a statement.
const LIMIT: Duration = Duration::from_secs(240);

impl ChangeTool for Replication {
    fn prepare(&self, pair: &Pair<'_>, from: &LogEnd) -> Result<(), Error> {
        let terms = replication_terms(pair.version());
        if !pair.is_mariadb() {
            pair.ask(Side::Target, &format!("SET GLOBAL {}_parallel_workers = 1", terms.replica.to_lowercase()))?;
        }
        let (address, authority, password) =
            (pair.address(Side::Source), pair.authority().display(), pair.password(Side::Source));
        let ReplicationTerms { change, prefix, .. } = terms;
        let sql = Zeroizing::new(format!(
            "{change} TO {prefix}_HOST = '{}', {prefix}_PORT = {}, {prefix}_USER = '{ACCOUNT}', \
             {prefix}_PASSWORD = '{password}', {prefix}_LOG_FILE = '{}', {prefix}_LOG_POS = {}, {prefix}_SSL = 1, \
             {prefix}_SSL_CA = '{authority}'",
            address.ip(),
            address.port(),
            from.file,
            from.position
        ));
        pair.ask_secretly(Side::Target, &sql, "the replication cannot be set up")
    }

    fn apply(&self, pair: &Pair<'_>) -> Result<(), Error> {
        let ReplicationTerms { prefix, replica, .. } = replication_terms(pair.version());
        let end = pair.log_end(Side::Source)?;
        pair.ask(Side::Target, &format!("START {replica}"))?;
        let wait = format!("SELECT {prefix}_POS_WAIT('{}', {}, {})", end.file, end.position, LIMIT.as_secs());
        let waited = pair.ask(Side::Target, &wait);
        end_channel(pair.version(), "").iter().try_for_each(|sql| pair.ask(Side::Target, sql).map(drop))?;
        // NULL if the thread has stopped, and -1 after the time.
        let has_all = waited?.scalar().and_then(|events| events.parse::<i64>().ok()).is_some_and(|events| events >= 0);
        if has_all {
            return Ok(());
        }
        Err(Error::Work { arm: Self::NAME.to_owned(), reason: "it stopped, or took too long".to_owned() })
    }
}
