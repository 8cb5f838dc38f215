//! Converts the libraries' errors to failures. A failure has a message, possibly a next step, and an exit code, which
//! is the same in all verbs.

use crate::exit::Exit;
use crate::output::message::{Failure, one_line};

/// Lists, for each library's error, the methods that select a special exit code. The first method that returns true
/// decides.
macro_rules! failures {
    ($($error:ty: [$($is:ident => $exit:ident),*],)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::from(&error)
            }
        }

        impl From<&$error> for Failure {
            fn from(error: &$error) -> Self {
                let exits: &[(bool, Exit)] = &[$((error.$is(), Exit::$exit)),*];
                let exit = exits.iter().find(|(is, _)| *is).map_or(Exit::Failed, |(_, exit)| *exit);
                Self { exit, hint: error.hint().map(String::from), ..Self::new(one_line(&error.to_string())) }
            }
        }
    )*};
}

failures! {
    ::audit::Error: [is_misuse => Usage],
    ::backup::Error: [is_misuse => Usage, is_finding => Findings],
    ::bench::Error: [is_misuse => Usage],
    ::change::Error: [is_misuse => Usage],
    ::luks::Error: [is_misuse => Usage],
    ::migrate::Error: [is_misuse => Usage, is_refusal => Findings, is_missing_grant => Incomplete],
    ::monitor::Error: [is_misuse => Usage],
    ::pki::Error: [is_misuse => Usage],
    ::register::Error: [is_misuse => Usage],
    ::replication::Error: [is_misuse => Usage],
    ::report::Error: [is_misuse => Usage],
    ::server::Error: [is_misuse => Usage],
    ::snapshot::Error: [],
    ::sniff::Error: [is_misuse => Usage],
    ::transfer::Error: [is_misuse => Usage],
    ::tunnel::Error: [is_misuse => Usage],
    ::verify::Error: [],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_mistake_has_the_same_exit_code_in_each_library() {
        let url = || server::Error::PasswordInUrl;
        let at_source = ::migrate::Error::Server { side: ::migrate::Side::Source, error: url() };
        let failures: [Failure; 3] = [url().into(), ::audit::Error::Server(url()).into(), at_source.into()];
        assert!(failures.iter().all(|failure| failure.exit == Exit::Usage));
        assert_eq!(Failure::from(::register::Error::NoStateDir).exit, Exit::Usage);
        let identity = ::change::Error::Identity { path: "key.txt".into(), reason: "is not one".to_owned() };
        assert_eq!(Failure::from(identity).exit, Exit::Usage);
        let busy = ::register::Error::Busy { path: "lock".into() };
        assert_eq!(Failure::from(busy).exit, Exit::Failed);
    }
}
