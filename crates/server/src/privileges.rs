//! What an account may see, read from its own `SHOW GRANTS`.
//!
//! Some views leave out rows the account has no privilege for, without an
//! error: an empty answer then proves nothing. See [`crate::dialect::Query::filtered`].

/// The grants of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants(Vec<Grant>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    /// Upper case, without column lists.
    privileges: Vec<String>,
    /// As in `mysql.user`, without quotes; `*.*` for all.
    object: String,
}

impl Grants {
    /// Reads the lines of `SHOW GRANTS` (the logical query `grants`).
    ///
    /// Lines that give roles or are not understood count as nothing: the
    /// answer of [`Self::cover`] is then too careful, never too bold.
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        Self(lines.into_iter().filter_map(parse_line).collect())
    }

    /// Whether they include `needs`, written as [`crate::dialect::Query::needs`] is:
    /// `SELECT ON mysql.user`. Nothing needed is always included.
    pub fn cover(&self, needs: &str) -> bool {
        if needs.is_empty() {
            return true;
        }
        let Some((privilege, object)) = needs.split_once(" ON ") else { return false };
        self.0.iter().any(|grant| covers_object(&grant.object, object) && covers_privilege(grant, privilege))
    }
}

fn parse_line(line: &str) -> Option<Grant> {
    let rest = line.strip_prefix("GRANT ")?;
    let (privileges, rest) = rest.split_once(" ON ")?;
    let (object, _) = rest.split_once(" TO ")?;
    // A column list covers some columns only, so its privilege does not count.
    let privileges = without_column_lists(privileges)
        .split(',')
        .map(|name| name.trim().to_ascii_uppercase())
        .filter(|name| !name.is_empty())
        .collect();
    // Database names escape the wildcard _ in grants.
    Some(Grant { privileges, object: object.replace('`', "").replace("\\_", "_") })
}

/// `SELECT (a, b), INSERT` becomes `, INSERT`.
fn without_column_lists(text: &str) -> String {
    let mut kept = String::new();
    for (position, part) in text.split(')').enumerate() {
        if position > 0 && !part.starts_with(',') && !part.is_empty() {
            kept.push(',');
        }
        match part.split_once('(') {
            Some((before, _)) => {
                // The privilege the list belongs to is the last one before it.
                let end = before.rfind(',').map_or(0, |comma| comma.saturating_add(1));
                kept.push_str(before.get(..end).unwrap_or_default());
            }
            None => kept.push_str(part),
        }
    }
    kept
}

fn covers_object(granted: &str, needed: &str) -> bool {
    if granted == "*.*" || granted == needed {
        return true;
    }
    match (granted.split_once('.'), needed.split_once('.')) {
        (Some((database, "*")), Some((wanted, _))) => database == wanted && wanted != "*",
        _ => false,
    }
}

fn covers_privilege(grant: &Grant, needed: &str) -> bool {
    grant.privileges.iter().any(|name| {
        name == needed
            || name == "ALL PRIVILEGES"
            || name == "ALL"
            // The same privilege under the name of another version of MariaDB.
            || (needed == "SLAVE MONITOR" && name == "REPLICA MONITOR")
            || (needed == "BINLOG MONITOR" && name == "REPLICATION CLIENT")
            // Whoever may read everything sees every schema.
            || (needed == "SHOW DATABASES" && name == "SELECT" && grant.object == "*.*")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn grants_cover_what_they_name() {
        let grants = Grants::parse([
            "GRANT PROCESS, REPLICATION CLIENT ON *.* TO `audit`@`%`",
            "GRANT SELECT ON `performance_schema`.* TO `audit`@`%`",
            "GRANT SELECT ON `mysql`.`user` TO `audit`@`%`",
            "GRANT SELECT (`a`, `b`), INSERT ON `mysql`.`component` TO `audit`@`%`",
            "GRANT `r`@`%` TO `audit`@`%`",
        ]);
        for needs in ["", "PROCESS ON *.*", "SELECT ON performance_schema.*", "SELECT ON mysql.user"] {
            assert!(grants.cover(needs), "{needs}");
        }
        for needs in ["SELECT ON *.*", "SELECT ON mysql.*", "SELECT ON mysql.component", "SHOW DATABASES ON *.*"] {
            assert!(!grants.cover(needs), "{needs}");
        }
        assert!(grants.cover("INSERT ON mysql.component"));
    }

    #[test]
    fn everything_covers_everything() {
        for line in ["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION", "GRANT SELECT ON *.* TO x"]
        {
            let grants = Grants::parse([line]);
            assert!(grants.cover("SELECT ON mysql.user"));
            assert!(grants.cover("SHOW DATABASES ON *.*"));
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read(line: String, needs: String) {
            let _ = Grants::parse([line.as_str(), &format!("GRANT {line} ON {line} TO x")]).cover(&needs);
        }
    }
}
