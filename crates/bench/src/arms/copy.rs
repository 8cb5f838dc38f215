//! Copies of a directory.

use std::path::Path;

use crate::{
    Arm, Error, Work, cache,
    copy::{CopyPeer, Ours, Site, Tree},
};

/// Copies with Sealant.
pub fn copy_by_ours<'a>(name: impl Into<String>, site: Site<'a>, ours: Ours) -> Arm<'a> {
    arm(name.into(), site, move |site| ours.copy(site))
}

/// Copies with another program.
pub fn copy_by_peer<'a>(name: impl Into<String>, site: Site<'a>, peer: &'static CopyPeer) -> Arm<'a> {
    match site.server.filter(|_| peer.from_server) {
        Some(server) => {
            checked(name.into(), site, &server.tree, peer.copy, |copy| Ok(server.lacking(&Tree::scan(copy)?)))
        }
        None => arm(name.into(), site, peer.copy),
    }
}

/// Each copy is compared with the source, byte by byte.
fn arm<'a>(name: String, site: Site<'a>, copy: impl Fn(&Site<'a>) -> Result<f64, Error> + 'a) -> Arm<'a> {
    checked(name, site, site.tree, copy, |copy| site.tree.difference(copy))
}

/// Copies into an empty directory, with the source in the page cache. `fault` compares and describes a difference.
fn checked<'a>(
    name: String,
    site: Site<'a>,
    source: &'a Tree,
    copy: impl Fn(&Site<'a>) -> Result<f64, Error> + 'a,
    fault: impl Fn(&Path) -> Result<Option<String>, Error> + 'a,
) -> Arm<'a> {
    let current = name.clone();
    Arm::self_timed(name, move || {
        site.scratch.empty()?;
        cache::warm(&source.files())?;
        let seconds = copy(&site).map_err(|error| Error::Work { arm: current.clone(), reason: error.to_string() })?;
        let target = site.scratch.target();
        match fault(&target)? {
            Some(what) => Err(Error::Work { arm: current.clone(), reason: format!("{what}; does the source change?") }),
            None => Ok(Work { amount: Tree::scan(&target)?.bytes(), seconds: Some(seconds), ..Work::default() }),
        }
    })
}
