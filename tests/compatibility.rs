//! Compares the list behind `docs/compatibility.md` with the tests it names: each exists, runs, and starts that server
//! or reads its files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use server::release_line::TESTED_SERVERS;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Text of a test file and of the code that all test files share.
fn sources(file: &str) -> String {
    let tests = repository().join("tests");
    let mut text =
        fs::read_to_string(tests.join(format!("{file}.rs"))).unwrap_or_else(|e| panic!("tests/{file}.rs: {e}"));
    for entry in fs::read_dir(tests.join("support")).expect("a directory") {
        text.push_str(&fs::read_to_string(entry.expect("an entry").path()).expect("text"));
    }
    text
}

/// Text of a function, associated function or constant that begins on a line of its own.
fn definition<'s>(sources: &'s str, name: &str) -> Option<&'s str> {
    let starts = [format!("fn {name}("), format!("const {name}:"), format!("fn {name}<")];
    let at = starts.iter().find_map(|start| sources.find(start.as_str()))?;
    let line = sources[..at].rfind('\n').map_or(0, |line| line + 1);
    let indent: String = sources[line..].chars().take_while(|c| *c == ' ').collect();
    let rest = &sources[at..];
    let ends = [format!("\n{indent}}}\n"), format!(";\n{indent}\n"), "];\n".to_owned()];
    let end = ends.iter().filter_map(|end| Some(rest.find(end.as_str())? + end.len())).min()?;
    Some(&rest[..end])
}

/// Whether a definition, or one that it uses, contains `wanted`.
fn reaches(sources: &str, name: &str, wanted: &str, seen: &mut BTreeSet<String>) -> bool {
    let Some(text) = definition(sources, name).filter(|_| seen.insert(name.to_owned())) else { return false };
    let message = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 3);
    text.contains(wanted)
        || text.contains("Kind::all()") && wanted.starts_with("Kind::")
        || message.collect::<BTreeSet<_>>().into_iter().any(|word| reaches(sources, word, wanted, seen))
}

#[test]
fn each_server_marked_as_tested_occurs_in_the_named_test() {
    let list = fs::read_to_string(repository().join("crates/report/src/compatibility.txt")).expect("the list");
    let mut checked = 0;
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [_, server, how, test] = fields[..] else { panic!("{line}") };
        if how == "none" {
            assert_eq!(test, "-", "{line}");
            continue;
        }
        let (file, name) = test.split_once("::").unwrap_or_else(|| panic!("{line}"));
        let sources = sources(file);
        let head =
            sources.find(&format!("fn {name}(")).map(|at| &sources[..at]).unwrap_or_else(|| panic!("no test: {line}"));
        let attributes: Vec<&str> = head.lines().rev().take_while(|line| line.starts_with("#[")).collect();
        assert_eq!(attributes, ["#[test]"], "{line}");
        let known = TESTED_SERVERS.iter().find(|(known, _)| *known == server);
        let wanted = known.and_then(|(_, name)| *name).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(matches!(how, "live" | "refused"), wanted.starts_with("Kind::"), "{line}");
        assert!(
            reaches(&sources, name, wanted, &mut BTreeSet::new()),
            "{name} has nothing to do with {server}: {line}"
        );
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
}
