//! `sealant tunnel near`: the end beside the applications.

use std::time::Duration;

use ::tunnel::{FarAddress, Listen, NearOptions, SocketAccess};
use clap::Args;

use super::{Files, Running, log};
use crate::cli::value;
use crate::exit::Exit;
use crate::output::message::{Failure, hint, info, warning};

/// The end beside the applications: a socket or port that stands for the server
#[derive(Debug, Args)]
pub(super) struct Near {
    /// Listen for applications here (repeatable, or with commas between); systemd's sockets, if there are any, come first
    #[arg(long, value_name = "SOCKET|HOST:PORT", value_delimiter = ',', required = true)]
    listen: Vec<Listen>,
    /// The far end; if there are several, the first that works (repeatable, or with commas between)
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', required = true)]
    far: Vec<FarAddress>,
    #[command(flatten)]
    files: Files,
    /// The name that far ends' certificates have to carry, if it is not the host in --far
    #[arg(long, value_name = "NAME", help_heading = "Certificates")]
    far_name: Option<String>,
    /// Permissions of the socket: whoever may write to it reaches the server's log-in
    #[arg(long, value_name = "MODE", default_value = "0660", value_parser = mode)]
    socket_mode: u32,
    /// Group of the socket, that of the applications, by name or number [default: that of the process]
    #[arg(long, value_name = "GROUP", value_parser = files::accounts::group)]
    socket_group: Option<u32>,
    /// Do not show that the server offers TLS, so that applications do not encrypt within the tunnel, too
    ///
    /// Applications that insist on TLS do not connect then.
    #[arg(long)]
    hide_tls: bool,
    /// The most connections to the server that wait for an application
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warm_max: u32,
    /// So many wait even if no application has come for long; the server counts those that are replaced as aborted
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warm_min: u32,
    /// How long one may wait before it is given up; half of the server's connect_timeout (10 s) is right
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = value::time)]
    warm_age: Duration,
    /// How long an application waits for a connection to the server before it gets an error
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = value::time)]
    wait: Duration,
    /// Applications' connections at once
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_clients: u32,
    /// How often a far end that failed is tried again
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = value::time)]
    health_interval: Duration,
    /// Give up on a far end that does not answer within this time
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = value::time)]
    connect_timeout: Duration,
    /// When told to stop, let sessions go on for this time
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = value::time)]
    drain: Duration,
    /// Let a port be reachable from other hosts: passwords and data cross the network in clear text up to here
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
            for (far, tried) in near.try_fars().await {
                match tried {
                    Ok(()) => info(&format!("far end {}:{} answers", far.host, far.port)),
                    // It may come later.
                    Err(error) => {
                        warning(&error.to_string());
                        error.hint().into_iter().for_each(hint);
                    }
                }
            }
            info(&format!("ready: near end on {}", near.addresses().join(", ")));
            near.run().await;
            info("stopped");
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

fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).map_err(|_| "it is no octal number such as 0660".to_owned())?;
    if mode <= 0o777 { Ok(mode) } else { Err("it has more than permissions".to_owned()) }
}
