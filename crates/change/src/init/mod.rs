//! `sealant keyring init` and `check`: set up a keyring or key file for a server without one, with safe location and
//! permissions, and check whether the server uses it.
//!
//! A plan is a list of [`Part`]s: directories and files. A part that exists as planned is kept, so that running the
//! command again completes an interrupted run; a part that exists with other content is refused. Keys and keyrings are
//! never overwritten. The part that makes the server load the others is written last.

mod check;
mod host;
mod mariadb;
mod mysql;
mod part;

use std::path::PathBuf;

use serde::Serialize;
use server::{Flavor, Options, Target};

pub use self::{
    check::{CHECK_SCHEMA, CheckReport, CheckRequest, CheckState, Item, check},
    part::{Part, Presence},
};
use self::{
    host::Host,
    part::{WriteMethod, written},
};
use crate::Error;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.keyring-init/1";

/// Options of a set-up.
#[derive(Clone, Debug, Default)]
pub struct InitRequest {
    /// The server's option file: it names the data directory of a stopped server, and receives MariaDB's options.
    pub config: Option<PathBuf>,
    /// The data directory, if its path here differs from the server's.
    pub datadir: Option<PathBuf>,
    /// Path of the keyring or key file to create.
    pub keyring: Option<PathBuf>,
    /// Path of the password file to create for MariaDB's key file.
    pub password: Option<PathBuf>,
    /// Directory of the server's plug-ins and components.
    pub plugin_dir: Option<PathBuf>,
    /// Directory of `mysqld`.
    pub daemon_dir: Option<PathBuf>,
    /// Permit a keyring inside the data directory.
    pub inside_datadir: bool,
    /// Number of keys in MariaDB's key file.
    pub keys: u32,
}

/// Parts to write, in order.
#[derive(Debug)]
pub struct InitPlan {
    server: String,
    host: Host,
    keyring: PathBuf,
    parts: Vec<(Part, WriteMethod)>,
    notes: Vec<String>,
}

/// A plan, or the result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct InitReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The server, or its option file.
    pub server: String,
    /// The fork.
    pub flavor: String,
    /// The data directory.
    pub datadir: PathBuf,
    /// Path of the keyring or key file.
    pub keyring: PathBuf,
    /// Directories and files, in the order of writing.
    pub parts: Vec<Part>,
    /// Remarks.
    pub notes: Vec<String>,
    /// What the administrator must do next.
    pub next: String,
    /// Whether everything is written.
    pub done: bool,
}

/// Examines the server and its host. Changes nothing.
///
/// # Errors
/// The reasons that prevent the set-up.
pub fn plan(connection: Option<(&Target, &Options)>, request: &InitRequest) -> Result<InitPlan, Error> {
    let (server, host) = match (connection, &request.config) {
        (Some((target, options)), _) => (target.to_string(), Host::from_server(target, options, request)?),
        (None, Some(config)) => (config.display().to_string(), Host::from_option_file(config, request)?),
        (None, None) => return Err(Error::NoServer),
    };
    let keyring = keyring_of(&host, request)?;
    let mut notes = Vec::new();
    if keyring.starts_with(&host.datadir) {
        notes
            .push("the keyring is inside the data directory: every copy of the directory includes the keys".to_owned());
    }
    let parts = match host.flavor {
        Flavor::MariaDb => mariadb::parts(&host, &keyring, request, &mut notes)?,
        Flavor::MySql | Flavor::Percona => mysql::parts(&host, &keyring)?,
    };
    Ok(InitPlan { server, host, keyring, parts, notes })
}

impl InitPlan {
    /// The plan as a report.
    #[must_use]
    pub fn report(&self) -> InitReport {
        let parts: Vec<Part> = self.parts.iter().map(|(part, _)| part.clone()).collect();
        InitReport {
            schema: SCHEMA,
            server: self.server.clone(),
            flavor: self.host.flavor.to_string(),
            datadir: self.host.datadir.clone(),
            keyring: self.keyring.clone(),
            done: parts.iter().all(|part| part.condition != Presence::Missing),
            parts,
            notes: self.notes.clone(),
            next: "restart the server, then prove the keyring with `sealant keyring check`".to_owned(),
        }
    }

    /// Executes the plan. After an error the parts written so far remain; the same command continues.
    ///
    /// # Errors
    /// [`Error::Write`], or why no keys could be generated.
    pub fn carry_out(mut self) -> Result<InitReport, Error> {
        for (part, action) in &mut self.parts {
            if part.condition == Presence::Missing {
                written(part, action)?;
                part.condition = Presence::Written;
            }
        }
        Ok(self.report())
    }
}

/// The given path, or one next to the data directory: `/var/lib/mysql-keyring/keyring` for `/var/lib/mysql`, where
/// MySQL's packages put it and their AppArmor profiles permit it.
fn keyring_of(host: &Host, request: &InitRequest) -> Result<PathBuf, Error> {
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
