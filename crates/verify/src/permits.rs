//! Permits to compute: threads that wait for the disk hold none.

use std::sync::{Condvar, Mutex};

/// Limits the number of threads that compute at the same time.
pub(crate) struct Permits {
    free: Mutex<usize>,
    freed: Condvar,
}

pub(crate) struct Permit<'p> {
    permits: &'p Permits,
}

impl Permits {
    pub(crate) const fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), freed: Condvar::new() }
    }

    pub(crate) fn take(&self) -> Permit<'_> {
        if let Ok(free) = self.free.lock()
            && let Ok(mut free) = self.freed.wait_while(free, |free| *free == 0)
        {
            *free = free.saturating_sub(1);
        }
        Permit { permits: self }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Ok(mut free) = self.permits.free.lock() {
            *free = free.saturating_add(1);
        }
        self.permits.freed.notify_one();
    }
}
