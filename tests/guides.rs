//! The pages in `docs/` and the README name files, types and functions: each of them exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Pages for those who change the code: names in them are names in the code.
const GUIDES: [&str; 2] = ["docs/adding-a-check.md", "docs/extending.md"];

/// Where files that pages name are.
const DIRECTORIES: [&str; 6] = ["crates", "docs", "fuzz", "packaging", "testdata", "tests"];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files and directories below `directory`, relative to the repository.
fn below(directory: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(top().join(directory)).expect("a directory") {
        let entry = entry.expect("an entry");
        let name = format!("{directory}/{}", entry.file_name().display());
        if !entry.file_type().expect("a type").is_dir() {
            found.insert(name);
        } else if !name.ends_with("/target") {
            below(&name, found);
            found.insert(name + "/");
        }
    }
}

fn all_files() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for directory in DIRECTORIES {
        below(directory, &mut found);
        found.insert(format!("{directory}/"));
    }
    found
}

fn read(path: &str) -> String {
    fs::read_to_string(top().join(path)).expect("text")
}

/// What stands between backticks, outside of code blocks.
fn code_in(page: &str) -> Vec<String> {
    let text: Vec<_> = page.split("\n```").step_by(2).collect();
    text.concat().split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether it is the path of a file, without a word in capitals in place of a name.
fn is_path(code: &str) -> bool {
    let only_path = code.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c));
    let is_ours = DIRECTORIES.iter().any(|directory| code.starts_with(&format!("{directory}/")));
    let is_word = |part: &str| part.chars().any(|c| c.is_ascii_lowercase()) || part.is_empty();
    let parts = code.split('/').map(|part| part.split('.').next().unwrap_or_default());
    only_path && (is_ours || code.ends_with(".rs")) && parts.into_iter().all(is_word)
}

/// The name of a type, a function, a macro or a constant.
fn identifier(code: &str) -> Option<&str> {
    let path = code.split('(').next()?.trim_end_matches('!');
    let name = path.rsplit("::").next()?;
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (!name.is_empty() && path.split("::").all(is_name)).then_some(name)
}

#[test]
fn every_file_that_a_page_names_exists() {
    let files = all_files();
    let mut seen = 0;
    let mut missing = Vec::new();
    for page in files.iter().filter(|file| file.starts_with("docs/") && file.ends_with(".md")) {
        for code in code_in(&read(page)).into_iter().filter(|code| is_path(code)) {
            seen += 1;
            let end = format!("/{}", code.trim_start_matches("../"));
            if !files.iter().any(|file| format!("/{file}").trim_end_matches('/').ends_with(end.trim_end_matches('/'))) {
                missing.push(format!("{page}: {code}"));
            }
        }
    }
    assert!(seen > 100, "{seen} paths found");
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_name_in_the_guides_is_a_name_in_the_code() {
    let sources = all_files().into_iter().filter(|file| [".rs", ".toml", ".txt"].iter().any(|end| file.ends_with(end)));
    let code: String = sources.filter(|file| !file.ends_with("tests/guides.rs")).map(|file| read(&file)).collect();
    let known: BTreeSet<&str> = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    for guide in GUIDES {
        let page = code_in(&read(guide));
        let names: Vec<_> = page.iter().filter_map(|code| identifier(code)).collect();
        assert!(names.len() > 50, "{guide}: {} names found", names.len());
        let unknown: Vec<_> = names.into_iter().filter(|name| !known.contains(name)).collect();
        assert_eq!(unknown, [""; 0], "{guide}");
    }
}

#[test]
fn paths_and_names_are_recognised() {
    assert!(is_path("crates/report/src/lib.rs") && is_path("mod.rs") && is_path("docs/schema/"));
    assert!(!is_path("tests/VERB.rs") && !is_path("/etc/mysql") && !is_path("crates/audit/src/checks/<area>/"));
    assert_eq!(identifier("value::word(…)"), Some("word"));
    assert_eq!((identifier("checks!"), identifier("--compress"), identifier("a file")), (Some("checks"), None, None));
}
