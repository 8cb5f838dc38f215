//! `sealant tunnel near`: the end beside the applications.

use std::time::Duration;

use ::server::address::HostPort;
use ::tunnel::address::far_end;
use ::tunnel::{Listen, NearOptions, SocketAccess};
use clap::Args;

use super::{Files, Running, log};
use crate::cli::value;
use crate::exit::Exit;
use crate::output::message::{Failure, hint, info, warning};

/// Run the end beside the applications: a socket or port that clients use as if it were the server
#[derive(Debug, Args)]
pub(super) struct Near {
    /// Listen for applications here (repeatable, or separated by commas); sockets from systemd, if any, come first
    #[arg(long, value_name = "SOCKET|HOST:PORT", value_delimiter = ',', required = true)]
    listen: Vec<Listen>,
    /// Far end; of several, the first that works is used (repeatable, or separated by commas)
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', required = true, value_parser = far_end)]
    far: Vec<HostPort>,
    #[command(flatten)]
    files: Files,
    /// Name that the far ends' certificates must contain, if it is not the host in --far
    #[arg(long, value_name = "NAME", help_heading = "Certificates")]
    far_name: Option<String>,
    /// Permissions of the socket: whoever may write to it can try to log in to the server
    #[arg(long, value_name = "MODE", default_value = "0660", value_parser = value::permissions)]
    socket_mode: u32,
    /// Group of the socket, by name or number, such as the applications' group [default: that of the process]
    #[arg(long, value_name = "GROUP", value_parser = files::accounts::group)]
    socket_group: Option<u32>,
    /// Hide from applications that the server offers TLS, so that they do not encrypt again inside the tunnel
    ///
    /// Applications that require TLS do not connect then.
    #[arg(long)]
    hide_tls: bool,
    /// Maximum number of server connections kept ready for applications
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warm_max: u32,
    /// Minimum number of server connections kept ready, even if no application has connected for long; the server
    /// counts those that are replaced as aborted
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warm_min: u32,
    /// Maximum age of a ready connection; half of the server's connect_timeout (10 s) is a good value
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = value::time)]
    warm_age: Duration,
    /// How long an application waits for a server connection before it gets an error
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = value::time)]
    wait: Duration,
    /// Maximum number of connections from applications
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_clients: u32,
    /// How often to try a far end again that has failed
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = value::time)]
    health_interval: Duration,
    /// Time limit for an answer of a far end
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = value::time)]
    connect_timeout: Duration,
    /// How long open sessions may go on after the tunnel is asked to stop
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = value::time)]
    drain: Duration,
    /// Allow a port that other hosts can reach: passwords and data then cross the network in clear text up to here
    #[arg(long)]
    insecure_plaintext_listener: bool,
    #[command(flatten)]
    running: Running,
}

impl Near {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let options = self.options();
        self.running.run(async {
            let near = ::tunnel::Near::open(options, log())?;
            for tried in near.try_far_ends().await {
                match tried {
                    Ok(far_end) => info(&far_end.to_string()),
                    // The far end may come up later.
                    Err(error) => {
                        warning(&error.to_string());
                        error.hint().into_iter().for_each(hint);
                    }
                }
            }
            info(&near.ready_text());
            near.run().await;
            Ok(())
        })
    }

    fn options(&self) -> NearOptions {
        NearOptions {
            listen: self.listen.clone(),
            socket: SocketAccess { mode: self.socket_mode, group: self.socket_group },
            plaintext_listener: self.insecure_plaintext_listener,
            fars: self.far.clone(),
            far_name: self.far_name.clone(),
            credentials: self.files.credentials(),
            warm_max: self.warm_max as usize,
            warm_min: self.warm_min.min(self.warm_max) as usize,
            warm_age: self.warm_age,
            wait: self.wait,
            max_clients: self.max_clients as usize,
            hide_tls: self.hide_tls,
            health_interval: self.health_interval,
            connect_timeout: self.connect_timeout,
            drain: self.drain,
            metrics: self.running.metrics,
        }
    }
}
