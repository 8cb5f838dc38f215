//! What a check says: status, severity, grade of evidence, and the evidence itself.

use serde::{Deserialize, Serialize};

use crate::remedy::Step;

/// How a check ended for one artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Status {
    /// The evidence shows that the artefact is as it must be.
    #[serde(rename = "PASS")]
    Pass,
    /// The check does not concern this server.
    #[serde(rename = "N/A")]
    NotApplicable,
    /// A failure that somebody accepted in writing, until a date.
    #[serde(rename = "WAIVED")]
    Waived,
    /// The evidence could not be had; the message says what would show it.
    #[serde(rename = "UNKNOWN")]
    Unknown,
    /// The evidence shows a gap.
    #[serde(rename = "FAIL")]
    Fail,
}

impl Status {
    /// The word that reports and JSON use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::NotApplicable => "N/A",
            Self::Waived => "WAIVED",
            Self::Unknown => "UNKNOWN",
            Self::Fail => "FAIL",
        }
    }
}

/// How much a failure matters. Ordered: `Info` is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// A weakness that needs another one to matter.
    Low,
    /// Some data, or the way to it, is exposed to some.
    Medium,
    /// Data is readable to who holds the disk or hears the wire.
    High,
    /// Keys or credentials are exposed, or data is about to be lost.
    Critical,
}

/// Severities of headers are those of the audit. Where there is nothing of LUKS, whatever was expected of it does not
/// hold.
impl From<luks::Severity> for Severity {
    fn from(severity: luks::Severity) -> Self {
        match severity {
            luks::Severity::Info => Self::Info,
            luks::Severity::Low => Self::Low,
            luks::Severity::Medium => Self::Medium,
            luks::Severity::High => Self::High,
            luks::Severity::Critical | luks::Severity::None => Self::Critical,
        }
    }
}

impl Severity {
    /// All, from the least to the worst.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The word that reports, options and JSON use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// Where the evidence comes from. Ordered by strength; bytes and wire are equally strong,
/// and never speak of the same artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// A variable or an option file says so.
    Declared,
    /// The server's own tables say so.
    Reported,
    /// Read on disk.
    Bytes,
    /// Seen on the network.
    Wire,
}

impl Grade {
    /// The word that reports and JSON use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Reported => "reported",
            Self::Bytes => "bytes",
            Self::Wire => "wire",
        }
    }
}

/// One thing that a third party can look up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Evidence {
    /// A statement and what the server answered, cut to what matters.
    Query {
        /// The statement as it was sent.
        sql: String,
        /// The answer, or the error.
        answer: String,
    },
    /// Bytes of a file, as hexadecimal digits: format fields, never row values or keys.
    Bytes {
        /// The file.
        path: String,
        /// Where the bytes stand in the file.
        offset: u64,
        /// The bytes, hexadecimal; empty if a count says it all.
        hex: String,
        /// What they mean.
        meaning: String,
    },
    /// What a listener answered.
    Wire {
        /// Host and port, or socket.
        endpoint: String,
        /// What was seen.
        observation: String,
    },
    /// What the host shows: modes, devices, processes.
    Host {
        /// A path, usually.
        source: String,
        /// What was seen.
        observation: String,
    },
    /// A line of an option file.
    Option {
        /// The file.
        file: String,
        /// Its line, from 1.
        line: u32,
        /// What it sets; secrets are left out.
        setting: String,
    },
}

/// The result of one check for one artefact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The check.
    pub id: String,
    /// How it ended.
    pub status: Status,
    /// How much a failure would matter; kept for every status.
    pub severity: Severity,
    /// The server, as the audit was pointed at it.
    pub server: String,
    /// The file, tablespace, account, channel or setting concerned.
    pub artefact: String,
    /// The strongest evidence behind the status; none for UNKNOWN and N/A.
    pub grade: Option<Grade>,
    /// One sentence.
    pub message: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// A command, or the next step, that works on this very version.
    pub remediation: Option<String>,
    /// The same in steps that a program can tell apart; the first version of this schema had none.
    #[serde(default)]
    pub remedies: Vec<Step>,
    /// What the remediation costs: lock, time, space.
    pub cost: Option<String>,
    /// Requirements this check maps to.
    pub standards: Vec<String>,
    /// The waiver that covers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<String>,
    /// Stable across runs for the same check, server and artefact.
    #[serde(default)]
    pub fingerprint: String,
}
