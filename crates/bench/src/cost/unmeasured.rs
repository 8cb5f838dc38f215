//! What the report has no figures for, why, and how to measure it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{CheckedServer, Part};
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
pub(super) fn unmeasured(
    wanted: &[Part],
    failed: &[(Part, Error)],
    server: &CheckedServer,
    directory: &Path,
) -> Vec<Unmeasured> {
    let directory = directory.display();
    let failure = |part: Part| failed.iter().find(|(one, _)| *one == part).map(|(_, error)| error.to_string());
    let parts = Part::ALL.into_iter().filter_map(|part| {
        let reason = match obstacle(part, server) {
            Some(obstacle) => obstacle.to_owned(),
            None if !wanted.contains(&part) => "not among --parts".to_owned(),
            None => format!("it failed: {}", failure(part)?),
        };
        let command = match (part, obstacle(part, server)) {
            (Part::Joins, Some(_)) => format!("sealant bench sst DATADIR --into {directory}"),
            _ => format!("sealant cost --dir {directory} --parts {part}"),
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
        command: format!("sealant bench oltp --dir {directory} --arms luks"),
    };
    parts.chain([disk]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_wanted_or_not_possible_is_listed_with_a_command() {
        let server = CheckedServer { program: "/usr/sbin/mysqld".into(), version: "9.7.0".to_owned() };
        let failed = [(Part::Disk, Error::NoFio)];
        let wanted = [Part::Joins, Part::Copies, Part::Disk, Part::Commits];
        let listed = unmeasured(&wanted, &failed, &server, Path::new("/d"));
        let commands: Vec<&str> = listed.iter().map(|one| one.command.as_str()).collect();
        assert_eq!(
            commands,
            [
                "sealant cost --dir /d --parts in-memory",
                "sealant cost --dir /d --parts larger-than-memory",
                "sealant cost --dir /d --parts connections",
                "sealant bench sst DATADIR --into /d",
                "sealant cost --dir /d --parts disk",
                "sealant bench oltp --dir /d --arms luks",
            ]
        );
        assert_eq!(listed[0].reason, "not among --parts");
        assert_eq!(listed[4].reason, "it failed: fio is not installed");
        assert!(listed[3].reason.starts_with("only MariaDB has a Galera cluster"), "{listed:?}");
    }
}
