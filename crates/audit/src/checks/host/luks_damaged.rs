//! `host-luks-damaged`.

use findings::Severity;

use super::luks::{Kind, judge as judge_volumes};
use crate::check::{Check, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;

pub(crate) const CHECK: Check = Check {
    id: "host-luks-damaged",
    title: "The LUKS volume below the server is damaged or unfinished",
    severity: Severity::High,
    explanation: "An open volume keeps working with a header that cannot be opened again: a damaged copy, overwritten \
        key material, no key slot, a re-encryption that cannot continue. The server fails at the next reboot. Judged \
        from the headers of the open volumes below the server's paths and its swap, as `sealant luks audit` does.",
    applies: "Linux with dm-crypt",
    fix: "while it is open: copy the data, then see `sealant luks audit DEVICE`, cryptsetup repair, sealant luks \
        header restore or repair",
    cost: "none, if it is done before the next reboot",
    standards: &["NIST SP 800-53r5 CP-9", "PCI DSS 4.0.1 3.6.1"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Luks,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    judge_volumes(cx, Kind::Damaged)
}
