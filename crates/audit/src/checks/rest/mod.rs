//! Data at rest: InnoDB and the server's other files.

use findings::{Remedy, Severity};
use server::dialect::catalog::is_system_schema;
use server::dialect::variable;
use server::switch::is_switched_on;
use server::{
    Grants,
    dialect::encryption::{Encrypts, switches},
};

use crate::access;
use crate::artefact::{Artefact, DeclaredEncryption, State};
use crate::check::{CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::facts::files::{FileFact, FileFacts};
use crate::facts::host::DiskLayer;
use crate::facts::sql::{Row, SqlFacts};
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

checks! {
    CHECKS:
    table_plaintext,
    page_plaintext,
    page_damaged,
    general_plaintext,
    mysql_ibd_plaintext,
    ibdata1_exposed,
    undo_plaintext,
    redo_plaintext,
    doublewrite_plaintext,
    temp_plaintext,
    tmpfile_spill,
    binlog_plaintext,
    relaylog_plaintext,
    general_log_on,
    log_plaintext,
    log_table_csv,
    engine_cannot_encrypt,
    aria_plaintext,
    aria_log_plaintext,
    stats_leak,
    fts_plaintext,
    default_off,
    schema_default_no,
    optout_allowed,
    encryption_threads_zero,
    orphan_file,
    export_key_file,
    external_path,
    sensitive_persisted,
    repl_credential_clear,
    galera_gcache_plaintext,
}

/// Maximum number of artefacts with the same result that are reported individually.
const MAX_LISTED: usize = 20;

/// How to judge artefacts of one kind.
pub(super) struct ArtefactPolicy<'t> {
    /// Their name, in the plural.
    pub(super) noun: &'t str,
    /// Severity of a failure, if other than the check's.
    pub(super) severity: &'t dyn Fn(&Artefact<'_>) -> Option<Severity>,
    /// Command of the remedy.
    pub(super) fix: &'t dyn Fn(&Artefact<'_>) -> Remedy,
}

/// Judges artefacts by their state: clear or partly clear fails; an encrypted disk alone passes with a note. The
/// verdict is empty if there are none.
pub(super) fn judge_all<'c>(
    cx: &Context<'_>,
    artefacts: impl Iterator<Item = &'c Artefact<'c>>,
    terms: &ArtefactPolicy<'_>,
) -> CheckResults {
    let mut passed = Passed::default();
    let mut results = CheckResults::new();
    for artefact in artefacts {
        match artefact.state() {
            None => passed.unread.push(artefact),
            Some((state @ (State::Clear | State::Partly), grade)) => match artefact.disk_encryption() {
                Some(_) => passed.disk.push(artefact),
                None => results.push(clear(cx, artefact, state, grade, terms)),
            },
            Some((state, grade)) => passed.good(artefact, state, grade),
        }
    }
    passed.finish(cx, results, terms.noun)
}

fn clear(
    cx: &Context<'_>,
    artefact: &Artefact<'_>,
    state: State,
    grade: EvidenceGrade,
    terms: &ArtefactPolicy<'_>,
) -> CheckResult {
    let is_declared = artefact.declared_encryption().is_some_and(|declared| declared != DeclaredEncryption::None);
    let how = match state {
        State::Partly => "is partly in clear",
        _ if is_declared || artefact.contradicted() => "is reported as encrypted and is not",
        _ => "is not encrypted",
    };
    let result =
        CheckResult::fail(&artefact.name, grade, format!("{} {how}", artefact.name)).fix((terms.fix)(artefact));
    let result = match (terms.severity)(artefact) {
        Some(severity) => result.severity(severity),
        None => result,
    };
    with_evidence(result, artefact.evidence(cx.facts))
}

/// Artefacts that did not fail.
#[derive(Default)]
struct Passed<'c> {
    encrypted: u64,
    empty: u64,
    pages: u64,
    pages_read: u64,
    grade: Option<EvidenceGrade>,
    example: Option<&'c Artefact<'c>>,
    disk: Vec<&'c Artefact<'c>>,
    unread: Vec<&'c Artefact<'c>>,
}

impl<'c> Passed<'c> {
    fn good(&mut self, artefact: &'c Artefact<'c>, state: State, grade: EvidenceGrade) {
        if state == State::Empty {
            self.empty += 1;
        } else {
            self.encrypted += 1;
        }
        if let Some((read, all)) = artefact.extent() {
            self.pages += all;
            self.pages_read += read.min(all);
        }
        // The grade is that of the weakest evidence.
        self.grade = Some(self.grade.map_or(grade, |known| known.min(grade)));
        self.example = self.example.or(Some(artefact));
    }

    fn finish(self, cx: &Context<'_>, mut results: CheckResults, noun: &str) -> CheckResults {
        for result in unread(&self.unread) {
            results.push(result);
        }
        if let Some(result) = covered_by_disk(cx, &self.disk) {
            results.push(result);
        }
        // If all other files are empty, the result for the encrypted disk suffices.
        let reported = self.disk.is_empty() || self.encrypted > 0;
        if let (Some(grade), Some(example), true) = (self.grade, self.example, reported) {
            let result = CheckResult::pass("server", grade, self.summary(noun));
            results.pass_if_clean(with_evidence(result, example.evidence(cx.facts)));
        }
        results
    }

    fn summary(&self, noun: &str) -> String {
        let pages = match (self.pages_read, self.pages) {
            (_, 0) => String::new(),
            (read, all) if read == all => format!("; all {all} pages or blocks were read"),
            (read, all) => format!("; a sample of {read} of {all} pages or blocks was read, --deep reads all"),
        };
        let empty = if self.empty > 0 { format!(", {} empty", self.empty) } else { String::new() };
        format!("{noun}: {} encrypted{empty}, none in clear{pages}", self.encrypted)
    }
}

/// Clear artefacts on an encrypted disk do not fail, but the disk does not protect against everything.
pub(super) fn covered_by_disk(cx: &Context<'_>, artefacts: &[&Artefact<'_>]) -> Option<CheckResult> {
    let first = artefacts.first()?;
    let grade = artefacts.iter().filter_map(|a| a.state()).map(|(_, grade)| grade).min()?;
    let layer = first.disk_encryption().unwrap_or("an encrypted disk");
    let names = listed(artefacts.iter().map(|artefact| artefact.name.as_str()));
    let summary = format!("clear, {}: {names}", disk_only(layer));
    let artefact = if artefacts.len() == 1 { first.name.as_str() } else { "server" };
    Some(with_evidence(CheckResult::pass(artefact, grade, summary).severity(Severity::Info), first.evidence(cx.facts)))
}

/// Description of clear text that only an encrypted disk protects.
fn disk_only(layer: &str) -> String {
    format!("covered by the disk only ({layer}), see PCI DSS 3.5.1.2")
}

/// The encrypting layer of the disk below a file.
fn disk_layer<'f>(facts: &'f Facts, file: &FileFact) -> Option<&'f str> {
    match facts.host.as_ref()?.layer_of(&file.path)? {
        DiskLayer::Encrypted { by } => Some(by),
        _ => None,
    }
}

/// A clear file on an encrypted disk does not fail; elsewhere it gets `otherwise`.
fn clear_file(facts: &Facts, file: &FileFact, otherwise: impl FnOnce() -> CheckResult) -> CheckResult {
    match disk_layer(facts, file) {
        Some(layer) => CheckResult::pass(&file.name, EvidenceGrade::Bytes, format!("clear, {}", disk_only(layer)))
            .severity(Severity::Info),
        None => otherwise(),
    }
}

/// An UNKNOWN for each artefact without a state; a common one for many.
pub(super) fn unread(artefacts: &[&Artefact<'_>]) -> Vec<CheckResult> {
    let (named, more) = artefacts.split_at(artefacts.len().min(MAX_LISTED));
    let mut results: Vec<CheckResult> =
        named.iter().map(|artefact| CheckResult::unknown(&artefact.name, unread_one(artefact))).collect();
    if !more.is_empty() {
        let unseen = Unavailable {
            what: format!("{} more files", more.len()),
            why: "their bytes could not be read, and the server does not report their state".to_owned(),
            remedy: access::reading("the data directory, or grant PROCESS to the audit account"),
        };
        results.push(CheckResult::unknown("server", unseen));
    }
    results
}

/// Why an artefact has no state.
fn unread_one(artefact: &Artefact<'_>) -> Unavailable {
    let unlisted = || "its bytes were not read, and the server does not report its state".to_owned();
    let remedy = match artefact.file {
        Some(file) => access::reading(&file.path),
        None => access::reading("its file, or grant PROCESS to the audit account"),
    };
    Unavailable { what: artefact.name.clone(), why: artefact.why_unknown().unwrap_or_else(unlisted), remedy }
}

/// The names, truncated if there are many.
pub(super) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let (shown, more) = names.split_at(names.len().min(MAX_LISTED));
    let rest = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    format!("{}{rest}", shown.join(", "))
}

pub(super) fn with_evidence(result: CheckResult, evidence: Vec<Evidence>) -> CheckResult {
    evidence.into_iter().fold(result, CheckResult::evidence)
}

/// The verdict. If no artefact of the kind was found: not applicable if it would have been found, otherwise unknown.
///
/// # Errors
/// [`Unavailable`] if neither the server nor its files are available.
pub(super) fn or_none_of_it(cx: &Context<'_>, results: CheckResults, noun: &str) -> Observed<CheckResults> {
    if !results.is_empty() {
        return Ok(results);
    }
    let listed = cx.facts.sql().and_then(SqlFacts::tablespaces);
    if listed.is_ok() || all_seen(cx) {
        return Ok(CheckResults::not_applicable(format!("this server has no {noun}")));
    }
    if let (Err(_), Some(unseen)) = (&listed, unwalked(cx)) {
        return Err(unseen);
    }
    match (cx.facts.files(), listed) {
        (Err(files), Err(tables)) => {
            Err(Unavailable { remedy: format!("{}; or {}", tables.remedy, files.remedy), ..tables })
        }
        (_, listed) => listed.map(|_| CheckResults::new()),
    }
}

/// Whether the data directory was read.
pub(super) fn data_seen(cx: &Context<'_>) -> bool {
    cx.facts.files.as_ref().is_some_and(FileFacts::data_seen)
}

/// Whether every data directory was read, so that what was not found does not exist.
pub(super) fn all_seen(cx: &Context<'_>) -> bool {
    data_seen(cx) && unwalked(cx).is_none()
}

/// Data directories that could not be read; `None` if all were read, or there are none.
pub(super) fn unwalked(cx: &Context<'_>) -> Option<Unavailable> {
    let files = cx.facts.files.as_ref()?;
    let roots: Vec<_> = files.unwalked_data().collect();
    let first = roots.first()?;
    let names = listed(roots.iter().map(|root| root.path.as_str()));
    Some(Unavailable {
        what: format!("files below {names}"),
        why: first.error.clone().unwrap_or_default(),
        remedy: access::reading(&names),
    })
}

/// Replaces a pass for the whole server by UNKNOWN if neither the server listed its tablespaces nor all directories
/// were read: what was found proves nothing about the rest.
pub(super) fn unless_hidden(cx: &Context<'_>, results: CheckResults) -> CheckResults {
    let listed = cx.facts.sql().and_then(SqlFacts::tablespaces).is_ok();
    if listed { results } else { unless_unwalked(cx, results) }
}

/// As above, for artefacts that the server does not list.
pub(super) fn unless_unwalked(cx: &Context<'_>, results: CheckResults) -> CheckResults {
    match unwalked(cx) {
        Some(unseen) if !results.is_empty() => results.or_unknown("server", unseen),
        _ => results,
    }
}

/// Whether MySQL 8.0 or newer wrote the files: it always has a mysql.ibd and undo tablespaces, so a directory without
/// them is only a part.
pub(super) fn written_by_mysql_8(cx: &Context<'_>) -> bool {
    cx.artefacts.iter().any(|artefact| artefact.scan().is_some_and(|scan| scan.page0.server_version.is_some()))
}

/// Why a part of a data directory shows nothing.
pub(super) fn not_listed(what: &str) -> Unavailable {
    Unavailable {
        what: what.to_owned(),
        why: "MySQL 8.0 or newer wrote the files that were read; it also has one that was not among them".to_owned(),
        remedy: format!("point the audit at the whole data directory, or at the directory that holds {what}"),
    }
}

/// Whether the data is MariaDB's, according to the server or the files; `None` if unknown.
pub(super) fn mariadb(cx: &Context<'_>) -> Option<bool> {
    cx.facts.sql.as_ref().map(SqlFacts::is_mariadb).or_else(|| cx.artefacts.written_by_mariadb())
}

/// The remedy for tables of a server without encryption.
fn cannot_encrypt_tables(sql: &SqlFacts) -> Remedy {
    Remedy::advice(format!(
        "{} cannot encrypt tables: upgrade, or move the data directory onto an encrypted disk",
        sql.identity.version
    ))
}

/// Makes MariaDB's threads encrypt existing data. A value that is already on is kept: ON instead of FORCE would permit
/// clear tables.
fn convert_in_background(sql: &SqlFacts) -> Remedy {
    let threads = set_variable(sql, variable::INNODB_ENCRYPTION_THREADS, "4");
    if sql.variable_or_none(variable::MARIADB_TABLESPACES).is_some_and(is_switched_on) {
        return threads;
    }
    set_variable(sql, variable::MARIADB_TABLESPACES, "FORCE").and(threads)
}

/// The first variable for this encryption that the server has, with its value.
pub(super) fn first_variable(sql: &SqlFacts, what: Encrypts) -> Option<(&'static str, &str)> {
    switches(what).into_iter().find_map(|name| Some((name, sql.variable_or_none(name)?)))
}

/// Whether the account sees every table in `information_schema`, which hides tables without privileges; otherwise an
/// empty list proves nothing.
pub(super) fn sees_all_tables(sql: &SqlFacts) -> bool {
    const ANY_OF: [&str; 4] = ["SELECT ON *.*", "INSERT ON *.*", "UPDATE ON *.*", "ALTER ON *.*"];
    ANY_OF.iter().any(|needed| has_grant(sql, needed))
}

/// Whether the account's grants include `needed`, which has the syntax of `GRANT`. Partial revokes are taken into
/// account.
pub(super) fn has_grant(sql: &SqlFacts, needed: &str) -> bool {
    let covers = |rows: Vec<Row<'_>>| Grants::parse(rows.iter().map(|row| row.text("grant"))).cover(needed);
    sql.rows("grants").is_ok_and(covers)
}

/// Why a list with hidden entries proves nothing.
pub(super) fn hidden_tables(sql: &SqlFacts) -> Unavailable {
    Unavailable {
        what: "tables and schemas".to_owned(),
        why: format!("information_schema shows {} only what it has a privilege for", sql.session.account),
        remedy: format!("{}; or let the audit read the data directory", sql.grant("SELECT ON *.*")),
    }
}
