//! The authority: creates itself, issues and renews certificates.

use std::{
    fmt,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use data_encoding::HEXLOWER;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyUsagePurpose, SanType, SerialNumber,
};
use time::OffsetDateTime;

use crate::{
    AlternativeName, Certificate, Error, Files, KeyType, Name, PrivateKey, credentials::read_certificates,
    files::names_in, key::library,
};

/// Default validity of a certificate in days: a year, and a month to renew it in.
pub const LEAF_DAYS: u32 = 397;

/// Default validity of an authority in days.
pub const AUTHORITY_DAYS: u32 = 3650;

/// Tolerance for peers whose clocks are behind.
const BACKDATED: SignedDuration = SignedDuration::from_hours(1);

/// Use of a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Usage {
    /// Client and server: for tunnels, transfers and servers that are also replicas.
    #[default]
    Both,
    /// Server only.
    Server,
    /// Client only.
    Client,
}

/// A certificate to issue.
#[derive(Clone, Debug)]
pub struct IssueRequest {
    /// Name of the subject and the files; if it is a host name or address, also the first alternative name.
    pub name: Name,
    /// Further alternative names and addresses.
    pub alternatives: Vec<AlternativeName>,
    /// Kind of its key.
    pub key: KeyType,
    /// Permitted use.
    pub usage: Usage,
    /// Days of validity; never longer than the authority.
    pub days: u32,
    /// Whether existing files of that name may be replaced.
    pub replace: bool,
}

/// Selects the certificates to renew.
#[derive(Clone, Debug)]
pub enum RenewalSelector {
    /// The authority itself: certificates it has issued stay valid.
    Authority,
    /// The certificate of this name.
    Name(Name),
    /// Certificates that expire within that many days.
    Within(u32),
}

/// An authority and its directory.
pub struct Authority {
    directory: PathBuf,
    issuer: Issuer<'static, PrivateKey>,
    not_after: Timestamp,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authority({})", self.directory.display())
    }
}

impl Authority {
    /// Creates an authority: a key, and a self-signed certificate. Without a subject it gets a unique one, because two
    /// authorities of the same name would be confused when an issuer is looked up.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is one and it may not be replaced, [`Error::Write`], [`Error::Library`].
    pub fn create(
        directory: &Path,
        subject: Option<&str>,
        kind: KeyType,
        days: u32,
        replace: bool,
    ) -> Result<Files, Error> {
        crate::files::make_directory(directory)?;
        let files = Files::for_authority(directory);
        if !replace {
            files.check_free()?;
        }
        let key = PrivateKey::generate(kind)?;
        let subject = subject.map_or_else(default_subject, |subject| Ok(subject.to_owned()))?;
        let certificate = self_signed(&subject, days, &key)?;
        files.write(&certificate, &key, replace)?;
        Ok(files)
    }

    /// Renews the authority in a directory, with the same key and name: certificates it has issued stay valid.
    ///
    /// # Errors
    /// As [`Self::open`] and [`Self::create`].
    pub fn extend(directory: &Path, days: u32) -> Result<Files, Error> {
        let files = Files::for_authority(directory);
        let (certificate, key) = pair(directory, &files)?;
        let subject = certificate.common_name.map_or_else(default_subject, Ok)?;
        files.write_certificate(&self_signed(&subject, days, &key)?)?;
        Ok(files)
    }

    /// Renews the certificates that `due` selects in an authority's directory; `days` default to [`AUTHORITY_DAYS`] and
    /// [`LEAF_DAYS`]. A failure of one certificate does not stop the others: the first error is returned together with
    /// the renewed files.
    ///
    /// # Errors
    /// As [`Self::open`], [`Self::extend`] and [`Self::due`].
    pub fn renew_in(
        directory: &Path,
        due: &RenewalSelector,
        days: Option<u32>,
        new_key: bool,
    ) -> Result<(Vec<Files>, Option<Error>), Error> {
        if matches!(due, RenewalSelector::Authority) {
            return Ok((vec![Self::extend(directory, days.unwrap_or(AUTHORITY_DAYS))?], None));
        }
        let authority = Self::open(directory)?;
        let names = match due {
            RenewalSelector::Name(name) => vec![name.clone()],
            RenewalSelector::Within(days) => authority.due(*days)?,
            RenewalSelector::Authority => Vec::new(),
        };
        Ok(authority.renew_all(&names, days.unwrap_or(LEAF_DAYS), new_key))
    }

    /// Opens the authority in a directory.
    ///
    /// # Errors
    /// [`Error::NoAuthority`], [`Error::Read`], [`Error::Content`], [`Error::AuthorityEnded`].
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let files = Files::for_authority(directory);
        let (certificate, key) = pair(directory, &files)?;
        if certificate.not_after <= Timestamp::now() {
            let ended = certificate.not_after.strftime("%Y-%m-%d").to_string();
            return Err(Error::AuthorityEnded { path: files.certificate, ended });
        }
        let pem = crate::files::read(&files.certificate)?;
        let pem = String::from_utf8_lossy(&pem);
        let issuer = Issuer::from_ca_cert_pem(&pem, key).map_err(library)?;
        Ok(Self { directory: directory.to_owned(), issuer, not_after: certificate.not_after })
    }

    /// Issues a certificate with a new key.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Write`], [`Error::Library`].
    pub fn issue(&self, request: &IssueRequest) -> Result<Files, Error> {
        let files = Files::for_name(&self.directory, &request.name);
        if !request.replace {
            files.check_free()?;
        }
        let key = PrivateKey::generate(request.key)?;
        let certificate = self.sign(request, &key)?;
        files.write(&certificate, &key, request.replace)?;
        Ok(files)
    }

    /// Certificates that expire within that many days.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Content`] name the file.
    pub fn due(&self, within_days: u32) -> Result<Vec<Name>, Error> {
        let until = later(Timestamp::now(), within_days);
        let mut due = Vec::new();
        for name in names_in(&self.directory)? {
            let certificates = read_certificates(&Files::for_name(&self.directory, &name).certificate)?;
            if certificates.first().is_some_and(|certificate| certificate.not_after < until) {
                due.push(name);
            }
        }
        Ok(due)
    }

    /// Renews several certificates. A failure does not stop the others: the first error is returned together with the
    /// renewed files, and the next run retries.
    pub(crate) fn renew_all(&self, names: &[Name], days: u32, new_key: bool) -> (Vec<Files>, Option<Error>) {
        let (mut renewed, mut failed) = (Vec::new(), None);
        for name in names {
            match self.renew(name, days, new_key) {
                Ok(files) => renewed.push(files),
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        (renewed, failed)
    }

    /// Renews a certificate: same names and use, new dates, and the same key unless a new one is requested.
    ///
    /// # Errors
    /// [`Error::NoCertificate`], and as [`Self::issue`].
    pub fn renew(&self, name: &Name, days: u32, new_key: bool) -> Result<Files, Error> {
        let files = Files::for_name(&self.directory, name);
        if !files.certificate.exists() {
            return Err(Error::NoCertificate { path: files.certificate });
        }
        let certificates = read_certificates(&files.certificate)?;
        let Some(old) = certificates.first() else { return Err(Error::NoCertificate { path: files.certificate }) };
        let request = reissue_request(name, old, days);
        if new_key {
            let key = PrivateKey::generate(request.key)?;
            files.write(&self.sign(&request, &key)?, &key, true)?;
        } else {
            let key = PrivateKey::read(&files.key)?;
            files.write_certificate(&self.sign(&request, &key)?)?;
        }
        Ok(files)
    }

    fn sign(&self, request: &IssueRequest, key: &PrivateKey) -> Result<String, Error> {
        let mut params = common(request.name.as_str(), request.days)?;
        params.not_after = params.not_after.min(date(self.not_after));
        params.use_authority_key_identifier_extension = true;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        if matches!(request.key, KeyType::Rsa2048 | KeyType::Rsa3072 | KeyType::Rsa4096) {
            // Old TLS 1.2 clients may still use RSA key exchange.
            params.key_usages.push(KeyUsagePurpose::KeyEncipherment);
        }
        if request.usage != Usage::Client {
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        if request.usage != Usage::Server {
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        }
        let mut names: Vec<AlternativeName> = request.name.alternative().into_iter().collect();
        for name in &request.alternatives {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        params.subject_alt_names = names.into_iter().map(san).collect::<Result<_, _>>()?;
        Ok(params.signed_by(key.pair(), &self.issuer).map_err(library)?.pem())
    }
}

/// Default subject of an authority.
fn default_subject() -> Result<String, Error> {
    let number = HEXLOWER.encode(&random::<4>()?);
    Ok(format!("Sealant private CA {number}"))
}

/// Certificate and key of the authority, checked to belong together.
fn pair(directory: &Path, files: &Files) -> Result<(Certificate, PrivateKey), Error> {
    let none = |reason: String| Error::NoAuthority { directory: directory.to_owned(), reason };
    let missing = |error| match error {
        Error::Read { path, source } if source.kind() == ErrorKind::NotFound => {
            none(format!("{} is missing", path.display()))
        }
        other => other,
    };
    let certificates = read_certificates(&files.certificate).map_err(missing)?;
    let key = PrivateKey::read(&files.key).map_err(missing)?;
    match certificates.into_iter().next() {
        Some(certificate) if !certificate.is_ca => Err(none("ca.pem is not an authority's certificate".to_owned())),
        Some(certificate) if !key.belongs_to(&certificate) => Err(none("ca.key is not the key of ca.pem".to_owned())),
        Some(certificate) => Ok((certificate, key)),
        None => Err(none("ca.pem is empty".to_owned())),
    }
}

fn self_signed(subject: &str, days: u32, key: &PrivateKey) -> Result<String, Error> {
    let mut params = common(subject, days)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params.self_signed(key.pair()).map_err(library)?.pem())
}

fn common(subject: &str, days: u32) -> Result<CertificateParams, Error> {
    let now = Timestamp::now();
    let mut params = CertificateParams::default();
    params.serial_number = Some(serial()?);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    params.not_before = date(now.saturating_sub(BACKDATED).unwrap_or(now));
    params.not_after = date(later(now, days));
    Ok(params)
}

/// The time `days` days after `now`, limited to the latest time that can be represented.
fn later(now: Timestamp, days: u32) -> Timestamp {
    let span = SignedDuration::from_hours(i64::from(days).saturating_mul(24));
    now.saturating_add(span).unwrap_or(Timestamp::MAX)
}

/// A random positive serial number (RFC 5280, section 4.1.2.2). The library's default is the key's hash, which a
/// renewal with the same key would repeat.
fn serial() -> Result<SerialNumber, Error> {
    let mut bytes = random::<16>()?;
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| library("the system gives no random bytes"))?;
    Ok(bytes)
}

/// Times in certificates have whole seconds.
fn date(at: Timestamp) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(at.as_second()).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn san(name: AlternativeName) -> Result<SanType, Error> {
    Ok(match name {
        AlternativeName::Ip(address) => SanType::IpAddress(address),
        AlternativeName::Dns(name) => SanType::DnsName(name.try_into().map_err(library)?),
    })
}

/// The request that issues an existing certificate again.
fn reissue_request(name: &Name, old: &Certificate, days: u32) -> IssueRequest {
    let has = |usage: &str| old.ext_key_usage.iter().any(|one| one == usage);
    let usage = match (has("serverAuth"), has("clientAuth")) {
        (true, false) => Usage::Server,
        (false, true) => Usage::Client,
        _ => Usage::Both,
    };
    let dns = old.san_dns.iter().map(|name| AlternativeName::Dns(name.clone()));
    let addresses = old.san_ip.iter().map(|address| AlternativeName::Ip(*address));
    let key = KeyType::from_certificate(old).unwrap_or_default();
    IssueRequest { name: name.clone(), alternatives: dns.chain(addresses).collect(), key, usage, days, replace: true }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;
    use crate::{Credentials, Limits, judge};

    fn request(name: &str, alternatives: &[&str]) -> IssueRequest {
        IssueRequest {
            name: name.parse().unwrap(),
            alternatives: alternatives.iter().map(|name| name.parse().unwrap()).collect(),
            key: KeyType::default(),
            usage: Usage::default(),
            days: LEAF_DAYS,
            replace: false,
        }
    }

    fn authority() -> (tempfile::TempDir, Authority) {
        let directory = tempfile::tempdir().unwrap();
        Authority::create(directory.path(), Some("Test CA"), KeyType::default(), 3650, false).unwrap();
        let authority = Authority::open(directory.path()).unwrap();
        (directory, authority)
    }

    fn problems(directory: &Path, name: &str) -> Vec<String> {
        let files = Files::for_name(directory, &name.parse().unwrap());
        let ca = directory.join("ca.pem");
        let credentials = Credentials::read(&files.certificate, Some(&files.key), Some(&ca)).unwrap();
        let found = judge(&credentials, &[], &Limits::default(), Timestamp::now());
        found.into_iter().map(|problem| problem.text).collect()
    }

    #[test]
    fn issued_certificates_are_valid_and_have_their_names() {
        let (directory, authority) = authority();
        let files = authority.issue(&request("db1.example.org", &["10.0.0.1", "db1"])).unwrap();
        assert_eq!(problems(directory.path(), "db1.example.org"), [""; 0]);
        let leaf = read_certificates(&files.certificate).unwrap().remove(0);
        assert_eq!(leaf.names(), ["db1.example.org", "db1", "10.0.0.1"]);
        assert_eq!(leaf.ext_key_usage, ["serverAuth", "clientAuth"]);
        assert_eq!(leaf.key_type, "EC P-256");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&files.key), mode(&directory.path().join("ca.key"))), (0o600, 0o600));
    }

    #[test]
    fn keys_are_not_overwritten_by_default() {
        let (directory, authority) = authority();
        authority.issue(&request("db1", &[])).unwrap();
        let key = fs::read(directory.path().join("db1.key")).unwrap();
        assert!(matches!(authority.issue(&request("db1", &[])), Err(Error::Exists { .. })));
        let create = |replace| Authority::create(directory.path(), Some("Other"), KeyType::default(), 10, replace);
        assert!(matches!(create(false), Err(Error::Exists { .. })));
        assert_eq!(fs::read(directory.path().join("db1.key")).unwrap(), key);
        authority.issue(&IssueRequest { replace: true, ..request("db1", &[]) }).unwrap();
        assert_ne!(fs::read(directory.path().join("db1.key")).unwrap(), key);
    }

    #[test]
    fn renewal_keeps_names_use_and_key() {
        let (directory, authority) = authority();
        let wanted = IssueRequest { usage: Usage::Client, days: 2, ..request("app", &["app.example.org"]) };
        let files = authority.issue(&wanted).unwrap();
        let before = read_certificates(&files.certificate).unwrap().remove(0);
        authority.renew(&wanted.name, 100, false).unwrap();
        let after = read_certificates(&files.certificate).unwrap().remove(0);
        assert_eq!((after.names(), &after.ext_key_usage), (before.names(), &before.ext_key_usage));
        assert_eq!(after.spki_sha256, before.spki_sha256);
        assert!(after.not_after > before.not_after && after.serial_hex != before.serial_hex);
        authority.renew(&wanted.name, 100, true).unwrap();
        assert_ne!(read_certificates(&files.certificate).unwrap()[0].spki_sha256, before.spki_sha256);
        assert_eq!(problems(directory.path(), "app"), [""; 0]);
    }

    #[test]
    fn a_renewed_authority_still_verifies_its_certificates() {
        let (directory, authority) = authority();
        authority.issue(&request("db1", &[])).unwrap();
        Authority::extend(directory.path(), 7000).unwrap();
        assert_eq!(problems(directory.path(), "db1"), [""; 0]);
    }

    #[test]
    fn no_certificate_outlives_its_authority() {
        let directory = tempfile::tempdir().unwrap();
        Authority::create(directory.path(), Some("Short"), KeyType::default(), 20, false).unwrap();
        let files = Authority::open(directory.path()).unwrap().issue(&request("db1", &[])).unwrap();
        let ends = |path: &Path| read_certificates(path).unwrap()[0].not_after;
        assert_eq!(ends(&files.certificate), ends(&directory.path().join("ca.pem")));
    }

    #[test]
    fn a_key_of_another_authority_is_refused() {
        let (directory, _) = authority();
        let (other, _) = authority();
        fs::copy(other.path().join("ca.key"), directory.path().join("ca.key")).unwrap();
        assert!(matches!(Authority::open(directory.path()), Err(Error::NoAuthority { .. })));
    }

    #[test]
    fn rsa_keys_are_supported() {
        let (directory, authority) = authority();
        authority.issue(&IssueRequest { key: KeyType::Rsa2048, ..request("old", &[]) }).unwrap();
        assert_eq!(problems(directory.path(), "old"), [""; 0]);
    }
}
