//! Server error numbers that this program reacts to. Sources: MySQL manual, "Server Error Message Reference"; MariaDB
//! documentation, "MariaDB Error Codes".

/// `ER_CHECKREAD`: the row has changed since it was last read.
pub const CHECKREAD: u16 = 1020;
/// `ER_CON_COUNT_ERROR`: too many connections.
pub const TOO_MANY_CONNECTIONS: u16 = 1040;
/// `ER_BAD_DB_ERROR`.
pub const UNKNOWN_DATABASE: u16 = 1049;
/// `ER_BAD_TABLE_ERROR`: a table to drop does not exist.
pub const UNKNOWN_TABLE: u16 = 1051;
/// `ER_BAD_FIELD_ERROR`.
pub const UNKNOWN_COLUMN: u16 = 1054;
/// `ER_DUP_ENTRY`: a unique key has this value already.
pub const DUPLICATE_ENTRY: u16 = 1062;
/// `ER_NO_SUCH_THREAD`: the session has ended.
pub const NO_SUCH_THREAD: u16 = 1094;
/// `ER_HOST_IS_BLOCKED`.
pub const HOST_IS_BLOCKED: u16 = 1129;
/// `ER_HOST_NOT_PRIVILEGED`: no account may log in from this host.
pub const HOST_NOT_PRIVILEGED: u16 = 1130;
/// `ER_SERVER_SHUTDOWN`: the server is shutting down, and ends the session.
pub const SERVER_SHUTDOWN: u16 = 1053;
/// `ER_NO_SUCH_TABLE`.
pub const NO_SUCH_TABLE: u16 = 1146;
/// `ER_NET_READ_ERROR`. Clients use 2003 themselves and do not accept it from a server.
pub const NET_READ_ERROR: u16 = 1158;
/// `ER_UNKNOWN_SYSTEM_VARIABLE`.
pub const UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
/// `ER_LOCK_WAIT_TIMEOUT`.
pub const LOCK_WAIT_TIMEOUT: u16 = 1205;
/// `ER_LOCK_DEADLOCK`.
pub const LOCK_DEADLOCK: u16 = 1213;
/// `ER_MASTER_FATAL_ERROR_READING_BINLOG`: the server cannot send the requested binary log.
pub const FATAL_ERROR_READING_BINLOG: u16 = 1236;
/// `ER_OPTION_PREVENTS_STATEMENT`.
pub const OPTION_PREVENTS_STATEMENT: u16 = 1290;
/// `ER_QUERY_INTERRUPTED`.
pub const QUERY_INTERRUPTED: u16 = 1317;
/// `ER_NO_BINARY_LOGGING`: the server writes no binary log.
pub const NO_BINARY_LOGGING: u16 = 1381;
/// `ER_TABLESPACE_MISSING`.
pub const TABLESPACE_MISSING: u16 = 1812;
/// `ER_WRONG_FILE_NAME`: a data file cannot have this name, for example because it exists.
pub const WRONG_FILE_NAME: u16 = 3121;
/// `ER_CANNOT_FIND_KEY_IN_KEYRING`.
pub const CANNOT_FIND_MASTER_KEY: u16 = 3185;
/// `ER_CLIENT_LOCAL_FILES_DISABLED`: `local_infile` is OFF.
pub const LOCAL_INFILE_DISABLED: u16 = 3948;

/// `ER_BAD_NULL_ERROR`: the column cannot be NULL.
pub const NULL_REFUSED: u16 = 1048;
/// `ER_WARN_DATA_OUT_OF_RANGE`.
pub const OUT_OF_RANGE: u16 = 1264;
/// `WARN_DATA_TRUNCATED`.
pub const TRUNCATED: u16 = 1265;
/// `ER_TRUNCATED_WRONG_VALUE_FOR_FIELD`.
pub const INCORRECT_VALUE: u16 = 1366;
/// `ER_DATA_TOO_LONG`.
pub const TOO_LONG: u16 = 1406;
/// `ER_CHECK_CONSTRAINT_VIOLATED` of MySQL.
pub const CHECK_VIOLATED_MYSQL: u16 = 3819;
/// `ER_CONSTRAINT_FAILED` of MariaDB.
pub const CHECK_VIOLATED_MARIADB: u16 = 4025;
/// A column cannot hold the value, or a constraint forbids it.
pub const VALUE_REFUSED: [u16; 7] =
    [NULL_REFUSED, OUT_OF_RANGE, TRUNCATED, INCORRECT_VALUE, TOO_LONG, CHECK_VIOLATED_MYSQL, CHECK_VIOLATED_MARIADB];

/// `ER_ACCESS_DENIED_ERROR`: a wrong user name or password.
pub const LOGIN_DENIED: u16 = 1045;
/// `ER_ACCESS_DENIED_NO_PASSWORD_ERROR`.
pub const LOGIN_DENIED_NO_PASSWORD: u16 = 1698;
/// `ER_ACCOUNT_HAS_BEEN_LOCKED` of MySQL.
pub const ACCOUNT_LOCKED_MYSQL: u16 = 3118;
/// `ER_ACCOUNT_HAS_BEEN_LOCKED` of MariaDB.
pub const ACCOUNT_LOCKED_MARIADB: u16 = 4151;
/// Errors of a login that the server refuses.
pub const LOGIN_REFUSED: [u16; 5] =
    [LOGIN_DENIED, HOST_NOT_PRIVILEGED, LOGIN_DENIED_NO_PASSWORD, ACCOUNT_LOCKED_MYSQL, ACCOUNT_LOCKED_MARIADB];
/// `ER_SECURE_TRANSPORT_REQUIRED`.
pub const SECURE_TRANSPORT_REQUIRED: u16 = 3159;
/// `ER_QUERY_TIMEOUT` of MySQL.
pub const QUERY_TIMEOUT_MYSQL: u16 = 3024;
/// `ER_STATEMENT_TIMEOUT` of MariaDB.
pub const STATEMENT_TIMEOUT_MARIADB: u16 = 1969;
/// A statement reached its time limit.
pub const STATEMENT_TIMED_OUT: [u16; 2] = [QUERY_TIMEOUT_MYSQL, STATEMENT_TIMEOUT_MARIADB];
/// `ER_CANNOT_USER`: a statement about accounts names one that does not exist, or exists.
pub const CANNOT_USER: u16 = 1396;
/// `ER_PASSWORD_NO_MATCH`: MariaDB does not have the account.
pub const NO_MATCHING_ACCOUNT: u16 = 1133;
/// `ER_NONEXISTING_GRANT`: the account has no grants, or does not exist.
pub const NO_SUCH_GRANT: u16 = 1141;
/// The account does not exist.
pub const NO_SUCH_ACCOUNT: [u16; 3] = [CANNOT_USER, NO_MATCHING_ACCOUNT, NO_SUCH_GRANT];
/// `ER_PARSE_ERROR`.
pub const PARSE_ERROR: u16 = 1064;
/// `ER_UNKNOWN_TABLE`, of the information schema.
pub const UNKNOWN_VIEW: u16 = 1109;
/// `ER_FEATURE_DISABLED`.
pub const FEATURE_DISABLED: u16 = 1289;
/// A missing table, column, variable or statement.
pub const ABSENT: [u16; 7] = [
    UNKNOWN_DATABASE,
    PARSE_ERROR,
    UNKNOWN_COLUMN,
    NO_SUCH_TABLE,
    UNKNOWN_SYSTEM_VARIABLE,
    UNKNOWN_VIEW,
    FEATURE_DISABLED,
];

/// `ER_DBACCESS_DENIED_ERROR`.
pub const DATABASE_DENIED: u16 = 1044;
/// `ER_TABLEACCESS_DENIED_ERROR`.
pub const TABLE_DENIED: u16 = 1142;
/// `ER_COLUMNACCESS_DENIED_ERROR`.
pub const COLUMN_DENIED: u16 = 1143;
/// `ER_SPECIFIC_ACCESS_DENIED_ERROR`: a global privilege is missing.
pub const PRIVILEGE_DENIED: u16 = 1227;
/// `ER_PROCACCESS_DENIED_ERROR`.
pub const ROUTINE_DENIED: u16 = 1370;
/// A privilege is missing.
pub const ACCESS_DENIED: [u16; 5] = [DATABASE_DENIED, TABLE_DENIED, COLUMN_DENIED, PRIVILEGE_DENIED, ROUTINE_DENIED];
