//! Names in a peer's certificate.

use rustls_pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;

use crate::certificate::{ip_address, parse};

/// Checks that the first certificate of a chain has one of these names; any certificate passes if none is required.
///
/// # Errors
/// The certificate's actual names, as text.
pub fn check_name(allowed: &[String], chain: &[CertificateDer<'_>]) -> Result<(), String> {
    if allowed.is_empty() {
        return Ok(());
    }
    let Some(names) = chain.first().and_then(names_of) else {
        return Err("a certificate that cannot be read".to_owned());
    };
    if names.iter().any(|name| allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))) {
        return Ok(());
    }
    Err(if names.is_empty() { "a certificate without a name".to_owned() } else { names.join(", ") })
}

/// The alternative names and the common name, without duplicates.
fn names_of(certificate: &CertificateDer<'_>) -> Option<Vec<String>> {
    let certificate = parse(certificate).ok()?;
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let alternatives = alternatives.iter().flat_map(|names| &names.value.general_names).filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => ip_address(bytes).map(|address| address.to_string()),
        _ => None,
    });
    let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok().map(ToOwned::to_owned));
    let mut names: Vec<String> = Vec::new();
    for name in alternatives.chain(common) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    #[test]
    fn each_name_of_a_certificate_is_accepted() {
        let mut params = CertificateParams::new(vec!["db.example".to_owned()]).unwrap();
        params.subject_alt_names.push(SanType::IpAddress("192.0.2.7".parse().unwrap()));
        params.subject_alt_names.push(SanType::IpAddress("2001:db8::7".parse().unwrap()));
        params.distinguished_name.push(DnType::CommonName, "donor");
        let chain = [params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()];
        let check = |name: &str| check_name(&["other".to_owned(), name.to_owned()], &chain);
        for name in ["DB.example", "192.0.2.7", "2001:db8::7", "Donor"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        assert_eq!(check("example"), Err("db.example, 192.0.2.7, 2001:db8::7, donor".to_owned()));
        assert_eq!(check_name(&[], &[]), Ok(()));
        assert!(check_name(&["donor".to_owned()], &[]).is_err());
        assert!(check_name(&["donor".to_owned()], &[CertificateDer::from(vec![0; 9])]).is_err());
    }
}
