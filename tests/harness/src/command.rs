//! Runs programs to completion, with a time limit.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::{Error, limit, within};

/// Runs `command` with `input` on stdin and returns its output.
///
/// # Errors
/// [`Error::Failed`] for a non-zero exit status, [`Error::TimedOut`] if the program was killed after `limit`,
/// [`Error::Spawn`] if it cannot start.
pub fn run(command: &mut Command, input: &[u8], limit: Duration) -> Result<Output, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let spawn_error = |source| Error::Spawn { program: program.clone(), source };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(spawn_error)?;
    let feeding = feed(&mut child, input.to_vec());
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());

    let Some(status) = wait(&mut child, limit).map_err(spawn_error)? else {
        // Grandchildren may still hold the pipes, so the threads are not joined.
        let _ = child.kill();
        let _ = child.wait();
        return Err(Error::TimedOut { what: program, limit });
    };
    let _ = feeding.join();
    let output =
        Output { status, stdout: stdout.join().unwrap_or_default(), stderr: stderr.join().unwrap_or_default() };
    if output.status.success() {
        return Ok(output);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Failed { program, status: status.to_string(), stderr })
}

/// Creates a program from a shell script, given without its first line.
///
/// Another process writes the file: if this process opened it for writing, a child of another thread could inherit the
/// descriptor, and running the script would fail as "busy".
///
/// # Errors
/// Those of [`run`], for example if the directory does not exist or the disk is full.
pub fn script(path: &Path, text: &str) -> Result<(), Error> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "cat >\"$0\" && chmod 755 \"$0\""]).arg(path);
    run(&mut shell, format!("#!/bin/sh\n{text}\n").as_bytes(), limit(60)).map(drop)
}

/// Waits for `child` to end; `None` if it is still running after `limit`.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    match within(limit, || child.try_wait().transpose()) {
        Ok(ended) => ended.map(Some),
        Err(_) => Ok(None),
    }
}

/// Writes the input. Ignores errors: a program may end without reading everything, and its exit status shows a failure.
fn feed(child: &mut Child, input: Vec<u8>) -> JoinHandle<()> {
    let stdin = child.stdin.take();
    thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(&input);
        }
    })
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}
