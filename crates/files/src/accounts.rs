//! Users and groups of this host: numbers, or names as its own files have them; and owners of files.

/// A user's number, and that of its group unless it was given as a number.
///
/// # Errors
/// There is no user of that name.
pub fn user(name: &str) -> Result<(u32, Option<u32>), String> {
    look_up("/etc/passwd", name).ok_or_else(|| format!("no user {name}"))
}

/// A group's number.
///
/// # Errors
/// There is no group of that name.
pub fn group(name: &str) -> Result<u32, String> {
    look_up("/etc/group", name).map(|(number, _)| number).ok_or_else(|| format!("no group {name}"))
}

/// Numbers of a user and a group, given as `USER` or `USER:GROUP`.
///
/// # Errors
/// There is none of that name, or a user is given by its number without a group.
pub fn owner(text: &str) -> Result<(u32, u32), String> {
    let (name, of_group) = text.split_once(':').map_or((text, None), |(user, group)| (user, Some(group)));
    let (uid, primary_gid) = user(name)?;
    let gid = match of_group {
        None => primary_gid.ok_or("a number needs a group: UID:GID")?,
        Some(name) => group(name)?,
    };
    Ok((uid, gid))
}

/// Number of a name, and the fourth field, which in `/etc/passwd` is the group.
fn look_up(file: &str, name: &str) -> Option<(u32, Option<u32>)> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let found = text.lines().map(|line| line.split(':').collect::<Vec<_>>()).find_map(|fields| {
        let matches = fields.first() == Some(&name);
        let number = fields.get(2)?.parse().ok()?;
        matches.then(|| (number, fields.get(3).and_then(|group| group.parse().ok())))
    });
    found.or_else(|| Some((name.parse().ok()?, None)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_given_by_names_or_numbers() {
        assert_eq!(owner("root"), Ok((0, 0)));
        assert_eq!(owner("root:0"), Ok((0, 0)));
        assert_eq!(owner("4711:4712"), Ok((4711, 4712)));
        assert!(owner("4711").is_err() && owner("no-such-user-here").is_err() && owner("root:no-such-group").is_err());
    }
}
