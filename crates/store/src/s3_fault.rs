//! Errors of buckets, and hints for them.

use jiff::Timestamp;

use crate::s3_action;

/// Why a bucket could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum S3Fault {
    /// The URL, the endpoint or the region is invalid.
    #[error("{text:?} {reason}")]
    Address {
        /// The text, as it was given.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The authorities for the store's certificate cannot be read.
    #[error(transparent)]
    Authorities(#[from] https::AuthoritiesError),
    /// The system's authorities were not found.
    #[error("no file with the system's certificate authorities was found")]
    NoAuthorities,
    /// There are no credentials.
    #[error(transparent)]
    Credentials(#[from] aws::Error),
    /// The credentials for Azure or Google cannot be used. The reason has nothing of their content.
    #[error("the credentials in {origin} cannot be used: {reason}")]
    UnusableCredentials {
        /// The file, or the environment.
        origin: String,
        /// Why they cannot be used.
        reason: String,
    },
    /// The store does not answer, or not in time.
    #[error("{endpoint} does not answer: {reason} (gave up after {attempts} attempts)")]
    Unreachable {
        /// Scheme, host and port.
        endpoint: String,
        /// The last error.
        reason: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// TLS failed, for example because the certificate of the store is not trusted.
    #[error("{endpoint}: {reason}")]
    Tls {
        /// Scheme, host and port.
        endpoint: String,
        /// What the TLS library reports.
        reason: String,
    },
    /// The store is overloaded or broken, and stayed so until the run gave up.
    #[error("the store answers {status} {code} (gave up after {attempts} attempts)")]
    Busy {
        /// Status of the HTTP answer.
        status: u16,
        /// The store's error code, such as `AccessDenied`.
        code: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// The bucket does not exist.
    #[error("there is no bucket {bucket}")]
    NoBucket {
        /// Name of the bucket.
        bucket: String,
    },
    /// The bucket is in another region.
    #[error(
        "the bucket is not in the region {configured}{}",
        right.as_ref().map(|right| format!(", but in {right}")).unwrap_or_default()
    )]
    WrongRegion {
        /// The configured region.
        configured: String,
        /// The bucket's region, if the store says so.
        right: Option<String>,
    },
    /// The credentials have expired.
    #[error("the credentials have expired")]
    Expired,
    /// The store does not know the access key, or the secret is wrong.
    #[error("the store does not accept the credentials: {code}")]
    Rejected {
        /// The store's error code, such as `AccessDenied`.
        code: String,
    },
    /// The credentials do not allow the operation.
    #[error("the credentials lack the permission {action}")]
    Denied {
        /// Name of the permission in policies.
        action: &'static str,
    },
    /// The store refused to say whether an object exists. An answer to HEAD has no body that could name the reason.
    #[error(
        "the store refuses to say whether {key} exists (HEAD: 403), and such an answer names no reason: the \
         credentials may lack the permission {}, or {} if there is no such object",
        s3_action::GET_OBJECT,
        s3_action::LIST_BUCKET
    )]
    Unexplained {
        /// Key of the object.
        key: String,
    },
    /// The clock of this host is wrong.
    #[error("the clock of this host is wrong: it shows {ours}, the store's {theirs}")]
    Clock {
        /// Time of this host.
        ours: Timestamp,
        /// Time of the store.
        theirs: Timestamp,
    },
    /// The store is full.
    #[error("the store is full: {code}")]
    Full {
        /// The store's error code, such as `AccessDenied`.
        code: String,
    },
    /// An object is locked: it cannot be deleted, and its lock cannot be shortened.
    #[error("the object is locked")]
    Locked,
    /// Bytes were changed on the way to the store: it computed another hash.
    #[error("the store received other bytes than were sent, several times")]
    Garbled,
    /// An object was replaced while it was read.
    #[error("the object was replaced while it was read")]
    Replaced,
    /// Any other refusal.
    #[error(
        "the store refuses: {status} {code}{}",
        if message.is_empty() { String::new() } else { format!(": {message}") }
    )]
    Refused {
        /// Status of the HTTP answer.
        status: u16,
        /// The store's error code, such as `AccessDenied`.
        code: String,
        /// The store's explanation.
        message: String,
    },
    /// The store's answer is malformed or unexpected.
    #[error("the store's answer cannot be understood: {0}")]
    Answer(String),
}

impl S3Fault {
    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoBucket { .. } => {
                "check the bucket's name in the configuration; a new bucket is created with the tools of the \
                 store"
                    .to_owned()
            }
            Self::NoAuthorities => "name the authority of the store's certificate with `ca`".to_owned(),
            Self::Tls { .. } => "name the authority of the store's certificate with `ca` under [repository]".to_owned(),
            Self::Credentials(aws::Error::Missing { .. }) => {
                "write aws_access_key_id and aws_secret_access_key to a file of mode 600, and name it with \
                 `credentials`"
                    .to_owned()
            }
            Self::WrongRegion { right: Some(right), .. } => format!("region = {right:?} under [repository]"),
            Self::WrongRegion { right: None, .. } => {
                "give the bucket's region with `region` under [repository]".to_owned()
            }
            Self::Expired => {
                "get new ones; with credential_process in the file they are renewed by themselves".to_owned()
            }
            Self::Rejected { code } if code == "SignatureDoesNotMatch" => {
                "the secret does not belong to this access key, or a proxy changes requests".to_owned()
            }
            Self::Rejected { .. } => {
                "the access key does not exist in this store: do endpoint and credentials belong together?".to_owned()
            }
            Self::Denied { action: action @ s3_action::GET_OBJECT } => {
                let list = s3_action::LIST_BUCKET;
                format!("add {action} to the policy; without {list} it is denied for objects that do not exist, too")
            }
            Self::Denied { action } => format!("add {action} to the policy of the bucket or the user"),
            Self::Unexplained { .. } => {
                "add both to the policy of the bucket or the user; a wrong access key, secret or clock gets the same \
                 answer"
                    .to_owned()
            }
            Self::Clock { .. } => "set the clock; a store accepts a difference of 15 minutes".to_owned(),
            Self::Full { .. } => "nothing was lost: make room or raise the quota, and run it again".to_owned(),
            Self::Unreachable { .. } | Self::Busy { .. } => "nothing was lost: run it again later".to_owned(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_without_a_reason_names_what_was_asked_and_what_may_be_missing() {
        let fault = S3Fault::Unexplained { key: "db/manifest.age".to_owned() };
        let said = format!("{fault}; {}", fault.hint().unwrap());
        for part in ["db/manifest.age", "403", "s3:GetObject", "s3:ListBucket", "secret", "clock"] {
            assert!(said.contains(part), "{said}");
        }
    }
}
