//! Errors of key services.

use std::{io, path::PathBuf};

use crate::{
    kms_fault::{KmsFault, NAME},
    withdrawn::Withdrawn,
};

/// Why a service cannot be used. No message contains a credential or a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be used.
    #[error("{}: {reason}", address.escape_debug())]
    Address {
        /// The address, as given.
        address: String,
        /// The reason, as messages give it.
        reason: &'static str,
    },
    /// The path is malformed.
    #[error(
        "{}: must be a path such as secret/data/mysqldata, of letters, digits and - _ . ~ = + /",
        path.escape_debug()
    )]
    Path {
        /// The path, as given.
        path: String,
    },
    /// No trusted authorities were given.
    #[error("https needs the certificates of the authorities to trust")]
    NoAuthorities,
    /// A file of certificates cannot be used.
    #[error(transparent)]
    Authorities(#[from] https::AuthoritiesError),
    /// The certificate or key of this client, or the authorities, cannot be used.
    #[error(transparent)]
    Certificates(#[from] pki::Error),
    /// A file with credentials cannot be read.
    #[error("{}: {source}", path.display())]
    Credentials {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// There are no credentials for AWS.
    #[error(transparent)]
    Aws(#[from] aws::Error),
    /// A file holds no token or other credential.
    #[error("{}: holds no {what}", path.display())]
    NoCredential {
        /// Path of the file.
        path: PathBuf,
        /// What it should hold, such as "Vault token".
        what: &'static str,
    },
    /// The namespace contains characters that are not allowed in a namespace.
    #[error("{}: is not the name of a namespace", namespace.escape_debug())]
    Namespace {
        /// The name, as given.
        namespace: String,
    },
    /// A request failed.
    #[error("{address}: {fault}")]
    Request {
        /// The full address of the request.
        address: String,
        /// What went wrong.
        fault: Fault,
    },
}

/// What went wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// No connection.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// No answer within the time limit.
    #[error("no answer in time")]
    Timeout,
    /// The certificate was not issued by one of the given authorities, or is not valid for this host or at this time.
    #[error("its certificate is not trusted: {0}")]
    Certificate(String),
    /// The connection ended before the end of the answer.
    #[error("the connection ended in the middle of the answer")]
    CutOff,
    /// The answer is longer than any expected answer.
    #[error("the answer is larger than {limit} bytes, more than was asked for")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The Vault is sealed.
    #[error("the Vault is sealed (503)")]
    Sealed,
    /// The Vault, or a proxy in front of it, is not available.
    #[error("the service is not available (503)")]
    NotAvailable,
    /// The Vault is a standby, or a quota limits the rate of requests.
    #[error("the Vault is a standby, or limits the rate of requests ({0})")]
    Busy(u16),
    /// The credentials are not valid, or lack permission.
    #[error("the Vault refuses the token for this path (403)")]
    Forbidden,
    /// The token has no permission to write to the path.
    #[error("the Vault does not let this token write to this path (403)")]
    MayNotWrite,
    /// The newest version of a secret is not the expected one.
    #[error("its newest version is not {expected} any more: somebody else writes it")]
    OtherVersion {
        /// The version that was expected to be the newest.
        expected: u32,
    },
    /// A secret was to be created, but the name has or had a value.
    #[error("there is a secret of this name already, or was one that is deleted")]
    Exists,
    /// The token itself is not valid.
    #[error("the Vault does not know the token (403): it has expired, was revoked, or is of another Vault")]
    TokenUnknown,
    /// The login was refused.
    #[error("the Vault refuses the login ({0})")]
    LoginRefused(u16),
    /// Nothing exists under this name.
    #[error("there is no such secret (404)")]
    Absent,
    /// A deleted or destroyed version.
    #[error("this version is {0}")]
    Withdrawn(Withdrawn),
    /// Nothing is mounted at the path, or the token has no permission for it; the Vault does not tell which.
    #[error("nothing is mounted at this path, or the token may see nothing of it (403)")]
    NoAccess,
    /// No secrets engine is mounted at the path.
    #[error("no secrets engine is mounted at this path (404)")]
    NoMount,
    /// The mounted engine is not a KV engine of the version needed.
    #[error("the secrets engine there is {found}, not {needed}")]
    WrongEngine {
        /// The mounted engine.
        found: String,
        /// The required engine.
        needed: &'static str,
    },
    /// The service redirects, which is not followed.
    #[error("it redirects ({0}), which is not followed")]
    Redirect(u16),
    /// The service answered with an HTTP status that has no other meaning here.
    #[error("the answer has status {0}")]
    Status(u16),
    /// The answer is not JSON.
    #[error("the answer is not JSON")]
    NotJson,
    /// The answer is not a secret.
    #[error("the answer is not a secret of a KV engine{}", if *.second_version {
        " of version 2; its paths have `data` after the mount"
    } else {
        ""
    })]
    NotASecret {
        /// A secret of version 2 was expected.
        second_version: bool,
    },
    /// The secret has no such field.
    #[error("the secret has no field `{}` with text", .0.escape_debug())]
    NoField(String),
    /// The answer is not a list of names.
    #[error("the answer is not a list of names")]
    NotAList,
    /// The answer is not a KMIP message, or lacks a required item.
    #[error("the answer is not the KMIP message that was asked for")]
    NotKmip,
    /// The answer is about another object than the request.
    #[error("the answer is about another object than the one that was asked for")]
    OtherObject,
    /// The service found more objects than it names.
    #[error("the service found {located} keys, but names only {named} of them")]
    PartOfList {
        /// Number of identifiers in the answer.
        named: usize,
        /// Number of objects that were found.
        located: usize,
    },
    /// The KMIP service refused the request.
    #[error("the service refuses it{} (reason {reason})", said(message))]
    KmipRefused {
        /// `Result Reason`.
        reason: u32,
        /// Its message; may be empty.
        message: String,
    },
    /// The key is wrapped, or its format is not raw bytes.
    #[error("the key is not given as its bytes alone: it is wrapped, or in another format")]
    NotARawKey,
    /// The service did not accept this client's certificate.
    #[error("the service refuses this client's certificate (TLS alert {0})")]
    ClientRefused(String),
    /// AWS KMS does not decrypt a key.
    #[error(transparent)]
    Kms(KmsFault),
    /// An HTTP error.
    #[error("the answer cannot be read: {0}")]
    Protocol(String),
}

impl Error {
    /// The next step for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoAuthorities => Some(
                "name the file of the service's own authority with vault_ca or sealant_ca in the configuration or --vault-ca, or the \
                 system's, such as /etc/ssl/certs/ca-certificates.crt",
            ),
            Self::Credentials { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("run as a user who may read it, such as root or the server's")
            }
            Self::Certificates(error) => error.hint(),
            Self::Request { address, fault: Fault::Unreachable(_) | Fault::Timeout }
                if address.starts_with("kmip:") =>
            {
                Some("is the KMIP service running, and may this host reach it?")
            }
            Self::Request { address, fault: Fault::Unreachable(_) | Fault::Timeout } if address.starts_with(NAME) => {
                Some("check region and endpoint, and that this host may reach it")
            }
            Self::Aws(aws::Error::Missing { .. }) => Some(
                "write aws_access_key_id and aws_secret_access_key to a file of mode 600, and name it with \
                 sealant_credentials in the configuration",
            ),
            Self::Request { fault, .. } => fault.hint(),
            _ => None,
        }
    }

    /// Whether the request can never work, independent of the state of files and networks.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Address { .. } | Self::Path { .. } | Self::NoAuthorities | Self::Namespace { .. })
    }

    /// The fault of a request, if that is the error.
    #[must_use]
    pub const fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Request { fault, .. } => Some(fault),
            _ => None,
        }
    }

    /// Whether the error may be temporary: no listener yet, no network, sealed. An invalid certificate is not.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        self.fault().is_some_and(Fault::may_pass)
    }
}

impl Fault {
    const fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Timeout | Self::CutOff | Self::Sealed | Self::NotAvailable | Self::Busy(_) => {
                true
            }
            Self::Status(code) | Self::LoginRefused(code) => *code >= 500,
            Self::Kms(fault) => fault.may_pass(),
            _ => false,
        }
    }

    const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Unreachable(_) | Self::Timeout => "is the Vault running, and may this host reach it?",
            Self::Certificate(_) => {
                "name the authority that issued it, and check this host's clock; if both are right, another machine \
                 answers"
            }
            Self::CutOff | Self::NotAvailable => "try again",
            Self::Sealed => "unseal it (`vault operator unseal`) and try again",
            Self::Busy(_) => "try again later, or ask the active node",
            Self::Forbidden => "the token's policy needs the capability `read` for this path, and `list` to list keys",
            Self::MayNotWrite => {
                "the token's policy needs for this path the capability `create`, and for a new version of a secret \
                 `update`"
            }
            Self::OtherVersion { .. } => "run the same command again when nobody else rotates this key",
            Self::Exists => {
                "if the Vault shows no value of it, restore it (`vault kv undelete`) or remove it (`vault kv metadata \
                 delete`)"
            }
            Self::TokenUnknown => "get a new token, and check that the address is of the right Vault",
            Self::LoginRefused(_) => "check role id and secret id, and where the AppRole method is mounted",
            Self::NoMount | Self::NoAccess => {
                "check the mount point (`vault secrets list`), the namespace, and the policy of the token"
            }
            Self::KmipRefused { .. } => {
                "see the service's log: the owner of client_ca needs the permissions Locate, Get and \
                                          Get Attributes"
            }
            Self::PartOfList { .. } => {
                "raise the service's limit of objects in an answer, or let object_group name fewer keys"
            }
            Self::ClientRefused(_) => {
                "client_ca has to be a certificate that the service accepts, and client_key its key"
            }
            Self::Kms(fault) => return fault.hint(),
            Self::Redirect(_) => "give the address of the active node itself",
            _ => return None,
        })
    }
}

/// What the service says, if anything.
fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {}", message.escape_debug()) }
}
