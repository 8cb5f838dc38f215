//! Runs `sealant receive` and `sealant send` like the other programs.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    path::PathBuf,
};

use super::{
    CopyJob,
    process::{Pipeline, finish_both},
};
use crate::{Error, program::failed};

/// Sealant as receiver and sender.
#[derive(Clone, Debug)]
pub struct SealantCopy {
    /// Path of the binary.
    pub program: PathBuf,
    /// Additional options of `send`.
    pub send: Vec<OsString>,
    /// File for the report of `send`; overwritten by each run.
    pub report: PathBuf,
}

impl SealantCopy {
    pub(crate) fn copy(&self, job: &CopyJob<'_>) -> Result<f64, Error> {
        let program = self.program.to_string_lossy();
        let mut receive = job.link.on_receiver(&program);
        receive.args(["receive", "--quiet", "--expiry", "60s", "--listen", &format!("{}:0", job.link.address())]);
        receive.arg("--into").arg(job.target());
        let mut far = Pipeline::start_with_output(receive)?;
        let code = self.code(&mut far)?;
        let mut send = job.link.on_sender(&program);
        send.args(["send", "--quiet"]).args(&self.send).arg("--report").arg(&self.report);
        send.arg("--").arg(job.source()).arg(code);
        job.timed(|| finish_both(&mut Pipeline::start(vec![send])?, &mut far))
    }

    /// Reads the pairing code, which the receiver prints as soon as it listens.
    fn code(&self, far: &mut Pipeline) -> Result<String, Error> {
        let mut line = String::new();
        if let Some(output) = far.output() {
            BufReader::new(output).read_line(&mut line).map_err(Error::file(&self.program))?;
        }
        let code = line.trim().to_owned();
        if code.starts_with("sealant1") {
            return Ok(code);
        }
        far.finish()?;
        Err(failed(&std::process::Command::new(&self.program), "printed no pairing code"))
    }
}
