//! Certificates of both ends, created for this run.

use pki::{Authority, IssueRequest, KeyType, Usage};
use tunnel::{Credentials, fuzzing::MaliciousPeer};

/// Both ends, with their own authority.
pub fn hostile() -> MaliciousPeer {
    // It is small, and the run has no end at which it could be removed.
    let directory = tempfile::tempdir().expect("a directory").keep();
    let authority = Authority::create(&directory, None, KeyType::EcdsaP256, 2, false).expect("an authority");
    let issuer = Authority::open(&directory).expect("an authority");
    let [near, far] = ["near", "far"].map(|name| {
        let name = name.parse().expect("a name");
        let key = KeyType::EcdsaP256;
        let request = IssueRequest { name, alternatives: Vec::new(), key, usage: Usage::Both, days: 1, replace: false };
        let files = issuer.issue(&request).expect("a certificate");
        Credentials { certificate: files.certificate, key: files.key, ca: authority.certificate.clone() }
    });
    MaliciousPeer::new(near, far)
}
