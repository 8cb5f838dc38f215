//! Ports that no two tests share, in whichever processes they run.
//!
//! Who takes a port binds an abstract Unix socket with its number and keeps it to the end of its process: the kernel
//! gives the name to one process alone, frees it with the process, and like ports it belongs to the network namespace.

use std::net::TcpListener;
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{io, process};

use crate::Error;

/// Below the ports that Linux gives to clients (32768 and up): a node of a cluster binds its port only when its state
/// has come, and a client of some other test may have taken it by then.
const PORTS: Range<u32> = 10_000..32_000;

/// What reserves the ports of this process.
static RESERVED: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());

/// A port on 127.0.0.1 that nobody uses. No other call gets it while this process lives, in any process, and no client.
///
/// # Errors
/// None is free.
pub fn free_port() -> Result<u16, Error> {
    free_ports().map(|[port]| port)
}

/// Ports on 127.0.0.1 that nobody uses, all different.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N], Error> {
    let mut ports = [0; N];
    for port in &mut ports {
        *port = next().map_err(Error::file("127.0.0.1"))?;
    }
    Ok(ports)
}

/// Every process begins elsewhere, so as to try few that are taken.
fn next() -> io::Result<u16> {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let (first, many) = (process::id().wrapping_mul(97), PORTS.end - PORTS.start);
    for _ in PORTS {
        let tried = TRIED.fetch_add(1, Ordering::Relaxed);
        let port = PORTS.start + first.wrapping_add(tried) % many;
        let port = u16::try_from(port).map_err(io::Error::other)?;
        if reserve(port)? && is_free(port) {
            return Ok(port);
        }
    }
    Err(io::Error::from(io::ErrorKind::AddrInUse))
}

/// Whether this process has it now.
fn reserve(port: u16) -> io::Result<bool> {
    let name = SocketAddr::from_abstract_name(format!("sealant-test-port-{port}"))?;
    let reserved = match UnixDatagram::bind_addr(&name) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Ok(false),
        reserved => reserved?,
    };
    RESERVED.lock().unwrap_or_else(PoisonError::into_inner).push(reserved);
    Ok(true)
}

/// Whether no program that is not a test listens there.
fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}
