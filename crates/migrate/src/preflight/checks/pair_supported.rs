//! This release can migrate between these two servers.

use super::prelude::*;
use crate::preflight::{Support, pairs::SUPPORTED};

pub(super) const CHECK: Check = Check {
    id: "pair.supported",
    area: Area::Pair,
    title: "this release can migrate between these two servers",
    judge: Judge::Servers(judge),
};

/// What moves the data of any fork.
const WHOLE: &str = "if both data directories can be reached, sealant send --live and sealant receive --rekey, or \
                     sealant backup and sealant restore, move them as they are; upgrade the server there afterwards";

fn judge(facts: &Facts) -> Vec<Finding> {
    let pair = format!("{} to {}", facts.source.identity.version, facts.target.identity.version);
    match facts.support() {
        Support::Yes => Vec::new(),
        Support::Older => {
            vec![Finding::block(pair, "an older series may not have what the tables use: not yet supported")]
        }
        Support::NotYet => {
            let evidence = format!("not yet supported: this version migrates from {SUPPORTED}");
            let finding = Finding::block(pair, evidence);
            let [source, target] = facts.servers().map(|server| server.identity.version.flavor);
            vec![if source == target { finding.advice(WHOLE) } else { finding }]
        }
    }
}

#[cfg(test)]
mod tests {
    use server::{ServerVersion, VersionHints};

    use super::*;
    use crate::preflight::testing::{facts, finds, found};

    fn pair(source: &str, target: &str, comment: &str) -> Facts {
        let mut facts = facts();
        let version = |text| ServerVersion::parse(text, VersionHints { comment, ..VersionHints::default() }).unwrap();
        facts.source.identity.version = version(source);
        facts.target.identity.version = version(target);
        facts
    }

    #[test]
    fn other_pairs_are_named() {
        assert_eq!(found(&CHECK, &pair("8.0.36", "9.7.4", "")), []);
        for (source, target) in [("8.0.33", "11.8.9"), ("9.7.4", "10.11.19")] {
            assert_eq!(found(&CHECK, &pair(source, &format!("{target}-MariaDB"), "")), [], "{source} to {target}");
        }
        let mariadb = pair("5.7.44", "10.11.19-MariaDB", "");
        finds(&CHECK, &mariadb, Effect::Block, "MySQL 5.7.44 to MariaDB 10.11.19: not yet supported");
        assert_eq!(judge(&mariadb)[0].remedy, None);
        finds(&CHECK, &pair("10.11.19-MariaDB", "8.4.3", ""), Effect::Block, "not yet supported");
        assert_eq!(found(&CHECK, &pair("10.11.19-MariaDB", "9.7.4", "")), []);
        let both = judge(&pair("10.6.9-MariaDB", "10.11.9-MariaDB", ""));
        assert!(format!("{:?}", both[0].remedy).contains("sealant send --live"), "{both:?}");
        for (source, target) in [("10.11.19", "10.11.4"), ("10.11.19", "11.8.9"), ("11.4.2", "11.8.9")] {
            let pair = pair(&format!("{source}-MariaDB"), &format!("{target}-MariaDB"), "");
            assert_eq!(found(&CHECK, &pair), [], "{source} to {target}");
        }
        finds(&CHECK, &pair("11.8.9-MariaDB", "10.11.19-MariaDB", ""), Effect::Block, "older series");
        finds(&CHECK, &pair("11.8.9-MariaDB", "12.1.2-MariaDB", ""), Effect::Block, "not yet supported");
        assert_eq!(found(&CHECK, &pair("5.7.22", "8.0.33", "")), []);
        finds(&CHECK, &pair("5.7.21", "9.7.4", ""), Effect::Block, "not yet");
        finds(&CHECK, &pair("5.7.22", "5.7.44", ""), Effect::Block, "not yet");
        finds(&CHECK, &pair("9.7.4", "8.0.36", ""), Effect::Block, "older series");
        finds(&CHECK, &pair("8.0.36", "8.0.36", "Percona Server (GPL)"), Effect::Block, "not yet");
    }
}
