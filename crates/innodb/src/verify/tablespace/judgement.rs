//! The result of verifying one page.

use crate::{
    ids::{KeyVersion, Lsn},
    verify::Check,
};

/// State of a page on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Empty,
    Clear,
    Encrypted,
}

/// Result of decrypting a MariaDB page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecryptOutcome {
    /// No key file was given.
    NoKeyFile,
    /// The key file has no such key.
    NoKey,
    /// Decrypted, and the plaintext is valid.
    Decrypted,
    /// The ciphertext is valid, but the key does not decrypt it: a wrong key if it decrypts no
    /// page.
    Failed,
}

/// Result for one page.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) state: State,
    pub(crate) problems: Vec<(Check, String)>,
    pub(crate) notes: Vec<(Check, String)>,
    pub(crate) mixed: bool,
    /// A clear copy of a page of an encrypted tablespace.
    pub(crate) clear_copy: bool,
    /// LSN of the page, if a key decrypted it and it is valid.
    pub(crate) decrypted_lsn: Option<Lsn>,
    /// MariaDB: key version and result for an encrypted page.
    pub(crate) outcome: Option<(KeyVersion, DecryptOutcome)>,
}

impl Judgement {
    pub(crate) const fn new(state: State) -> Self {
        Self {
            state,
            problems: Vec::new(),
            notes: Vec::new(),
            mixed: false,
            clear_copy: false,
            decrypted_lsn: None,
            outcome: None,
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

    /// Marks a clear page where both clear and encrypted pages are allowed.
    pub(crate) const fn mixed(&mut self) {
        self.mixed = true;
    }

    /// Marks a clear page where every page must be encrypted.
    pub(crate) fn clear_in_encrypted(&mut self) {
        self.bad(Check::ClearUnit, "clear page in a tablespace whose pages are encrypted");
    }

    pub(crate) fn is_clear_in_encrypted(&self) -> bool {
        self.problems.iter().any(|(check, _)| *check == Check::ClearUnit)
    }

    /// Tolerates a free page: it may keep content from before encryption.
    pub(crate) fn tolerate_clear(&mut self) {
        self.problems.retain(|(check, _)| *check != Check::ClearUnit);
        self.mixed = true;
    }

    /// Tolerates damage: the server recreates the tablespace at every start, and some write no
    /// checksums there.
    pub(crate) fn tolerate_temporary(&mut self) {
        self.problems.clear();
    }

    /// Reports that the page differed each time it was read.
    pub(crate) fn changing(&mut self) {
        self.problems.clear();
        self.note(Check::Changing, "changed each time it was read; run again when the server is quieter");
    }
}
