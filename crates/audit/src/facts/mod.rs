//! Everything that an audit knows, as one serialisable tree.
//!
//! Facts are collected once by [`crate::collect`] and can be judged repeatedly. They contain no secrets: no password,
//! no key, no row value.

pub mod backup;
pub mod files;
pub mod host;
pub mod proof;
pub mod register;
pub mod sql;
pub mod wire;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use findings::Remedy;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access;

/// The schema that this release writes; also the newest that it reads.
pub const SCHEMA: &str = "sealant.facts/1";

/// Name of the gap for listeners that could not be probed.
pub(crate) const WIRE_GAP: &str = "wire";

/// A fact that is not available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// The fact.
    pub what: String,
    /// Why it is not available.
    pub why: String,
    /// The exact grant, file or option that would make it available.
    pub remedy: String,
}

impl Unavailable {
    /// A remedy that makes it available: a statement if a privilege is missing, otherwise advice.
    #[must_use]
    pub fn into_remedy(self) -> Remedy {
        if self.is_grant() { Remedy::statement(self.remedy) } else { Remedy::advice(self.remedy) }
    }

    /// Whether a privilege is missing, which the remedy grants: see [`sql::SqlFacts::grant`].
    #[must_use]
    pub fn is_grant(&self) -> bool {
        self.remedy.starts_with("GRANT ")
    }
}

/// A fact, or why it is not available. An empty value never stands for a fact that is not available.
pub type Observed<T> = Result<T, Unavailable>;

/// Sources that the audit used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// SQL queries on a server.
    pub sql: bool,
    /// Files.
    pub files: bool,
    /// Every page, not only a sample.
    pub deep: bool,
    /// Probes of ports.
    pub wire: bool,
    /// The host.
    pub host: bool,
}

/// All facts about one server or data directory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Facts {
    /// [`SCHEMA`].
    pub schema: String,
    /// Start of the collection.
    pub collected_at: Timestamp,
    /// Release that collected them.
    pub sealant: String,
    /// Target of the audit, without a password.
    pub target: String,
    /// Sources that were available.
    pub scope: Scope,
    /// Results of SQL queries.
    #[serde(default)]
    pub sql: Option<sql::SqlFacts>,
    /// Facts about files.
    #[serde(default)]
    pub files: Option<files::FileFacts>,
    /// Results of probes.
    #[serde(default)]
    pub wire: Option<wire::WireFacts>,
    /// What was seen on the network, or why nothing was; `None` if it was not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Observed<sniff::Outcome>>,
    /// Facts about the host.
    #[serde(default)]
    pub host: Option<host::HostFacts>,
    /// Content of the register of keys, or why it was not read; `None` if it was not looked for.
    #[serde(default)]
    pub register: Option<Observed<register::RegisterFacts>>,
    /// What was not available, for any check.
    #[serde(default)]
    pub gaps: Vec<Unavailable>,
    /// Host names that clients use for this server, given by the operator.
    #[serde(default)]
    pub client_names: Vec<String>,
}

impl Facts {
    /// Empty facts about `target`.
    #[must_use]
    pub fn empty(target: &str, collected_at: Timestamp) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            collected_at,
            sealant: env!("CARGO_PKG_VERSION").to_owned(),
            target: target.to_owned(),
            scope: Scope::default(),
            sql: None,
            files: None,
            wire: None,
            traffic: None,
            host: None,
            register: None,
            gaps: Vec::new(),
            client_names: Vec::new(),
        }
    }

    /// Reads saved facts.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::NotFacts`], [`Error::FactsFromTheFuture`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let tree: serde_json::Value =
            serde_json::from_reader(BufReader::new(file)).map_err(|e| not_facts(path, &e.to_string()))?;
        check_schema(path, tree.get("schema").and_then(serde_json::Value::as_str))?;
        serde_json::from_value(tree).map_err(|e| not_facts(path, &e.to_string()))
    }

    /// Reduces the facts to those of an audit without files and host: results of SQL queries and of probes.
    #[must_use]
    pub fn without_files(&self) -> Self {
        let wire = self.wire.clone().map(|wire| wire::WireFacts { chain: None, ..wire });
        Self {
            schema: self.schema.clone(),
            sealant: self.sealant.clone(),
            target: self.target.clone(),
            client_names: self.client_names.clone(),
            scope: Scope { files: false, deep: false, host: false, ..self.scope },
            sql: self.sql.clone(),
            wire,
            traffic: self.traffic.clone(),
            files: None,
            host: None,
            register: None,
            gaps: self.gaps.iter().filter(|gap| gap.what == WIRE_GAP).cloned().collect(),
            collected_at: self.collected_at,
        }
    }

    /// Results of SQL queries.
    ///
    /// # Errors
    /// [`Unavailable`] if no server was queried.
    pub fn sql(&self) -> Observed<&sql::SqlFacts> {
        self.sql.as_ref().ok_or_else(|| Unavailable {
            what: "the server's own tables".to_owned(),
            why: "no server was asked".to_owned(),
            remedy: access::RUNNING_ADDRESS.to_owned(),
        })
    }

    /// Facts about files.
    ///
    /// # Errors
    /// [`Unavailable`] if no file could be read.
    pub fn files(&self) -> Observed<&files::FileFacts> {
        self.files.as_ref().ok_or_else(|| self.why_not("files", "the server's files", access::reading_data()))
    }

    /// Results of probes.
    ///
    /// # Errors
    /// [`Unavailable`] if no port was probed.
    pub fn wire(&self) -> Observed<&wire::WireFacts> {
        self.wire.as_ref().ok_or_else(|| {
            self.why_not(WIRE_GAP, "the server's listeners", "give a TCP address that reaches the server".to_owned())
        })
    }

    /// Facts about the host.
    ///
    /// # Errors
    /// [`Unavailable`] if the server runs on another host.
    pub fn host(&self) -> Observed<&host::HostFacts> {
        self.host.as_ref().ok_or_else(|| self.why_not("host", "the server's host", access::ON_HOST.to_owned()))
    }

    fn why_not(&self, area: &str, what: &str, remedy: String) -> Unavailable {
        self.gaps.iter().find(|gap| gap.what == area).cloned().map_or_else(
            || Unavailable { what: what.to_owned(), why: "not looked at".to_owned(), remedy },
            |gap| Unavailable { what: what.to_owned(), ..gap },
        )
    }
}

fn not_facts(path: &Path, why: &str) -> Error {
    Error::NotFacts { path: path.to_owned(), why: why.to_owned() }
}

fn check_schema(path: &Path, schema: Option<&str>) -> Result<(), Error> {
    let Some(found) = schema else {
        return Err(not_facts(path, "no field \"schema\""));
    };
    match found.strip_prefix("sealant.facts/").and_then(|v| v.parse::<u32>().ok()) {
        Some(1) => Ok(()),
        Some(n) if n > 1 => {
            Err(Error::FactsFromTheFuture { path: path.to_owned(), found: found.to_owned(), known: SCHEMA })
        }
        _ => Err(not_facts(path, &format!("schema is {found:?}"))),
    }
}
