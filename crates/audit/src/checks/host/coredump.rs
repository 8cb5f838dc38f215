//! `host-coredump`.

use files::quantity::size;
use findings::{Remedy, Severity};
use process::shell_word;
use server::Capability;
use server::option_name;

use super::observed;
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::Content;
use crate::facts::host::HostFacts;
use crate::facts::sql::SqlFacts;
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "host-coredump",
    title: "A core dump would write, or wrote, pages and keys to disk",
    severity: Severity::Medium,
    explanation: "A core dump is the server's memory in clear: decrypted pages, keys, passwords. On a crash the \
        server dumps core only if it was started with --core-file, and if the core limit or a pipe in core_pattern \
        permits it. innodb_buffer_pool_in_core_file=OFF leaves out pages, not keys. Judged from core files found, \
        core_file, /proc/PID/limits and kernel.core_pattern.",
    applies: "every server",
    fix: "start without --core-file, LimitCORE=0 in the service unit, innodb_buffer_pool_in_core_file=OFF; shred old \
        cores",
    cost: "a restart; crashes are harder to analyse",
    standards: &["PCI DSS 4.0.1 3.5.1", "NIST SP 800-53r5 SC-4"],
    exposes: Exposes::Help(Attacker::StolenDisk, "Memory of the server, if it crashes and dumps core"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let facts = cx.facts;
    let mut results = CheckResults::new();
    let files = facts.files.iter().flat_map(|files| &files.files);
    for file in files.filter(|file| matches!(file.content, Content::CoreDump)) {
        results.push(
            CheckResult::fail(
                &file.name,
                EvidenceGrade::Bytes,
                format!("{} is a core dump of {}", file.path, size(file.size_bytes)),
            )
            .severity(Severity::High)
            .evidence(Evidence::Bytes {
                path: file.path.clone(),
                offset: 0,
                hex: "7f454c46".to_owned(),
                meaning: "ELF core file".to_owned(),
            })
            .fix(Remedy::command(format!("shred -u {}", shell_word(&file.path)))),
        );
    }
    match asked_for(facts) {
        Some(true) => results.push(would_dump(facts)),
        Some(false) => results.pass_if_clean(pass(facts)),
        None if results.is_empty() => return Err(unknown(facts)),
        None => {}
    }
    Ok(results)
}

/// Whether the server was started with `--core-file`.
fn asked_for(facts: &Facts) -> Option<bool> {
    if let Some(sql) = &facts.sql
        && let Ok(on) = sql.variable_on("core_file")
    {
        return Some(on);
    }
    let process = facts.host.as_ref()?.process.as_ref()?;
    let named = |argument: &String| option_name::with_hyphens(argument).starts_with("--core-file");
    let option = facts.host.as_ref()?.option(server::option_group::SERVER, "core_file").is_some();
    (!process.command_line.is_empty()).then(|| option || process.command_line.iter().any(named))
}

fn would_dump(facts: &Facts) -> CheckResult {
    if let Some(host) = &facts.host
        && host.process.as_ref().and_then(|process| process.core_limit) == Some(0)
        && !pipes(host)
    {
        return CheckResult::pass(
            "server",
            EvidenceGrade::Bytes,
            "core_file is ON, but the kernel's limit for its core dumps is 0",
        )
        .evidence(observed("/proc/PID/limits", "Max core file size: 0"));
    }
    let pool_left_out =
        facts.sql.as_ref().is_some_and(|sql| sql.variable_on("innodb_buffer_pool_in_core_file") == Ok(false));
    let (message, severity) = if pool_left_out {
        ("core_file is ON: a crash writes keys and passwords from memory to disk; pages are left out", Severity::Low)
    } else {
        ("core_file is ON: a crash writes decrypted pages and keys to disk", Severity::Medium)
    };
    let result = CheckResult::fail("core_file", EvidenceGrade::Declared, message).severity(severity);
    let result = evidence(facts).into_iter().fold(result, CheckResult::evidence);
    match &facts.sql {
        Some(sql) => result.fix(fix(sql, pool_left_out)),
        None => result,
    }
}

/// If `core_pattern` is a pipe, it receives the dump regardless of the limit. Source: core(5).
fn pipes(host: &HostFacts) -> bool {
    host.core_pattern.as_ref().is_some_and(|pattern| pattern.starts_with('|'))
}

fn evidence(facts: &Facts) -> Vec<Evidence> {
    let mut evidence: Vec<Evidence> = facts.sql.iter().map(|sql| sql.variable_evidence("core_file")).collect();
    if let Some(host) = &facts.host {
        let limit = host.process.as_ref().and_then(|process| process.core_limit);
        evidence.extend(limit.map(|bytes| {
            let message = if bytes == u64::MAX { "unlimited".to_owned() } else { bytes.to_string() };
            observed("/proc/PID/limits", format!("Max core file size: {message}"))
        }));
        evidence.extend(host.core_pattern.as_ref().map(|pattern| observed("kernel.core_pattern", pattern)));
    }
    evidence
}

fn pass(facts: &Facts) -> CheckResult {
    let seen = facts.files.as_ref().is_some_and(|files| files.data_seen() && files.unwalked_data().next().is_none());
    let message = if seen { "core_file is OFF, and no core dump was found" } else { "core_file is OFF" };
    let result = CheckResult::pass("server", EvidenceGrade::Declared, message);
    evidence(facts).into_iter().fold(result, CheckResult::evidence)
}

fn unknown(facts: &Facts) -> Unavailable {
    let why = if facts.sql.is_some() {
        "the server has no variable core_file, and its command line was not read"
    } else {
        "no server was asked"
    };
    Unavailable {
        what: "core_file".to_owned(),
        why: format!("{why}; no core dump was found"),
        remedy: access::RUNNING.to_owned(),
    }
}

fn fix(sql: &SqlFacts, pool_left_out: bool) -> Remedy {
    let stop = "remove core-file from the option file, set LimitCORE=0 in the service unit, restart";
    if sql.can(Capability::CoreWithoutBufferPool) && !pool_left_out {
        return Remedy::advice(format!("{stop}; meanwhile")).and(set_variable(
            sql,
            "innodb_buffer_pool_in_core_file",
            "OFF",
        ));
    }
    stop.into()
}

#[cfg(test)]
mod tests {
    use super::super::tests::process;
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    #[test]
    fn asked_for_fails_unless_the_kernel_forbids_it() {
        let found = mysql().variable("core_file", "ON").judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Fail, Severity::Medium));
        let left_out = mysql().variable("core_file", "ON").variable("innodb_buffer_pool_in_core_file", "OFF");
        assert_eq!(left_out.judge(&CHECK)[0].severity, Severity::Low);
        let limited = |pattern: &str| {
            let pattern = pattern.to_owned();
            mysql().variable("core_file", "ON").host(|host| {
                let mut process = process();
                process.core_limit = Some(0);
                host.process = Some(process);
                host.core_pattern = Some(pattern);
            })
        };
        assert_eq!(limited("core").statuses(&CHECK), [Pass]);
        assert_eq!(limited("|/usr/lib/systemd/systemd-coredump").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn not_asked_for_passes_unless_a_core_lies_there() {
        let made = mysql().variable("core_file", "OFF");
        assert_eq!(made.statuses(&CHECK), [Pass]);
        let found = made.file("core.77", Content::CoreDump).judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity, found[0].artefact.as_str()), (Fail, Severity::High, "core.77"));
    }

    #[test]
    fn missing_input_is_unknown() {
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
