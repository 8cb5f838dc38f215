//! Files that an audit writes for its user to edit: a script of fixes, and a skeleton of waivers.

use std::fs;
use std::process::Command;

use harness::{KeyringLocation, Kind, Server, require};

use crate::support::{Audit, sealant};

#[test]
fn fixes_run_and_waivers_cover_the_rest() {
    let Some(binaries) = require(Kind::MySql97) else { return };
    let server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().expect("it starts");
    let path = |name: &str| server.dir().join(name).to_str().expect("a short path").to_owned();
    let [fixes, waivers, facts] = ["fixes.sh", "waivers.toml", "facts.json"].map(path);
    let before = Audit::live_with(&server, &["--write-fixes", &fixes]);
    let script = fs::read_to_string(&fixes).expect("a script");
    assert!(script.contains("\nsql <<'SQL'\nSET PERSIST "), "{script}");

    let client =
        format!("{} --no-defaults --user=root --socket={}", binaries.client.display(), server.socket().display());
    let ran = Command::new("sh").arg(&fixes).env("MYSQL", client).output().expect("it starts");
    assert!(ran.status.success(), "{}\n{script}", String::from_utf8_lossy(&ran.stderr));
    let after = Audit::live_with(&server, &["--write-waivers", &waivers, "--save", &facts]);
    assert_eq!(before.statuses("rest-default-off"), ["FAIL"]);
    assert_eq!(after.statuses("rest-default-off"), ["PASS"], "{script}");

    let refused = sealant().args(["audit", "--waivers", &waivers, "--socket"]).arg(server.socket()).output();
    let refused = refused.expect("it starts");
    assert_eq!(refused.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("has no reason or no approver"));
    let text = fs::read_to_string(&waivers).expect("waivers");
    fs::write(&waivers, text.replace("= \"\"", "= \"a test\"")).expect("written");
    // From saved facts: on a busy host, a second audit may have other results.
    let waived = Audit::run(["--facts", &facts, "--waivers", &waivers]);
    let findings = waived.json["findings"].as_array().expect("findings");
    let left: Vec<_> = findings.iter().filter(|finding| finding["status"] == "FAIL").collect();
    assert!(left.is_empty() && waived.code == 0, "{left:#?}");
}

#[test]
fn the_table_can_be_shortened() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = Server::builder(Kind::MySql97).start().expect("it starts");
    let table = |more: &[&str]| {
        let mut command = sealant();
        command.args(["audit", "--user", "root", "--socket"]).arg(server.socket()).args(more);
        String::from_utf8(command.output().expect("it starts").stdout).expect("text")
    };
    let (whole, high, summary) = (table(&[]), table(&["--only", "high"]), table(&["--summary"]));
    assert!(whole.contains("\nMEDIUM\n") && whole.contains("\nHIGH\n"), "{whole}");
    assert!(!high.contains("\nMEDIUM\n") && high.contains("\nHIGH\n") && high.contains("(not shown)"), "{high}");
    assert!(!summary.contains("\nHIGH\n") && summary.contains("AT REST") && summary.contains("failed: "), "{summary}");
}
