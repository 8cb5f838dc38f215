//! `host-runs-as-root`.

use super::observed;
use crate::check::{Check, Context, Ruling, Verdict};
use crate::facts::host::Process;
use crate::facts::{Seen, Unseen};
use crate::finding::{Grade, Severity};

pub(crate) const CHECK: Check = Check {
    id: "host-runs-as-root",
    title: "The server runs as root or shares its user",
    severity: Severity::High,
    explanation: "A hole in the server, or a user with the FILE privilege, gets what the server's user may: as root \
        everything, as a shared user the files of the other programs, and these the server's. Judged from the process.",
    applies: "Linux",
    fix: "user=mysql in the option file, files and directories owned by it, restart",
    cost: "a restart",
    standards: &["CIS MySQL 1.2"],
    judge,
};

fn judge(cx: &Context<'_>) -> Seen<Verdict> {
    let host = cx.facts.host()?;
    let process = host.process.as_ref().ok_or_else(|| Unseen {
        what: "the server's process".to_owned(),
        why: "it was not found on this host".to_owned(),
        remedy: "run on the server's host, as root or as the server's user".to_owned(),
    })?;
    let ruling = match &host.same_user {
        _ if process.uid == 0 => Ruling::fail("server", Grade::Bytes, "the server runs as root"),
        Some(others) if !others.is_empty() => Ruling::fail(
            "server",
            Grade::Bytes,
            format!("other programs run as the server's user: {}", others.join(", ")),
        )
        .severity(Severity::Medium),
        Some(_) => Ruling::pass("server", Grade::Bytes, format!("the server runs as uid {} of its own", process.uid)),
        None => Ruling::pass("server", Grade::Bytes, format!("the server runs as uid {}, not as root", process.uid)),
    };
    Ok(Verdict::one(ruling.evidence(status(process))))
}

fn status(process: &Process) -> crate::finding::Evidence {
    observed(format!("/proc/{}/status", process.pid), format!("Uid: {} (found by {})", process.uid, process.found_by))
}

#[cfg(test)]
mod tests {
    use super::super::tests::process;
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::mysql;

    #[test]
    fn root_and_shared_users_fail() {
        let with = |uid, others: Option<Vec<String>>| {
            mysql().host(|host| {
                host.process = Some(Process { uid, ..process() });
                host.same_user = others;
            })
        };
        assert_eq!(with(0, None).statuses(&CHECK), [Fail]);
        assert_eq!(with(33, Some(vec!["apache2".to_owned()])).statuses(&CHECK), [Fail]);
        assert_eq!(with(999, Some(Vec::new())).statuses(&CHECK), [Pass]);
        assert_eq!(mysql().host(|_| ()).statuses(&CHECK), [Unknown]);
    }
}
