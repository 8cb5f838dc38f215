//! Users and groups of this host: numbers, or names as its own files have them.

/// A user's number, and that of its group unless it was given as a number.
pub(super) fn user(name: &str) -> Result<(u32, Option<u32>), String> {
    look_up("/etc/passwd", name).ok_or_else(|| format!("no user {name}"))
}

/// A group's number.
pub(super) fn group(name: &str) -> Result<u32, String> {
    look_up("/etc/group", name).map(|(number, _)| number).ok_or_else(|| format!("no group {name}"))
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
