//! The page of `sealant rotate run`.

use std::io::Write;

use change::{
    Outcome,
    rotate::{Backup, RotateReport},
    tls::InstallReport,
};

use super::{Page, Row, Table, steps};
use crate::{
    Error,
    rotate::{new_keys, proof, why_old},
};

const OPENED: &str = "Each file was opened with the keyring as it was on disk.";
const OLD_KEYS: &str = "Old keys are not removed: older backups and binary logs still need them. Replicas have keys of their own \
    and were not rotated.";
const CERTIFICATE: &str = "The certificate was seen in a handshake from this host. Other clients and their authorities were not \
    tested; connections from before keep the older certificate.";

/// Writes the result of a rotation as a page for auditors.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_rotate_html(report: &RotateReport, out: &mut dyn Write) -> Result<(), Error> {
    let mut page = Page::new(title(report), verdict(report), is_proven(report), limits(report));
    page = page.fact(
        "server",
        match &report.server_uuid {
            Some(uuid) => format!("{}, {uuid}", report.server),
            None => report.server.clone(),
        },
    );
    if let Some(before) = &report.proofs.before {
        page = page.fact("before", proof(before));
    }
    if let Some(after) = &report.proofs.after {
        page = page.fact("after", proof(&after.proof));
        for line in new_keys(after) {
            page = page.fact("new key", line);
        }
    }
    for (label, backup) in [("backup", &report.backup), ("backup before", &report.backup_before)]
        .into_iter()
        .filter_map(|(label, backup)| Some((label, backup.as_ref()?)))
    {
        page = page.fact(label, backup_text(backup));
    }
    if let Some(tls) = &report.tls {
        page = page.fact("certificate", certificate(tls));
        for (label, served) in [("served before", &tls.served_before), ("served now", &tls.served_after)] {
            if let Some(sha256) = served {
                page = page.fact(label, format!("SHA-256 {sha256}"));
            }
        }
    }
    let all = report.steps.iter().chain(report.tls.iter().flat_map(|tls| &tls.steps));
    page.table(old_key_files(report)).table(kept_keys(report)).table(steps(all)).write(out)
}

const fn title(report: &RotateReport) -> &'static str {
    match (has_keys(report), report.tls.is_some()) {
        (true, true) => "Rotation of keys and certificate",
        (false, true) => "Rotation of a certificate",
        (_, false) => "Rotation of keys",
    }
}

/// Whether keys were to be rotated, not a certificate alone.
const fn has_keys(report: &RotateReport) -> bool {
    !report.steps.is_empty()
}

/// Whether the part of the run that rotates keys is proven.
fn keys_are_new(report: &RotateReport) -> bool {
    let failed = report.steps.iter().any(|step| matches!(step.outcome, Outcome::Failed { .. }));
    report.proofs.after.is_some() && report.old_key_files.is_empty() && !failed
}

fn is_proven(report: &RotateReport) -> bool {
    report.done && (!has_keys(report) || keys_are_new(report))
}

fn verdict(report: &RotateReport) -> String {
    let keys = has_keys(report).then(|| match keys_are_new(report) {
        true => "the keys that were to be rotated are new, and the keyring opens every encrypted file",
        false => "a file still uses an older key, or a proof of the keys is missing",
    });
    let installed = match &report.tls {
        Some(tls) => Some(tls.done),
        // The certificate was refused before its first step.
        None => (keys_are_new(report) && !report.done).then_some(false),
    };
    let certificate = installed.map(|installed| match installed {
        true => "the server presents the new certificate",
        false => "the certificate was not installed",
    });
    let parts: Vec<&str> = keys.into_iter().chain(certificate).collect();
    format!("{}: {}.", if is_proven(report) { "Proven" } else { "Not complete" }, parts.join("; "))
}

fn limits(report: &RotateReport) -> String {
    let proven = report.proofs.before.is_some() || report.proofs.after.is_some();
    let installed = report.tls.as_ref().is_some_and(|tls| tls.done);
    let limits = [(proven, OPENED), (has_keys(report), OLD_KEYS), (installed, CERTIFICATE)];
    limits.into_iter().filter_map(|(applies, text)| applies.then_some(text)).collect::<Vec<_>>().join(" ")
}

const fn certificate(tls: &InstallReport) -> &'static str {
    match (tls.done, tls.rolled_back) {
        (true, _) => "installed, and served in a handshake",
        (false, true) => "not installed: everything was restored, as a handshake shows",
        (false, false) => "not installed",
    }
}

fn backup_text(backup: &Backup) -> String {
    let recipients = backup.recipients.join(", ");
    format!("{}, {} keys, SHA-256 {}, to {recipients}", backup.file.display(), backup.keys, backup.sha256)
}

fn old_key_files(report: &RotateReport) -> Table {
    let rows = report.old_key_files.iter().map(|old| {
        let cells = vec![old.file.display().to_string(), why_old(old)];
        Row { cells, good: false }
    });
    Table { title: "Not on the new key", note: "", headings: vec!["file", "reason"], rows: rows.collect() }
}

fn kept_keys(report: &RotateReport) -> Table {
    let rows = report.leftovers.iter().map(|kept| {
        let cells = [&kept.artefact, &kept.reason, &kept.remedy].map(Clone::clone).to_vec();
        Row { cells, good: true }
    });
    let (title, note) = ("Keep their key", "This server never replaces these keys.");
    Table { title, note, headings: vec!["what", "why", "remedy"], rows: rows.collect() }
}

#[cfg(test)]
mod tests {
    use change::{
        ClientImpact, StepReport,
        rotate::{Proof, Proofs, RotationProof, SCHEMA},
        tls,
    };

    use super::*;
    use crate::text::collect;

    fn page(report: &RotateReport) -> String {
        collect(|out| write_rotate_html(report, out)).unwrap()
    }

    fn step(what: &str) -> StepReport {
        StepReport {
            step: String::new(),
            what: what.to_owned(),
            blocks: ClientImpact::Nothing,
            bytes: 0,
            statements: Vec::new(),
            outcome: Outcome::Done,
            seconds: 1.0,
        }
    }

    fn installation(done: bool) -> InstallReport {
        InstallReport {
            schema: tls::SCHEMA,
            server: "db1".to_owned(),
            steps: vec![step("reload the certificate")],
            notes: Vec::new(),
            served_before: Some("aa".to_owned()),
            served_after: done.then(|| "bb".to_owned()),
            done,
            rolled_back: !done,
        }
    }

    fn keys() -> RotateReport {
        let after = RotationProof {
            proof: Proof::default(),
            new_key: Some("INNODBKey-2".to_owned()),
            new_binlog_key: None,
            tablespaces_on_new_key: 1,
            redo_on_new_key: 1,
            binary_logs_on_new_key: 0,
            data_keys: None,
            tablespaces_on_key_id: None,
        };
        RotateReport {
            schema: SCHEMA,
            server: "db1".to_owned(),
            server_uuid: None,
            steps: vec![step("rotate the master key")],
            proofs: Proofs { before: Some(Proof::default()), after: Some(after) },
            backup: None,
            backup_before: None,
            removed_keys: Vec::new(),
            compromised: Vec::new(),
            old_key_files: Vec::new(),
            leftovers: Vec::new(),
            tls: None,
            done: true,
        }
    }

    #[test]
    fn a_certificate_alone_proves_nothing_of_keys() {
        let installed = page(&RotateReport::of_certificate(installation(true)));
        assert!(installed.contains("Proven: the server presents the new certificate."), "{installed}");
        assert!(installed.contains("SHA-256 bb") && installed.contains("reload the certificate"), "{installed}");
        for of_keys in ["keyring", OPENED, OLD_KEYS, "Rotation of keys"] {
            assert!(!installed.contains(of_keys), "{of_keys}: {installed}");
        }
        let refused = page(&RotateReport::of_certificate(installation(false)));
        assert!(refused.contains("Not complete: the certificate was not installed."), "{refused}");
        assert!(refused.contains("everything was restored") && !refused.contains(CERTIFICATE), "{refused}");
    }

    #[test]
    fn new_keys_without_the_certificate_are_not_complete() {
        let alone = page(&keys());
        assert!(
            alone.contains("Proven: the keys that were to be rotated are new") && alone.contains(OPENED),
            "{alone}"
        );
        assert!(!alone.contains("certificate"), "{alone}");
        let both = page(&RotateReport { tls: Some(installation(true)), ..keys() });
        assert!(both.contains("every encrypted file; the server presents the new certificate."), "{both}");
        for tls in [Some(installation(false)), None] {
            let open = page(&RotateReport { tls, done: false, ..keys() });
            assert!(open.contains("Not complete: the keys that were to be rotated are new"), "{open}");
            assert!(open.contains("every encrypted file; the certificate was not installed."), "{open}");
        }
        let proofs = Proofs::default();
        let failed = page(&RotateReport { proofs, done: false, ..keys() });
        assert!(failed.contains("Not complete: a file still uses an older key, or a proof of the keys is missing."));
        assert!(!failed.contains(OPENED) && !failed.contains("certificate"), "{failed}");
    }

    #[test]
    fn columns_of_the_table_do_not_depend_on_the_names_of_tables() {
        let mut report = keys();
        report.steps[0].step = "rotate-master-key".to_owned();
        report.steps.push(StepReport { step: "table a.rather_long_name".to_owned(), ..step("copy it") });
        let text = collect(|out| crate::write_rotate_run(&report, out)).unwrap();
        for line in [
            "  rotate-master-key  done         1.00 s  rotate the master key\n",
            "  table              done         1.00 s  copy it\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
