//! Certificates for tests, good and bad, made by the `openssl` command.
//!
//! OpenSSL is independent of the TLS code under test, and it still makes certificates that this code refuses: SHA-1,
//! short keys, X.509 version 1.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::command::run;
use crate::{Error, limit};

const SECONDS: u64 = 60;

/// Paths of PEM files, for a server's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The authority's certificate.
    pub ca: PathBuf,
    /// The server's or client's certificate.
    pub cert: PathBuf,
    /// Its private key, unencrypted PKCS #1 or SEC 1, which old servers read too.
    pub key: PathBuf,
}

/// Kind of a key pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA with 2048 bits.
    #[default]
    Rsa2048,
    /// RSA with 1024 bits: too short since 2013.
    Rsa1024,
    /// ECDSA on NIST P-256.
    P256,
}

/// Properties of a certificate; the default is a good one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The key pair.
    pub key: KeyKind,
    /// Common name of the subject.
    pub common_name: String,
    /// Subject alternative names in OpenSSL's notation, `DNS:a,IP:127.0.0.1`; `None` omits the extension.
    pub alternative_names: Option<String>,
    /// Valid in 2019 only.
    pub expired: bool,
    /// Signed with SHA-1 instead of SHA-256.
    pub sha1: bool,
    /// X.509 version 1: without extensions.
    pub version1: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            key: KeyKind::Rsa2048,
            common_name: "localhost".to_owned(),
            alternative_names: Some("DNS:localhost,IP:127.0.0.1".to_owned()),
            expired: false,
            sha1: false,
            version1: false,
        }
    }
}

/// A certificate authority with its own directory.
#[derive(Debug)]
pub struct Authority {
    dir: PathBuf,
    // `openssl ca` keeps serial numbers in files that it does not lock.
    issuing: Mutex<()>,
}

impl Authority {
    /// Creates an authority in `dir`: `ca.pem` and `ca-key.pem`.
    ///
    /// # Errors
    /// If the directory cannot be written or `openssl` fails.
    pub fn create(dir: &Path) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(Error::file(dir))?;
        let authority = Self { dir: dir.to_owned(), issuing: Mutex::new(()) };
        authority.write("ca.cnf", CONFIG)?;
        authority.write("index.txt", "")?;
        authority.write("serial", "1000\n")?;
        authority.key(KeyKind::Rsa2048, "ca-key.pem")?;
        authority.openssl(&[
            "req",
            "-new",
            "-x509",
            "-config",
            "ca.cnf",
            "-extensions",
            "authority",
            "-key",
            "ca-key.pem",
            "-out",
            "ca.pem",
            "-days",
            "3650",
            "-sha256",
            "-subj",
            "/CN=Sealant test authority",
        ])?;
        Ok(authority)
    }

    /// The authority's certificate.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.dir.join("ca.pem")
    }

    /// Issues a certificate as `NAME.pem` with the key `NAME-key.pem`.
    ///
    /// # Errors
    /// If `openssl` fails.
    pub fn issue(&self, name: &str, profile: &Profile) -> Result<TlsFiles, Error> {
        let (key, request) = (format!("{name}-key.pem"), format!("{name}.csr"));
        let (cert, extensions) = (format!("{name}.pem"), format!("{name}.ext"));
        let subject = format!("/CN={}", profile.common_name);
        let _alone = self.issuing.lock().unwrap_or_else(PoisonError::into_inner);
        self.key(profile.key, &key)?;
        self.openssl(&["req", "-new", "-config", "ca.cnf", "-key", &key, "-out", &request, "-subj", &subject])?;
        let mut arguments = vec![
            "ca",
            "-batch",
            "-notext",
            "-config",
            "ca.cnf",
            "-in",
            &request,
            "-out",
            &cert,
            "-md",
            if profile.sha1 { "sha1" } else { "sha256" },
        ];
        let (from, until) = profile.validity();
        arguments.extend(["-startdate", from, "-enddate", until]);
        if !profile.version1 {
            self.write(&extensions, &profile.extensions())?;
            arguments.extend(["-extfile", &extensions]);
        }
        self.openssl(&arguments)?;
        let path = |file: &str| self.dir.join(file);
        Ok(TlsFiles { ca: self.certificate(), cert: path(&cert), key: path(&key) })
    }

    fn key(&self, kind: KeyKind, file: &str) -> Result<(), Error> {
        match kind {
            KeyKind::Rsa2048 => self.rsa("2048", file),
            KeyKind::Rsa1024 => self.rsa("1024", file),
            KeyKind::P256 => self.openssl(&["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file]),
        }
    }

    fn rsa(&self, bits: &str, file: &str) -> Result<(), Error> {
        self.openssl(&["genrsa", "-traditional", "-out", file, bits])
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.dir.join(name);
        fs::write(&path, text).map_err(Error::file(path))
    }

    fn openssl(&self, arguments: &[&str]) -> Result<(), Error> {
        let mut command = Command::new("openssl");
        run(command.args(arguments).current_dir(&self.dir), b"", limit(SECONDS)).map(drop)
    }
}

impl Profile {
    fn validity(&self) -> (&'static str, &'static str) {
        if self.expired {
            return ("20190101000000Z", "20191231000000Z");
        }
        ("20200101000000Z", "20490101000000Z")
    }

    fn extensions(&self) -> String {
        let mut text = "basicConstraints=CA:FALSE\nkeyUsage=digitalSignature,keyEncipherment\n\
                        extendedKeyUsage=serverAuth,clientAuth\n"
            .to_owned();
        if let Some(names) = &self.alternative_names {
            text += &format!("subjectAltName={names}\n");
        }
        text
    }
}

/// `openssl ca` adds an extension section only when told to, so version 1 works.
const CONFIG: &str = "\
[ca]
default_ca = authority_files
[authority_files]
database = index.txt
serial = serial
new_certs_dir = .
certificate = ca.pem
private_key = ca-key.pem
policy = policy
unique_subject = no
[policy]
commonName = supplied
[req]
distinguished_name = subject
prompt = no
[subject]
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
";
