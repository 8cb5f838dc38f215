//! Keys that are in files, encrypted by AWS KMS: Percona's `component_keyring_kms` and MariaDB's `aws_key_management`.
//!
//! Names that begin with `sealant_` belong to Sealant: where its own credentials are, and how to reach the service.
//!
//! Source: docs/formats, "Keys wrapped by AWS KMS".

use std::{
    env, fs, mem,
    path::{Path, PathBuf},
    time::Duration,
};

use files::secret::encode_base64;
use keyservice::{Fault, Kms, KmsAccess, KmsCredentials, KmsFault};
use zeroize::Zeroizing;

use crate::{
    component_file::{self, AES, is_wrapped_key},
    error::Error,
    file::read_file,
    record::{Parsed, Record},
    service::{Owners, version_name},
    store::kind_of,
    summary::StoreKind,
    vault_settings::Settings,
};

/// Follows the name of a key in warnings.
pub(crate) const NOT_WRAPPED: &str = " (not encrypted by this KMS, or damaged)";
/// Bytes of the longest key in hexadecimal with a line end: what is not longer is no ciphertext, and is never sent.
const MAX_CLEAR_BYTES: usize = 72;
/// Prefix of the names of MariaDB's files with wrapped keys; number and version follow.
const MARIADB_FILE: &str = "aws-kms-key.";

/// The keys of a server that AWS KMS has encrypted.
pub(crate) struct KmsSource {
    pub(crate) access: KmsAccess,
    /// The component's keyring file, or the directory of MariaDB's files.
    pub(crate) path: PathBuf,
}

/// A key as KMS has decrypted it; an error if it is not what KMS has encrypted.
pub(crate) type Unwrapped = Result<Zeroizing<Vec<u8>>, keyservice::Error>;

/// Number and version of a key of MariaDB, and the key.
pub(crate) type MariaDbKey = ((u32, u32), Unwrapped);

/// A key of the component.
pub(crate) struct PerconaKey {
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) key_type: String,
    pub(crate) key: Unwrapped,
}

/// Whether the bytes are an option file with the variables of MariaDB's plug-in.
pub(crate) fn is_mariadb_configuration(bytes: &[u8]) -> bool {
    !Settings::from_mariadb_aws(bytes).is_empty()
}

/// Reads a configuration of Percona's component.
pub(crate) fn percona(bytes: &[u8]) -> Result<KmsSource, Error> {
    let settings = Settings::from_percona(bytes).map_err(|_| Error::KmsConfig { what: "is not JSON" })?;
    let path = required(&settings, "path", "has no path of the keyring file")?;
    if !Path::new(path).is_absolute() {
        return Err(Error::KmsConfig {
            what: "has a path that is not absolute; give a copy of it with the whole path",
        });
    }
    let inline = match (settings.text("auth_key"), settings.text("secret_access_key")) {
        (Some(access_key), Some(secret)) => {
            let (access_key, secret) = (access_key.to_owned(), Zeroizing::new(secret.to_owned()));
            Some(KmsCredentials::Inline { access_key, secret })
        }
        (None, None) => None,
        _ => return Err(Error::KmsConfig { what: "has only one of auth_key and secret_access_key" }),
    };
    let timeout = settings.time_limit("sealant_timeout", Duration::from_secs);
    Ok(KmsSource { access: access(&settings, None, inline, timeout)?, path: path.into() })
}

/// Reads an option file with the variables of MariaDB's plug-in.
pub(crate) fn mariadb(bytes: &[u8]) -> Result<KmsSource, Error> {
    let settings = Settings::from_mariadb_aws(bytes);
    let server = Settings::from_mariadb_server(bytes);
    let directory = settings.text("sealant_key_directory").or_else(|| server.text("datadir"));
    let path = directory.ok_or(Error::KmsConfig {
        what: "names no directory of the keys: it needs datadir, or sealant_key_directory in a group [sealant]",
    })?;
    let timeout = settings.time_limit("request_timeout", Duration::from_millis);
    // AWS's SDK in the server takes a bare host, too.
    let endpoint = settings.text("endpoint_url").map(|text| match text.contains("://") {
        true => text.to_owned(),
        false => format!("https://{text}"),
    });
    Ok(KmsSource { access: access(&settings, endpoint.as_deref(), None, timeout)?, path: path.into() })
}

impl KmsSource {
    /// Decrypts the keys of the component, each once.
    pub(crate) fn percona_keys(&self, owners: Owners) -> Result<Vec<PerconaKey>, Error> {
        let failed = |source| self.unreadable(&self.path, source);
        let bytes = read_file(&self.path).map_err(failed)?;
        let parsed = match bytes.is_empty() {
            true => Parsed { records: Vec::new(), damage: Vec::new(), checksum_ok: None },
            false => parse_file(&bytes).map_err(failed)?,
        };
        // A key in clear text must not be sent.
        let clear = parsed.records.iter().filter(|record| record.key_type == AES && record.usable().is_ok());
        let names: Vec<String> = clear.map(|record| record.id.clone()).collect();
        if !names.is_empty() {
            return Err(failed(Error::NotWrapped { names }));
        }
        let kms = Kms::new(&self.access)?;
        let wanted = |record: &&Record<'_>| owners == Owners::All || record.user.is_empty();
        let mut keys = Vec::new();
        for record in parsed.records.iter().filter(wanted) {
            // The component stores the text of the base64 that KMS has returned, as bytes.
            let wrapped = record.material.filter(|material| is_wrapped_key(*material)).map(|material| {
                let mut text = Zeroizing::new(vec![0; material.bytes()]);
                material.write(&mut text);
                String::from_utf8_lossy(&text).into_owned()
            });
            let key = decrypted(&kms, &record.id, wrapped.as_deref().unwrap_or_default())?;
            let (name, user, key_type) = (record.id.clone(), record.user.clone(), record.key_type.clone());
            keys.push(PerconaKey { name, user, key_type, key });
        }
        some_is_wrapped(keys, |found| &mut found.key)
    }

    /// Decrypts the keys of MariaDB, each version once, by number and version.
    pub(crate) fn mariadb_keys(&self) -> Result<Vec<MariaDbKey>, Error> {
        let mut found = Vec::new();
        let entries = fs::read_dir(&self.path).map_err(|error| self.unreadable(&self.path, error.into()))?;
        for entry in entries {
            let entry = entry.map_err(|error| self.unreadable(&self.path, error.into()))?;
            found.extend(entry.file_name().to_str().and_then(of_file_name).map(|id| (id, entry.path())));
        }
        if found.is_empty() {
            return Err(Error::NoWrappedKeys { directory: self.path.clone() });
        }
        found.sort_unstable();
        let kms = Kms::new(&self.access)?;
        let unwrapped = |((id, version), path): ((u32, u32), PathBuf)| {
            let wrapped = read_file(&path).map_err(|source| self.unreadable(&path, source))?;
            let sent = if wrapped.len() > MAX_CLEAR_BYTES { encode_base64(&wrapped) } else { Zeroizing::default() };
            Ok(((id, version), decrypted(&kms, &version_name(id, version), &sent)?))
        };
        some_is_wrapped(found.into_iter().map(unwrapped).collect::<Result<_, Error>>()?, |(_, key)| key)
    }

    fn unreadable(&self, path: &Path, source: Error) -> Error {
        Error::WrappedKeys { path: path.to_owned(), source: Box::new(source) }
    }
}

/// The keys, or the first error if KMS has encrypted none of them: then the region or the account is the wrong one.
fn some_is_wrapped<T>(mut keys: Vec<T>, key: impl Fn(&mut T) -> &mut Unwrapped) -> Result<Vec<T>, Error> {
    let has_some = keys.iter_mut().any(|found| key(found).is_ok());
    let first = keys.first_mut().filter(|_| !has_some).map(|found| mem::replace(key(found), Ok(Zeroizing::default())));
    match first {
        Some(Err(error)) => Err(error.into()),
        _ => Ok(keys),
    }
}

/// The key, or the error if this text is not what KMS has encrypted; other keys can still be used then.
fn decrypted(kms: &Kms, name: &str, wrapped: &str) -> Result<Unwrapped, Error> {
    match kms.decrypt(&name.escape_debug().to_string(), wrapped) {
        Err(error) if error.fault() == Some(&Fault::Kms(KmsFault::NotWrapped)) => Ok(Err(error)),
        key => Ok(Ok(key?)),
    }
}

/// Number and version of the key in a file of this name. Source: `extract_id_and_version` of the plug-in; the server
/// writes no leading zeros.
fn of_file_name(name: &str) -> Option<(u32, u32)> {
    let (id, version) = name.strip_prefix(MARIADB_FILE)?.split_once('.')?;
    let number = |text: &str| text.parse().ok().filter(|number: &u32| *number > 0 && number.to_string() == text);
    Some((number(id)?, number(version)?))
}

/// Files with credentials for Sealant take precedence over the server's own; then come the environment and the
/// metadata service.
fn access(
    settings: &Settings<'_>,
    endpoint: Option<&str>,
    inline: Option<KmsCredentials>,
    timeout: Duration,
) -> Result<KmsAccess, Error> {
    let region = settings.text("region").map(str::to_owned);
    let of_environment = || {
        let variables = ["AWS_REGION", "AWS_DEFAULT_REGION"].into_iter();
        variables.filter_map(|name| env::var(name).ok()).find(|region| !region.is_empty())
    };
    let file = settings.text("sealant_credentials").map(|path| KmsCredentials::File(path.into()));
    Ok(KmsAccess {
        region: region.or_else(of_environment).ok_or(Error::KmsConfig { what: "names no region" })?,
        endpoint: settings.text("sealant_endpoint").or(endpoint).map(str::to_owned),
        authorities: settings.text("sealant_ca").map(PathBuf::from),
        credentials: file.or(inline).unwrap_or(KmsCredentials::Environment),
        timeout,
    })
}

fn required<'s>(settings: &'s Settings<'_>, name: &str, what: &'static str) -> Result<&'s str, Error> {
    settings.text(name).ok_or(Error::KmsConfig { what })
}

/// Parses the file of a component. Each key in it is encrypted by AWS KMS.
///
/// # Errors
/// [`Error::WrongKind`] for other files; [`Error::Truncated`], [`Error::NotJson`] and [`Error::UnknownVersion`].
fn parse_file(bytes: &[u8]) -> Result<Parsed<'_>, Error> {
    match kind_of(bytes)? {
        StoreKind::ComponentFile | StoreKind::KmsWrappedFile => {}
        kind => return Err(Error::WrongKind { kind }),
    }
    let parsed = component_file::parse(bytes).map_err(|error| Error::not_json(&error))?;
    if parsed.damage.is_empty() { Ok(parsed) } else { Err(Error::UnknownVersion) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(result: Result<KmsSource, Error>) -> String {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_configuration_of_the_component_is_read() {
        let text = br#"{"path": "/k/keys", "region": "eu-central-1", "kms_key": "alias/db", "auth_key": "AK",
            "secret_access_key": "s", "read_only": false}"#;
        let source = percona(text).unwrap();
        assert_eq!((source.path.as_path(), source.access.region.as_str()), (Path::new("/k/keys"), "eu-central-1"));
        assert!(matches!(&source.access.credentials, KmsCredentials::Inline { access_key, .. } if access_key == "AK"));
        assert_eq!((source.access.endpoint, source.access.timeout), (None, Duration::from_secs(15)));
        assert!(crate::names_service(text));
        let own = br#"{"path": "/k", "region": "r", "kms_key": "k", "auth_key": "AK", "secret_access_key": "s",
            "sealant_credentials": "/c", "sealant_endpoint": "https://kms.vpc", "sealant_ca": "/ca.pem"}"#;
        let access = percona(own).unwrap().access;
        assert!(matches!(access.credentials, KmsCredentials::File(path) if path == Path::new("/c")));
        assert_eq!((access.endpoint.as_deref(), access.authorities), (Some("https://kms.vpc"), Some("/ca.pem".into())));
        assert!(fault(percona(br#"{"path": "k", "kms_key": "k"}"#)).contains("not absolute"));
        assert!(fault(percona(br#"{"kms_key": "k"}"#)).contains("no path"));
        let half = br#"{"path": "/k", "region": "r", "kms_key": "k", "auth_key": "AK"}"#;
        assert!(fault(percona(half)).contains("only one of auth_key and secret_access_key"));
    }

    #[test]
    fn mariadbs_variables_are_read_from_its_groups() {
        let text = b"[mariadb]\nplugin_load_add = aws_key_management\ndatadir = /var/lib/mysql\n\
            aws-key-management-region = eu-west-1\nloose_aws_key_management_request_timeout = 700\n\
            [sealant]\nsealant_credentials = /c\n";
        assert!(is_mariadb_configuration(text) && crate::names_service(text));
        let source = mariadb(text).unwrap();
        assert_eq!((source.path.as_path(), source.access.region.as_str()), (Path::new("/var/lib/mysql"), "eu-west-1"));
        assert_eq!(source.access.timeout, Duration::from_millis(700));
        let other = [&text[..], b"sealant_key_directory = /copy\n"].concat();
        assert_eq!(mariadb(&other).unwrap().path, Path::new("/copy"));
        let bare = [&text[..], b"[mariadb]\naws_key_management_endpoint_url = kms.vpc:8443\n"].concat();
        assert_eq!(mariadb(&bare).unwrap().access.endpoint.as_deref(), Some("https://kms.vpc:8443"));
        assert!(fault(mariadb(b"[mariadb]\naws_key_management_region = r\n")).contains("needs datadir"));
        for other in [
            &b"[mariadb]\ndatadir = /x\n"[..],
            b"[client]\naws_key_management_region = r\n",
            b"[sealant]\nsealant_ca = x\nuser = audit\n",
        ] {
            assert!(!is_mariadb_configuration(other));
        }
    }

    #[test]
    fn only_the_servers_own_names_are_keys() {
        assert_eq!(of_file_name("aws-kms-key.1.12"), Some((1, 12)));
        for other in ["aws-kms-key.1", "aws-kms-key.0.1", "aws-kms-key.1.0", "aws-kms-key.01.1", "aws-kms-key.1.1.bak"]
        {
            assert_eq!(of_file_name(other), None, "{other}");
        }
    }
}
