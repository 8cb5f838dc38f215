//! sysbench transactions, over any path to the server.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    Arm, Error, Work,
    program::output,
    tls::accounts::{OLTP_DATABASE, USER},
};

const TABLES: u32 = 4;
/// Rows in each table: the tables take about 9 MB together, so they stay in memory.
const ROWS: u32 = 10_000;

/// sysbench with a number of clients.
#[derive(Clone, Debug)]
pub struct Oltp {
    program: PathBuf,
    clients: u32,
}

impl Oltp {
    /// # Errors
    /// [`Error::Program`] if sysbench is not installed.
    pub fn new(clients: u32) -> Result<Self, Error> {
        let program = process::find("sysbench");
        let not_installed = || Error::Program { program: "sysbench".to_owned(), reason: "not in PATH".to_owned() };
        Ok(Self { program: program.ok_or_else(not_installed)?, clients })
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
            let amount = transactions(&output).ok_or_else(unread)?;
            let seconds = total_time(&output).unwrap_or_else(|| began.elapsed().as_secs_f64());
            Ok(Work { amount, seconds: Some(seconds), ..Work::default() })
        })
    }

    fn run(&self, server: SocketAddr, more: &[String]) -> Result<String, Error> {
        let mut command = Command::new(&self.program);
        // If an installation was moved from its build path, its scripts are found relative to the program.
        let scripts = self.program.ancestors().nth(2).map(|base| base.join("share/sysbench"));
        let script = scripts.map(|scripts| (scripts.join("oltp_read_write.lua"), scripts.join("?.lua;")));
        match script.filter(|(script, _)| script.is_file()) {
            Some((script, path)) => command.env("LUA_PATH", path).arg(script),
            None => command.arg("oltp_read_write"),
        };
        command.args(["--db-driver=mysql", &format!("--mysql-user={USER}"), &format!("--mysql-db={OLTP_DATABASE}")]);
        command.arg(format!("--mysql-host={}", server.ip())).arg(format!("--mysql-port={}", server.port()));
        command.args([format!("--tables={TABLES}"), format!("--table-size={ROWS}")]).args(more);
        let ended = output(&mut command)?;
        let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
        if ended.status.success() {
            return Ok(stdout);
        }
        let message = stdout.lines().find(|line| line.contains("FATAL")).unwrap_or("it failed").trim().to_owned();
        Err(Error::Program { program: self.program.display().to_string(), reason: message })
    }
}

/// `    transactions:                        1234   (1233.55 per sec.)`
fn transactions(output: &str) -> Option<u64> {
    figure(output, "transactions:")?.parse().ok()
}

/// `    total time:                          1.0003s`
fn total_time(output: &str) -> Option<f64> {
    figure(output, "total time:")?.trim_end_matches('s').parse().ok()
}

fn figure<'s>(output: &'s str, name: &str) -> Option<&'s str> {
    let line = output.lines().find_map(|line| line.trim().strip_prefix(name));
    line?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_sysbench_is_parsed() {
        let output = "SQL statistics:\n    transactions:                        1234   (617.00 per sec.)\n\
                    General statistics:\n    total time:                          2.0004s\n";
        assert_eq!((transactions(output), total_time(output)), (Some(1234), Some(2.0004)));
        assert_eq!((transactions(""), total_time("")), (None, None));
    }
}
