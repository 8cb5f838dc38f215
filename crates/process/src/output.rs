//! The output of a program that has ended.

use std::{
    io::Read,
    sync::mpsc::Sender,
    thread::{self, JoinHandle},
};

/// Exit code and output of a program.
#[derive(Debug)]
pub struct Output {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The beginning of its standard output, as much as [`Program::keep`](crate::Program::keep) says.
    pub stdout: String,
    /// The beginning of its standard error, likewise.
    pub stderr: String,
}

impl Output {
    /// Whether it exited with 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Its error output, in one line.
    #[must_use]
    pub fn error_output(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() { "it printed no error".to_owned() } else { lines.join("; ") }
    }
}

/// Reads a pipe to its end in a thread, which returns the first `max_bytes`. Each line is also sent to `lines`.
pub(crate) fn collect(
    pipe: Option<impl Read + Send + 'static>,
    max_bytes: usize,
    lines: Option<Sender<String>>,
) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let (mut kept, mut line, mut buffer) = (Vec::new(), Vec::new(), [0; 4096]);
        let Some(mut pipe) = pipe else { return kept };
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            for byte in buffer.iter().take(count) {
                if kept.len() < max_bytes {
                    kept.push(*byte);
                }
                let Some(lines) = &lines else { continue };
                if *byte == b'\n' || *byte == b'\r' {
                    let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
                    line.clear();
                } else if line.len() < max_bytes {
                    line.push(*byte);
                }
            }
        }
        kept
    })
}

pub(crate) fn text(collected: JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&collected.join().unwrap_or_default()).into_owned()
}
