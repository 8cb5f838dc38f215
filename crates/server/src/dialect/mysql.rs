//! Statements of MySQL 5.6 to 26.x; Percona Server shares them.

use super::{
    ENTRY, Entry,
    catalog::not_in_schemas,
    statement::{MYSQL_CHANNEL, SHOW_BINARY_LOGS, SHOW_GRANTS, SHOW_SLAVE_STATUS},
};

/// The columns of an accounts query that are the same since 5.6.
macro_rules! privilege_columns {
    () => {
        "Super_priv AS `super`, Repl_slave_priv AS `repl_slave`, File_priv AS `file`, Grant_priv AS `grant_option`, \
         Shutdown_priv AS `shutdown`, Process_priv AS `process`, \
         IF(CONCAT(Select_priv, Insert_priv, Update_priv, Delete_priv, Create_priv, Drop_priv, Reload_priv, \
         Shutdown_priv, Process_priv, File_priv, References_priv, Index_priv, Alter_priv, Show_db_priv, Super_priv, \
         Create_tmp_table_priv, Lock_tables_priv, Execute_priv, Repl_slave_priv, Repl_client_priv, \
         Create_view_priv, Show_view_priv, Create_routine_priv, Alter_routine_priv, Create_user_priv, Event_priv, \
         Trigger_priv, Create_tablespace_priv) NOT LIKE '%N%', 'Y', 'N') AS `all_privileges`, \
         password_expired AS `password_expired`, \
         IF(COALESCE(authentication_string, '') LIKE '%THISISNOTAVALIDPASSWORD%' OR \
         COALESCE(authentication_string, '') LIKE '%THISISACOMBINATIONOFINVALIDSALT%', 'Y', 'N') \
         AS `unusable_credential` FROM mysql.user"
    };
}

/// With these plug-ins an empty credential means an empty password.
macro_rules! password_plugins {
    () => {
        "COALESCE(plugin, '') IN \
         ('', 'mysql_native_password', 'mysql_old_password', 'sha256_password', 'caching_sha2_password')"
    };
}

/// Channels of a replica; before MySQL 8.0.4 they have no column for the public key.
macro_rules! channels {
    ($public_key:literal) => {
        concat!(
            "SELECT c.CHANNEL_NAME AS `channel`, c.HOST AS `host`, c.PORT AS `port`, c.USER AS `user`, ",
            "c.SSL_ALLOWED AS `ssl_allowed`, c.SSL_VERIFY_SERVER_CERTIFICATE AS `ssl_verify`, ",
            "c.SSL_CA_FILE AS `ssl_ca`, ",
            $public_key,
            " AS `get_public_key`, s.SERVICE_STATE AS `io_state` ",
            "FROM performance_schema.replication_connection_configuration AS c ",
            "LEFT JOIN performance_schema.replication_connection_status AS s ON s.CHANNEL_NAME = c.CHANNEL_NAME ",
            "WHERE c.HOST <> ''"
        )
    };
}

pub(super) const VARIABLE_COLUMNS: &[(&str, &str)] = &[("Variable_name", "name"), ("Value", "value")];

/// The status variables that checks use, without the hundreds that change continuously.
pub(super) const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name REGEXP \
     '^(Ssl|Current_tls|Mysqlx|wsrep|Uptime|Innodb_encryption|Innodb_redo_log|Rpl|Caching_sha2|Threads_connected)'";

pub(super) const SESSION: &str = "SELECT CURRENT_USER() AS `current_user`, USER() AS `session_user`, \
     CONNECTION_ID() AS `connection_id`, @@hostname AS `hostname`, VERSION() AS `version`, \
     @@version_comment AS `version_comment`";

/// Client address of this session with its port; none for a socket. Everybody may see their own session.
pub(super) const ACCOUNT_HOST: Entry = Entry {
    name: "own_host",
    sql: "SELECT HOST AS `host` FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()",
    optional: true,
    ..ENTRY
};

pub(super) const PLUGINS: &str = "SELECT PLUGIN_NAME AS `name`, PLUGIN_STATUS AS `status`, PLUGIN_TYPE AS `type`, \
     PLUGIN_LIBRARY AS `library` FROM information_schema.PLUGINS";

/// Tables of engines other than InnoDB, whose tables are judged by their tablespaces. Tables in `mysql` are included,
/// since they may contain data of users.
pub(super) const OTHER_ENGINES: &str = concat!(
    "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS `table`, ENGINE AS `engine`, ",
    "CREATE_OPTIONS AS `create_options`, ROW_FORMAT AS `row_format` FROM information_schema.TABLES ",
    "WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND ENGINE <> 'InnoDB' AND ",
    not_in_schemas!("TABLE_SCHEMA", "('information_schema', 'performance_schema', 'sys')")
);

pub(super) const ENCRYPTION_REQUESTED: &str = "SELECT TABLE_SCHEMA AS `schema`, TABLE_NAME AS `table`, \
     CREATE_OPTIONS AS `options` FROM information_schema.TABLES \
     WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND CREATE_OPTIONS LIKE '%encrypt%'";

pub(super) const BINARY_LOG_COLUMNS: &[(&str, &str)] =
    &[("Log_name", "name"), ("File_size", "size"), ("Encrypted", "encrypted")];

pub(super) const REPLICA_COLUMNS: &[(&str, &str)] = &[("Host", "host"), ("Port", "port")];

/// Connections of clients. Empty on MariaDB with performance_schema=OFF, the default there.
pub(super) const CONNECTIONS: &str = concat!(
    "SELECT t.THREAD_ID AS `thread_id`, t.PROCESSLIST_USER AS `user`, t.PROCESSLIST_HOST AS `host`, ",
    "t.PROCESSLIST_COMMAND AS `command`, t.CONNECTION_TYPE AS `connection_type`, ",
    "a.client_name AS `client_name`, a.client_version AS `client_version`, a.program AS `program` ",
    "FROM performance_schema.threads AS t LEFT JOIN ",
    // What clients report about themselves, one row for each connection.
    "(SELECT PROCESSLIST_ID, ",
    "MAX(IF(ATTR_NAME = '_client_name', ATTR_VALUE, NULL)) AS `client_name`, ",
    "MAX(IF(ATTR_NAME = '_client_version', ATTR_VALUE, NULL)) AS `client_version`, ",
    "MAX(IF(ATTR_NAME = 'program_name', ATTR_VALUE, NULL)) AS `program` ",
    "FROM performance_schema.session_connect_attrs GROUP BY PROCESSLIST_ID)",
    " AS a ON a.PROCESSLIST_ID = t.PROCESSLIST_ID ",
    "WHERE t.TYPE = 'FOREGROUND' AND t.CONNECTION_TYPE IS NOT NULL"
);

/// Version and suite of TLS in each session.
pub(super) const SESSION_TLS: &str = "SELECT THREAD_ID AS `thread_id`, \
     MAX(IF(VARIABLE_NAME = 'Ssl_version', VARIABLE_VALUE, NULL)) AS `version`, \
     MAX(IF(VARIABLE_NAME = 'Ssl_cipher', VARIABLE_VALUE, NULL)) AS `cipher` \
     FROM performance_schema.status_by_thread \
     WHERE VARIABLE_NAME IN ('Ssl_version', 'Ssl_cipher') GROUP BY THREAD_ID";

/// Columns of `SHOW SLAVE STATUS`; the families name the first one differently.
pub(super) const fn channel_columns(name: &'static str) -> [(&'static str, &'static str); 9] {
    [
        (name, "channel"),
        ("Master_Host", "host"),
        ("Master_Port", "port"),
        ("Master_User", "user"),
        ("Master_SSL_Allowed", "ssl_allowed"),
        ("Master_SSL_Verify_Server_Cert", "ssl_verify"),
        ("Master_SSL_CA_File", "ssl_ca"),
        ("", "get_public_key"),
        ("Slave_IO_Running", "io_state"),
    ]
}

const CHANNEL_COLUMNS: &[(&str, &str)] = &channel_columns(MYSQL_CHANNEL);

pub(super) const QUERIES: &[Entry] = &[
    Entry { name: "variables", sql: "SHOW GLOBAL VARIABLES", columns: VARIABLE_COLUMNS, ..ENTRY },
    Entry { name: "status", sql: STATUS, columns: VARIABLE_COLUMNS, ..ENTRY },
    Entry { name: "grants", sql: SHOW_GRANTS, columns: &[("#1", "grant")], ..ENTRY },
    Entry { name: "session", sql: SESSION, ..ENTRY },
    ACCOUNT_HOST,
    Entry { name: "plugins", sql: PLUGINS, ..ENTRY },
    Entry {
        name: "components",
        sql: "SELECT component_urn AS `urn` FROM mysql.component",
        needs: "SELECT ON mysql.component",
        since: (8, 0, 1),
        ..ENTRY
    },
    Entry {
        name: "keyring_status",
        sql: "SELECT STATUS_KEY AS `key`, STATUS_VALUE AS `value` FROM performance_schema.keyring_component_status",
        needs: "SELECT ON performance_schema.*",
        since: (8, 0, 24),
        ..ENTRY
    },
    Entry {
        name: "keyring_keys",
        sql: "SELECT KEY_ID AS `key_id`, KEY_OWNER AS `key_owner` FROM performance_schema.keyring_keys",
        needs: "SELECT ON performance_schema.*",
        since: (8, 0, 16),
        ..ENTRY
    },
    Entry {
        name: "tablespaces",
        sql: "SELECT SPACE AS `space_id`, NAME AS `name`, \
              CASE NAME WHEN 'mysql' THEN 'Mysql' WHEN 'innodb_temporary' THEN 'Temporary' ELSE SPACE_TYPE END AS \
              `type`, ENCRYPTION AS `encrypted`, NULL AS `scheme`, NULL AS `key_id`, NULL AS `current_key_version`, \
              NULL AS `min_key_version`, NULL AS `rotating` FROM information_schema.INNODB_TABLESPACES",
        needs: "PROCESS ON *.*",
        since: (8, 0, 13),
        ..ENTRY
    },
    Entry {
        name: "tablespaces",
        sql: "SELECT SPACE AS `space_id`, NAME AS `name`, \
              CASE NAME WHEN 'mysql' THEN 'Mysql' WHEN 'innodb_temporary' THEN 'Temporary' ELSE SPACE_TYPE END AS \
              `type`, IF(FLAG & 8192, 'Y', 'N') AS `encrypted`, NULL AS `scheme`, NULL AS `key_id`, NULL AS \
              `current_key_version`, NULL AS `min_key_version`, NULL AS `rotating` \
              FROM information_schema.INNODB_TABLESPACES",
        needs: "PROCESS ON *.*",
        since: (8, 0, 0),
        before: (8, 0, 13),
        ..ENTRY
    },
    Entry {
        name: "tablespaces",
        sql: "SELECT SPACE AS `space_id`, NAME AS `name`, SPACE_TYPE AS `type`, IF(FLAG & 8192, 'Y', 'N') AS \
              `encrypted`, NULL AS `scheme`, NULL AS `key_id`, NULL AS `current_key_version`, NULL AS \
              `min_key_version`, NULL AS `rotating` FROM information_schema.INNODB_SYS_TABLESPACES",
        needs: "PROCESS ON *.*",
        since: (5, 7, 0),
        before: (8, 0, 0),
        ..ENTRY
    },
    // No encryption, and only file-per-table tablespaces.
    Entry {
        name: "tablespaces",
        sql: "SELECT SPACE AS `space_id`, NAME AS `name`, 'Single' AS `type`, 'N' AS `encrypted`, NULL AS `scheme`, \
              NULL AS `key_id`, NULL AS `current_key_version`, NULL AS `min_key_version`, NULL AS `rotating` \
              FROM information_schema.INNODB_SYS_TABLESPACES",
        needs: "PROCESS ON *.*",
        before: (5, 7, 0),
        ..ENTRY
    },
    Entry {
        name: "datafiles",
        sql: "SELECT FILE_ID AS `space_id`, FILE_NAME AS `path` FROM information_schema.FILES WHERE ENGINE = 'InnoDB'",
        needs: "PROCESS ON *.*",
        since: (5, 7, 8),
        ..ENTRY
    },
    Entry {
        name: "datafiles",
        sql: "SELECT SPACE AS `space_id`, PATH AS `path` FROM information_schema.INNODB_SYS_DATAFILES",
        needs: "PROCESS ON *.*",
        before: (5, 7, 8),
        ..ENTRY
    },
    Entry {
        name: "schemas",
        sql: "SELECT SCHEMA_NAME AS `schema`, DEFAULT_ENCRYPTION AS `default_encryption` \
              FROM information_schema.SCHEMATA",
        needs: "SHOW DATABASES ON *.*",
        filtered: true,
        since: (8, 0, 16),
        ..ENTRY
    },
    Entry {
        name: "schemas",
        sql: "SELECT SCHEMA_NAME AS `schema`, NULL AS `default_encryption` FROM information_schema.SCHEMATA",
        needs: "SHOW DATABASES ON *.*",
        filtered: true,
        before: (8, 0, 16),
        ..ENTRY
    },
    Entry { name: "tables", sql: OTHER_ENGINES, needs: "SELECT ON *.*", filtered: true, ..ENTRY },
    // INNODB_TABLES opens every table, which takes seconds with thousands of tables (10,000 on 9.7: 3 s). The derived
    // table is empty if every table has its own tablespace; then the scan does not start. This holds only for an
    // account that sees all tables.
    Entry {
        name: "system_space_tables",
        sql: "SELECT t.NAME AS `name` FROM (\
              SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES \
              WHERE PRIVILEGE_TYPE = 'SELECT' \
              AND GRANTEE = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')) \
              UNION ALL (SELECT 1 FROM information_schema.TABLES AS b \
              LEFT JOIN information_schema.INNODB_TABLESPACES AS s ON s.NAME = CONCAT(b.TABLE_SCHEMA, '/', \
              b.TABLE_NAME) WHERE b.ENGINE = 'InnoDB' AND b.TABLE_TYPE = 'BASE TABLE' AND b.CREATE_OPTIONS NOT LIKE \
              '%partitioned%' AND b.TABLE_SCHEMA NOT IN ('mysql', 'sys') AND s.NAME IS NULL) LIMIT 1) AS c \
              STRAIGHT_JOIN information_schema.INNODB_TABLES AS t WHERE t.SPACE = 0 AND t.NAME LIKE '%/%'",
        needs: "PROCESS ON *.*",
        // The first version with hash joins.
        since: (8, 0, 18),
        ..ENTRY
    },
    Entry {
        name: "system_space_tables",
        sql: "SELECT NAME AS `name` FROM information_schema.INNODB_TABLES WHERE SPACE = 0 AND NAME LIKE '%/%'",
        needs: "PROCESS ON *.*",
        since: (8, 0, 0),
        before: (8, 0, 18),
        ..ENTRY
    },
    Entry {
        name: "system_space_tables",
        sql: "SELECT NAME AS `name` FROM information_schema.INNODB_SYS_TABLES WHERE SPACE = 0 AND NAME LIKE '%/%'",
        needs: "PROCESS ON *.*",
        before: (8, 0, 0),
        ..ENTRY
    },
    Entry {
        name: "encrypted_tables_requested",
        sql: ENCRYPTION_REQUESTED,
        needs: "SELECT ON *.*",
        filtered: true,
        ..ENTRY
    },
    // Error 1381 if the binary log is off.
    Entry {
        name: "binary_logs",
        sql: SHOW_BINARY_LOGS,
        needs: "REPLICATION CLIENT ON *.*",
        optional: true,
        columns: BINARY_LOG_COLUMNS,
        ..ENTRY
    },
    // A role is an account created locked, expired and without credential (manual, "CREATE ROLE").
    Entry {
        name: "accounts",
        sql: concat!(
            "SELECT User AS `user`, Host AS `host`, plugin AS `plugin`, ssl_type AS `ssl_type`, ",
            "account_locked AS `locked`, ",
            "IF(COALESCE(authentication_string, '') = '' AND ",
            password_plugins!(),
            ", 'Y', 'N') AS `empty_credential`, ",
            "IF(account_locked = 'Y' AND password_expired = 'Y' AND COALESCE(authentication_string, '') = '', ",
            "'Y', 'N') AS `is_role`, ",
            privilege_columns!()
        ),
        needs: "SELECT ON mysql.user",
        since: (5, 7, 6),
        ..ENTRY
    },
    Entry {
        name: "accounts",
        sql: concat!(
            "SELECT User AS `user`, Host AS `host`, COALESCE(plugin, '') AS `plugin`, ssl_type AS `ssl_type`, ",
            "'N' AS `locked`, IF(Password = '' AND COALESCE(authentication_string, '') = '' AND ",
            password_plugins!(),
            ", 'Y', 'N') AS `empty_credential`, 'N' AS `is_role`, ",
            privilege_columns!()
        ),
        needs: "SELECT ON mysql.user",
        since: (5, 6, 6),
        before: (5, 7, 6),
        ..ENTRY
    },
    Entry {
        name: "role_edges",
        sql: "SELECT FROM_USER AS `role_user`, FROM_HOST AS `role_host`, TO_USER AS `user`, TO_HOST AS `host` \
              FROM mysql.role_edges",
        needs: "SELECT ON mysql.role_edges",
        since: (8, 0, 0),
        ..ENTRY
    },
    Entry {
        name: "persisted_variables",
        sql: "SELECT VARIABLE_NAME AS `name`, VARIABLE_VALUE AS `value` FROM performance_schema.persisted_variables",
        needs: "SELECT ON performance_schema.*",
        since: (8, 0, 0),
        ..ENTRY
    },
    Entry {
        name: "dynamic_grants",
        sql: "SELECT USER AS `user`, HOST AS `host`, PRIV AS `privilege` FROM mysql.global_grants",
        needs: "SELECT ON mysql.global_grants",
        since: (8, 0, 0),
        ..ENTRY
    },
    Entry { name: "connections", sql: CONNECTIONS, needs: "SELECT ON performance_schema.*", since: (5, 7, 8), ..ENTRY },
    Entry { name: "session_tls", sql: SESSION_TLS, needs: "SELECT ON performance_schema.*", since: (5, 7, 6), ..ENTRY },
    Entry {
        name: "replica_channels",
        sql: channels!("c.GET_PUBLIC_KEY"),
        needs: "SELECT ON performance_schema.*",
        since: (8, 0, 4),
        ..ENTRY
    },
    Entry {
        name: "replica_channels",
        sql: channels!("NULL"),
        needs: "SELECT ON performance_schema.*",
        since: (5, 7, 6),
        before: (8, 0, 4),
        ..ENTRY
    },
    Entry {
        name: "replica_channels",
        sql: SHOW_SLAVE_STATUS,
        needs: "REPLICATION CLIENT ON *.*",
        columns: CHANNEL_COLUMNS,
        before: (5, 7, 6),
        ..ENTRY
    },
    Entry {
        name: "replica_credentials",
        sql: "SELECT Channel_name AS `channel`, User_name AS `user`, \
              IF(COALESCE(User_password, '') = '', 'N', 'Y') AS `password_stored` FROM mysql.slave_master_info",
        needs: "SELECT ON mysql.slave_master_info",
        since: (5, 7, 6),
        ..ENTRY
    },
    Entry {
        name: "replica_credentials",
        sql: "SELECT '' AS `channel`, User_name AS `user`, \
              IF(COALESCE(User_password, '') = '', 'N', 'Y') AS `password_stored` FROM mysql.slave_master_info",
        needs: "SELECT ON mysql.slave_master_info",
        since: (5, 6, 0),
        before: (5, 7, 6),
        ..ENTRY
    },
    Entry {
        name: "replicas",
        sql: "SHOW REPLICAS",
        needs: "REPLICATION SLAVE ON *.*",
        columns: REPLICA_COLUMNS,
        since: (8, 0, 22),
        ..ENTRY
    },
    Entry {
        name: "replicas",
        sql: "SHOW SLAVE HOSTS",
        needs: "REPLICATION SLAVE ON *.*",
        columns: REPLICA_COLUMNS,
        before: (8, 0, 22),
        ..ENTRY
    },
    Entry {
        name: "group_members",
        sql: "SELECT MEMBER_HOST AS `host`, MEMBER_PORT AS `port`, MEMBER_STATE AS `state` \
              FROM performance_schema.replication_group_members",
        needs: "SELECT ON performance_schema.*",
        since: (5, 7, 6),
        ..ENTRY
    },
    Entry {
        name: "tls_channels",
        sql: "SELECT CHANNEL AS `channel`, PROPERTY AS `property`, VALUE AS `value` \
              FROM performance_schema.tls_channel_status",
        needs: "SELECT ON performance_schema.*",
        since: (8, 0, 21),
        ..ENTRY
    },
    Entry {
        name: "variable_sources",
        sql: "SELECT VARIABLE_NAME AS `name`, VARIABLE_SOURCE AS `source`, VARIABLE_PATH AS `path` \
              FROM performance_schema.variables_info WHERE VARIABLE_SOURCE <> 'COMPILED'",
        needs: "SELECT ON performance_schema.*",
        since: (8, 0, 0),
        ..ENTRY
    },
    Entry {
        name: "histograms",
        sql: "SELECT SCHEMA_NAME AS `schema`, TABLE_NAME AS `table`, COLUMN_NAME AS `column` \
              FROM information_schema.COLUMN_STATISTICS",
        needs: "SELECT ON *.*",
        filtered: true,
        since: (8, 0, 3),
        ..ENTRY
    },
];
