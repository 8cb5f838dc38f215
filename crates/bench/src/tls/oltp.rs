//! sysbench transactions, over any path to the server.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use crate::{
    Arm, Error, Work,
    sysbench::{Sysbench, figure, total_seconds},
    tls::accounts::{OLTP_DATABASE, USER},
};

const TABLES: u32 = 4;
/// Rows in each table: the tables take about 9 MB together, so they stay in memory.
const ROWS: u32 = 10_000;

/// sysbench with a number of clients.
#[derive(Clone, Debug)]
pub struct Oltp {
    sysbench: Sysbench,
    clients: u32,
}

impl Oltp {
    /// # Errors
    /// [`Error::Sysbench`] if sysbench is not installed, or is too old.
    pub fn new(clients: u32) -> Result<Self, Error> {
        Ok(Self { sysbench: Sysbench::find()?, clients })
    }

    /// Creates sysbench's tables.
    ///
    /// # Errors
    /// [`Error::Program`] with sysbench's error.
    pub fn prepare(&self, server: SocketAddr) -> Result<(), Error> {
        self.run(server, &["prepare".to_owned()]).map(drop)
    }

    /// Runs transactions for `span`, at least a second.
    pub fn arm<'a>(&self, name: String, server: SocketAddr, span: Duration) -> Arm<'a> {
        let (oltp, arm_name) = (self.clone(), name.clone());
        Arm::self_timed(name, move || {
            let began = Instant::now();
            let seconds = span.as_secs().max(1);
            let clients = oltp.clients;
            let more = [format!("--time={seconds}"), format!("--threads={clients}"), "run".to_owned()];
            let output = oltp.run(server, &more)?;
            let unread =
                || Error::Work { arm: arm_name.clone(), reason: "sysbench reported no transactions".to_owned() };
            let amount = figure(&output, "transactions:").and_then(|count| count.parse().ok()).ok_or_else(unread)?;
            let seconds = total_seconds(&output).unwrap_or_else(|| began.elapsed().as_secs_f64());
            Ok(Work { amount, seconds: Some(seconds), ..Work::default() })
        })
    }

    fn run(&self, server: SocketAddr, more: &[String]) -> Result<String, Error> {
        let command = self.sysbench.command().arg(self.sysbench.script("oltp_read_write"));
        let command = command.args([
            "--db-driver=mysql".to_owned(),
            format!("--mysql-user={USER}"),
            format!("--mysql-db={OLTP_DATABASE}"),
            format!("--mysql-host={}", server.ip()),
            format!("--mysql-port={}", server.port()),
            format!("--tables={TABLES}"),
            format!("--table-size={ROWS}"),
        ]);
        let output = command.args(more).output().map_err(|error| self.sysbench.failed(&error.to_string()))?;
        let output = output.ok_or_else(|| self.sysbench.failed("does not end"))?;
        if output.is_success() { Ok(output.stdout) } else { Err(self.sysbench.failed(&output.stdout)) }
    }
}
