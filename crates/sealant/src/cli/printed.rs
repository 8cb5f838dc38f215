//! Commands that the README, guides, help texts, units and messages print: the arguments of each are valid.

mod shell;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;
use clap::error::ErrorKind;

use self::shell::commands_of;
use super::command;

/// Texts that go into hashes; they only look like commands.
const LABELS: [&str; 2] = ["pairing 1 sender", "key check 1"];

/// A command, and where it is printed.
struct Printed {
    place: String,
    words: Vec<String>,
}

impl Printed {
    /// Whether something is left out, or comes from a variable.
    fn is_abridged(&self) -> bool {
        self.words.iter().any(|word| ["…", "...", "$"].iter().any(|sign| word.contains(sign)))
    }

    /// Why the program would refuse it.
    fn refusal(&self, command: &Command) -> Option<String> {
        if self.is_abridged() {
            return self.unknown(command);
        }
        let error = command.clone().try_get_matches_from(on_any_host(&self.words)).err()?;
        let asks = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        (!asks).then(|| self.fault(error.to_string().lines().next().unwrap_or_default()))
    }

    /// The verb or option in it that does not exist. Values and operands are not judged.
    fn unknown(&self, command: &Command) -> Option<String> {
        let (mut verb, mut options) = (command, false);
        for word in self.words.iter().skip(1) {
            let option = word.split('=').next().filter(|option| option.starts_with('-') && option.len() > 1);
            match (option, verb.find_subcommand(word)) {
                (Some("--help" | "-h"), _) => {}
                (Some(option), _) if has_option(verb, option) => options = true,
                (Some(option), _) => return Some(self.fault(&format!("no option {option}"))),
                (None, Some(part)) => verb = part,
                (None, None) if !options && names_no_part(verb, word) => {
                    return Some(self.fault(&format!("no verb {word}")));
                }
                (None, None) => {}
            }
        }
        None
    }

    fn fault(&self, what: &str) -> String {
        format!("{}: {}: {what}", self.place, self.words.join(" "))
    }
}

fn has_option(verb: &Command, option: &str) -> bool {
    verb.get_arguments().any(|argument| match option.strip_prefix("--") {
        Some(long) => {
            argument.get_long() == Some(long) || argument.get_all_aliases().is_some_and(|all| all.contains(&long))
        }
        None => argument.get_short().is_some_and(|short| option[1..].starts_with(short)),
    })
}

/// Whether `word` stands where only the name of a part of the verb can stand, and is not a placeholder for one.
fn names_no_part(verb: &Command, word: &str) -> bool {
    let is_name = word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    is_name && verb.has_subcommands() && verb.get_positionals().next().is_none()
}

/// The words, with numbers in place of names of users, which need not exist here.
fn on_any_host(words: &[String]) -> Vec<&str> {
    const NUMBERS: [(&str, &str); 2] = [("--owner", "0:0"), ("--socket-group", "0")];
    let before = std::iter::once("").chain(words.iter().map(String::as_str));
    let number = |option: &str| NUMBERS.iter().find(|(named, _)| *named == option).map(|(_, number)| *number);
    before.zip(words).map(|(option, word)| number(option).unwrap_or(word)).collect()
}

/// The commands of this program in lines of shell, of which one that ends with a backslash is continued.
fn printed<'t>(place: &str, lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<Printed> {
    let (mut found, mut begun) = (Vec::new(), String::new());
    for (number, line) in lines {
        if let Some(begin) = line.strip_suffix('\\') {
            begun.push_str(begin);
            continue;
        }
        let whole = std::mem::take(&mut begun) + line;
        let own = commands_of(&whole).into_iter().filter(|words| words.first().is_some_and(|word| word == "sealant"));
        found.extend(own.map(|words| Printed { place: format!("{place}:{number}"), words }));
    }
    found
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files below a directory whose names end with `end`, as path and text.
fn texts(directory: &str, end: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(top().join(directory)).unwrap() {
        let (path, name) = {
            let entry = entry.unwrap();
            (entry.path(), format!("{directory}/{}", entry.file_name().display()))
        };
        if path.is_dir() {
            found.extend(texts(&name, end));
        } else if name.ends_with(end) {
            found.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    found
}

/// The README and the guides.
fn pages() -> Vec<(String, String)> {
    let readme = fs::read_to_string(top().join("README.md")).unwrap();
    [vec![("README.md".to_owned(), readme)], texts("docs", ".md")].concat()
}

/// Commands in code blocks, and in tables of the README and of the index of tasks, which have a question and a command in each
/// row.
fn in_page((path, text): &(String, String)) -> Vec<Printed> {
    let (mut in_block, has_rows) = (false, ["README.md", "docs/README.md"].contains(&path.as_str()));
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        match line.trim_start().starts_with("```") {
            true => in_block = !in_block,
            false if in_block => lines.push((number, line)),
            false if has_rows && line.starts_with("| ") => lines.extend(code_of(line).map(|code| (number, code))),
            false => {}
        }
    }
    printed(path, lines.into_iter())
}

fn code_of(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Commands at the end of the help of a verb and of its parts.
fn in_help(verb: &Command) -> Vec<Printed> {
    let end = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
    let place = format!("help of {}", verb.get_name());
    let own = printed(&place, (1..).zip(end.lines()));
    own.into_iter().chain(verb.get_subcommands().flat_map(in_help)).collect()
}

/// Commands that systemd starts.
fn in_unit((path, text): &(String, String)) -> Vec<Printed> {
    let started = text.replace("ExecStart=/usr/bin/sealant ", "sealant ");
    printed(path, (1..).zip(started.lines()))
}

/// Text without the marks of comments and of string literals that go on in the next line.
fn joined(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let comment = line.trim_start().trim_start_matches("//").trim_start_matches(['/', '!']);
        comment.strip_suffix('\\').unwrap_or(comment)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Commands between backticks, and whatever else follows the name of this program and looks like arguments.
fn mentioned((path, text): &(String, String), command: &Command) -> Vec<Printed> {
    let text = joined(text);
    let rests = text.match_indices("sealant ").map(|(start, name)| (&text[..start], &text[start + name.len()..]));
    let words = rests.filter_map(|(before, rest)| match rest.split_once('`') {
        Some((code, _)) if before.ends_with('`') => words_of_code(code),
        _ => words_of_sentence(command, rest),
    });
    let named = |words: Vec<&str>| std::iter::once("sealant").chain(words).map(str::to_owned).collect();
    words.map(|words| Printed { place: path.clone(), words: named(words) }).collect()
}

fn words_of_code(code: &str) -> Option<Vec<&str>> {
    let is_other = code.contains(": ") || LABELS.contains(&code);
    let words = code.split_whitespace().take_while(|word| !["|", ">", "&&"].contains(word));
    (!is_other).then(|| words.collect())
}

/// A verb, its parts, and its options with one value each.
fn words_of_sentence<'t>(command: &Command, sentence: &'t str) -> Option<Vec<&'t str>> {
    let (mut verb, mut words) = (command, Vec::<&str>::new());
    for punctuated in sentence.split_whitespace() {
        let word = punctuated.trim_end_matches(|c: char| c.is_ascii_punctuation());
        match verb.find_subcommand(word) {
            Some(part) => verb = part,
            None if words.is_empty() => return None,
            None if word.starts_with("--") || words.last().is_some_and(|last| last.starts_with("--")) => {}
            None => break,
        }
        words.push(word);
        if word != punctuated {
            break;
        }
    }
    (!words.is_empty()).then_some(words)
}

#[test]
fn each_printed_command_has_valid_arguments() {
    let mut command = command();
    command.build();
    let printed: Vec<Printed> = [
        pages().iter().flat_map(in_page).collect::<Vec<_>>(),
        in_help(&command),
        texts("packaging/systemd", ".service").iter().flat_map(in_unit).collect(),
    ]
    .into_iter()
    .flatten()
    .collect();
    assert!(printed.len() > 250, "{} commands found", printed.len());
    let refused: Vec<_> = printed.iter().filter_map(|one| one.refusal(&command)).collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn each_mentioned_verb_and_option_exists() {
    let mut command = command();
    command.build();
    let sources: Vec<_> = texts("crates", ".rs").into_iter().filter(|(path, _)| !path.contains("/printed")).collect();
    let mentioned: Vec<Printed> = pages().iter().chain(&sources).flat_map(|text| mentioned(text, &command)).collect();
    assert!(mentioned.len() > 500, "{} commands found", mentioned.len());
    let unknown: Vec<_> = mentioned.iter().filter_map(|one| one.unknown(&command)).collect();
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn wrong_mentions_are_found() {
    let command = command();
    let unknown = |text: &str| {
        let mentioned = mentioned(&("page".to_owned(), text.to_owned()), &command);
        mentioned.iter().filter_map(|one| one.unknown(&command)).count()
    };
    assert_eq!(
        unknown("`sealant verify DIR --keyring K`, or sealant restore latest --prove, and sealant sends more"),
        0
    );
    assert_eq!(
        unknown("`sealant snapshot take`; give sealant migrate verify --all, or sealant verify \\\n --nothing"),
        3
    );
}

#[test]
fn wrong_commands_are_found() {
    let command = command();
    let refused = |line: &str| {
        let printed = printed("page", (1..).zip(line.lines()));
        printed.iter().filter_map(|one| one.refusal(&command)).count()
    };
    assert_eq!(refused("sealant verify datadir\nsealant verify --help\nsealant verify … --keyring K"), 0);
    assert_eq!(
        refused("sealant verify\nsealant verify a --no-such\nsealant snapshot take …\nsealant verify … --no-such"),
        4
    );
    assert_eq!(
        refused(
            "sealant receive --into d \\\n  --listen 127.0.0.1:1 --owner no-such-user\nsealant send a b --bwlimit 5"
        ),
        1
    );
}
