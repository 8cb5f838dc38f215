//! Habits from the command-line clients of MySQL and MariaDB.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

use crate::output::message::Failure;

/// Gives commands with a host the short option `-h` for it, as the clients have it, and leaves them `--help`.
pub(super) fn with_host_option(command: Command) -> Command {
    with_help(command, false)
}

/// `is_disabled`: whether a command above has switched the usual option for help off, which it does for all below it.
fn with_help(command: Command, is_disabled: bool) -> Command {
    let has_host = command.get_arguments().any(|argument| argument.get_short() == Some('h'));
    let is_disabled = is_disabled || has_host;
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let command = names
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(name, |one| with_help(one, is_disabled)));
    if !is_disabled {
        return command;
    }
    let help = Arg::new("help").long("help").action(ArgAction::Help).help("Print help");
    command.disable_help_flag(true).arg(if has_host { help } else { help.short('h') })
}

/// The error if the arguments have a password, as the clients accept it.
pub(super) fn password_in(mut arguments: impl Iterator<Item = OsString>) -> Option<Failure> {
    let is_password = |argument: &OsString| {
        let text = argument.to_string_lossy();
        text.starts_with("--password=") || text == "--password" || (text.starts_with("-p") && text.len() > 2)
    };
    arguments.any(|argument| is_password(&argument)).then(|| {
        Failure::usage("a password on the command line is visible to every user of this host")
            .hint("give -p alone to be asked for it, --password-file FILE, or an option file with --defaults-file FILE")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_password(arguments: &[&str]) -> bool {
        password_in(arguments.iter().map(OsString::from)).is_some()
    }

    #[test]
    fn a_password_is_recognised_however_clients_accept_it() {
        for option in ["-psecret", "--password=secret", "--password"] {
            assert!(has_password(&["audit", "-u", "root", option]), "{option}");
        }
        assert!(!has_password(&["audit", "-p", "--password-file", "f"]));
    }
}
