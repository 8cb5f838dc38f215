//! Object stores for tests: real S3 servers on a free port of 127.0.0.1, in private directories.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::certs::{Authority, Profile, TlsFiles};
use crate::command::run;
use crate::process::Daemon;
use crate::server::new_directory;
use crate::{Error, cache, free_port, limit, within};

const ROOT: (&str, &str) = ("root-access", "root-secret");

/// The program that serves.
#[derive(Clone, Copy, Debug)]
enum Product {
    /// Enforces object lock and policies.
    VersityGw,
    /// Ignores locks, keeps bytes whose checksum it refuses, and has neither versions nor users.
    S3sFs,
}

/// An S3 server with its buckets. It ends when the value is dropped.
#[derive(Debug)]
pub struct S3Server {
    // Dropped before the directory that it uses.
    daemon: Option<Daemon>,
    product: Product,
    directory: TempDir,
    port: u16,
    tls: Option<TlsFiles>,
}

/// Credentials of a user: of the administrator, or of a user whom a bucket's policy restricts.
#[derive(Clone, Debug)]
pub struct S3User {
    /// File with the access key and the secret, of mode 600, in the format of AWS's tools.
    pub file: PathBuf,
}

/// Starts versitygw with or without TLS, or prints on stderr that the test is skipped.
///
/// # Panics
/// If `CI` is set and the server is not installed, or it does not start.
#[must_use]
pub fn s3_server(is_encrypted: bool) -> Option<S3Server> {
    Product::VersityGw.start(is_encrypted)
}

/// Starts s3s-fs, which does less than S3 promises, without TLS, or prints on stderr that the test is skipped.
///
/// # Panics
/// As [`s3_server`].
#[must_use]
pub fn careless_s3_server() -> Option<S3Server> {
    Product::S3sFs.start(false)
}

impl Product {
    const fn name(self) -> &'static str {
        match self {
            Self::VersityGw => "versitygw",
            Self::S3sFs => "s3s-fs",
        }
    }

    fn program(self) -> PathBuf {
        cache().join("servers").join(self.name()).join("bin").join(self.name())
    }

    fn start(self, is_encrypted: bool) -> Option<S3Server> {
        let (name, program) = (self.name(), self.program());
        if !program.exists() {
            let missing =
                format!("{name} is not here ({}); run tests/harness/bin/install-servers {name}", program.display());
            crate::skip(&missing);
            return None;
        }
        Some(S3Server::new(self, is_encrypted).expect("the S3 server starts"))
    }

    /// The command that serves the directory of a server.
    fn command(self, server: &S3Server) -> Command {
        let mut command = Daemon::command(&self.program());
        match self {
            Self::VersityGw => {
                command.env("ROOT_ACCESS_KEY", ROOT.0).env("ROOT_SECRET_KEY", ROOT.1);
                let address = format!("127.0.0.1:{}", server.port);
                command.args(["--quiet", "--keep-alive", "--port", &address, "--iam-cache-disable"]);
                command.arg("--iam-dir").arg(server.path("iam")).arg("--access-log").arg(server.path("access.log"));
                if let Some(files) = &server.tls {
                    command.arg("--cert").arg(&files.cert).arg("--key").arg(&files.key);
                }
                command.args(["posix", "--versioning-dir"]).arg(server.path("versions"));
            }
            Self::S3sFs => {
                command.args(["--host", "127.0.0.1", "--port", &server.port.to_string()]);
                command.args(["--access-key", ROOT.0, "--secret-key", ROOT.1]);
            }
        }
        command.arg(server.path("data"));
        command
    }
}

impl S3Server {
    fn new(product: Product, is_encrypted: bool) -> Result<Self, Error> {
        let directory = new_directory()?;
        let at = |name: &str| directory.path().join(name);
        for name in ["data", "versions", "iam"] {
            fs::DirBuilder::new().mode(0o700).create(at(name)).map_err(Error::file(at(name)))?;
        }
        let port = free_port().map_err(Error::file("a port"))?;
        let issue = || Authority::create(&at("ca"))?.issue("s3", &Profile::default());
        let tls = is_encrypted.then(issue).transpose()?;
        let mut server = Self { daemon: None, product, directory, port, tls };
        server.start()?;
        Ok(server)
    }

    /// Kills the server with SIGKILL, as in a crash; the files stay.
    pub fn kill(&mut self) {
        self.daemon = None;
    }

    /// Starts the server on its files, at the same address as before.
    ///
    /// # Errors
    /// [`Error`] if it does not accept connections.
    pub fn start(&mut self) -> Result<(), Error> {
        let mut command = self.product.command(self);
        let path = self.path("log");
        let log = fs::File::options().create(true).append(true).open(&path).map_err(Error::file(&path))?;
        command.stdout(Stdio::null()).stderr(log);
        let failed = |source| Error::Spawn { program: self.product.name().to_owned(), source };
        self.daemon = Some(Daemon::spawn(command).map_err(failed)?);
        within(limit(60), || TcpStream::connect(("127.0.0.1", self.port))).map_err(|why| {
            let log_tail = fs::read_to_string(&path).unwrap_or_default();
            Error::NotStarted { why, log_tail }
        })?;
        Ok(())
    }

    /// A path in the server's directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Address of the server.
    #[must_use]
    pub fn endpoint(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
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
        self.tls.as_ref().map(|files| files.ca.clone())
    }

    /// The administrator.
    ///
    /// # Errors
    /// [`Error`] if the file of the credentials cannot be written.
    pub fn root(&self) -> Result<S3User, Error> {
        self.user(ROOT.0, ROOT.1)
    }

    /// Creates a user with the rights that policies grant, in versitygw.
    ///
    /// # Errors
    /// [`Error`] if the server refuses.
    pub fn create_user(&self, name: &str) -> Result<S3User, Error> {
        let secret = format!("secret-of-{name}");
        self.admin(&["create-user", "--access", name, "--secret", &secret, "--role", "user"])?;
        self.user(name, &secret)
    }

    /// Creates a bucket, with object lock and versions, if the server has them, or without.
    ///
    /// # Errors
    /// [`Error`] if the server refuses.
    pub fn create_bucket(&self, name: &str, is_locking: bool) -> Result<(), Error> {
        if matches!(self.product, Product::S3sFs) {
            let bucket = self.path("data").join(name);
            return fs::create_dir(&bucket).map_err(Error::file(bucket));
        }
        let lock = if is_locking { "--object-lock-enabled-for-bucket" } else { "--no-object-lock-enabled-for-bucket" };
        self.admin(&["create-bucket", "--owner", ROOT.0, "--bucket", name, lock])
    }

    /// Lines of versitygw's access log so far.
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
        let mut command = Command::new(Product::VersityGw.program());
        command.args(["admin", "--access", ROOT.0, "--secret", ROOT.1, "--endpoint-url", &self.endpoint()]);
        if self.tls.is_some() {
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
