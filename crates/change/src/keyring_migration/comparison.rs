//! Compares the keys of source and target: which are missing, and why keys must not be added.

use std::{collections::BTreeMap, fmt::Display};

use keyring::{KeyLocation, KeyName, KeyService, MysqlKeyring, StoredKey, WithdrawnKey};

use crate::Error;

/// The keys of the source. Fails if the Vault has withdrawn any of them, because files and backups may still need it. In
/// a KMIP service, Percona's component destroys the keys that the server removes, so such keys are normal there.
pub(super) fn keys_of(from: &KeyLocation) -> Result<MysqlKeyring, Error> {
    let keys = whole(from, from.keys())?;
    let withdrawn: Vec<String> =
        keys.withdrawn().iter().filter(|key| key.service == KeyService::Vault).map(described).collect();
    match withdrawn.as_slice() {
        [] => Ok(keys),
        _ => Err(Error::SourceKeysWithdrawn { keyring: from.to_string(), keys: withdrawn }),
    }
}

fn described(withdrawn: &WithdrawnKey) -> String {
    let owner = if withdrawn.user.is_empty() { String::new() } else { format!(" of {}", withdrawn.user) };
    format!("{}{owner} ({}) is {}", withdrawn.name, withdrawn.path, withdrawn.how)
}

/// The keys of the source that the target lacks. Fails if they must not be added: the target has a different key under
/// the same name, has withdrawn a key of that name, or has a newer master key.
pub(super) fn missing(keys: &[StoredKey], to: &KeyLocation) -> Result<Vec<StoredKey>, Error> {
    let there = whole(to, to.keys_so_far())?;
    if let Some(gone) = withdrawn_of(keys, there.withdrawn()) {
        return Err(Error::KeyWithdrawn { keyring: to.to_string(), reason: described(gone) });
    }
    let there = there.stored();
    let named = |key: &StoredKey| there.iter().find(|other| (&other.name, &other.user) == (&key.name, &key.user));
    let other: Vec<String> = keys
        .iter()
        .filter(|key| named(key).is_some_and(|found| !found.is_same(key)))
        .map(|key| key.name.clone())
        .collect();
    if !other.is_empty() {
        return Err(Error::OtherKeys { keyring: to.to_string(), keys: other });
    }
    if let Some(newer) = newer_than(keys, &there) {
        return Err(Error::TargetIsNewer { keyring: to.to_string(), key: newer.name.clone() });
    }
    Ok(keys.iter().filter(|key| named(key).is_none()).cloned().collect())
}

/// The first of these keys that the target's Vault has withdrawn; its name cannot be used again.
fn withdrawn_of<'w>(keys: &[StoredKey], withdrawn: &'w [WithdrawnKey]) -> Option<&'w WithdrawnKey> {
    withdrawn.iter().find(|gone| keys.iter().any(|key| (&key.name, &key.user) == (&gone.name, &gone.user)))
}

/// A master key in the target with a higher number than the source's newest of the same server, which shows that the
/// server has used the target since.
fn newer_than<'t>(keys: &[StoredKey], there: &'t [StoredKey]) -> Option<&'t StoredKey> {
    let mut newest = BTreeMap::new();
    for (series, number) in keys.iter().filter_map(master_key) {
        let highest = newest.entry(series).or_insert(number);
        *highest = number.max(*highest);
    }
    there.iter().find(|key| {
        master_key(key).is_some_and(|(series, number)| newest.get(&series).is_some_and(|highest| number > *highest))
    })
}

/// Purpose and server of a master key, and its number.
fn master_key(key: &StoredKey) -> Option<((&'static str, String), u32)> {
    match KeyName::parse(&key.name) {
        _ if !key.user.is_empty() => None,
        KeyName::InnodbMaster { owner, number } => Some((("innodb", owner.to_ascii_lowercase()), number)),
        KeyName::Replication { owner, number } => Some((("replication", owner.to_ascii_lowercase()), number)),
        _ => None,
    }
}

/// Fails if an entry of the keyring is damaged, or a name has different keys: a migration would lose one silently.
fn whole(location: &KeyLocation, keys: Result<MysqlKeyring, keyring::Error>) -> Result<MysqlKeyring, Error> {
    keys.and_then(MysqlKeyring::whole).map_err(of_store(location))
}

/// The error of a keyring, with its name.
pub(super) fn of_store<'a>(keyring: impl Display + 'a) -> impl Fn(keyring::Error) -> Error + 'a {
    move |source| Error::KeyLocation { keyring: keyring.to_string(), source }
}

#[cfg(test)]
mod tests {
    use keyring::Withdrawn;

    use super::*;

    /// Keys with these users and names.
    fn stored(keys: &[(&str, &str)]) -> Vec<StoredKey> {
        let element = |(user, name): &(&str, &str)| {
            let data = "01".repeat(32);
            format!(r#"{{"user":"{user}","data_id":"{name}","data_type":"AES","data":"{data}","extension":[]}}"#)
        };
        let elements: Vec<String> = keys.iter().map(element).collect();
        let text = format!(r#"{{"version":"1.0","elements":[{}]}}"#, elements.join(","));
        MysqlKeyring::load(text.as_bytes()).unwrap().stored()
    }

    #[test]
    fn a_withdrawn_key_is_known_by_name_and_user() {
        let (path, how) = ("mysql/db1/secret".to_owned(), Withdrawn::Destroyed);
        let service = KeyService::Vault;
        let gone = [WithdrawnKey { service, name: "k".to_owned(), user: "me@%".to_owned(), path, how }];
        assert_eq!(withdrawn_of(&stored(&[("", "k"), ("you@%", "k"), ("me@%", "other")]), &gone), None);
        assert_eq!(withdrawn_of(&stored(&[("me@%", "k")]), &gone), gone.first());
        assert_eq!(described(&gone[0]), "k of me@% (mysql/db1/secret) is destroyed for ever");
    }

    #[test]
    fn a_target_with_newer_master_keys_is_found() {
        let source = stored(&[("", "INNODBKey-u-1"), ("", "INNODBKey-u-9"), ("", "MySQLReplicationKey_u_3")]);
        let newer = |there: &[(&str, &str)]| newer_than(&source, &stored(there)).map(|key| key.name.clone());
        for (name, expected) in [
            ("INNODBKey-u-9", false),
            ("INNODBKey-u-4", false),
            ("INNODBKey-u-10", true),
            ("INNODBKey-other-10", false),
            ("MySQLReplicationKey_u_3", false),
            ("MySQLReplicationKey_u_4", true),
            ("MySQLReplicationKey_u_new", false),
        ] {
            assert_eq!(newer(&[("", name)]).is_some(), expected, "{name}");
        }
        assert_eq!(newer(&[("me@%", "INNODBKey-u-10")]), None);
    }
}
