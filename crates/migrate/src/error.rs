//! Errors of a migration.

use std::borrow::Cow;

use thiserror::Error;

use crate::{Side, catalog::Difference};

/// Why a migration, or a step of one, could not be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A server refused a statement, or the connection to it failed.
    #[error("{side}: {error}")]
    Server {
        /// `source` or `target`.
        side: Side,
        /// The server's or the connection's error.
        error: server::Error,
    },
    /// Nothing was given by which the server could be verified; it was not contacted.
    #[error("{side}: {endpoint} cannot be verified: neither a CA nor a fingerprint is given")]
    Unverified {
        /// `source` or `target`.
        side: Side,
        /// Its address.
        endpoint: String,
    },
    /// A server's definition of a table is not one that this program can read.
    #[error("source: {table}: its definition cannot be read")]
    Definition {
        /// `schema.table`.
        table: String,
    },
    /// Tables of the target are not as those of the source.
    #[error("target: {}", described(differences))]
    Structure {
        /// What differs.
        differences: Vec<Difference>,
    },
}

/// Options of a single connection that have the name of a side before their own here.
const OPTIONS: [&str; 4] = ["--tls-", "--password-", "--user", "--socket"];

impl Error {
    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Server { side, error: server::Error::AccessDenied { .. } } => format!(
                "check user, password (--{side}-password-file, or the group sealant-{side} of --defaults-file) and the \
                 host the account is for"
            )
            .into(),
            Self::Server { error: server::Error::NameMismatch { .. }, .. } => {
                "connect by a name in the certificate, or check the chain only (--tls-any-name)".into()
            }
            Self::Server { side, error } => match (error.hint(), error) {
                (Some(hint), _) => of_side(*side, &hint).into(),
                (None, server::Error::CertificateNotTrusted { .. }) => {
                    format!("give the CA that has issued the server's certificate with --{side}-tls-ca").into()
                }
                (None, _) => return None,
            },
            Self::Unverified { side, .. } => {
                format!("give --{side}-tls-ca FILE, or --{side}-tls-fingerprint HEX").into()
            }
            Self::Definition { .. } => "leave the table out with --exclude".into(),
            Self::Structure { .. } => "the target must create tables as the source has them".into(),
        })
    }

    /// Whether the command line is wrong.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Server { error, .. } if error.is_misuse())
    }

    /// Whether safety is the reason, rather than a failure.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::Unverified { .. } | Self::Structure { .. } => true,
            Self::Server { error, .. } => matches!(
                error,
                server::Error::TlsNotOffered
                    | server::Error::TlsTooOld { .. }
                    | server::Error::CertificateNotTrusted { .. }
                    | server::Error::NameMismatch { .. }
                    | server::Error::UnverifiedServer { .. }
                    | server::Error::PlaintextRefused { .. }
            ),
            Self::Definition { .. } => false,
        }
    }
}

/// The hint with the names that options have for this side.
fn of_side(side: Side, hint: &str) -> String {
    OPTIONS.iter().fold(hint.to_owned(), |hint, option| {
        hint.replace(option, &format!("--{side}-{}", option.trim_start_matches('-')))
    })
}

/// The first difference, and how many more there are.
fn described(differences: &[Difference]) -> String {
    let Some(first) = differences.first() else { return "its tables differ".to_owned() };
    let place = format!("{}.{} {}", first.table.0, first.table.1, first.object);
    let what = match (&first.source, &first.target) {
        (Some(source), Some(target)) => format!("{} is '{target}' and not '{source}'", first.attribute),
        (_, None) => "is missing".to_owned(),
        (None, _) => "is not in the source".to_owned(),
    };
    let more = match differences.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" ({more} more differences)"),
    };
    format!("{} {what}{more}", place.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_options_of_the_side() {
        let error = Error::Server { side: Side::Target, error: server::Error::CaMissing };
        let hint = error.hint().unwrap();
        assert!(hint.contains("--target-tls-ca"), "{hint}");
    }
}
