//! A directory to be sent: its plan, the keys that decrypt its pages, and warnings for the user.

use std::path::{Path, PathBuf};

use glob::Pattern;
use innodb::keys::KeySource;
use verify::Keys;

use crate::{
    error::Error,
    key_files::key_files,
    plan::{Plan, Selection},
    progress::Progress,
    sender::{Destination, SendSettings, send_proven},
    summary::Summary,
};

/// A directory, scanned and ready to be sent.
#[derive(Debug)]
pub struct Outgoing {
    plan: Plan,
    keys: Option<Keys>,
}

impl Outgoing {
    /// Scans the directory. With `keys`, encrypted pages are decrypted when they are sent, so that they can be
    /// compressed.
    ///
    /// # Errors
    /// As [`Plan::scan`].
    pub fn scan(source: &Path, selection: &Selection, keys: Option<Keys>) -> Result<Self, Error> {
        Ok(Self { plan: Plan::scan(source, selection)?, keys })
    }

    /// The files.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Warnings about the selection; the patterns in `optional` need not match any file.
    #[must_use]
    pub fn warnings(&self, optional: &[Pattern]) -> Vec<String> {
        self.plan.warnings(optional)
    }

    /// Warnings about keys that would be sent along with the data: files that are key stores by content, and the
    /// `named` files.
    ///
    /// # Errors
    /// [`Error::Source`] names what cannot be read.
    pub fn key_warnings(&self, named: &[PathBuf]) -> Result<Vec<String>, Error> {
        Ok(key_files(&self.plan, named)?.iter().map(|file| file.warning(&self.plan)).collect())
    }

    /// Sends the directory. Nothing is committed unless `prove` succeeds after everything was read.
    ///
    /// # Errors
    /// [`Error`]: the first error of any thread, and the errors of `prove`.
    pub fn send(
        &self,
        destination: &Destination,
        settings: &SendSettings,
        progress: &Progress,
        prove: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Summary, Error> {
        let keys = self.keys.as_ref().map(|keys| keys as &dyn KeySource);
        let sent = send_proven(&self.plan, destination, keys, settings, progress, prove)?;
        Ok(Summary::from_sent(self.plan.entries.len(), self.plan.bytes, &sent, progress))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_names_key_files_in_the_source() {
        let source = tempfile::tempdir().unwrap();
        for name in ["ibdata1", "keys.txt"] {
            std::fs::write(source.path().join(name), b"x").unwrap();
        }
        let selection = Selection { exclude: vec![Pattern::new("no-such-file").unwrap()], ..Selection::default() };
        let outgoing = Outgoing::scan(source.path(), &selection, None).unwrap();
        assert_eq!(outgoing.plan().files(), 2);
        assert_eq!(outgoing.warnings(&[]).len(), 1);
        assert!(outgoing.warnings(&selection.exclude).is_empty());
        assert!(outgoing.key_warnings(&[]).unwrap().is_empty());
        let [warning] = &outgoing.key_warnings(&[source.path().join("keys.txt")]).unwrap()[..] else { panic!() };
        assert!(warning.contains("keys.txt") && warning.contains("--exclude"), "{warning}");
    }
}
