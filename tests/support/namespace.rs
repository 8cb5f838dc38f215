//! A network namespace, which is another host as far as packets are concerned.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A namespace that is connected to this one by a pair of interfaces.
pub(crate) struct Namespace {
    name: String,
    subnet: String,
}

impl Namespace {
    /// Creates one; `None` if this user may not. `subnet` are the first three numbers of its addresses.
    pub(crate) fn new(subnet: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            harness::skip("network namespaces are made by root only");
            return None;
        }
        static MADE: AtomicU32 = AtomicU32::new(0);
        // With a letter for its interface, it must not be longer than 15 characters.
        let name = format!("sl{}n{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let made = Self { name, subnet: subnet.to_owned() };
        let (here, there) = (made.interface(), format!("{}b", made.name));
        let (our, their) = (format!("{}/24", made.address()), format!("{}/24", made.address_there()));
        for arguments in [
            vec!["netns", "add", &made.name],
            vec!["link", "add", &here, "type", "veth", "peer", "name", &there, "netns", &made.name],
            vec!["address", "add", &our, "dev", &here],
            vec!["link", "set", &here, "up"],
            vec!["-n", &made.name, "address", "add", &their, "dev", &there],
            vec!["-n", &made.name, "link", "set", &there, "up"],
            vec!["-n", &made.name, "link", "set", "lo", "up"],
        ] {
            let status = Command::new("ip").args(&arguments).status().expect("iproute2 is installed");
            assert!(status.success(), "ip {arguments:?}");
        }
        Some(made)
    }

    /// Its name, for [`harness::ServerBuilder::in_namespace`].
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Name of the interface on this side.
    pub(crate) fn interface(&self) -> String {
        format!("{}a", self.name)
    }

    /// Address of this side.
    pub(crate) fn address(&self) -> String {
        format!("{}.1", self.subnet)
    }

    /// Address of the other side.
    pub(crate) fn address_there(&self) -> String {
        format!("{}.2", self.subnet)
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
        // Its interface goes with it, and so does the other one of the pair.
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).status();
    }
}
