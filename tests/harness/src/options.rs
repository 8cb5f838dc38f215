//! The command line of every server of a kind.
//!
//! Small buffers make starts fast; all paths are in the server's own directory. Options of a test follow these and
//! override them.

use std::path::Path;

use crate::{Binaries, Error, Kind};

/// Free TCP ports that are not bound yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) sql: u16,
    pub(crate) x: u16,
    pub(crate) admin: u16,
}

impl Ports {
    pub(crate) fn free() -> Result<Self, Error> {
        let [sql, x, admin] = ports::free_ports().map_err(Error::file("127.0.0.1"))?;
        Ok(Self { sql, x, admin })
    }
}

/// Options for creating a data directory and for running a server.
pub(crate) fn installation(kind: Kind, binaries: &Binaries, datadir: &Path) -> Vec<String> {
    let mut options = vec![
        format!("--basedir={}", binaries.basedir.display()),
        format!("--lc-messages-dir={}", binaries.messages.display()),
        format!("--datadir={}", datadir.display()),
        "--innodb-buffer-pool-size=64M".to_owned(),
        "--secure-file-priv=".to_owned(),
    ];
    if let Some(plugins) = &binaries.plugins {
        options.push(format!("--plugin-dir={}", plugins.display()));
    }
    options.push(match kind {
        Kind::MySql84 | Kind::MySql97 | Kind::Percona84 => "--innodb-redo-log-capacity=8M".to_owned(),
        _ => "--innodb-log-file-size=8M".to_owned(),
    });
    if rustix::process::geteuid().is_root() {
        options.push("--user=root".to_owned());
    }
    options
}

/// Options only for running a server; `dir` is its private directory.
pub(crate) fn instance(kind: Kind, dir: &Path, ports: Ports, admin: bool) -> Vec<String> {
    let dir = dir.display();
    let mut options = vec![
        format!("--socket={dir}/sql.sock"),
        format!("--pid-file={dir}/pid"),
        format!("--log-error={dir}/error.log"),
        format!("--tmpdir={dir}/tmp"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--port={}", ports.sql),
        format!("--server-id={}", ports.sql),
    ];
    if kind.has_x_protocol() {
        options.extend(listeners(&dir.to_string(), ports, admin));
    } else if kind.is_mariadb() && admin {
        options.push(format!("--extra-port={}", ports.admin));
    }
    options
}

fn listeners(dir: &str, ports: Ports, admin: bool) -> Vec<String> {
    let mut options = vec![
        format!("--mysqlx-socket={dir}/x.sock"),
        "--mysqlx-bind-address=127.0.0.1".to_owned(),
        format!("--mysqlx-port={}", ports.x),
    ];
    if admin {
        options.push("--admin-address=127.0.0.1".to_owned());
        options.push(format!("--admin-port={}", ports.admin));
    }
    options
}
