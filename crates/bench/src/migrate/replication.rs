//! The servers' own replication with one thread that applies changes: what migrations by hand use.

use std::time::Duration;

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

/// Statements of a server.
struct Statements {
    /// Prefix of options.
    option: &'static str,
    change: &'static str,
    start: &'static str,
    stop: [&'static str; 2],
    wait: &'static str,
}

/// Since MySQL 8.0.26.
const MYSQL: Statements = Statements {
    option: "SOURCE",
    change: "CHANGE REPLICATION SOURCE TO",
    start: "START REPLICA",
    stop: ["STOP REPLICA", "RESET REPLICA ALL"],
    wait: "SOURCE_POS_WAIT",
};
const MARIADB: Statements = Statements {
    option: "MASTER",
    change: "CHANGE MASTER TO",
    start: "START SLAVE",
    stop: ["STOP SLAVE", "RESET SLAVE ALL"],
    wait: "MASTER_POS_WAIT",
};

impl ChangeTool for Replication {
    fn prepare(&self, pair: &Pair<'_>, from: &LogEnd) -> Result<(), Error> {
        let statements = statements(pair);
        if !pair.is_mariadb() {
            pair.ask(Side::Target, "SET GLOBAL replica_parallel_workers = 1")?;
        }
        let (address, authority, password) =
            (pair.address(Side::Source), pair.authority().display(), pair.password(Side::Source));
        let Statements { option, change, .. } = statements;
        let sql = Zeroizing::new(format!(
            "{change} {option}_HOST = '{}', {option}_PORT = {}, {option}_USER = '{ACCOUNT}', {option}_PASSWORD = '{password}', \
             {option}_LOG_FILE = '{}', {option}_LOG_POS = {}, {option}_SSL = 1, {option}_SSL_CA = '{authority}'",
            address.ip(),
            address.port(),
            from.file,
            from.position
        ));
        pair.ask_secretly(Side::Target, &sql, "the replication cannot be set up")
    }

    fn apply(&self, pair: &Pair<'_>) -> Result<(), Error> {
        let statements = statements(pair);
        let end = pair.log_end(Side::Source)?;
        pair.ask(Side::Target, statements.start)?;
        let wait = format!("SELECT {}('{}', {}, {})", statements.wait, end.file, end.position, LIMIT.as_secs());
        let waited = pair.ask(Side::Target, &wait);
        statements.stop.iter().try_for_each(|sql| pair.ask(Side::Target, sql).map(drop))?;
        // NULL if the thread has stopped, and -1 after the time.
        let has_all = waited?.scalar().and_then(|events| events.parse::<i64>().ok()).is_some_and(|events| events >= 0);
        if has_all {
            return Ok(());
        }
        Err(Error::Work { arm: Self::NAME.to_owned(), reason: "it stopped, or took too long".to_owned() })
    }
}

fn statements(pair: &Pair<'_>) -> Statements {
    if pair.is_mariadb() { MARIADB } else { MYSQL }
}
