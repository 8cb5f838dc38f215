//! The report of a prune.

use archive::retention::Reason;
use jiff::Timestamp;
use serde::Serialize;

use super::{BinlogPlan, HostPlan, Kept, Plan, Pruned};
use crate::list::Listed;

/// A prune, schema `sealant.backup-prune/1`.
#[derive(Debug, Serialize)]
pub struct PruneReport {
    schema: &'static str,
    at: Timestamp,
    hosts: Vec<HostReport>,
    /// `None` for a plan that was not carried out.
    pruned: Option<Pruned>,
}

#[derive(Debug, Serialize)]
struct HostReport {
    host: String,
    kept: Vec<KeptReport>,
    removed: Vec<Listed>,
    unneeded: Unneeded,
    binlogs: Vec<BinlogPlan>,
}

#[derive(Debug, Serialize)]
struct KeptReport {
    #[serde(flatten)]
    listed: Listed,
    reasons: Vec<&'static str>,
}

/// Objects that no kept backup needs and that are old enough.
#[derive(Debug, Serialize)]
struct Unneeded {
    objects: usize,
    bytes: u64,
}

impl PruneReport {
    /// A report of a plan and, if it was carried out, of the result.
    #[must_use]
    pub fn new(plan: &Plan, pruned: Option<Pruned>) -> Self {
        let hosts = plan.hosts.iter().map(HostReport::new).collect();
        Self { schema: "sealant.backup-prune/1", at: plan.at, hosts, pruned }
    }
}

impl HostReport {
    fn new(host: &HostPlan) -> Self {
        let kept = |kept: &Kept| KeptReport {
            listed: Listed::new(&kept.link),
            reasons: kept.reasons.iter().map(|reason: &Reason| reason.as_str()).collect(),
        };
        Self {
            host: host.host.clone(),
            kept: host.kept.iter().map(kept).collect(),
            removed: host.removed.iter().map(Listed::new).collect(),
            unneeded: Unneeded { objects: host.unneeded_objects(), bytes: host.unneeded_bytes() },
            binlogs: host.binlogs.clone(),
        }
    }
}
