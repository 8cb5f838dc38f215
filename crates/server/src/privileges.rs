//! What an account may see, read from its own `SHOW GRANTS`.
//!
//! Some views leave out rows the account has no privilege for, without an
//! error: an empty answer then proves nothing. See [`crate::dialect::Query::filtered`].

/// The grants of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    given: Vec<Grant>,
    /// What MySQL's `partial_revokes` takes out of grants on everything, schema by schema.
    revoked: Vec<Grant>,
}

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
        let mut grants = Self::default();
        for line in lines {
            if let Some(rest) = line.strip_prefix("GRANT ") {
                grants.given.extend(parse_line(rest, " TO "));
            } else if let Some(rest) = line.strip_prefix("REVOKE ") {
                grants.revoked.extend(parse_line(rest, " FROM "));
            }
        }
        grants
    }

    /// Whether they include `needs`, written as [`crate::dialect::Query::needs`] is:
    /// `SELECT ON mysql.user`. Nothing needed is always included.
    pub fn cover(&self, needs: &str) -> bool {
        if needs.is_empty() {
            return true;
        }
        let Some((privilege, object)) = needs.split_once(" ON ") else { return false };
        let names = |grant: &Grant| covering(grant, privilege).any(|name| self.leaves(grant, name, privilege, object));
        self.given.iter().any(|grant| covers_object(&grant.object, object) && names(grant))
    }

    /// Whether no revoke takes the privilege `name` out of that grant for a part of `object`. Only grants on everything
    /// have such parts: what is given on a schema or table itself stays.
    fn leaves(&self, grant: &Grant, name: &str, needed: &str, object: &str) -> bool {
        let taken = if name.starts_with("ALL") { needed } else { name };
        grant.object != EVERYTHING
            || !self
                .revoked
                .iter()
                .any(|revoke| overlaps(&revoke.object, object) && covering(revoke, taken).next().is_some())
    }
}

const EVERYTHING: &str = "*.*";

/// Whether a schema's part that is taken away is one of those needed.
fn overlaps(revoked: &str, needed: &str) -> bool {
    let schema = |object: &str| object.split_once('.').map(|(schema, _)| schema.to_owned());
    needed == EVERYTHING || revoked == EVERYTHING || schema(revoked) == schema(needed)
}

fn parse_line(rest: &str, whom: &str) -> Option<Grant> {
    let (privileges, rest) = rest.split_once(" ON ")?;
    let (object, _) = rest.split_once(whom)?;
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
    if granted == EVERYTHING || granted == needed {
        return true;
    }
    match (granted.split_once('.'), needed.split_once('.')) {
        (Some((database, "*")), Some((wanted, _))) => database == wanted && wanted != "*",
        _ => false,
    }
}

/// Those of its privileges that include the needed one.
fn covering<'g>(grant: &'g Grant, needed: &'g str) -> impl Iterator<Item = &'g str> {
    grant.privileges.iter().map(String::as_str).filter(move |name| {
        *name == needed
            || *name == "ALL PRIVILEGES"
            || *name == "ALL"
            // The same privilege under the name of another version of MariaDB.
            || (needed == "SLAVE MONITOR" && *name == "REPLICA MONITOR")
            || (needed == "BINLOG MONITOR" && *name == "REPLICATION CLIENT")
            // Whoever may read everything sees every schema.
            || (needed == "SHOW DATABASES" && *name == "SELECT" && grant.object == EVERYTHING)
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

    #[test]
    fn what_is_partly_revoked_is_not_covered() {
        let grants = Grants::parse([
            "GRANT SELECT, INSERT, PROCESS ON *.* TO `audit`@`%`",
            "GRANT SELECT ON `mysql`.`user` TO `audit`@`%`",
            "REVOKE SELECT ON `mysql`.* FROM `audit`@`%`",
            "REVOKE INSERT, SELECT ON `a\\_b`.* FROM `audit`@`%`",
        ]);
        let covered =
            ["SELECT ON performance_schema.*", "PROCESS ON *.*", "INSERT ON mysql.component", "SELECT ON mysql.user"];
        for needs in covered {
            assert!(grants.cover(needs), "{needs}");
        }
        let not =
            ["SELECT ON *.*", "INSERT ON *.*", "SELECT ON mysql.component", "SELECT ON a_b.t", "SHOW DATABASES ON *.*"];
        for needs in not {
            assert!(!grants.cover(needs), "{needs}");
        }
        let all = [
            "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`",
            "REVOKE SELECT ON `secret`.* FROM `root`@`localhost`",
        ];
        assert!(!Grants::parse(all).cover("SELECT ON *.*"));
        assert!(Grants::parse(all).cover("SELECT ON mysql.user"));
    }

    proptest! {
        #[test]
        fn any_line_is_read(line: String, needs: String) {
            let lines = [line.clone(), format!("GRANT {line} ON {line} TO x"), format!("REVOKE {line} ON {line} FROM x")];
            let _ = Grants::parse(lines.iter().map(String::as_str)).cover(&needs);
        }
    }
}
