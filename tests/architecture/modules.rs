//! Which modules of a crate use which others, read from the text of their sources: `use` trees and paths that begin
//! with `crate`, `self` or `super`. Tests are left out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Names of modules and items, from the root of the crate.
type Names = Vec<String>;

/// A crate's modules, and what each of them re-exports under a name of its own.
struct Crate {
    tokens: BTreeMap<Names, Vec<String>>,
    exports: BTreeMap<Names, Names>,
}

/// The circles among the modules at the top of the crate whose `src` directory is `sources`: each a sorted list of the
/// modules that reach each other, separated by blanks.
pub(super) fn circles(sources: &Path) -> Vec<String> {
    let uses = Crate::read(sources).uses();
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|module| (module, reach(&uses, module))).collect();
    let reaches = |from: &String, to: &String| reached.get(from).is_some_and(|modules| modules.contains(to));
    let members = |of: &&String| {
        let both = |other: &&&String| reaches(of, other) && reaches(other, of);
        reached.keys().filter(both).map(|name| name.as_str()).collect::<Vec<_>>().join(" ")
    };
    let circles: BTreeSet<String> = reached.keys().filter(|module| reaches(module, module)).map(members).collect();
    circles.into_iter().collect()
}

/// All modules that `from` uses, directly or through others.
fn reach<'u>(uses: &'u BTreeMap<String, BTreeSet<String>>, from: &String) -> BTreeSet<&'u String> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&String> = uses.get(from).into_iter().flatten().collect();
    while let Some(module) = waiting.pop() {
        if found.insert(module) {
            waiting.extend(uses.get(module).into_iter().flatten());
        }
    }
    found
}

impl Crate {
    fn read(sources: &Path) -> Self {
        let mut files = BTreeMap::new();
        read_files(sources, &mut Vec::new(), &mut files);
        let mut tests = BTreeSet::new();
        let mut tokens: BTreeMap<Names, Vec<String>> = BTreeMap::new();
        for (module, text) in files {
            let (code, test_modules) = without_tests(tokens_of(&text));
            tests.extend(test_modules.into_iter().map(|name| joined(&module, [name])));
            tokens.insert(module, code);
        }
        tokens.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        let exports = exports(&tokens);
        Self { tokens, exports }
    }

    /// For each module at the top, the others that it or a module inside it names.
    fn uses(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, tokens) in &self.tokens {
            let Some(top) = module.first() else { continue };
            let used = uses.entry(top.clone()).or_default();
            for path in paths(module, tokens) {
                used.extend(self.module_at_top(path).filter(|other| other != top));
            }
        }
        uses
    }

    /// The module at the top that has the item `path`, if it is not an item of the root itself.
    fn module_at_top(&self, mut path: Names) -> Option<String> {
        const LONGEST_CHAIN: usize = 8;
        for _ in 0..LONGEST_CHAIN {
            let renamed = (1..=path.len()).find_map(|length| {
                let (begin, rest) = path.split_at(length);
                let target = self.exports.get(begin).filter(|_| !self.tokens.contains_key(begin))?;
                Some(joined(target, rest.iter().cloned()))
            });
            match renamed {
                Some(target) if target != path => path = target,
                _ => break,
            }
        }
        path.first().filter(|name| self.tokens.contains_key(std::slice::from_ref(*name))).cloned()
    }
}

fn joined(begin: &[String], rest: impl IntoIterator<Item = String>) -> Names {
    begin.iter().cloned().chain(rest).collect()
}

fn read_files(directory: &Path, module: &mut Names, files: &mut BTreeMap<Names, String>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            module.push(name);
            read_files(&path, module, files);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let is_root = matches!(name.as_str(), "lib" | "main" | "mod");
            let names = joined(module, (!is_root).then_some(name));
            files.insert(names, fs::read_to_string(&path).expect("text"));
        }
    }
}

/// The words and signs of a source, without comments, strings and characters.
fn tokens_of(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, is_code) = match first {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), false),
            '/' if rest.starts_with("/*") => (rest.find("*/").map_or(rest.len(), |end| end + 2), false),
            '"' => (string_bytes(rest), false),
            'r' if rest.starts_with("r\"") || rest.starts_with("r#\"") => (raw_string_bytes(rest), false),
            '\'' => (character_bytes(rest), false),
            ':' if rest.starts_with("::") => (2, true),
            _ if is_word(first) => (rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()), true),
            _ => (first.len_utf8(), !first.is_whitespace()),
        };
        let (token, behind) = rest.split_at(length);
        if is_code {
            tokens.push(token.to_owned());
        }
        rest = behind;
    }
    tokens
}

fn is_word(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

fn string_bytes(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let ends = *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

fn raw_string_bytes(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|letter| *letter == '#').count();
    let end = format!("\"{}", "#".repeat(hashes));
    text[hashes + 2..].find(&end).map_or(text.len(), |at| hashes + 2 + at + end.len())
}

/// Bytes of a character between quotation marks; 1 for the mark of a lifetime.
fn character_bytes(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match (letters.next(), letters.next()) {
        (Some((_, '\\')), Some((at, _))) => text[at + 1..].find('\'').map_or(1, |end| at + 1 + end + 1),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// The tokens without items under `#[cfg(test)]`, and the names of the modules in files of their own among these.
fn without_tests(tokens: Vec<String>) -> (Vec<String>, Vec<String>) {
    const ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut code, mut modules) = (Vec::new(), Vec::new());
    let mut rest = tokens.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        if !rest.iter().zip(ATTRIBUTE).all(|(token, expected)| token == expected) {
            code.push(first.clone());
            rest = behind;
            continue;
        }
        let item = &rest[ATTRIBUTE.len()..];
        let bytes = item_tokens(item);
        if item[bytes - 1] == ";"
            && let Some(at) = item[..bytes].iter().position(|token| token == "mod")
        {
            modules.push(item[at + 1].clone());
        }
        rest = &item[bytes..];
    }
    (code, modules)
}

/// Number of tokens of the item at the start: up to a semicolon or the end of its braces.
fn item_tokens(tokens: &[String]) -> usize {
    let mut depth = 0_usize;
    let end = tokens.iter().position(|token| {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && matches!(token.as_str(), ";" | "}")
    });
    end.map_or(tokens.len(), |at| at + 1)
}

/// What each module re-exports or imports, by the path under which others can name it.
fn exports(tokens: &BTreeMap<Names, Vec<String>>) -> BTreeMap<Names, Names> {
    let mut exports = BTreeMap::new();
    for (module, tokens) in tokens {
        for at in tokens.iter().enumerate().filter(|(_, token)| *token == "use").map(|(at, _)| at + 1) {
            let mut leaves = Vec::new();
            read_tree(&tokens[at..], &[], &mut leaves);
            for Leaf { path, name } in leaves {
                exports.insert(joined(module, [name]), absolute(module, &path));
            }
        }
    }
    exports
}

/// The absolute paths that a module names with `crate`, `self` or `super`.
fn paths(module: &[String], tokens: &[String]) -> Vec<Names> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let begins =
            matches!(token.as_str(), "crate" | "self" | "super") && tokens.get(at + 1).is_some_and(|next| next == "::");
        let continues = at > 0 && matches!(tokens[at - 1].as_str(), "::" | "$");
        if begins && !continues {
            let mut leaves = Vec::new();
            read_tree(&tokens[at..], &[], &mut leaves);
            found.extend(leaves.iter().map(|leaf| absolute(module, &leaf.path)));
        }
    }
    found
}

fn absolute(module: &[String], path: &[String]) -> Names {
    let mut base = module.to_vec();
    let mut rest = path;
    while let Some((first, behind)) = rest.split_first() {
        match first.as_str() {
            "crate" => base.clear(),
            "super" => drop(base.pop()),
            "self" => {}
            _ => break,
        }
        rest = behind;
    }
    joined(&base, rest.iter().cloned())
}

/// An item that a `use` tree or a path ends with, and the name it gets.
struct Leaf {
    path: Names,
    name: String,
}

/// Reads the tree at the start of the tokens. Returns the number of its tokens.
fn read_tree(tokens: &[String], prefix: &[String], leaves: &mut Vec<Leaf>) -> usize {
    let Some(first) = tokens.first() else { return 0 };
    if first == "{" {
        let mut at = 1;
        while tokens.get(at).is_some_and(|token| token != "}") {
            at += if tokens[at] == "," { 1 } else { read_tree(&tokens[at..], prefix, leaves).max(1) };
        }
        return at + 1;
    }
    let path = joined(prefix, [first.clone()]);
    let begins_part = |token: &String| token == "{" || token == "*" || token.starts_with(is_word);
    match tokens.get(1).map(String::as_str) {
        Some("::") if tokens.get(2).is_some_and(begins_part) => 2 + read_tree(&tokens[2..], &path, leaves),
        Some("as") if tokens.len() > 2 => {
            leaves.push(Leaf { path, name: tokens[2].clone() });
            3
        }
        _ => {
            leaves.push(Leaf { path, name: first.clone() });
            1
        }
    }
}

#[test]
fn circles_are_found_through_exports_and_paths_but_not_through_tests() {
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).expect("written");
    write("lib.rs", "mod a; mod b; mod c; pub use crate::b::{Item as Thing, Other};");
    write("a.rs", "use crate::Thing; // crate::c::X\nconst X: &str = \"crate::c::X\";");
    write("b.rs", "fn f() { super::a::g::<'static>('\\'') }");
    write("c.rs", "use crate::{a, b}; #[cfg(test)] mod tests { use crate::c; }");
    assert_eq!(circles(directory.path()), ["a b"]);
    write("b.rs", "#[cfg(test)] mod tests { use crate::a; }");
    assert!(circles(directory.path()).is_empty());
}
