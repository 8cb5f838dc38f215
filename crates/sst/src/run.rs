//! Runs a state transfer from start to end.

use std::{
    io::Read,
    os::fd::AsFd,
    path::Path,
    sync::Arc,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use transfer::{
    counters::{self, Side},
    progress::Progress,
};

use crate::{
    arguments::{Arguments, Role},
    auth::remote_auth,
    donor,
    error::Error,
    joiner,
    options::Options,
    parent::{Parent, listening_on},
    report::Report,
    server_pipe::ServerPipe,
};

/// Runs the state transfer that the server requests. `auth` comes from its environment, `input` from its pipe.
///
/// # Errors
/// [`Error`].
pub fn run(
    arguments: &Arguments,
    auth: Option<String>,
    input: impl Read,
    server_pipe: &ServerPipe,
    report: &Report<'_>,
) -> Result<(), Error> {
    let options = Options::read(arguments)?;
    let progress = Progress::default();
    let outcome = match arguments.role {
        Role::Joiner => joiner::run(arguments, &options, &progress, server_pipe, report),
        Role::Donor => {
            let auth = remote_auth(auth, input);
            donor::run(arguments, &options, auth.as_ref().map(|auth| auth.as_str()), &progress, server_pipe, report)
        }
    };
    if let Some(path) = options.sst("sealant-metrics") {
        let side = if arguments.role == Role::Joiner { Side::Joiner } else { Side::Donor };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        // Its metrics are no reason to lose a transfer.
        if let Err(error) = counters::add(Path::new(path), side, outcome.is_ok(), &progress, now) {
            report.line(format!("the transfer is not counted: {path}: {error}"));
        }
    }
    outcome
}

/// Waits in a thread for the end of the server, and then calls `gone` unless the transfer is over. A server that stops
/// does not notify this program, which would otherwise keep the port that the next attempt needs. `output` is the pipe
/// to the server.
pub fn watch(
    arguments: &Arguments,
    output: impl AsFd + Send + 'static,
    server_pipe: Arc<ServerPipe>,
    gone: impl FnOnce(Error) + Send + 'static,
) {
    let (parent, socket) = (arguments.parent, arguments.socket.clone());
    thread::spawn(move || {
        let parent = parent.or_else(|| listening_on(&socket?));
        Parent::new(parent, output.as_fd()).wait();
        if !server_pipe.is_over() {
            gone(Error::ServerGone);
        }
    });
}
