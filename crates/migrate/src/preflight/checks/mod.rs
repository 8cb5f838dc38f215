//! The checks, each in its own file, in the order in which a report lists them.

mod accounts_carried;
mod code_present;
mod encryption_binary_log;
mod encryption_keyring;
mod encryption_logs;
mod encryption_storage;
mod encryption_tables;
mod encryption_tmpdir;
mod grants_both;
mod grants_events;
mod link_tls;
mod link_verified;
mod log_filters;
mod log_gtids;
mod log_on;
mod log_order;
mod log_prepared;
mod log_replica_updates;
mod log_retention;
mod log_rows;
mod pair_cluster;
mod pair_supported;
mod pair_two_servers;
mod server_settings;
mod tables_columns;
mod tables_counters;
mod tables_engine;
mod tables_features;
mod tables_json;
mod tables_json_numbers;
mod tables_lane;
mod tables_other_fork;
mod tables_others;
mod tables_parent_keys;
mod tables_parents;
mod tables_placement;
mod tables_primary_key;
mod tables_replaced;
mod tables_selected;
mod target_empty;
mod target_local_infile;
mod target_log;
mod target_max_allowed_packet;
mod target_name_case;
mod target_not_replica;
mod target_page_size;
mod target_state;
mod target_writable;

pub(crate) use self::{log_replica_updates::LOGS_REPLICATED, log_rows::ROW_SETTINGS};
use super::{Check, Finding, ServerFacts};

/// Every check, in the order of a report.
pub const CHECKS: &[Check] = &[
    link_tls::CHECK,
    link_verified::CHECK,
    pair_supported::CHECK,
    pair_two_servers::CHECK,
    pair_cluster::CHECK,
    grants_both::CHECK,
    grants_events::CHECK,
    log_on::CHECK,
    log_rows::CHECK,
    log_order::CHECK,
    log_gtids::CHECK,
    log_replica_updates::CHECK,
    log_filters::CHECK,
    log_retention::CHECK,
    log_prepared::CHECK,
    target_writable::CHECK,
    target_not_replica::CHECK,
    target_empty::CHECK,
    target_state::CHECK,
    target_local_infile::CHECK,
    target_log::CHECK,
    target_max_allowed_packet::CHECK,
    target_name_case::CHECK,
    target_page_size::CHECK,
    tables_selected::CHECK,
    tables_lane::CHECK,
    tables_engine::CHECK,
    tables_features::CHECK,
    tables_counters::CHECK,
    tables_other_fork::CHECK,
    tables_replaced::CHECK,
    tables_others::CHECK,
    tables_placement::CHECK,
    tables_parents::CHECK,
    tables_parent_keys::CHECK,
    tables_primary_key::CHECK,
    tables_columns::CHECK,
    tables_json::CHECK,
    tables_json_numbers::CHECK,
    code_present::CHECK,
    accounts_carried::CHECK,
    server_settings::CHECK,
    encryption_tables::CHECK,
    encryption_storage::CHECK,
    encryption_keyring::CHECK,
    encryption_logs::CHECK,
    encryption_binary_log::CHECK,
    encryption_tmpdir::CHECK,
];

/// The check of the storage on which tables rest.
pub(crate) const ENCRYPTION_STORAGE: &str = encryption_storage::CHECK.id;

/// What the target writes in clear although it must not, with the identifiers of the checks that find it. These are judged
/// again after the plan, because a statement can change it. `secret` says whether a table is encrypted.
pub(crate) fn written_in_clear(
    source: &ServerFacts,
    target: &ServerFacts,
    secret: bool,
) -> Vec<(&'static str, Finding)> {
    let log = encryption_binary_log::clear(target, secret).map(|finding| (encryption_binary_log::CHECK.id, finding));
    let logs = encryption_logs::weaker(source, target).into_iter().map(|finding| (encryption_logs::CHECK.id, finding));
    log.into_iter().chain(logs).collect()
}

/// The imports of every check.
mod prelude {
    pub(super) use server::quote;

    #[cfg(test)]
    pub(super) use crate::preflight::Effect;
    pub(super) use crate::{
        Side,
        catalog::Table,
        preflight::{Area, Check, Facts, Finding, Judge, ServerFacts, Tables, Transport, Verification},
    };
}
