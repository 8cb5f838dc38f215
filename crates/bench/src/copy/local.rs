//! A local copy: the upper limit of any transfer.

use super::{Site, process::Pipeline};
use crate::Error;

/// `cp -r`.
pub(super) fn cp(site: &Site<'_>) -> Result<f64, Error> {
    let mut command = site.near("cp");
    command.arg("-r").arg(site.source().join(".")).arg(site.target());
    site.timed(|| Pipeline::start(vec![command])?.finish())
}
