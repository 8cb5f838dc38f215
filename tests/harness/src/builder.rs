//! Options of a server, before it has a directory or ports.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::certs::TlsFiles;
use crate::options::{Ports, installation, instance};
use crate::server::{new_directory, new_directory_in};
use crate::template;
use crate::{Error, Kind, Server, limit, run};

/// Location of MySQL's keyring file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyringLocation {
    /// No keyring, so nothing can be encrypted.
    #[default]
    None,
    /// `component_keyring_file.keys` in the data directory, next to the data that it protects.
    InDatadir,
    /// `keyring` in the server's private directory, outside the data directory.
    Beside,
    /// This path; placeholders are replaced as in [`ServerBuilder::option`].
    Path(PathBuf),
}

/// Options of a server; see [`Server::builder`].
#[derive(Clone, Debug)]
pub struct ServerBuilder {
    kind: Kind,
    options: Vec<String>,
    init_options: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
    keyring: KeyringLocation,
    keyring_plugin: bool,
    option_file: String,
    by_file: bool,
    seed: Option<PathBuf>,
    empty: bool,
    programs: Option<PathBuf>,
    user: Option<u32>,
    namespace: Option<String>,
    parent_directory: Option<PathBuf>,
    admin_port: bool,
    base: Option<PathBuf>,
}

impl ServerBuilder {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            options: Vec::new(),
            init_options: Vec::new(),
            files: Vec::new(),
            keyring: KeyringLocation::None,
            keyring_plugin: kind == Kind::MySql57,
            option_file: String::new(),
            by_file: false,
            seed: None,
            empty: false,
            programs: None,
            user: None,
            namespace: None,
            parent_directory: None,
            admin_port: false,
            base: None,
        }
    }

    /// Adds a command-line option of the server; it overrides the harness's own.
    ///
    /// `{dir}` and `{datadir}` stand for the private and the data directory.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Adds several options.
    #[must_use]
    pub fn options<S: Into<String>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// Sets the text of the option file `{dir}/my.cnf`, which is empty otherwise. Command-line options override it.
    #[must_use]
    pub fn option_file(mut self, text: impl Into<String>) -> Self {
        self.option_file = text.into();
        self
    }

    /// Writes all options to the option file instead of the command line, as users do. The text of
    /// [`option_file`](Self::option_file()) comes later in the file and overrides them.
    #[must_use]
    pub fn by_option_file(mut self) -> Self {
        self.by_file = true;
        self
    }

    /// Adds an option that affects the format of the data directory, such as `--innodb-page-size=4k`. It is used when
    /// the directory is created, and at every start.
    #[must_use]
    pub fn init_option(mut self, option: impl Into<String>) -> Self {
        self.init_options.push(option.into());
        self
    }

    /// Puts a file into the private directory before the server starts.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.into(), contents.into()));
        self
    }

    /// Gives MySQL a keyring: `component_keyring_file`, or in 5.7 the plug-in `keyring_file`.
    #[must_use]
    pub fn keyring(mut self, parent_directory: KeyringLocation) -> Self {
        self.keyring = parent_directory;
        self
    }

    /// Gives MySQL 8.0 a keyring by the plug-in `keyring_file`, which 5.7 always uses.
    #[must_use]
    pub fn keyring_plugin(mut self, parent_directory: KeyringLocation) -> Self {
        self.keyring_plugin = true;
        self.keyring(parent_directory)
    }

    /// Gives MariaDB an unencrypted key file, `{dir}/keys.txt`, with lines `id;hex`, through `file_key_management`.
    #[must_use]
    pub fn mariadb_keys(self, lines: &str) -> Self {
        self.file("keys.txt", lines)
            .option("--plugin-load-add=file_key_management")
            .option("--file-key-management-filename={dir}/keys.txt")
    }

    /// Serves TLS with this certificate.
    #[must_use]
    pub fn tls(self, files: &TlsFiles) -> Self {
        self.option(format!("--ssl-ca={}", files.ca.display()))
            .option(format!("--ssl-cert={}", files.cert.display()))
            .option(format!("--ssl-key={}", files.key.display()))
    }

    /// Starts on a copy of this data directory instead of a fresh one.
    #[must_use]
    pub fn datadir_seed(mut self, datadir: impl Into<PathBuf>) -> Self {
        self.seed = Some(datadir.into());
        self
    }

    /// Creates the private directory below `base`, for example on another file system. The path must be short, because
    /// the length of a socket path is limited.
    #[must_use]
    pub fn within(mut self, base: impl Into<PathBuf>) -> Self {
        self.base = Some(base.into());
        self
    }

    /// Starts on an empty data directory, for nodes that receive their data from others.
    #[must_use]
    pub fn empty_datadir(mut self) -> Self {
        self.empty = true;
        self
    }

    /// Places the data directory below `directory` instead of the private directory, for example on another file
    /// system. It is not removed with the server.
    #[must_use]
    pub fn datadir_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.parent_directory = Some(directory.into());
        self
    }

    /// Runs the server as this user and group, who own its directories. The process keeps root's right to read, but no
    /// other privilege: programs installed by root may be in directories that others cannot read.
    #[must_use]
    pub fn user(mut self, id: u32) -> Self {
        self.user = Some(id);
        self
    }

    /// Runs the server in this network namespace, as on another host. Its socket is reached from here all the same.
    #[must_use]
    pub fn in_namespace(mut self, name: impl Into<String>) -> Self {
        self.namespace = Some(name.into());
        self
    }

    /// Sets a directory of programs that the server calls by name. It is searched before the system's directories.
    #[must_use]
    pub fn programs(mut self, directory: impl Into<PathBuf>) -> Self {
        self.programs = Some(directory.into());
        self
    }

    /// Starts without privilege checks.
    #[must_use]
    pub fn skip_grant_tables(self) -> Self {
        self.option("--skip-grant-tables")
    }

    /// Opens MySQL's administrative port (`extra_port` in MariaDB).
    #[must_use]
    pub fn with_admin_port(mut self) -> Self {
        self.admin_port = true;
        self
    }

    /// Starts the server and waits until it answers.
    ///
    /// # Errors
    /// [`Error::Missing`] if the server is not installed, [`Error::NotStarted`] with the end of its error log if it
    /// ends or does not answer in time.
    pub fn start(self) -> Result<Server, Error> {
        let mut server = self.assemble()?;
        self.start_on_free_ports(&mut server)?;
        Ok(server)
    }

    /// Prepares everything for [`Server::start`] without starting.
    ///
    /// # Errors
    /// Those of [`Self::start`].
    pub fn prepare(self) -> Result<Server, Error> {
        let mut server = self.assemble()?;
        self.give_ports(&mut server)?;
        Ok(server)
    }

    fn assemble(&self) -> Result<Server, Error> {
        let binaries = self.kind.locate()?;
        let dir = self.base.as_deref().map_or_else(new_directory, new_directory_in)?;
        let mut datadir = dir.path().join("data");
        if let Some(parent_directory) = &self.parent_directory {
            let current = parent_directory.join(dir.path().file_name().unwrap_or_default());
            fs::create_dir(&current).map_err(Error::file(&current))?;
            let remote = current.join("data");
            std::os::unix::fs::symlink(&remote, &datadir).map_err(Error::file(&datadir))?;
            datadir = remote;
        }
        match &self.seed {
            Some(seed) => template::copy(seed, &datadir)?,
            None if self.empty => fs::create_dir(&datadir).map_err(Error::file(&datadir))?,
            None => template::instantiate(self.kind, &binaries, &self.init_options, &datadir)?,
        }
        let tmp = dir.path().join("tmp");
        fs::create_dir(&tmp).map_err(Error::file(&tmp))?;
        for (name, contents) in &self.files {
            write(&dir.path().join(name), contents)?;
        }
        let keyring_options = self.write_keyring_config(dir.path(), &datadir)?;

        // --no-defaults would make MySQL ignore what SET PERSIST wrote.
        let option_file = dir.path().join("my.cnf");
        write(&option_file, expand(&self.option_file, dir.path()).as_bytes())?;
        let mut fixed = vec![format!("--defaults-file={}", option_file.display())];
        fixed.extend(installation(self.kind, &binaries, &datadir));
        fixed.extend(self.init_options.iter().cloned());
        fixed.extend(keyring_options);
        let options = self.options.iter().map(|option| expand(option, dir.path())).collect();
        let mut server = Server::assemble(self.kind, binaries, dir, fixed, options);
        server.programs.clone_from(&self.programs);
        server.namespace.clone_from(&self.namespace);
        if let Some(id) = self.user {
            for path in [server.dir(), datadir.as_path()] {
                give(path, id)?;
            }
            server.user = Some(id);
        }
        server.set_datadir(datadir);
        Ok(server)
    }

    fn give_ports(&self, server: &mut Server) -> Result<(), Error> {
        let ports = Ports::free()?;
        let options = instance(self.kind, server.dir(), ports, self.admin_port);
        server.set_ports(ports, self.admin_port, options);
        if self.by_file {
            server.move_options_to_file(&expand(&self.option_file, server.dir()))?;
        }
        Ok(())
    }

    /// Retries on other ports: a process outside the tests may take a port between its choice and its use.
    fn start_on_free_ports(&self, server: &mut Server) -> Result<(), Error> {
        let mut attempts = 3;
        loop {
            self.give_ports(server)?;
            match server.start() {
                Err(Error::NotStarted { log_tail, .. }) if attempts > 1 && log_tail.contains("already in use") => {}
                result => return result,
            }
            attempts -= 1;
        }
    }

    /// Writes the keyring's configuration. For a component: a manifest and a configuration file in the data directory.
    /// For a plug-in: returns the options that load it.
    fn write_keyring_config(&self, dir: &Path, datadir: &Path) -> Result<Vec<String>, Error> {
        let keys = match &self.keyring {
            KeyringLocation::None => return Ok(Vec::new()),
            KeyringLocation::InDatadir if self.keyring_plugin => datadir.join("keyring"),
            KeyringLocation::InDatadir => datadir.join("component_keyring_file.keys"),
            KeyringLocation::Beside => dir.join("keyring"),
            KeyringLocation::Path(path) => PathBuf::from(expand(&path.to_string_lossy(), dir)),
        };
        if self.keyring_plugin {
            let data = format!("--keyring-file-data={}", keys.display());
            return Ok(vec!["--early-plugin-load=keyring_file.so".to_owned(), data]);
        }
        let settings = format!(r#"{{"path":"{}","read_only":false}}"#, keys.display());
        write(&datadir.join("component_keyring_file.cnf"), settings.as_bytes())?;
        let manifest = br#"{"components":"file://component_keyring_file"}"#;
        write(&datadir.join("mysqld.my"), manifest)?;
        Ok(Vec::new())
    }
}

/// Changes the owner of a directory and its content.
fn give(path: &Path, id: u32) -> Result<(), Error> {
    let owner = format!("{id}:{id}");
    run(Command::new("chown").args(["-R", "-H", &owner]).arg(path), b"", limit(60)).map(drop)
}

fn write(path: &Path, contents: &[u8]) -> Result<(), Error> {
    fs::write(path, contents).map_err(Error::file(path))
}

/// Replaces the placeholders with directories.
pub(crate) fn expand(option: &str, dir: &Path) -> String {
    option.replace("{dir}", &dir.to_string_lossy()).replace("{datadir}", &dir.join("data").to_string_lossy())
}
