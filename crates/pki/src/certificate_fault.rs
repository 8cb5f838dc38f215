//! What is wrong with the bytes of a certificate.

/// Why bytes cannot be described as a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateFault {
    /// Larger than any real certificate.
    #[error("certificate of {bytes} bytes is too large")]
    TooLarge {
        /// Size in bytes.
        bytes: usize,
    },
    /// Not DER of the X.509 structure.
    #[error("not an X.509 certificate: {reason}")]
    Der {
        /// Error of the parser.
        reason: String,
    },
    /// A date outside the representable years.
    #[error("certificate has an impossible date")]
    Date,
    /// Malformed PEM.
    #[error("not a PEM file: {reason}")]
    Pem {
        /// What is wrong with it.
        reason: String,
    },
    /// A PEM file without certificates.
    #[error("no certificate in the file")]
    Empty,
}
