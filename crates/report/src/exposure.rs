//! What a stolen disk shows and what a listener on the network hears, in plain sentences.

use std::collections::BTreeSet;

use audit::coverage::Place;
use audit::finding::{Finding, Severity, Status};

use crate::catalogue::{area, title};
use crate::group::by_check;
use crate::text::{capital, first_names, number, visible};

/// What a failure of a check gives away, in words for people who do not know the server.
struct Sentence {
    id: &'static str,
    /// Whether data can be read because of it, rather than a way to data made easier.
    opens: bool,
    words: &'static str,
}

const fn opens(id: &'static str, words: &'static str) -> Sentence {
    Sentence { id, opens: true, words }
}

const fn helps(id: &'static str, words: &'static str) -> Sentence {
    Sentence { id, opens: false, words }
}

/// Failures that whoever holds the disk, or a copy of it, profits from. A check that is not
/// listed shows by its title.
const DISK: &[Sentence] = &[
    opens("rest-table-plaintext", "The rows of tables, readable with a text viewer"),
    opens("rest-page-plaintext", "Clear pages inside tablespaces that count as encrypted"),
    opens("rest-general-plaintext", "The rows of every table in general tablespaces"),
    opens(
        "rest-mysql-ibd-plaintext",
        "The data dictionary: every name, values kept as histograms, the replication password",
    ),
    opens("rest-ibdata1-exposed", "What the system tablespace holds"),
    opens("rest-undo-plaintext", "Former versions of rows, in undo tablespaces"),
    opens("rest-redo-plaintext", "The latest changes, row by row, in the redo log"),
    opens("rest-doublewrite-plaintext", "Copies of pages of encrypted tables, in the doublewrite files"),
    opens("rest-temp-plaintext", "Rows in temporary tablespaces"),
    opens("rest-tmpfile-spill", "Rows that sorts, joins and schema changes spill into temporary files"),
    opens("rest-binlog-plaintext", "Every change since the oldest binary log"),
    opens("rest-relaylog-plaintext", "Every change received from the source, in relay logs"),
    opens("rest-general-log-on", "Every statement with its values, in the general log"),
    opens("rest-log-plaintext", "Statements and their values, in the server's log files"),
    opens("rest-log-table-csv", "Statements and their values, in log tables"),
    opens("rest-engine-cannot-encrypt", "The rows of tables whose engine cannot encrypt"),
    opens("rest-aria-plaintext", "The rows of Aria tables"),
    opens("rest-aria-log-plaintext", "Rows of Aria tables, in the Aria log"),
    opens("rest-stats-leak", "Real values that the optimizer keeps as statistics"),
    opens("rest-fts-plaintext", "The words of full-text indexes"),
    opens("rest-orphan-file", "Forgotten copies of data"),
    opens("rest-export-key-file", "The key of an exported table, next to the table"),
    opens("rest-repl-credential-clear", "The password of the replication account"),
    opens("rest-galera-gcache-plaintext", "The latest changes of the cluster, in the write-set cache"),
    opens("rest-sensitive-persisted", "Sensitive settings, in the file of persisted variables"),
    opens("bak-set-plaintext", "Dumps and backups"),
    opens("bak-redo-in-clear", "Logs inside backups of encrypted tables"),
    opens("key-in-backup", "Backups that carry the key to themselves"),
    helps("key-same-disk", "The key store lies on the same disk as the data it protects"),
    helps("key-file-clear", "The keys themselves, in a file that is not encrypted"),
    helps("tls-ca-key-on-host", "The private key of the certificate authority: whoever has it can pose as any server"),
    helps("tls-key-perms", "The server's TLS private key, to every user of the host"),
    helps("host-config-secret", "Passwords, in option files, environments or command lines"),
    helps("host-swap-plaintext", "Memory of the server that was swapped out"),
    helps("host-coredump", "Memory of the server, if it crashes and dumps core"),
    helps("host-disk-unencrypted", "Whatever the server does not encrypt itself, because the disk below does not"),
];

/// Failures that whoever listens on the network profits from.
const WIRE: &[Sentence] = &[
    opens("tls-disabled", "Everything: the server offers no encryption at all"),
    opens("tls-live-plaintext", "Statements and rows of sessions that are open in clear right now"),
    opens("auth-cleartext-plugin-no-tls", "Passwords themselves, of accounts that send them as they are"),
    opens("tls-not-required", "Sessions of any client that does not insist on TLS: the server accepts plain text"),
    opens("repl-channel-plaintext", "Every change, as this replica fetches it"),
    opens("repl-dump-live-plaintext", "Every change, as replicas fetch it right now"),
    opens("gr-traffic-plaintext", "Every change, as the replication group agrees on it"),
    opens("galera-traffic-plaintext", "Every change, as the cluster agrees on it"),
    opens("galera-sst-plaintext", "The whole data, whenever a node joins the cluster"),
    opens("tls-rsa-key-fetch", "A password, to who answers in the server's place"),
    helps("tls-user-not-required", "Sessions of accounts that may log in without TLS"),
    helps("tls-version-old", "Sessions of clients that can be talked down to an old version of TLS"),
    helps("tls-cipher-weak", "Recorded sessions, once the key leaks or the cipher falls"),
    helps("tls-cert-weak", "Sessions, to who breaks or forges the certificate"),
    helps("tls-cert-autogenerated", "Sessions, to who poses as the server: clients cannot verify its certificate"),
    helps("tls-cert-identity", "Sessions, to who poses as the server: its certificate does not name it"),
    helps("tls-cert-expiry", "Sessions of clients that learn to ignore an expired certificate"),
    helps(
        "tls-client-config-weak",
        "Sessions of clients on this host whose options switch TLS or its verification off",
    ),
    helps("tls-client-library-risk", "Sessions of drivers that treat TLS as optional"),
    helps("tls-xprotocol", "A second listener, the X Protocol, with its own address and certificates"),
    helps("repl-channel-unverified", "Replication, to who poses as the source"),
    helps("repl-account-no-tls", "Replication by accounts that may log in without TLS"),
    helps("gr-unverified", "Group traffic, to who poses as a member"),
    helps("galera-sst-unauthenticated", "The whole data, to who poses as a joining node"),
    helps("clone-unverified", "The whole data, to who poses as a clone's donor or recipient"),
];

/// How a place looks to an attacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposure {
    /// Something there can be read.
    Open,
    /// Nothing readable was found, and not all was seen.
    Unseen,
    /// All of it was seen, and nothing can be read.
    Closed,
}

/// One thing given away.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leak<'a> {
    /// The check behind it.
    pub(crate) id: &'a str,
    /// How much it matters.
    pub(crate) severity: Severity,
    /// One sentence.
    pub(crate) sentence: String,
}

/// What somebody at `place` gets to see, worst first.
#[must_use]
pub(crate) fn leaks<'a>(findings: impl Iterator<Item = &'a Finding>, place: Place) -> Vec<Leak<'a>> {
    let groups = by_check(findings, Status::Fail);
    let here = groups.iter().filter(|group| concerns(group.id, place));
    here.map(|group| Leak {
        id: group.id,
        severity: group.severity,
        sentence: sentence(group.id, place, &group.findings),
    })
    .collect()
}

/// Names given in one sentence.
const MOST_NAMES: usize = 3;

fn sentence(id: &str, place: Place, findings: &[&Finding]) -> String {
    let known = table(place).iter().find(|row| row.id == id).map(|row| row.words);
    let words = known.or_else(|| findings.first().map(|f| title(f))).unwrap_or(id);
    let words = capital(&visible(words));
    let servers: BTreeSet<&str> = findings.iter().map(|f| f.server.as_str()).collect();
    if servers.len() > 1 {
        return format!("{words}, on {} servers.", number(servers.len()));
    }
    let named = findings.iter().map(|f| f.artefact.as_str()).filter(|name| *name != "server");
    let names = first_names(named, MOST_NAMES);
    if names.is_empty() { format!("{words}.") } else { format!("{words}: {names}.") }
}

const fn table(place: Place) -> &'static [Sentence] {
    match place {
        Place::AtRest => DISK,
        Place::InFlight => WIRE,
    }
}

/// Whether a failure of the check matters to somebody at `place`. Checks that are not listed are
/// told by their area, without those that only concern settings for new objects.
fn concerns(id: &str, place: Place) -> bool {
    let listed = |place| table(place).iter().any(|row| row.id == id);
    if listed(Place::AtRest) || listed(Place::InFlight) {
        return listed(place);
    }
    match place {
        Place::AtRest => matches!(area(id), "rest" | "bak") && !FUTURE.contains(&id),
        Place::InFlight => matches!(area(id), "tls" | "gr" | "galera" | "clone") && !FUTURE.contains(&id),
    }
}

/// Failures that expose nothing today.
const FUTURE: &[&str] = &[
    "rest-default-off",
    "rest-schema-default-no",
    "rest-optout-allowed",
    "rest-encryption-threads-zero",
    "rest-external-path",
    "rest-freed-blocks",
    "rest-page-damaged",
    "bak-unproven",
    "tls-cert-stale",
    "tls-no-13",
    "tls-no-resumption",
    "tls-no-revocation",
    "tls-user-no-x509",
    "tls-admin-channel",
    "tls-chain-untrusted",
    "tls-key-shared",
];

/// How one server looks at one place: what fails there. The map shows where data is clear, also where that is
/// accepted, or where it holds nothing; checks know, it does not.
#[must_use]
pub(crate) fn of<'a>(findings: impl Iterator<Item = &'a Finding> + Clone, place: Place) -> Exposure {
    if opened(findings.clone(), Status::Fail, place) {
        Exposure::Open
    } else if unjudged(findings, place) {
        Exposure::Unseen
    } else {
        Exposure::Closed
    }
}

/// Whether something there can be read, and somebody accepted it.
#[must_use]
pub(crate) fn accepted<'a>(findings: impl Iterator<Item = &'a Finding> + Clone, place: Place) -> bool {
    opened(findings, Status::Waived, place)
}

/// Whether a check that matters there could not be judged, or none was.
fn unjudged<'a>(findings: impl Iterator<Item = &'a Finding>, place: Place) -> bool {
    let mut here = findings.filter(|f| concerns(&f.id, place)).peekable();
    here.peek().is_none() || here.any(|f| f.status == Status::Unknown)
}

/// A clear key on the same disk opens what is encrypted there.
fn opened<'a>(findings: impl Iterator<Item = &'a Finding> + Clone, status: Status, place: Place) -> bool {
    let mut failed = findings.filter(|f| f.status == status);
    let opens = |id: &str| match table(place).iter().find(|row| row.id == id) {
        Some(row) => row.opens,
        // What is not listed is rather taken for open than passed over.
        None => place == Place::AtRest && concerns(id, place),
    };
    let keys = ["key-same-disk", "key-file-clear"];
    let has_keys = place == Place::AtRest && keys.iter().all(|id| failed.clone().any(|f| f.id == *id));
    has_keys || failed.any(|f| opens(&f.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::finding;

    #[test]
    fn a_leak_names_its_artefacts_and_counts_the_rest() {
        let names = ["demo/a.ibd", "demo/b.ibd", "demo/c.ibd", "demo/d.ibd"];
        let findings: Vec<Finding> = names.iter().map(|n| finding("rest-table-plaintext", Status::Fail, n)).collect();
        let leaks = leaks(findings.iter(), Place::AtRest);
        assert_eq!(leaks.len(), 1);
        assert_eq!(
            leaks[0].sentence,
            "The rows of tables, readable with a text viewer: demo/a.ibd, demo/b.ibd, demo/c.ibd and 1 more."
        );
    }

    #[test]
    fn every_listed_check_concerns_one_place_only() {
        for row in DISK {
            assert!(concerns(row.id, Place::AtRest) && !concerns(row.id, Place::InFlight), "{}", row.id);
        }
        for row in WIRE {
            assert!(concerns(row.id, Place::InFlight) && !concerns(row.id, Place::AtRest), "{}", row.id);
        }
        assert!(!concerns("rest-default-off", Place::AtRest));
    }

    #[test]
    fn every_check_of_data_at_rest_is_weighed() {
        let at_rest = audit::checks::all().filter(|check| matches!(area(check.id), "rest" | "bak"));
        for check in at_rest.filter(|check| !FUTURE.contains(&check.id)) {
            assert!(DISK.iter().any(|row| row.id == check.id), "{}: is data readable because of it?", check.id);
        }
    }

    #[test]
    fn a_clear_key_beside_the_data_opens_the_disk() {
        let key = finding("key-file-clear", Status::Fail, "keyring");
        let beside = finding("key-same-disk", Status::Fail, "keyring");
        let one = std::slice::from_ref(&key);
        assert_eq!(of(one.iter(), Place::AtRest), Exposure::Closed);
        assert_eq!(of([&key, &beside].into_iter(), Place::AtRest), Exposure::Open);
        assert_eq!(of([].iter(), Place::InFlight), Exposure::Unseen);
        let unknown = finding("rest-redo-plaintext", Status::Unknown, "server");
        assert_eq!(of([&unknown].into_iter(), Place::AtRest), Exposure::Unseen);
    }
}
