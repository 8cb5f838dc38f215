//! Data directories that are created once and copied for every server.
//!
//! Creating a data directory takes seconds, copying it a fraction of a second. Templates are cached by server version
//! and by the options that affect the files. They have no server UUID: each copy generates its own at its first start.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::run;
use crate::kind::cache;
use crate::options::installation;
use crate::{Binaries, Error, Kind, limit};

const SECONDS: u64 = 180;

/// Scripts of `mariadb-install-db` for MariaDB's system tables, in order, by the part of the name after `mysql_` or
/// `mariadb_` (older and newer releases).
const SYSTEM_TABLES: [&str; 4] =
    ["system_tables.sql", "performance_tables.sql", "system_tables_data.sql", "sys_schema.sql"];

/// Copies a fresh data directory for `kind` to `datadir`, which must not exist.
pub(crate) fn instantiate(
    kind: Kind,
    binaries: &Binaries,
    init_options: &[String],
    datadir: &Path,
) -> Result<(), Error> {
    copy(&template(kind, binaries, init_options)?, datadir)
}

/// Copies a data directory; blocks are shared if the file system supports it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let mut command = Command::new("cp");
    command.args(["-r", "--preserve=mode,timestamps,links", "--reflink=auto", "--sparse=auto"]);
    run(command.arg("--").arg(from).arg(to), b"", limit(SECONDS)).map(drop)
}

fn template(kind: Kind, binaries: &Binaries, init_options: &[String]) -> Result<PathBuf, Error> {
    let mut hasher = DefaultHasher::new();
    (&binaries.daemon, init_options).hash(&mut hasher);
    let name = format!("{}-{}-{:016x}", kind.name(), binaries.version, hasher.finish());
    let templates = cache().join("templates");
    let finished = templates.join(&name);
    if finished.exists() {
        return Ok(finished);
    }
    fs::create_dir_all(&templates).map_err(Error::file(&templates))?;
    let lock_path = templates.join(format!("{name}.lock"));
    let lock = File::create(&lock_path).map_err(Error::file(&lock_path))?;
    lock.lock().map_err(Error::file(&lock_path))?;
    if finished.exists() {
        return Ok(finished);
    }
    let unfinished = templates.join(format!("{name}.new"));
    let _ = fs::remove_dir_all(&unfinished);
    create(kind, binaries, init_options, &unfinished)?;
    let _ = fs::remove_file(unfinished.join("auto.cnf"));
    fs::rename(&unfinished, &finished).map_err(Error::file(&finished))?;
    Ok(finished)
}

fn create(kind: Kind, binaries: &Binaries, options: &[String], dir: &Path) -> Result<(), Error> {
    if kind == Kind::MySql56 {
        return copy(&binaries.basedir.join("data/mysql"), dir);
    }
    // A directory of its own for temporary files: a starting server removes all temporary tables there, also those of
    // other servers.
    let tmp = dir.with_extension("tmp");
    for dir in [dir, &tmp] {
        fs::create_dir_all(dir).map_err(Error::file(dir))?;
    }
    let mut command = Command::new(&binaries.daemon);
    command.arg("--no-defaults").args(installation(kind, binaries, dir)).args(options);
    command.arg(format!("--tmpdir={}", tmp.display()));
    let made = if kind.is_mariadb() {
        let script = system_tables(&binaries.messages)?;
        run(command.arg("--bootstrap"), &script, limit(SECONDS))
    } else {
        run(command.arg("--initialize-insecure"), b"", limit(SECONDS))
    };
    let _ = fs::remove_dir_all(&tmp);
    made.map(drop)
}

/// SQL that creates MariaDB's system tables, for `--bootstrap`.
fn system_tables(scripts: &Path) -> Result<Vec<u8>, Error> {
    let mut sql = b"CREATE DATABASE mysql;\nCREATE DATABASE test;\nUSE mysql;\n".to_vec();
    // Allows root to log in through the socket without a password or a system user of that name.
    sql.extend_from_slice(b"SET @auth_root_socket=NULL;\n");
    for name in SYSTEM_TABLES {
        let newer = scripts.join(format!("mariadb_{name}"));
        let older = scripts.join(format!("mysql_{name}"));
        let path = if newer.exists() { newer } else { older };
        sql.extend(fs::read(&path).map_err(Error::file(&path))?);
        sql.push(b'\n');
    }
    Ok(sql)
}
