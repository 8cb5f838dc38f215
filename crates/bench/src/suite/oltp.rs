//! The cost of encryption for transactions: at rest, and on the connection.

mod causes;
mod driver;
mod limits;
mod option_file;
mod predicted;
mod schedule;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pki::{Authority, KeyType};
use server::Capability;

pub(crate) use self::limits::{check_directory, check_program};
pub use self::option_file::FileOptions;
pub(crate) use self::schedule::BETWEEN_RUNS;
use self::{
    causes::{Explained, explain},
    driver::{Drivers, LoadOf},
    predicted::Predicted,
    schedule::{Schedule, Step},
};
use super::{Collected, Outcome, Watch};
use crate::{
    Address, Arms, Certificates, ComparedBy, Environment, Error, Experiment, Pace, Proxy, Scale, Security, ServerArm,
    Settings, Subject, TableSet, TemporaryDirectory, TlsSettings, TlsVersion, Unit, WireArm,
    oltp::{BenchServer, Driver, Load, ServerSetup, SysbenchLoad, Wire},
    perf::Perf,
    predict::Calibration,
    sysbench::Sysbench,
    tls::{authority, is_mariadb, issue, tunnel_pair, version_of},
};

/// Part of the names of experiments with encryption at rest.
pub(crate) const AT_REST: &str = "encrypted at rest";
/// Part of the names of experiments with two equal servers only.
pub(crate) const EQUAL: &str = "two equal servers";
/// Part of the names of experiments with encryption on the wire.
pub(crate) const ON_THE_WIRE: &str = "connections, open all the time";
/// Name of the second of two equal servers.
pub(crate) const CLEAR_AGAIN: &str = "clear again";
/// The arms of two equal servers, as they are compared.
pub(crate) const EQUAL_SERVERS: [&str; 2] = [CLEAR_AGAIN, ServerArm::CLEAR.as_str()];

/// Parameters of the measurement.
#[derive(Debug)]
pub struct OltpSuite<'a> {
    /// This program, which is both ends of the tunnel.
    pub program: &'a Path,
    /// The server program; by default the first of `families` that is found.
    pub server: Option<&'a Path>,
    /// Names of server programs.
    pub families: &'a [&'static str],
    /// Directory below which servers live.
    pub directory: &'a Path,
    /// The compared arms.
    pub arms: Arms,
    /// Operations, data, clients and times.
    pub scale: Scale,
    /// Further numbers of clients, each with experiments of its own.
    pub more_clients: &'a [u32],
    /// Rate of the clients.
    pub pace: Pace,
    /// The program that runs the transactions.
    pub driver: Driver,
    /// Further options of all servers.
    pub server_options: &'a [String],
    /// Rounds and time budget of each experiment.
    pub settings: Settings<'a>,
    /// Time for the whole measurement, which the experiments share instead of a budget for each.
    pub time: Option<Duration>,
    /// Set to true to end the measurement.
    pub stopped: &'a Arc<AtomicBool>,
}

impl OltpSuite<'_> {
    /// How long the measurement takes at least, and at most if no step takes longer than planned.
    #[must_use]
    pub fn duration(&self) -> [Duration; 2] {
        Schedule::new(self).total()
    }

    /// Runs the measurement with the program that [`Self::check`] returned. If a signal interrupts it, the completed
    /// rounds are the outcome.
    ///
    /// # Errors
    /// [`Error`]: a server could not be started or used, or it was interrupted before the first round was completed.
    pub fn run(&self, program: &Path, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let mut collected = Collected::default();
        let environment = Environment::now(self.directory);
        let schedule = Schedule::new(self);
        let watch = |text: &str| watch(&format!("{text}{}", schedule.eta()));
        let measured = self.measure(program, &mut collected, &schedule, &watch);
        let interrupted = collected.end(measured, self.stopped)?;
        collected.notes.extend(self.method());
        Ok(Outcome { interrupted, ..collected.finish(environment, Subject::default()) })
    }

    fn measure(
        &self,
        program: &Path,
        collected: &mut Collected,
        schedule: &Schedule,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let scratch = TemporaryDirectory::below(self.directory)?;
        self.check_room(&scratch)?;
        let (ca, authority) = authority(&scratch.path().join("certificates"))?;
        let pair = issue(&authority, "server", KeyType::EcdsaP256)?;
        let near = issue(&authority, "near", KeyType::EcdsaP256)?;
        let setup = ServerSetup {
            server: program,
            directory: scratch.path(),
            authority: &ca,
            pair: &pair,
            mariadb: is_mariadb(&version_of(program)?),
            pool_bytes: self.scale.pool_bytes,
            options: self.server_options,
            tables: self.scale.tables,
            warm_up: self.settings.warm_up,
            stopped: self.stopped,
        };
        watch("a server in the clear");
        let clear = BenchServer::start(&setup, ServerArm::CLEAR, "a")?;
        collected.programs.push(clear.program());
        let certificates = Certificates { ca: ca.clone(), far: pair.clone(), near };
        let tunnel = self
            .arms
            .wires
            .contains(&WireArm::Tunnel)
            .then(|| tunnel(self.program, &clear, &certificates))
            .transpose()?;
        let wires = self.wires(&clear, &certificates, &authority, tunnel.as_ref(), collected)?;
        let all: Vec<Wire> = wires.iter().map(|(_, wire)| wire.clone()).collect();
        let perf = self.perf(scratch.path());
        let mut drivers = self.drivers(&clear, scratch.path(), &certificates, &all)?;
        collected.programs.extend(drivers.installed().map(Sysbench::program));
        collected.programs.extend(perf.iter().map(Perf::program));
        collected.notes.push(drivers.note());
        collected.notes.push(sampling(perf.as_ref().err()));
        drivers.perf = perf.ok();
        collected.notes.extend(self.arms.left_out.iter().cloned());
        let mut explained = self.at_rest(&setup, &clear, &drivers, collected, schedule, watch)?;
        if !wires.is_empty() {
            schedule.begin(Step::OnTheWire);
            explained.extend(self.on_the_wire(&clear, &wires, &drivers, collected, schedule, watch)?);
        }
        self.check_stopped()?;
        // Last, since its load would be one that only this server had.
        schedule.begin(Step::Prediction);
        watch("predicting the cost");
        let calibration = Calibration::measure(scratch.path());
        let load = self.load(drivers.sysbench(LoadOf::Prediction));
        let predicted = match calibration.and_then(|calibration| Predicted::of(&clear, load, calibration)) {
            Ok(predicted) => Some(predicted),
            Err(_) if self.stopped.load(Ordering::Relaxed) => return Err(Error::Interrupted),
            Err(error) => {
                collected.notes.push(format!("the cost could not be predicted: {error}"));
                None
            }
        };
        if let Some(predicted) = &predicted {
            predicted.compare(collected);
        }
        explain(collected, &explained, predicted.as_ref().map(|predicted| &predicted.prediction));
        Ok(())
    }

    /// `perf`, or the reason why it samples nothing.
    fn perf(&self, directory: &Path) -> Result<Perf, String> {
        if !self.settings.warm_up {
            return Err("it samples the runs that warm servers up, and there are none".to_owned());
        }
        Perf::find(directory)
    }

    /// An experiment that a signal ended returns its completed rounds; nothing is to begin after it.
    fn check_stopped(&self) -> Result<(), Error> {
        if self.stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Compares the servers with encryption to the server without it, and that one to a second one like it: their
    /// difference is the resolution. Returns all servers with what explains their processor time, nothing if there is no
    /// server with encryption.
    fn at_rest<'p>(
        &self,
        setup: &'p ServerSetup<'p>,
        clear: &BenchServer<'p>,
        drivers: &Drivers,
        collected: &mut Collected,
        schedule: &Schedule,
        watch: &Watch<'_>,
    ) -> Result<Vec<Explained>, Error> {
        watch("a second server in the clear");
        let again = BenchServer::start(setup, ServerArm::CLEAR, "b")?;
        let mut others = Vec::new();
        for (arm, directory) in self.arms.servers.iter().skip(1).zip('c'..) {
            watch(&format!("a server with {}", arm.as_str()));
            others.push((*arm, BenchServer::start(setup, *arm, &directory.to_string())?));
        }
        let compared = others
            .iter()
            .flat_map(|(arm, _)| arm.compared_with().iter().map(|to| (arm.as_str().to_owned(), (*to).to_owned())));
        let equal: (String, String) = EQUAL_SERVERS.map(str::to_owned).into();
        let compared: Vec<_> = [equal].into_iter().chain(compared).collect();
        let what = if others.is_empty() { EQUAL } else { AT_REST };
        schedule.begin(Step::AtRest);
        let settings = self.settings_of(schedule, others.len().saturating_add(2), self.arms.wires.len());
        for (name, load) in self.loads(what, drivers, LoadOf::AtRest) {
            self.check_stopped()?;
            // All arms run in the same rounds, so that the two equal servers age like the others.
            let equal = [(ServerArm::CLEAR.as_str(), clear), (CLEAR_AGAIN, &again)];
            let arms = equal.into_iter().chain(others.iter().map(|(arm, server)| (arm.as_str(), server)));
            let arms = arms.map(|(name, server)| server.arm(name, server.socket(), load));
            collected.run(self.experiment(&name).arms(arms), &settings, &compared, watch)?;
            if let Some(last) = collected.experiments.last_mut() {
                last.resolve_by_equal_arms();
            }
        }
        collected.notes.extend(others.iter().flat_map(|(_, server)| server.notes()));
        let servers = others.iter().map(|(arm, server)| (*arm, server));
        let servers = std::iter::once((ServerArm::CLEAR, clear)).chain(servers);
        let explained = match others.is_empty() {
            true => Vec::new(),
            false => servers.map(|(arm, server)| Explained::at_rest(arm, server.profile(arm.as_str()))).collect(),
        };
        others.into_iter().for_each(|(_, server)| server.end());
        again.end();
        Ok(explained)
    }

    /// How clients connect to the server in clear text. Leaves out kinds of keys that it cannot change to.
    fn wires(
        &self,
        clear: &BenchServer<'_>,
        certificates: &Certificates,
        authority: &Authority,
        tunnel: Option<&Proxy>,
        collected: &mut Collected,
    ) -> Result<Vec<(WireArm, Wire)>, Error> {
        let tls = TlsSettings::new(TlsVersion::Tls13, &certificates.ca, false);
        let tls = tls.map_err(|error| Error::Tls(error.to_string()))?;
        let can_change_key = clear.version().can(Capability::ReloadTls);
        let mut wires = Vec::new();
        for arm in &self.arms.wires {
            let wire = match arm {
                WireArm::Socket => clear.socket(),
                WireArm::Tcp => clear.tcp(Security::Plain),
                WireArm::Tls(_) if *arm != WireArm::TLS && !can_change_key => {
                    let reason = "this server reads its certificate when it starts only";
                    collected.notes.push(format!("{} was left out: {reason}", arm.as_str()));
                    continue;
                }
                WireArm::Tls(kind) => {
                    let certificate = can_change_key.then(|| issue(authority, arm.as_str(), *kind)).transpose()?;
                    Wire { certificate, ..clear.tcp(Security::Tls(tls.clone())) }
                }
                WireArm::Tunnel => {
                    let Some(tunnel) = tunnel else { continue };
                    Wire { address: Address::Tcp(tunnel.address), security: Security::Plain, certificate: None }
                }
            };
            wires.push((*arm, wire));
        }
        Ok(wires)
    }

    fn on_the_wire(
        &self,
        clear: &BenchServer<'_>,
        wires: &[(WireArm, Wire)],
        drivers: &Drivers,
        collected: &mut Collected,
        schedule: &Schedule,
        watch: &Watch<'_>,
    ) -> Result<Vec<Explained>, Error> {
        let compared = wires.iter().flat_map(|(arm, _)| {
            let to = arm.compared_with().iter().filter(|to| self.arms.wires.contains(to));
            to.map(|to| (arm.as_str().to_owned(), to.as_str().to_owned()))
        });
        let compared: Vec<_> = compared.collect();
        // The experiments before these are of the servers, with the same numbers of clients.
        let resolutions: Vec<_> = collected.experiments.iter().map(|one| one.resolution_percent).collect();
        let settings = self.settings_of(schedule, wires.len(), 0);
        for ((name, load), resolution) in self.loads(ON_THE_WIRE, drivers, LoadOf::Wires).into_iter().zip(resolutions) {
            self.check_stopped()?;
            let arms = wires.iter().map(|(arm, wire)| clear.arm(arm.as_str(), wire.clone(), load));
            collected.run(self.experiment(&name).arms(arms), &settings, &compared, watch)?;
            collected.resolve(resolution);
        }
        let explained = |(arm, _): &(WireArm, Wire)| Explained::on_the_wire(*arm, clear.profile(arm.as_str()));
        Ok(wires.iter().map(explained).collect())
    }

    /// The loads of an experiment, one for each number of clients, and its name with each. The first is also sampled.
    fn loads<'l>(&'l self, what: &str, drivers: &'l Drivers, of: LoadOf) -> Vec<(String, Load<'l>)> {
        let load = self.load(drivers.sysbench(of));
        let first = (what.to_owned(), Load { perf: drivers.perf.as_ref(), ..load });
        let more = self.more_clients.iter().map(|clients| {
            let name = format!("{what}, {clients} clients");
            (name, Load { clients: *clients, ..load })
        });
        [first].into_iter().chain(more).collect()
    }

    fn load<'l>(&'l self, sysbench: Option<&'l SysbenchLoad>) -> Load<'l> {
        Load {
            workload: self.scale.workload,
            tables: self.scale.tables,
            clients: self.scale.clients,
            pace: self.pace,
            sysbench,
            span: self.scale.span,
            perf: None,
            stopped: self.stopped,
        }
    }

    fn experiment<'e>(&'e self, what: &str) -> Experiment<'e> {
        let name = format!("{}, {what}", self.scale.workload.as_str());
        let compared_by = match self.pace {
            Pace::Closed => ComparedBy::Rate,
            Pace::Open(_) => ComparedBy::P95Latency,
        };
        Experiment::new(name).unit(Unit::Transactions).compared_by(compared_by)
    }

    /// Notes on the method.
    fn method(&self) -> Vec<String> {
        let TableSet { tables, rows, uniform, .. } = self.scale.tables;
        let access = if uniform { "all rows equally often" } else { "mostly one row in a hundred, as sysbench does" };
        let pace = match self.pace {
            Pace::Closed => "each sends the next transaction when the last one is done".to_owned(),
            Pace::Open(rate) => {
                format!(
                    "{rate} transactions begin per second; latencies count from when they were due, and arms are \
                     compared by their 95th percentile"
                )
            }
        };
        vec![
            format!(
                "{tables} tables of {rows} rows; {access}; buffer pool of {}",
                files::quantity::size(self.scale.pool_bytes)
            ),
            format!("{} clients, {} s a run; {pace}", self.scale.clients, self.scale.span.as_secs_f64()),
            "pages that were still changed at the end of a run were written, and encrypted, after it: that counts in the \
             CPU time and bytes of the server, not in the throughput"
                .to_owned(),
            "fsyncs are those that InnoDB counts, without those of the binary log".to_owned(),
            match self.server_options {
                [] => "sync_binlog and innodb_flush_log_at_trx_commit are 1".to_owned(),
                options => format!(
                    "sync_binlog and innodb_flush_log_at_trx_commit are 1, unless options of the servers change that: {}",
                    options.join(" ")
                ),
            },
        ]
    }
}

/// A note on `perf`, or why it was not used.
fn sampling(reason: Option<&String>) -> String {
    match reason {
        Some(reason) => format!("perf was not used: {reason}; the times of AES and others are calculated only"),
        None => "perf sampled the servers while they warmed up, in runs that were not measured".to_owned(),
    }
}

/// Both ends of a tunnel, the far end on the server's socket.
fn tunnel(program: &Path, clear: &BenchServer<'_>, certificates: &Certificates) -> Result<Proxy, Error> {
    tunnel_pair(program, clear.directory(), certificates, &clear.socket_path(), Duration::ZERO)
}
