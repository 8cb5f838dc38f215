//! Encryption of the storage below a managed service's tables. SQL cannot see it, so its evidence is what the service says
//! about the server: a document that its interface has given to the user, or the vendor's promise for all servers.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use server::{Endpoint, TlsMode};

use crate::link::Server;

/// The domain of Azure Database for MySQL, which encrypts the storage of every server. Source: Microsoft Learn, "Security
/// in Azure Database for MySQL", "Encryption at rest".
const AZURE: &str = ".mysql.database.azure.com";
/// Longest time between a document and its use: a name can be given to another server.
const VALID: SignedDuration = SignedDuration::from_hours(24);
/// The option that names a document.
pub(crate) const OPTION: &str = "--attest FILE";

/// What Amazon's interface says about servers: the output of `aws rds describe-db-instances` or `describe-db-clusters`.
#[derive(Clone, Debug)]
pub struct Attestation {
    servers: Vec<AttestedServer>,
    /// What reports call the document.
    name: String,
    /// When it was written.
    written: Timestamp,
    /// Whether this is the name of a server of the service.
    is_of_service: fn(&str) -> bool,
}

/// A server of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AttestedServer {
    /// In lower case.
    host: String,
    port: u16,
    encrypted: bool,
    /// Identifier of the key; empty if there is none.
    key: String,
    /// Up to when the service could restore it: a few minutes before the document was made. `None` without backups.
    restorable: Option<Timestamp>,
}

/// Why nothing proves that the storage is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotProven {
    /// What was seen.
    pub why: String,
    /// Whether the document says that the storage is not encrypted.
    pub is_clear: bool,
}

impl NotProven {
    fn unknown(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_clear: false }
    }
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "DBInstances", default)]
    instances: Vec<Instance>,
    #[serde(rename = "DBClusters", default)]
    clusters: Vec<Cluster>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Instance {
    /// Absent while the instance is created.
    endpoint: Option<InstanceEndpoint>,
    #[serde(default)]
    storage_encrypted: bool,
    kms_key_id: Option<String>,
    latest_restorable_time: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct InstanceEndpoint {
    address: String,
    port: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Cluster {
    endpoint: Option<String>,
    port: Option<u16>,
    #[serde(default)]
    storage_encrypted: bool,
    kms_key_id: Option<String>,
    latest_restorable_time: Option<String>,
}

impl Attestation {
    /// Parses a document of that time. `name` is what reports call it, such as its file's name, date and hash. `is_of_service`
    /// tells the servers of the service whose format it has: [`is_of_amazon`].
    ///
    /// # Errors
    /// What is wrong with the document.
    pub fn parse(
        document: &[u8],
        name: String,
        written: Timestamp,
        is_of_service: fn(&str) -> bool,
    ) -> Result<Self, String> {
        let parsed: Document = serde_json::from_slice(document).map_err(|error| error.to_string())?;
        let of_instance = |it: Instance| {
            let endpoint = it.endpoint?;
            let found = (endpoint.address, endpoint.port, it.storage_encrypted);
            Some(AttestedServer::new(found, it.kms_key_id, it.latest_restorable_time))
        };
        // Its endpoint leads to the server that takes writes; that of its readers does not.
        let of_cluster = |it: Cluster| {
            let found = (it.endpoint?, it.port?, it.storage_encrypted);
            Some(AttestedServer::new(found, it.kms_key_id, it.latest_restorable_time))
        };
        let instances = parsed.instances.into_iter().filter_map(of_instance);
        let servers = instances.chain(parsed.clusters.into_iter().filter_map(of_cluster));
        let servers = servers.collect::<Result<Vec<_>, _>>()?;
        if servers.is_empty() {
            return Err("it names no server: give the output of aws rds describe-db-instances or \
                        describe-db-clusters, as JSON"
                .to_owned());
        }
        Ok(Self { servers, name, written, is_of_service })
    }

    /// What the document says about a server at this time.
    fn judge(&self, host: &str, port: u16, now: Timestamp) -> Result<String, NotProven> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let named = |it: &&AttestedServer| it.port == port && it.host == host;
        let of_server: Vec<_> = self.servers.iter().filter(named).collect();
        let Some(server) = of_server.first() else {
            return Err(NotProven::unknown(format!("{} says nothing about {host}:{port}", self.name)));
        };
        if !of_server.iter().all(|it| it.encrypted) {
            let why = format!("{} says that the storage of {host}:{port} is not encrypted", self.name);
            return Err(NotProven { why, is_clear: true });
        }
        if !(self.is_of_service)(&host) {
            let why = format!("{} names {host}, which is no name of a server of Amazon RDS", self.name);
            return Err(NotProven::unknown(why));
        }
        let mut times = of_server.iter().filter_map(|it| it.restorable).chain([self.written]);
        if let Some(time) = times.find(|time| now.duration_since(*time).abs() > VALID) {
            let why = format!(
                "{} is of {time:.0}, more than a day from now, and the name can have been given to another server",
                self.name
            );
            return Err(NotProven::unknown(why));
        }
        let key = if server.key.is_empty() { String::new() } else { format!(" with {}", server.key) };
        Ok(format!("{} attests that the storage of {host}:{port} is encrypted{key}", self.name))
    }
}

impl AttestedServer {
    fn new(
        (host, port, encrypted): (String, u16, bool),
        key: Option<String>,
        restorable: Option<String>,
    ) -> Result<Self, String> {
        let time = |text: String| text.parse::<Timestamp>().map_err(|error| format!("LatestRestorableTime: {error}"));
        let restorable = restorable.map(time).transpose()?;
        Ok(Self { host: host.to_ascii_lowercase(), port, encrypted, key: key.unwrap_or_default(), restorable })
    }
}

/// Whether a host in lower case is a server of Amazon RDS or Aurora: `db2.abc.eu-west-1.rds.amazonaws.com`, or
/// `db2.abc.rds.cn-north-1.amazonaws.com.cn` in some regions.
#[must_use]
pub fn is_of_amazon(host: &str) -> bool {
    let name = [".amazonaws.com", ".amazonaws.com.cn"].iter().find_map(|domain| host.strip_suffix(domain));
    name.is_some_and(|name| name.ends_with(".rds") || name.rsplit_once('.').is_some_and(|(it, _)| it.ends_with(".rds")))
}

/// The evidence that the storage of a server is encrypted. What a service says is about a name, so the connection has to
/// prove that the server has it.
pub(crate) fn evidence(attestation: Option<&Attestation>, server: &Server) -> Result<String, NotProven> {
    let endpoint = &server.target.endpoint;
    let Endpoint::Tcp { host, port } = endpoint else {
        return Err(NotProven::unknown("a server that is reached through its socket has no storage of a service"));
    };
    let tls = &server.options.tls;
    if tls.mode_for(endpoint) != TlsMode::VerifyIdentity {
        let why = "nothing proves that this is the server of that name: its certificate is not verified by CA and name";
        return Err(NotProven::unknown(why));
    }
    if host.to_ascii_lowercase().ends_with(AZURE) {
        return Ok("Microsoft declares that Azure Database for MySQL encrypts the storage of every server".to_owned());
    }
    match attestation {
        Some(attestation) => attestation.judge(host, *port, Timestamp::now()),
        None => Err(NotProven::unknown("nothing attests that its storage is encrypted")),
    }
}

#[cfg(test)]
mod tests {
    use server::{Options, Target, tls::TlsVersion};

    use super::*;
    use crate::{Accept, Side};

    const INSTANCES: &str = r#"{"DBInstances": [
        {"DBInstanceIdentifier": "db2", "Endpoint": {"Address": "db2.x.rds.amazonaws.com", "Port": 3306},
         "StorageEncrypted": true, "KmsKeyId": "arn:aws:kms:eu-west-1:1:key/7", "Engine": "mysql"},
        {"DBInstanceIdentifier": "db3", "Endpoint": {"Address": "db3.x.rds.amazonaws.com", "Port": 3306},
         "StorageEncrypted": false},
        {"DBInstanceIdentifier": "new"}]}"#;
    const CLUSTERS: &str = r#"{"DBClusters": [{"Endpoint": "c.cluster-x.rds.amazonaws.com", "Port": 3306,
        "ReaderEndpoint": "c.cluster-ro-x.rds.amazonaws.com", "StorageEncrypted": true}]}"#;

    fn server(host: &str, any_name: bool) -> Server {
        let target = Target { endpoint: Endpoint::tcp(host, 3306), user: "mig".to_owned() };
        let mut options = Options::default();
        options.tls.ca_file = Some("ca.pem".into());
        let accept = Accept { any_name, unverified: false, min_tls: TlsVersion::Tls13 };
        Server::new(Side::Target, target, options, accept).unwrap()
    }

    fn attestation(document: &str, written: Timestamp) -> Attestation {
        Attestation::parse(document.as_bytes(), "db2.json".to_owned(), written, is_of_amazon).unwrap()
    }

    fn judged(document: &str, host: &str) -> Result<String, NotProven> {
        evidence(Some(&attestation(document, Timestamp::now())), &server(host, false))
    }

    #[test]
    fn a_server_is_found_by_its_name() {
        let found = judged(INSTANCES, "DB2.x.rds.amazonaws.com").unwrap();
        let expected = "db2.json attests that the storage of db2.x.rds.amazonaws.com:3306 is encrypted with \
                        arn:aws:kms:eu-west-1:1:key/7";
        assert_eq!(found, expected);
        assert!(judged(CLUSTERS, "c.cluster-x.rds.amazonaws.com").is_ok());
    }

    #[test]
    fn what_is_not_about_this_server_proves_nothing() {
        for (document, host, is_clear) in [
            (INSTANCES, "db3.x.rds.amazonaws.com", true),
            (INSTANCES, "db4.x.rds.amazonaws.com", false),
            (INSTANCES, "127.0.0.1", false),
            (CLUSTERS, "c.cluster-ro-x.rds.amazonaws.com", false),
        ] {
            let found = judged(document, host).unwrap_err();
            assert_eq!(found.is_clear, is_clear, "{found:?}");
        }
        let attestation = attestation(INSTANCES, Timestamp::now());
        let found = evidence(Some(&attestation), &server("db2.x.rds.amazonaws.com", true)).unwrap_err();
        assert!(found.why.contains("by CA and name"), "{found:?}");
        assert!(evidence(None, &server("db2.x.rds.amazonaws.com", false)).is_err());
        let twice = INSTANCES.replace("db3.", "db2.");
        assert!(judged(&twice, "db2.x.rds.amazonaws.com").unwrap_err().is_clear);
    }

    #[test]
    fn a_document_is_only_about_servers_of_its_service() {
        for host in ["db2.example", "127.0.0.1", "rds.amazonaws.com", "db2.rds.amazonaws.com.example"] {
            let found = judged(&INSTANCES.replace("db2.x.rds.amazonaws.com", host), host).unwrap_err();
            assert!(found.why.contains("no name of a server of Amazon RDS") && !found.is_clear, "{found:?}");
        }
        let china = "db2.x.rds.cn-north-1.amazonaws.com.cn";
        assert!(judged(&INSTANCES.replace("db2.x.rds.amazonaws.com", china), china).is_ok());
        assert!(!is_of_amazon("db2.x.rds.eu-west-1.elb.amazonaws.com") && !is_of_amazon("x.s3.amazonaws.com"));
    }

    #[test]
    fn an_old_document_proves_nothing() {
        const HOST: &str = "db2.x.rds.amazonaws.com";
        let now: Timestamp = "2026-12-01T12:00:00Z".parse().unwrap();
        let judged = |document: &str, written: &str| {
            attestation(document, written.parse().unwrap()).judge(HOST, 3306, now).map_err(|found| found.why)
        };
        let of = |time: &str| {
            INSTANCES.replace("\"KmsKeyId\"", &format!("\"LatestRestorableTime\": \"{time}\", \"KmsKeyId\""))
        };
        assert!(judged(INSTANCES, "2026-11-30T13:00:00Z").is_ok());
        assert!(judged(&of("2026-12-01T11:55:00.123000+00:00"), "2026-12-01T12:00:00Z").is_ok());
        // A copy of a file has another time than what it says; a file of the future would never become old.
        for (document, written) in [
            (INSTANCES.to_owned(), "2026-11-30T11:00:00Z"),
            (INSTANCES.to_owned(), "2026-12-03T12:00:00Z"),
            (of("2026-11-29T12:00:00Z"), "2026-12-01T12:00:00Z"),
        ] {
            let why = judged(&document, written).unwrap_err();
            assert!(why.contains("more than a day from now"), "{why}");
        }
    }

    #[test]
    fn azure_encrypts_every_server() {
        assert!(evidence(None, &server("shop.mysql.database.azure.com", false)).is_ok());
        assert!(evidence(None, &server("shop.mysql.database.azure.com", true)).is_err());
        assert!(evidence(None, &server("mysql.database.azure.com.example", false)).is_err());
    }

    #[test]
    fn a_known_certificate_does_not_prove_the_name() {
        let mut pinned = server("shop.mysql.database.azure.com", false);
        (pinned.options.tls.ca_file, pinned.options.tls.mode) = (None, None);
        pinned.options.tls.fingerprints = vec!["00".repeat(32).parse().unwrap()];
        assert!(evidence(None, &pinned).is_err());
    }

    #[test]
    fn other_documents_are_refused() {
        let without_time = CLUSTERS.replace("\"Port\"", "\"LatestRestorableTime\": \"now\", \"Port\"");
        for document in ["", "[]", "{}", r#"{"DBInstances": [{"Endpoint": "x"}]}"#, &without_time] {
            let parsed = Attestation::parse(document.as_bytes(), String::new(), Timestamp::now(), is_of_amazon);
            assert!(parsed.is_err(), "{document}");
        }
    }
}
