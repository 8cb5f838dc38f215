//! Advice where evidence is out of reach: the audit may not read it, is not on the server's host, or has no running
//! server to query.

/// For evidence on the server's host, for any user.
pub(crate) const ON_HOST: &str = "run on the server's host";

/// For evidence that needs the permissions of the server's user.
pub(crate) const AS_SERVER_USER: &str = "run on the server's host as root or as the server's user";

const RUNNING_SERVER: &str = "audit the running server";

/// For evidence that only a running server has.
pub(crate) const RUNNING: &str = "audit the running server, on its host";

/// As above, if no server was named.
pub(crate) const RUNNING_ADDRESS: &str = "audit the running server: `sealant audit mysql://USER@HOST:PORT`";

const DATA_DIRECTORY: &str = "the data directory";

/// `what` is a path or a description of a file.
pub(crate) fn reading(what: &str) -> String {
    format!("{ON_HOST} as a user who can read {what}")
}

/// For the files of the data directory.
pub(crate) fn reading_data() -> String {
    reading(DATA_DIRECTORY)
}

/// For a file whose directory the user who runs the audit may not enter.
pub(crate) fn entering(file: &str) -> String {
    format!("{ON_HOST} as a user who can enter the directory of {file}")
}

/// The general step that covers a remedy of this module, so that a step which helps many files is reported once.
pub(crate) fn step(remedy: &str) -> Option<&'static str> {
    // An attestation is a separate step: permissions do not replace it.
    if remedy.contains("attest") {
        None
    } else if remedy.starts_with(ON_HOST) {
        Some(AS_SERVER_USER)
    } else if remedy.starts_with(RUNNING_SERVER) {
        Some(RUNNING)
    } else {
        None
    }
}
