//! The target's binary log does not contain the rows in plaintext.

use server::{
    Flavor,
    dialect::{
        encryption::{Encrypts, switches},
        variable,
    },
};

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "encryption.binary-log",
    area: Area::Encryption,
    title: "the target's binary log is encrypted",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    clear(&facts.target, facts.request.encrypt.requires_any(&tables.source.tables)).into_iter().collect()
}

/// The finding about a log in clear, if it has secrets.
pub(super) fn clear(target: &ServerFacts, secret: bool) -> Option<Finding> {
    let encrypted = switches(Encrypts::BinaryLogs).into_iter().any(|switch| target.is_on(switch));
    if !secret || encrypted || !target.is_on("log_bin") {
        return None;
    }
    let evidence = "writes every row into a binary log, and a large transaction into a file of its tmpdir, in clear";
    let switch = match target.identity.version.flavor {
        Flavor::MariaDb => variable::MARIADB_BINARY_LOGS,
        Flavor::MySql | Flavor::Percona => variable::MYSQL_BINARY_LOGS,
    };
    Some(Finding::block(Side::Target, evidence).set(target, switch, "ON"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{finds, found, with};

    #[test]
    fn a_clear_log_of_encrypted_tables_is_refused() {
        let mut facts = with(Side::Target, "binlog_encryption", "OFF");
        finds(&CHECK, &facts, Effect::Block, "in clear");
        facts.target.variables.insert("log_bin".to_owned(), "OFF".to_owned());
        assert_eq!(found(&CHECK, &facts), []);
    }
}
