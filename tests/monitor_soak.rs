//! `sealant monitor` for a long time: servers hang, die and come back, and the monitor itself is killed and reloaded.
//! Whatever happens to the others, a server that works is audited all the time, and nothing may grow.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_MONITOR_SECONDS` | duration [3600] |

#![allow(clippy::print_stdout, reason = "the figures of a long run")]

use std::fs;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use harness::{Kind, Server, limit, require};
use rustix::process::{Pid, Signal, kill_process};

use crate::monitor::{Monitor, Site, member};
use crate::support::chance::{Random, number};
use crate::support::tunnel::free_port;

/// Servers that faults happen to; the one before them is left alone.
const FAULTY: [Kind; 4] = [Kind::MariaDb1011, Kind::MySql97, Kind::MariaDb1011, Kind::MySql97];
/// Rounds take place every second, and are given up after so many.
const LIMIT: u64 = 5;
/// Oldest permitted round of the server that is left alone, in seconds.
const OLDEST: u64 = 15;
/// Permitted growth of the monitor's memory after all servers were audited.
const GROWTH_KIB: u64 = 32 << 10;
/// Permitted numbers of open descriptors and of threads.
const DESCRIPTORS: usize = 200;
const THREADS: u64 = 100;
/// Time limit for what the monitor has to notice. A server that failed eight rounds is asked every eight seconds, and
/// a connection to a hanging one ends after its own limit.
const NOTICED: u64 = 90;

struct Fleet {
    site: Site,
    monitor: Monitor,
    /// Largest age of a round of the server that is left alone.
    oldest: f64,
    restarts: u32,
}

#[test]
#[ignore = "an hour: `make soak`"]
fn servers_that_hang_die_and_come_back_delay_no_others() {
    if FAULTY.iter().any(|kind| require(*kind).is_none()) {
        return;
    }
    let time = Duration::from_secs(number("SEALANT_MONITOR_SECONDS", 3600));
    let calm = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let mut faulty: Vec<Server> =
        FAULTY.iter().map(|kind| Server::builder(*kind).start().expect("it starts")).collect();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut members = vec![member("calm", &calm)];
    members.extend(faulty.iter().enumerate().map(|(index, server)| member(&format!("db{index}"), server)));
    for (name, port) in [("silent", silent.local_addr().expect("an address").port()), ("dead", free_port())] {
        members.push(format!("[[server]]\nname = \"{name}\"\nurl = \"mysql://a@127.0.0.1:{port}\"\n"));
    }
    let site = Site::new();
    site.configure(&members, &format!("time-limit = \"{}s\"\n", limit(LIMIT).as_secs()));
    let monitor = site.start();
    let mut fleet = Fleet { site, monitor, oldest: 0.0, restarts: 0 };
    (0..faulty.len()).for_each(|index| fleet.wait_for(index, true));
    let (mut chance, mut faults, began) = (Random::new(26), 0, Instant::now());
    let mut before = fleet.memory_kib();
    while began.elapsed() < time {
        let index = usize::try_from(chance.below(faulty.len() as u64)).expect("small");
        let pause = Duration::from_millis(chance.below(12_000));
        match chance.below(8) {
            0 => {
                fleet.restart();
                before = fleet.memory_kib();
            }
            1 => fleet.monitor.end.signal(Signal::HUP),
            which => fleet.fault(&mut faulty[index], index, which, pause),
        }
        fleet.check(before);
        faults += 1;
    }
    (0..faulty.len()).for_each(|index| fleet.wait_for(index, true));
    let now = fleet.memory_kib();
    println!(
        "{} s, {faults} faults, {} kills of the monitor: the oldest round of the calm server was {:.1} s old; {now} KiB, \
         {before} KiB at the start",
        began.elapsed().as_secs(),
        fleet.restarts,
        fleet.oldest
    );
}

impl Fleet {
    /// Lets a server hang or die, and come back after a pause. What was found before is known meanwhile.
    fn fault(&mut self, server: &mut Server, index: usize, which: u64, pause: Duration) {
        let high = format!("sealant_audit_findings{{server=\"db{index}\",severity=\"high\",status=\"FAIL\"}}");
        let hangs = which < 5;
        match which {
            2..5 => signal(server, Signal::STOP),
            5 => server.stop().expect("it stops"),
            _ => server.kill(),
        }
        self.wait_for(index, false);
        let found = self.monitor.metric(&high).expect("what was found before");
        thread::sleep(pause);
        assert_eq!(self.monitor.metric(&high), Some(found), "db{index}");
        if hangs {
            signal(server, Signal::CONT);
        } else {
            server.start().expect("it starts");
        }
        self.wait_for(index, true);
    }

    /// Waits until the monitor knows whether the server answers. Meanwhile, the calm one is audited.
    #[track_caller]
    fn wait_for(&mut self, index: usize, is_up: bool) {
        let up = format!("sealant_audit_up{{server=\"db{index}\"");
        let began = Instant::now();
        while self.monitor.metric(&up) != Some(f64::from(u8::from(is_up))) {
            let log = || self.monitor.end.log();
            assert!(began.elapsed() < limit(NOTICED), "db{index}: {is_up}\n{}", log());
            self.calm_is_audited();
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn calm_is_audited(&mut self) {
        let round = "sealant_monitor_round_timestamp_seconds{server=\"calm\",scope=\"light\"}";
        let Some(at) = self.monitor.metric(round) else { return };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
        self.oldest = self.oldest.max(now - at);
        assert!(now - at < limit(OLDEST).as_secs_f64(), "{} s\n{}", now - at, self.monitor.end.log());
    }

    /// Kills the monitor, and starts it again: it knows what it knew.
    fn restart(&mut self) {
        let high = "sealant_audit_findings{server=\"calm\",severity=\"high\",status=\"FAIL\"}";
        let found = self.monitor.metric(high);
        self.monitor.end.signal(Signal::KILL);
        self.monitor.end.ended().expect("killed");
        self.monitor = self.site.start();
        assert_eq!(self.monitor.metric(high), found);
        (0..FAULTY.len()).for_each(|index| self.wait_for(index, true));
        self.restarts += 1;
    }

    /// Pages are there, and nothing grows.
    fn check(&mut self, before: u64) {
        self.calm_is_audited();
        let page = self.monitor.page("/");
        assert!(["calm", "db0", "db3", "silent", "dead"].iter().all(|name| page.contains(name)), "{page}");
        assert!(self.monitor.page("/healthz").starts_with("ok: "));
        let (memory, descriptors, threads) =
            (self.memory_kib(), self.monitor.end.descriptors(), self.figure("Threads:"));
        assert!(memory < before + GROWTH_KIB, "{memory} KiB, {before} KiB before");
        assert!(descriptors < DESCRIPTORS && threads < THREADS, "{descriptors} descriptors, {threads} threads");
    }

    fn memory_kib(&self) -> u64 {
        self.figure("VmRSS:")
    }

    /// A number of the monitor's process.
    fn figure(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.monitor.end.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a figure");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
    }
}

fn signal(server: &Server, signal: Signal) {
    let pid = server.pid().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw).expect("it runs");
    kill_process(pid, signal).expect("it is there");
}
