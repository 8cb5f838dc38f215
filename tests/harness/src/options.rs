//! The command line that every server of a kind starts with.
//!
//! Small buffers keep starts fast; paths stay in the server's own directory.
//! Options of a test come after these and so win.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Binaries, Error, Kind};

/// Free TCP ports, none of them bound yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) sql: u16,
    pub(crate) x: u16,
    pub(crate) admin: u16,
}

impl Ports {
    pub(crate) fn free() -> Result<Self, Error> {
        let [sql, x, admin] = free_ports()?;
        Ok(Self { sql, x, admin })
    }
}

/// Below the ports that Linux gives to clients (32768 and up): a node of a cluster binds its port only when its state
/// has come, and a client of some other test may have taken it by then.
const PORTS: std::ops::Range<u32> = 10_000..32_000;

/// A port on 127.0.0.1 that was free a moment ago. No other call of this process gets it, and no client.
///
/// # Errors
/// None is free.
pub fn free_port() -> Result<u16, Error> {
    free_ports().map(|[port]| port)
}

/// Ports on 127.0.0.1 that were free a moment ago, all different.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N], Error> {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(97);
    let mut ports = [0; N];
    for port in &mut ports {
        *port = loop {
            let taken = TAKEN.fetch_add(1, Ordering::Relaxed);
            let many = PORTS.end - PORTS.start;
            let next = PORTS.start + first.wrapping_add(taken) % many;
            let next = u16::try_from(next).unwrap_or_default();
            match TcpListener::bind(("127.0.0.1", next)) {
                Ok(_) => break next,
                Err(error) if taken > many => return Err(Error::file("127.0.0.1")(error)),
                Err(_) => {}
            }
        };
    }
    Ok(ports)
}

/// What both creating a data directory and running a server need.
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
        Kind::MySql97 => "--innodb-redo-log-capacity=8M".to_owned(),
        _ => "--innodb-log-file-size=8M".to_owned(),
    });
    if rustix::process::geteuid().is_root() {
        options.push("--user=root".to_owned());
    }
    options
}

/// What only a running server needs; `dir` is its private directory.
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
    match kind {
        Kind::MySql97 => options.extend(mysql97(&dir.to_string(), ports, admin)),
        Kind::MySql56 => {}
        Kind::MariaDb1011 | Kind::MariaDb118 if admin => {
            options.push(format!("--extra-port={}", ports.admin));
        }
        Kind::MariaDb1011 | Kind::MariaDb118 => {}
    }
    options
}

fn mysql97(dir: &str, ports: Ports, admin: bool) -> Vec<String> {
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
