//! Keys that a store names, but does not give.

use crate::withdrawn_key::WithdrawnKey;

/// Keys that a store names, but does not give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostKeys {
    /// Keys that the service no longer has.
    pub withdrawn: Vec<WithdrawnKey>,
    /// Keys whose entries are damaged, or that AWS KMS does not recognise, each as a message names it.
    pub unusable: Vec<String>,
}

impl LostKeys {
    pub(crate) fn new(withdrawn: &[WithdrawnKey], unusable: &[String]) -> Self {
        let message = |name: &String| format!("{} cannot be used", name.escape_debug());
        Self { withdrawn: withdrawn.to_vec(), unusable: unusable.iter().map(message).collect() }
    }

    /// Each key with the reason, as messages name them.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let withdrawn = self.withdrawn.iter().map(ToString::to_string);
        withdrawn.chain(self.unusable.iter().cloned()).collect()
    }

    /// Adds those of another store.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.withdrawn.extend(other.withdrawn);
        self.unusable.extend(other.unusable);
        self
    }
}

#[cfg(test)]
mod tests {
    use keyservice::Withdrawn;

    use super::*;
    use crate::withdrawn_key::KeyService;

    #[test]
    fn each_key_has_its_reason() {
        let key = WithdrawnKey {
            service: KeyService::Vault,
            name: "k1".to_owned(),
            user: String::new(),
            path: "kv/k1".to_owned(),
            how: Withdrawn::Destroyed,
        };
        let lost = LostKeys::new(&[key], &[]).and(LostKeys::new(&[], &["k\n2 (damaged)".to_owned()]));
        assert_eq!(lost.reasons(), ["in the Vault, k1 is destroyed for ever", "k\\n2 (damaged) cannot be used"]);
    }
}
