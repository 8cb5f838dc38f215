//! A certificate as DER, and a file as PEM.

use pki::Certificate;

pub(crate) fn run(data: &[u8]) {
    if let Ok(certificate) = Certificate::from_der(data) {
        let _ = certificate.names_host("db.example.org");
    }
    let _ = Certificate::from_pem(data);
}
