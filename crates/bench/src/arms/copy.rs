//! Copies of a directory.

use crate::{
    Arm, Error, Work, cache,
    copy::{CopyPeer, Ours, Site},
};

/// Copies with this program.
pub fn copy_by_ours<'a>(name: impl Into<String>, site: Site<'a>, ours: Ours) -> Arm<'a> {
    arm(name.into(), site, move |site| ours.copy(site))
}

/// Copies with another one.
pub fn copy_by_peer<'a>(name: impl Into<String>, site: Site<'a>, peer: &'static CopyPeer) -> Arm<'a> {
    arm(name.into(), site, peer.copy)
}

/// Into an emptied directory, the source in the page cache; what arrived is compared with it.
fn arm<'a>(name: String, site: Site<'a>, copy: impl Fn(&Site<'a>) -> Result<f64, Error> + 'a) -> Arm<'a> {
    let own = name.clone();
    Arm::timing_itself(name, move || {
        site.scratch.empty()?;
        cache::warm(&site.tree.files())?;
        let seconds = copy(&site).map_err(|error| Error::Work { arm: own.clone(), reason: error.to_string() })?;
        match site.tree.difference(&site.scratch.target())? {
            Some(what) => Err(Error::Work { arm: own.clone(), reason: format!("{what}; does the source change?") }),
            None => Ok(Work { bytes: site.tree.bytes(), seconds: Some(seconds) }),
        }
    })
}
