//! `wsrep_sst_sealant`: Galera's state transfer, started by the servers of a cluster.

use std::sync::Arc;

use ::sst::{Arguments, Error, REMOTE_AUTH, Report, ServerPipe, log_line, watch};
use clap::Args;

use crate::exit::Exit;
use crate::output::message::{Failure, one_line, whole_line};
use crate::process::{end, forbid_dumps};

/// Name under which servers start this program for `wsrep_sst_method=sealant`.
pub(crate) const PROGRAM: &str = "wsrep_sst_sealant";

/// Galera's state transfer, as servers start it (wsrep_sst_method=sealant)
///
/// Not for interactive use: servers call `wsrep_sst_sealant`, a link to this program. Standard output is a protocol;
/// messages go to standard error, which is the server's error log.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Sst {
    /// As given by the server
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    arguments_given: Vec<String>,
}

impl Sst {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        Ok(run(self.arguments_given))
    }
}

/// Does what the server requests, and logs why if it fails. `arguments_given` are the words after the program's name.
pub(crate) fn run(arguments_given: impl IntoIterator<Item = String>) -> Exit {
    forbid_dumps();
    let arguments = match Arguments::parse(arguments_given) {
        Ok(arguments) => arguments,
        Err(error) => {
            log("ERROR", "sealant", &error.to_string());
            return Exit::Failed;
        }
    };
    let name = format!("sealant {}", arguments.role.name());
    let server_pipe = Arc::new(ServerPipe::new(Box::new(std::io::stdout()), arguments.progress));
    watch(&arguments, std::io::stdout(), Arc::clone(&server_pipe), end_with_server(name.clone()));
    let said = |text: &str| log("INFO", &name, text);
    let auth = std::env::var(REMOTE_AUTH).ok();
    match ::sst::run(&arguments, auth, std::io::stdin(), &server_pipe, &Report(&said)) {
        Ok(()) => Exit::Clean,
        Err(error) => {
            log("ERROR", &name, &error.to_string());
            if let Some(hint) = error.hint() {
                log("ERROR", &name, hint);
            }
            Exit::Failed
        }
    }
}

/// Ends with the server. The next donor on this host removes a leftover snapshot.
fn end_with_server(name: String) -> impl FnOnce(Error) + Send {
    move |error| {
        log("ERROR", &name, &error.to_string());
        end(Exit::Failed)
    }
}

/// Writes a line to the server's error log.
fn log(level: &str, name: &str, text: &str) {
    let now = jiff::Zoned::now().strftime("%Y%m%d %H:%M:%S%.3f").to_string();
    whole_line(&log_line(level, name, &one_line(text), &now));
}
