//! What is thought of one page.

use crate::{
    ids::{KeyVersion, Lsn},
    verify::Check,
};

/// How a page lies on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Empty,
    Clear,
    Encrypted,
}

/// What came of opening an encrypted MariaDB page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// No key file was given.
    Untried,
    /// The key file has no such key.
    NoKey,
    /// Opened, and what is inside is sound.
    Opened,
    /// The ciphertext is sound, but the key does not open it: the wrong key if it opens no page.
    Failed,
}

/// One page, judged.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) state: State,
    pub(crate) problems: Vec<(Check, String)>,
    pub(crate) notes: Vec<(Check, String)>,
    pub(crate) mixed: bool,
    /// A clear copy of a page of an encrypted tablespace.
    pub(crate) clear_copy: bool,
    /// LSN of the page, if a key opened it and it is sound.
    pub(crate) opened_lsn: Option<Lsn>,
    /// MariaDB: the key version of an encrypted page.
    pub(crate) trial: Option<(KeyVersion, Trial)>,
}

impl Judgement {
    pub(crate) const fn new(state: State) -> Self {
        Self {
            state,
            problems: Vec::new(),
            notes: Vec::new(),
            mixed: false,
            clear_copy: false,
            opened_lsn: None,
            trial: None,
        }
    }

    pub(crate) fn bad(&mut self, check: Check, detail: impl Into<String>) {
        self.problems.push((check, detail.into()));
    }

    pub(crate) fn note(&mut self, check: Check, detail: impl Into<String>) {
        self.notes.push((check, detail.into()));
    }

    pub(crate) const fn is_bad(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Clear where both clear and encrypted pages may be.
    pub(crate) const fn mixed(&mut self) {
        self.mixed = true;
    }

    /// Clear where every page has to be encrypted.
    pub(crate) fn clear_in_encrypted(&mut self) {
        self.bad(Check::ClearUnit, "in the clear, in a tablespace whose pages are encrypted");
    }

    pub(crate) fn is_clear_in_encrypted(&self) -> bool {
        self.problems.iter().any(|(check, _)| *check == Check::ClearUnit)
    }

    /// The page is free: what was written there before encryption may still be there.
    pub(crate) fn forgive_clear(&mut self) {
        self.problems.retain(|(check, _)| *check != Check::ClearUnit);
        self.mixed = true;
    }

    /// The server makes the tablespace anew at every start, and some write no checksums there.
    pub(crate) fn forgive_temporary(&mut self) {
        self.problems.clear();
    }

    /// The page differed each time it was read.
    pub(crate) fn changing(&mut self) {
        self.problems.clear();
        self.note(Check::Changing, "changed each time it was read; run again when the server is quieter");
    }
}
