//! One run of a program: input by pipe, output collected, ended when its time is up.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Output beyond this is read and dropped.
const MAX_OUTPUT_BYTES: usize = 1 << 16;
/// How often a running program is looked at.
const POLL: Duration = Duration::from_millis(5);

/// What a run left.
#[derive(Debug)]
pub(super) struct Ended {
    /// None if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    stderr: String,
}

impl Ended {
    /// What it said last, in one line.
    pub(super) fn last_words(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() { "it said nothing".to_owned() } else { lines.join("; ") }
    }
}

/// Runs `program`; none if it had to be ended.
pub(super) fn run(program: &Path, args: &[&OsStr], input: Option<&[u8]>, limit: Duration) -> io::Result<Option<Ended>> {
    let mut child = Command::new(program)
        .args(args)
        .env("LC_ALL", "C")
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A pipe holds more than any key; a program that ended early tells why itself.
        let _ = pipe.write_all(input);
    }
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let Some(code) = wait(&mut child, limit)? else { return Ok(None) };
    Ok(Some(Ended { code, stdout: text(stdout), stderr: text(stderr) }))
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<Option<i32>>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code()));
        }
        if begin.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
        let Some(mut pipe) = pipe else { return kept };
        while let Ok(count @ 1..) = pipe.read(&mut chunk) {
            let room = MAX_OUTPUT_BYTES.saturating_sub(kept.len());
            kept.extend(chunk.iter().take(count.min(room)));
        }
        kept
    })
}

fn text(collected: JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&collected.join().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, input: Option<&[u8]>, limit: Duration) -> Option<Ended> {
        run(Path::new("/bin/sh"), &["-c".as_ref(), script.as_ref()], input, limit).unwrap()
    }

    #[test]
    fn input_output_and_code() {
        let ended = shell("cat; echo no >&2; exit 4", Some(b"key"), Duration::from_secs(10)).unwrap();
        assert_eq!((ended.code, ended.stdout.as_str(), ended.last_words()), (Some(4), "key", "no".to_owned()));
    }

    #[test]
    fn one_that_hangs_is_ended() {
        assert!(shell("exec sleep 60", None, Duration::from_millis(50)).is_none());
    }

    #[test]
    fn endless_output_is_bounded() {
        let ended = shell("head -c 1000000 /dev/zero", None, Duration::from_secs(10)).unwrap();
        assert_eq!(ended.stdout.len(), MAX_OUTPUT_BYTES);
    }
}
