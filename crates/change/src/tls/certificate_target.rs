//! The server's TLS files, and the statement that reloads them.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use server::{
    Capability, Endpoint, Target,
    address::bind_addresses,
    dialect::{capability::dotted_version, setting::reload_tls, statement::show_variables},
    switch::is_on,
    tls::TlsVersion,
};

use super::{Error, InstallRequest, origin};
use crate::Session;

/// A server whose certificate may be replaced.
#[derive(Clone, Debug)]
pub(super) struct CertificateTarget {
    /// Name of the server in messages.
    pub(super) server: String,
    /// Paths of certificate, key and, if the server has one, authorities.
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    pub(super) ca: Option<PathBuf>,
    /// User and group of the server, which will own the files.
    pub(super) owner: (u32, u32),
    /// The statement that reloads the files.
    pub(super) reload: &'static str,
    /// Endpoint of the handshake from outside.
    pub(super) outside: Endpoint,
    /// Remarks.
    pub(super) notes: Vec<String>,
}

impl CertificateTarget {
    /// Queries the server. Changes nothing.
    pub(super) fn query(session: &mut Session<'_>, target: &Target, request: &InstallRequest) -> Result<Self, Error> {
        let server = target.to_string();
        let reload = reload(session, &server)?;
        let needed = |variable| Error::MissingVariable { server: server.clone(), variable };
        let mut named = |variable| origin::file(session, &server, variable);
        let certificate = named("ssl_cert")?.ok_or_else(|| needed("ssl_cert"))?;
        let key = named("ssl_key")?.ok_or_else(|| needed("ssl_key"))?;
        let ca = if request.keep_ca { None } else { named("ssl_ca")? };
        check_distinct(&certificate, &key, ca.as_deref())?;
        privilege(session, reload)?;
        let mut notes = Vec::new();
        if ca.is_none() && !request.keep_ca {
            notes.push("the server has no ssl_ca, so the authority is not installed".to_owned());
        }
        let owner = owner(&session.identity().datadir)?;
        let outside = outside(session, target, request)?;
        Ok(Self { server, certificate, key, ca, owner, reload, outside, notes })
    }
}

/// The statement that reloads the files. It is not written to the binary log, since replicas have their own
/// certificates.
fn reload(session: &mut Session<'_>, server: &str) -> Result<&'static str, Error> {
    let version = session.identity().version.clone();
    let statement = reload_tls(version.flavor);
    if version.can(Capability::ReloadTls) {
        return Ok(statement);
    }
    let since = Capability::ReloadTls.since(version.flavor).map(dotted_version).unwrap_or_default();
    let since = format!("{} {since}", version.flavor);
    let tls_version = session.variable("tls_version")?.filter(|versions| !allows_new_tls(versions));
    Err(Error::ReadsAtStart { server: server.to_owned(), statement, since, tls_version })
}

/// Whether a `tls_version` names TLS 1.2 or 1.3.
fn allows_new_tls(versions: &str) -> bool {
    versions
        .split(',')
        .filter_map(|name| TlsVersion::from_name(name.trim()))
        .any(|version| version >= TlsVersion::Tls12)
}

fn check_distinct(certificate: &Path, key: &Path, ca: Option<&Path>) -> Result<(), Error> {
    let same = |path: &Path, one, other| Err(Error::SameFile { path: path.to_owned(), one, other });
    match ca {
        _ if certificate == key => same(key, "ssl_cert", "ssl_key"),
        Some(ca) if ca == certificate => same(ca, "ssl_ca", "ssl_cert"),
        Some(ca) if ca == key => same(ca, "ssl_ca", "ssl_key"),
        _ => Ok(()),
    }
}

/// Checks the privilege to reload before any file is replaced.
fn privilege(session: &mut Session<'_>, reload: &str) -> Result<(), Error> {
    crate::grants::require(
        session,
        &[if reload.starts_with("ALTER") { "CONNECTION_ADMIN ON *.*" } else { "RELOAD ON *.*" }],
    )
}

/// User and group of the data directory, which are those of the server.
fn owner(datadir: &Path) -> Result<(u32, u32), Error> {
    let found = fs::metadata(datadir).map_err(|source| Error::File { path: datadir.to_owned(), source })?;
    Ok((found.uid(), found.gid()))
}

/// The server's port if it has one, otherwise this connection's address.
fn outside(session: &mut Session<'_>, target: &Target, request: &InstallRequest) -> Result<Endpoint, Error> {
    if let Some(endpoint) = &request.outside {
        return Ok(endpoint.clone());
    }
    if !target.endpoint.is_socket() {
        return Ok(target.endpoint.clone());
    }
    let rows = session.query(&show_variables(&["port", "bind_address", "skip_networking"]))?;
    let value = |name: &str| {
        let row = (0..rows.rows.len()).find(|row| rows.value(*row, "Variable_name") == Some(name))?;
        rows.value(row, "Value")
    };
    let port = value("port").and_then(|port| port.parse().ok()).filter(|port| *port != 0);
    let host = bind_addresses(value("bind_address").unwrap_or_default()).next().and_then(|bound| bound.reachable());
    Ok(match (host, port) {
        (Some(host), Some(port)) if !value("skip_networking").is_some_and(is_on) => Endpoint::tcp(host, port),
        _ => target.endpoint.clone(),
    })
}
