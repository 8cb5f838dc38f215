//! Runs `sealant verify` inside this process.

use std::num::NonZeroUsize;

use ::verify::{Depth, Keys, Plan, Report, Settings};
use innodb::verify::{Units, Verdict};

use crate::{Arm, Error};

/// Verifies all files of `plan` with `jobs` threads. Every run must have the same result.
pub fn verify<'a>(name: impl Into<String>, plan: &'a Plan, keys: &'a Keys, jobs: NonZeroUsize) -> Arm<'a> {
    let name = name.into();
    let current = name.clone();
    let mut before: Option<(Option<Verdict>, Units)> = None;
    Arm::new(name, move || {
        let report = ::verify::run(plan, keys, &Settings { jobs, depth: Depth::EveryPage, progress: &|_| {} });
        let found = judged(&report, &current)?;
        if *before.get_or_insert(found) != found {
            let reason = "its result differs from the previous run; is a server running on these files?".to_owned();
            return Err(Error::Work { arm: current.clone(), reason });
        }
        Ok(report.summary.bytes)
    })
}

fn judged(report: &Report, arm: &str) -> Result<(Option<Verdict>, Units), Error> {
    if let Some(unread) = report.errors.first() {
        let reason = format!("{}: {}", unread.path.display(), unread.reason);
        return Err(Error::Work { arm: arm.to_owned(), reason });
    }
    Ok((report.summary.verdict, report.summary.units))
}
