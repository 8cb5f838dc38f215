//! Ports of the loopback interface for servers that a bench or a test starts: no two processes of Sealant get the same.
//!
//! Who reserves a port binds an abstract Unix socket with its number and keeps it to the end of its process: the kernel
//! gives the name to one process alone, frees it with the process, and like ports it belongs to the network namespace.
//! Binding the port itself and closing it again would leave it to the next process that asks.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{io, process};

/// Below the ports that Linux gives to clients (32768 and up): a node of a cluster binds its port only when its state
/// has come, and some client may have taken it by then.
const PORTS: Range<u32> = 10_000..32_000;

/// What reserves the ports of this process.
static RESERVED: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());

/// A port on 127.0.0.1 that nobody listens on. No other call gets it while this process lives, in any process.
///
/// # Errors
/// None is free.
pub fn free_port() -> io::Result<u16> {
    free_ports().map(|[port]| port)
}

/// Ports on 127.0.0.1 that nobody listens on, all different.
///
/// # Errors
/// As [`free_port`].
pub fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    let mut ports = [0; N];
    for port in &mut ports {
        *port = next()?;
    }
    Ok(ports)
}

/// Every process begins at another port, so that few attempts meet one that is reserved.
fn next() -> io::Result<u16> {
    static ATTEMPTS: AtomicU32 = AtomicU32::new(0);
    let (first, many) = (process::id().wrapping_mul(97), PORTS.end - PORTS.start);
    for _ in PORTS {
        let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        let port = PORTS.start + first.wrapping_add(attempt) % many;
        let port = u16::try_from(port).map_err(io::Error::other)?;
        if reserve(port)? && is_free(port) {
            return Ok(port);
        }
    }
    Err(io::Error::from(io::ErrorKind::AddrInUse))
}

/// Whether this process has it now.
fn reserve(port: u16) -> io::Result<bool> {
    let name = SocketAddr::from_abstract_name(format!("sealant-port-{port}"))?;
    let reserved = match UnixDatagram::bind_addr(&name) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Ok(false),
        reserved => reserved?,
    };
    RESERVED.lock().unwrap_or_else(PoisonError::into_inner).push(reserved);
    Ok(true)
}

/// Whether no program that does not reserve its port listens there.
fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_given_once() {
        let ports: [u16; 50] = free_ports().unwrap();
        let different: std::collections::HashSet<_> = ports.iter().collect();
        assert_eq!(different.len(), ports.len());
        assert!(!ports.iter().any(|port| reserve(*port).unwrap()));
    }

    #[test]
    fn a_port_with_a_listener_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }
}
