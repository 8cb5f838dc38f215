//! `sealant bench tls`: what TLS costs the clients of a database server.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::bench::{
    Carrier, Certificates, ClientKind, Daemon, Environment, Experiment, ExperimentRecord, KeyPairFiles, Oltp, Program,
    Record, Relay, SCHEMA, Sample, Scratch, Security, Subject, TlsSettings, TlsVersion, Unit, Way, find_program,
    ssh_forward, stunnel_pair, tunnel_pair,
};
use ::cert::{Authority, KeyType, Order, Usage};
use clap::Args;

use super::effort::Effort;
use super::output::Output;
use super::{conditions, failure};
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::output::progress::StatusLine;

/// Measure what TLS costs clients: per connection, per query, per byte
///
/// Starts an empty server of its own on the loopback interface, of the `mariadbd` or `mysqld` that is installed, and
/// removes it afterwards. A driver that does the least that drivers do connects to it in the clear; with TLS 1.2 and
/// 1.3 of the server's own, with certificates of ECDSA P-256, RSA 2048 and RSA 4096, in whole handshakes and in resumed
/// ones; through `ssh -L` and a pair of stunnels, if these are installed; and through `sealant tunnel`. The command-line
/// client, started for each connection, shows what scripts pay; sysbench, with --oltp, what an application at work does.
///
/// Connections are measured one after the other, then queries on one connection, then results of many bytes.
/// Round trips are made by a relay of this program, which holds bytes for half of one in either direction and a new
/// connection for as long as TCP's own handshake takes. Kinds of keys and results are compared without a round trip
/// only: their cost is the processor's.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchTls {
    /// The server to start; default: `mariadbd` or `mysqld`, from PATH or /usr/sbin
    #[arg(long, value_name = "PROGRAM")]
    server_program: Option<PathBuf>,
    /// Round trips to measure at, in milliseconds
    #[arg(long, value_name = "MS", value_delimiter = ',', default_values_t = [0, 1, 40, 170], value_parser = clap::value_parser!(u16).range(..=2000))]
    round_trips: Vec<u16>,
    /// Results to measure, in bytes, or with k, M or G
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "1k,1M,100M", value_parser = value::decimal_bytes)]
    sizes: Vec<u64>,
    /// Measure transactions of sysbench (oltp_read_write) by so many clients, too; sysbench has to be installed
    #[arg(long, value_name = "CLIENTS", value_parser = clap::value_parser!(u32).range(1..=1000))]
    oltp: Option<u32>,
    /// Measure this program and the server's own TLS alone
    #[arg(long)]
    no_peers: bool,
    /// Directory below which the server lives; default: that for temporary files
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// How long each arm runs in each round, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(10..=60_000))]
    span: u32,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench tls
  sealant bench tls --round-trips 0,40 --html tls.html --raw tls.jsonl
  sealant bench tls --round-trips 0 --sizes 1G --oltp 8 --span 5000
  sealant bench tls --server-program /usr/sbin/mysqld --round-trips 0 --sizes 100M --no-peers";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "the server or a way to it could not be started, or an answer was not what it should be"),
    (Exit::Usage, "wrong usage"),
];

/// The server's programs, in the order they are looked for.
const SERVERS: [&str; 4] = ["mariadbd", "mysqld", "/usr/sbin/mariadbd", "/usr/sbin/mysqld"];
const KEYS: [(&str, KeyType); 3] =
    [("ECDSA", KeyType::EcdsaP256), ("RSA-2048", KeyType::Rsa2048), ("RSA-4096", KeyType::Rsa4096)];
/// Versions, each in whole handshakes and in resumed ones.
const KINDS: [(TlsVersion, bool); 4] =
    [(TlsVersion::Tls13, false), (TlsVersion::Tls13, true), (TlsVersion::Tls12, false), (TlsVersion::Tls12, true)];
const PLAIN: &str = "plain TCP";
const TUNNEL: &str = "sealant tunnel";
const PUBLISHED: &str = "published in 2013, on another machine, one client, connections per second: plain 1,000, \
                         TLS 22, SSH forwarding 480";

impl BenchTls {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.output.check()?;
        let below = self.into.clone().unwrap_or_else(std::env::temp_dir);
        let environment = Environment::now(&below);
        let scratch = Scratch::below(&below).map_err(failure)?;
        let status = self.output.status();
        status.show("starting a server");
        let site = Site::new(&self, &scratch)?;
        let Gathered { samples, experiments, missing } = site.measure(&status)?;
        status.clear();
        let daemon = &site.daemon;
        let mut notes = conditions(&environment);
        notes.push(PUBLISHED.to_owned());
        let family = if daemon.version().contains("MariaDB") { "MariaDB" } else { "MySQL" };
        let programs = vec![Program { name: family.to_owned(), version: Some(daemon.version().to_owned()) }];
        let (subject, opinions) = (Subject::default(), Vec::new());
        let record = Record { schema: SCHEMA, environment, subject, programs, missing, experiments, opinions, notes };
        self.output.write(&record, &samples)?;
        Ok(Exit::Clean)
    }

    fn server(&self) -> Result<PathBuf, Failure> {
        if let Some(program) = &self.server_program {
            let found = find_program(program.as_os_str());
            return found.ok_or_else(|| Failure::new(format!("{}: no such program", program.display())));
        }
        SERVERS.iter().find_map(|name| find_program(OsStr::new(name))).ok_or_else(|| {
            Failure::new("no mariadbd or mysqld in PATH or /usr/sbin").hint("name one with --server-program")
        })
    }

    fn span(&self) -> Duration {
        Duration::from_millis(self.span.into())
    }
}

/// Pairs of the server, by kind of key.
type ServerPairs = Vec<(&'static str, KeyPairFiles)>;

/// What it is measured on.
struct Site<'a> {
    options: &'a BenchTls,
    directory: &'a Path,
    certificates: Certificates,
    /// Of the server, by kind of key.
    pairs: ServerPairs,
    daemon: Daemon,
    oltp: Option<Oltp>,
    /// `mariadb` or `mysql`, and whether it is MariaDB's.
    client: Option<(PathBuf, bool)>,
}

/// What has been measured.
#[derive(Default)]
struct Gathered {
    samples: Vec<Sample>,
    experiments: Vec<ExperimentRecord>,
    missing: Vec<String>,
}

impl<'a> Site<'a> {
    fn new(options: &'a BenchTls, scratch: &'a Scratch) -> Result<Self, Failure> {
        let server = options.server()?;
        let directory = scratch.path();
        let (certificates, pairs) = certificates(&directory.join("certificates"))?;
        let place = directory.join("server");
        std::fs::create_dir(&place).map_err(|error| Failure::new(format!("{}: {error}", place.display())))?;
        let daemon = Daemon::start(&server, &place, &certificates.ca, &certificates.far).map_err(failure)?;
        let oltp = options.oltp.map(Oltp::new).transpose().map_err(failure)?;
        if let Some(oltp) = &oltp {
            oltp.prepare(daemon.address()).map_err(failure)?;
        }
        Ok(Self { options, directory, certificates, pairs, daemon, oltp, client: client_program(&server) })
    }

    fn measure(&self, status: &StatusLine) -> Result<Gathered, Failure> {
        let mut gathered = Gathered::default();
        let span = self.options.span();
        let connections = |way| ::bench::connections(way, span);
        let queries = |way| ::bench::queries(way, span);
        for &round_trip in &self.options.round_trips {
            let network = Network::new(self, round_trip, &mut gathered.missing)?;
            let ways = network.ways_to_connect(self, &mut gathered.missing)?;
            let connecting = network.experiment("connections, one after the other", Unit::Connections);
            gathered.add(self.run(connecting, ways, connections, status)?);
            let asking = network.experiment("SELECT 1 on an open connection", Unit::Queries);
            gathered.add(self.run(asking, network.ways_to_ask(self)?, queries, status)?);
            for &bytes in self.options.sizes.iter().filter(|_| round_trip == 0) {
                let results = |way| ::bench::results(way, span, bytes);
                let reading = Experiment::new(format!("results of {}", decimal(bytes)));
                gathered.add(self.run(reading, network.ways_to_ask(self)?, results, status)?);
            }
            if let Some(oltp) = &self.oltp {
                let name = format!("oltp_read_write of {} clients", self.options.oltp.unwrap_or_default());
                let ways = network.ways_in_the_clear(self);
                let trade = |way: Way<'_>| oltp.arm(way.name, way.address, span);
                gathered.add(self.run(network.experiment(&name, Unit::Transactions), ways, trade, status)?);
            }
        }
        gathered.missing.sort();
        gathered.missing.dedup();
        Ok(gathered)
    }

    /// Runs an experiment with an arm for each way.
    fn run<'w>(
        &self,
        experiment: Experiment<'w>,
        ways: Vec<Way<'w>>,
        arm: impl Fn(Way<'w>) -> ::bench::Arm<'w>,
        status: &StatusLine,
    ) -> Result<(Vec<Sample>, ExperimentRecord), Failure> {
        let names: Vec<String> = ways.iter().map(|way| way.name.clone()).collect();
        // Each arm warms itself up.
        let settings = ::bench::Settings { warm_up: false, ..self.options.effort.settings() };
        let show = |progress: &::bench::Progress<'_>| {
            let round = progress.rounds.saturating_add(1);
            status.show(&format!("{}: round {round}, {}", progress.experiment, progress.arm));
        };
        let samples = experiment.arms(ways.into_iter().map(arm)).run(&settings, &show).map_err(failure)?;
        Ok((samples.all().to_vec(), samples.record(&pairs(&names))))
    }
}

impl Gathered {
    fn add(&mut self, (samples, record): (Vec<Sample>, ExperimentRecord)) {
        self.samples.extend(samples);
        self.experiments.push(record);
    }
}

/// The tunnel against everything else, and everything else against clear connections.
fn pairs(names: &[String]) -> Vec<(&str, &str)> {
    let others = || names.iter().map(String::as_str).filter(|name| *name != TUNNEL);
    let tunnel = others().map(|other| (TUNNEL, other));
    tunnel.chain(others().filter(|name| *name != PLAIN).map(|other| (other, PLAIN))).collect()
}

/// What lies between clients and the server: everything that is up at one round trip.
struct Network {
    round_trip: u16,
    relay: Option<Relay>,
    carriers: Vec<(&'static str, Carrier)>,
}

impl Network {
    fn new(site: &Site<'_>, round_trip: u16, missing: &mut Vec<String>) -> Result<Self, Failure> {
        let time = Duration::from_millis(round_trip.into());
        let server = site.daemon.address();
        let no_port = |error| Failure::new(format!("a port of the loopback interface: {error}"));
        let relay = (round_trip > 0).then(|| Relay::start(server, time)).transpose().map_err(no_port)?;
        let (directory, certificates) = (site.directory, &site.certificates);
        let own = std::env::current_exe().map_err(|e| Failure::new(format!("the path of this program: {e}")))?;
        let tunnel = tunnel_pair(&own, directory, certificates, &site.daemon.socket(), time).map_err(failure)?;
        let mut carriers = Vec::new();
        if !site.options.no_peers {
            let peers = [
                ("ssh -L", ssh_forward(directory, server, time)),
                ("stunnel", stunnel_pair(directory, certificates, server, time)),
            ];
            for (name, peer) in peers {
                match peer {
                    Ok(carrier) => carriers.push((name, carrier)),
                    Err(error) => missing.push(format!("{name} ({error})")),
                }
            }
        }
        carriers.push((TUNNEL, tunnel));
        Ok(Self { round_trip, relay, carriers })
    }

    fn experiment<'w>(&self, what: &str, unit: Unit) -> Experiment<'w> {
        let name = match self.round_trip {
            0 => format!("{what}, loopback"),
            time => format!("{what}, round trip {time} ms"),
        };
        Experiment::new(name).unit(unit)
    }

    fn way<'s>(&self, site: &'s Site<'_>, name: impl Into<String>, client: ClientKind) -> Way<'s> {
        let address = self.relay.as_ref().map_or_else(|| site.daemon.address(), Relay::address);
        Way { name: name.into(), address, client, serves: None }
    }

    fn ways_to_connect<'s>(&self, site: &'s Site<'_>, missing: &mut Vec<String>) -> Result<Vec<Way<'s>>, Failure> {
        let mut ways = vec![self.way(site, PLAIN, ClientKind::Driver(Security::Plain))];
        // What a key costs does not depend on the way.
        let pairs = if self.round_trip == 0 { site.pairs.as_slice() } else { site.pairs.get(..1).unwrap_or_default() };
        for (key, pair) in pairs {
            for (version, resumes) in KINDS {
                let settings = TlsSettings::new(version, &site.certificates.ca, resumes);
                let settings = settings.map_err(|error| Failure::new(format!("TLS: {error}")))?;
                let name = format!("{version} {key}{}", if resumes { ", resumed" } else { "" });
                let way = self.way(site, name, ClientKind::Driver(Security::Tls(settings)));
                let way = Way { serves: Some((&site.daemon, pair.clone())), ..way };
                if way.is_possible().map_err(failure)? {
                    ways.push(way);
                } else {
                    missing.push(format!("{} (this server does not resume it)", way.name));
                }
            }
        }
        if let Some((program, mariadb)) = site.client.as_ref().filter(|_| self.round_trip == 0) {
            for (name, options) in client_options(*mariadb, &site.certificates.ca) {
                let client = ClientKind::Program { program: program.clone(), options };
                let serves = site.pairs.first().map(|(_, pair)| (&site.daemon, pair.clone()));
                ways.push(Way { serves, ..self.way(site, name, client) });
            }
        }
        ways.extend(self.carried());
        Ok(ways)
    }

    /// For clients that do no TLS themselves.
    fn ways_in_the_clear<'s>(&self, site: &'s Site<'_>) -> Vec<Way<'s>> {
        let mut ways = vec![self.way(site, PLAIN, ClientKind::Driver(Security::Plain))];
        ways.extend(self.carried());
        ways
    }

    fn ways_to_ask<'s>(&self, site: &'s Site<'_>) -> Result<Vec<Way<'s>>, Failure> {
        let mut ways = vec![self.way(site, PLAIN, ClientKind::Driver(Security::Plain))];
        for version in [TlsVersion::Tls13, TlsVersion::Tls12] {
            let settings = TlsSettings::new(version, &site.certificates.ca, false);
            let settings = settings.map_err(|error| Failure::new(format!("TLS: {error}")))?;
            ways.push(self.way(site, version.to_string(), ClientKind::Driver(Security::Tls(settings))));
        }
        ways.extend(self.carried());
        Ok(ways)
    }

    fn carried<'s>(&self) -> impl Iterator<Item = Way<'s>> + '_ {
        self.carriers.iter().map(|(name, carrier)| Way {
            name: (*name).to_owned(),
            address: carrier.address,
            client: ClientKind::Driver(Security::Plain),
            serves: None,
        })
    }
}

/// An authority, both ends of a carrier, and a pair for the server of each kind of key. They go with the directory.
fn certificates(directory: &Path) -> Result<(Certificates, ServerPairs), Failure> {
    let failed = |error: ::cert::Error| Failure::new(error.to_string());
    let authority = Authority::create(directory, None, KeyType::EcdsaP256, 2, false).map_err(failed)?;
    let issuer = Authority::open(directory).map_err(failed)?;
    let issue = |name: &str, key| {
        let alternatives = ["localhost", "127.0.0.1"].iter().filter_map(|name| name.parse().ok()).collect();
        let name = name.parse().map_err(failed)?;
        let order = Order { name, alternatives, key, usage: Usage::Both, days: 1, replace: false };
        let files = issuer.issue(&order).map_err(failed)?;
        Ok::<_, Failure>(KeyPairFiles { certificate: files.certificate, key: files.key })
    };
    let pairs = KEYS.iter().map(|(name, key)| Ok((*name, issue(&name.to_lowercase(), *key)?)));
    let pairs = pairs.collect::<Result<Vec<_>, Failure>>()?;
    let [far, near] = [issue("far", KeyType::EcdsaP256)?, issue("near", KeyType::EcdsaP256)?];
    Ok((Certificates { ca: authority.certificate, far, near }, pairs))
}

/// The command-line client beside the server, or from PATH.
fn client_program(server: &Path) -> Option<(PathBuf, bool)> {
    let beside = server.ancestors().nth(2).map(|base| base.join("bin"));
    let named = |name: &str| {
        let beside = beside.as_ref().and_then(|bin| find_program(bin.join(name).as_os_str()));
        beside.or_else(|| find_program(OsStr::new(name)))
    };
    let program = named("mariadb").or_else(|| named("mysql"))?;
    let said = std::process::Command::new(&program).arg("--version").output().ok()?;
    Some((program, String::from_utf8_lossy(&said.stdout).contains("MariaDB")))
}

/// How the client is told to be in the clear, and to use TLS.
fn client_options(mariadb: bool, ca: &Path) -> [(&'static str, Vec<String>); 2] {
    let ca = format!("--ssl-ca={}", ca.display());
    let (clear, secure) = if mariadb {
        ("--skip-ssl", "--ssl-verify-server-cert")
    } else {
        ("--ssl-mode=DISABLED", "--ssl-mode=VERIFY_CA")
    };
    [("client program, clear", vec![clear.to_owned()]), ("client program, TLS ECDSA", vec![ca, secure.to_owned()])]
}

/// As it was asked for.
fn decimal(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{} GB", bytes / 1_000_000_000),
        1_000_000.. => format!("{} MB", bytes / 1_000_000),
        1_000.. => format!("{} kB", bytes / 1_000),
        _ => format!("{bytes} bytes"),
    }
}
