//! What the report has no figures for, why, and how to measure it.

use process::shell_word;
use serde::{Deserialize, Serialize};

use super::{CheckedServer, CostSuite, Part};
use crate::{Error, disk::device_mapper, suite::joins};

/// A layer without figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmeasured {
    /// What is encrypted.
    pub layer: String,
    /// Why it was not measured.
    pub reason: String,
    /// A command that measures it.
    pub command: String,
}

/// Why a part cannot be measured with this server; `None` if it can.
pub(super) fn obstacle(part: Part, server: &CheckedServer) -> Option<&'static str> {
    (part == Part::Joins).then(|| joins::obstacle(&server.program, &server.version)).flatten()
}

/// What is not measured if these parts are wanted.
pub(super) fn unmeasured(suite: &CostSuite<'_>, failed: &[(Part, Error)], server: &CheckedServer) -> Vec<Unmeasured> {
    let directory = shell_word(&suite.directory.display().to_string());
    let program = shell_word(&server.program.display().to_string());
    let common = format!("--dir {directory} --mysqld {program}");
    let like = suite.like.map(|like| match like.endpoint.strip_prefix('/') {
        Some(_) => format!(" --socket {}", shell_word(&like.endpoint)),
        None => format!(" {}", shell_word(&format!("mysql://{}", like.endpoint))),
    });
    let data = format!("--rows {}{}", suite.rows, like.unwrap_or_default());
    let failure = |part: Part| failed.iter().find(|(one, _)| *one == part).map(|(_, error)| error.to_string());
    let parts = Part::ALL.into_iter().filter_map(|part| {
        let reason = match obstacle(part, server) {
            Some(obstacle) => obstacle.to_owned(),
            None if !suite.parts.contains(&part) => "not among --parts".to_owned(),
            None => format!("it failed: {}", failure(part)?),
        };
        let command = match (part, obstacle(part, server)) {
            (Part::Joins, Some(_)) => format!("sealant bench sst DATADIR --into {directory}"),
            _ => format!("sealant cost {common} {data} --parts {part}"),
        };
        Some(Unmeasured { layer: part.title().to_owned(), reason, command })
    });
    let disk = match device_mapper() {
        true => "it needs root and a loop device, so that it is not part of this measurement",
        false => "this kernel has no device-mapper with dm-crypt",
    };
    let disk = Unmeasured {
        layer: "Transactions on an encrypted disk (LUKS)".to_owned(),
        reason: disk.to_owned(),
        command: format!("sealant bench oltp {common} --arms luks"),
    };
    parts.chain([disk]).collect()
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc, time::Duration};

    use super::*;
    use crate::cost::DataShape;

    #[test]
    fn what_is_not_wanted_or_not_possible_is_listed_with_a_command() {
        let server = CheckedServer { program: "/usr/sbin/mysqld".into(), version: "9.7.0".to_owned() };
        let failed = [(Part::Disk, Error::NoFio)];
        let parts = [Part::Joins, Part::Copies, Part::Disk, Part::Commits];
        let like = DataShape { endpoint: "/run/my sql.sock".to_owned(), ..DataShape::default() };
        let suite = CostSuite {
            program: "/usr/bin/sealant".into(),
            sst_program: "sealant",
            server: None,
            families: &[],
            directory: Path::new("/d"),
            parts: &parts,
            rows: 5000,
            like: Some(&like),
            time: Duration::from_secs(900),
            stopped: &Arc::default(),
        };
        let listed = unmeasured(&suite, &failed, &server);
        let commands: Vec<&str> = listed.iter().map(|one| one.command.as_str()).collect();
        let cost = "sealant cost --dir /d --mysqld /usr/sbin/mysqld --rows 5000 --socket '/run/my sql.sock'";
        assert_eq!(
            commands,
            [
                format!("{cost} --parts in-memory").as_str(),
                &format!("{cost} --parts larger-than-memory"),
                &format!("{cost} --parts connections"),
                "sealant bench sst DATADIR --into /d",
                &format!("{cost} --parts disk"),
                "sealant bench oltp --dir /d --mysqld /usr/sbin/mysqld --arms luks",
            ]
        );
        assert_eq!(listed[0].reason, "not among --parts");
        assert_eq!(listed[4].reason, "it failed: fio is not installed");
        assert!(listed[3].reason.starts_with("only MariaDB has a Galera cluster"), "{listed:?}");
    }
}
