//! The compared arms: settings of a server, and connections to it.

use pki::KeyType;
use server::dialect::encryption;

use super::{tables::TableFormat, volume::VolumeKind};

/// A server, and what it encrypts and compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerArm {
    name: &'static str,
    /// Names of the arms that it is compared with.
    compared_with: &'static [&'static str],
    /// Whether it is measured if no arms are named.
    is_default: bool,
    pub(crate) tables: TableFormat,
    /// Whether it also encrypts logs, temporary files and its own tables.
    pub(crate) everything: bool,
    /// Whether MariaDB's pages are encrypted by AES in CTR mode, not in CBC mode.
    pub(crate) counter_mode: bool,
    /// Whether keys are rotated in the middle of each run.
    pub(crate) rotates: bool,
    /// The volume for its directory, if it has one of its own.
    pub(crate) volume: Option<VolumeKind>,
}

/// How clients connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireArm {
    /// By the Unix socket.
    Socket,
    /// By TCP on the loopback interface, in clear text.
    Tcp,
    /// By TCP with TLS 1.3; the server's certificate has a key of this kind.
    Tls(KeyType),
    /// By TCP through `sealant tunnel`, whose far end is on the server's socket.
    Tunnel,
}

/// The arms of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arms {
    /// Servers, each with its own copy of the data.
    pub servers: Vec<ServerArm>,
    /// Connections to the server whose data is in clear text.
    pub wires: Vec<WireArm>,
    /// Arms that were wanted and cannot be measured, each with its reason.
    pub left_out: Vec<String>,
    /// The servers that were wanted, without those that they are compared with.
    wanted: Vec<ServerArm>,
}

const CLEAR: &str = "clear";
const TABLES: &str = "tde";
const COMPRESSED: &str = "compressed";
const IMAGE: &str = "image";
const CLEAR_TABLES: TableFormat = TableFormat { encrypted: false, compressed: false, by_default: false };

impl ServerArm {
    /// Nothing is encrypted.
    pub const CLEAR: Self = Self {
        name: CLEAR,
        compared_with: &[],
        is_default: true,
        tables: CLEAR_TABLES,
        everything: false,
        counter_mode: false,
        rotates: false,
        volume: None,
    };
    /// Tables are encrypted, but neither logs nor temporary files.
    pub const TABLES: Self = Self {
        name: TABLES,
        compared_with: &[CLEAR],
        tables: TableFormat { encrypted: true, ..CLEAR_TABLES },
        ..Self::CLEAR
    };
    /// Tables, all logs and temporary files are encrypted.
    pub const EVERYTHING: Self = Self { name: "tde+logs", everything: true, ..Self::TABLES };
    const COMPRESSED: Self = Self {
        name: COMPRESSED,
        compared_with: &[CLEAR],
        is_default: false,
        tables: TableFormat { compressed: true, ..CLEAR_TABLES },
        ..Self::CLEAR
    };
    const COMPRESSED_TABLES: Self = Self {
        name: "compressed+tde",
        compared_with: &[CLEAR, COMPRESSED],
        tables: TableFormat { encrypted: true, compressed: true, ..CLEAR_TABLES },
        ..Self::COMPRESSED
    };
    const COUNTER_MODE: Self = Self {
        name: "tde-ctr",
        compared_with: &[CLEAR, TABLES],
        is_default: false,
        counter_mode: true,
        ..Self::TABLES
    };
    const ROTATION: Self = Self {
        name: "rotation",
        compared_with: &[TABLES],
        is_default: false,
        tables: TableFormat { encrypted: true, by_default: true, ..CLEAR_TABLES },
        rotates: true,
        ..Self::TABLES
    };

    const IMAGE: Self = Self {
        name: IMAGE,
        compared_with: &[CLEAR],
        is_default: false,
        volume: Some(VolumeKind::Clear),
        ..Self::CLEAR
    };
    const LUKS: Self =
        Self { name: "luks", compared_with: &[CLEAR, IMAGE], volume: Some(VolumeKind::Luks), ..Self::IMAGE };

    /// All arms. An arm comes after those that it is compared with.
    pub const ALL: [Self; 9] = [
        Self::CLEAR,
        Self::TABLES,
        Self::EVERYTHING,
        Self::COMPRESSED,
        Self::COMPRESSED_TABLES,
        Self::COUNTER_MODE,
        Self::ROTATION,
        Self::IMAGE,
        Self::LUKS,
    ];

    /// Name in options and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.name
    }

    /// Names of the arms that it is compared with.
    pub(crate) const fn compared_with(self) -> &'static [&'static str] {
        self.compared_with
    }

    /// Whether the kernel encrypts its directory.
    pub(crate) fn encrypts_volume(self) -> bool {
        self.volume == Some(VolumeKind::Luks)
    }

    /// Why this family of servers, or this machine, does not have it.
    pub(crate) fn obstacle(self, mariadb: bool) -> Option<String> {
        if self.counter_mode && !mariadb {
            return Some("MySQL encrypts pages in CBC mode only".to_owned());
        }
        self.volume?.obstacle()
    }

    /// Variables that this arm enables. A server has only some of them.
    pub(crate) fn switches(self) -> Vec<&'static str> {
        // Tables are encrypted by statements, not by variables.
        if self.everything { encryption::switches_of_everything().collect() } else { Vec::new() }
    }
}

impl WireArm {
    /// TLS with the kind of key that all other measurements use.
    pub const TLS: Self = Self::Tls(KeyType::EcdsaP256);

    /// All arms.
    pub const ALL: [Self; 8] = [
        Self::Socket,
        Self::Tcp,
        Self::TLS,
        Self::Tls(KeyType::EcdsaP384),
        Self::Tls(KeyType::Rsa2048),
        Self::Tls(KeyType::Rsa3072),
        Self::Tls(KeyType::Rsa4096),
        Self::Tunnel,
    ];

    /// Name in options and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Tcp => "tcp",
            Self::Tls(KeyType::EcdsaP256) => "tls",
            Self::Tls(KeyType::EcdsaP384) => "tls-p384",
            Self::Tls(KeyType::Rsa2048) => "tls-rsa2048",
            Self::Tls(KeyType::Rsa3072) => "tls-rsa3072",
            Self::Tls(KeyType::Rsa4096) => "tls-rsa4096",
            Self::Tunnel => "tunnel",
        }
    }

    /// Whether it is measured if no arms are named.
    const fn is_default(self) -> bool {
        matches!(self, Self::Socket | Self::Tcp | Self::Tls(KeyType::EcdsaP256))
    }

    /// The arms that it is compared with, if they are measured. A comparison of the socket with TLS mixes the cost of
    /// TLS with that of TCP.
    pub(crate) const fn compared_with(self) -> &'static [Self] {
        match self {
            Self::Socket => &[],
            Self::Tcp => &[Self::Socket],
            Self::Tls(KeyType::EcdsaP256) => &[Self::Socket, Self::Tcp],
            Self::Tls(_) | Self::Tunnel => &[Self::Socket, Self::Tcp, Self::TLS],
        }
    }
}

impl Arms {
    /// Names of all arms.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        ServerArm::ALL.map(ServerArm::as_str).into_iter().chain(WireArm::ALL.map(WireArm::as_str))
    }

    /// The arms with these names, and the arms that they are compared with; the default arms if there are no names.
    #[must_use]
    pub fn named(names: &[String]) -> Self {
        let wanted = |name: &str, is_default: bool| match names {
            [] => is_default,
            names => names.iter().any(|one| one == name),
        };
        let chosen: Vec<_> = ServerArm::ALL.into_iter().filter(|arm| wanted(arm.name, arm.is_default)).collect();
        let mut wires: Vec<_> = WireArm::ALL.into_iter().filter(|arm| wanted(arm.as_str(), arm.is_default())).collect();
        if !wires.is_empty() && wires.first() != Some(&WireArm::Socket) {
            wires.insert(0, WireArm::Socket);
        }
        Self { servers: with_baselines(&chosen), wires, left_out: Vec::new(), wanted: chosen }
    }

    /// Leaves out the servers with an obstacle, and those with which only they are compared.
    pub(crate) fn leave_out(&mut self, obstacle: impl Fn(ServerArm) -> Option<String>) {
        let mut left_out = Vec::new();
        self.wanted.retain(|arm| match obstacle(*arm) {
            Some(reason) => {
                left_out.push(format!("{} was left out: {reason}", arm.name));
                false
            }
            None => true,
        });
        self.servers = with_baselines(&self.wanted);
        self.left_out.extend(left_out);
    }
}

/// These servers and those that they are compared with, in their order.
fn with_baselines(chosen: &[ServerArm]) -> Vec<ServerArm> {
    let mut needed = vec![CLEAR];
    needed.extend(chosen.iter().flat_map(|arm| arm.compared_with.iter().copied().chain([arm.name])));
    ServerArm::ALL.into_iter().filter(|arm| needed.contains(&arm.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> (Vec<&'static str>, Vec<&'static str>) {
        let Arms { servers, wires, .. } = Arms::named(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        (servers.iter().map(|arm| arm.name).collect(), wires.iter().map(|arm| arm.as_str()).collect())
    }

    #[test]
    fn the_baseline_of_an_arm_is_always_included() {
        assert_eq!(named(&[]), (vec!["clear", "tde", "tde+logs"], vec!["socket", "tcp", "tls"]));
        assert_eq!(named(&["tls"]), (vec!["clear"], vec!["socket", "tls"]));
        assert_eq!(named(&["tls-rsa4096", "tcp"]), (vec!["clear"], vec!["socket", "tcp", "tls-rsa4096"]));
        assert_eq!(named(&["tde"]), (vec!["clear", "tde"], vec![]));
        assert_eq!(named(&["compressed+tde"]), (vec!["clear", "compressed", "compressed+tde"], vec![]));
        assert_eq!(named(&["rotation", "tunnel"]), (vec!["clear", "tde", "rotation"], vec!["socket", "tunnel"]));
        assert_eq!(named(&["luks"]), (vec!["clear", "image", "luks"], vec![]));
    }

    #[test]
    fn an_arm_is_left_out_with_its_own_baseline_and_its_reason() {
        let mut arms = Arms::named(&["luks".to_owned(), "compressed+tde".to_owned()]);
        arms.leave_out(|arm| arm.volume.map(|_| "no device-mapper".to_owned()));
        let names: Vec<&str> = arms.servers.iter().map(|arm| arm.name).collect();
        assert_eq!(names, ["clear", "compressed", "compressed+tde"]);
        assert_eq!(arms.left_out, ["luks was left out: no device-mapper"]);
        let mysql = ServerArm::COUNTER_MODE.obstacle(false);
        assert!(mysql.is_some_and(|reason| reason.contains("CBC")) && ServerArm::COUNTER_MODE.obstacle(true).is_none());
    }

    #[test]
    fn an_arm_comes_after_those_that_it_is_compared_with() {
        for (at, arm) in ServerArm::ALL.iter().enumerate() {
            for other in arm.compared_with {
                assert!(ServerArm::ALL[..at].iter().any(|one| one.name == *other), "{} {other}", arm.name);
            }
        }
    }

    #[test]
    fn everything_has_switches_of_every_family() {
        let switches = ServerArm::EVERYTHING.switches();
        for name in ["innodb_redo_log_encrypt", "innodb_encrypt_log", "binlog_encryption", "encrypt_tmp_files"] {
            assert!(switches.contains(&name), "{name}");
        }
        assert!(ServerArm::TABLES.switches().is_empty());
    }
}
