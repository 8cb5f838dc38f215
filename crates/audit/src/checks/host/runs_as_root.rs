//! `host-runs-as-root`.

use findings::Severity;
use server::program::shares_server_user;

use super::observed;
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::host::Process;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "host-runs-as-root",
    title: "The server runs as root or shares its user",
    severity: Severity::High,
    explanation: "A vulnerability in the server, or an account with the FILE privilege, gives the permissions of the \
        server's user: as root everything, as a shared user the files of the other programs. These programs can access \
        the server's files in turn. Other servers of the family and their tools run as the same user by design of \
        their packages; they are named, but are no failure. Judged from the processes.",
    applies: "Linux",
    fix: "user=mysql in the option file, files and directories owned by it, restart",
    cost: "a restart",
    standards: &["CIS MySQL 1.2"],
    exposes: Exposes::Help(Attacker::Operator, "The whole host, to whoever breaks into the server"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let host = cx.facts.host()?;
    let process = host.process.as_ref().ok_or_else(|| Unavailable {
        what: "the server's process".to_owned(),
        why: "it was not found on this host".to_owned(),
        remedy: access::AS_SERVER_USER.to_owned(),
    })?;
    Ok(CheckResults::one(result(process, host.same_user.as_deref()).evidence(status(process))))
}

fn result(process: &Process, others: Option<&[String]>) -> CheckResult {
    if process.uid == 0 {
        return CheckResult::fail("server", EvidenceGrade::Bytes, "the server runs as root");
    }
    let Some(others) = others else {
        return CheckResult::pass(
            "server",
            EvidenceGrade::Bytes,
            format!("the server runs as uid {}, not as root", process.uid),
        );
    };
    let (family, strange): (Vec<&str>, Vec<&str>) =
        others.iter().map(String::as_str).partition(|name| shares_server_user(name));
    if !strange.is_empty() {
        let text = format!("other programs run as the server's user: {}", strange.join(", "));
        let fix = format!("run {} as another user than the server's (uid {})", strange.join(", "), process.uid);
        return CheckResult::fail("server", EvidenceGrade::Bytes, text).severity(Severity::Medium).fix(fix);
    }
    let shared = if family.is_empty() { String::new() } else { format!(", shared with {}", family.join(", ")) };
    let text = format!("the server runs as uid {}, not as root{shared}", process.uid);
    CheckResult::pass("server", EvidenceGrade::Bytes, text)
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
        let another = with(999, Some(vec!["mariadbd".to_owned(), "mysqld_exporter".to_owned()])).judge(&CHECK);
        assert_eq!(another[0].status, Pass);
        assert!(another[0].message.ends_with("shared with mariadbd, mysqld_exporter"), "{}", another[0].message);
        let mixed = with(33, Some(vec!["apache2".to_owned(), "mariadbd".to_owned()])).judge(&CHECK);
        assert_eq!((mixed[0].status, mixed[0].message.contains("mariadbd")), (Fail, false));
        assert_eq!(mysql().host(|_| ()).statuses(&CHECK), [Unknown]);
    }
}
