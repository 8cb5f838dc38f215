//! The compared arms: settings of a server, and connections to it.

use server::dialect::encryption;

/// What a server encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerArm {
    /// Nothing.
    Clear,
    /// Tables, but neither logs nor temporary files.
    Tables,
    /// The tables, all logs and temporary files.
    Everything,
}

/// How clients connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireArm {
    /// By the Unix socket.
    Socket,
    /// By TCP on the loopback interface, in clear text.
    Tcp,
    /// By TCP with TLS 1.3.
    Tls,
}

/// The arms of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arms {
    /// Servers, each with its own copy of the data.
    pub servers: Vec<ServerArm>,
    /// Connections to the server whose data is in clear text.
    pub wires: Vec<WireArm>,
}

impl ServerArm {
    /// All arms.
    pub const ALL: [Self; 3] = [Self::Clear, Self::Tables, Self::Everything];

    /// Name in options and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Tables => "tde",
            Self::Everything => "tde+logs",
        }
    }

    pub(crate) const fn encrypts_tables(self) -> bool {
        !matches!(self, Self::Clear)
    }

    /// Variables that this arm enables. A server has only some of them.
    pub(crate) fn switches(self) -> Vec<&'static str> {
        match self {
            // `Tables` encrypts tables by statements, not by variables.
            Self::Clear | Self::Tables => Vec::new(),
            Self::Everything => encryption::switches_of_everything().collect(),
        }
    }
}

impl WireArm {
    /// All arms.
    pub const ALL: [Self; 3] = [Self::Socket, Self::Tcp, Self::Tls];

    /// Name in options and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
        }
    }
}

impl Arms {
    /// Names of all arms.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        ServerArm::ALL.map(ServerArm::as_str).into_iter().chain(WireArm::ALL.map(WireArm::as_str))
    }

    /// The arms with these names, and the arms that they are compared with; all arms if there are no names.
    #[must_use]
    pub fn named(names: &[String]) -> Self {
        let wanted = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
        let mut servers: Vec<_> = ServerArm::ALL.into_iter().filter(|arm| wanted(arm.as_str())).collect();
        let mut wires: Vec<_> = WireArm::ALL.into_iter().filter(|arm| wanted(arm.as_str())).collect();
        if servers.first() != Some(&ServerArm::Clear) {
            servers.insert(0, ServerArm::Clear);
        }
        if !wires.is_empty() && wires.first() != Some(&WireArm::Socket) {
            wires.insert(0, WireArm::Socket);
        }
        Self { servers, wires }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_baseline_of_an_arm_is_always_included() {
        assert_eq!(Arms::named(&[]).servers.len() + Arms::named(&[]).wires.len(), Arms::all_names().count());
        let tls = Arms::named(&["tls".to_owned()]);
        assert_eq!((tls.servers, tls.wires), (vec![ServerArm::Clear], vec![WireArm::Socket, WireArm::Tls]));
        let tde = Arms::named(&["tde".to_owned()]);
        assert_eq!((tde.servers, tde.wires), (vec![ServerArm::Clear, ServerArm::Tables], Vec::new()));
    }

    #[test]
    fn everything_has_switches_of_every_family() {
        let switches = ServerArm::Everything.switches();
        for name in ["innodb_redo_log_encrypt", "innodb_encrypt_log", "binlog_encryption", "encrypt_tmp_files"] {
            assert!(switches.contains(&name), "{name}");
        }
        assert!(ServerArm::Tables.switches().is_empty());
    }
}
