//! Runs a program with input from a pipe, output collected, and a time limit.

use std::{
    ffi::OsStr,
    io::{self, Read, Write},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::{Sender, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::wait;

/// Output beyond this is read and discarded.
const MAX_OUTPUT_BYTES: usize = 1 << 16;

/// Result of a run.
#[derive(Debug)]
pub struct Ended {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output, at most 64 KiB.
    pub stdout: String,
    stderr: String,
}

impl Ended {
    /// Its error output, in one line.
    #[must_use]
    pub fn error_output(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() { "it said nothing".to_owned() } else { lines.join("; ") }
    }
}

/// Runs `program` with that input. `None` if it was killed after `limit`.
///
/// # Errors
/// The program cannot be started.
pub fn run(program: &Path, args: &[&OsStr], input: Option<&[u8]>, limit: Duration) -> io::Result<Option<Ended>> {
    run_with_lines(program, args, input, limit, &mut |_| {})
}

/// Standard output of a program that is asked for its version. A program that does not answer is killed.
///
/// # Errors
/// The program cannot be started, or does not answer.
pub fn version_text(program: &Path, options: &[&str]) -> io::Result<String> {
    const LIMIT: Duration = Duration::from_secs(30);
    let options: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
    let ended = run(program, &options, None, LIMIT)?;
    ended.map(|ended| ended.stdout).ok_or_else(|| io::ErrorKind::TimedOut.into())
}

/// As [`run`]; also calls `on_line` with each line of output as it arrives.
///
/// # Errors
/// As [`run`].
pub fn run_with_lines(
    program: &Path,
    args: &[&OsStr],
    input: Option<&[u8]>,
    limit: Duration,
    on_line: &mut dyn FnMut(&str),
) -> io::Result<Option<Ended>> {
    let mut child = Command::new(program)
        .args(args)
        .env("LC_ALL", "C")
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // The error is ignored: the input fits into the pipe's buffer, and a program that ended early reports the
        // reason.
        let _ = pipe.write_all(input);
    }
    let (lines, heard) = channel();
    let (stdout, stderr) = (collect(child.stdout.take(), Some(lines)), collect(child.stderr.take(), None));
    let Some(status) = wait(&mut child, limit, &mut || heard.try_iter().for_each(|line: String| on_line(&line)))?
    else {
        child.kill()?;
        child.wait()?;
        return Ok(None);
    };
    let ended = Ended { code: status.code(), stdout: text(stdout), stderr: text(stderr) };
    heard.try_iter().for_each(|line| on_line(&line));
    Ok(Some(ended))
}

fn collect(pipe: Option<impl Read + Send + 'static>, lines: Option<Sender<String>>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let (mut kept, mut line, mut chunk) = (Vec::new(), Vec::new(), [0; 4096]);
        let Some(mut pipe) = pipe else { return kept };
        while let Ok(count @ 1..) = pipe.read(&mut chunk) {
            for byte in chunk.iter().take(count) {
                if kept.len() < MAX_OUTPUT_BYTES {
                    kept.push(*byte);
                }
                let Some(lines) = &lines else { continue };
                if *byte == b'\n' || *byte == b'\r' {
                    let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
                    line.clear();
                } else if line.len() < MAX_OUTPUT_BYTES {
                    line.push(*byte);
                }
            }
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
    fn input_output_and_exit_code_are_passed_on() {
        let ended = shell("cat; echo no >&2; exit 4", Some(b"key"), Duration::from_secs(10)).unwrap();
        assert_eq!((ended.code, ended.stdout.as_str(), ended.error_output()), (Some(4), "key", "no".to_owned()));
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        assert!(shell("exec sleep 60", None, Duration::from_millis(50)).is_none());
    }

    #[test]
    fn lines_are_passed_on_as_they_arrive() {
        let mut heard = Vec::new();
        let args = ["-c".as_ref(), "echo one; echo two".as_ref()];
        run_with_lines(Path::new("/bin/sh"), &args, None, Duration::from_secs(10), &mut |line| {
            heard.push(line.to_owned())
        })
        .unwrap();
        assert_eq!(heard, ["one", "two"]);
    }

    #[test]
    fn endless_output_is_bounded() {
        let ended = shell("head -c 1000000 /dev/zero", None, Duration::from_secs(10)).unwrap();
        assert_eq!(ended.stdout.len(), MAX_OUTPUT_BYTES);
    }
}
