//! Findings: status, grade of evidence, and the evidence itself.

use findings::{Severity, Step};
use serde::{Deserialize, Serialize};

/// Status of a check for one artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Status {
    /// The evidence shows that the artefact is in order.
    #[serde(rename = "PASS")]
    Pass,
    /// The check does not apply to this server.
    #[serde(rename = "N/A")]
    NotApplicable,
    /// A failure that a valid waiver accepts.
    #[serde(rename = "WAIVED")]
    Waived,
    /// The evidence is not available; the message says what would show it.
    #[serde(rename = "UNKNOWN")]
    Unknown,
    /// The evidence shows a gap.
    #[serde(rename = "FAIL")]
    Fail,
}

impl Status {
    /// The word in reports and JSON.
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

/// Source of evidence, weakest first. Bytes and wire are equally strong, and never concern the same artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceGrade {
    /// A variable or an option file.
    Declared,
    /// The server's own tables.
    Reported,
    /// Bytes on disk.
    Bytes,
    /// Observed on the network.
    Wire,
}

impl EvidenceGrade {
    /// The word in reports and JSON.
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

/// A piece of evidence that a third party can verify.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Evidence {
    /// A statement, and the relevant part of its result.
    Query {
        /// The statement as it was sent.
        sql: String,
        /// The result, or the error.
        answer: String,
    },
    /// Bytes of a file in hexadecimal: format fields, never row values or keys.
    Bytes {
        /// Path of the file.
        path: String,
        /// Offset in the file.
        offset: u64,
        /// The bytes in hexadecimal; empty if a count suffices.
        hex: String,
        /// Their meaning.
        meaning: String,
    },
    /// An observation at a listener.
    Wire {
        /// Host and port, or socket.
        endpoint: String,
        /// The observation.
        observation: String,
    },
    /// An observation on the host: modes, devices, processes.
    Host {
        /// Its source, usually a path.
        source: String,
        /// The observation.
        observation: String,
    },
    /// A line of an option file.
    Option {
        /// Path of the file.
        file: String,
        /// Line number, from 1.
        line: u32,
        /// The setting, without secrets.
        setting: String,
    },
}

/// Result of one check for one artefact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Id of the check.
    pub id: String,
    /// Its status.
    pub status: Status,
    /// Severity of a failure; present for every status.
    pub severity: Severity,
    /// Target of the audit.
    pub server: String,
    /// The file, tablespace, account, channel or setting.
    pub artefact: String,
    /// Grade of the strongest evidence; `None` for UNKNOWN and N/A.
    pub grade: Option<EvidenceGrade>,
    /// The result in one sentence.
    pub message: String,
    /// The evidence.
    pub evidence: Vec<Evidence>,
    /// The remedy for this version, as text.
    pub remediation: Option<String>,
    /// The remedy in steps; the first version of this schema had none.
    #[serde(default)]
    pub remedies: Vec<Step>,
    /// Cost of the remedy: locks, time, space.
    pub cost: Option<String>,
    /// Requirements that the check maps to.
    pub standards: Vec<String>,
    /// The waiver that covers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<String>,
    /// Stable across runs for the same check, server and artefact.
    #[serde(default)]
    pub fingerprint: String,
}
