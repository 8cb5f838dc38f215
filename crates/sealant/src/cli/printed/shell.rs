//! Lines of shell, split into commands and their words.

/// The commands of a line as a shell splits it, without redirections and comments.
pub(super) fn commands_of(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), String::new(), None);
    let mut characters = without_prompt(line).chars().peekable();
    while let Some(c) = characters.next() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => word.push(c),
            ('\'' | '"', None) => quote = Some(c),
            ('\\', None) => word.extend(characters.next()),
            ('#', None) if word.is_empty() => break,
            ('|' | '&' | ';', None) => {
                words.push(std::mem::take(&mut word));
                commands.push(std::mem::take(&mut words));
            }
            ('<' | '>', None) => {
                let before = std::mem::take(&mut word);
                words.extend([before, ">".to_owned()].into_iter().filter(|word| !is_number(word)));
                while characters.next_if(|next| ['>', '&'].contains(next)).is_some() {}
            }
            (_, None) if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            (_, None) => word.push(c),
        }
    }
    words.push(word);
    commands.push(words);
    commands.into_iter().map(arguments).collect()
}

/// Words of a command, from the program on: no assignments, no redirections, no brackets around what may be left out.
fn arguments(words: Vec<String>) -> Vec<String> {
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let is_prefix = word == "sudo" || word.split_once('=').is_some_and(|(name, _)| is_variable(name));
        match word.as_str() {
            ">" => drop(words.next()),
            _ if kept.is_empty() && is_prefix => {}
            _ if word.starts_with("[-") => kept.push(word.trim_matches(['[', ']']).to_owned()),
            _ if !word.contains('[') => kept.push(word.trim_end_matches(']').to_owned()),
            _ => kept.push(word),
        }
    }
    kept
}

fn is_number(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

fn is_variable(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// Removes a shell's prompt: `$ `, `donor$  `, `# `.
fn without_prompt(line: &str) -> &str {
    let line = line.trim_start();
    match line.split_once(' ') {
        Some(("#", command)) if command.starts_with("sealant ") => command,
        Some((prompt, command)) if prompt.strip_suffix('$').is_some_and(|host| !host.contains('$')) => {
            command.trim_start()
        }
        _ => line,
    }
}

#[test]
fn a_line_is_split_as_a_shell_does() {
    let words = |line| commands_of(line).into_iter().map(|words| words.join("_")).collect::<Vec<_>>();
    assert_eq!(words("donor$  sealant send 'a b' C > log 2>&1  # now"), ["sealant_send_a b_C"]);
    assert_eq!(words("A=1 sudo sealant keys [--keyring K] | jq . && x"), ["sealant_keys_--keyring_K", "jq_.", "", "x"]);
    assert_eq!(words("# sealant verify d"), ["sealant_verify_d"]);
    assert_eq!(words("# a comment"), [""]);
}
