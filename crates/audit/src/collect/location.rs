//! Where a server's files are on this host, and whether they are its own.

use std::path::{Path, PathBuf};

use server::Endpoint;
use server::dialect::variable;

use super::request::LiveOptions;
use super::view::{Host, View};
use super::{process, roots, sql};
use crate::facts::Unavailable;
use crate::facts::host::Process;
use crate::facts::sql::SqlFacts;

/// A server that is proven to be on this host.
pub(super) struct ServerLocation {
    pub(super) view: View,
    /// The data directory, by the path under which its files are reported.
    pub(super) datadir: PathBuf,
    pub(super) process: Option<Process>,
    /// Why the process is unknown; `None` if it is known.
    pub(super) no_process: Option<String>,
}

/// Finds the server's process and files on this host.
pub(super) fn locate(
    host: &Host,
    options: &LiveOptions<'_>,
    answers: &sql::ServerAnswers,
) -> Result<ServerLocation, Unavailable> {
    let datadir = roots::normal(Path::new(&answers.sql.identity.datadir));
    let wanted = process::ServerTraits {
        peer_pid: answers.peer_pid,
        local_address: match &options.target.endpoint {
            Endpoint::Tcp { host, port } => process::local_address(host, *port),
            Endpoint::Socket(_) => None,
        },
        pid_file: answers.identity.pid_file.as_ref().map(|path| datadir.join(path)),
        server_uuid: answers.identity.server_uuid.as_ref().map(|uuid| uuid.to_ascii_lowercase()),
        datadir: datadir.clone(),
    };
    let process = process::find(host, &wanted);
    if let Some(given) = &options.datadir {
        return given_datadir(given, &wanted, process);
    }
    match process {
        Ok(process) => {
            let view = View::of_process(host, process.pid);
            Ok(ServerLocation { view, datadir, process: Some(process), no_process: None })
        }
        // Files with the server's own UUID are its files, whoever runs it.
        Err(why)
            if wanted.server_uuid.is_some() && process::server_uuid(&View::ours(), &datadir) == wanted.server_uuid =>
        {
            Ok(ServerLocation { view: View::ours(), datadir, process: None, no_process: Some(why) })
        }
        Err(why) => Err(Unavailable {
            what: "files".to_owned(),
            why,
            remedy:
                "run on the server's host as root or as the server's user, or name its data directory with --datadir"
                    .to_owned(),
        }),
    }
}

/// Uses the data directory that the operator gave. Its UUID must not be that of another server.
fn given_datadir(
    given: &Path,
    wanted: &process::ServerTraits,
    process: Result<Process, String>,
) -> Result<ServerLocation, Unavailable> {
    let remedy = "name the data directory of this server with --datadir".to_owned();
    let unseen = |why: String| Unavailable {
        what: "files".to_owned(),
        why: format!("{}: {why}", given.display()),
        remedy: remedy.clone(),
    };
    let absolute = std::path::absolute(given).map_err(|error| unseen(error.to_string()))?;
    let view = View::ours();
    view.open_dir(&absolute).map_err(|error| unseen(error.to_string()))?;
    let found = process::server_uuid(&view, &absolute);
    if let (Some(found), Some(wanted)) = (&found, &wanted.server_uuid)
        && found != wanted
    {
        return Err(unseen(format!("belongs to server {found}, not to {wanted}")));
    }
    let (process, no_process) = match process {
        Ok(process) => (Some(process), None),
        Err(why) => (None, Some(why)),
    };
    Ok(ServerLocation { view, datadir: absolute, process, no_process })
}

/// The directories and files of the server: named by its variables, and next to its program.
pub(super) fn scan_roots(
    host: &Host,
    options: &LiveOptions<'_>,
    sql: &SqlFacts,
    seen: &ServerLocation,
) -> Vec<roots::ScanRoot> {
    let program =
        seen.process.as_ref().and_then(|process| std::fs::read_link(host.of_process(process.pid, "exe")).ok());
    let mut scan_roots = roots::from_server(sql, &seen.datadir, &options.backup_dirs);
    scan_roots.extend(
        roots::key_configurations(sql, &seen.datadir, program.as_deref())
            .into_iter()
            .filter(|scan_root| seen.view.stat(&scan_root.path).is_ok()),
    );
    scan_roots
}

/// The path on this host of the file that `ssl_ca` names.
pub(super) fn ca_file(sql: &SqlFacts, seen: Option<&ServerLocation>) -> Option<PathBuf> {
    let value = sql.variable_or_none(variable::SSL_CA).filter(|value| !value.is_empty())?;
    let seen = seen?;
    let path = seen.view.reach(&roots::normal(&seen.datadir.join(value)));
    path.is_file().then_some(path)
}
