//! What verbs that change a server have in common: which server, and being asked before.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use server::{Options, Target};

use crate::cli::connect::{self, Login};
use crate::output::message::Failure;

/// The server that is changed.
#[derive(Debug, Args)]
pub(crate) struct Server {
    /// The server, as mysql://USER@HOST:PORT; localhost means TCP here, see --socket
    #[arg(value_name = "URL", conflicts_with = "socket")]
    url: Option<String>,
    /// The server, by its unix socket
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    #[command(flatten)]
    login: Login,
}

/// What to say if no server is named.
const NOTHING_NAMED: [&str; 2] = ["no server is named", "give mysql://USER@HOST:PORT or --socket PATH"];

impl Server {
    /// Where to connect and how.
    pub(crate) fn connection(&self) -> Result<(Target, Options), Failure> {
        connect::connection(self.url.as_deref(), self.socket.as_deref(), &self.login, NOTHING_NAMED)
    }
}

/// Shows the plan on stderr, since stdout is for the report, and asks for a yes. `alone` is the command
/// that shows the plan alone.
pub(crate) fn confirm(alone: &str, plan: &dyn Fn(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    let unheard = |e: std::io::Error| Failure::new(format!("the plan cannot be confirmed: {e}"));
    if !std::io::stdin().is_terminal() {
        let hint = format!("look at it with `sealant {alone}`, then give --yes");
        return Err(Failure::usage("nobody is there to confirm the plan").hint(hint));
    }
    let mut err = std::io::stderr();
    plan(&mut err).map_err(unheard)?;
    write!(err, "\nGo on? Type yes: ").and_then(|()| err.flush()).map_err(unheard)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(unheard)?;
    if answer.trim() == "yes" { Ok(()) } else { Err(Failure::new("not confirmed; nothing was changed")) }
}
