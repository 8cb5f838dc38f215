//! Variables that name directories and logs outside the data directory. Sources: MySQL manual, "InnoDB Startup Options
//! and System Variables"; MariaDB documentation, "InnoDB System Variables" and "Aria System Variables".

/// Directory of the system tablespace.
pub const SYSTEM: &str = "innodb_data_home_dir";
/// Names of the files of the system tablespace.
pub const SYSTEM_FILES: &str = "innodb_data_file_path";
/// Directory of the redo log.
pub const REDO: &str = "innodb_log_group_home_dir";
/// Directory of undo tablespaces.
pub const UNDO: &str = "innodb_undo_directory";
/// Directory of MySQL's doublewrite files.
pub const DOUBLEWRITE: &str = "innodb_doublewrite_dir";
/// Directory of Aria's log and control file.
pub const ARIA: &str = "aria_log_dir_path";

/// All variables that name a directory with files that hold rows beyond a session.
pub const WITH_DATA: [&str; 5] = [SYSTEM, REDO, UNDO, DOUBLEWRITE, ARIA];

/// The names of binary logs without their number.
pub const BINARY_LOGS: &str = "log_bin_basename";
/// The names of relay logs without their number.
pub const RELAY_LOGS: &str = "relay_log_basename";
