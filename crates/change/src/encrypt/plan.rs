//! Determines the steps that encrypt the clear-text data of a server.

use std::path::Path;

use server::{Flavor, quote};

use super::{
    EncryptAction, EncryptReport, Leftover, Options, Progress, Room, SCHEMA, ServerAccess, TableChange, TableMethod,
    leftovers, mariadb, mysql, scan::Scan,
};
use crate::{Error, Outcome, Session, StatementLog, Step};

/// The steps for a server.
#[derive(Clone, Debug)]
pub struct EncryptPlan {
    /// Name of the server in messages.
    pub server: String,
    /// Version of the server.
    pub version: String,
    /// Unique identity of the server: the argument of [`Control::begin`](crate::Control::begin).
    pub identity: String,
    /// Steps in order.
    pub steps: Vec<Step<EncryptAction>>,
    /// Data that no step can encrypt, with remedies.
    pub leftovers: Vec<Leftover>,
    /// Disk space for the largest copy of a table, if there is one.
    pub room: Option<Room>,
}

impl EncryptPlan {
    /// The plan as a report.
    #[must_use]
    pub fn report(&self) -> EncryptReport {
        let planned = |step: &Step<EncryptAction>| step.report(step.action.statements(), Outcome::Planned, 0.0);
        EncryptReport {
            schema: SCHEMA,
            server: self.server.clone(),
            version: self.version.clone(),
            steps: self.steps.iter().map(planned).collect(),
            leftovers: self.leftovers.clone(),
            room: self.room,
            keyring: None,
            keyring_after: None,
            denied: None,
            canceled: false,
            done: false,
        }
    }
}

/// Determines the steps. Changes nothing.
///
/// # Errors
/// [`Error`] if the server does not answer, or cannot encrypt.
pub(super) fn plan(
    access: &ServerAccess,
    options: &Options,
    log: &StatementLog,
    progress: &Progress<'_>,
) -> Result<EncryptPlan, Error> {
    progress("asking the server");
    let mut session = Session::open(&access.target, &access.connect, log, options.lock_wait)?;
    if options.option_file.is_some() && session.identity().flavor() != Flavor::MariaDb && mysql::keeps_all(&session) {
        let reason = "MySQL stores its settings with SET PERSIST; omit --option-file".to_owned();
        return Err(Error::Unsupported { server: access.target.to_string(), reason });
    }
    schemas_exist(&mut session, access, options)?;
    let scan = Scan::quick(access, options, progress)?;
    let steps = match session.identity().flavor() {
        Flavor::MariaDb => mariadb::steps(&mut session, options, &scan)?,
        Flavor::MySql | Flavor::Percona => mysql::steps(&mut session, access, options, &scan)?,
    };
    let version = session.identity().version.to_string();
    let mut leftovers: Vec<_> = scan.leftovers().into_iter().filter(|leftover| !leftover.closable).collect();
    if session.identity().flavor() != Flavor::MariaDb {
        leftovers::add(&mut leftovers, mysql::misreported(&mut session, options)?);
        if options.option_file.is_none() {
            leftovers::add(&mut leftovers, mysql::not_kept(&session, options, &scan));
        }
    }
    let known = session.identity();
    let identity =
        known.server_uuid.clone().unwrap_or_else(|| format!("{} {}", known.hostname, known.datadir.display()));
    let room = room(&options.datadir_of(&session), &steps);
    Ok(EncryptPlan { server: access.target.to_string(), version, identity, steps, leftovers, room })
}

/// Disk space for the largest table that is copied.
fn room(datadir: &Path, steps: &[Step<EncryptAction>]) -> Option<Room> {
    let copied = steps.iter().filter_map(|step| match &step.action {
        EncryptAction::Table(TableChange { bytes, method: TableMethod::Copy | TableMethod::Online(_), .. }) => {
            Some(*bytes)
        }
        _ => None,
    });
    copied.max().map(|bytes| Room::for_copy(datadir, bytes))
}

fn schemas_exist(session: &mut Session<'_>, access: &ServerAccess, options: &Options) -> Result<(), Error> {
    for name in &options.schemas {
        let sql = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ";
        if session.value(&format!("{sql}{}", quote::text_in_any_mode(name)))?.as_deref() == Some("0") {
            return Err(Error::NoSuchSchema { server: access.target.to_string(), name: name.clone() });
        }
    }
    Ok(())
}
