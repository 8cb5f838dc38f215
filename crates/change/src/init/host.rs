//! The server's installation on this host.

use server::Capability;
use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use files::regular::{self, Links};
use server::program::PLUGIN_DIRECTORIES;
use server::{
    Flavor, Identity, Options, Target,
    option_file::{Entries, OptionFileArguments},
    option_group,
};

use super::{Error, InitRequest};
use crate::{LockWait, Session, StatementLog, rotate::data_files, running_server::RunningServer};

const DAEMONS: [&str; 4] = ["sbin/mysqld", "bin/mysqld", "libexec/mysqld", "sbin/mariadbd"];

/// Facts about a server's host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) flavor: Flavor,
    pub(super) datadir: PathBuf,
    /// User and group of the data directory, which are those of the server.
    pub(super) owner: (u32, u32),
    pub(super) plugin_dir: PathBuf,
    pub(super) daemon_dir: Option<PathBuf>,
    /// Option files that the running server reads; `None` if unknown.
    pub(super) arguments_read: Option<OptionFileArguments>,
}

impl Host {
    /// Queries a running server. Fails if keys are already active.
    pub(super) fn from_server(target: &Target, options: &Options, request: &InitRequest) -> Result<Self, Error> {
        let server = target.to_string();
        let log = StatementLog::open(Path::new("/dev/null"), &server, &target.user)?;
        let mut session = Session::open(target, options, &log, LockWait::default())?;
        let identity = session.identity().clone();
        if let Some(active) = session.active_key_store(&identity.datadir)? {
            return Err(Error::Active { server, keyring: active.name });
        }
        if identity.flavor() != Flavor::MariaDb && !identity.version.can(Capability::KeyringComponents) {
            let reason = "has no keyring components; 8.0.24 and newer have them".to_owned();
            return Err(Error::Unsupported { server, reason });
        }
        let directories = data_files::directories(&mut session, request.datadir.as_deref())?;
        let datadir = plain(&directories.into_iter().next().unwrap_or_default());
        let owner = owner(&datadir)?;
        let asked = |session: &mut Session<'_>, sql: &str| session.value(sql).ok().flatten().map(PathBuf::from);
        let basedir = asked(&mut session, "SELECT @@GLOBAL.basedir");
        let said = asked(&mut session, "SELECT @@GLOBAL.plugin_dir").filter(|directory| directory.is_dir());
        let plugin_dir = request.plugin_dir.clone().or(said);
        let plugin_dir = plugin_dir.ok_or_else(|| not_found(&server, "its plug-ins are not on this host"))?;
        let process = process(&identity);
        let running = process.as_ref().and_then(program_dir);
        let daemon_dir = request.daemon_dir.clone().or(running).or_else(|| daemon(basedir.as_deref()));
        let arguments = process.and_then(|process| process.arguments().ok());
        let arguments_read = arguments.map(|arguments| OptionFileArguments::parse(&arguments));
        Ok(Self { flavor: identity.flavor(), datadir, owner, plugin_dir, daemon_dir, arguments_read })
    }

    /// Reads the option file of a stopped server.
    pub(super) fn from_option_file(config: &Path, request: &InitRequest) -> Result<Self, Error> {
        let entries = Entries::read(config).map_err(Error::OptionFile)?;
        let option =
            |key: &str| entries.last(option_group::SERVER, key).and_then(|entry| entry.value.text()).map(PathBuf::from);
        let server = config.display().to_string();
        let datadir = request.datadir.clone().or_else(|| option("datadir"));
        let datadir = datadir.ok_or_else(|| not_found(&server, "does not report its data directory"))?;
        let datadir = plain(&datadir);
        let basedir = option("basedir");
        let plugin_dir =
            request.plugin_dir.clone().or_else(|| option("plugin_dir")).or_else(|| plugins(basedir.as_deref()));
        let plugin_dir = plugin_dir.ok_or_else(|| not_found(&server, "does not report its plug-in directory"))?;
        Ok(Self {
            flavor: flavor(&datadir)?,
            owner: owner(&datadir)?,
            plugin_dir,
            daemon_dir: request.daemon_dir.clone().or_else(|| daemon(basedir.as_deref())),
            datadir,
            arguments_read: None,
        })
    }
}

/// Removes a trailing slash, which servers do not report.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

fn not_found(server: &str, reason: &str) -> Error {
    Error::NotFound { server: server.to_owned(), reason: reason.to_owned() }
}

/// The fork that created a data directory.
fn flavor(datadir: &Path) -> Result<Flavor, Error> {
    let refuse = |reason: String| Error::NoDatadir { path: datadir.to_owned(), reason };
    fs::read_dir(datadir).map_err(|error| refuse(error.to_string()))?;
    if datadir.join(innodb::server_file::DICTIONARY).exists() {
        return Ok(Flavor::MySql);
    }
    if datadir.join(innodb::server_file::ARIA_CONTROL).exists() && datadir.join("mysql").is_dir() {
        return Ok(Flavor::MariaDb);
    }
    Err(refuse("is not a data directory of MySQL 8.0 or newer, or of MariaDB".to_owned()))
}

fn owner(datadir: &Path) -> Result<(u32, u32), Error> {
    let metadata = fs::metadata(datadir).map_err(|source| match source.kind() {
        ErrorKind::NotFound => Error::NoDatadir { path: datadir.to_owned(), reason: source.to_string() },
        _ => Error::Look { path: datadir.to_owned(), source },
    })?;
    Ok((metadata.uid(), metadata.gid()))
}

/// The server's process; `None` if its process id is not that of a server on this host, as in a container.
fn process(identity: &Identity) -> Option<RunningServer> {
    const MAX_BYTES: u64 = 64;
    let file = identity.datadir.join(identity.pid_file.as_ref()?);
    let pid = regular::read(&file, Links::Refused, MAX_BYTES).ok()?;
    RunningServer::examine(String::from_utf8(pid).ok()?.trim().parse().ok()?).ok()?
}

fn program_dir(process: &RunningServer) -> Option<PathBuf> {
    process.program.parent().filter(|directory| directory.is_dir()).map(Path::to_owned)
}

fn daemon(basedir: Option<&Path>) -> Option<PathBuf> {
    let basedir = basedir.unwrap_or_else(|| Path::new("/usr"));
    let program = DAEMONS.iter().map(|daemon| basedir.join(daemon)).find(|daemon| daemon.is_file())?;
    program.canonicalize().ok()?.parent().map(Path::to_owned)
}

fn plugins(basedir: Option<&Path>) -> Option<PathBuf> {
    let basedir = basedir.unwrap_or_else(|| Path::new("/usr"));
    PLUGIN_DIRECTORIES.iter().map(|plugins| basedir.join(plugins)).find(|plugins| plugins.is_dir())
}
