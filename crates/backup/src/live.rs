//! Which files of a running server's copy are sent, and whether the copy was still valid after the last read.

use glob::Pattern;
use snapshot::{EXCLUDED, Excluded, SnapshotGuard};
use transfer::Error as TransferError;

/// Patterns of the files in a copy that no other server can use.
pub(crate) fn excluded() -> impl Iterator<Item = Pattern> {
    // In a `glob`, a bracket expression matches one of the characters in it; none of these patterns has one.
    EXCLUDED.into_iter().filter_map(|excluded| Pattern::new(&Excluded::pattern(excluded)).ok())
}

/// Patterns of the files in a copy that are not sent: the excluded files, and the file with the server's identity,
/// because the receiver is a different server.
pub fn not_sent() -> impl Iterator<Item = Pattern> {
    excluded().chain(Pattern::new(server::auto_cnf::NAME).ok())
}

/// Proves that a copy was valid until now.
///
/// # Errors
/// [`TransferError::SourceInvalid`]: then nothing may be committed.
pub fn prove(guard: &SnapshotGuard) -> Result<(), TransferError> {
    guard.prove().map_err(|error| TransferError::SourceInvalid { reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_of_the_server_is_not_sent() {
        assert_eq!(excluded().count(), EXCLUDED.len());
        let is_sent = |path: &str| !not_sent().any(|pattern| pattern.matches(path));
        assert!(!is_sent("auto.cnf") && is_sent("ibdata1") && is_sent("shop/customers.ibd"));
    }
}
