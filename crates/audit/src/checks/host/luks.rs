//! Common parts of the two checks of LUKS headers: relevant volumes, and the findings of each check.

use luks::Code;

use super::{observed, servers_host};
use crate::access;
use crate::check::{CheckResult, CheckResults, Context};
use crate::facts::host::{DiskLayer, HostFacts, LuksDisk, LuksFinding};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

/// What a check looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Weak parameters.
    Weak,
    /// Damage, and unfinished operations.
    Damaged,
}

impl Kind {
    fn from_code(code: &str) -> Self {
        let code = Code::ALL.iter().find(|known| known.as_str() == code);
        if code.is_some_and(|code| code.is_damage()) { Self::Damaged } else { Self::Weak }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Weak => "has weak parameters",
            Self::Damaged => "is damaged or unfinished",
        }
    }
}

/// Judges each open volume below a path of the server or a swap area.
pub(super) fn judge(cx: &Context<'_>, kind: Kind) -> Observed<CheckResults> {
    let host = servers_host(cx.facts)?;
    let all = host.luks.as_ref().ok_or_else(|| Unavailable {
        what: "headers of LUKS volumes".to_owned(),
        why: "they were not read".to_owned(),
        remedy: "run this release on the server's host, as root".to_owned(),
    })?;
    let disks: Vec<&LuksDisk> = all.iter().filter(|disk| matters(host, disk)).collect();
    if disks.is_empty() {
        return Ok(CheckResults::not_applicable("no path of the server and no swap area lies on a LUKS volume"));
    }
    let mut results = CheckResults::new();
    for disk in &disks {
        let found: Vec<&LuksFinding> = disk.findings.iter().filter(|finding| counts(finding, kind)).collect();
        match &disk.unseen {
            Some(why) => results.push_unknown(&disk.name, unseen(disk, why)),
            None if !found.is_empty() => results.push(failure(disk, &found, kind)),
            None => {}
        }
    }
    let label = format!("none of {} LUKS volumes below the server {}", disks.len(), kind.label());
    let evidence = disks.iter().map(|disk| observed(&disk.device, "header read"));
    results
        .pass_if_clean(evidence.fold(CheckResult::pass("server", EvidenceGrade::Bytes, label), CheckResult::evidence));
    Ok(results)
}

fn matters(host: &HostFacts, disk: &LuksDisk) -> bool {
    let swapped = host.swaps.iter().any(
        |swap| matches!(&swap.layer, DiskLayer::Encrypted { by } if by.rsplit(' ').next() == Some(disk.name.as_str())),
    );
    swapped || host.paths.iter().any(|path| path.chain.contains(&disk.kernel_name))
}

/// Informational and low findings do not fail a server.
fn counts(finding: &LuksFinding, kind: Kind) -> bool {
    Kind::from_code(&finding.code) == kind && ["medium", "high", "critical"].contains(&finding.severity.as_str())
}

fn failure(disk: &LuksDisk, found: &[&LuksFinding], kind: Kind) -> CheckResult {
    let codes: Vec<&str> = found.iter().map(|finding| finding.code.as_str()).collect();
    let label = format!("LUKS volume {} on {} {}: {}", disk.name, disk.device, kind.label(), codes.join(", "));
    let evidence = found.iter().map(|f| observed(&disk.device, format!("{} ({}): {}", f.code, f.severity, f.detail)));
    evidence.fold(CheckResult::fail(&disk.name, EvidenceGrade::Bytes, label), CheckResult::evidence)
}

fn unseen(disk: &LuksDisk, why: &str) -> Unavailable {
    Unavailable {
        what: format!("the LUKS header of {}", disk.name),
        why: why.to_owned(),
        remedy: format!("{}; judge a detached header with `sealant luks audit`", access::AS_SERVER_USER),
    }
}
