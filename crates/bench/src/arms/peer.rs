//! Other programs that check tablespaces, file by file.

use std::{num::NonZeroUsize, path::PathBuf};

use crate::{Arm, Error, Peer, program};

/// Runs the peer on the files, one after the other. Its exit code is ignored: [`Peer::opinion`] evaluates its verdicts.
pub fn peer<'a>(name: impl Into<String>, peer: &'a Peer, files: &'a [PathBuf], threads: NonZeroUsize) -> Arm<'a> {
    Arm::new(name, move || {
        let mut bytes = 0_u64;
        for file in files {
            program::finish(&mut peer.command(file, threads.get()))?;
            bytes += file.metadata().map_err(Error::file(file))?.len();
        }
        Ok(bytes)
    })
}
