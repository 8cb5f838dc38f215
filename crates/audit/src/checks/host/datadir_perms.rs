//! `host-datadir-perms`.

use std::collections::BTreeSet;
use std::path::Path;

use findings::{Remedy, Severity};
use process::shell_word;

use super::observed;
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, DirectoryFact, FileFact, FileFacts};
use crate::facts::host::Role;
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "host-datadir-perms",
    title: "Data, log or backup files can be read by every user of the host",
    severity: Severity::High,
    explanation: "Every user of the host can read clear tables, logs and backups whose mode permits others to read. \
        Judged from the mode of each file with data and of its parent directories: a world-readable file below a \
        directory that others cannot enter is only a minor finding. A link has no mode of its own; its target counts. \
        Key files and certificates have checks of their own.",
    applies: "every server",
    fix: "chmod o-rwx, owner mysql",
    cost: "none",
    standards: &["CIS MySQL 3", "CIS MariaDB 3", "PCI DSS 4.0.1 7.2", "NIST SP 800-53r5 AC-3"],
    exposes: Exposes::Help(Attacker::Operator, "Data, log or backup files, to every user of the host"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Maximum number of files reported individually.
const MAX_LISTED: usize = 20;
/// Maximum number of paths in one command.
const PATHS: usize = 200;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    let mut results = CheckResults::new();
    let locations = cx.facts.sql.is_none().then(|| directories_with_data(files));
    let is_servers = |path: &str| locations.as_ref().is_none_or(|locations| below_one_of(locations, Path::new(path)));
    let open = files.directories.iter().filter(|directory| is_open(directory) && is_servers(&directory.path));
    open.for_each(|directory| results.push(open_directory(directory)));
    let open = files.files.iter().filter(|file| holds_data(file) && file.mode & 0o006 != 0);
    let open: Vec<&FileFact> = open.filter(|file| is_servers(&file.path)).collect();
    let (named, more) = open.split_at(open.len().min(MAX_LISTED));
    named.iter().for_each(|file| results.push(open_file(files, file)));
    if !more.is_empty() {
        results.push(many_more(files, more));
    }
    foreign_files(cx.facts, files)
        .into_iter()
        .take(MAX_LISTED)
        .for_each(|(file, owner)| results.push(foreign(file, owner)));
    for root in files.unseen_roots().filter(|root| root.role != Role::Temporary) {
        let why = root.error.clone().unwrap_or_default();
        results.push_unknown(
            &root.path,
            Unavailable { what: format!("modes below {}", root.path), why, remedy: access::reading(&root.path) },
        );
    }
    if files.data_seen() {
        let data = files.files.iter().filter(|file| holds_data(file)).count();
        let message = format!("none of {data} files with data can be read by every user of the host");
        let roots = files.roots.iter().map(|root| observed(&root.path, "modes of all files and directories below"));
        results.pass_if_clean(
            roots.fold(CheckResult::pass("server", EvidenceGrade::Bytes, message), CheckResult::evidence),
        );
    }
    Ok(results)
}

/// Directories that belong to the server; `/tmp`, `/var/log` and the operator's own are accessible on purpose.
fn is_open(directory: &DirectoryFact) -> bool {
    let current = !matches!(directory.role, Role::Temporary | Role::Log | Role::Backup | Role::Key);
    current && directory.mode & 0o006 != 0
}

/// Directories with files of a server. Without a server to query, a directory behind a link may belong to anyone.
fn directories_with_data(files: &FileFacts) -> BTreeSet<&Path> {
    let of_server = files.files.iter().filter(|file| file.content.is_of_a_server());
    of_server.filter_map(|file| Path::new(&file.path).parent()).collect()
}

fn below_one_of(locations: &BTreeSet<&Path>, path: &Path) -> bool {
    path.ancestors().any(|above| locations.contains(above))
}

/// Files that may contain rows. Links always have the mode 0777 on Linux, which permits nothing.
fn holds_data(file: &FileFact) -> bool {
    let other = matches!(
        file.content,
        Content::Structure
            | Content::KeyStore { .. }
            | Content::ExportKey
            | Content::PrivateKey { .. }
            | Content::AgeIdentity { .. }
            | Content::Certificates { .. }
            | Content::Empty
            | Content::Link { .. }
            | Content::Special
            | Content::Unknown { .. }
    );
    !other && file.size_bytes > 0 && file.role != Role::Temporary
}

fn open_directory(directory: &DirectoryFact) -> CheckResult {
    let writable = directory.mode & 0o002 != 0;
    let can = if writable { "change" } else { "list" };
    let severity = if writable { Severity::High } else { Severity::Medium };
    let path = directory.path.trim_end_matches('/');
    let message = format!("every user of the host can {can} {path} (mode {:04o})", directory.mode & 0o7777);
    CheckResult::fail(path, EvidenceGrade::Bytes, message)
        .severity(severity)
        .evidence(observed(
            path,
            format!("mode {:04o}, uid {}, gid {}", directory.mode & 0o7777, directory.uid, directory.gid),
        ))
        .fix(Remedy::command(format!("chmod o-rwx {}", shell_word(path))))
}

fn open_file(files: &FileFacts, file: &FileFact) -> CheckResult {
    let can = if file.mode & 0o002 != 0 { "write" } else { "read" };
    let message = format!("every user of the host can {can} {} (mode {:04o})", file.path, file.mode & 0o7777);
    let result = CheckResult::fail(&file.name, EvidenceGrade::Bytes, message)
        .evidence(observed(&file.path, format!("mode {:04o}, uid {}, gid {}", file.mode & 0o7777, file.uid, file.gid)))
        .fix(Remedy::command(format!("chmod o-rwx {}", shell_word(&file.path))));
    match closed_above(files, file) {
        Some(directory) => result
            .severity(Severity::Low)
            .evidence(observed(&directory.path, format!("mode {:04o}: others cannot enter", directory.mode & 0o7777))),
        None => result,
    }
}

/// A parent directory that others cannot enter.
fn closed_above<'f>(files: &'f FileFacts, file: &FileFact) -> Option<&'f DirectoryFact> {
    let above = |directory: &&DirectoryFact| Path::new(&file.path).starts_with(&directory.path);
    files.directories.iter().filter(above).find(|directory| directory.mode & 0o001 == 0)
}

/// The command names each file: other files in these directories may need their permissions.
fn many_more(files: &FileFacts, more: &[&FileFact]) -> CheckResult {
    let count = more.len();
    let (named, rest) = more.split_at(count.min(PATHS));
    let paths: Vec<String> = named.iter().map(|file| shell_word(&file.path)).collect();
    let close = Remedy::command(format!("chmod o-rwx {}", paths.join(" ")));
    let fix = if rest.is_empty() {
        close
    } else {
        close.and(format!("then audit again: {} more files are not named here", rest.len()))
    };
    let message = format!("{count} more files are open to every user of the host");
    let seen = named.iter().take(3).map(|file| observed(&file.path, format!("mode {:04o}", file.mode & 0o7777)));
    let result = seen
        .fold(CheckResult::fail(format!("{count} more files"), EvidenceGrade::Bytes, message), CheckResult::evidence)
        .fix(fix);
    let closed = more.iter().all(|file| closed_above(files, file).is_some());
    if closed { result.severity(Severity::Low) } else { result }
}

/// Files with data owned by neither the server's user nor root.
fn foreign_files<'f>(facts: &Facts, files: &'f FileFacts) -> Vec<(&'f FileFact, u32)> {
    let Some(owner) = facts.host.as_ref().and_then(|host| host.process.as_ref()).map(|process| process.uid) else {
        return Vec::new();
    };
    let server = |file: &&FileFact| !matches!(file.role, Role::Backup | Role::Log | Role::Temporary | Role::Key);
    let foreign =
        files.files.iter().filter(|file| holds_data(file) && server(file) && file.uid != owner && file.uid != 0);
    foreign.map(|file| (file, owner)).collect()
}

fn foreign(file: &FileFact, owner: u32) -> CheckResult {
    let message = format!("{} belongs to uid {}, not to the server's user (uid {owner})", file.path, file.uid);
    CheckResult::fail(&file.name, EvidenceGrade::Bytes, message)
        .severity(Severity::Medium)
        .evidence(observed(&file.path, format!("mode {:04o}, uid {}", file.mode & 0o7777, file.uid)))
        .fix(Remedy::command(format!("chown {owner} {}", shell_word(&file.path))))
}

#[cfg(test)]
mod tests {
    use super::super::tests::process;
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, binary_log, tablespace};

    fn directory(mode: u32) -> DirectoryFact {
        DirectoryFact { path: "/var/lib/mysql".to_owned(), role: Role::Data, mode, uid: 999, gid: 999 }
    }

    fn with_directory(made: FactsBuilder, mode: u32) -> FactsBuilder {
        let mut made = made;
        made.0.files.as_mut().unwrap().directories.push(directory(mode));
        made
    }

    fn open() -> FactsBuilder {
        FactsBuilder::nothing().file("demo/t.ibd", tablespace("plain", 0, 4)).last_file(|file| file.mode = 0o644)
    }

    #[test]
    fn open_files_fail_and_weigh_less_behind_a_closed_directory() {
        let found = open().judge(&CHECK);
        assert_eq!(
            (found[0].status, found[0].severity, found[0].artefact.as_str()),
            (Fail, Severity::High, "demo/t.ibd")
        );
        assert_eq!(with_directory(open(), 0o750).judge(&CHECK)[0].severity, Severity::Low);
    }

    #[test]
    fn open_directories_fail() {
        let closed = || FactsBuilder::nothing().file("binlog.000001", binary_log(true));
        assert_eq!(with_directory(closed(), 0o755).judge(&CHECK)[0].severity, Severity::Medium);
        assert_eq!(with_directory(closed(), 0o777).judge(&CHECK)[0].severity, Severity::High);
        assert_eq!(with_directory(closed(), 0o751).statuses(&CHECK), [Pass]);
        assert_eq!(with_directory(closed(), 0o750).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn public_files_do_not_count() {
        let certificates = Content::Certificates { certificates: Vec::new() };
        let made = FactsBuilder::nothing().file("ca.pem", certificates).last_file(|file| file.mode = 0o644);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn files_of_another_user_fail() {
        let made =
            FactsBuilder::nothing().file("demo/t.ibd", tablespace("plain", 0, 4)).last_file(|file| file.uid = 1000);
        assert_eq!(made.statuses(&CHECK), [Pass]);
        assert_eq!(made.host(|host| host.process = Some(process())).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn modes_of_links_are_ignored() {
        let link = Content::Link { target: "/elsewhere/t.ibd".to_owned() };
        let made = FactsBuilder::nothing().file("demo/t.ibd", link).last_file(|file| file.mode = 0o777);
        assert_eq!(made.file("demo/u.ibd", tablespace("plain", 0, 4)).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn many_open_files_are_closed_by_name() {
        let mut made = FactsBuilder::nothing();
        for i in 0..230 {
            made = made.file(&format!("demo/t{i}.ibd"), tablespace("plain", 0, 4)).last_file(|file| file.mode = 0o644);
        }
        let found = made.judge(&CHECK);
        let more = found.iter().find(|finding| finding.artefact == "210 more files").unwrap();
        let fix = more.remediation.as_deref().unwrap();
        assert!(fix.starts_with("chmod o-rwx /var/lib/mysql/demo/t"), "{fix}");
        assert_eq!(fix.matches("/var/lib/mysql/demo/t").count(), 200);
        assert!(fix.ends_with("; then audit again: 10 more files are not named here"), "{fix}");
    }

    #[test]
    fn a_directory_that_leads_to_data_is_not_closed() {
        let outer = DirectoryFact { path: "/var".to_owned(), ..directory(0o755) };
        let mut made = FactsBuilder::nothing().file("ibdata1", tablespace("plain", 0, 4));
        made.0.files.as_mut().unwrap().directories.push(outer);
        assert_eq!(made.statuses(&CHECK), [Pass]);
        assert_eq!(with_directory(made, 0o755).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn nothing_read_is_unknown() {
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
