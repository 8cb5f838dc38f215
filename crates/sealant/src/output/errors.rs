//! Converts the libraries' errors to failures: each has a message and possibly a next step.

use crate::exit::Exit;
use crate::output::message::{Failure, one_line};

/// For errors whose `hint()` gives the next step.
macro_rules! with_hints {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::from(&error)
            }
        }

        impl From<&$error> for Failure {
            fn from(error: &$error) -> Self {
                Self { hint: error.hint().map(String::from), ..Self::new(one_line(&error.to_string())) }
            }
        }
    )*};
}

with_hints! {
    pki::Error,
    ::register::Error,
    ::snapshot::Error,
    ::transfer::Error,
    ::verify::Error,
}

/// For errors that can mean wrong usage of the command line.
macro_rules! with_misuse {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let exit = if error.is_misuse() { Exit::Usage } else { Exit::Failed };
                Self { exit, hint: error.hint().map(String::from), ..Self::new(one_line(&error.to_string())) }
            }
        }
    )*};
}

with_misuse! {
    ::audit::Error,
    ::backup::Error,
    ::bench::Error,
    ::change::Error,
    ::luks::Error,
    ::replication::Error,
    ::report::Error,
    ::server::Error,
    ::tunnel::Error,
}

impl From<::migrate::Error> for Failure {
    fn from(error: ::migrate::Error) -> Self {
        let exit = match error {
            _ if error.is_refusal() => Exit::Findings,
            _ if error.is_misuse() => Exit::Usage,
            ::migrate::Error::MissingGrant { .. } => Exit::Incomplete,
            _ => Exit::Failed,
        };
        Self { exit, hint: error.hint().map(String::from), ..Self::new(one_line(&error.to_string())) }
    }
}
