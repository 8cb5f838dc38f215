//! Captures packets of this host with a packet socket (packet(7)). Nothing is sent. No interface is switched to
//! promiscuous mode, so only packets that this host sends or receives are captured.

mod filter;

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use self::filter::SNAP_BYTES;
use crate::error::Error;
use crate::flow::FlowTable;
use crate::packet::{Link, is_fragment, parse};
use crate::service::MAX_PORTS;

/// Kernel buffer for packets that this program has not read yet, in bytes. The system may allow less.
const QUEUE_BYTES: usize = 8 << 20;

/// Interval at which the time limit and the stop flag are checked.
const TICK: Duration = Duration::from_millis(100);

/// Maximum number of queued packets that are read at the end.
const MAX_QUEUED: usize = 100_000;

/// `ETH_P_ALL` of `linux/if_ether.h`: includes outgoing packets.
const EVERY_PROTOCOL: u16 = 3;

/// A capture of the packets of some ports.
#[derive(Debug)]
pub(crate) struct Capture {
    socket: Socket,
}

impl Capture {
    /// Starts to capture packets of these ports, on one interface or on all.
    ///
    /// # Errors
    /// [`Error::NotPermitted`], [`Error::NoInterface`], [`Error::TooManyPorts`], [`Error::Socket`].
    pub(crate) fn open(ports: &[u16], interface: Option<&str>) -> Result<Self, Error> {
        if ports.len() > MAX_PORTS {
            return Err(Error::TooManyPorts { count: ports.len() });
        }
        let interface = interface.map(index_of).transpose()?;
        let protocol = Protocol::from(i32::from(EVERY_PROTOCOL.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol)).map_err(|error| {
            if error.kind() == io::ErrorKind::PermissionDenied { Error::NotPermitted } else { Error::Socket(error) }
        })?;
        let program = filter::program(ports, interface, index_of("lo").ok());
        let kernel: Vec<SockFilter> =
            program.iter().map(|one| SockFilter::new(one.code, one.if_true, one.if_false, one.operand)).collect();
        let capture = Self { socket };
        capture.socket.attach_filter(&kernel).map_err(Error::Socket)?;
        capture.drain().map_err(Error::Socket)?;
        // The kernel reduces the size to its limit.
        let _ = capture.socket.set_recv_buffer_size(QUEUE_BYTES);
        capture.socket.set_read_timeout(Some(TICK)).map_err(Error::Socket)?;
        Ok(capture)
    }

    /// Adds packets to the table until the time is over or the flag is set.
    ///
    /// # Errors
    /// [`Error::Socket`].
    pub(crate) fn run(&self, table: &mut FlowTable, time: Duration, stop: &AtomicBool) -> Result<(), Error> {
        let begun = Instant::now();
        let mut packet = [0; SNAP_BYTES as usize];
        while begun.elapsed() < time && !stop.load(Ordering::Relaxed) {
            match (&self.socket).read(&mut packet) {
                Ok(length) => take(table, packet.get(..length).unwrap_or_default()),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(Error::Socket(error)),
            }
        }
        self.take_queued(table, &mut packet).map_err(Error::Socket)
    }

    /// Adds the packets that the kernel has queued to the table: at most [`MAX_QUEUED`], since new ones keep arriving.
    fn take_queued(&self, table: &mut FlowTable, packet: &mut [u8]) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        for _ in 0..MAX_QUEUED {
            match (&self.socket).read(packet) {
                Ok(length) => take(table, packet.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Discards packets that arrived before the filter was attached.
    fn drain(&self) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        while (&self.socket).read(&mut [0; 1]).is_ok() {}
        self.socket.set_nonblocking(false)
    }
}

fn take(table: &mut FlowTable, packet: &[u8]) {
    match parse(Link::Ip, packet) {
        Some(segment) => table.push(Timestamp::now(), &segment),
        None if is_fragment(Link::Ip, packet) => table.skip(),
        None => {}
    }
}

/// Whether reading can continue after this error: no packet arrived, a signal arrived, or an interface went down.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, NetworkDown, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | NetworkDown | TimedOut | WouldBlock)
}

/// The kernel's number of an interface in this network namespace.
fn index_of(name: &str) -> Result<u32, Error> {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(|error| Error::Socket(error.into()))?;
    name_to_index(any, name).map_err(|_| Error::NoInterface { name: name.to_owned() })
}
