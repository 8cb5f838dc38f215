//! A load that sysbench runs, with its own statements and random rows.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use super::load::{Done, Load, Wire};
use crate::{
    Error, KeyPairFiles, Latencies,
    processor::children_seconds,
    sysbench::{self, Sysbench},
    tls::{Address, OLTP_DATABASE, Security, USER},
};

/// Interval at which a run is checked for its end and for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How much longer than planned a run may take.
const GRACE: Duration = Duration::from_secs(60);
/// Largest seed. sysbench takes an `int`, and 0 means a seed of its own choice.
const SEEDS: u64 = 0x7fff_fffe;
/// Nanoseconds in a millisecond, the unit of the reports.
const MILLISECOND: f64 = 1e6;

/// sysbench, and a directory for its scripts, certificates and reports.
#[derive(Clone, Debug)]
pub(crate) struct SysbenchLoad {
    sysbench: Sysbench,
    directory: PathBuf,
}

/// Wraps a script of sysbench, to count the events of each client: the report has only their mean and deviation.
const COUNTING: &str = "\
local run, finish, events = event, thread_done, 0
function event()
   run()
   events = events + 1
end
function thread_done()
   io.write(string.format('client %d\\n', events))
   finish()
end
";

/// Wraps a script, to say which version of TLS the connection has.
const PROBING: &str = "\
local finish = thread_done
function thread_done()
   local _, version = con:query_row(\"SHOW SESSION STATUS LIKE 'Ssl_version'\")
   io.write(string.format('tls %s\\n', version or ''))
   finish()
end
";

impl SysbenchLoad {
    /// Prepares the private directory `directory`. sysbench reads certificates from fixed names in its working directory.
    pub(crate) fn new(
        sysbench: Sysbench,
        directory: PathBuf,
        authority: &Path,
        pair: &KeyPairFiles,
    ) -> Result<Self, Error> {
        fs::create_dir(&directory).map_err(Error::file(&directory))?;
        let files = [(authority, "cacert.pem"), (&pair.certificate, "client-cert.pem"), (&pair.key, "client-key.pem")];
        for (from, name) in files {
            fs::copy(from, directory.join(name)).map_err(Error::file(from))?;
        }
        Ok(Self { sysbench, directory })
    }

    /// The program.
    pub(crate) const fn sysbench(&self) -> &Sysbench {
        &self.sysbench
    }

    /// Runs one transaction over this connection.
    ///
    /// # Errors
    /// [`Error`]: it cannot connect, or not with the wanted security.
    pub(crate) fn probe(&self, load: &Load<'_>, wire: &Wire) -> Result<(), Error> {
        let script = self.script("probe.lua", load, PROBING)?;
        let once = ["--threads=1", "--time=0", "--events=1"].map(str::to_owned);
        let report = self.run_script(&script, load, wire, &once)?;
        let version = sysbench::figure(&report, "tls").unwrap_or_default();
        if version != wire.security.session_version() {
            return Err(self.sysbench.failed(&format!("its connection has the TLS version {version:?}")));
        }
        Ok(())
    }

    /// Runs a load, for whole seconds.
    pub(super) fn run(&self, load: &Load<'_>, wire: &Wire, seed: u64) -> Result<Done, Error> {
        let script = self.script("load.lua", load, COUNTING)?;
        let options = [
            format!("--threads={}", load.clients),
            format!("--time={}", load.span.as_secs().max(1)),
            format!("--rand-seed={}", 1 + seed % SEEDS),
            format!("--rand-type={}", if load.tables.uniform { "uniform" } else { "special" }),
            "--histogram=on".to_owned(),
        ];
        let cpu = children_seconds();
        let report = self.run_script(&script, load, wire, &options)?;
        let cpu_seconds = (children_seconds() - cpu).max(0.0);
        let done = done(&report).ok_or_else(|| self.sysbench.failed("its report is incomplete"))?;
        Ok(Done { cpu_seconds, ..done })
    }

    fn script(&self, name: &str, load: &Load<'_>, wrapper: &str) -> Result<PathBuf, Error> {
        let path = self.directory.join(name);
        let text = format!("require('{}')\n{wrapper}", load.workload.as_str());
        fs::write(&path, text).map_err(Error::file(&path))?;
        Ok(path)
    }

    /// Runs a script to its end, and returns its report. A signal ends it at once.
    fn run_script(&self, script: &Path, load: &Load<'_>, wire: &Wire, options: &[String]) -> Result<String, Error> {
        let path = self.directory.join("report");
        let file = || File::create(&path).and_then(|file| Ok((file.try_clone()?, file))).map_err(Error::file(&path));
        let (stdout, stderr) = file()?;
        // The account has no password, so that none is among the arguments.
        let command = self.sysbench.command().directory(&self.directory).arg(script);
        let command = command.args(["--db-driver=mysql", &format!("--mysql-user={USER}")]);
        let command = command.args([format!("--mysql-db={OLTP_DATABASE}"), format!("--tables={}", load.tables.tables)]);
        let command = command.arg(format!("--table-size={}", load.tables.rows));
        let command = command.args(self.connection_options(wire)).args(options).arg("run");
        let started = command.start(stdout, stderr);
        let mut running = started.map_err(|error| self.sysbench.failed(&error.to_string()))?;
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = running.wait(POLL_INTERVAL).map_err(|e| self.sysbench.failed(&e.to_string()))? {
                break status;
            }
            if load.stopped.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            if begin.elapsed() > load.span + GRACE {
                return Err(self.sysbench.failed("does not end"));
            }
        };
        if load.stopped.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let report = fs::read(&path).map_err(Error::file(&path))?;
        let report = String::from_utf8_lossy(&report).into_owned();
        if status.success() { Ok(report) } else { Err(self.sysbench.failed(&report)) }
    }

    fn connection_options(&self, wire: &Wire) -> Vec<String> {
        let mut options = match &wire.address {
            Address::Socket(path) => vec![format!("--mysql-socket={}", self.relative(path).display())],
            Address::Tcp(address) => {
                vec![format!("--mysql-host={}", address.ip()), format!("--mysql-port={}", address.port())]
            }
        };
        if let Security::Tls(_) = wire.security {
            options.push("--mysql-ssl=on".to_owned());
        }
        options
    }

    /// The path of a server's socket as seen from the working directory, since sysbench splits an option at commas,
    /// which the user's directory may have.
    fn relative(&self, socket: &Path) -> PathBuf {
        let scratch = self.directory.parent();
        let within = scratch.and_then(|scratch| socket.strip_prefix(scratch).ok());
        within.map_or_else(|| socket.to_owned(), |within| Path::new("..").join(within))
    }
}

/// The figures of a report; `None` if some are missing, or the clients' events are not all events.
fn done(report: &str) -> Option<Done> {
    let mut latencies = Latencies::default();
    for (milliseconds, events) in sysbench::histogram(report) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a latency, not negative")]
        latencies.record_many((milliseconds * MILLISECOND).round() as u64, events);
    }
    let number = |name: &str| sysbench::figure(report, name)?.parse::<u64>().ok();
    let by_client = report.lines().filter_map(|line| line.strip_prefix("client ")?.trim().parse().ok());
    let by_client: Vec<u64> = by_client.collect();
    let events = number("total number of events:")?;
    let is_complete = by_client.iter().sum::<u64>() == events && latencies.count() == events;
    is_complete.then_some(Done {
        seconds: sysbench::total_seconds(report)?,
        latencies,
        by_client,
        statements: number("queries:")?,
        restarts: number("ignored errors:")?,
        ..Done::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report of two clients, one of which ran `events` events.
    fn report(events: u64) -> String {
        format!(
            "client 2\nclient {events}\nLatency histogram (values are in milliseconds)\n       1.500 |** 2\n      \
             3.000 |*** 3\n \nSQL statistics:\n    queries:   100 (50.00 per sec.)\n    ignored errors:  4 (2.00 per \
             sec.)\n    total time:    2.5000s\n    total number of events:    5\n"
        )
    }

    #[test]
    fn a_report_gives_latencies_and_the_share_of_each_client() {
        let done = done(&report(3)).unwrap();
        assert_eq!((done.by_client, done.statements, done.restarts), (vec![2, 3], 100, 4));
        assert_eq!((done.seconds, done.latencies.count()), (2.5, 5));
        let median = done.latencies.percentile(50.0);
        assert!((0.00299..0.00301).contains(&median), "{median}");
    }

    #[test]
    fn a_report_without_some_figures_is_no_result() {
        assert!(done(&report(2)).is_none(), "events that no client ran");
        assert!(done(&report(3).replace("queries:", "")).is_none());
        assert!(done("").is_none());
    }

    #[test]
    fn no_argument_holds_a_password_or_a_comma() {
        let sysbench = Sysbench::at("/usr/bin/sysbench", "1.0.20");
        let load = SysbenchLoad { sysbench, directory: "/tmp/a,b/sysbench".into() };
        let wire =
            Wire { address: Address::Tcp(([127, 0, 0, 1], 3306).into()), security: Security::Plain, certificate: None };
        assert_eq!(load.connection_options(&wire), ["--mysql-host=127.0.0.1", "--mysql-port=3306"]);
        let wire =
            Wire { address: Address::Socket("/tmp/a,b/c/sql".into()), security: Security::Plain, certificate: None };
        assert_eq!(load.connection_options(&wire), ["--mysql-socket=../c/sql"]);
    }
}
