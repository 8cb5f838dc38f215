//! Emulators of Azure's and Google's object stores, on a free port of 127.0.0.1, in private directories. They belong to
//! `make soak`, since the gate does not build the feature that they test.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::certs::{Authority, Profile, TlsFiles};
use crate::command::run;
use crate::process::Daemon;
use crate::server::new_directory;
use crate::{Error, cache, free_port, limit, print_skipped, within};

/// The account and its key that every Azurite has, from its documentation.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Signs and sends the request that creates a container (`PUT ?restype=container`), by other programs than the code under
/// test. Arguments: account, key, container, and the rest for curl.
const CREATE: &str = r#"
account=$1 key=$2 container=$3
shift 3
date=$(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S GMT')
key=$(printf %s "$key" | openssl base64 -d -A | xxd -p -c 256)
signature=$(printf 'PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:%s\nx-ms-version:2021-08-06\n/%s/%s/%s\nrestype:container' \
        "$date" "$account" "$account" "$container" |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
exec curl --silent --show-error --fail-with-body --request PUT --header "x-ms-date: $date" \
    --header 'x-ms-version: 2021-08-06' --header 'Content-Length: 0' \
    --header "Authorization: SharedKey $account:$signature" "$@"
"#;

/// A running emulator; removed on drop.
#[derive(Debug)]
pub struct Emulator {
    // Dropped before the directory that it uses.
    _daemon: Daemon,
    directory: TempDir,
    port: u16,
    tls: Option<TlsFiles>,
    is_azure: bool,
}

/// Starts Azurite with or without TLS, or prints on stderr that the test is skipped.
///
/// # Panics
/// If it does not start.
#[must_use]
pub fn azurite(is_encrypted: bool) -> Option<Emulator> {
    let program = installed("azurite", "node_modules/.bin/azurite-blob")?;
    Some(Emulator::azure(&program, is_encrypted).expect("Azurite starts"))
}

/// Starts fake-gcs-server, or prints on stderr that the test is skipped.
///
/// # Panics
/// If it does not start.
#[must_use]
pub fn fake_gcs() -> Option<Emulator> {
    let program = installed("fake-gcs", "bin/fake-gcs-server")?;
    Some(Emulator::google(&program).expect("fake-gcs-server starts"))
}

fn installed(name: &str, program: &str) -> Option<PathBuf> {
    let path = cache().join("servers").join(name).join(program);
    if path.exists() {
        return Some(path);
    }
    print_skipped(&format!("{} is missing; tests/harness/bin/install-servers {name} installs it", path.display()));
    None
}

impl Emulator {
    fn azure(program: &Path, is_encrypted: bool) -> Result<Self, Error> {
        let (directory, port) = (new_directory()?, free_port().map_err(Error::file("a port"))?);
        let issue = || Authority::create(&directory.path().join("ca"))?.issue("azure", &Profile::default());
        let tls = is_encrypted.then(issue).transpose()?;
        let mut command = Daemon::command(program);
        command.args(["--silent", "--disableTelemetry", "--skipApiVersionCheck", "--blobHost", "127.0.0.1"]);
        command.args(["--blobPort", &port.to_string()]).arg("--location").arg(directory.path());
        if let Some(files) = &tls {
            command.arg("--cert").arg(&files.cert).arg("--key").arg(&files.key);
        }
        Self::start(command, directory, port, tls, true)
    }

    fn google(program: &Path) -> Result<Self, Error> {
        let (directory, port) = (new_directory()?, free_port().map_err(Error::file("a port"))?);
        let data = directory.path().join("data");
        fs::create_dir(&data).map_err(Error::file(&data))?;
        let mut command = Daemon::command(program);
        command.args(["-scheme", "http", "-host", "127.0.0.1", "-port", &port.to_string()]);
        command.args(["-public-host", &format!("127.0.0.1:{port}"), "-backend", "filesystem"]);
        command.arg("-filesystem-root").arg(&data);
        Self::start(command, directory, port, None, false)
    }

    fn start(
        mut command: Command,
        directory: TempDir,
        port: u16,
        tls: Option<TlsFiles>,
        is_azure: bool,
    ) -> Result<Self, Error> {
        let path = directory.path().join("log");
        let log = fs::File::create(&path).map_err(Error::file(&path))?;
        command.env("HOME", directory.path()).stdout(Stdio::null()).stderr(log);
        let program = command.get_program().to_string_lossy().into_owned();
        let daemon = Daemon::spawn(command).map_err(|source| Error::Spawn { program, source })?;
        let emulator = Self { _daemon: daemon, directory, port, tls, is_azure };
        within(limit(60), || TcpStream::connect(("127.0.0.1", port))).map_err(|why| {
            let log_tail = fs::read_to_string(&path).unwrap_or_default();
            Error::NotStarted { why, log_tail }
        })?;
        Ok(emulator)
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The endpoint at this port: that of the emulator, or of a proxy in front of it.
    #[must_use]
    pub fn endpoint_at(&self, port: u16) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let account = if self.is_azure { format!("/{ACCOUNT}") } else { String::new() };
        format!("{scheme}://127.0.0.1:{port}{account}")
    }

    /// Its address.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.endpoint_at(self.port)
    }

    /// The authority of its certificate.
    #[must_use]
    pub fn ca(&self) -> Option<PathBuf> {
        self.tls.as_ref().map(|files| files.ca.clone())
    }

    /// Creates a container or bucket.
    ///
    /// # Errors
    /// [`Error`] if the emulator refuses.
    pub fn create_container(&self, name: &str) -> Result<(), Error> {
        if !self.is_azure {
            let bucket = self.directory.path().join("data").join(name);
            return fs::create_dir(&bucket).map_err(Error::file(bucket));
        }
        let mut command = Command::new("bash");
        command.args(["-c", CREATE, "create", ACCOUNT, KEY, name]);
        if let Some(ca) = self.ca() {
            command.arg("--cacert").arg(ca);
        }
        run(command.arg(format!("{}/{name}?restype=container", self.endpoint())), b"", limit(60)).map(drop)
    }

    /// Writes the file with its credentials.
    ///
    /// # Errors
    /// [`Error`] if it cannot be written.
    pub fn credentials(&self) -> Result<PathBuf, Error> {
        let text = if self.is_azure {
            format!("AZURE_STORAGE_KEY = {KEY}\n")
        } else {
            concat!(
                r#"{"type": "service_account", "project_id": "p", "private_key": "", "private_key_id": "", "#,
                r#""client_email": "", "client_id": "", "disable_oauth": true}"#
            )
            .to_owned()
        };
        let file = self.directory.path().join("credentials");
        let written = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&file);
        written.and_then(|mut out| std::io::Write::write_all(&mut out, text.as_bytes())).map_err(Error::file(&file))?;
        Ok(file)
    }
}
