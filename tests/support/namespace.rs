//! A network namespace, which is another host as far as packets are concerned.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{self, Command};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where iproute2 keeps the names of namespaces.
const NAMES: &str = "/run/netns";

/// A namespace that is connected to this one by a pair of interfaces.
pub(crate) struct Namespace {
    name: String,
    /// Address of this side; the other one has the next.
    address: Ipv4Addr,
}

impl Namespace {
    /// Creates one; `None` if this user may not.
    pub(crate) fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            harness::skip("network namespaces are made by root only");
            return None;
        }
        static CLEANED: Once = Once::new();
        static MADE: AtomicU32 = AtomicU32::new(0);
        CLEANED.call_once(remove_abandoned);
        // With a letter for its interface, it must not be longer than 15 characters.
        let name = format!("sl{}n{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let (here, there) = (interface(&name), format!("{name}b"));
        // Removes what was made if the rest fails.
        let mut made = Self { name, address: Ipv4Addr::UNSPECIFIED };
        let name = &made.name;
        ip(&["netns", "add", name]);
        ip(&["link", "add", &here, "type", "veth", "peer", "name", &there, "netns", name]);
        let address = network_of(&here);
        ip(&["address", "add", &format!("{address}/30"), "dev", &here]);
        ip(&["-n", name, "address", "add", &format!("{}/30", next(address)), "dev", &there]);
        ip(&["link", "set", &here, "up"]);
        ip(&["-n", name, "link", "set", &there, "up"]);
        ip(&["-n", name, "link", "set", "lo", "up"]);
        made.address = address;
        Some(made)
    }

    /// Its name, for [`harness::ServerBuilder::in_namespace`].
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Name of the interface on this side.
    pub(crate) fn interface(&self) -> String {
        interface(&self.name)
    }

    /// Address of this side.
    pub(crate) const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Address of the other side.
    pub(crate) fn address_there(&self) -> Ipv4Addr {
        next(self.address)
    }

    /// The same program in the namespace.
    pub(crate) fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.name]).arg(command.get_program()).args(command.get_args());
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

fn interface(namespace: &str) -> String {
    format!("{namespace}a")
}

#[track_caller]
fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments:?}");
}

/// First address of a network for this interface alone. The kernel gives every interface another index, so that no
/// other test, and no interface that an interrupted one has left, has the same addresses.
fn network_of(interface: &str) -> Ipv4Addr {
    let index = fs::read_to_string(format!("/sys/class/net/{interface}/ifindex")).expect("it was made");
    let index: u32 = index.trim().parse().expect("a number");
    // Networks of four addresses in 10.231.0.0/16.
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 231, 0, 1).to_bits() + index % (1 << 14) * 4)
}

fn next(address: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from_bits(address.to_bits() + 1)
}

/// Removes what tests have left that were killed, and no longer run.
fn remove_abandoned() {
    let Ok(names) = fs::read_dir(NAMES) else { return };
    let names = names.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| is_abandoned(name)).for_each(|name| remove(&name));
}

/// Whether the process that made the namespace has ended. This process has made none yet, whatever its number was
/// before.
fn is_abandoned(name: &str) -> bool {
    let maker = name.strip_prefix("sl").and_then(|rest| rest.split_once('n')).and_then(|(pid, _)| pid.parse().ok());
    maker.is_some_and(|pid: u32| pid == process::id() || !Path::new("/proc").join(pid.to_string()).exists())
}

fn remove(namespace: &str) {
    // A process that is left in the namespace would keep it, and both ends of the pair.
    let _ = Command::new("ip").args(["link", "delete", &interface(namespace)]).output();
    let _ = Command::new("ip").args(["netns", "delete", namespace]).output();
}
