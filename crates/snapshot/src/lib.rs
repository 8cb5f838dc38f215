//! A consistent, still copy of a live data directory.
//!
//! A copy of a running server is usable if it is what a power cut could have left: one instant for
//! all files. Locks do not give that, since InnoDB goes on writing pages, redo and checkpoints under
//! them. What does is a snapshot that the file system takes as one, or a server that stands still
//! while every file is cloned. [`take`] makes such a copy, [`estimate()`] says beforehand how long the
//! server will stand, and a [`Still`] removes its copy when it goes.
//!
//! Which way is chosen is a [`Provider`]'s business: one file each in [`provider`].

#![deny(unsafe_code)]

pub mod backup;
mod calibrate;
mod datadir;
mod error;
mod estimate;
mod external;
pub mod follow;
mod freeze;
mod held;
mod listing;
mod location;
pub mod prepare;
mod process;
pub mod provider;
mod record;
mod sending;
mod stall;
mod still;
#[allow(unsafe_code, reason = "extents, dirty pages and subvolumes have no safe call")]
mod sys;
mod tools;
pub mod watchdog;

use std::{path::PathBuf, time::Duration};

pub use crate::{
    datadir::{DataDir, ServerProcess},
    error::Error,
    estimate::Estimate,
    held::{Held, Listener},
    listing::{LEFT_OUT, LeftOut},
    process::mapped_for_writing,
    provider::{Choice, Provider},
    record::{Found, State, discard, list, select},
    still::{Keep, Still},
    watchdog::Watchdog,
};

/// How long a server may be frozen unless told otherwise.
pub const MAX_FREEZE: Duration = Duration::from_secs(1);

/// How a copy is to be taken.
#[derive(Clone, Debug)]
pub struct Options {
    /// The way to take it.
    pub provider: Choice,
    /// Longer than this the server never stands still.
    pub max_freeze: Duration,
    /// Directory for the copy, on the file system of the data; by default beside the data directory, or
    /// in it if that is where its file system begins.
    pub place: Option<PathBuf>,
    /// The program that lets the server go on if this one is killed.
    pub watchdog: Watchdog,
    /// Whether the copy stays when its [`Still`] goes.
    pub keep: Keep,
    /// How the server is asked, which [`Provider::Follow`] needs.
    pub account: Option<follow::Account>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            provider: Choice::Auto,
            max_freeze: MAX_FREEZE,
            place: None,
            watchdog: Watchdog::default(),
            keep: Keep::WhileInUse,
            account: None,
        }
    }
}

/// Takes a still copy of a data directory.
///
/// # Errors
/// [`Error`]: nothing is left behind, and the server runs on.
pub fn take(datadir: &DataDir, options: &Options) -> Result<Still, Error> {
    let prepared = provider::choose(datadir, options)?;
    prepared.provider.take(&prepared, options)
}

/// Says what a copy would take, and which provider would be chosen. Changes nothing.
///
/// # Errors
/// [`Error`] if there is none that is sound here, or the data directory cannot be read.
pub fn estimate(datadir: &DataDir, options: &Options) -> Result<Estimate, Error> {
    provider::choose(datadir, options).map(|prepared| prepared.estimate)
}
