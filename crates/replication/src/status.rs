//! The channels of a replica and what stopped them.
//!
//! Sources: "SHOW REPLICA STATUS" of the MySQL manual, "SHOW ALL SLAVES STATUS" of the MariaDB documentation.

use server::{
    Rows, ServerVersion,
    dialect::{channel::GROUP_CHANNELS, statement::channel_column},
    switch::is_on,
};

/// Names of the replica's channels, from the result of [`replica_status`](server::dialect::statement::replica_status).
/// The channels of group replication are omitted: the group manages them.
#[must_use]
pub fn channels(version: &ServerVersion, status: &Rows) -> Vec<String> {
    let names = ChannelStatus::all(version, status).into_iter().map(|channel| channel.name);
    names.filter(|name| !GROUP_CHANNELS.contains(&name.as_str())).collect()
}

/// State of a channel: a row of the result of [`replica_status`](server::dialect::statement::replica_status).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelStatus {
    /// Name; empty for the default channel.
    pub name: String,
    /// Seconds that the replica is behind; `None` if it does not replicate.
    pub seconds_behind: Option<u64>,
    /// Whether the applier runs.
    pub applier_runs: bool,
    /// The relay log that the applier reads.
    pub relay_log: String,
    /// Its position in that relay log, in bytes.
    pub relay_position: Option<u64>,
    /// Its position in the source's log, in bytes.
    pub source_position: Option<u64>,
    /// Number and text of the error that stopped the applier.
    pub applier_error: Option<(u16, String)>,
    /// What stopped the receiver.
    pub receiver_error: Option<String>,
}

impl ChannelStatus {
    /// The channels of a replica.
    #[must_use]
    pub fn all(version: &ServerVersion, status: &Rows) -> Vec<Self> {
        (0..status.rows.len()).map(|row| Self::from_row(version, status, row)).collect()
    }

    /// Columns whose names have changed are known by both names, the newer one first.
    fn from_row(version: &ServerVersion, status: &Rows, row: usize) -> Self {
        let column = |names: &[&str]| names.iter().find_map(|name| status.value(row, name)).unwrap_or_default();
        let text = |name: &str| Some(column(&[name]).to_owned()).filter(|text| !text.is_empty());
        let code = column(&["Last_SQL_Errno"]).parse().unwrap_or(0);
        Self {
            name: column(&[channel_column(version)]).to_owned(),
            seconds_behind: column(&["Seconds_Behind_Source", "Seconds_Behind_Master"]).parse().ok(),
            applier_runs: is_on(column(&["Replica_SQL_Running", "Slave_SQL_Running"])),
            relay_log: column(&["Relay_Log_File"]).to_owned(),
            relay_position: column(&["Relay_Log_Pos"]).parse().ok(),
            source_position: column(&["Exec_Source_Log_Pos", "Exec_Master_Log_Pos"]).parse().ok(),
            applier_error: text("Last_SQL_Error").map(|text| (code, text)),
            receiver_error: text("Last_IO_Error"),
        }
    }

    /// What stopped the channel: the applier's error, or the receiver's.
    #[must_use]
    pub fn last_error(&self) -> Option<&str> {
        self.applier_error.as_ref().map(|(_, text)| text.as_str()).or(self.receiver_error.as_deref())
    }
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
        let columns = ["Last_IO_Error", "Last_SQL_Error", "Last_SQL_Errno"];
        let last_error = |row: &[&str]| {
            let status = ChannelStatus::all(&version("9.7.4"), &answer(&columns, &[row]));
            status[0].last_error().map(str::to_owned)
        };
        assert_eq!(last_error(&["lost", "duplicate", "1062"]).as_deref(), Some("duplicate"));
        assert_eq!(last_error(&["lost", "", "0"]).as_deref(), Some("lost"));
        assert_eq!(last_error(&["", "", "0"]), None);
    }

    #[test]
    fn columns_are_known_by_old_and_new_names() {
        let new = ["Channel_Name", "Seconds_Behind_Source", "Replica_SQL_Running", "Exec_Source_Log_Pos"];
        let old = ["Connection_name", "Seconds_Behind_Master", "Slave_SQL_Running", "Exec_Master_Log_Pos"];
        for (text, columns) in [("9.7.4", new), ("11.8.6-MariaDB", old)] {
            let status = ChannelStatus::all(&version(text), &answer(&columns, &[&["east", "7", "Yes", "812"]]));
            let expected = ChannelStatus {
                name: "east".to_owned(),
                seconds_behind: Some(7),
                applier_runs: true,
                source_position: Some(812),
                ..ChannelStatus::default()
            };
            assert_eq!(status, [expected]);
        }
    }
}
