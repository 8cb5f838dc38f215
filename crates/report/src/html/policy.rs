//! The content security policy of the report.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64;

/// Permits only this style and this script, by hash (CSP Level 3).
#[must_use]
pub(crate) fn content_security(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        BASE64.encode(digest(&SHA256, style.as_bytes()).as_ref()),
        BASE64.encode(digest(&SHA256, script.as_bytes()).as_ref())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_the_hashes() {
        let policy = content_security("", "");
        assert!(policy.contains("'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"), "{policy}");
    }
}
