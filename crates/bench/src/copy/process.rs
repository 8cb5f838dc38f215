//! Pipelines of programs.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::Error;

/// Programs connected by pipes. Programs that still run are killed on drop.
pub(crate) struct Pipeline {
    stages: Vec<Stage>,
}

struct Stage {
    program: String,
    child: Child,
    status: Option<ExitStatus>,
    /// Its stderr: an unlinked file, so that the program never blocks on a reader.
    errors: File,
}

/// Time limit for a program to start listening.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl Pipeline {
    /// Starts the programs. The first has no input; the output of the last is discarded.
    pub(crate) fn start(commands: Vec<Command>) -> Result<Self, Error> {
        let mut pipeline = Self { stages: Vec::new() };
        let last = commands.len().saturating_sub(1);
        for (index, command) in commands.into_iter().enumerate() {
            let before = pipeline.stages.last_mut().and_then(|stage| stage.child.stdout.take());
            let input = before.map_or_else(Stdio::null, Stdio::from);
            let output = if index == last { Stdio::null() } else { Stdio::piped() };
            pipeline.stages.push(Stage::start(command, input, output)?);
        }
        Ok(pipeline)
    }

    /// Starts one program whose output the caller reads.
    pub(crate) fn start_with_output(command: Command) -> Result<Self, Error> {
        Ok(Self { stages: vec![Stage::start(command, Stdio::null(), Stdio::piped())?] })
    }

    /// Output of the last program.
    pub(crate) fn output(&mut self) -> Option<std::process::ChildStdout> {
        self.stages.last_mut()?.child.stdout.take()
    }

    /// Waits until all programs have ended.
    ///
    /// # Errors
    /// [`Error::Program`] for the last program that failed: when it fails, the programs before it fail as well, because
    /// they can no longer write.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        for stage in &mut self.stages {
            stage.wait()?;
        }
        self.failure().map_or(Ok(()), Err)
    }

    /// The error of the last program that has failed so far.
    pub(crate) fn failure(&mut self) -> Option<Error> {
        self.stages.iter_mut().rev().find_map(Stage::failure)
    }

    /// The last line that the first program wrote to stderr.
    pub(crate) fn last_line_of_first(&self) -> String {
        self.stages.first().map(Stage::last_line).unwrap_or_default()
    }

    fn last_succeeded(&self) -> bool {
        self.stages.last().and_then(|stage| stage.status).is_some_and(|status| status.success())
    }

    /// Waits until one of the programs listens on `port`.
    pub(crate) fn listens_on(&mut self, port: u16) -> Result<(), Error> {
        let begin = Instant::now();
        while begin.elapsed() < LISTEN_TIMEOUT {
            if let Some(error) = self.failure() {
                return Err(error);
            }
            if self.stages.first().is_some_and(|stage| listens(stage.child.id(), port)) {
                return Ok(());
            }
            thread::sleep(POLL_INTERVAL);
        }
        let program = self.stages.first().map(|stage| stage.program.clone()).unwrap_or_default();
        Err(failed(program, "does not listen"))
    }
}

/// Waits for both sides of a copy. The far side's error takes precedence, because the near side sees only a closed
/// connection. Exception: the near side's last program succeeded, and a program before it failed.
pub(crate) fn finish_both(near: &mut Pipeline, far: &mut Pipeline) -> Result<(), Error> {
    if let Err(error) = near.finish() {
        let cause = if near.last_succeeded() { None } else { far.failure() };
        return Err(cause.unwrap_or(error));
    }
    far.finish()
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        for stage in self.stages.iter_mut().filter(|stage| stage.status.is_none()) {
            let _ = stage.child.kill();
            let _ = stage.child.wait();
        }
    }
}

impl Stage {
    /// Starts the command and drops it, which closes this process's end of the pipe: a program must notice when the
    /// program that reads its output has ended.
    fn start(mut command: Command, input: Stdio, output: Stdio) -> Result<Self, Error> {
        let program = name_of(&command);
        let errors = memfd_create("errors", MemfdFlags::CLOEXEC).map(File::from);
        let errors = errors.map_err(|errno| failed(&program, errno.to_string()))?;
        let current = errors.try_clone().map_err(|e| failed(&program, e.to_string()))?;
        let child = command.stdin(input).stdout(output).stderr(current).spawn();
        let child = child.map_err(|e| failed(&program, e.to_string()))?;
        Ok(Self { program, child, status: None, errors })
    }

    fn wait(&mut self) -> Result<(), Error> {
        if self.status.is_none() {
            let status = self.child.wait().map_err(|e| failed(&self.program, e.to_string()))?;
            self.status = Some(status);
        }
        Ok(())
    }

    fn failure(&mut self) -> Option<Error> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        let status = self.status.filter(|status| !status.success())?;
        let message = self.last_line();
        let reason = if message.is_empty() { status.to_string() } else { format!("{message} ({status})") };
        Some(failed(&self.program, reason))
    }

    fn last_line(&self) -> String {
        const MAX_BYTES: u64 = 4096;
        let length = self.errors.metadata().map_or(0, |metadata| metadata.len());
        let mut bytes = vec![0; usize::try_from(length.min(MAX_BYTES)).unwrap_or(0)];
        let read = self.errors.read_exact_at(&mut bytes, length.saturating_sub(MAX_BYTES));
        let text = read.map(|()| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
    }
}

/// Name of the program, without the wrapper that enters its namespace.
fn name_of(command: &Command) -> String {
    let brought = command.get_args().skip_while(|argument| *argument != "--").nth(1);
    let brought = brought.filter(|_| command.get_program() == "nsenter");
    brought.unwrap_or_else(|| command.get_program()).to_string_lossy().into_owned()
}

fn failed(program: impl Into<String>, reason: impl Into<String>) -> Error {
    Error::Program { program: program.into(), reason: reason.into() }
}

/// Whether any process in the network namespace of `process` listens on `port`.
pub(crate) fn listens(process: u32, port: u16) -> bool {
    fs::read_to_string(format!("/proc/{process}/net/tcp")).is_ok_and(|table| table_listens(&table, port))
}

/// Lines are `sl local_address rem_address st …`, with the port in hexadecimal; 0A means LISTEN.
fn table_listens(table: &str, port: u16) -> bool {
    let port = format!(":{port:04X}");
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .any(|fields| fields.get(1).is_some_and(|address| address.ends_with(&port)) && fields.get(3) == Some(&"0A"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn programs_are_connected() {
        let connected = vec![sh("echo word"), sh("read word; test $word = word")];
        Pipeline::start(connected).unwrap().finish().unwrap();
        let lost = vec![sh("true"), sh("read word; test \"$word\" = word")];
        assert!(Pipeline::start(lost).unwrap().finish().is_err());
    }

    #[test]
    fn the_cause_of_a_failure_is_reported_and_not_its_consequence() {
        let commands = vec![sh("yes; echo broken pipe >&2; exit 1"), sh("echo first >&2; echo disk full >&2; exit 2")];
        let error = Pipeline::start(commands).unwrap().finish().unwrap_err();
        assert_eq!(error.to_string(), "sh: disk full (exit status: 2)");
    }

    #[test]
    fn the_side_that_failed_first_is_reported() {
        let both = |near: [&str; 2], far: &str| {
            let mut far = Pipeline::start(vec![sh(far)]).unwrap();
            far.stages[0].wait().unwrap();
            finish_both(&mut Pipeline::start(near.map(sh).into()).unwrap(), &mut far).unwrap_err().to_string()
        };
        let cut_short = "echo unexpected end >&2; exit 1";
        assert_eq!(both(["echo access denied >&2; exit 1", "cat"], cut_short), "sh: access denied (exit status: 1)");
        assert_eq!(both(["exit 1", "echo reset >&2; exit 1"], "echo disk full >&2; exit 1"), {
            "sh: disk full (exit status: 1)"
        });
    }

    #[test]
    fn remaining_processes_end_with_the_pipeline() {
        let pipeline = Pipeline::start(vec![sh("exec sleep 1000")]).unwrap();
        let process = pipeline.stages[0].child.id();
        drop(pipeline);
        assert!(!fs::exists(format!("/proc/{process}")).unwrap());
    }

    #[test]
    fn listeners_are_found_in_the_table() {
        let table = "  sl  local_address rem_address   st tx_queue\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n\
            1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000\n";
        assert!(table_listens(table, 8080));
        assert!(!table_listens(table, 8081) && !table_listens(table, 80));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(listens(std::process::id(), listener.local_addr().unwrap().port()));
    }
}
