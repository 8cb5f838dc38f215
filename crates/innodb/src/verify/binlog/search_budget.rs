//! How much the search for lost events may read.

/// Limits the bytes read by the search for lost events: a crafted log must not cost more than a few
/// times its length.
pub(super) struct SearchBudget(u64);

impl SearchBudget {
    pub(super) const fn new(log_bytes: u64) -> Self {
        const MIN_BYTES: u64 = 64 << 20;
        Self(log_bytes.saturating_mul(2).saturating_add(MIN_BYTES))
    }

    /// Takes `bytes` from the budget; `false` if it is exhausted.
    pub(super) fn spend(&mut self, bytes: u32) -> bool {
        let left = self.0.checked_sub(u64::from(bytes));
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}
