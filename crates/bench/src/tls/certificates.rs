//! Certificates of a measurement, issued by an authority of its own.

use std::path::{Path, PathBuf};

use pki::{Authority, IssueRequest, KeyType, Usage};

use super::temporary_server::KeyPairFiles;
use crate::Error;

/// Creates a certificate authority in the directory of a measurement. Returns the path of its certificate, and the
/// authority.
pub(crate) fn authority(directory: &Path) -> Result<(PathBuf, Authority), Error> {
    let files = Authority::create(directory, None, KeyType::EcdsaP256, 2, false)?;
    Ok((files.certificate, Authority::open(directory)?))
}

/// A certificate for both sides of connections over the loopback interface.
pub(crate) fn issue(authority: &Authority, name: &str, key: KeyType) -> Result<KeyPairFiles, Error> {
    let alternatives = ["localhost", "127.0.0.1"].iter().filter_map(|name| name.parse().ok()).collect();
    let request = IssueRequest { name: name.parse()?, alternatives, key, usage: Usage::Both, days: 1, replace: false };
    let files = authority.issue(&request)?;
    Ok(KeyPairFiles { certificate: files.certificate, key: files.key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_issued_by_one_authority() {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, authority) = authority(&directory.path().join("ca")).unwrap();
        assert!(certificate.is_file());
        let pair = issue(&authority, "node", KeyType::EcdsaP256).unwrap();
        assert!(pair.certificate.is_file() && pair.key.is_file());
    }
}
