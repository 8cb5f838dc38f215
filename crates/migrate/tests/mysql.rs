//! Migrations between real servers while the source is written to.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::sync::atomic::Ordering;

use migrate::{Event, Phase, Until};
use support::{Pair, writers::Writers};

const ROWS: u32 = 20_000;

#[test]
fn rows_are_equal_after_a_migration_under_writes() {
    let Some(pair) = Pair::start(ROWS) else { return };
    let writers = Writers::start(&pair, 4, ROWS.into());
    let mut settings = pair.addresses().settings();
    let mut phases = Vec::new();
    settings.until = Until::Copied;
    let mut note = |event: Event| {
        if let Event::Phase(phase) = event {
            phases.push(phase);
        }
    };
    migrate::run(&settings, &mut note).unwrap();
    let during = writers.acknowledged.load(Ordering::Relaxed);
    writers.stop();
    assert!(during > 100, "{during}");
    // Only what was written since then is left.
    settings.until = Until::Verified;
    let verified = migrate::run(&settings, &mut note).unwrap();
    assert_eq!(phases, [Phase::Copy, Phase::Copied, Phase::Copied]);
    assert!(verified.chunks > 20 && verified.open == 0, "{verified:?}");
    pair.assert_equal();
}
