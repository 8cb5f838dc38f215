//! What names and paths in tables and units may contain. Each of those formats escapes differently, so a value that
//! would need escaping is refused.

use std::path::{Component, Path};

use crate::Error;
use crate::volume::is_plain_uuid;

pub(super) use crate::device::check_name;

/// Checks a name that becomes part of a unit's name, in addition to [`check_name`]. Source: systemd.unit(5),
/// "Description".
pub(super) fn check_name_of_unit(name: &str) -> Result<(), Error> {
    if name.contains('+') {
        return Err(Error::refused(Path::new(name), "contains a +, which the name of the key's unit must not contain"));
    }
    Ok(())
}

/// Accepts a well-formed UUID: it comes from the disk's header, which an attacker may have written.
pub(super) fn check_uuid(uuid: &str) -> Result<(), Error> {
    if is_plain_uuid(uuid) {
        return Ok(());
    }
    Err(Error::refused(Path::new(&uuid.escape_debug().to_string()), "is not a UUID: 36 hex digits and -"))
}

/// Accepts a path that every table and unit takes unescaped.
pub(super) fn check_path(path: &Path) -> Result<(), Error> {
    let special = |c: char| c.is_whitespace() || c.is_control() || ['\\', '%', '"', '\''].contains(&c);
    if path.is_absolute() && path.to_str().is_some_and(|text| !text.contains(special)) {
        return Ok(());
    }
    Err(Error::refused(path, "must be an absolute path without blanks, control characters, quotes, \\ and %"))
}

/// Accepts a mount point.
pub(super) fn check_directory(directory: &Path) -> Result<(), Error> {
    check_path(directory)?;
    if directory.components().any(|part| part == Component::ParentDir) || directory == Path::new("/") {
        return Err(Error::refused(directory, "must be a directory below / and without `..`"));
    }
    Ok(())
}

/// Accepts a path without a colon: crypttab(5) reads text after a colon as the device that holds the key file.
pub(super) fn check_key_file(path: &Path) -> Result<(), Error> {
    check_path(path)?;
    if path.to_string_lossy().contains(':') {
        return Err(Error::refused(path, "has a colon, after which crypttab expects a device"));
    }
    Ok(())
}

/// Accepts an argument without control characters: a line break would start another line of the unit.
pub(super) fn check_argument(word: &str) -> Result<(), Error> {
    if word.contains(char::is_control) {
        let shown = word.escape_debug().to_string();
        return Err(Error::refused(Path::new(&shown), "has a control character, which no unit takes"));
    }
    Ok(())
}

/// Accepts the full name of a service; it also becomes the name of a directory.
pub(super) fn check_unit(unit: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte);
    let stem = unit.strip_suffix(".service").unwrap_or_default();
    if !stem.is_empty() && stem.bytes().all(plain) {
        return Ok(());
    }
    let shown = unit.escape_debug().to_string();
    Err(Error::refused(Path::new(&shown), "is not a service: give the full name, such as mariadb.service"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_and_line_breaks_are_refused() {
        for good in ["data", "mysql_data-1.0"] {
            check_name(good).unwrap();
        }
        for bad in ["", "a/b", "control", "..", "-x", "a b", "a\nb", "ä", &"n".repeat(128)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        check_path(Path::new("/srv/my-sql/ä")).unwrap();
        for bad in ["", "srv", "/a b", "/a\tb", "/a\nb", "/a\\b", "/a%i", "/a\u{7}", "/a\"b", "/a'b", "/a\u{a0}b"] {
            assert!(check_path(Path::new(bad)).is_err(), "{bad:?}");
        }
        for bad in ["/", "/a/../b", "//"] {
            assert!(check_directory(Path::new(bad)).is_err(), "{bad}");
        }
        check_path(Path::new("/key:x")).unwrap();
        assert!(check_key_file(Path::new("/key:/dev/sdb")).is_err());
        assert!(check_uuid("1-2").is_err() && check_uuid("540885c1-0c32-47ff-b98d ef96ed4a6747").is_err());
        assert!(check_argument("a\nExecStartPre=x").is_err());
        for good in ["mariadb.service", "mysql@one.service", "my\\x2dsql.service"] {
            check_unit(good).unwrap();
        }
        for bad in ["mariadb", ".service", "../x.service", "a/b.service", "a b.service", "x.socket", "a\n.service"] {
            let error = check_unit(bad).unwrap_err().to_string();
            assert!(error.contains("mariadb.service"), "{error}");
        }
    }
}
