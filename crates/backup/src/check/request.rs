//! A requested check, which continues where the last one ended.

use std::path::Path;

use agefile::Identity;
use archive::sshsig::AllowedSigners;

use super::{CheckState, Checked, Depth, Selection, check};
use crate::{
    Error, Repository,
    config::{allowed_signers, identities},
    declarations::{HostDeclarations, declared},
};

/// What to check, and how much of it to read.
#[derive(Debug)]
pub struct CheckRequest<'r> {
    /// Name of the host.
    pub host: &'r str,
    /// Which of its backups to check.
    pub backups: Selection,
    /// Whether to compute the SHA-256 of every object.
    pub objects: bool,
    /// Percentage of the objects to decrypt and unpack, 1 to 100, if requested.
    pub read_data: Option<u8>,
    /// File of age identities that decrypt the objects.
    pub identity: Option<&'r Path>,
    /// File of allowed signers; without it no signature is verified.
    pub allowed_signers: Option<&'r Path>,
    /// File that records the newest receipt and which objects were read.
    pub state: Option<&'r Path>,
}

impl CheckRequest<'_> {
    /// Checks, continues where the last check with the same state ended, and records where this one did.
    ///
    /// # Errors
    /// [`Error::PartWithoutState`], errors of the files that are named, and as [`check()`].
    pub fn run(&self, repository: &Repository) -> Result<Checked, Error> {
        let signers = self.allowed_signers.map(allowed_signers).transpose()?;
        let identities = self.identity.map(identities).transpose()?.unwrap_or_default();
        let state = self.state.map(CheckState::read).transpose()?;
        let depth = self.depth(&identities, state.as_ref())?;
        let (mut checked, links) = check(repository, self.host, self.backups, &depth, signers.as_ref())?;
        if let Some(state) = state {
            let declared = || verified(repository, self.host, signers.as_ref());
            state.compare_and_record(&mut checked, self.host, &links, declared)?;
        }
        Ok(checked)
    }

    fn depth<'i>(&self, identities: &'i [Identity], state: Option<&CheckState>) -> Result<Depth<'i>, Error> {
        let after = || state?.read_until(self.host);
        match (self.read_data, self.objects) {
            (Some(percent @ ..100), _) if state.is_none() => Err(Error::PartWithoutState { percent }),
            (Some(percent), _) => Ok(Depth::Data { identities, percent, after: after() }),
            (None, true) => Ok(Depth::Objects),
            (None, false) => Ok(Depth::Names),
        }
    }
}

/// The declarations of prunes of a host with valid signatures; none without `signers`.
fn verified(repository: &Repository, host: &str, signers: Option<&AllowedSigners>) -> Result<HostDeclarations, Error> {
    let Some(signers) = signers else { return Ok(HostDeclarations::default()) };
    let (mut declared, _) = declared(repository, Some(signers))?;
    Ok(declared.remove(host).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use archive::{Digest, names};

    use super::*;

    fn request(read_data: Option<u8>, objects: bool) -> CheckRequest<'static> {
        CheckRequest {
            host: "db1",
            backups: Selection::All,
            objects,
            read_data,
            identity: None,
            allowed_signers: None,
            state: None,
        }
    }

    #[test]
    fn a_part_is_read_only_if_the_next_check_can_go_on() {
        let error = request(Some(10), false).depth(&[], None).unwrap_err();
        assert!(error.is_misuse() && error.to_string().starts_with("--read-data 10% needs --state"), "{error}");
        assert!(matches!(request(Some(100), false).depth(&[], None), Ok(Depth::Data { percent: 100, .. })));
        let last = Digest::compute(b"pack");
        // Of an earlier release, too.
        for text in [last.to_string(), names::pack("db1", &last)] {
            let state = CheckState::of_part("db1", &text);
            let depth = request(Some(10), false).depth(&[], Some(&state)).unwrap();
            assert!(matches!(depth, Depth::Data { percent: 10, after: Some(after), .. } if after == last));
        }
        assert_eq!(CheckState::of_part("db1", "no hash").read_until("db1"), None);
        assert!(matches!(request(None, true).depth(&[], None), Ok(Depth::Objects)));
        assert!(matches!(request(None, false).depth(&[], None), Ok(Depth::Names)));
    }
}
