//! Errors of installing a certificate.

use std::{borrow::Cow, io, path::PathBuf};

use server::Endpoint;

/// Why a certificate was not installed. No message contains a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server or a statement failed.
    #[error(transparent)]
    Change(#[from] crate::Error),
    /// The given files cannot be used.
    #[error(transparent)]
    Certificate(#[from] pki::Error),
    /// The certificate is not acceptable.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// Path of the certificate.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The account lacks a privilege.
    #[error("{account} lacks {missing}")]
    Privilege {
        /// The account, in the server's notation.
        account: String,
        /// Missing privilege, as `PRIVILEGE ON OBJECT`.
        missing: &'static str,
    },
    /// The server is too old to take a certificate while it runs.
    #[error("{server}: reads certificates only when it starts; {statement} came with {since}{}", too_old(tls_version))]
    ReadsAtStart {
        /// The server.
        server: String,
        /// The statement that it lacks.
        statement: &'static str,
        /// What came with the statement.
        since: String,
        /// Its `tls_version`, if that allows no version of TLS in which the certificate could be proven.
        tls_version: Option<String>,
    },
    /// A TLS variable of the server names no file.
    #[error("{server}: {variable} names no file, and it cannot be set while the server runs")]
    MissingVariable {
        /// The server.
        server: String,
        /// Name of the variable.
        variable: &'static str,
    },
    /// An account has set the name of a file at run time.
    #[error(
        "{server}: {variable} names {}, which some account has set ({origin}), not an option file or the command line",
        path.display()
    )]
    SetByAccount {
        /// The server.
        server: String,
        /// Name of the variable.
        variable: &'static str,
        /// The file that it names.
        path: PathBuf,
        /// The origin of the value, in the server's words.
        origin: String,
    },
    /// The existing file may not be replaced.
    #[error("{}: {why}; it is left as it is", path.display())]
    NotReplaced {
        /// The file or link.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Two variables name the same file.
    #[error("{}: the server keeps its {one} and its {other} in this one file", path.display())]
    SameFile {
        /// Path of the file.
        path: PathBuf,
        /// One variable.
        one: &'static str,
        /// The other variable.
        other: &'static str,
    },
    /// A file of the server cannot be read or replaced.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The handshake from outside failed.
    #[error("{endpoint}: the handshake from outside failed: {source}")]
    Unseen {
        /// The endpoint.
        endpoint: Endpoint,
        /// The error.
        source: server::Error,
    },
    /// The server still presents another certificate after reloading.
    #[error("{endpoint}: still serves the certificate {found}, not the new one {wanted}")]
    NotServed {
        /// The endpoint.
        endpoint: Endpoint,
        /// SHA-256 of the certificate that it presents.
        found: String,
        /// SHA-256 of the new certificate.
        wanted: String,
    },
    /// Installation failed, and everything is restored.
    #[error("{cause}; everything is as it was before")]
    RolledBack {
        /// Why it failed.
        cause: Box<Self>,
    },
    /// Installation failed, and the roll-back is not proven.
    #[error("{cause}; and the roll-back failed: {why}")]
    NotRolledBack {
        /// Why it failed.
        cause: Box<Self>,
        /// Why the roll-back failed.
        why: Box<Self>,
    },
}

impl Error {
    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Change(crate::Error::Server(error)) => return error.hint().map(Cow::into_owned),
            Self::Change(_) => return None,
            Self::Certificate(error) => return error.hint().map(str::to_owned),
            Self::Refused { .. } => "issue another with `sealant cert issue` or `sealant cert renew`".to_owned(),
            Self::Privilege { account, missing } => format!("GRANT {missing} TO {account}"),
            Self::ReadsAtStart { tls_version, .. } => {
                let put = "put the files where ssl_cert, ssl_key and ssl_ca of its option file say, and restart it";
                match tls_version {
                    None => put.to_owned(),
                    Some(_) => format!(
                        "upgrade it: all builds of MySQL from 5.7.28 on have TLS 1.2; until then, {put}, with an RSA key that \
                         `openssl rsa -traditional` has converted if the build is one with yaSSL"
                    ),
                }
            }
            Self::MissingVariable { .. } => {
                "name the files in the server's option file (ssl_cert, ssl_key, ssl_ca), put the certificate there and \
                 restart the server once; later certificates need no restart"
                    .to_owned()
            }
            Self::SetByAccount { variable, .. } => {
                format!("name the file in the server's option file, RESET PERSIST {variable} (MySQL), and restart it once")
            }
            Self::NotReplaced { .. } => {
                "look at what is there; a file that is the server's to be replaced is one that is gone, or PEM of its kind \
                 that belongs to the server's user or to root"
                    .to_owned()
            }
            Self::SameFile { .. } => "give each a file of its own in the server's option file, and restart it".to_owned(),
            Self::File { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run as root, or as the server's user".to_owned()
            }
            Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "run it on the server's own host: the files are replaced there".to_owned()
            }
            Self::File { .. } => return None,
            Self::Unseen { source: server::Error::CertificateNotTrusted { .. }, .. } => {
                "issue another with `sealant cert issue`, and give its own authority with --ca".to_owned()
            }
            Self::Unseen { .. } => "say where the server can be reached with --outside HOST:PORT".to_owned(),
            Self::NotServed { .. } => {
                "is this the server that the files belong to? run it on the server's own host".to_owned()
            }
            Self::RolledBack { cause } => return cause.hint(),
            Self::NotRolledBack { .. } => {
                "the old files are beside the new ones, as FILE.sealant-before: put them back, then ALTER INSTANCE RELOAD \
                 TLS (MySQL) or FLUSH SSL (MariaDB)"
                    .to_owned()
            }
        })
    }
}

fn too_old(tls_version: &Option<String>) -> String {
    let known = |versions| format!(", and with tls_version {versions} no TLS from 1.2 on could prove what it serves");
    tls_version.as_ref().map(known).unwrap_or_default()
}
