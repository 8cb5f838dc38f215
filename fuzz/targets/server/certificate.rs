//! A certificate as DER, and a file as PEM.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pki::Certificate;

fuzz_target!(|data: &[u8]| {
    if let Ok(certificate) = Certificate::from_der(data) {
        let _ = certificate.names_host("db.example.org");
    }
    let _ = Certificate::from_pem(data);
});
