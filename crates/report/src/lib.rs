//! Renders findings as table, JSON, SARIF, JUnit, CSV, Markdown, HTML and metrics.
//!
//! Every renderer reads an [`Outcome`] and the table of checks. Names in an outcome come from a server that may be
//! hostile: all text is escaped by the `text` module or by the rules of its format.

mod backup;
mod bench;
mod binlogs;
mod calendar;
mod calendars;
mod catalogue;
mod certificate;
mod change;
mod checks;
mod compatibility;
mod cost;
mod csv;
mod drift;
mod error;
mod evidence;
mod exposure;
mod fixes;
mod fleet;
mod group;
mod html;
mod json;
mod junit;
mod keyring;
mod keys;
mod labels;
mod luks;
mod markdown;
mod message;
mod metrics;
mod migrate;
mod monitor;
#[cfg(test)]
mod new_check;
mod proof;
mod prune;
mod reference;
mod remedy;
mod rotate;
mod sarif;
mod snapshot;
mod sniff;
mod standards;
mod svg;
mod table;
#[cfg(test)]
mod testing;
mod text;
mod transfer;
mod verdict;
mod waivers;

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use audit::outcome::Outcome;
use files::quantity::size;
use findings::Severity;

pub use self::migrate::{
    MigrateLine, migrate_abort_change, migrate_aborted, migrate_copied, migrate_cut_over, migrate_event,
    migrate_fell_back, migrate_finished, migrate_more_differ, migrate_paused, migrate_proof_saved, migrate_ready,
    migrate_resumed, migrate_status_line, migrate_unproven, migrate_verified, migrate_watched, migrate_watching,
    migrate_way_back, migrate_way_back_ended, write_migrate_html, write_migrate_json, write_migrate_line,
    write_migrate_plan, write_migrate_proof, write_migrate_proof_lines, write_migrate_status,
};
pub use self::monitor::{write_monitor_check, write_monitor_html, write_monitor_metrics, write_monitor_openmetrics};
pub use self::sniff::{sniff_begun_message, sniff_messages, write_sniff_json, write_sniff_table};
pub use backup::{
    ManifestList, backup_check_messages, backup_copy_message, backup_copy_progress, backup_init_messages,
    backup_messages, backup_plan_messages, backup_progress, key_check_message, restore_messages, restore_plan_messages,
    restore_progress, restore_status, store_messages, write_backup_check_table, write_backup_list_table,
    write_json_line, write_key_check_table, write_manifest_table, write_receipt_table,
};
pub use bench::{
    bench_disk_hint, bench_duration, write_bench_html, write_bench_json, write_bench_markdown, write_bench_samples,
    write_bench_sysbench_table, write_bench_table,
};
pub use binlogs::{
    binlog_messages, binlog_note, binlog_status, reach_messages, spool_unread_message, write_binlog_table,
    write_spool_metrics,
};
pub use calendar::{calendar_messages, write_calendar_html, write_calendar_metrics, write_calendar_table};
pub use calendars::{calendars_are_healthy, calendars_messages, write_calendars_html, write_calendars_table};
pub use certificate::{
    write_cert_check_json, write_cert_check_monitor, write_cert_check_table, write_cert_paths, write_certificate_json,
    write_certificate_table, write_certs_json, write_certs_text, write_unknown_check,
};
pub use change::{
    forgotten_messages, request_text, statement_log_hint, write_encrypt_json, write_encrypt_plan, write_encrypt_run,
    write_runs_json, write_runs_table,
};
pub use checks::{render_check, render_checks_list};
pub use compatibility::render_compatibility;
pub use cost::{
    cost_messages, prediction_messages, write_cost_comparison_json, write_cost_comparison_table, write_cost_html,
    write_cost_json, write_cost_markdown, write_cost_table, write_prediction_json, write_prediction_table,
};
pub use drift::{render_drift, two_servers_message, write_drift};
pub use error::Error;
pub use evidence::{write_encrypt_html, write_proof_html, write_rotate_html};
pub use fixes::write_fixes;
pub use keyring::{
    write_check_json, write_check_table, write_init_json, write_init_table, write_migration_json, write_migration_table,
};
pub use keys::{keys_messages, write_keys_json, write_keys_table};
pub use luks::{
    luks_boot_foreign_messages, luks_boot_installed_messages, luks_boot_removed_message, luks_created_message,
    luks_header_messages, luks_key_added_message, luks_mount_messages, luks_plan_messages, luks_reencrypted_message,
    luks_restore_messages, luks_stale_backup_messages, write_luks_backup, write_luks_boot_json, write_luks_boot_table,
    write_luks_check_json, write_luks_check_table, write_luks_closed, write_luks_created, write_luks_differences,
    write_luks_header_changed, write_luks_json, write_luks_key_added, write_luks_mounted, write_luks_opened,
    write_luks_plan_json, write_luks_plan_table, write_luks_reencrypted, write_luks_slots, write_luks_table,
};
pub use message::Message;
pub use proof::{ProofOptions, verification_messages, write_proof_json, write_proof_table};
pub use prune::{prune_messages, prune_progress, write_prune_plan};
pub use reference::render_checks_reference;
pub use rotate::{rotate_messages, write_rotate_json, write_rotate_plan, write_rotate_run};
pub use snapshot::{
    snapshot_dropped_message, snapshot_kept_message, snapshot_message, snapshot_released_message, write_estimate_json,
    write_estimate_table, write_snapshot_json, write_snapshot_table, write_snapshots_json, write_snapshots_table,
};
pub use text::{fit, visible, wrap_all_but_statements, wrap_lines};
pub use transfer::{
    manifest_check_status, no_transfer_report_message, prepared_message, received_messages, send_keys_hint,
    sent_messages, write_manifest_check_json, write_manifest_check_table, write_send_plan, write_transfer_event,
    write_transfer_report,
};
pub use waivers::{bad_waiver_message, write_waivers};

/// A format for audit results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Human-readable table for a terminal.
    Table,
    /// JSON for scripts, schema `sealant.audit/1`.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML, for build servers.
    Junit,
    /// CSV (RFC 4180), one line for each finding.
    Csv,
    /// Markdown, for tickets and pull requests.
    Markdown,
    /// One self-contained HTML file.
    Html,
    /// Prometheus' text format, for node_exporter's textfile collector.
    Prometheus,
}

/// For each format: its name in options, and the usual file extension.
const FORMATS: [(Format, &str, &str); 8] = [
    (Format::Table, "table", "txt"),
    (Format::Json, "json", "json"),
    (Format::Sarif, "sarif", "sarif"),
    (Format::Junit, "junit", "xml"),
    (Format::Csv, "csv", "csv"),
    (Format::Markdown, "markdown", "md"),
    (Format::Html, "html", "html"),
    (Format::Prometheus, "prometheus", "prom"),
];

impl Format {
    /// All formats, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().map(|(format, ..)| *format)
    }

    /// Its name in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Usual file extension, without the dot.
    #[must_use]
    pub fn extension(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Self, &'static str, &'static str) {
        FORMATS.iter().find(|(format, ..)| *format == self).unwrap_or(&FORMATS[0])
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let row = FORMATS.iter().find(|(_, known, _)| *known == name);
        row.map(|(format, ..)| *format).ok_or_else(|| Error::UnknownFormat { name: name.to_owned() })
    }
}

/// Options of the terminal table; other formats ignore them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderOptions {
    /// Use colours (ANSI sequences).
    pub color: bool,
    /// Use only ASCII, for terminals without UTF-8.
    pub ascii: bool,
    /// Width in columns, at least 40.
    pub width: usize,
    /// List more artefacts of each finding, with their evidence.
    pub verbose: bool,
    /// List passed checks, too.
    pub show_passes: bool,
    /// Only the map, the servers and the totals: no single findings.
    pub summary: bool,
    /// Show only failures that are at least this severe.
    pub least: Severity,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            color: false,
            ascii: false,
            width: 80,
            verbose: false,
            show_passes: false,
            summary: false,
            least: Severity::Info,
        }
    }
}

/// Writes `outcome` to `out`. JSON, SARIF, JUnit and CSV contain every finding and are streamed; the size of the other
/// formats is bounded.
///
/// # Errors
/// [`Error::Write`] if `out` fails, for example because of a closed pipe.
pub fn write(format: Format, outcome: &Outcome, options: &RenderOptions, out: &mut dyn Write) -> Result<(), Error> {
    match format {
        Format::Table => table::write(outcome, options, out),
        Format::Json => json::write(outcome, out),
        Format::Sarif => sarif::write(outcome, out),
        Format::Junit => junit::write(outcome, out),
        Format::Csv => csv::write(outcome, out),
        Format::Markdown => markdown::write(outcome, out),
        Format::Html => html::write(outcome, out),
        Format::Prometheus => metrics::write(outcome, out),
    }
}

/// Like [`write()`], but returns a string.
///
/// # Errors
/// Those of [`write()`], except errors of the output.
pub fn render(format: Format, outcome: &Outcome, options: &RenderOptions) -> Result<String, Error> {
    text::collect(|out| write(format, outcome, options, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rich;

    #[test]
    fn every_format_has_a_name_that_selects_it() {
        for format in Format::all() {
            assert_eq!(format.name().parse::<Format>().unwrap(), format);
        }
        assert_eq!(Format::all().count(), FORMATS.len());
        assert!("HTML5".parse::<Format>().is_err());
    }

    #[test]
    fn the_same_outcome_gives_the_same_bytes_in_every_format() {
        let outcome = rich();
        for format in Format::all() {
            let once = render(format, &outcome, &RenderOptions::default()).unwrap();
            assert_eq!(once, render(format, &outcome, &RenderOptions::default()).unwrap(), "{format}");
        }
    }

    #[test]
    fn what_people_read_ends_with_what_is_missing() {
        let outcome = rich();
        assert!(!outcome.summary.complete);
        let complete = testing::outcome_of(Vec::new());
        for format in [Format::Table, Format::Markdown, Format::Csv, Format::Html] {
            let end_of = |outcome| -> String {
                let written = render(format, outcome, &RenderOptions::default()).unwrap();
                let written = written.split("</footer>").next().unwrap().trim_end();
                // The last 150 characters have the whole warning, even if it is wrapped.
                written.chars().skip(written.chars().count().saturating_sub(150)).collect()
            };
            assert!(end_of(&outcome).contains("incomplete: "), "{format}: {}", end_of(&outcome));
            assert!(!end_of(&complete).contains("incomplete: "), "{format}");
        }
    }

    #[test]
    fn no_format_lets_a_control_character_through() {
        let outcome = rich();
        for format in Format::all() {
            let written = render(format, &outcome, &RenderOptions::default()).unwrap();
            let stray = written.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r'));
            assert_eq!(stray, None, "{format}");
            assert!(!written.contains('\u{202e}') || format == Format::Json, "{format}: text direction is overridden");
        }
    }

    #[test]
    fn an_outcome_without_a_server_renders() {
        let outcome = Outcome::empty("2026-11-20T12:00:00Z".parse().unwrap());
        for format in Format::all() {
            assert!(render(format, &outcome, &RenderOptions::default()).is_ok(), "{format}");
        }
    }
}
