//! Statements of MariaDB 10.2 to 12.x.

use super::{
    ENTRY, Entry,
    mysql::{
        ACCOUNT_HOST, BINARY_LOG_COLUMNS, CONNECTIONS, ENCRYPTION_REQUESTED, OTHER_ENGINES, PLUGINS, REPLICA_COLUMNS,
        SESSION, SESSION_TLS, STATUS, VARIABLE_COLUMNS, channel_columns,
    },
    statement::{MARIADB_CHANNEL, SHOW_ALL_SLAVES_STATUS, SHOW_BINARY_LOGS, SHOW_GRANTS},
};

/// `ENCRYPTION_SCHEME` 1: a key is set. `MIN_KEY_VERSION` 0: some pages are not encrypted with it yet.
macro_rules! encryption_columns {
    () => {
        "CASE WHEN COALESCE(e.ENCRYPTION_SCHEME, 0) = 0 OR e.CURRENT_KEY_VERSION = 0 THEN 'N' \
         WHEN e.MIN_KEY_VERSION = 0 THEN 'P' ELSE 'Y' END AS `encrypted`, \
         e.ENCRYPTION_SCHEME AS `scheme`, e.CURRENT_KEY_ID AS `key_id`, e.CURRENT_KEY_VERSION AS \
         `current_key_version`, e.MIN_KEY_VERSION AS `min_key_version`, e.ROTATING_OR_FLUSHING AS `rotating`"
    };
}

macro_rules! space_type {
    ($name:literal) => {
        concat!(
            "CASE WHEN ",
            $name,
            " = 'innodb_system' THEN 'System' WHEN ",
            $name,
            " = 'innodb_temporary' THEN 'Temporary' WHEN ",
            $name,
            " LIKE 'innodb\\_undo%' THEN 'Undo' ELSE 'Single' END AS `type`, "
        )
    };
}

/// One bit of the privilege mask in `mysql.global_priv`, as Y or N.
///
/// Source: MariaDB's `sql/privilege.h`.
macro_rules! privilege {
    ($bit:literal, $name:literal) => {
        concat!(
            "IF(CAST(COALESCE(JSON_VALUE(Priv, '$.access'), 0) AS UNSIGNED) >> ",
            $bit,
            " & 1, 'Y', 'N') AS `",
            $name,
            "`, "
        )
    };
}

pub(super) const QUERIES: &[Entry] = &[
    Entry { name: "variables", sql: "SHOW GLOBAL VARIABLES", columns: VARIABLE_COLUMNS, ..ENTRY },
    Entry { name: "status", sql: STATUS, columns: VARIABLE_COLUMNS, ..ENTRY },
    Entry { name: "grants", sql: SHOW_GRANTS, columns: &[("#1", "grant")], ..ENTRY },
    Entry { name: "session", sql: SESSION, ..ENTRY },
    ACCOUNT_HOST,
    Entry { name: "plugins", sql: PLUGINS, ..ENTRY },
    // The first view lists only tablespaces in memory. The unions add those that only the encryption view lists, and
    // tables that a server since 10.6 has not opened since its start.
    Entry {
        name: "tablespaces",
        sql: concat!(
            "SELECT t.SPACE AS `space_id`, t.NAME AS `name`, ",
            space_type!("t.NAME"),
            encryption_columns!(),
            " FROM information_schema.INNODB_SYS_TABLESPACES AS t ",
            "LEFT JOIN information_schema.INNODB_TABLESPACES_ENCRYPTION AS e ON e.SPACE = t.SPACE ",
            "UNION ALL SELECT e.SPACE, COALESCE(e.NAME, ''), ",
            space_type!("COALESCE(e.NAME, '')"),
            encryption_columns!(),
            " FROM information_schema.INNODB_TABLESPACES_ENCRYPTION AS e ",
            "WHERE e.SPACE NOT IN (SELECT SPACE FROM information_schema.INNODB_SYS_TABLESPACES) ",
            "UNION ALL SELECT d.SPACE, d.NAME, 'Single', NULL, NULL, NULL, NULL, NULL, NULL ",
            "FROM information_schema.INNODB_SYS_TABLES AS d WHERE d.SPACE <> 0 ",
            "AND d.SPACE NOT IN (SELECT SPACE FROM information_schema.INNODB_SYS_TABLESPACES) ",
            "AND d.SPACE NOT IN (SELECT SPACE FROM information_schema.INNODB_TABLESPACES_ENCRYPTION)"
        ),
        needs: "PROCESS ON *.*",
        ..ENTRY
    },
    Entry {
        name: "datafiles",
        sql: "SELECT SPACE AS `space_id`, FILENAME AS `path` FROM information_schema.INNODB_SYS_TABLESPACES",
        needs: "PROCESS ON *.*",
        since: (10, 6, 0),
        ..ENTRY
    },
    Entry {
        name: "datafiles",
        sql: "SELECT SPACE AS `space_id`, PATH AS `path` FROM information_schema.INNODB_SYS_DATAFILES",
        needs: "PROCESS ON *.*",
        before: (10, 6, 0),
        ..ENTRY
    },
    Entry {
        name: "schemas",
        sql: "SELECT SCHEMA_NAME AS `schema`, NULL AS `default_encryption` FROM information_schema.SCHEMATA",
        needs: "SHOW DATABASES ON *.*",
        filtered: true,
        ..ENTRY
    },
    Entry { name: "tables", sql: OTHER_ENGINES, needs: "SELECT ON *.*", filtered: true, ..ENTRY },
    Entry {
        name: "system_space_tables",
        sql: "SELECT NAME AS `name` FROM information_schema.INNODB_SYS_TABLES WHERE SPACE = 0 AND NAME LIKE '%/%'",
        needs: "PROCESS ON *.*",
        ..ENTRY
    },
    Entry {
        name: "encrypted_tables_requested",
        sql: ENCRYPTION_REQUESTED,
        needs: "SELECT ON *.*",
        filtered: true,
        ..ENTRY
    },
    // Error 1381 if the binary log is off. No version has a column about encryption.
    Entry {
        name: "binary_logs",
        sql: SHOW_BINARY_LOGS,
        needs: "BINLOG MONITOR ON *.*",
        optional: true,
        columns: BINARY_LOG_COLUMNS,
        since: (10, 5, 2),
        ..ENTRY
    },
    Entry {
        name: "binary_logs",
        sql: SHOW_BINARY_LOGS,
        needs: "REPLICATION CLIENT ON *.*",
        optional: true,
        columns: BINARY_LOG_COLUMNS,
        before: (10, 5, 2),
        ..ENTRY
    },
    // $.auth_or lists several authentication methods; its empty object stands for the outer one.
    Entry {
        name: "accounts",
        sql: concat!(
            "SELECT User AS `user`, Host AS `host`, ",
            "CONCAT_WS(',', NULLIF(COALESCE(JSON_VALUE(Priv, '$.plugin'), ",
            "IF(JSON_VALUE(Priv, '$.is_role'), '', 'mysql_native_password')), ''), ",
            "NULLIF(REGEXP_REPLACE(COALESCE(JSON_EXTRACT(Priv, '$.auth_or[*].plugin'), ''), '[] \"[]', ''), '')) ",
            "AS `plugin`, ",
            "CASE CAST(COALESCE(JSON_VALUE(Priv, '$.ssl_type'), 0) AS SIGNED) WHEN 1 THEN 'ANY' WHEN 2 THEN 'X509' ",
            "WHEN 3 THEN 'SPECIFIED' ELSE '' END AS `ssl_type`, ",
            "IF(JSON_VALUE(Priv, '$.account_locked'), 'Y', 'N') AS `locked`, ",
            "IF(COALESCE(JSON_VALUE(Priv, '$.authentication_string'), '') = '' ",
            "AND NOT COALESCE(JSON_VALUE(Priv, '$.is_role'), 0) ",
            "AND COALESCE(JSON_VALUE(Priv, '$.plugin'), '') IN ('', 'mysql_native_password', 'mysql_old_password', ",
            "'ed25519', 'parsec'), 'Y', 'N') AS `empty_credential`, ",
            "IF(JSON_VALUE(Priv, '$.is_role'), 'Y', 'N') AS `is_role`, ",
            privilege!(15, "super"),
            privilege!(19, "repl_slave"),
            privilege!(9, "file"),
            privilege!(10, "grant_option"),
            privilege!(7, "shutdown"),
            privilege!(8, "process"),
            // The 28 privileges that every version has, without GRANT OPTION: bits 0 to 28 except bit 10.
            "IF((CAST(COALESCE(JSON_VALUE(Priv, '$.access'), 0) AS UNSIGNED) & 0x1ffffbff) = 0x1ffffbff, 'Y', 'N') ",
            "AS `all_privileges`, ",
            "IF(JSON_VALUE(Priv, '$.password_last_changed') = 0, 'Y', 'N') AS `password_expired`, ",
            // The installer's 'invalid' is not a hash: no password matches it.
            "IF(COALESCE(JSON_VALUE(Priv, '$.authentication_string'), '') <> '' ",
            "AND COALESCE(JSON_VALUE(Priv, '$.plugin'), '') IN ('', 'mysql_native_password') ",
            "AND JSON_VALUE(Priv, '$.authentication_string') NOT REGEXP '^[*][0-9A-Fa-f]{40}$', 'Y', 'N') ",
            "AS `unusable_credential` FROM mysql.global_priv"
        ),
        needs: "SELECT ON mysql.global_priv",
        since: (10, 4, 0),
        ..ENTRY
    },
    Entry {
        name: "accounts",
        sql: "SELECT User AS `user`, Host AS `host`, plugin AS `plugin`, ssl_type AS `ssl_type`, 'N' AS `locked`, \
              IF(Password = '' AND authentication_string = '' AND is_role = 'N' \
              AND plugin IN ('', 'mysql_native_password', 'mysql_old_password'), 'Y', 'N') AS `empty_credential`, \
              is_role AS `is_role`, Super_priv AS `super`, Repl_slave_priv AS `repl_slave`, File_priv AS `file`, \
              Grant_priv AS `grant_option`, Shutdown_priv AS `shutdown`, Process_priv AS `process`, \
              IF(CONCAT(Select_priv, Insert_priv, Update_priv, Delete_priv, Create_priv, Drop_priv, Reload_priv, \
              Shutdown_priv, Process_priv, File_priv, References_priv, Index_priv, Alter_priv, Show_db_priv, \
              Super_priv, Create_tmp_table_priv, Lock_tables_priv, Execute_priv, Repl_slave_priv, Repl_client_priv, \
              Create_view_priv, Show_view_priv, Create_routine_priv, Alter_routine_priv, Create_user_priv, \
              Event_priv, Trigger_priv, Create_tablespace_priv) NOT LIKE '%N%', 'Y', 'N') AS `all_privileges`, \
              password_expired AS `password_expired`, \
              IF(plugin IN ('', 'mysql_native_password') AND CONCAT(Password, authentication_string) <> '' \
              AND CONCAT(Password, authentication_string) NOT REGEXP '^[*][0-9A-Fa-f]{40}', 'Y', 'N') \
              AS `unusable_credential` FROM mysql.user",
        needs: "SELECT ON mysql.user",
        before: (10, 4, 0),
        ..ENTRY
    },
    Entry {
        name: "role_edges",
        sql: "SELECT Role AS `role_user`, '' AS `role_host`, User AS `user`, Host AS `host` FROM mysql.roles_mapping",
        needs: "SELECT ON mysql.roles_mapping",
        ..ENTRY
    },
    Entry {
        name: "connections",
        sql: CONNECTIONS,
        needs: "SELECT ON performance_schema.*",
        optional: true,
        since: (10, 5, 2),
        ..ENTRY
    },
    Entry {
        name: "session_tls",
        sql: SESSION_TLS,
        needs: "SELECT ON performance_schema.*",
        optional: true,
        since: (10, 5, 2),
        ..ENTRY
    },
    Entry {
        name: "replica_channels",
        sql: SHOW_ALL_SLAVES_STATUS,
        needs: "SLAVE MONITOR ON *.*",
        columns: CHANNEL_COLUMNS,
        since: (10, 5, 9),
        ..ENTRY
    },
    Entry {
        name: "replica_channels",
        sql: SHOW_ALL_SLAVES_STATUS,
        needs: "REPLICATION CLIENT ON *.*",
        columns: CHANNEL_COLUMNS,
        before: (10, 5, 9),
        ..ENTRY
    },
    Entry {
        name: "replicas",
        sql: "SHOW SLAVE HOSTS",
        needs: "REPLICATION MASTER ADMIN ON *.*",
        columns: REPLICA_COLUMNS,
        since: (10, 5, 2),
        ..ENTRY
    },
    Entry {
        name: "replicas",
        sql: "SHOW SLAVE HOSTS",
        needs: "REPLICATION SLAVE ON *.*",
        columns: REPLICA_COLUMNS,
        before: (10, 5, 2),
        ..ENTRY
    },
    Entry {
        name: "variable_sources",
        sql: "SELECT VARIABLE_NAME AS `name`, GLOBAL_VALUE_ORIGIN AS `source`, GLOBAL_VALUE_PATH AS `path` \
              FROM information_schema.SYSTEM_VARIABLES \
              WHERE GLOBAL_VALUE_ORIGIN IS NOT NULL AND GLOBAL_VALUE_ORIGIN <> 'COMPILE-TIME'",
        since: (10, 5, 0),
        ..ENTRY
    },
    Entry {
        name: "variable_sources",
        sql: "SELECT VARIABLE_NAME AS `name`, GLOBAL_VALUE_ORIGIN AS `source`, NULL AS `path` \
              FROM information_schema.SYSTEM_VARIABLES \
              WHERE GLOBAL_VALUE_ORIGIN IS NOT NULL AND GLOBAL_VALUE_ORIGIN <> 'COMPILE-TIME'",
        before: (10, 5, 0),
        ..ENTRY
    },
    // Engine-independent statistics: minimum and maximum values of columns.
    Entry {
        name: "histograms",
        sql: "SELECT db_name AS `schema`, table_name AS `table`, column_name AS `column` FROM mysql.column_stats",
        needs: "SELECT ON mysql.column_stats",
        ..ENTRY
    },
];

const CHANNEL_COLUMNS: &[(&str, &str)] = &channel_columns(MARIADB_CHANNEL);
