//! If tables rest on the encryption of the target's storage, something proves that it is encrypted.

use super::prelude::*;
use crate::{catalog::Encrypt, storage};

pub(super) const CHECK: Check = Check {
    id: "encryption.storage",
    area: Area::Encryption,
    title: "the storage on which tables rest is encrypted",
    judge: Judge::Servers(judge),
};

fn judge(facts: &Facts) -> Vec<Finding> {
    match &facts.storage {
        Err(not_proven) if facts.request.encrypt == Encrypt::Storage => {
            let why = not_proven.why.clone();
            let finding = if not_proven.is_clear {
                Finding::block(Side::Target, why)
            } else {
                Finding::unknown(Side::Target, why)
            };
            vec![finding.option(storage::OPTION)]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{facts, finds, found};

    #[test]
    fn storage_needs_evidence() {
        let mut facts = facts();
        assert_eq!(found(&CHECK, &facts), []);
        facts.request.encrypt = Encrypt::Storage;
        finds(&CHECK, &facts, Effect::Block, "nothing attests");
        assert!(judge(&facts).iter().all(|finding| finding.unknown));
        facts.storage.as_mut().unwrap_err().is_clear = true;
        assert!(judge(&facts).iter().all(|finding| !finding.unknown));
        facts.storage = Ok("it is".to_owned());
        assert_eq!(found(&CHECK, &facts), []);
    }
}
