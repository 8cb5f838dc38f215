//! `docs/compatibility.md`: what was run on which server, from one table.

use std::fmt::Write;

/// How far a verb was tried with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tried {
    /// On a live server, by the tests.
    Live,
    /// On files that such a server wrote, by the tests; none ran beside them.
    Files,
    /// Not run at all: written from documentation, source, or the server next to it.
    Documents,
    /// The server has nothing for the verb to work on.
    Nothing,
}

use Tried::{Documents as D, Files as F, Live as L, Nothing as N};

impl Tried {
    const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Files => "files",
            Self::Documents => "documents",
            Self::Nothing => "–",
        }
    }
}

/// The servers, in the order of the columns below.
const SERVERS: [&str; 10] = [
    "MySQL 5.6",
    "MySQL 5.7",
    "MySQL 8.0",
    "MySQL 8.4",
    "MySQL 9.7",
    "Percona Server 5.7",
    "Percona Server 8.0",
    "MariaDB 10.5, 11.4",
    "MariaDB 10.11",
    "MariaDB 11.8",
];

/// A verb, and how far it was tried with each of [`SERVERS`].
type Row = (&'static str, [Tried; SERVERS.len()]);

/// Live: `tests/*.rs` start that server for the verb. Files: `testdata/` has files of it that tests
/// give to the verb.
const ROWS: [Row; 16] = [
    ("audit", [L, D, D, D, L, D, D, D, L, L]),
    ("audit --offline", [L, D, D, D, L, F, F, D, L, L]),
    ("verify", [L, D, D, D, L, F, F, F, L, L]),
    ("keyring init", [N, D, D, D, L, D, D, D, L, L]),
    ("keyring check", [N, D, D, D, L, D, D, D, L, L]),
    ("keys", [N, D, D, D, L, D, D, D, L, L]),
    ("rotate --master-key", [N, D, D, D, L, D, D, N, N, N]),
    ("rotate --data-keys", [N, D, D, D, L, D, D, D, L, L]),
    ("encrypt", [N, D, D, D, L, D, D, D, L, L]),
    ("send, receive", [D, D, D, D, L, D, D, D, L, L]),
    ("send --rekey", [N, D, D, D, L, F, F, N, N, N]),
    ("provision", [D, D, D, D, L, D, D, D, L, L]),
    ("snapshot", [D, D, D, D, L, D, D, D, L, L]),
    ("sst", [N, N, N, N, N, D, D, D, L, L]),
    ("cert", [D, D, D, D, L, D, D, D, L, L]),
    ("tunnel", [D, D, D, D, L, D, D, D, L, D]),
];

/// What was run on which server, in Markdown.
#[must_use]
pub fn render_compatibility() -> String {
    let mut text = String::from(
        "# Compatibility\n\nWritten by `make docs` from a table in the program. Only what was run counts:\n\n\
         - **live**: the tests start that server and run the verb on it.\n\
         - **files**: the tests run the verb, or the part of it that judges files, on files that such a server wrote: \
         Percona Server 5.7.22 and 8.0.27, redo logs alone of MariaDB 10.5.23 and 11.4.5. No such server ran.\n\
         - **documents**: written from documentation, source, or what the servers next to it do. Nothing was run, and \
         nothing here says that it works.\n\
         - **–**: the server has nothing for the verb to work on.\n\n\
         `luks` and `bench` of disks know no servers. `tests/harness/README.md` tells how to run tests on a build of \
         your own.\n\n",
    );
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "| verb | {} |\n|---|{}", SERVERS.join(" | "), "---|".repeat(SERVERS.len()));
    for (verb, tried) in ROWS {
        let words: Vec<&str> = tried.into_iter().map(Tried::word).collect();
        let _ = writeln!(text, "| `{verb}` | {} |", words.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_every_server() {
        let text = render_compatibility();
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), ROWS.len() + 2);
        assert!(rows.iter().all(|row| row.matches('|').count() == SERVERS.len() + 2), "{text}");
    }
}
