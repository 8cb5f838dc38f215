//! Copies of a directory.

use std::path::Path;

use crate::{
    Arm, Error, Work, cache,
    copy::{CopyJob, CopyPeer, SealantCopy, Tree},
};

/// Copies with Sealant.
pub fn copy_by_sealant<'a>(name: impl Into<String>, job: CopyJob<'a>, sealant: SealantCopy) -> Arm<'a> {
    arm(name.into(), job, move |job| sealant.copy(job))
}

/// Copies with another program.
pub fn copy_by_peer<'a>(name: impl Into<String>, job: CopyJob<'a>, peer: &'static CopyPeer) -> Arm<'a> {
    match job.server.filter(|_| peer.from_server) {
        Some(server) => {
            checked(name.into(), job, &server.tree, peer.copy, |copy| Ok(server.missing_data(&Tree::scan(copy)?)))
        }
        None => arm(name.into(), job, peer.copy),
    }
}

/// An arm that compares each copy with the source, byte by byte.
fn arm<'a>(name: String, job: CopyJob<'a>, copy: impl Fn(&CopyJob<'a>) -> Result<f64, Error> + 'a) -> Arm<'a> {
    checked(name, job, job.tree, copy, |copy| job.tree.difference(copy))
}

/// Copies into an empty directory, with the source in the page cache. `fault` compares the copy and describes a
/// difference.
fn checked<'a>(
    name: String,
    job: CopyJob<'a>,
    source: &'a Tree,
    copy: impl Fn(&CopyJob<'a>) -> Result<f64, Error> + 'a,
    fault: impl Fn(&Path) -> Result<Option<String>, Error> + 'a,
) -> Arm<'a> {
    let current = name.clone();
    Arm::self_timed(name, move || {
        job.scratch.empty()?;
        cache::warm(&source.files())?;
        let seconds = copy(&job).map_err(|error| Error::Work { arm: current.clone(), reason: error.to_string() })?;
        let target = job.scratch.target();
        match fault(&target)? {
            Some(what) => Err(Error::Work { arm: current.clone(), reason: format!("{what}; does the source change?") }),
            None => Ok(Work { amount: Tree::scan(&target)?.bytes(), seconds: Some(seconds), ..Work::default() }),
        }
    })
}
