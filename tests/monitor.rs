//! `sealant monitor` on real servers, scraped by a real Prometheus.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use harness::{Kind, Server, limit, require};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::backup::Backups;
use crate::support::moving::{Receiving, send};
use crate::support::tunnel::{End, Near, Setup, eventually, free_port};
use crate::support::{run, sealant};

/// A monitor, and where its files are.
pub(crate) struct Site {
    setup: Setup,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self { setup: Setup::new() }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.setup.path(name);
        fs::write(&path, text).expect("written");
        path
    }

    /// Writes the fleet, and a configuration with short intervals.
    pub(crate) fn configure(&self, fleet: &[String], more: &str) -> PathBuf {
        self.write("fleet.toml", &fleet.concat());
        let intervals = "listen = [\"127.0.0.1:0\"]\nlight-every = \"1s\"\nfull-every = \"1h\"\n";
        self.write("monitor.toml", &format!("fleet = \"fleet.toml\"\nstate-directory = \"state\"\n{intervals}{more}"))
    }

    pub(crate) fn start(&self) -> Monitor {
        let mut command = sealant();
        command.arg("monitor").arg("--config").arg(self.setup.path("monitor.toml"));
        let end = self.setup.start("monitor", command);
        let log = end.log();
        let address = log.lines().rev().find_map(|line| line.split_once("ready: ")).expect("an address").1;
        let port = address.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
        Monitor { end, port: port.expect("a port") }
    }
}

pub(crate) struct Monitor {
    pub(crate) end: End,
    port: u16,
}

impl Monitor {
    /// The whole answer to a request with these headers.
    fn request(&self, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(limit(60))).expect("a time limit");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").expect("asked");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("answered");
        text
    }

    pub(crate) fn page(&self, path: &str) -> String {
        let answer = self.request(path, "");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
    }

    /// Value of the series whose line begins so.
    pub(crate) fn metric(&self, begins: &str) -> Option<f64> {
        let text = self.page("/metrics");
        let line = text.lines().find(|line| line.starts_with(begins))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    #[track_caller]
    fn wait_for_metric(&self, begins: &str, is: impl Fn(f64) -> bool) {
        let found = eventually(|| self.metric(begins).is_some_and(&is));
        assert!(found, "{begins}: {:?}\n{}\n{}", self.metric(begins), self.end.log(), self.page("/metrics"));
    }
}

pub(crate) fn member(name: &str, server: &Server) -> String {
    format!("[[server]]\nname = \"{name}\"\nsocket = \"{}\"\nuser = \"root\"\n", server.socket().display())
}

fn start(kind: Kind) -> Option<Server> {
    require(kind)?;
    Some(Server::builder(kind).start().expect("it starts"))
}

const UP_1: &str = "sealant_audit_up{server=\"db1\"";
const UP_2: &str = "sealant_audit_up{server=\"db2\"";
const HIGH_2: &str = "sealant_audit_findings{server=\"db2\",severity=\"high\",status=\"FAIL\"}";

#[test]
fn servers_that_die_or_hang_do_not_delay_the_others() {
    let (Some(first), Some(mut second)) = (start(Kind::MySql97), start(Kind::MariaDb1011)) else { return };
    // Accepts connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let hanging = (0..4).map(|n| format!("[[server]]\nname = \"hangs{n}\"\nurl = \"mysql://a@127.0.0.1:{port}\"\n"));
    let dead = format!("[[server]]\nname = \"dead\"\nurl = \"mysql://a@127.0.0.1:{}\"\n", free_port());
    let site = Site::new();
    let mut fleet = vec!["concurrency = 2\n".to_owned(), member("db1", &first), dead];
    fleet.extend(hanging);
    fleet.push(member("db2", &second));
    site.configure(&fleet, "");
    let monitor = site.start();

    for up in [UP_1, UP_2] {
        monitor.wait_for_metric(up, |value| value == 1.0);
    }
    monitor.wait_for_metric("sealant_audit_up{server=\"dead\"", |value| value == 0.0);
    monitor.wait_for_metric(HIGH_2, |value| value > 0.0);
    monitor.end.wait_for(&|log| log.contains("dead: cannot be audited: "));
    monitor.wait_for_metric("sealant_audit_up{server=\"hangs0\"", |value| value == 0.0);
    // Rounds go on while four servers hang, and only two threads serve those.
    let round = "sealant_monitor_round_timestamp_seconds{server=\"db1\",scope=\"light\"}";
    let before = monitor.metric(round).expect("a round");
    monitor.wait_for_metric(round, |value| value > before + 1.0);
    assert!(monitor.page("/").contains("db1") && monitor.page("/").contains("hangs0"));
    assert!(monitor.page("/healthz").starts_with("ok: "));

    // What was found on a server that died is still there; it is known that this is old.
    second.kill();
    monitor.wait_for_metric(UP_2, |value| value == 0.0);
    assert!(monitor.metric(HIGH_2).is_some_and(|found| found > 0.0));
    second.start().expect("it starts again");
    monitor.wait_for_metric(UP_2, |value| value == 1.0);
    monitor.end.wait_for(&|log| log.contains("db2: can be audited again"));

    // A change on a server is logged.
    first.sql("CREATE USER open@'%' IDENTIFIED BY 'x-Y-7-long-enough'").expect("an account");
    monitor.end.wait_for(&|log| log.contains("db1: new failure: ") && log.contains("open"));
    assert!(monitor.end.stop().success());
}

#[test]
fn a_killed_monitor_knows_afterwards_what_it_knew_before() {
    let Some(mut server) = start(Kind::MariaDb1011) else { return };
    let site = Site::new();
    site.configure(&[member("db2", &server)], "");
    let mut monitor = site.start();
    monitor.wait_for_metric("sealant_monitor_round_timestamp_seconds{server=\"db2\",scope=\"full\"}", |_| true);
    let found = monitor.metric(HIGH_2).expect("findings");
    // Two monitors would overwrite each other's facts.
    let second = sealant().args(["monitor", "--config"]).arg(site.setup.path("monitor.toml")).output().expect("run");
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains("another monitor uses this state directory") && said.contains("hint: stop it"), "{said}");

    monitor.end.signal(Signal::KILL);
    monitor.end.ended().expect("killed");
    server.kill();
    let monitor = site.start();
    assert_eq!(monitor.metric(HIGH_2), Some(found), "known before the first round");
    monitor.wait_for_metric(UP_2, |value| value == 0.0);
    assert_eq!(monitor.metric(HIGH_2), Some(found));
}

#[test]
fn a_reload_takes_a_new_fleet_and_refuses_a_broken_one() {
    let Some(server) = start(Kind::MariaDb1011) else { return };
    let site = Site::new();
    site.configure(&[member("db1", &server)], "");
    let monitor = site.start();
    monitor.wait_for_metric(UP_1, |value| value == 1.0);
    site.write("fleet.toml", "[[server]]\nnmae = \"db2\"\n");
    monitor.end.signal(Signal::HUP);
    monitor.end.wait_for(&|log| log.contains("the old configuration stays in use: ") && log.contains("nmae"));
    assert_eq!(monitor.metric(UP_1), Some(1.0));
    site.write("fleet.toml", &[member("db1", &server), member("db2", &server)].concat());
    monitor.end.signal(Signal::HUP);
    monitor.wait_for_metric(UP_2, |value| value == 1.0);
    site.write("fleet.toml", &member("db2", &server));
    monitor.end.signal(Signal::HUP);
    assert!(eventually(|| monitor.metric(UP_1).is_none()), "{}", monitor.page("/metrics"));
    assert_eq!(monitor.metric(UP_2), Some(1.0));
}

#[test]
fn what_files_show_and_what_the_server_tells_are_judged_at_one_time() {
    let Some(server) = start(Kind::MySql97) else { return };
    server.sql("CREATE DATABASE demo; CREATE TABLE demo.t (id INT PRIMARY KEY)").expect("a table");
    let site = Site::new();
    site.configure(&[member("db1", &server)], "");
    let monitor = site.start();
    let light = "sealant_monitor_round_timestamp_seconds{server=\"db1\",scope=\"light\"}";
    monitor.wait_for_metric("sealant_monitor_round_timestamp_seconds{server=\"db1\",scope=\"full\"}", |_| true);
    // The table gets another tablespace id: the file that the full round has read belongs to no table any more.
    server.sql("ALTER TABLE demo.t ENGINE=InnoDB; DROP TABLE IF EXISTS demo.none").expect("rebuilt");
    let before = monitor.metric(light).expect("a round");
    monitor.wait_for_metric(light, |at| at > before + 2.0);
    let orphans = "sealant_audit_check_status{server=\"db1\",check=\"rest-orphan-file\"";
    let text = monitor.page("/metrics");
    assert!(!text.lines().any(|line| line.starts_with(orphans) && line.contains("FAIL")), "{text}");
    assert!(!monitor.end.log().contains("no longer a failure"), "{}", monitor.end.log());
}

#[test]
fn a_reload_does_not_open_listeners_that_other_hosts_reach() {
    let Some(server) = start(Kind::MariaDb1011) else { return };
    let site = Site::new();
    site.write("token", "a-token-of-some-length\n");
    let tls = "token-file = \"token\"\n[tls]\ncertificate = \"far.pem\"\nkey = \"far.key\"\n";
    let config = site.configure(&[member("db1", &server)], tls);
    let text = fs::read_to_string(&config).expect("written");
    site.write("monitor.toml", &text.replace("127.0.0.1:0", "0.0.0.0:0"));
    let monitor = site.start();
    site.configure(&[member("db1", &server)], "");
    monitor.end.signal(Signal::HUP);
    monitor.end.wait_for(&|log| log.contains("the old configuration stays in use: ") && log.contains("0.0.0.0:"));
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert!(tls_request(&site, monitor.port, request, &[]).starts_with("HTTP/1.1 401 "));
}

/// Standard output of `openssl s_client` for this request.
fn tls_request(site: &Site, port: u16, request: &str, more: &[&str]) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-quiet", "-verify_return_error", "-verify_hostname", "localhost"]);
    command.args(["-connect", &format!("127.0.0.1:{port}"), "-CAfile"]).arg(site.setup.path("ca.pem")).args(more);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("openssl");
    let mut input = child.stdin.take().expect("piped");
    let _ = input.write_all(request.as_bytes());
    let mut text = String::new();
    let _ = child.stdout.take().expect("piped").read_to_string(&mut text);
    drop(input);
    let _ = child.wait();
    text
}

#[test]
fn readers_prove_who_they_are() {
    let Some(server) = start(Kind::MariaDb1011) else { return };
    let site = Site::new();
    site.write("token", "a-token-of-some-length\n");
    let tls = "[tls]\ncertificate = \"far.pem\"\nkey = \"far.key\"\n";
    site.configure(&[member("db1", &server)], &format!("token-file = \"token\"\n{tls}"));
    let monitor = site.start();
    let get = |path: &str, headers: &str| {
        tls_request(&site, monitor.port, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"), &[])
    };
    for (headers, status) in [
        ("", "401"),
        ("Authorization: Bearer a-token-of-some-lengt\r\n", "401"),
        ("Authorization: Bearer a-token-of-some-length\r\n", "200"),
        // The user `admin` and the token, as a browser sends them.
        ("Authorization: Basic YWRtaW46YS10b2tlbi1vZi1zb21lLWxlbmd0aA==\r\n", "200"),
    ] {
        for path in ["/", "/metrics"] {
            let answer = get(path, headers);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{headers}: {answer}");
            assert_eq!(answer.contains("sealant_audit_up") || answer.contains("<html"), status == "200", "{answer}");
        }
    }
    assert!(get("/healthz", "").starts_with("HTTP/1.1 200 "));
    let old = tls_request(&site, monitor.port, "GET / HTTP/1.1\r\n\r\n", &["-tls1_2"]);
    assert_eq!(old, "", "TLS 1.3 only");
    drop(monitor);

    let tls = format!("{tls}client-ca = \"ca.pem\"\n");
    site.configure(&[member("db1", &server)], &tls);
    let monitor = site.start();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answer = tls_request(&site, monitor.port, request, &[]);
    assert!(!answer.contains("HTTP"), "no certificate: {answer}");
    let [certificate, key] = ["app.pem", "app.key"].map(|name| site.setup.path(name));
    let [certificate, key] = [&certificate, &key].map(|path| path.to_str().expect("ASCII"));
    let answer = tls_request(&site, monitor.port, request, &["-cert", certificate, "-key", key]);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// Directory of Prometheus' programs.
fn prometheus() -> Option<PathBuf> {
    let root = harness::cache().join("servers/prometheus");
    if !root.join("VERSION").exists() {
        harness::skip("Prometheus is missing; run tests/harness/bin/install-servers prometheus");
        return None;
    }
    Some(root.join("root/usr/bin"))
}

#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let text = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

fn top(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A Prometheus that is killed on drop.
struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    fn start(programs: &Path, directory: &Path, scrape: u16) -> Self {
        let port = free_port();
        let target = format!(
            "scrape_configs: [{{job_name: sealant, scrape_interval: 1s, static_configs: [{{targets: ['127.0.0.1:{scrape}']}}]}}]\n"
        );
        let config = format!("rule_files: ['{}']\n{target}", top("packaging/prometheus/sealant.rules.yml").display());
        fs::write(directory.join("prometheus.yml"), config).expect("written");
        let log = fs::File::create(directory.join("prometheus.log")).expect("a log");
        let child = Command::new(programs.join("prometheus"))
            .arg(format!("--config.file={}", directory.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", directory.join("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("Prometheus starts");
        Self { child, port }
    }

    fn get(&self, path: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return String::new() };
        let _ = write!(stream, "GET {path} HTTP/1.0\r\n\r\n");
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_real_prometheus_understands_metrics_and_alerts() {
    let (Some(programs), Some(server)) = (prometheus(), start(Kind::MySql97)) else { return };
    let promtool = || Command::new(programs.join("promtool"));
    let site = Site::new();
    site.configure(&[member("db1", &server)], "");
    let monitor = site.start();
    monitor.wait_for_metric(UP_1, |value| value == 1.0);
    let metrics = site.write("metrics.prom", &monitor.page("/metrics"));
    succeeds(promtool().args(["check", "metrics"]).stdin(fs::File::open(metrics).expect("written")));
    let open = monitor.request("/metrics", "Accept: application/openmetrics-text; version=1.0.0\r\n");
    assert!(open.contains("content-type: application/openmetrics-text") && open.ends_with("# EOF\n"), "{open}");

    let rules = top("packaging/prometheus/sealant.rules.yml");
    succeeds(promtool().args(["check", "rules"]).arg(&rules));
    let alerts = fs::read_to_string(&rules).expect("readable").matches("- alert: ").count();
    for file in [rules, top("tests/prometheus/sealant.rules.test.yml")] {
        fs::copy(&file, site.setup.path(file.file_name().expect("a name").to_str().expect("ASCII"))).expect("copied");
    }
    succeeds(promtool().args(["test", "rules"]).arg(site.setup.path("sealant.rules.test.yml")));

    let scraper = Prometheus::start(&programs, site.setup.path("").as_path(), monitor.port);
    for query in ["up%7Bjob=%22sealant%22%7D", "sealant_audit_up%7Bserver=%22db1%22%7D"] {
        let path = format!("/api/v1/query?query={query}");
        let is_up = || scraper.get(&path).contains(",\"1\"]");
        assert!(
            eventually(is_up),
            "{}\n{:?}",
            scraper.get(&path),
            fs::read_to_string(site.setup.path("prometheus.log"))
        );
    }
    let health = || scraper.get("/api/v1/rules").matches("\"health\":\"ok\"").count();
    assert!(eventually(|| health() == alerts), "{}", scraper.get("/api/v1/rules"));
}

/// A monitor that passes on the metrics of a tunnel with both ends, of a transfer, and of a backup.
struct Passing {
    monitor: Monitor,
    near: Near,
    _far: End,
    _directory: tempfile::TempDir,
}

fn passing_on(site: &Site, server: &Server) -> Option<Passing> {
    let mut saved = start(Kind::MariaDb1011)?;
    saved.stop().expect("it stops");
    let backups = Backups::new(saved.datadir(), "");
    backups.backup(&["run"]).is(0);
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let text = |name: &str| at(name).to_str().expect("ASCII").to_owned();
    backups.backup(&["report", "--prometheus", &text("backup.prom")]).is(0);
    fs::create_dir(at("source")).expect("a directory");
    fs::write(at("source/file"), b"content").expect("written");
    let counted = ["--prometheus", &text("transfers.prom")];
    let receiving = Receiving::begin(&at("target"), &counted);
    let sent = send(&at("source"), &receiving.code, &counted);
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    assert_eq!(receiving.end().0, 0);

    let (port, far_metrics) = (free_port(), free_port());
    let far = site.setup.far(server, port, &["--allow", "app", "--metrics", &format!("127.0.0.1:{far_metrics}")]);
    let near = site.setup.near(&[port], &[]);
    assert_eq!(near.value(server, "SELECT 'through'"), "through");
    let of_address = |name: &str, port| format!("[[metrics]]\nname = \"{name}\"\naddress = \"127.0.0.1:{port}\"\n");
    let of_file = |name: &str| format!("[[metrics]]\nname = \"{name}\"\nfile = {:?}\n", text(&format!("{name}.prom")));
    let sources = [of_address("near", near.metrics_port()), of_address("far", far_metrics)];
    site.configure(&[member("db1", server)], &[&sources[..], &["backup", "transfers"].map(of_file)].concat().concat());
    Some(Passing { monitor: site.start(), near, _far: far, _directory: directory })
}

#[test]
fn metrics_of_tunnels_transfers_and_backups_are_passed_on() {
    let Some(server) = start(Kind::MySql97) else { return };
    let site = Site::new();
    let Some(passing) = passing_on(&site, &server) else { return };
    let monitor = &passing.monitor;
    for series in [
        "sealant_monitor_source_up{source=\"far\"}",
        "sealant_tunnel_served_cold_total{source=\"near\",end=\"near\"}",
        "sealant_tunnel_links_total{source=\"far\",end=\"far\"}",
        "sealant_transfer_runs_total{source=\"transfers\",kind=\"copy\",side=\"sender\",result=\"done\"}",
        "sealant_transfer_runs_total{source=\"transfers\",kind=\"copy\",side=\"receiver\",result=\"done\"}",
        "sealant_backup_last_good_timestamp_seconds{source=\"backup\",host=\"db1\"}",
    ] {
        monitor.wait_for_metric(series, |value| value >= 1.0);
    }
    // A tunnel that ends delays nothing, and is known to be gone.
    let up = "sealant_monitor_source_up{source=\"near\"}";
    passing.near.end.signal(Signal::KILL);
    monitor.wait_for_metric(up, |value| value == 0.0);
    monitor.end.wait_for(&|log| log.contains("near: its metrics cannot be read: 127.0.0.1:"));
    assert!(monitor.metric("sealant_tunnel_sessions{source=\"near\"").is_none());
    assert_eq!(monitor.metric("sealant_monitor_source_up{source=\"far\"}"), Some(1.0));
}

/// Metrics that a server without keys, and a backup that was never restored, do not have.
const ABSENT: [&str; 3] = [
    "sealant_monitor_key_rotated_timestamp_seconds",
    "sealant_monitor_key_copy_proven_timestamp_seconds",
    "sealant_backup_restore_test_timestamp_seconds",
];

/// Title and query of each panel of a dashboard, for one server.
fn queries(path: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(path).expect("a dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let of_panel = |panel: &Value| {
        let title = panel["title"].as_str().expect("a title").to_owned();
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        let query = |target: Value| target["expr"].as_str().expect("a query").to_owned();
        targets.into_iter().map(move |target| (title.clone(), query(target))).collect::<Vec<_>>()
    };
    panels.flat_map(of_panel).collect()
}

#[test]
fn a_real_prometheus_answers_the_queries_of_the_dashboards() {
    let (Some(programs), Some(server)) = (prometheus(), start(Kind::MySql97)) else { return };
    let site = Site::new();
    let Some(passing) = passing_on(&site, &server) else { return };
    passing.monitor.wait_for_metric("sealant_monitor_source_up{source=\"near\"}", |value| value == 1.0);
    passing.monitor.wait_for_metric(UP_1, |value| value == 1.0);
    let open = passing.monitor.request("/metrics", "Accept: application/openmetrics-text; version=1.0.0\r\n");
    assert!(open.contains("# TYPE sealant_tunnel_links counter\n"), "{open}");
    let scraper = Prometheus::start(&programs, site.setup.path("").as_path(), passing.monitor.port);
    let mut answered = 0;
    for name in ["overview", "server", "transfers"] {
        for (title, query) in queries(&top(&format!("packaging/grafana/sealant-{name}.json"))) {
            let query = query.replace("$server", "db1").replace("$__rate_interval", "1m");
            let bytes = query.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
            let path = format!("/api/v1/query?query={bytes}");
            let is_absent = ABSENT.iter().any(|metric| query.contains(metric));
            // A rate needs two scrapes.
            let has_answer = || {
                let answer = scraper.get(&path);
                answer.contains("\"status\":\"success\"") && (is_absent || !answer.contains("\"result\":[]"))
            };
            assert!(eventually(has_answer), "{name}, {title}: {query}\n{}", scraper.get(&path));
            answered += 1;
        }
    }
    assert!(answered > 40, "{answered}");
}

#[test]
fn a_check_is_one_line_and_a_code() {
    let Some(server) = start(Kind::MariaDb1011) else { return };
    let site = Site::new();
    let config = site.configure(&[member("db1", &server)], "");
    let check = |more: &[&str]| {
        let output =
            sealant().args(["monitor", "check", "--config"]).arg(&config).args(more).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, said) = check(&["--full"]);
    assert!(said.starts_with("CRITICAL: 1 server; failures: ") && said.lines().count() == 1, "{said}");
    assert_eq!(code, Some(2), "{said}");
    assert!(!site.setup.path("state").exists(), "it stores nothing");
    let scope = "{\"sql\":false,\"files\":false,\"deep\":false,\"wire\":false,\"host\":false}";
    let at = "2026-11-27T00:00:00Z";
    let facts = format!(
        "{{\"schema\":\"sealant.facts/1\",\"sealant\":\"0\",\"target\":\"x\",\"collected_at\":\"{at}\",\"scope\":{scope}}}"
    );
    site.write("facts.json", &facts);
    let recorded = ["[[server]]\nname = \"recorded\"\nfacts = \"facts.json\"\n".to_owned()];
    // Nothing is known about this server, but that its release is old.
    for (thresholds, begins, expected) in
        [("", "WARNING: 1 server; ", 1), ("[check]\nwarning = \"high\"\n", "OK: 1 server; ", 0)]
    {
        site.configure(&recorded, thresholds);
        let (code, said) = check(&[]);
        assert_eq!((code, said.starts_with(begins)), (Some(expected), true), "{said}");
    }
    let dead = format!("[[server]]\nname = \"dead\"\nurl = \"mysql://a@127.0.0.1:{}\"\n", free_port());
    site.configure(&[dead], "");
    let (code, said) = check(&[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("1 not audited") && said.contains("dead: cannot be audited: "), "{said}");
    fs::remove_file(&config).expect("removed");
    let (code, said) = check(&[]);
    assert_eq!((code, said.starts_with("UNKNOWN: ")), (Some(3), true), "{said}");
}

#[test]
fn mistakes_in_the_configuration_are_named() {
    let site = Site::new();
    let config = site.configure(&["[[server]]\nname = \"a\"\nurl = \"mysql://a@h\"\n".to_owned()], "");
    let good = fs::read_to_string(&config).expect("written");
    site.write("short", "secret\n");
    for (text, code, says) in [
        (format!("{good}lsten = 1\n"), 2, "unknown field `lsten`"),
        (good.replace("127.0.0.1:0", "0.0.0.0:0"), 2, "0.0.0.0:0 is reachable from other hosts, but [tls] is not set"),
        (good.replace("127.0.0.1:0", "192.0.2.1:1"), 2, "is reachable from other hosts"),
        (good.replace("fleet.toml", "none.toml"), 1, "none.toml: No such file"),
        (format!("token-file = \"short\"\n{good}"), 2, "a token has 16 characters or more"),
        (format!("{good}[tls]\ncertificate = \"far.pem\"\nkey = \"app.key\"\n"), 1, "key"),
        (good.replace("1h", "0.5h"), 2, "is not a time like"),
    ] {
        site.write("monitor.toml", &text);
        let output = run(["monitor", "--config", config.to_str().expect("ASCII")]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{text}: {said}");
        assert!(said.contains(says), "{text}: {said}");
    }
    site.write("monitor.toml", &good);
    site.write("fleet.toml", "[[server]]\nname = \"a\"\noffline = \"/backup\"\n");
    let output = run(["monitor", "--config", config.to_str().expect("ASCII")]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("is a directory without a server"), "{said}");
    site.write("fleet.toml", &"[[server]]\nname = \"a\"\nurl = \"mysql://a@h\"\n".repeat(2));
    let output = run(["monitor", "--config", config.to_str().expect("ASCII")]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("two servers are called \"a\""), "{said}");
}
