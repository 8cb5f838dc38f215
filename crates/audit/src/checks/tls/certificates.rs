//! All known certificates: presented by listeners, named by variables, found in the data directory.

use std::collections::HashSet;

use pki::Certificate;
use server::dialect::variable;

use crate::facts::files::{Content, FileFact};
use crate::facts::sql::SqlFacts;
use crate::facts::wire::MAIN_PORT;
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

/// A file with more certificates is a system bundle of public authorities, most of which are not related to the server.
const BUNDLE: usize = 16;

/// Use of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Presented by the server to clients.
    Server,
    /// An authority or intermediate.
    Authority,
    /// Unknown: a client's, or unused.
    Other,
}

/// A certificate, and where it was found.
#[derive(Debug, Clone)]
pub(super) struct Found<'a> {
    /// The port that presents it, or the file that contains it.
    pub(super) artefact: String,
    pub(super) certificate: &'a Certificate,
    /// Wire or bytes.
    pub(super) grade: EvidenceGrade,
    /// Evidence, for a third party to verify.
    pub(super) evidence: Evidence,
    /// Its use.
    pub(super) purpose: Use,
}

/// All known certificates, each once: where it is presented, or else where it is stored.
pub(super) fn all(facts: &Facts) -> Vec<Found<'_>> {
    let mut found = sent(facts);
    for file in facts.files.iter().flat_map(|files| &files.files) {
        found.extend(in_file(facts, file));
    }
    let mut seen = HashSet::new();
    found.retain(|found| seen.insert(found.certificate.sha256.as_str()));
    let bundled: HashSet<&str> = bundles(facts).map(|c| c.sha256.as_str()).collect();
    let ours =
        |found: &Found<'_>| found.grade == EvidenceGrade::Wire || !bundled.contains(found.certificate.sha256.as_str());
    let issuers: HashSet<String> = found.iter().filter(|f| ours(f)).map(|f| f.certificate.issuer.clone()).collect();
    found.retain(|found| ours(found) || issuers.contains(&found.certificate.subject));
    found
}

/// The server's certificates: of each port, or in the file that `ssl_cert` names.
///
/// # Errors
/// [`Unavailable`] if no port was probed and the file could not be read.
pub(super) fn server_certificates(facts: &Facts) -> Observed<Vec<Found<'_>>> {
    let mut found: Vec<Found<'_>> = sent(facts).into_iter().filter(|found| found.purpose == Use::Server).collect();
    if !found.iter().any(|found| found.artefact == MAIN_PORT)
        && let Some(file) = named_file(facts, variable::SSL_CERT)
        && let Some(first) = in_file(facts, file).into_iter().next()
    {
        found.push(first);
    }
    let mut seen = HashSet::new();
    found.retain(|found| seen.insert(found.certificate.sha256.as_str()));
    if found.is_empty() { Err(unseen(facts)) } else { Ok(found) }
}

fn unseen(facts: &Facts) -> Unavailable {
    let file = facts.sql.as_ref().and_then(|sql| path_of(sql, variable::SSL_CERT));
    Unavailable {
        what: "the server's certificate".to_owned(),
        why: "no port was probed, and the file that ssl_cert names was not read".to_owned(),
        remedy: match file {
            Some(file) => format!("give a TCP address that reaches the server, or run as a user who can read {file}"),
            None => "give a TCP address that reaches the server".to_owned(),
        },
    }
}

fn sent(facts: &Facts) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    for port in facts.wire.iter().flat_map(|wire| wire.ports()) {
        let Some(tls) = port.tls else { continue };
        for (location, certificate) in tls.certificates.iter().enumerate() {
            let leaf = location == 0;
            let artefact = if leaf { port.name.to_owned() } else { format!("{}: {}", port.name, certificate.subject) };
            let observation = format!("sent: {}", describe(certificate));
            let evidence = Evidence::Wire { endpoint: port.endpoint.to_owned(), observation };
            let purpose = if leaf { Use::Server } else { Use::Authority };
            found.push(Found { artefact, certificate, grade: EvidenceGrade::Wire, evidence, purpose });
        }
    }
    found
}

fn in_file<'a>(facts: &Facts, file: &'a FileFact) -> Vec<Found<'a>> {
    let Content::Certificates { certificates } = &file.content else { return Vec::new() };
    let several = certificates.len() > 1;
    let served = [variable::SSL_CERT, "admin_ssl_cert", "mysqlx_ssl_cert"];
    let named = facts
        .sql
        .as_ref()
        .is_some_and(|sql| served.iter().any(|name| path_of(sql, name).as_deref() == Some(&file.path)));
    let one = |(location, certificate): (usize, &'a Certificate)| Found {
        artefact: if several { format!("{}: {}", file.name, certificate.subject) } else { file.name.clone() },
        certificate,
        grade: EvidenceGrade::Bytes,
        evidence: Evidence::Host { source: file.path.clone(), observation: describe(certificate) },
        purpose: match (named && location == 0, certificate.is_ca) {
            (true, _) => Use::Server,
            (false, true) => Use::Authority,
            (false, false) => Use::Other,
        },
    };
    certificates.iter().enumerate().map(one).collect()
}

fn bundles(facts: &Facts) -> impl Iterator<Item = &Certificate> {
    let files = facts.files.iter().flat_map(|files| &files.files);
    files
        .filter_map(|file| match &file.content {
            Content::Certificates { certificates } if certificates.len() > BUNDLE => Some(certificates),
            _ => None,
        })
        .flatten()
}

/// The path that a variable names; relative paths are relative to the data directory.
pub(super) fn path_of(sql: &SqlFacts, variable: &str) -> Option<String> {
    let path = sql.variable_or_none(variable).filter(|path| !path.is_empty())?;
    if path.starts_with('/') {
        return Some(path.to_owned());
    }
    let relative = path.trim_start_matches("./");
    Some(format!("{}/{relative}", sql.identity.datadir.trim_end_matches('/')))
}

/// The file that a variable names, if it was read.
pub(super) fn named_file<'a>(facts: &'a Facts, variable: &str) -> Option<&'a FileFact> {
    let path = path_of(facts.sql.as_ref()?, variable)?;
    facts.files.as_ref()?.at(&path)
}

/// The certificates in a file that a variable names.
pub(super) fn named_certificates<'a>(facts: &'a Facts, variable: &str) -> Option<&'a [Certificate]> {
    match &named_file(facts, variable)?.content {
        Content::Certificates { certificates } => Some(certificates),
        _ => None,
    }
}

/// Description of a certificate on one line.
pub(super) fn describe(certificate: &Certificate) -> String {
    let bits = certificate.key_bits.map_or_else(String::new, |bits| format!(" {bits}"));
    format!(
        "{}, issued by {}, X.509 v{}, {}{bits}, {}, valid {} to {}, SHA-256 {}",
        certificate.subject,
        certificate.issuer,
        certificate.version,
        certificate.key_type,
        certificate.signature_algorithm,
        certificate.not_before,
        certificate.not_after,
        certificate.sha256.get(..16).unwrap_or(&certificate.sha256),
    )
}
