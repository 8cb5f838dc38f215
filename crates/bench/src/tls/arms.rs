//! Arms: connections one after the other, queries on one connection, results of many bytes.

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    Arm, Error, Work,
    tls::{
        client::{Address, Client, Security},
        daemon::{Daemon, KeyPairFiles, ROW_BYTES, USER},
    },
};

/// Before it is timed, an arm runs for this share of its time: an application that connects often finds caches,
/// tickets and waiting connections as it left them.
const WARM_UP: u32 = 4;

/// One way to the server.
#[derive(Clone)]
pub struct Way<'a> {
    /// Its name.
    pub name: String,
    /// Where the client connects to.
    pub address: SocketAddr,
    /// What it does there.
    pub client: ClientKind,
    /// The certificate that the server has to serve for it.
    pub serves: Option<(&'a Daemon, KeyPairFiles)>,
}

/// Who connects.
#[derive(Clone)]
pub enum ClientKind {
    /// The least client, as a driver in a running application.
    Driver(Security),
    /// `mysql` or `mariadb`, started for each connection: what scripts do.
    Program {
        /// The client.
        program: PathBuf,
        /// What says how it is protected.
        options: Vec<String>,
    },
}

/// Opens and closes one connection after the other for that long.
pub fn connections<'a>(way: Way<'a>, span: Duration) -> Arm<'a> {
    let own = way.name.clone();
    Arm::timing_itself(way.name.clone(), move || {
        way.prepare()?;
        repeat(span / WARM_UP, || way.connect(false).map_err(|error| failed(&own, &error)))?;
        repeat(span, || way.connect(true).map_err(|error| failed(&own, &error)))
    })
}

/// Asks for one row again and again for that long.
pub fn queries<'a>(way: Way<'a>, span: Duration) -> Arm<'a> {
    asking(way, span, "SELECT 1".to_owned(), |_| 1)
}

/// Asks for about so many bytes, again and again for that long.
pub fn results<'a>(way: Way<'a>, span: Duration, bytes: u64) -> Arm<'a> {
    let rows = bytes.div_ceil(ROW_BYTES);
    // The table has a thousand rows.
    let table = if rows <= 1000 { "bench.noise a" } else { "bench.noise a, bench.noise b" };
    let sql = format!("SELECT a.v FROM {table} LIMIT {rows}");
    asking(way, span, sql, |answer| answer)
}

/// `count` makes an amount of the bytes of an answer.
fn asking<'a>(way: Way<'a>, span: Duration, sql: String, count: fn(u64) -> u64) -> Arm<'a> {
    let own = way.name.clone();
    let mut expected = None;
    Arm::timing_itself(way.name.clone(), move || {
        way.prepare()?;
        let mut client = way.open().map_err(|error| failed(&own, &error))?;
        let mut ask = || {
            let answer = client.query(&sql).map_err(|error| failed(&own, &error))?;
            let before = *expected.get_or_insert(answer);
            if before != answer {
                let reason = format!("an answer of {answer} bytes where {before} were before");
                return Err(Error::Work { arm: own.clone(), reason });
            }
            Ok(count(answer))
        };
        repeat(span / WARM_UP, &mut ask)?;
        let work = repeat(span, &mut ask)?;
        client.quit();
        Ok(work)
    })
}

/// Again and again for that long, and once at least.
fn repeat(span: Duration, mut act: impl FnMut() -> Result<u64, Error>) -> Result<Work, Error> {
    let began = Instant::now();
    let mut amount = 0;
    loop {
        amount += act()?;
        let elapsed = began.elapsed();
        if elapsed >= span {
            return Ok(Work { amount, seconds: Some(elapsed.as_secs_f64()), detail: None });
        }
    }
}

impl Way<'_> {
    fn prepare(&self) -> Result<(), Error> {
        self.serves.as_ref().map_or(Ok(()), |(daemon, pair)| daemon.serve(pair))
    }

    fn open(&self) -> io::Result<Client> {
        match &self.client {
            ClientKind::Driver(security) => Client::open(&Address::Tcp(self.address), USER, security),
            ClientKind::Program { .. } => Err(io::Error::other("a program is no connection")),
        }
    }

    /// Whether the server resumes sessions, if that is what is to be measured.
    ///
    /// # Errors
    /// [`Error::Work`] if it cannot be connected to.
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

    /// Connects once. The first connection has nothing to resume; every one of `the_timed` has to.
    fn connect(&self, the_timed: bool) -> io::Result<u64> {
        match &self.client {
            ClientKind::Driver(security) => {
                let client = self.open()?;
                if the_timed && security.resumes() && !client.is_resumed() {
                    return Err(io::Error::other("the server did not resume a session"));
                }
                client.quit();
            }
            ClientKind::Program { program, options } => {
                let mut command = Command::new(program);
                command.arg("--no-defaults").args(options).args(["--user", USER, "--protocol", "tcp", "--host"]);
                command.arg(self.address.ip().to_string()).args(["--port", &self.address.port().to_string()]);
                // A question of no rows, so that it connects at all.
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
