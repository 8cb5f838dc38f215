//! Identity of a server.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    connect::Connection,
    dialect::statement::show_variables,
    error::Error,
    version::{Flavor, ServerVersion, VersionHints},
};

/// Identity of a server, by its variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Fork and version.
    pub version: ServerVersion,
    /// `@@version_comment`.
    pub version_comment: String,
    /// `@@hostname`.
    pub hostname: String,
    /// `@@server_uuid`; MariaDB has none before 12 (its `server_uid` is something else).
    pub server_uuid: Option<String>,
    /// `@@server_id`.
    pub server_id: u32,
    /// `@@datadir`.
    pub datadir: PathBuf,
    /// `@@port`; 0 with `skip_networking`.
    pub port: u16,
    /// `@@socket`.
    pub socket: Option<PathBuf>,
    /// `@@pid_file`; a relative path is relative to the data directory.
    pub pid_file: Option<PathBuf>,
    /// Seconds since the server started.
    pub uptime_seconds: u64,
}

impl Identity {
    /// The fork.
    pub fn flavor(&self) -> Flavor {
        self.version.flavor
    }
}

const VARIABLES: [&str; 10] = [
    "version",
    "version_comment",
    "hostname",
    "server_uuid",
    "server_id",
    "datadir",
    "port",
    "socket",
    "pid_file",
    "aria_block_size",
];

/// Asks a server for its identity; needs no privilege.
///
/// # Errors
/// Those of [`Connection::query`]; [`Error::Malformed`] if the version is missing.
pub fn describe(connection: &mut Connection) -> Result<Identity, Error> {
    let variables = connection.query(&show_variables(&VARIABLES))?;
    let status = connection.query("SHOW GLOBAL STATUS LIKE 'Uptime'")?;
    let value = |name: &str| variables.of_name(name).map(str::to_owned).filter(|value| !value.is_empty());
    let comment = value("version_comment").unwrap_or_default();
    let hints = VersionHints {
        comment: &comment,
        mariadb_capabilities: connection.greeting().is_mariadb(),
        mariadb_variables: value("aria_block_size").is_some(),
    };
    let version = value("version")
        .and_then(|text| ServerVersion::parse(&text, hints))
        .ok_or(Error::Malformed { what: "server version" })?;
    let number = |name| value(name).and_then(|text| text.parse().ok());
    Ok(Identity {
        version,
        hostname: value("hostname").unwrap_or_default(),
        server_uuid: value("server_uuid"),
        server_id: number("server_id").unwrap_or_default(),
        datadir: value("datadir").map(PathBuf::from).unwrap_or_default(),
        port: value("port").and_then(|text| text.parse().ok()).unwrap_or_default(),
        socket: value("socket").map(PathBuf::from),
        pid_file: value("pid_file").map(PathBuf::from),
        uptime_seconds: status.value(0, "Value").and_then(|text| text.parse().ok()).unwrap_or(0),
        version_comment: comment,
    })
}
