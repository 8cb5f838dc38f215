//! The system tables of a new server.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
};

use rustix::fs::{MemfdFlags, memfd_create};
use server::{
    ServerFiles,
    program::{Installation, first_error, option},
};

use crate::Error;

/// Names of MariaDB's system table scripts in order, without the prefix `mysql_` or `mariadb_`.
const SYSTEM_TABLES: [&str; 4] =
    ["system_tables.sql", "performance_tables.sql", "system_tables_data.sql", "sys_schema.sql"];

/// Creates the system tables in the data directory of a new server. `program` is `server`, or a copy of it.
pub(super) fn create(
    server: &Path,
    program: &Path,
    files: &ServerFiles,
    options: &[String],
    mariadb: bool,
) -> Result<(), Error> {
    let mut command = Command::new(program);
    command.arg("--no-defaults").args(options);
    command.arg(option("datadir", &files.datadir)).arg(option("tmpdir", &files.temporary));
    if rustix::process::geteuid().is_root() {
        command.arg("--user=root");
    }
    let input = if mariadb {
        command.arg("--bootstrap");
        system_tables(server)?
    } else {
        command.arg("--initialize-insecure");
        tempfile(b"")?
    };
    let output = command.stdin(input).output().map_err(|e| Error::program(server, e.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Error::program(server, first_error(&message).unwrap_or("cannot create its system tables")))
}

/// The SQL that creates MariaDB's system tables, as `mariadb-install-db` passes it to `--bootstrap`.
fn system_tables(server: &Path) -> Result<File, Error> {
    let scripts = Installation::around(server)
        .messages
        .ok_or_else(|| Error::program(server, "its scripts for system tables are missing"))?;
    let mut sql = b"CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n".to_vec();
    for name in SYSTEM_TABLES {
        let newer = scripts.join(format!("mariadb_{name}"));
        let path = if newer.exists() { newer } else { scripts.join(format!("mysql_{name}")) };
        sql.extend(fs::read(&path).map_err(Error::file(&path))?);
        sql.push(b'\n');
    }
    tempfile(&sql)
}

/// An unlinked file, positioned at its start.
fn tempfile(bytes: &[u8]) -> Result<File, Error> {
    let file = memfd_create("input", MemfdFlags::CLOEXEC).map(File::from);
    let file = file.map_err(|errno| Error::file("memfd")(errno.into()))?;
    file.write_all_at(bytes, 0).map_err(Error::file("memfd"))?;
    Ok(file)
}
