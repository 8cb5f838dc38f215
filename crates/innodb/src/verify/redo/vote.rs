//! Finds out which mode the key management plug-in used, which no log records, and whether the key is
//! right.
//!
//! Every encrypted unit is decrypted in both modes until one of them is clearly wrong. A unit with
//! valid ciphertext but invalid content counts against the key. If other units prove the key, that
//! unit is damaged.

use crate::{
    bytes::{as_u64, bump},
    crypt::mariadb::Mode,
    verify::{Check, MAX_FINDINGS, ReportBuilder},
};

/// What a decrypted unit says about the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyEvidence {
    /// Its content is valid only with this key.
    Proves,
    /// Its content is valid.
    Fits,
    /// Its content is invalid.
    Misfits,
    /// It has no encrypted bytes.
    Silent,
}

/// Result of all units so far.
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

/// A mode with this many more misfits than the other is excluded.
const CLEARLY_MORE: u64 = 8;

impl Vote {
    pub(super) fn new() -> Self {
        let candidate = |mode| Candidate { mode, proven: false, fits: 0, misfits: 0, first: Vec::new() };
        Self { candidates: Mode::ALL.map(candidate).into() }
    }

    /// Tests a unit in every mode that is still possible.
    pub(super) fn test(&mut self, unit: u64, offset: u64, mut try_mode: impl FnMut(Mode) -> KeyEvidence) {
        for candidate in &mut self.candidates {
            candidate.record(try_mode(candidate.mode), unit, offset);
        }
        let fewest = self.candidates.iter().map(|candidate| candidate.misfits).min().unwrap_or(0);
        self.candidates.retain(|candidate| candidate.misfits < fewest.saturating_add(CLEARLY_MORE));
    }

    /// Whether any unit gave a result.
    pub(super) fn has_evidence(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.proven || candidate.fits > 0 || candidate.misfits > 0)
    }

    /// Whether no mode gives valid content.
    pub(super) fn rejects_key(&self) -> bool {
        self.best().is_some_and(Candidate::rejects_key)
    }

    fn best(&self) -> Option<&Candidate> {
        self.candidates.iter().min_by_key(|candidate| (candidate.misfits, !candidate.proven))
    }

    /// Reports a wrong key once, or each damaged unit.
    pub(super) fn finish(&self, builder: &mut ReportBuilder) {
        let Some(best) = self.best().filter(|best| best.misfits > 0) else { return };
        if best.rejects_key() {
            let (unit, offset) = best.first.first().copied().unzip();
            let detail = "the key decrypts nothing: the checksums over the ciphertext match, the contents are invalid";
            builder.find(unit, offset, Check::KeyOpens, detail);
            return;
        }
        let units = &mut builder.units;
        units.encrypted = units.encrypted.saturating_sub(best.misfits);
        units.bad = units.bad.saturating_add(best.misfits);
        for (unit, offset) in &best.first {
            let detail = "invalid after decryption, with a key that decrypts others";
            builder.find(Some(*unit), Some(*offset), Check::OpenedChecksum, detail);
        }
        builder.leave_out(best.misfits.saturating_sub(as_u64(best.first.len())));
    }
}

impl Candidate {
    fn record(&mut self, sense: KeyEvidence, unit: u64, offset: u64) {
        match sense {
            KeyEvidence::Proves => {
                self.proven = true;
                bump(&mut self.fits);
            }
            KeyEvidence::Fits => bump(&mut self.fits),
            KeyEvidence::Silent => {}
            KeyEvidence::Misfits => {
                bump(&mut self.misfits);
                if self.first.len() < MAX_FINDINGS {
                    self.first.push((unit, offset));
                }
            }
        }
    }

    /// With a wrong key a few units look valid by chance.
    fn rejects_key(&self) -> bool {
        self.misfits > 0 && !self.proven && self.fits < self.misfits.saturating_mul(4)
    }
}
