//! The channels of a replica and what stopped them.
//!
//! Sources: "SHOW REPLICA STATUS" of the MySQL manual, "SHOW ALL SLAVES STATUS" of the MariaDB documentation.

use server::{Rows, ServerVersion, dialect::statement::channel_column};

/// Names of the replica's channels, from the result of [`replica_status`](server::dialect::statement::replica_status).
/// The channels of group replication are omitted: the group manages them.
#[must_use]
pub fn channels(version: &ServerVersion, status: &Rows) -> Vec<String> {
    let column = channel_column(version);
    let names = (0..status.rows.len()).map(|row| status.value(row, column).unwrap_or_default().to_owned());
    names.filter(|name| !name.starts_with("group_replication_")).collect()
}

/// The first error that stopped a channel, from the result of
/// [`replica_status`](server::dialect::statement::replica_status).
#[must_use]
pub fn last_error(status: &Rows) -> Option<String> {
    let text = |column: &str| status.value(0, column).filter(|text| !text.is_empty()).map(str::to_owned);
    text("Last_SQL_Error").or_else(|| text("Last_IO_Error"))
}

#[cfg(test)]
mod tests {
    use server::VersionHints;

    use super::*;

    fn version(text: &str) -> ServerVersion {
        ServerVersion::parse(text, VersionHints::default()).unwrap()
    }

    fn answer(columns: &[&str], rows: &[&[&str]]) -> Rows {
        let row = |row: &&[&str]| row.iter().map(|text| Some((*text).to_owned())).collect();
        Rows { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn channels_of_a_group_are_left_to_the_group() {
        let status = answer(&["Channel_Name"], &[&[""], &["group_replication_applier"], &["east"]]);
        assert_eq!(channels(&version("9.7.4"), &status), ["", "east"]);
    }

    #[test]
    fn the_applier_s_error_comes_first() {
        let columns = ["Last_IO_Error", "Last_SQL_Error"];
        assert_eq!(last_error(&answer(&columns, &[&["lost", "duplicate"]])).as_deref(), Some("duplicate"));
        assert_eq!(last_error(&answer(&columns, &[&["lost", ""]])).as_deref(), Some("lost"));
        assert_eq!(last_error(&answer(&columns, &[&["", ""]])), None);
        assert_eq!(last_error(&answer(&columns, &[])), None);
    }
}
