//! How long to measure.

use std::num::NonZeroU32;
use std::time::Duration;

use ::bench::{Rounds, Settings};
use clap::Args;

use crate::cli::value;

/// Rounds, or time.
#[derive(Debug, Args)]
pub(super) struct Effort {
    /// Number of rounds of each experiment [default: until the intervals are narrow]
    #[arg(long, value_name = "N")]
    pub(super) rounds: Option<NonZeroU32>,
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value::time)]
    #[arg(help = value::time_help("Time for each experiment"))]
    budget: Duration,
}

impl Effort {
    pub(super) fn settings(&self) -> Settings<'_> {
        let rounds = self.rounds.map_or(Rounds::UntilNarrow, Rounds::Exactly);
        Settings { rounds, budget: self.budget, ..Settings::default() }
    }
}
