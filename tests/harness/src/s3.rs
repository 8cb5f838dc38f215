//! Object stores for tests: real S3 servers on a free port of 127.0.0.1, in private directories.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::certs::{Authority, Profile};
use crate::command::run;
use crate::process::Daemon;
use crate::server::new_directory;
use crate::{Error, cache, free_port, limit, within};

/// An S3 server that enforces object lock and policies.
const VERSITY: &str = "versitygw";
const ROOT: (&str, &str) = ("root-access", "root-secret");

/// A versitygw with its buckets, users and access log. It ends when the value is dropped.
#[derive(Debug)]
pub struct S3Server {
    // Dropped before the directory that it uses.
    _daemon: Daemon,
    directory: TempDir,
    port: u16,
    is_encrypted: bool,
}

/// Credentials of a user: of the administrator, or of a user whom a bucket's policy restricts.
#[derive(Clone, Debug)]
pub struct S3User {
    /// File with the access key and the secret, of mode 600, in the format of AWS's tools.
    pub file: PathBuf,
}

/// Starts a server with or without TLS, or prints on stderr that the test is skipped.
///
/// # Panics
/// If `CI` is set and the server is not installed, or it does not start.
#[must_use]
pub fn s3_server(is_encrypted: bool) -> Option<S3Server> {
    let program = program();
    if !program.exists() {
        let missing =
            format!("{VERSITY} is not here ({}); run tests/harness/bin/install-servers {VERSITY}", program.display());
        crate::skip(&missing);
        return None;
    }
    Some(S3Server::start(&program, is_encrypted).expect("the S3 server starts"))
}

fn program() -> PathBuf {
    cache().join("servers").join(VERSITY).join("bin").join(VERSITY)
}

impl S3Server {
    fn start(program: &Path, is_encrypted: bool) -> Result<Self, Error> {
        let directory = new_directory()?;
        let at = |name: &str| directory.path().join(name);
        for name in ["data", "versions", "iam"] {
            fs::DirBuilder::new().mode(0o700).create(at(name)).map_err(Error::file(at(name)))?;
        }
        let port = free_port().map_err(Error::file("a port"))?;
        let mut command = Daemon::command(program);
        command.env("ROOT_ACCESS_KEY", ROOT.0).env("ROOT_SECRET_KEY", ROOT.1);
        command.args(["--quiet", "--keep-alive", "--port", &format!("127.0.0.1:{port}"), "--iam-cache-disable"]);
        command.arg("--iam-dir").arg(at("iam")).arg("--access-log").arg(at("access.log"));
        if is_encrypted {
            let authority = Authority::create(&at("ca"))?;
            let files = authority.issue("s3", &Profile::default())?;
            command.arg("--cert").arg(files.cert).arg("--key").arg(files.key);
        }
        command.args(["posix", "--versioning-dir"]).arg(at("versions")).arg(at("data"));
        let log = fs::File::create(at("log")).map_err(Error::file(at("log")))?;
        command.stdout(Stdio::null()).stderr(log);
        let daemon = Daemon::spawn(command).map_err(|source| Error::Spawn { program: VERSITY.to_owned(), source })?;
        let server = Self { _daemon: daemon, directory, port, is_encrypted };
        within(limit(60), || TcpStream::connect(("127.0.0.1", port))).map_err(|why| {
            let log_tail = fs::read_to_string(server.path("log")).unwrap_or_default();
            Error::NotStarted { why, log_tail }
        })?;
        Ok(server)
    }

    /// A path in the server's directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Address of the server.
    #[must_use]
    pub fn endpoint(&self) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// The server's port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The authority of its certificate.
    #[must_use]
    pub fn ca(&self) -> Option<PathBuf> {
        self.is_encrypted.then(|| self.path("ca/ca.pem"))
    }

    /// The administrator.
    ///
    /// # Errors
    /// [`Error`] if the file of the credentials cannot be written.
    pub fn root(&self) -> Result<S3User, Error> {
        self.user(ROOT.0, ROOT.1)
    }

    /// Creates a user with the rights that policies grant.
    ///
    /// # Errors
    /// [`Error`] if the server refuses.
    pub fn create_user(&self, name: &str) -> Result<S3User, Error> {
        let secret = format!("secret-of-{name}");
        self.admin(&["create-user", "--access", name, "--secret", &secret, "--role", "user"])?;
        self.user(name, &secret)
    }

    /// Creates a bucket, with object lock and versions or without.
    ///
    /// # Errors
    /// [`Error`] if the server refuses.
    pub fn create_bucket(&self, name: &str, is_locking: bool) -> Result<(), Error> {
        let lock = if is_locking { "--object-lock-enabled-for-bucket" } else { "--no-object-lock-enabled-for-bucket" };
        self.admin(&["create-bucket", "--owner", ROOT.0, "--bucket", name, lock])
    }

    /// Lines of the access log so far.
    #[must_use]
    pub fn access_log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("access.log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn user(&self, access_key: &str, secret: &str) -> Result<S3User, Error> {
        let file = self.path(&format!("credentials-{access_key}"));
        let text = format!("[default]\naws_access_key_id = {access_key}\naws_secret_access_key = {secret}\n");
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let written = options.open(&file).and_then(|mut out| std::io::Write::write_all(&mut out, text.as_bytes()));
        written.map_err(Error::file(&file))?;
        Ok(S3User { file })
    }

    fn admin(&self, arguments: &[&str]) -> Result<(), Error> {
        let mut command = Command::new(program());
        command.args(["admin", "--access", ROOT.0, "--secret", ROOT.1, "--endpoint-url", &self.endpoint()]);
        if self.is_encrypted {
            command.arg("--allow-insecure");
        }
        run(command.args(arguments), b"", limit(60)).map(drop)
    }
}

/// Signed requests by `curl`, which is independent of the code under test.
impl S3Server {
    /// Sets the policy of a bucket.
    ///
    /// # Errors
    /// [`Error`] if the server refuses.
    pub fn put_policy(&self, bucket: &str, policy: &str) -> Result<(), Error> {
        self.curl("PUT", &format!("{bucket}?policy="), policy)
    }

    /// Stores an object, and replaces an existing one. The name begins with the bucket.
    ///
    /// # Errors
    /// [`Error`] if the server refuses.
    pub fn put_object(&self, name: &str, content: &str) -> Result<(), Error> {
        self.curl("PUT", name, content)
    }

    fn curl(&self, method: &str, path: &str, body: &str) -> Result<(), Error> {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail-with-body", "--request", method, "--data-binary", "@-"]);
        command.args(["--aws-sigv4", "aws:amz:us-east-1:s3", "--user", &format!("{}:{}", ROOT.0, ROOT.1)]);
        let hash = run(Command::new("sha256sum").arg("-"), body.as_bytes(), limit(20))?;
        let hash = String::from_utf8_lossy(&hash.stdout);
        let hash = hash.split_whitespace().next().unwrap_or_default();
        command.arg("--header").arg(format!("x-amz-content-sha256: {hash}"));
        if let Some(ca) = self.ca() {
            command.arg("--cacert").arg(ca);
        }
        run(command.arg(format!("{}/{path}", self.endpoint())), body.as_bytes(), limit(60)).map(drop)
    }
}
