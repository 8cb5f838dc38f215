//! Which mode the key management plug-in was in, and whether the key is right: no log says.
//!
//! Every encrypted unit is opened in both modes until one of them is clearly the wrong one. Units
//! whose ciphertext is sound but that make no sense when opened speak against the key, unless the
//! key is otherwise proven: then they are damaged.

use crate::{
    bytes::{as_u64, bump},
    crypt::mariadb::Mode,
    verify::{Check, MAX_FINDINGS, Tally},
};

/// What an opened unit says about the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    /// It makes sense only with this key.
    Proves,
    /// It makes sense.
    Fits,
    /// It makes none.
    Misfits,
    /// Nothing of it was encrypted.
    Silent,
}

/// What all units so far say.
#[derive(Debug)]
pub(super) struct Vote {
    candidates: Vec<Candidate>,
}

#[derive(Debug)]
struct Candidate {
    mode: Mode,
    proven: bool,
    fits: u64,
    misfits: u64,
    first: Vec<(u64, u64)>,
}

/// A mode with so many more misfits than the other is out.
const CLEARLY_MORE: u64 = 8;

impl Vote {
    pub(super) fn new() -> Self {
        let candidate = |mode| Candidate { mode, proven: false, fits: 0, misfits: 0, first: Vec::new() };
        Self { candidates: Mode::ALL.map(candidate).into() }
    }

    /// Asks about a unit in every mode still possible.
    pub(super) fn ask(&mut self, unit: u64, offset: u64, mut open: impl FnMut(Mode) -> Sense) {
        for candidate in &mut self.candidates {
            candidate.hear(open(candidate.mode), unit, offset);
        }
        let fewest = self.candidates.iter().map(|candidate| candidate.misfits).min().unwrap_or(0);
        self.candidates.retain(|candidate| candidate.misfits < fewest.saturating_add(CLEARLY_MORE));
    }

    /// Whether any unit said anything.
    pub(super) fn heard(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.proven || candidate.fits > 0 || candidate.misfits > 0)
    }

    /// Whether no mode makes sense of the log.
    pub(super) fn refuses(&self) -> bool {
        self.best().is_some_and(Candidate::refuses)
    }

    fn best(&self) -> Option<&Candidate> {
        self.candidates.iter().min_by_key(|candidate| (candidate.misfits, !candidate.proven))
    }

    /// Notes what the units say: a wrong key once, or each damaged unit.
    pub(super) fn finish(&self, tally: &mut Tally) {
        let Some(best) = self.best().filter(|best| best.misfits > 0) else { return };
        if best.refuses() {
            let (unit, offset) = best.first.first().copied().unzip();
            let detail = "the key opens nothing: checksums over the ciphertext hold, the contents make no sense";
            tally.find(unit, offset, Check::KeyOpens, detail);
            return;
        }
        let units = &mut tally.units;
        units.encrypted = units.encrypted.saturating_sub(best.misfits);
        units.bad = units.bad.saturating_add(best.misfits);
        for (unit, offset) in &best.first {
            let detail = "makes no sense when opened, with a key that opens others";
            tally.find(Some(*unit), Some(*offset), Check::OpenedChecksum, detail);
        }
        tally.leave_out(best.misfits.saturating_sub(as_u64(best.first.len())));
    }
}

impl Candidate {
    fn hear(&mut self, sense: Sense, unit: u64, offset: u64) {
        match sense {
            Sense::Proves => {
                self.proven = true;
                bump(&mut self.fits);
            }
            Sense::Fits => bump(&mut self.fits),
            Sense::Silent => {}
            Sense::Misfits => {
                bump(&mut self.misfits);
                if self.first.len() < MAX_FINDINGS {
                    self.first.push((unit, offset));
                }
            }
        }
    }

    /// A wrong key makes sense by chance at times, but of few units.
    fn refuses(&self) -> bool {
        self.misfits > 0 && !self.proven && self.fits < self.misfits.saturating_mul(4)
    }
}
