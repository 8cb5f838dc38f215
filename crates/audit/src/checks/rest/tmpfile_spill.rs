//! `rest-tmpfile-spill`.

use files::quantity::size;
use findings::{Remedy, Severity};
use server::dialect::encryption::{Encrypts, switches};
use server::switch::is_switched_on;

use super::{listed, with_evidence};
use crate::artefact::{Artefact, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_at_start;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{FileFacts, UnlinkedFile};
use crate::facts::host::{DiskLayer, PathOnDisk, Role};
use crate::facts::sql::SqlFacts;
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "rest-tmpfile-spill",
    title: "Temporary files of sorts, joins and table changes hold rows in clear",
    severity: Severity::Medium,
    explanation: "Data that does not fit into memory is written to files in tmpdir that are unlinked at once: no \
        listing shows them, but a stolen disk still holds their blocks. MySQL cannot encrypt them, so they hold rows \
        of encrypted tables in clear. MariaDB can (encrypt_tmp_files, encrypt_tmp_disk_tables), and so can Percona up \
        to 8.0 (encrypt_tmp_files, innodb_encrypt_online_alter_logs). Judged from samples of the server's unlinked \
        files (/proc/PID/fd), from its files in tmpdir, from these switches, and from the disk below.",
    applies: "every running server",
    fix: "tmpdir on an encrypted disk, or on tmpfs with no or encrypted swap; MariaDB: encrypt_tmp_files=ON and \
        encrypt_tmp_disk_tables=ON; Percona: encrypt_tmp_files=ON and innodb_encrypt_online_alter_logs=ON",
    cost: "a restart",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(
        Attacker::StolenDisk,
        "Rows that sorts, joins and schema changes spill into temporary files",
    ),
    closed_by: ClosedBy::EncryptOnMariaDb,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let facts = cx.facts;
    let mut results = CheckResults::new();
    let clear = clear_files(facts);
    let exposed = clear.iter().filter(|file| !covered(facts, file));
    exposed.for_each(|file| results.push(failure(facts, file)));
    named_files(cx).for_each(|file| results.push(named_failure(facts, file)));
    if !results.is_empty() {
        return Ok(results);
    }
    let sql = sql_of_running(facts)?;
    let switches = off_switches(sql);
    if protected(facts) {
        return Ok(CheckResults::one(by_disk(facts)));
    }
    if !switches.is_empty() {
        switches.into_iter().for_each(|name| results.push(switched_off(sql, name)));
    } else if known_switches(sql).next().is_some() {
        results.push(by_switches(facts, sql));
    } else {
        results.push(cannot_encrypt(facts, sql));
    }
    Ok(results)
}

/// Clear files that still have a name: temporary tables in Aria, for example.
fn named_files<'c>(cx: &'c Context<'_>) -> impl Iterator<Item = &'c Artefact<'c>> {
    let clear = |file: &&Artefact<'_>| matches!(file.state(), Some((State::Clear | State::Partly, _)));
    let exposed = |file: &&Artefact<'_>| !file.disk.is_some_and(|layer| safe(cx.facts, layer));
    cx.artefacts.with_kind(Kind::Spill).filter(clear).filter(exposed)
}

fn named_failure(facts: &Facts, file: &Artefact<'_>) -> CheckResult {
    let bytes = file.file.map_or(0, |file| file.size_bytes);
    let text = format!("{} in a temporary directory, {}, is in clear", file.name, size(bytes));
    let result = CheckResult::fail(&file.name, EvidenceGrade::Bytes, text);
    with_evidence(result, file.evidence(facts)).fix(facts.sql.as_ref().map_or_else(|| CHECK.fix.into(), fix))
}

/// Temporary files exist as long as their statement: a stopped server has none.
fn sql_of_running(facts: &Facts) -> Observed<&SqlFacts> {
    facts.sql().map_err(|unseen| Unavailable {
        what: "temporary files of the server".to_owned(),
        why: "they exist only while the server runs, and no server was queried".to_owned(),
        ..unseen
    })
}

fn clear_files(facts: &Facts) -> Vec<&UnlinkedFile> {
    let unlinked = facts.files.iter().flat_map(|files| &files.unlinked);
    unlinked.filter(|file| file.looks_random == Some(false) && file.size_bytes > 0).collect()
}

/// Whether the device of an unlinked file protects it.
fn covered(facts: &Facts, file: &UnlinkedFile) -> bool {
    let paths = facts.host.iter().flat_map(|host| &host.paths);
    paths.filter(|path| path.device == file.device).any(|path| safe(facts, &path.layer))
}

/// Whether a layer protects files. Memory does so only if all swap is encrypted or in memory, too.
fn safe(facts: &Facts, layer: &DiskLayer) -> bool {
    match layer {
        DiskLayer::Encrypted { .. } => true,
        DiskLayer::Memory => facts.host.as_ref().is_some_and(|host| {
            host.swaps_unseen.is_none()
                && host.swaps.iter().all(|swap| matches!(swap.layer, DiskLayer::Encrypted { .. } | DiskLayer::Memory))
        }),
        DiskLayer::Plain | DiskLayer::Unknown { .. } => false,
    }
}

fn failure(facts: &Facts, file: &UnlinkedFile) -> CheckResult {
    let text = format!("{} ({}), {}, is clear text", file.name, file.path, size(file.size_bytes));
    let result = CheckResult::fail(&file.name, EvidenceGrade::Bytes, text).evidence(Evidence::Bytes {
        path: file.path.clone(),
        offset: file.clear_offset.unwrap_or(0),
        hex: String::new(),
        meaning: format!("unlinked file of the server; {} sampled, some not like ciphertext", size(file.sampled_bytes)),
    });
    result.fix(facts.sql.as_ref().map_or_else(|| CHECK.fix.into(), fix))
}

/// The variables that this server has, and whether they are on.
fn known_switches(sql: &SqlFacts) -> impl Iterator<Item = (&'static str, bool)> {
    let known = switches(Encrypts::TemporaryFiles).into_iter();
    known.filter_map(|name| Some((name, is_switched_on(sql.variable_or_none(name)?))))
}

fn off_switches(sql: &SqlFacts) -> Vec<&'static str> {
    known_switches(sql).filter(|(_, on)| !on).map(|(name, _)| name).collect()
}

fn switched_off(sql: &SqlFacts, name: &str) -> CheckResult {
    CheckResult::fail(name, EvidenceGrade::Declared, format!("{name} is OFF: temporary files hold rows in clear"))
        .evidence(sql.variable_evidence(name))
        .evidence(sql.variable_evidence("tmpdir"))
        .fix(set_at_start(sql, name, "ON"))
}

/// Directories of temporary files.
fn temporary(facts: &Facts) -> Vec<&PathOnDisk> {
    let paths = facts.host.iter().flat_map(|host| &host.paths);
    paths.filter(|path| path.role == Role::Temporary).collect()
}

fn protected(facts: &Facts) -> bool {
    let paths = temporary(facts);
    !paths.is_empty() && paths.iter().all(|path| safe(facts, &path.layer))
}

fn by_disk(facts: &Facts) -> CheckResult {
    let paths = temporary(facts);
    let text = format!(
        "temporary files lie on an encrypted disk or in memory: {}",
        listed(paths.iter().map(|p| p.path.as_str()))
    );
    let observed =
        |path: &&PathOnDisk| Evidence::Host { source: path.path.clone(), observation: format!("{:?}", path.layer) };
    paths.iter().map(observed).fold(CheckResult::pass("server", EvidenceGrade::Bytes, text), CheckResult::evidence)
}

fn by_switches(facts: &Facts, sql: &SqlFacts) -> CheckResult {
    let sampled = match &facts.files {
        Some(FileFacts { unlinked_unseen: None, unlinked, .. }) => {
            format!("{} unlinked files sampled, none clear", unlinked.len())
        }
        _ => "unlinked files were not examined".to_owned(),
    };
    let names: Vec<&str> = known_switches(sql).map(|(name, _)| name).collect();
    let text = format!("ON: {}; {sampled}", names.join(", "));
    let evidence = names.iter().map(|name| sql.variable_evidence(name));
    evidence.fold(CheckResult::pass("server", EvidenceGrade::Declared, text), CheckResult::evidence)
}

/// The result if the server cannot encrypt temporary files and none is clear at present: the disk decides.
fn cannot_encrypt(facts: &Facts, sql: &SqlFacts) -> CheckResult {
    let plain: Vec<&PathOnDisk> = temporary(facts).into_iter().filter(|path| path.layer == DiskLayer::Plain).collect();
    if let Some(first) = plain.first() {
        let text =
            format!("{} cannot encrypt temporary files, and {} lies on a plain disk", sql.identity.version, first.path);
        return CheckResult::fail(&first.path, EvidenceGrade::Declared, text)
            .evidence(Evidence::Host {
                source: first.path.clone(),
                observation: format!("no encryption below ({})", first.chain.join(" on ")),
            })
            .evidence(sql.variable_evidence("tmpdir"))
            .fix(fix(sql));
    }
    let seen = facts.files.as_ref().map(|files| files.unlinked_unseen.as_deref());
    let why = match seen {
        Some(None) => {
            "no temporary file held clear text at this moment, but this server cannot encrypt them".to_owned()
        }
        Some(Some(why)) => format!("the server's unlinked files could not be read: {why}"),
        None => "this server cannot encrypt them, and its unlinked files and the disk below tmpdir were not examined"
            .to_owned(),
    };
    CheckResult::unknown(
        "tmpdir",
        Unavailable {
            what: "temporary files".to_owned(),
            why,
            remedy:
                "run on the server's host as root or as the server's user, and attest the disk below tmpdir in a waiver"
                    .to_owned(),
        },
    )
}

fn fix(sql: &SqlFacts) -> Remedy {
    let off = off_switches(sql);
    if let Some(name) = off.first() {
        return set_at_start(sql, name, "ON");
    }
    if known_switches(sql).next().is_some() {
        return "find out which kind of file it is: online ALTER TABLE follows innodb_encrypt_log".into();
    }
    let line = set_at_start(sql, "tmpdir", "DIRECTORY");
    line.note("DIRECTORY: on an encrypted disk, or on tmpfs without clear swap")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql, tablespace};

    fn with_spill(mut made: FactsBuilder, looks_random: Option<bool>) -> FactsBuilder {
        made = made.file("demo/t.ibd", tablespace("plain", 0, 1));
        made.0.files.as_mut().unwrap().unlinked.push(UnlinkedFile {
            path: "/proc/7/fd/44".to_owned(),
            name: "/tmp/MYfd=44".to_owned(),
            size_bytes: 20 << 20,
            looks_random,
            clear_offset: Some(4096),
            sampled_bytes: 65536,
            device: "8:1".to_owned(),
        });
        made
    }

    #[test]
    fn trap_6_a_clear_spill_fails() {
        let found = with_spill(mysql(), Some(false)).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Bytes)));
        assert!(found[0].remediation.as_ref().unwrap().contains("tmpdir"));
    }

    #[test]
    fn a_temporary_table_with_a_name_counts_too() {
        let clear = |made: FactsBuilder| {
            let content = Content::Unknown { looks_random: Some(false) };
            made.file("#sql-temptable-7-5-0.MAD", content).last_file(|file| file.role = Role::Temporary)
        };
        let found = clear(mariadb().variable("encrypt_tmp_files", "ON")).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Bytes)));
        assert_eq!(found[0].artefact, "#sql-temptable-7-5-0.MAD");
    }

    #[test]
    fn a_clear_spill_on_an_encrypted_disk_passes() {
        let layer = DiskLayer::Encrypted { by: "dm-crypt".to_owned() };
        assert_eq!(with_spill(mysql(), Some(false)).path("/tmp", Role::Temporary, layer).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn tmpfs_is_as_safe_as_its_swap() {
        let made = || with_spill(mysql(), Some(false)).path("/tmp", Role::Temporary, DiskLayer::Memory);
        assert_eq!(made().statuses(&CHECK), [Pass]);
        let swap = crate::facts::host::Swap { name: "/dev/sda2".to_owned(), layer: DiskLayer::Plain };
        assert_eq!(made().host(|host| host.swaps.push(swap)).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn without_proc_or_spill_mysql_is_unknown_and_on_a_plain_disk_fails() {
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(with_spill(mysql(), Some(true)).statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().path("/tmp", Role::Temporary, DiskLayer::Plain).statuses(&CHECK), [Fail]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn percona_has_other_switches() {
        let made = |files: &str, changes: &str| {
            let percona = FactsBuilder::server("8.0.27-18", "Percona Server (GPL), Release 18, Revision 24801e21b45");
            percona.variable("encrypt_tmp_files", files).variable("innodb_encrypt_online_alter_logs", changes)
        };
        assert_eq!(made("ON", "ON").statuses(&CHECK), [Pass]);
        assert_eq!(made("OFF", "OFF").statuses(&CHECK), [Fail, Fail]);
        let found = made("ON", "OFF").judge(&CHECK);
        assert_eq!(found[0].artefact, "innodb_encrypt_online_alter_logs");
        assert!(!found[0].message.contains("cannot encrypt"), "{}", found[0].message);
    }

    #[test]
    fn mariadb_has_switches() {
        let made = |files: &str, tables: &str| {
            mariadb().variable("encrypt_tmp_files", files).variable("encrypt_tmp_disk_tables", tables)
        };
        assert_eq!(made("ON", "ON").statuses(&CHECK), [Pass]);
        assert_eq!(made("OFF", "OFF").statuses(&CHECK), [Fail, Fail]);
        assert_eq!(made("ON", "OFF").judge(&CHECK)[0].artefact, "encrypt_tmp_disk_tables");
    }
}
