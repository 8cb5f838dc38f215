//! Refuses unsuitable parameters before anything is started: files of other servers, and too little memory or disk
//! space.

use std::{
    fs, io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use innodb::server_file::{ARIA_CONTROL, DICTIONARY, FIRST_SYSTEM};
use server::{auto_cnf, option_name};

use super::OltpSuite;
use crate::{
    Error, TemporaryDirectory,
    oltp::disk_bytes,
    suite::{require_room, server_program},
    tls::{is_mariadb, version_of},
};

/// Files that data directories have: all, those of MySQL, those of MariaDB. The first two may be elsewhere.
const SERVER_FILES: [&str; 4] = [FIRST_SYSTEM, DICTIONARY, auto_cnf::NAME, ARIA_CONTROL];
/// Memory of a server besides its buffer pool.
const SERVER_MEMORY_BYTES: u64 = 500 << 20;

impl OltpSuite<'_> {
    /// Checks the parameters before anything is started, and leaves out the arms that this server or machine does not
    /// have; returns the server program.
    ///
    /// # Errors
    /// [`Error`]: a directory or socket of another server is named, or there is too little disk or memory.
    pub fn check(&mut self) -> Result<PathBuf, Error> {
        let program = self.find_program()?;
        let mariadb = is_mariadb(&version_of(&program)?);
        self.arms.leave_out(|arm| arm.obstacle(mariadb));
        Ok(program)
    }

    /// Like [`Self::check`], but does not run the program.
    fn find_program(&self) -> Result<PathBuf, Error> {
        self.check_driver()?;
        self.server_options.iter().try_for_each(|option| check_option(option))?;
        if let Some(named) = self.server {
            check_program(named)?;
        }
        check_directory(self.directory)?;
        let program = server_program(self.server, self.families)?;
        self.check_memory()?;
        Ok(program)
    }

    /// Number of servers that run at the same time: a server for each arm, and a second one in the clear.
    fn servers(&self) -> u64 {
        u64::try_from(self.arms.servers.len()).unwrap_or(u64::MAX).max(1).saturating_add(1)
    }

    fn check_memory(&self) -> Result<(), Error> {
        let needed = self.servers().saturating_mul(self.scale.pool_bytes.saturating_add(SERVER_MEMORY_BYTES));
        match files::proc::available_memory() {
            Some(room) if room < needed => Err(Error::NoMemory { servers: self.servers(), needed, room }),
            _ => Ok(()),
        }
    }

    /// Refuses a file system without room for the servers and their data.
    pub(crate) fn check_room(&self, scratch: &TemporaryDirectory) -> Result<(), Error> {
        let needed = disk_bytes(&self.scale.tables).saturating_mul(self.servers());
        require_room(self.directory, scratch, needed)
    }
}

/// Refuses to work in a server's data directory.
pub(crate) fn check_directory(directory: &Path) -> Result<(), Error> {
    let directory = fs::canonicalize(directory).map_err(Error::file(directory))?;
    if !directory.is_dir() {
        return Err(Error::file(directory)(io::ErrorKind::NotADirectory.into()));
    }
    match directory.ancestors().find(|path| is_data_directory(path)) {
        Some(of_server) => Err(Error::DataDirectory { path: of_server.to_owned() }),
        None => Ok(()),
    }
}

fn is_data_directory(path: &Path) -> bool {
    SERVER_FILES.iter().any(|name| path.join(name).exists())
}

/// Refuses a socket or a directory: the user may have named a running server.
pub(crate) fn check_program(named: &Path) -> Result<(), Error> {
    let Ok(metadata) = fs::metadata(named) else { return Ok(()) };
    let what = match metadata.file_type() {
        kind if kind.is_socket() => "the socket of a running server",
        kind if kind.is_dir() => "a directory",
        _ => return Ok(()),
    };
    Err(Error::NotServerProgram { path: named.to_owned(), what })
}

/// Refuses options that would make a server use files other than its own, or accept other clients.
pub(super) fn check_option(option: &str) -> Result<(), Error> {
    const OWN: [&str; 9] =
        ["datadir", "socket", "port", "bind-address", "log-bin", "init-file", "plugin-load", "user", "defaults-file"];
    let refused = |reason| Err(Error::ServerOption { option: option.to_owned(), reason });
    let Some(assignment) = option.strip_prefix("--") else { return refused("an option begins with --") };
    let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
    let name = option_name::with_hyphens(name);
    let name = option_name::without_loose(&name);
    // Servers also accept the beginning of a name.
    if OWN.iter().any(|own| own.starts_with(name)) {
        return refused("the measurement sets it itself");
    }
    if value.contains('/') {
        return refused("names a path; the files of a measured server are all in its scratch directory");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::net::UnixListener,
        sync::{Arc, atomic::AtomicBool},
        time::Duration,
    };

    use super::*;
    use crate::{Arms, Driver, Pace, Scale, Settings, TableSet, Workload};

    fn suite<'a>(directory: &'a Path, stopped: &'a Arc<AtomicBool>) -> OltpSuite<'a> {
        OltpSuite {
            program: Path::new("/bin/true"),
            server: None,
            families: &["sh"],
            directory,
            arms: Arms::named(&[]),
            scale: scale(),
            more_clients: &[],
            pace: Pace::Closed,
            driver: Driver::Own,
            server_options: &[],
            settings: Settings::default(),
            time: None,
            stopped,
        }
    }

    fn scale() -> Scale {
        Scale {
            workload: Workload::ReadWrite,
            tables: TableSet { tables: 1, rows: 10, ..TableSet::default() },
            clients: 1,
            span: Duration::from_secs(1),
            pool_bytes: 8 << 20,
        }
    }

    #[test]
    fn paths_of_other_servers_are_refused() {
        let (scratch, stopped) = (tempfile::tempdir().unwrap(), Arc::default());
        let inner = scratch.path().join("db");
        fs::create_dir(&inner).unwrap();
        assert!(suite(&inner, &stopped).find_program().is_ok());
        for file in ["ibdata1", "auto.cnf", "aria_log_control"] {
            fs::write(scratch.path().join(file), "").unwrap();
            for directory in [scratch.path(), &inner] {
                let error = suite(directory, &stopped).find_program().unwrap_err();
                assert!(matches!(error, Error::DataDirectory { .. }), "{file}: {error}");
            }
            fs::remove_file(scratch.path().join(file)).unwrap();
        }
        let socket = scratch.path().join("mysqld.sock");
        let _listener = UnixListener::bind(&socket).unwrap();
        let mut named = OltpSuite { server: Some(&socket), ..suite(Path::new("/tmp"), &stopped) };
        assert!(matches!(named.check(), Err(Error::NotServerProgram { .. })));
    }

    #[test]
    fn too_little_memory_or_disk_is_reported_before_the_run() {
        let stopped = Arc::default();
        let scale_of_memory = Scale { pool_bytes: 1 << 50, ..scale() };
        let large = OltpSuite { scale: scale_of_memory, ..suite(Path::new("/tmp"), &stopped) };
        assert!(matches!(large.find_program(), Err(Error::NoMemory { servers: 4, .. })));
        let parent = tempfile::tempdir().unwrap();
        let scratch = TemporaryDirectory::below(parent.path()).unwrap();
        let tables = TableSet { tables: 1000, rows: u32::MAX, ..TableSet::default() };
        let error = OltpSuite { scale: Scale { tables, ..scale() }, ..suite(Path::new("/tmp"), &stopped) }
            .check_room(&scratch)
            .unwrap_err();
        assert!(error.to_string().contains("there is room for"), "{error}");
    }

    #[test]
    fn options_with_paths_and_ports_are_refused() {
        for option in [
            "--datadir=x",
            "--log_bin=x",
            "--loose-socket=s",
            "--tmpdir=/tmp",
            "innodb=1",
            "--port=3306",
            "--bind-addr=::",
        ] {
            assert!(matches!(check_option(option), Err(Error::ServerOption { .. })), "{option}");
        }
        assert!(check_option("--innodb-doublewrite=OFF").is_ok());
    }
}
