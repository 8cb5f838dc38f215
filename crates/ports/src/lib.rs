//! Loopback ports for servers that benches and tests start: no two processes of Sealant get the same one.
//!
//! To reserve a port, a process binds an abstract Unix socket named after it and keeps it until the process ends. The
//! kernel gives the name to only one process and frees it with the process; like ports, it belongs to the network
//! namespace. Binding the port itself and closing it again would leave it to the next process that asks.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{io, process};

/// Below the ports that Linux assigns to clients (32768 and up): a cluster node binds its port only after its state
/// transfer, and a client could have taken it by then.
const PORTS: Range<u32> = 10_000..32_000;

/// Holds the reservations of this process.
static RESERVED: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());

/// A port on 127.0.0.1 without a listener. No other call in any process gets it while this process lives.
///
/// # Errors
/// No port is free.
pub fn free_port() -> io::Result<u16> {
    free_ports().map(|[port]| port)
}

/// Different ports on 127.0.0.1 without listeners.
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

/// Each process starts at another port, so that few attempts hit a reserved one.
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

/// Reserves the port; returns whether that succeeded.
fn reserve(port: u16) -> io::Result<bool> {
    let name = SocketAddr::from_abstract_name(format!("sealant-port-{port}"))?;
    let reserved = match UnixDatagram::bind_addr(&name) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Ok(false),
        reserved => reserved?,
    };
    RESERVED.lock().unwrap_or_else(PoisonError::into_inner).push(reserved);
    Ok(true)
}

/// Whether no listener uses the port: other programs do not reserve the ports that they use.
fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_reserved_once() {
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
