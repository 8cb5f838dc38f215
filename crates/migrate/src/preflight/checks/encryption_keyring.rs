//! The target can encrypt: it has a keyring.

use super::prelude::*;

pub(super) const CHECK: Check = Check {
    id: "encryption.keyring",
    area: Area::Encryption,
    title: "the target has a keyring",
    judge: Judge::Tables(judge),
};

fn judge(facts: &Facts, tables: &Tables) -> Vec<Finding> {
    let needed = facts.request.encrypt.requires_any(&tables.source.tables);
    let finding = match tables.target_keyring {
        _ if !needed => return Vec::new(),
        Some(true) => return Vec::new(),
        Some(false) => Finding::block(Side::Target, "has no active keyring, so that it cannot encrypt tables")
            .advice("`sealant keyring init` makes one"),
        None => {
            let account = crate::preflight::quoted_account(&facts.target.account);
            let statement = format!("GRANT SELECT ON performance_schema.keyring_component_status TO {account}");
            Finding::unknown(Side::Target, "it is not known whether it has a keyring").run(Side::Target, statement)
        }
    };
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Encrypt;
    use crate::preflight::testing::{finds, found, with_tables};

    #[test]
    fn a_target_that_cannot_encrypt_is_refused() {
        finds(&CHECK, &with_tables(|tables| tables.target_keyring = Some(false)), Effect::Block, "no active keyring");
        finds(&CHECK, &with_tables(|tables| tables.target_keyring = None), Effect::Block, "not known whether");
        let mut clear = with_tables(|tables| {
            tables.target_keyring = Some(false);
            tables.source.tables.iter_mut().for_each(|table| table.encrypted = false);
        });
        clear.request.encrypt = Encrypt::AsSource;
        assert_eq!(found(&CHECK, &clear), []);
    }
}
