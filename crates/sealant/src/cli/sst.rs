//! `wsrep_sst_sealant`: Galera's state transfer, started by the servers of a cluster.

use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use ::sst::{Arguments, Options, Parent, Report, Role, ServerPipe, SstError, donor, joiner, listening_on, remote_auth};
use clap::Args;

use crate::exit::Exit;
use crate::output::message::{Failure, one_line, whole_line};

/// The name by which servers start this program for `wsrep_sst_method=sealant`.
pub(crate) const PROGRAM: &str = "wsrep_sst_sealant";

/// Galera's state transfer, as servers start it (wsrep_sst_method=sealant)
///
/// Not for people: `wsrep_sst_sealant`, a link to this program, is what servers call. Standard output
/// is a protocol, and messages go to standard error, which is the server's error log.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Sst {
    /// As the server gives them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

impl Sst {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match run(self.words) {
            ExitCode::SUCCESS => Ok(Exit::Clean),
            // The reason is in the log already.
            _ => Ok(Exit::Failed),
        }
    }
}

/// Does what the server asks for; the words are those behind the program's name.
pub(crate) fn run(words: impl IntoIterator<Item = String>) -> ExitCode {
    let arguments = match Arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            log("ERROR", "sealant", &error.to_string());
            return ExitCode::FAILURE;
        }
    };
    let name = format!("sealant {}", arguments.role.name());
    let server_pipe = Arc::new(ServerPipe::new(Box::new(std::io::stdout()), arguments.progress));
    watch(&arguments, name.clone(), server_pipe.clone());
    let said = |text: &str| log("INFO", &name, text);
    match transfer(&arguments, &server_pipe, &Report(&said)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log("ERROR", &name, &error.to_string());
            if let Some(hint) = error.hint() {
                log("ERROR", &name, hint);
            }
            ExitCode::FAILURE
        }
    }
}

fn transfer(arguments: &Arguments, server_pipe: &ServerPipe, report: &Report<'_>) -> Result<(), SstError> {
    let options = Options::read(arguments)?;
    match arguments.role {
        Role::Joiner => joiner::run(arguments, &options, server_pipe, report),
        Role::Donor => {
            let auth = remote_auth(std::env::var("WSREP_SST_OPT_REMOTE_AUTH").ok(), std::io::stdin());
            donor::run(arguments, &options, auth.as_ref().map(|auth| auth.as_str()), server_pipe, report)
        }
    }
}

/// Ends with the server: nobody tells this program when it is not needed any more, and one that stays
/// keeps the port from the next try.
fn watch(arguments: &Arguments, name: String, server_pipe: Arc<ServerPipe>) {
    let (parent, socket) = (arguments.parent, arguments.socket.clone());
    thread::spawn(move || {
        let parent = parent.or_else(|| listening_on(&socket?));
        let stdout = std::io::stdout();
        Parent::new(parent, stdout.as_fd()).wait();
        if server_pipe.is_over() {
            return;
        }
        log("ERROR", &name, &SstError::ServerGone.to_string());
        // A snapshot that is left is removed by the next donor here.
        #[expect(clippy::exit, reason = "the other threads wait for a peer that may never speak")]
        std::process::exit(1);
    });
}

/// A line as the servers' own methods write them.
fn log(level: &str, name: &str, text: &str) {
    let now = jiff::Zoned::now().strftime("%Y%m%d %H:%M:%S%.3f").to_string();
    whole_line(&format!("WSREP_SST: [{level}] {name}: {} ({now})", one_line(text)));
}
