//! `docs/compatibility.md`: what was run on which server, from the list that the tests must match.

use std::fmt::Write;

use server::{
    dialect::capability::{CAPABILITIES, VersionTriple, dotted_version},
    release_line::TESTED_SERVERS,
};

/// Columns: verb, server, method, and the test.
const LIST: &str = include_str!("compatibility.txt");

/// An entry of the list.
struct Line<'t> {
    verb: &'t str,
    server: &'t str,
    how: &'t str,
}

fn lines() -> impl Iterator<Item = Line<'static>> {
    LIST.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut fields = line.split(" | ");
        Some(Line { verb: fields.next()?, server: fields.next()?, how: fields.next()? })
    })
}

/// The verbs, in the order of the list.
fn verbs() -> Vec<&'static str> {
    let mut verbs = Vec::new();
    for line in lines() {
        if !verbs.contains(&line.verb) {
            verbs.push(line.verb);
        }
    }
    verbs
}

/// A cell of the table; a verb that is not in the list was not run.
fn cell(verb: &str, server: &str) -> &'static str {
    match lines().find(|line| line.verb == verb && line.server == server).map(|line| line.how) {
        Some("none") => "–",
        Some(how) => how,
        None => "documents",
    }
}

/// What was run on which server, in Markdown.
#[must_use]
pub fn render_compatibility() -> String {
    let mut text = String::from(
        "# Compatibility\n\nWritten by `make docs` from `crates/report/src/compatibility.txt`, which names the test behind each word \
         and which the tests are held against (`tests/compatibility.rs`). Only what was run counts:\n\n\
         - **live**: a test starts that server and runs the verb on it.\n\
         - **files**: a test runs the verb, or the part of it that judges files, on files that such a server wrote (Percona Server \
         5.7.22 and 8.0.27). No such server ran.\n\
         - **refused**: a test starts that server, and the verb refuses it with the reason and the next step: the build of MySQL 5.7 \
         speaks TLS up to 1.1 (yaSSL), and MySQL takes certificates while it runs from 8.0.16 on.\n\
         - **documents**: written from documentation, source, or what the servers next to it do. Nothing was run, and \
         nothing here says that it works.\n\
         - **–**: the server has nothing for the verb to work on.\n\n\
         The builds are MySQL 5.6.24, 5.7.22, 8.0.33 and 9.7.4, MariaDB 10.11.19, 11.4.5 and 11.8.6; those of 5.7 and 11.4 come without \
         their plug-ins, so that a `keyring_file` of the tests' own and the `file_key_management` of 10.11 stand in for theirs. Of \
         MariaDB 10.5 and 11.4 there are redo logs besides, which `verify` reads. `luks` and `bench` of disks know no servers. \
         `tests/harness/README.md` describes how to run tests on a build of your own.\n\n",
    );
    // Writing to a `String` cannot fail.
    let servers = TESTED_SERVERS.map(|(server, _)| server);
    let _ = writeln!(text, "| verb | {} |\n|---|{}", servers.join(" | "), "---|".repeat(servers.len()));
    for verb in verbs() {
        let cells: Vec<&str> = servers.iter().map(|server| cell(verb, server)).collect();
        let _ = writeln!(text, "| `{verb}` | {} |", cells.join(" | "));
    }
    text.push_str(&capabilities());
    text
}

/// Features of servers, and their first versions.
fn capabilities() -> String {
    let mut text = String::from(
        "\n## What a server can do, by version\n\nWritten from `crates/server/src/dialect/capability.rs`, which every verb asks. \
         The number is the first version of that fork; **–**: none.\n\n| a server | MySQL, Percona Server | MariaDB |\n|---|---|---|\n",
    );
    let since = |since: Option<VersionTriple>| since.map_or_else(|| "–".to_owned(), dotted_version);
    for row in CAPABILITIES {
        let _ = writeln!(text, "| {} | {} | {} |", row.title, since(row.mysql), since(row.mariadb));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_of_a_known_server_and_word_and_stands_once() {
        let mut seen = Vec::new();
        for line in lines() {
            assert!(TESTED_SERVERS.iter().any(|(server, _)| *server == line.server), "{}", line.server);
            assert!(["live", "refused", "files", "none"].contains(&line.how), "{}", line.how);
            assert!(!seen.contains(&(line.verb, line.server)), "{} on {} stands twice", line.verb, line.server);
            seen.push((line.verb, line.server));
        }
        assert_eq!(LIST.lines().filter(|line| !line.starts_with('#')).count(), seen.len());
    }

    #[test]
    fn what_is_not_listed_was_not_run() {
        assert_eq!(cell("encrypt", "MySQL 8.4"), "documents");
        assert_eq!(cell("encrypt", "MySQL 5.6"), "–");
        let text = render_compatibility();
        let (text, _) = text.split_once("\n## ").expect("what servers can do follows");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), verbs().len() + 2);
        assert!(rows.iter().all(|row| row.matches('|').count() == TESTED_SERVERS.len() + 2), "{text}");
    }
}
