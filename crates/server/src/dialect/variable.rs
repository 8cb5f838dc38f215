//! Names of the system variables that more than one crate uses, and of those that enable encryption at rest. A name
//! that only one crate uses stays in that crate.

/// File with the authorities that the server trusts.
pub const SSL_CA: &str = "ssl_ca";
/// File with the server's certificate.
pub const SSL_CERT: &str = "ssl_cert";
/// File with the certificate's private key.
pub const SSL_KEY: &str = "ssl_key";
/// TLS versions that the server offers.
pub const TLS_VERSION: &str = "tls_version";
/// Whether the server refuses clients without TLS.
pub const REQUIRE_SECURE_TRANSPORT: &str = "require_secure_transport";
/// Addresses that the server listens on.
pub const BIND_ADDRESS: &str = "bind_address";
/// Whether the server listens on its socket only.
pub const SKIP_NETWORKING: &str = "skip_networking";
/// Address of the administrative port of MySQL.
pub const ADMIN_ADDRESS: &str = "admin_address";
/// Port of MySQL's administrative address.
pub const ADMIN_PORT: &str = "admin_port";
/// A second port of MariaDB and Percona Server, at the addresses of the first.
pub const EXTRA_PORT: &str = "extra_port";
/// Port of the X Protocol.
pub const MYSQLX_PORT: &str = "mysqlx_port";
/// Addresses of the X Protocol; every interface by default, whatever `bind_address` is.
pub const MYSQLX_BIND_ADDRESS: &str = "mysqlx_bind_address";
/// Whether the performance schema collects anything.
pub const PERFORMANCE_SCHEMA: &str = "performance_schema";
/// Options of the Galera library, `name = value` separated by semicolons.
pub const WSREP_PROVIDER_OPTIONS: &str = "wsrep_provider_options";
/// How Galera copies a data directory to a joiner.
pub const WSREP_SST_METHOD: &str = "wsrep_sst_method";
/// TLS within a Percona XtraDB Cluster.
pub const PXC_ENCRYPT_CLUSTER_TRAFFIC: &str = "pxc_encrypt_cluster_traffic";
/// TLS between the members of a group.
pub const GROUP_REPLICATION_SSL_MODE: &str = "group_replication_ssl_mode";
/// TLS of a member that joins a group.
pub const GROUP_REPLICATION_RECOVERY_USE_SSL: &str = "group_replication_recovery_use_ssl";
/// `XCOM`, which has a port of its own, or `MYSQL`.
pub const GROUP_REPLICATION_COMMUNICATION_STACK: &str = "group_replication_communication_stack";
/// Host and port that a group member announces for `XCOM`.
pub const GROUP_REPLICATION_LOCAL_ADDRESS: &str = "group_replication_local_address";
/// Whether the server offers TLS; removed in MySQL 8.4.
pub const HAVE_SSL: &str = "have_ssl";
/// Whether logs of statements are files, tables or neither.
pub const LOG_OUTPUT: &str = "log_output";
/// Authorities that the clone plug-in trusts.
pub const CLONE_SSL_CA: &str = "clone_ssl_ca";
/// Whether clients may load their own files.
pub const LOCAL_INFILE: &str = "local_infile";
/// Whether the server writes a binary log.
pub const LOG_BIN: &str = "log_bin";
/// Number of a server in replication.
pub const SERVER_ID: &str = "server_id";
/// Identity of a server; not on MariaDB before 12.
pub const SERVER_UUID: &str = "server_uuid";
/// Whether accounts without special privileges may only read.
pub const READ_ONLY: &str = "read_only";
/// Whether all accounts may only read; MySQL only.
pub const SUPER_READ_ONLY: &str = "super_read_only";
/// The GTIDs that a server has executed; MySQL only.
pub const GTID_EXECUTED: &str = "gtid_executed";
/// Directory of the server's plug-ins.
pub const PLUGIN_DIR: &str = "plugin_dir";
/// Size of InnoDB's pages, in bytes.
pub const INNODB_PAGE_SIZE: &str = "innodb_page_size";
/// Files of the system tablespace.
pub const INNODB_DATA_FILE_PATH: &str = "innodb_data_file_path";
/// Whether a new table gets a tablespace of its own.
pub const INNODB_FILE_PER_TABLE: &str = "innodb_file_per_table";
/// Size of the redo log, in bytes.
pub const INNODB_REDO_LOG_CAPACITY: &str = "innodb_redo_log_capacity";
/// Number of undo tablespaces.
pub const INNODB_UNDO_TABLESPACES: &str = "innodb_undo_tablespaces";
/// Which changes of secondary indexes are buffered in the system tablespace.
pub const INNODB_CHANGE_BUFFERING: &str = "innodb_change_buffering";
/// Number of threads that encrypt and decrypt pages in the background; MariaDB only.
pub const INNODB_ENCRYPTION_THREADS: &str = "innodb_encryption_threads";
/// By how many key versions a page may lag behind before it is encrypted again; MariaDB only.
pub const INNODB_ENCRYPTION_ROTATE_KEY_AGE: &str = "innodb_encryption_rotate_key_age";
/// Authorities that a member trusts while it recovers from another; MySQL only.
pub const GROUP_REPLICATION_RECOVERY_SSL_CA: &str = "group_replication_recovery_ssl_ca";
/// Whether a recovering member checks the host name in the certificate of the other member; MySQL only.
pub const GROUP_REPLICATION_RECOVERY_SSL_VERIFY_SERVER_CERT: &str = "group_replication_recovery_ssl_verify_server_cert";

/// Encrypts the redo log, in MySQL.
pub const MYSQL_REDO: &str = "innodb_redo_log_encrypt";
/// Encrypts the redo log, in MariaDB.
pub const MARIADB_REDO: &str = "innodb_encrypt_log";
/// Encrypts undo tablespaces, in MySQL.
pub const MYSQL_UNDO: &str = "innodb_undo_log_encrypt";
/// Encrypts the system tablespace, in Percona Server.
pub const PERCONA_SYSTEM_TABLESPACE: &str = "innodb_sys_tablespace_encrypt";
/// Encrypts the temporary tablespace, in MariaDB.
pub const MARIADB_TEMPORARY_TABLESPACE: &str = "innodb_encrypt_temporary_tables";
/// Encrypts temporary tablespaces, in Percona Server.
pub const PERCONA_TEMPORARY_TABLESPACES: &str = "innodb_temp_tablespace_encrypt";
/// Encrypts binary and relay logs, in MySQL.
pub const MYSQL_BINARY_LOGS: &str = "binlog_encryption";
/// Encrypts binary and relay logs, in MariaDB.
pub const MARIADB_BINARY_LOGS: &str = "encrypt_binlog";
/// Encrypts new tables, in MySQL.
pub const MYSQL_NEW_TABLES: &str = "default_table_encryption";
/// Encrypts InnoDB's tablespaces, in MariaDB.
pub const MARIADB_TABLESPACES: &str = "innodb_encrypt_tables";
/// Encrypts temporary files, in MariaDB and Percona Server.
pub const TEMPORARY_FILES: &str = "encrypt_tmp_files";
/// Encrypts temporary tables on disk, in MariaDB.
pub const MARIADB_TEMPORARY_TABLES: &str = "encrypt_tmp_disk_tables";
/// Encrypts files in which InnoDB sorts and logs table changes, in Percona Server.
pub const PERCONA_ONLINE_ALTER: &str = "innodb_encrypt_online_alter_logs";
/// Encrypts Aria tables.
pub const ARIA_TABLES: &str = "aria_encrypt_tables";
