//! Human-readable descriptions of TLS errors.

/// Describes an error of the other side, in terms that help to fix it.
#[must_use]
pub fn describe(error: &rustls::Error) -> String {
    use rustls::{AlertDescription as A, CertificateError as C, Error as E};
    let text = match error {
        E::InvalidCertificate(C::Expired | C::ExpiredContext { .. }) => "its certificate has expired",
        E::InvalidCertificate(C::NotValidYet | C::NotValidYetContext { .. }) => "its certificate is not valid yet",
        E::InvalidCertificate(C::UnknownIssuer) => "its certificate was not issued by a trusted authority",
        E::InvalidCertificate(C::BadSignature) => "its certificate was not issued by a trusted authority",
        E::InvalidCertificate(C::NotValidForNameContext { expected, presented }) if !presented.is_empty() => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            return format!("its certificate is for another name: {}, not {}", names.join(", "), expected.to_str());
        }
        E::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. }) => {
            "its certificate is for another name"
        }
        E::AlertReceived(A::CertificateExpired) => "it says that our certificate has expired, or is not valid yet",
        E::AlertReceived(A::UnknownCA | A::DecryptError) => {
            "it does not trust the authority of this side's certificate"
        }
        E::AlertReceived(A::BadCertificate | A::CertificateUnknown | A::UnsupportedCertificate) => {
            "it does not accept our certificate"
        }
        E::AlertReceived(A::CertificateRequired) => "it requires a certificate from this side",
        E::AlertReceived(A::ProtocolVersion) => "it does not speak TLS 1.3",
        E::InvalidMessage(_) => "it does not speak TLS",
        E::NoCertificatesPresented => "it showed no certificate",
        other => return format!("TLS: {other}"),
    };
    text.to_owned()
}

/// rustls gives names as `DnsName("db1.example")` and `IpAddress(192.0.2.1)`.
fn bare(name: &str) -> &str {
    let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inside.unwrap_or(name).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError, Error, pki_types::ServerName};

    use super::*;

    #[test]
    fn names_are_described_and_rare_errors_are_quoted() {
        let expected = ServerName::try_from("db1.example").unwrap().to_owned();
        let presented = ["DnsName(\"db2.example\")", "IpAddress(192.0.2.1)"].map(str::to_owned).to_vec();
        let other = Error::InvalidCertificate(CertificateError::NotValidForNameContext { expected, presented });
        assert_eq!(describe(&other), "its certificate is for another name: db2.example, 192.0.2.1, not db1.example");
        let refused = Error::AlertReceived(AlertDescription::BadCertificate);
        assert_eq!(describe(&refused), "it does not accept our certificate");
        assert_eq!(describe(&Error::HandshakeNotComplete), "TLS: handshake not complete");
    }
}
