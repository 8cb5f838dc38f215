//! The network between the two sides: the loopback interface, or a link of limited rate.

use std::{
    fmt,
    io::{BufRead, BufReader},
    net::Ipv4Addr,
    process::{Child, Command, Stdio},
    str::FromStr,
};

use crate::{Error, program};

/// Bits per second, written `100Mbit` or `1Gbit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u64);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const UNITS: [(&str, u64); 3] = [("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)];
        let lower = text.to_ascii_lowercase();
        let unit = UNITS.iter().find_map(|(unit, bits)| Some((lower.strip_suffix(unit)?, bits)));
        let bits = unit.and_then(|(number, bits)| number.parse::<u64>().ok()?.checked_mul(*bits));
        bits.filter(|bits| *bits > 0).map(Self).ok_or_else(|| "a number followed by kbit, Mbit or Gbit".to_owned())
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bits if bits.is_multiple_of(1_000_000_000) => write!(f, "{} Gbit/s", bits / 1_000_000_000),
            bits if bits.is_multiple_of(1_000_000) => write!(f, "{} Mbit/s", bits / 1_000_000),
            bits => write!(f, "{} kbit/s", bits / 1_000),
        }
    }
}

/// The link from the sender (near) to the receiver (far).
#[derive(Debug)]
pub enum Link {
    /// The loopback interface.
    Loopback,
    /// Two network namespaces, joined by a pair of interfaces with limited rate.
    Limited(Box<Namespaces>),
}

impl Link {
    /// A link limited to `rate` in both directions. It does not change the machine's own network, and the kernel
    /// removes it when this process ends for whatever reason.
    ///
    /// # Errors
    /// [`Error::Link`] without root, iproute2, or the kernel modules `veth` and `sch_tbf`.
    pub fn limited(rate: Rate) -> Result<Self, Error> {
        Namespaces::joined(rate).map(|namespaces| Self::Limited(Box::new(namespaces)))
    }

    /// Address of the receiver.
    pub(crate) fn address(&self) -> Ipv4Addr {
        match self {
            Self::Loopback => Ipv4Addr::LOCALHOST,
            Self::Limited(_) => RECEIVER_ADDRESS,
        }
    }

    /// A command that runs on the sender's side.
    pub(crate) fn on_sender(&self, program: &str) -> Command {
        match self {
            Self::Loopback => Command::new(program),
            Self::Limited(namespaces) => namespaces.near.command(program),
        }
    }

    /// A command that runs on the receiver's side.
    pub(crate) fn on_receiver(&self, program: &str) -> Command {
        match self {
            Self::Loopback => Command::new(program),
            Self::Limited(namespaces) => namespaces.far.command(program),
        }
    }
}

const SENDER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const RECEIVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// The two ends of a link.
#[derive(Debug)]
pub struct Namespaces {
    near: Namespace,
    far: Namespace,
}

impl Namespaces {
    fn joined(rate: Rate) -> Result<Self, Error> {
        let namespaces = Self { near: Namespace::new()?, far: Namespace::new()? };
        let far = namespaces.far.holder.id().to_string();
        let pair = ["link", "add", "near0", "type", "veth", "peer", "name", "far0", "netns", &far];
        run(namespaces.near.command("ip").args(pair))?;
        namespaces.near.bring_up("near0", SENDER_ADDRESS, rate)?;
        namespaces.far.bring_up("far0", RECEIVER_ADDRESS, rate)?;
        Ok(namespaces)
    }
}

/// An anonymous network namespace. The kernel removes it with the process that is in it; that process ends with this
/// one, because it then reads the end of its input.
#[derive(Debug)]
struct Namespace {
    holder: Child,
}

impl Namespace {
    fn new() -> Result<Self, Error> {
        let mut command = Command::new("unshare");
        command.args(["--net", "--", "sh", "-c", "echo there && exec cat"]);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let holder = spawned.map_err(|e| refused(&format!("unshare: {e}")))?;
        let mut namespace = Self { holder };
        let mut line = String::new();
        if let Some(output) = namespace.holder.stdout.take() {
            let _ = BufReader::new(output).read_line(&mut line);
        }
        if line.trim() != "there" {
            let mut message = String::new();
            if let Some(errors) = namespace.holder.stderr.take() {
                let _ = BufReader::new(errors).read_line(&mut message);
            }
            return Err(refused(message.trim()));
        }
        Ok(namespace)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.holder.id())).args(["--", program]);
        command
    }

    fn bring_up(&self, interface: &str, address: Ipv4Addr, Rate(bits): Rate) -> Result<(), Error> {
        run(self.command("ip").args(["link", "set", "lo", "up"]))?;
        run(self.command("ip").args(["address", "add", &format!("{address}/24"), "dev", interface]))?;
        run(self.command("ip").args(["link", "set", interface, "up"]))?;
        // A millisecond's worth of data, but at least a few of the largest packets.
        let burst = (bits / 8 / 1000).max(256 << 10);
        let limit = ["rate".to_owned(), format!("{bits}bit"), "burst".to_owned(), format!("{burst}b")];
        let qdisc = ["qdisc", "add", "dev", interface, "root", "tbf"];
        run(self.command("tc").args(qdisc).args(limit).args(["latency", "50ms"]))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn run(command: &mut Command) -> Result<(), Error> {
    let output = program::output(command).map_err(|error| refused(&error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(refused(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default()))
}

fn refused(reason: &str) -> Error {
    Error::Link { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_spelled_as_tc_does() {
        assert_eq!("1Gbit".parse(), Ok(Rate(1_000_000_000)));
        assert_eq!("2500kbit".parse(), Ok(Rate(2_500_000)));
        assert_eq!(Rate(100_000_000).to_string(), "100 Mbit/s");
        for wrong in ["1", "1G", "0Gbit", "-1Gbit", "Gbit", "18446744073709551615Gbit"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }
}
