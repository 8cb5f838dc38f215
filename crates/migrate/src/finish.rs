//! The end of a migration after its cut-over.

use crate::{Error, Phase, Proof, Server, accounts, active::lock_target, fallback, link, proof, state};

/// Removes the state of a migration after its cut-over. First calls `save` with the proof, which is part of the state;
/// without `save` the proof is not read. The tables stay on both servers. If the cut-over was done with a fallback, also
/// ends that, and removes its state at `source`; after a fallback, the proof is that of the fallback.
///
/// # Errors
/// What `save` returns; [`Error::NotBegun`] if there is no migration; [`Error::NotSwitched`] before the cut-over;
/// [`Error::FallbackOpen`] if `source` is `None`, and there is a fallback. Nothing is removed then.
pub fn finish<E: From<Error>>(
    server: &Server,
    source: Option<&Server>,
    save: Option<impl FnOnce(&Proof) -> Result<(), E>>,
) -> Result<(), E> {
    let mut target = link::target(server)?;
    lock_target(&mut target)?;
    let Some(run) = state::run(&mut target)? else {
        let source = source.ok_or(Error::NotBegun)?;
        return fallback::finish_rest((source, server), save);
    };
    if run.phase != Phase::Switched {
        return Err(Error::NotSwitched.into());
    }
    if run.fallback > 0 {
        let source = source.ok_or(Error::FallbackOpen)?;
        return fallback::finish((source, server), &run, target, save);
    }
    accounts::open(server)?;
    if let Some(save) = save {
        save(&proof::read(&mut target, server)?)?;
    }
    Ok(state::remove(&mut target)?)
}
