//! `host-swap-plaintext`.

use files::quantity::size;
use findings::Severity;

use super::{observed, servers_host};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::host::{DiskLayer, HostFacts, Swap};
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "host-swap-plaintext",
    title: "The server's memory can be written to clear swap",
    severity: Severity::Medium,
    explanation: "Pages, keys and passwords in the server's memory are written to disk when the kernel swaps, and \
        stay there. Judged from /proc/swaps and the devices below, and from the memory that the process has locked \
        (--memlock). zram is memory.",
    applies: "Linux",
    fix: "encrypt swap with a random key (crypttab: swap DEVICE /dev/urandom swap), switch it off, or start with \
        --memlock",
    cost: "swap off and on again; --memlock needs a restart and enough memory",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Help(Attacker::StolenDisk, "Memory of the server that was swapped out"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let host = servers_host(cx.facts)?;
    if let Some(why) = &host.swaps_unseen {
        return Err(Unavailable {
            what: "/proc/swaps".to_owned(),
            why: why.clone(),
            remedy: "make /proc/swaps readable".to_owned(),
        });
    }
    let open: Vec<&Swap> = host
        .swaps
        .iter()
        .filter(|swap| !matches!(swap.layer, DiskLayer::Encrypted { .. } | DiskLayer::Memory))
        .collect();
    if open.is_empty() {
        return Ok(CheckResults::one(pass(host)));
    }
    if let Some(kib) = locked(cx.facts, host) {
        let message = format!("swap is in clear, and the server has locked {} of its memory", kib_size(kib));
        return Ok(CheckResults::one(
            CheckResult::pass("server", EvidenceGrade::Bytes, message)
                .evidence(observed("/proc/PID/status", format!("VmLck: {kib} kB"))),
        ));
    }
    let mut results = CheckResults::new();
    open.into_iter().for_each(|swap| results.push(exposed(host, swap)));
    Ok(results)
}

/// A number of KiB, the unit of `/proc`.
fn kib_size(kib: u64) -> String {
    size(kib.saturating_mul(1024))
}

fn pass(host: &HostFacts) -> CheckResult {
    let message = if host.swaps.is_empty() { "there is no swap" } else { "swap is encrypted or in memory" };
    let listed = if host.swaps.is_empty() {
        "empty".to_owned()
    } else {
        host.swaps.iter().map(|swap| format!("{}: {:?}", swap.name, swap.layer)).collect::<Vec<_>>().join("; ")
    };
    CheckResult::pass("server", EvidenceGrade::Bytes, message).evidence(observed("/proc/swaps", listed))
}

/// The locked memory, if the server locks all of its memory and the kernel confirms it.
fn locked(facts: &Facts, host: &HostFacts) -> Option<u64> {
    let process = host.process.as_ref()?;
    let said = facts.sql.as_ref().is_none_or(|sql| sql.variable_on("locked_in_memory") == Ok(true));
    process.locked_kib.filter(|kib| said && *kib > 0 && process.swapped_kib.unwrap_or(0) == 0)
}

fn exposed(host: &HostFacts, swap: &Swap) -> CheckResult {
    let why = match &swap.layer {
        DiskLayer::Unknown { why } => Some(why.as_str()),
        DiskLayer::Plain if host.virtual_machine => {
            Some("a virtual machine cannot see whether its disk is encrypted below it")
        }
        _ => None,
    };
    if let Some(why) = why {
        let unseen = Unavailable {
            what: format!("the disk below swap {}", swap.name),
            why: why.to_owned(),
            remedy: format!(
                "attest the volume in a waiver for host-swap-plaintext, artefact {}, or swapoff {}",
                swap.name, swap.name
            ),
        };
        return CheckResult::unknown(&swap.name, unseen).evidence(observed("/proc/swaps", &swap.name));
    }
    let swapped = host.process.as_ref().and_then(|process| process.swapped_kib).unwrap_or(0);
    let message = format!(
        "swap {} is in clear, and the server's memory is not locked; {} of it are swapped out",
        swap.name,
        kib_size(swapped)
    );
    CheckResult::fail(&swap.name, EvidenceGrade::Bytes, message)
        .evidence(observed("/proc/swaps", format!("{} on a plain disk", swap.name)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::process;
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn with(layer: DiskLayer) -> FactsBuilder {
        mysql().host(|host| host.swaps.push(Swap { name: "/dev/sda2".to_owned(), layer }))
    }

    #[test]
    fn clear_swap_fails_unless_memory_is_locked() {
        let found = with(DiskLayer::Plain).judge(&CHECK);
        assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "/dev/sda2"));
        let locked = |value| {
            with(DiskLayer::Plain).variable("locked_in_memory", value).host(|host| {
                let mut process = process();
                process.locked_kib = Some(4 << 20);
                host.process = Some(process);
            })
        };
        assert_eq!(locked("ON").statuses(&CHECK), [Pass]);
        assert_eq!(locked("OFF").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn no_encrypted_or_compressed_swap_passes() {
        assert_eq!(mysql().host(|_| ()).statuses(&CHECK), [Pass]);
        assert_eq!(with(DiskLayer::Memory).statuses(&CHECK), [Pass]);
        assert_eq!(with(DiskLayer::Encrypted { by: "dm-crypt".to_owned() }).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn what_cannot_be_seen_is_unknown() {
        assert_eq!(with(DiskLayer::Plain).host(|host| host.virtual_machine = true).statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().host(|host| host.swaps_unseen = Some("denied".to_owned())).statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
