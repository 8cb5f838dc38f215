//! Proves that the keyring and its copies open everything, before a run and after it.

use server::Flavor;

use super::{KeyStores, Options, mariadb, mysql};
use crate::{
    Error, KeyStore, KeyringProof, Session,
    keyring::{awaits_first_key, has_room},
    prove,
};

/// The keyring of a server and its copies.
pub(super) fn key_stores(session: &mut Session<'_>, server: &str, options: &Options) -> Result<KeyStores, Error> {
    let of_mariadb = session.identity().flavor() == Flavor::MariaDb;
    let stores = if of_mariadb { mariadb::key_stores } else { mysql::key_stores };
    stores(session, server, options)
}

/// Proves the keyring and its copies; `None` if no file has keys yet.
pub(super) fn prove_keyrings(
    session: &mut Session<'_>,
    server: &str,
    options: &Options,
) -> Result<Option<KeyringProof>, Error> {
    let (stores, datadir) = key_stores(session, server, options)?;
    let mut proven = None;
    for (store, is_copy) in stores {
        if let (KeyStore::MySql(file), false) = (&store, is_copy) {
            has_room(file)?;
        }
        // Without keys, nothing can be encrypted, and the file need not open anything.
        if is_copy || !awaits_first_key(session, &datadir, &store)? {
            proven = Some(prove(&datadir, &store)?);
        }
    }
    Ok(proven)
}
