//! `sealant snapshot`: copies of real servers' data directories under load, and what goes wrong.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::sealant;

/// A process to be frozen: it only sleeps.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().expect("sleep runs"))
    }

    fn send(&self, signal: Signal) {
        let pid = Pid::from_child(&self.0);
        kill_process(pid, signal).expect("it runs");
    }

    fn is_stopped(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("it runs");
        stat.contains(") T ")
    }

    /// How long it takes until it runs again.
    fn thawed_after(&self) -> Duration {
        let start = Instant::now();
        while self.is_stopped() {
            assert!(start.elapsed() < Duration::from_secs(20), "it never runs again");
            thread::sleep(Duration::from_millis(1));
        }
        start.elapsed()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A watchdog that is ready.
fn watchdog(sleeper: &Sleeper, limit_ms: u64) -> Child {
    let mut command = sealant();
    command.args(["snapshot", "watchdog", &sleeper.0.id().to_string(), &limit_ms.to_string()]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts");
    child.stdout.as_mut().expect("piped").read_exact(&mut [0]).expect("it gets ready");
    child
}

fn freeze(sleeper: &Sleeper, watchdog: &mut Child) {
    watchdog.stdin.as_mut().expect("piped").write_all(b"f").expect("it listens");
    sleeper.send(Signal::STOP);
    while !sleeper.is_stopped() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_watchdog_lets_a_server_go_when_its_time_is_up() {
    let sleeper = Sleeper::new();
    let mut watchdog = watchdog(&sleeper, 300);
    freeze(&sleeper, &mut watchdog);
    let after = sleeper.thawed_after();
    assert!(after > Duration::from_millis(100), "too early: {after:?}");
    assert_eq!(watchdog.wait().expect("it ends").code(), Some(3));
}

#[test]
fn the_watchdog_lets_a_server_go_when_the_one_that_froze_it_is_gone() {
    let sleeper = Sleeper::new();
    let mut watchdog = watchdog(&sleeper, 60_000);
    freeze(&sleeper, &mut watchdog);
    // Whatever ends the whole service does not end it before its work.
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        kill_process(Pid::from_child(&watchdog), signal).expect("it runs");
    }
    thread::sleep(Duration::from_millis(100));
    assert!(sleeper.is_stopped());
    drop(watchdog.stdin.take());
    sleeper.thawed_after();
    assert_eq!(watchdog.wait().expect("it ends").code(), Some(0));
}
