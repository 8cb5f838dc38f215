//! Logs and temporary data are not less encrypted at the target than at the source.

use server::dialect::{
    encryption::{Encrypts, switches},
    variable,
};

use super::prelude::*;
use crate::catalog::Encrypt;

pub(super) const CHECK: Check = Check {
    id: "encryption.logs",
    area: Area::Encryption,
    title: "redo log, undo and temporary data are encrypted as at the source",
    judge: Judge::Servers(judge),
};

/// What this check judges. Binary logs and tables have checks of their own.
const JUDGED: [(Encrypts, &str); 5] = [
    (Encrypts::Tablespaces, "the system tablespace, with undo,"),
    (Encrypts::Redo, "the redo log"),
    (Encrypts::Undo, "the undo log"),
    (Encrypts::TemporaryTablespaces, "temporary tables"),
    (Encrypts::TemporaryFiles, "temporary files"),
];

fn judge(facts: &Facts) -> Vec<Finding> {
    if facts.request.encrypt == Encrypt::Storage {
        // They are on the storage, too, which has a check of its own.
        return Vec::new();
    }
    weaker(&facts.source, &facts.target)
}

/// What the target does not encrypt although the source does.
pub(super) fn weaker(source: &ServerFacts, target: &ServerFacts) -> Vec<Finding> {
    JUDGED.iter().filter_map(|(what, name)| of_artefact(source, target, *what, name)).collect()
}

fn of_artefact(source: &ServerFacts, target: &ServerFacts, what: Encrypts, name: &str) -> Option<Finding> {
    let on = |server: &ServerFacts, what| switches(what).into_iter().find(|switch| server.is_on(switch));
    let at_source = on(source, what)?;
    // MariaDB's switch for tablespaces includes undo; MySQL has one for undo alone.
    let to_mysql = target.identity.version.flavor.is_mysql_like();
    let at_target = match what {
        Encrypts::Tablespaces if to_mysql => Encrypts::Undo,
        Encrypts::Undo if !to_mysql => Encrypts::Tablespaces,
        what => what,
    };
    if let Some(switch) = on(target, at_target) {
        return without_threads(target, switch, name);
    }
    let switch = switches(at_target).into_iter().find(|switch| target.variables.contains_key(*switch));
    let evidence = format!("{name} is not encrypted, and it is at the source ({at_source})");
    let finding = Finding::block(Side::Target, evidence);
    Some(match switch {
        Some(switch) => finding.set(target, switch, "ON"),
        None => finding,
    })
}

/// MariaDB's switch for tablespaces encrypts the system tablespace and undo by background threads: without any, they stay in
/// clear.
fn without_threads(target: &ServerFacts, switch: &str, name: &str) -> Option<Finding> {
    let threads = variable::INNODB_ENCRYPTION_THREADS;
    let stays_clear = switch == variable::MARIADB_TABLESPACES && target.number(threads) == Some(0);
    let evidence = || format!("{name} is not encrypted while {threads} is 0, and it is at the source");
    stays_clear.then(|| Finding::block(Side::Target, evidence()).set(target, threads, "4"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn a_target_that_encrypts_less_is_refused() {
        let facts = with(Side::Target, "innodb_redo_log_encrypt", "OFF");
        finds(&CHECK, &facts, Effect::Block, "the redo log is not encrypted");
        assert_eq!(found(&CHECK, &with(Side::Source, "innodb_redo_log_encrypt", "OFF")), []);
    }

    #[test]
    fn undo_of_mariadb_is_encrypted_with_its_tablespaces() {
        let mut facts = with(Side::Source, "innodb_redo_log_encrypt", "OFF");
        facts.target.identity.version.flavor = server::Flavor::MariaDb;
        facts.target.variables = [("innodb_encrypt_tables".to_owned(), "OFF".to_owned())].into();
        finds(&CHECK, &facts, Effect::Block, "the undo log is not encrypted");
        facts.target.variables = [("innodb_encrypt_tables".to_owned(), "ON".to_owned())].into();
        assert_eq!(found(&CHECK, &facts), []);
        facts.target.variables.insert(variable::INNODB_ENCRYPTION_THREADS.to_owned(), "0".to_owned());
        finds(&CHECK, &facts, Effect::Block, "innodb_encryption_threads is 0");
    }
}
