//! Clear and encrypted blocks side by side: one note per run of the rarer kind.

use super::order::Lie;
use crate::{
    bytes::bump,
    verify::{Check, MAX_FINDINGS, Tally},
};

/// Runs of consecutive blocks of one kind.
#[derive(Debug, Default)]
pub(super) struct Runs {
    clear: Kind,
    encrypted: Kind,
    before: Option<Lie>,
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
    /// Takes the next block; `None` if it is damaged.
    pub(super) fn block(&mut self, unit: u64, lie: Option<Lie>) {
        let goes_on = self.before == lie;
        self.before = lie;
        let kind = match lie {
            Some(Lie::Clear) => &mut self.clear,
            Some(Lie::Encrypted) => &mut self.encrypted,
            Some(Lie::Empty) | None => return,
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

    /// Notes the runs of the rarer kind.
    pub(super) fn finish(self, tally: &mut Tally) {
        if self.clear.blocks == 0 || self.encrypted.blocks == 0 {
            return;
        }
        let (rarer, name) = if self.encrypted.blocks < self.clear.blocks {
            (self.encrypted, "encrypted block(s) among clear ones")
        } else {
            (self.clear, "clear block(s) among encrypted ones")
        };
        for run in rarer.runs {
            let offset = run.unit.saturating_mul(512);
            tally.find(Some(run.unit), Some(offset), Check::Mixed, format!("{} {name}", run.blocks));
        }
        tally.leave_out(rarer.beyond);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_note_per_run_of_the_rarer_kind() {
        let mut runs = Runs::default();
        let lies = [Lie::Clear, Lie::Encrypted, Lie::Encrypted, Lie::Clear, Lie::Empty, Lie::Clear, Lie::Encrypted];
        for (unit, lie) in (4..).zip(lies.into_iter().chain([Lie::Clear; 3])) {
            runs.block(unit, Some(lie));
        }
        let mut tally = Tally::default();
        runs.finish(&mut tally);
        let findings = tally.finish(None).findings;
        let found: Vec<_> = findings.iter().map(|finding| (finding.unit, &*finding.detail)).collect();
        let (two, one) = ("2 encrypted block(s) among clear ones", "1 encrypted block(s) among clear ones");
        assert_eq!(found, [(Some(5), two), (Some(10), one)]);
    }
}
