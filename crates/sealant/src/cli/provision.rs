//! `sealant provision`: makes a copy a replica or a member of a group.

use std::path::PathBuf;
use std::time::Duration;

use ::replication::statements::{Source, Statements};
use ::replication::{AFTER_PLAN, Event, NewServer, Peers};
use ::server::login::password_file;
use clap::{Args, ValueEnum};

use super::connect::{Address, Login, NoServer, connection};
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, hint, info, warning};
use crate::process::forbid_dumps;

/// Make a server that runs on a copy of another server's data a replica or group member of that server
///
/// The copy comes from `sealant send --live` or `sealant snapshot`. The new server must be running on it, with a
/// server_id of its own. The position comes from the copy: MySQL's from the copied binary log, MariaDB's from its
/// gtid_binlog_pos. If there is none, or the source no longer has the changes since then, nothing is done. Without
/// --yes the statements are written to standard output, with dots in place of the password.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Provision {
    /// Server whose data was copied, as mysql://USER@HOST:PORT
    #[arg(long, value_name = "URL")]
    source: String,
    /// Data directory of the new server
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Role of the new server
    #[arg(long, alias = "as", value_enum)]
    role: Role,
    /// Unix socket of the new server
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Account to log in with on the new server's socket
    #[arg(long, value_name = "NAME", default_value = "root")]
    local_user: String,
    /// Read the password of --local-user from this file; a line break at its end is ignored
    #[arg(long, value_name = "FILE")]
    local_password_file: Option<PathBuf>,
    /// Account on the source for replication
    #[arg(long, value_name = "NAME")]
    replication_user: String,
    /// Read the password of --replication-user from this file; a line break at its end is ignored
    #[arg(long, value_name = "FILE")]
    replication_password_file: Option<PathBuf>,
    /// CA certificates to trust for the source's certificate on the replication link, PEM
    #[arg(long, value_name = "FILE")]
    replication_ca: Option<PathBuf>,
    /// Allow a replication link without --replication-ca: the new server then sends the password of --replication-user
    /// to whoever answers at the source's address
    #[arg(long)]
    insecure_unverified_source: bool,
    /// Run the statements, and wait until the new server has caught up
    #[arg(long, requires = "replication_password_file")]
    yes: bool,
    /// How long to wait until the new server has caught up
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = value::time)]
    wait: Duration,
    #[command(flatten)]
    login: Login,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Role {
    /// A replica, by GTID and TLS
    Replica,
    /// A member of the source's replication group
    GroupMember,
    /// Always refused: start a node of a Galera cluster with wsrep_sst_method=sealant instead
    Galera,
}

const EXAMPLES: &str = "\
Examples:
  sealant provision --source mysql://admin@db1:3306 --into /var/lib/mysql --socket /run/mysqld/mysqld.sock \\
      --role replica --replication-user repl --tls-ca ca.pem --replication-ca ca.pem
  sealant provision … --replication-password-file pw --yes";

const EXITS: exit::Codes = &[
    (Exit::Clean, "done, or the statements were written"),
    (Exit::Failed, "not done: no position, or the server did not catch up"),
];

impl Role {
    /// The role that statements give a server.
    const fn for_statements(self) -> Result<::replication::Role, ::replication::Error> {
        match self {
            Self::Replica => Ok(::replication::Role::Replica),
            Self::GroupMember => Ok(::replication::Role::GroupMember),
            Self::Galera => Err(::replication::Error::GaleraNode),
        }
    }
}

const NO_SOURCE: NoServer = NoServer { error: "no source is named", hint: "give --source mysql://USER@HOST:PORT" };

impl Provision {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        let role = self.role.for_statements()?;
        let (mut peers, source) = self.connect()?;
        let (new, from) = (peers.new.name().to_owned(), peers.source.name().to_owned());
        let mut report = |event: &Event| match event.text(&new, &from) {
            text if event.is_warning() => warning(&text),
            text => info(&text),
        };
        let allow_unverified = self.insecure_unverified_source;
        let provision = ::replication::Provision { role, source, allow_unverified, wait: self.wait };
        if self.yes {
            provision.run(&mut peers, &mut report)?;
        } else if let Some(statements) = provision.plan(&mut peers, &mut report)? {
            show(&statements)?;
        }
        Ok(Exit::Clean)
    }

    fn connect(&self) -> Result<(Peers, Source), Failure> {
        let server = ::snapshot::DataDir::at(&self.into)?.socket(self.socket.clone()).server()?;
        let socket = self.socket.clone().filter(|_| server.is_some());
        let password = self.local_password_file.as_deref().map(password_file).transpose()?;
        let new = NewServer::on(&self.into, socket, self.local_user.clone(), password)?;
        let (from, options) = connection(&Address::from_url(&self.source), &self.login, NO_SOURCE)?;
        let password = self.replication_password_file.as_deref().filter(|_| self.yes).map(password_file).transpose()?;
        let source = Source::at(&from, self.replication_user.clone(), password, self.replication_ca.clone())?;
        Ok((Peers::connect(&from, options, new)?, source))
    }
}

fn show(statements: &Statements) -> Result<(), Failure> {
    to_stdout(&|out| statements.iter().try_for_each(|statement| writeln!(out, "{};", statement.as_str())))?;
    hint(AFTER_PLAN);
    Ok(())
}
