//! Users and groups of this host, by number or name, from its `passwd` and `group` files; the user who runs this
//! process; and the name of the host.

use std::path::Path;

/// The file of users.
pub const USERS: &str = "/etc/passwd";
/// The file of groups.
const GROUPS: &str = "/etc/group";

/// Home directories in the text of a [file of users](USERS).
pub fn homes(users: &str) -> impl Iterator<Item = &Path> {
    fields(users).filter_map(|fields| fields.get(5).map(|home| Path::new(*home)))
}

/// Number of a user. Also returns the number of the user's primary group, unless the user was given as a number.
///
/// # Errors
/// There is no such user.
pub fn user(name: &str) -> Result<(u32, Option<u32>), String> {
    look_up(USERS, name).ok_or_else(|| format!("no user {name}"))
}

/// Name of the user who runs this process, or the user's number if it has no name. For root, the user who called `sudo`
/// is added. For other users `SUDO_USER` is ignored, because they can set it at will.
#[must_use]
pub fn operator() -> String {
    let uid = rustix::process::geteuid().as_raw();
    let users = std::fs::read_to_string(USERS).unwrap_or_default();
    let name = name_of(&users, uid).unwrap_or_else(|| uid.to_string());
    with_caller(name, uid, std::env::var("SUDO_USER").ok())
}

fn with_caller(name: String, uid: u32, caller: Option<String>) -> String {
    match caller {
        Some(caller) if uid == 0 && caller != name && !caller.is_empty() => format!("{name}, by sudo of {caller}"),
        _ => name,
    }
}

/// Name of this host, as the kernel has it.
#[must_use]
pub fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim_end().to_owned()).filter(|name| !name.is_empty())
}

/// Name of a number in the text of a [file of users](USERS).
fn name_of(users: &str, uid: u32) -> Option<String> {
    let number = uid.to_string();
    let named = fields(users).find(|fields| fields.get(2).is_some_and(|field| *field == number))?;
    named.first().map(|name| (*name).to_owned())
}

/// Number of a group.
///
/// # Errors
/// There is no such group.
pub fn group(name: &str) -> Result<u32, String> {
    look_up(GROUPS, name).map(|(number, _)| number).ok_or_else(|| format!("no group {name}"))
}

/// Parses `USER` or `USER:GROUP` to the numbers of user and group.
///
/// # Errors
/// There is no such user or group, or the user is given as a number without a group.
pub fn owner(text: &str) -> Result<(u32, u32), String> {
    let (name, of_group) = text.split_once(':').map_or((text, None), |(user, group)| (user, Some(group)));
    let (uid, primary_gid) = user(name)?;
    let gid = match of_group {
        None => primary_gid.ok_or("a number needs a group: UID:GID")?,
        Some(name) => group(name)?,
    };
    Ok((uid, gid))
}

/// Number of a name, and the fourth field, which in `/etc/passwd` is the primary group.
fn look_up(file: &str, name: &str) -> Option<(u32, Option<u32>)> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let found = fields(&text).find_map(|fields| {
        let matches = fields.first() == Some(&name);
        let number = fields.get(2)?.parse().ok()?;
        matches.then(|| (number, fields.get(3).and_then(|group| group.parse().ok())))
    });
    found.or_else(|| Some((name.parse().ok()?, None)))
}

/// The fields of each line.
fn fields(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().map(|line| line.split(':').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_name_of_its_number() {
        let users = "root:x:0:0:root:/root:/bin/bash\nmysql:x:107:113::/var/lib/mysql:/bin/false\n";
        assert_eq!(name_of(users, 107).as_deref(), Some("mysql"));
        assert_eq!(name_of(users, 0).as_deref(), Some("root"));
        assert_eq!(name_of(users, 10), None);
    }

    #[test]
    fn only_root_is_called_by_sudo() {
        let described =
            |name: &str, uid, caller: Option<&str>| with_caller(name.to_owned(), uid, caller.map(str::to_owned));
        assert_eq!(described("root", 0, Some("alice")), "root, by sudo of alice");
        for caller in [None, Some(""), Some("root")] {
            assert_eq!(described("root", 0, caller), "root");
        }
        assert_eq!(described("bob", 1000, Some("alice")), "bob");
    }

    #[test]
    fn an_owner_is_given_by_names_or_numbers() {
        assert_eq!(owner("root"), Ok((0, 0)));
        assert_eq!(owner("root:0"), Ok((0, 0)));
        assert_eq!(owner("4711:4712"), Ok((4711, 4712)));
        assert!(owner("4711").is_err() && owner("no-such-user-here").is_err() && owner("root:no-such-group").is_err());
    }
}
