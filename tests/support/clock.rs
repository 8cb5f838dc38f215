//! Clocks of commands under test: a wrong one, and one that a test moves. A library that `LD_PRELOAD` names replaces the
//! calls of the C library.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::backup::{Ran, ended};

/// A library by which a command sees a wrong time of day.
pub(crate) struct WrongClock(PathBuf);

impl WrongClock {
    /// `directory`: an existing directory for the library.
    pub(crate) fn new(directory: &Path) -> Self {
        Self(compile(directory, "wrong-clock", WRONG))
    }

    /// Runs a command whose clock is this many seconds ahead.
    pub(crate) fn ahead(&self, seconds: i64, command: &mut Command) -> Ran {
        ended(command.env("LD_PRELOAD", &self.0).env("CLOCK_AHEAD", seconds.to_string()))
    }
}

/// A monotonic clock, by which pauses and time limits are measured, that runs ahead: as far as the test moves it, and as
/// long as each pause of the command should be, which lasts a thousandth of that. The time of day, sockets and other
/// processes are not affected.
pub(crate) struct MovedClock {
    shared_object: PathBuf,
    /// Nanoseconds by which the test has moved the clock, then those of the pauses.
    moved: File,
    path: PathBuf,
}

impl MovedClock {
    /// `directory`: an existing directory for the library.
    pub(crate) fn new(directory: &Path) -> Self {
        let path = directory.join("moved-clock");
        fs::write(&path, [0; 16]).expect("written");
        let moved = File::options().read(true).write(true).open(&path).expect("a file");
        Self { shared_object: compile(directory, "moved-clock", MOVED), moved, path }
    }

    /// Gives the clock to one command; the pauses of several would add up.
    pub(crate) fn set<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("LD_PRELOAD", &self.shared_object).env("CLOCK_FILE", &self.path)
    }

    pub(crate) fn advance(&self, time: Duration) {
        let moved = self.nanoseconds(0) + u64::try_from(time.as_nanos()).expect("less than centuries");
        self.moved.write_all_at(&moved.to_ne_bytes(), 0).expect("written");
    }

    /// How far the clock is ahead of the machine's.
    pub(crate) fn ahead(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds(0) + self.nanoseconds(8))
    }

    fn nanoseconds(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        self.moved.read_exact_at(&mut bytes, at).expect("readable");
        u64::from_ne_bytes(bytes)
    }
}

fn compile(directory: &Path, name: &str, source: &str) -> PathBuf {
    let [code, library] = ["c", "so"].map(|extension| directory.join(name).with_extension(extension));
    fs::write(&code, source).expect("written");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &code]).status();
    assert!(compiled.expect("a C compiler").success());
    library
}

const WRONG: &str = r#"
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (failed == 0 && clock == CLOCK_REALTIME) now->tv_sec += atol(getenv("CLOCK_AHEAD"));
    return (int)failed;
}
"#;

const MOVED: &str = r#"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define SECOND 1000000000L
static _Atomic long *moved;
__attribute__((constructor)) static void begin(void) {
    void *shared = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, open(getenv("CLOCK_FILE"), O_RDWR), 0);
    if (shared == MAP_FAILED) abort();
    moved = shared;
}
static long nanoseconds(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }
static struct timespec timespec_of(long time) { return (struct timespec){ time / SECOND, time % SECOND }; }
int clock_gettime(clockid_t clock, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (failed == 0 && clock == CLOCK_MONOTONIC && moved) *now = timespec_of(nanoseconds(now) + moved[0] + moved[1]);
    return (int)failed;
}
static int move_on(long time) {
    if (time <= 0) return 0;
    struct timespec shorter = timespec_of(time / 1000);
    moved[1] += time;
    syscall(SYS_nanosleep, &shorter, NULL);
    return 0;
}
int nanosleep(const struct timespec *time, struct timespec *left) { return move_on(nanoseconds(time)); }
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    struct timespec now = { 0, 0 };
    if (flags & TIMER_ABSTIME) clock_gettime(clock, &now);
    return move_on(nanoseconds(time) - nanoseconds(&now));
}
"#;
