//! The command line with which a server starts a state transfer method.

use std::path::PathBuf;

use server::{DEFAULT_STATE_TRANSFER_PORT, address::HostPort};

use crate::error::Error;

/// Role of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Receives the state.
    Joiner,
    /// Sends the state.
    Donor,
}

impl Role {
    /// Name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Joiner => "joiner",
            Self::Donor => "donor",
        }
    }
}

/// Arguments of the server. Source: `wsrep_sst.cc` of MariaDB 10.11; other releases add arguments,
/// which are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// `--role`: joiner or donor.
    pub role: Role,
    /// `--address`: for joiners, where to listen; for donors, what the joiner printed.
    pub address: String,
    /// `--datadir`: the server's data directory.
    pub datadir: PathBuf,
    /// `--defaults-file`: option file to read instead of the default ones.
    pub defaults_file: Option<PathBuf>,
    /// `--defaults-extra-file`: option file to read after the default ones.
    pub defaults_extra_file: Option<PathBuf>,
    /// `--defaults-group-suffix`: suffix of further option groups.
    pub defaults_group_suffix: Option<String>,
    /// `--parent`: process id of the server, for joiners.
    pub parent: Option<i32>,
    /// `--progress`: whether the server reads progress reports.
    pub progress: bool,
    /// `--binlog`: base name of the binary log, if there is one.
    pub binlog: Option<PathBuf>,
    /// `--binlog-index`: path of the index of binary logs.
    pub binlog_index: Option<PathBuf>,
    /// `--gtid`: position of the request, for donors.
    pub gtid: Option<String>,
    /// `--gtid-domain-id`: GTID domain of the cluster, for donors.
    pub gtid_domain_id: Option<String>,
    /// `--socket`: socket of the server, for donors.
    pub socket: Option<PathBuf>,
    /// `--bypass`: send only the position.
    pub bypass: bool,
    /// `--mysqld-args`: the server's own command line.
    pub server: Vec<String>,
}

impl Arguments {
    /// Parses the arguments after the program's name, in any order. Unknown ones are ignored.
    ///
    /// # Errors
    /// [`Error::Arguments`] if the role, the address or the data directory is missing.
    pub fn parse(message: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        let mut found = ParsedArguments::default();
        let mut message = message.into_iter().peekable();
        while let Some(word) = message.next() {
            let Some(name) = word.strip_prefix("--") else { continue };
            if name == "mysqld-args" {
                found.server = message.by_ref().collect();
                break;
            }
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (name.to_owned(), message.next_if(|next| !next.starts_with("--"))),
            };
            found.named.push((name.replace('_', "-"), value));
        }
        found.into_arguments()
    }

    /// The address without the path that may follow its port, with the default port if it has none.
    ///
    /// # Errors
    /// [`Error::Arguments`].
    pub(crate) fn host_and_port(&self) -> Result<HostPort, Error> {
        let address = self.address.split('/').next().unwrap_or_default();
        HostPort::with_default_port(address, DEFAULT_STATE_TRANSFER_PORT)
            .map_err(|fault| Error::Arguments(format!("--address {address}: {fault}")))
    }
}

/// Values found on a command line.
#[derive(Default)]
struct ParsedArguments {
    named: Vec<(String, Option<String>)>,
    server: Vec<String>,
}

impl ParsedArguments {
    fn value(&self, name: &str) -> Option<String> {
        let value = self.named.iter().rev().find(|(known, _)| known == name)?.1.clone();
        value.filter(|value| !value.is_empty())
    }

    fn into_arguments(self) -> Result<Arguments, Error> {
        let missing = |name: &str| Error::Arguments(format!("--{name} is missing"));
        let role = match self.value("role").as_deref() {
            Some("joiner") => Role::Joiner,
            Some("donor") => Role::Donor,
            Some(other) => return Err(Error::Arguments(format!("--role {other} is neither joiner nor donor"))),
            None => return Err(missing("role")),
        };
        let path = |name: &str| self.value(name).map(PathBuf::from);
        Ok(Arguments {
            role,
            address: self.value("address").ok_or_else(|| missing("address"))?,
            datadir: path("datadir").ok_or_else(|| missing("datadir"))?,
            defaults_file: path("defaults-file"),
            defaults_extra_file: path("defaults-extra-file"),
            defaults_group_suffix: self.value("defaults-group-suffix"),
            parent: self.value("parent").and_then(|parent| parent.parse().ok()),
            progress: self.value("progress").is_some_and(|progress| progress != "0"),
            binlog: path("binlog"),
            binlog_index: path("binlog-index"),
            gtid: self.value("gtid"),
            gtid_domain_id: self.value("gtid-domain-id"),
            socket: path("socket"),
            bypass: self.named.iter().any(|(name, _)| name == "bypass"),
            server: self.server,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Arguments, Error> {
        Arguments::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_come_in_any_order() {
        let joiner = parse(
            "--parent 77 --progress 0 --address 127.0.0.1:4444 --new-thing of-later --role joiner --datadir /d/ \
             --binlog b --mysqld-args --innodb_undo_directory=/u --role donor",
        )
        .unwrap();
        assert_eq!((joiner.role, joiner.parent, joiner.progress), (Role::Joiner, Some(77), false));
        assert_eq!((joiner.address.as_str(), joiner.datadir), ("127.0.0.1:4444", PathBuf::from("/d/")));
        assert_eq!(joiner.server, ["--innodb_undo_directory=/u", "--role", "donor"]);
        let donor = parse(
            "--gtid u:5 --bypass --role=donor --gtid-domain-id 3 --address h --datadir /d --socket /s --progress 1",
        )
        .unwrap();
        assert!(donor.bypass && donor.progress);
        assert_eq!((donor.gtid.as_deref(), donor.gtid_domain_id.as_deref()), (Some("u:5"), Some("3")));
    }

    #[test]
    fn addresses_have_a_port_or_not() {
        let address = |text: &str| {
            let arguments = parse(&format!("--role donor --datadir /d --address {text}")).unwrap();
            arguments.host_and_port().map(|address| (address.host, address.port))
        };
        for (text, host, port) in [
            ("127.0.0.1", "127.0.0.1", 4444),
            ("db1.example:5555", "db1.example", 5555),
            ("db1.example:5555/sst/path", "db1.example", 5555),
            ("[::1]:6666", "::1", 6666),
            ("[fd00::7]", "fd00::7", 4444),
            ("fd00::7", "fd00::7", 4444),
        ] {
            assert_eq!(address(text).unwrap(), (host.to_owned(), port), "{text}");
        }
        for text in ["db1:http", "db1:", ":4444", "db1:1:4444"] {
            assert!(address(text).is_err(), "{text}: the default port would be another receiver's");
        }
    }

    #[test]
    fn missing_required_arguments_are_refused() {
        for bad in ["--role donor --datadir /d", "--role x --address h --datadir /d", "--address h --datadir /d", ""] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
