//! `sealant keyring init` and `check`: a keyring or key file for a server that has none, in a safe place
//! and with safe modes, and whether the server then uses it.
//!
//! A plan is a list of [`Part`]s, each a directory or file. What is there already and is what it would be
//! is left as it is, so that a run that was interrupted is finished by running it again; anything else
//! that is there is a reason to refuse. No key and no keyring is ever overwritten. The last part written
//! is the one that makes the server look for the others.

mod check;
mod error;
mod host;
mod mariadb;
mod mysql;
mod part;

use std::path::PathBuf;

use serde::Serialize;
use server::{Flavor, Options, Target};

pub use self::{
    check::{CHECK_SCHEMA, CheckReport, CheckRequest, Item, State, check},
    error::Error,
    part::{Condition, Part},
};
use self::{
    host::Host,
    part::{Action, written},
};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.keyring-init/1";

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The server's option file: where a server that does not run has its data, and where MariaDB's
    /// options are added.
    pub config: Option<PathBuf>,
    /// The data directory, if it is elsewhere than the server says.
    pub datadir: Option<PathBuf>,
    /// Where the keyring or key file is to be.
    pub keyring: Option<PathBuf>,
    /// Where the password of MariaDB's key file is to be.
    pub password: Option<PathBuf>,
    /// Where the server's plug-ins and components are.
    pub plugin_dir: Option<PathBuf>,
    /// The directory of `mysqld`.
    pub daemon_dir: Option<PathBuf>,
    /// Accept a keyring inside the data directory.
    pub inside_datadir: bool,
    /// How many keys MariaDB's key file gets.
    pub keys: u32,
}

/// What is to be written, in order.
#[derive(Debug)]
pub struct Plan {
    server: String,
    host: Host,
    keyring: PathBuf,
    parts: Vec<(Part, Action)>,
    notes: Vec<String>,
}

/// A plan, or what was written.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The server, or its option file.
    pub server: String,
    /// The fork.
    pub flavor: String,
    /// The data directory.
    pub datadir: PathBuf,
    /// The keyring or key file.
    pub keyring: PathBuf,
    /// Directories and files, in the order in which they are written.
    pub parts: Vec<Part>,
    /// What should be known.
    pub notes: Vec<String>,
    /// What has to be done next, by whoever runs the server.
    pub next: String,
    /// Whether everything is written.
    pub done: bool,
}

/// Looks at the server and its host. Changes nothing.
///
/// # Errors
/// What forbids it.
pub fn plan(connection: Option<(&Target, &Options)>, request: &Request) -> Result<Plan, Error> {
    let (server, host) = match (connection, &request.config) {
        (Some((target, options)), _) => (target.to_string(), Host::of_server(target, options, request)?),
        (None, Some(config)) => (config.display().to_string(), Host::of_option_file(config, request)?),
        (None, None) => return Err(Error::NoServer),
    };
    let keyring = keyring_of(&host, request)?;
    let mut notes = Vec::new();
    if keyring.starts_with(&host.datadir) {
        notes.push("the keyring lies inside the data directory: whoever copies that has the keys, too".to_owned());
    }
    let parts = match host.flavor {
        Flavor::MariaDb => mariadb::parts(&host, &keyring, request, &mut notes)?,
        _ => mysql::parts(&host, &keyring)?,
    };
    Ok(Plan { server, host, keyring, parts, notes })
}

impl Plan {
    /// What would be written.
    #[must_use]
    pub fn report(&self) -> Report {
        let parts: Vec<Part> = self.parts.iter().map(|(part, _)| part.clone()).collect();
        Report {
            schema: SCHEMA,
            server: self.server.clone(),
            flavor: self.host.flavor.to_string(),
            datadir: self.host.datadir.clone(),
            keyring: self.keyring.clone(),
            done: parts.iter().all(|part| part.condition != Condition::Missing),
            parts,
            notes: self.notes.clone(),
            next: "restart the server, then prove the keyring with `sealant keyring check`".to_owned(),
        }
    }

    /// Writes it. What fails leaves what was written before; the same command goes on there.
    ///
    /// # Errors
    /// [`Error::Write`], or why no keys could be made.
    pub fn carry_out(mut self) -> Result<Report, Error> {
        for (part, action) in &mut self.parts {
            if part.condition == Condition::Missing {
                written(part, action)?;
                part.condition = Condition::Written;
            }
        }
        Ok(self.report())
    }
}

/// As given, or beside the data directory: `/var/lib/mysql-keyring/keyring` for `/var/lib/mysql`, which
/// is where the packages of MySQL have it and where their AppArmor profiles allow it.
fn keyring_of(host: &Host, request: &Request) -> Result<PathBuf, Error> {
    let name = if host.flavor == Flavor::MariaDb { "keys.enc" } else { "keyring" };
    let keyring = match &request.keyring {
        Some(given) => std::path::absolute(given).map_err(|source| Error::Look { path: given.clone(), source })?,
        None => {
            let mut directory = host.datadir.clone().into_os_string();
            directory.push("-keyring");
            PathBuf::from(directory).join(name)
        }
    };
    let real = host.datadir.canonicalize().unwrap_or_else(|_| host.datadir.clone());
    let inside = [&host.datadir, &real].into_iter().any(|datadir| keyring.starts_with(datadir));
    if inside && !request.inside_datadir {
        return Err(Error::InsideDatadir { keyring, datadir: host.datadir.clone() });
    }
    Ok(keyring)
}
