//! Severities.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How serious a finding is, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information.
    Info,
    /// A weakness that matters only together with another one.
    Low,
    /// Part of the data, or access to it, is exposed to a limited group of attackers.
    Medium,
    /// Data can be read, changed or lost under conditions that occur in practice.
    High,
    /// Keys or credentials are exposed, or data is readable or about to be lost.
    Critical,
}

impl Severity {
    /// All severities, least first.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The word in reports, options and JSON.
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

impl FromStr for Severity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|severity| severity.as_str() == text);
        known.ok_or_else(|| format!("one of {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}
