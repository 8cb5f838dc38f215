//! Arms: consecutive connections, queries on one connection, large results.

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crate::{
    Arm, Error, Work,
    tls::{
        accounts::{ROW_BYTES, USER},
        client::Client,
        security::{Address, Security},
        temporary_server::{KeyPairFiles, TemporaryServer},
    },
};

/// An arm is warmed up for this fraction of its time: an application that connects often finds caches, tickets and
/// pooled connections already filled.
const WARM_UP: u32 = 4;

/// One path to the server.
#[derive(Clone)]
pub struct Route<'a> {
    /// Name in the report.
    pub name: String,
    /// Address that the client connects to.
    pub address: SocketAddr,
    /// Kind of client.
    pub client: ClientKind,
    /// The flag that a signal sets to end a run.
    pub stopped: Option<&'a AtomicBool>,
    /// The certificate that the server must present.
    pub certificate: Option<(&'a TemporaryServer, KeyPairFiles)>,
}

/// Kind of client.
#[derive(Clone)]
pub enum ClientKind {
    /// The minimal client, like a driver in a running application.
    Driver(Security),
    /// `mysql` or `mariadb`, started for each connection, as scripts do.
    Program {
        /// Path of the client.
        program: PathBuf,
        /// Options that determine its security.
        options: Vec<String>,
    },
}

/// Opens and closes connections, one after the other, for `span`.
pub fn connections<'a>(route: Route<'a>, span: Duration) -> Arm<'a> {
    let arm_name = route.name.clone();
    Arm::self_timed(route.name.clone(), move || {
        route.prepare()?;
        repeat(span / WARM_UP, route.stopped, || route.connect(false).map_err(|error| failed(&arm_name, &error)))?;
        repeat(span, route.stopped, || route.connect(true).map_err(|error| failed(&arm_name, &error)))
    })
}

/// Selects one row, repeatedly, for `span`.
pub fn queries<'a>(route: Route<'a>, span: Duration) -> Arm<'a> {
    query_arm(route, span, "SELECT 1".to_owned(), |_| 1)
}

/// Runs a query with a result of about `bytes` bytes, repeatedly, for `span`.
pub fn results<'a>(route: Route<'a>, span: Duration, bytes: u64) -> Arm<'a> {
    let rows = bytes.div_ceil(ROW_BYTES);
    // The table has a thousand rows.
    let table = if rows <= 1000 { "bench.noise a" } else { "bench.noise a, bench.noise b" };
    let sql = format!("SELECT a.v FROM {table} LIMIT {rows}");
    query_arm(route, span, sql, |answer| answer)
}

/// An arm that runs a query repeatedly. `count` converts the length of an answer to an amount of work.
fn query_arm<'a>(route: Route<'a>, span: Duration, sql: String, count: fn(u64) -> u64) -> Arm<'a> {
    let arm_name = route.name.clone();
    let mut expected = None;
    Arm::self_timed(route.name.clone(), move || {
        route.prepare()?;
        let mut client = route.open().map_err(|error| failed(&arm_name, &error))?;
        let mut ask = || {
            let answer = client.query(&sql).map_err(|error| failed(&arm_name, &error))?;
            let before = *expected.get_or_insert(answer);
            if before != answer {
                let reason = format!("an answer of {answer} bytes, after one of {before}");
                return Err(Error::Work { arm: arm_name.clone(), reason });
            }
            Ok(count(answer))
        };
        repeat(span / WARM_UP, route.stopped, &mut ask)?;
        let work = repeat(span, route.stopped, &mut ask)?;
        client.quit();
        Ok(work)
    })
}

/// Repeats `act` for `span`, at least once, or until a signal.
fn repeat(
    span: Duration,
    stopped: Option<&AtomicBool>,
    mut act: impl FnMut() -> Result<u64, Error>,
) -> Result<Work, Error> {
    let began = Instant::now();
    let mut amount = 0;
    loop {
        amount += act()?;
        if stopped.is_some_and(|stopped| stopped.load(Ordering::Relaxed)) {
            return Err(Error::Interrupted);
        }
        let elapsed = began.elapsed();
        if elapsed >= span {
            return Ok(Work { amount, seconds: Some(elapsed.as_secs_f64()), ..Work::default() });
        }
    }
}

impl Route<'_> {
    fn prepare(&self) -> Result<(), Error> {
        self.certificate.as_ref().map_or(Ok(()), |(daemon, pair)| daemon.install_certificate(pair))
    }

    fn open(&self) -> io::Result<Client> {
        match &self.client {
            ClientKind::Driver(security) => Client::open(&Address::Tcp(self.address), USER, security),
            ClientKind::Program { .. } => Err(io::Error::other("a program is no connection")),
        }
    }

    /// Whether the server resumes sessions, if resumption is to be measured.
    ///
    /// # Errors
    /// [`Error::Work`] if the connection fails.
    pub fn is_possible(&self) -> Result<bool, Error> {
        self.prepare()?;
        let failed = |error| failed(&self.name, &error);
        self.connect(false).map_err(failed)?;
        match &self.client {
            ClientKind::Driver(security) if security.resumes() => {
                let client = self.open().map_err(failed)?;
                let resumed = client.is_resumed();
                client.quit();
                Ok(resumed)
            }
            _ => Ok(true),
        }
    }

    /// Connects once. The first connection has nothing to resume; every timed one must resume.
    fn connect(&self, is_timed: bool) -> io::Result<u64> {
        match &self.client {
            ClientKind::Driver(security) => {
                let client = self.open()?;
                if is_timed && security.resumes() && !client.is_resumed() {
                    return Err(io::Error::other("the server did not resume a session"));
                }
                client.quit();
            }
            ClientKind::Program { program, options } => {
                let mut command = Command::new(program);
                command.arg("--no-defaults").args(options).args(["--user", USER, "--protocol", "tcp", "--host"]);
                command.arg(self.address.ip().to_string()).args(["--port", &self.address.port().to_string()]);
                // A query without rows, so that the client really connects.
                let output = command.args(["--execute", "DO 0"]).stdin(Stdio::null()).output()?;
                if !output.status.success() {
                    return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
                }
            }
        }
        Ok(1)
    }
}

fn failed(arm: &str, error: &io::Error) -> Error {
    Error::Work { arm: arm.to_owned(), reason: error.to_string() }
}
