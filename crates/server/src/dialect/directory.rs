//! Variables that name directories and logs outside the data directory. Sources: MySQL manual, "InnoDB Startup Options and
//! System Variables"; MariaDB documentation, "InnoDB System Variables" and "Aria System Variables".

/// Of the system tablespace.
pub const SYSTEM: &str = "innodb_data_home_dir";
/// Names of the files of the system tablespace.
pub const SYSTEM_FILES: &str = "innodb_data_file_path";
/// Of the redo log.
pub const REDO: &str = "innodb_log_group_home_dir";
/// Of undo tablespaces.
pub const UNDO: &str = "innodb_undo_directory";
/// Of the doublewrite files of MySQL.
pub const DOUBLEWRITE: &str = "innodb_doublewrite_dir";
/// Of the log and the control file of Aria.
pub const ARIA: &str = "aria_log_dir_path";

/// Every variable of a directory with files that hold rows for longer than a session.
pub const WITH_DATA: [&str; 5] = [SYSTEM, REDO, UNDO, DOUBLEWRITE, ARIA];

/// The names of binary logs without their number.
pub const BINARY_LOGS: &str = "log_bin_basename";
/// The names of relay logs without their number.
pub const RELAY_LOGS: &str = "relay_log_basename";

/// A variable's name as an option of the command line or of an option file usually spells it.
#[must_use]
pub fn option_name(variable: &str) -> String {
    variable.replace('_', "-")
}
