//! Errors of the libraries as failures: each brings its own message and, where there is one, the next step.

use crate::exit::Exit;
use crate::output::message::{Failure, one_line};

/// Each error has `hint()` beside its messages, which gives the next step.
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
    ::backup::BackupError,
    pki::Error,
    ::change::init::Error,
    ::change::tls::Error,
    ::luks::backup::BackupError,
    ::luks::cryptsetup::CryptsetupError,
    ::luks::device::DeviceError,
    ::luks::key::KeyError,
    ::register::Error,
    ::snapshot::Error,
    ::snapshot::prepare::PrepareError,
    ::transfer::TransferError,
    ::transfer::pairing::CodeError,
    ::tunnel::Error,
}

/// These say themselves what to do, or there is nothing to be done but what they say.
macro_rules! without_hints {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(one_line(&error.to_string()))
            }
        }
    )*};
}

without_hints! {
    ::transfer::manifest::ManifestError,
    ::verify::KeysError,
    ::verify::PathError,
}

/// The same, where an error can mean that the command line is wrong.
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
    ::bench::Error,
    ::change::Error,
    ::change::rotate::Error,
    ::luks::key_source::SourceError,
    ::replication::Error,
    ::report::Error,
    ::server::Error,
}
