//! What to do where evidence is out of reach: the audit may not read it, is not on the server's host, or has no running
//! server to ask.

/// On the server's host, whoever runs the audit.
pub(crate) const ON_HOST: &str = "run on the server's host";

/// On the server's host, with every right that the server itself has.
pub(crate) const AS_SERVER_USER: &str = "run on the server's host as root or as the server's user";

const RUNNING_SERVER: &str = "audit the running server";

/// While the server runs, on its host.
pub(crate) const RUNNING: &str = "audit the running server, on its host";

/// Likewise, where no server was named.
pub(crate) const RUNNING_ADDRESS: &str = "audit the running server: `sealant audit mysql://USER@HOST:PORT`";

const DATA_DIRECTORY: &str = "the data directory";

/// `what`: a path, or words for a file.
pub(crate) fn reading(what: &str) -> String {
    format!("{ON_HOST} as a user who can read {what}")
}

/// For the files of the data directory.
pub(crate) fn reading_data() -> String {
    reading(DATA_DIRECTORY)
}

/// For a file whose directory is closed to the user who runs the audit.
pub(crate) fn entering(file: &str) -> String {
    format!("{ON_HOST} as a user who can enter the directory of {file}")
}

/// The step that covers a remedy which begins with a sentence of this module, so that one step is reported once however
/// many files need it.
pub(crate) fn step(remedy: &str) -> Option<&'static str> {
    // An attestation is another step, which rights do not replace.
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
