//! `host-luks-weak`.

use findings::Severity;

use super::luks::{Kind, judge as judge_volumes};
use crate::check::{Check, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;

pub(crate) const CHECK: Check = Check {
    id: "host-luks-weak",
    title: "The LUKS volume below the server has weak parameters",
    severity: Severity::Medium,
    explanation: "A disk counts as encrypted whatever its parameters. But CBC lets an attacker change data or shows \
        patterns, IVs of 32 bits repeat after 2 TiB, a cheap key derivation lets passphrases be guessed, and a key \
        slot can be unencrypted. Judged from the headers of the open volumes below the server's paths and its swap, as \
        `sealant luks audit` does.",
    applies: "Linux with dm-crypt",
    fix: "see `sealant luks audit DEVICE`: cryptsetup luksConvertKey, convert or reencrypt",
    cost: "a new key derivation costs nothing; re-encryption reads and writes the whole disk",
    standards: &["PCI DSS 4.0.1 3.5.1", "NIST SP 800-53r5 SC-13"],
    exposes: Exposes::Help(Attacker::StolenDisk, "An encrypted disk that is easier to break than it should be"),
    closed_by: ClosedBy::Luks,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    judge_volumes(cx, Kind::Weak)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::host::luks_damaged;
    use crate::facts::host::{DiskLayer, HostFacts, LuksDisk, LuksFinding, Swap};
    use crate::finding::Status::{self, Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn found(code: &str, severity: &str) -> LuksFinding {
        LuksFinding { code: code.to_owned(), severity: severity.to_owned(), detail: "slot 0".to_owned() }
    }

    fn disk(findings: Vec<LuksFinding>, unseen: Option<&str>) -> LuksDisk {
        LuksDisk {
            kernel_name: "dm-0".to_owned(),
            name: "data".to_owned(),
            device: "/dev/sda".to_owned(),
            findings,
            unseen: unseen.map(str::to_owned),
        }
    }

    /// A server whose data lies on dm-0.
    fn on(disk: LuksDisk) -> FactsBuilder {
        let made = mysql().disk(DiskLayer::Encrypted { by: "dm-crypt LUKS2 data".to_owned() });
        made.host(|host| {
            host.paths.iter_mut().for_each(|path| path.chain = vec!["dm-0".to_owned(), "sda".to_owned()]);
            host.luks = Some(vec![disk]);
        })
    }

    fn both(made: &dyn Fn() -> FactsBuilder) -> (Vec<Status>, Vec<Status>) {
        (made().statuses(&CHECK), made().statuses(&luks_damaged::CHECK))
    }

    #[test]
    fn weakness_and_damage_are_two_things() {
        let weak = || on(disk(vec![found("cipher-cbc", "medium"), found("one-slot", "info")], None));
        assert_eq!(both(&weak), (vec![Fail], vec![Pass]));
        let damaged = || on(disk(vec![found("header-secondary-bad", "high")], None));
        assert_eq!(both(&damaged), (vec![Pass], vec![Fail]));
        let stuck = || on(disk(vec![found("reencrypt-stuck", "critical")], None));
        assert_eq!(both(&stuck), (vec![Pass], vec![Fail]));
        let sound = || on(disk(vec![found("key-128", "info"), found("flag-discards", "low")], None));
        assert_eq!(both(&sound), (vec![Pass], vec![Pass]));
    }

    #[test]
    fn an_unread_header_is_unknown_and_no_volume_not_applicable() {
        assert_eq!(both(&|| on(disk(Vec::new(), Some("/dev/sda: Permission denied")))), (vec![Unknown], vec![Unknown]));
        assert_eq!(both(&|| mysql().host(|host: &mut HostFacts| host.luks = None)), (vec![Unknown], vec![Unknown]));
        let remote = || mysql().host(|host| host.luks = Some(vec![disk(vec![found("cipher-ecb", "critical")], None)]));
        assert_eq!(both(&remote), (vec![NotApplicable], vec![NotApplicable]));
    }

    #[test]
    fn swap_counts_too() {
        let swap = || {
            mysql().host(|host| {
                host.luks = Some(vec![disk(vec![found("cipher-ecb", "critical")], None)]);
                let layer = DiskLayer::Encrypted { by: "dm-crypt LUKS2 data".to_owned() };
                host.swaps = vec![Swap { name: "/dev/dm-0".to_owned(), layer }];
            })
        };
        assert_eq!(both(&swap), (vec![Fail], vec![Pass]));
    }
}
