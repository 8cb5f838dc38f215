//! A local copy: the upper limit of any transfer.

use super::{CopyJob, process::Pipeline};
use crate::Error;

/// `cp -r`.
pub(super) fn cp(job: &CopyJob<'_>) -> Result<f64, Error> {
    let mut command = job.on_sender("cp");
    command.arg("-r").arg(job.source().join(".")).arg(job.target());
    job.timed(|| Pipeline::start(vec![command])?.finish())
}
