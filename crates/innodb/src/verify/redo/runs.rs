//! Reports files with clear and encrypted blocks: one finding per run of the rarer kind.

use super::order::BlockState;
use crate::{
    bytes::{as_u64, bump},
    redo::blocks::BLOCK_BYTES,
    verify::{Check, MAX_FINDINGS, ReportBuilder},
};

/// Runs of consecutive blocks of one kind.
#[derive(Debug, Default)]
pub(super) struct Runs {
    clear: Kind,
    encrypted: Kind,
    before: Option<BlockState>,
}

#[derive(Debug, Default)]
struct Kind {
    blocks: u64,
    runs: Vec<Run>,
    beyond: u64,
}

#[derive(Debug)]
struct Run {
    unit: u64,
    blocks: u64,
}

impl Kind {
    fn begin(&mut self, unit: u64) {
        if self.runs.len() < MAX_FINDINGS {
            self.runs.push(Run { unit, blocks: 1 });
        } else {
            bump(&mut self.beyond);
        }
    }
}

impl Runs {
    /// Adds the next block; `None` if it is damaged.
    pub(super) fn push(&mut self, unit: u64, state: Option<BlockState>) {
        let goes_on = self.before == state;
        self.before = state;
        let kind = match state {
            Some(BlockState::Clear) => &mut self.clear,
            Some(BlockState::Encrypted) => &mut self.encrypted,
            Some(BlockState::Empty) | None => return,
        };
        bump(&mut kind.blocks);
        if !goes_on {
            kind.begin(unit);
        } else if kind.beyond == 0
            && let Some(run) = kind.runs.last_mut()
        {
            bump(&mut run.blocks);
        }
    }

    /// Reports the runs of the rarer kind.
    pub(super) fn finish(self, builder: &mut ReportBuilder) {
        if self.clear.blocks == 0 || self.encrypted.blocks == 0 {
            return;
        }
        let (rarer, name) = if self.encrypted.blocks < self.clear.blocks {
            (self.encrypted, "encrypted block(s) among clear ones")
        } else {
            (self.clear, "clear block(s) among encrypted ones")
        };
        for run in rarer.runs {
            let offset = run.unit.saturating_mul(as_u64(BLOCK_BYTES));
            builder.find(Some(run.unit), Some(offset), Check::Mixed, format!("{} {name}", run.blocks));
        }
        builder.leave_out(rarer.beyond);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_note_per_run_of_the_rarer_kind() {
        let mut runs = Runs::default();
        let lies = [
            BlockState::Clear,
            BlockState::Encrypted,
            BlockState::Encrypted,
            BlockState::Clear,
            BlockState::Empty,
            BlockState::Clear,
            BlockState::Encrypted,
        ];
        for (unit, state) in (4..).zip(lies.into_iter().chain([BlockState::Clear; 3])) {
            runs.push(unit, Some(state));
        }
        let mut builder = ReportBuilder::default();
        runs.finish(&mut builder);
        let findings = builder.finish(None).findings;
        let found: Vec<_> = findings.iter().map(|finding| (finding.unit, &*finding.detail)).collect();
        let (two, one) = ("2 encrypted block(s) among clear ones", "1 encrypted block(s) among clear ones");
        assert_eq!(found, [(Some(5), two), (Some(10), one)]);
    }
}
