//! Privileges of an account, from its own `SHOW GRANTS`.
//!
//! Some views silently omit rows for which the account has no privilege: an empty result then proves nothing. See
//! [`crate::dialect::Query::filtered`].

/// The grants of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    granted: Vec<Grant>,
    /// Schemas that MySQL's `partial_revokes` excludes from global grants.
    revoked: Vec<Grant>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    /// In upper case, without column lists.
    privileges: Vec<String>,
    /// As in `mysql.user`, without quotes; `*.*` for everything.
    object: String,
}

impl Grants {
    /// Parses the lines of `SHOW GRANTS` (the logical query `grants`).
    ///
    /// Lines that grant roles or are not understood are ignored: [`Self::cover`] then errs on the cautious side.
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut grants = Self::default();
        for line in lines {
            if let Some(rest) = line.strip_prefix("GRANT ") {
                grants.granted.extend(parse_line(rest, " TO "));
            } else if let Some(rest) = line.strip_prefix("REVOKE ") {
                grants.revoked.extend(parse_line(rest, " FROM "));
            }
        }
        grants
    }

    /// Whether the grants include `needs`, in the syntax of [`crate::dialect::Query::needs`]: `SELECT ON mysql.user`.
    /// Empty needs are always included.
    pub fn cover(&self, needs: &str) -> bool {
        if needs.is_empty() {
            return true;
        }
        let Some((privilege, object)) = needs.split_once(" ON ") else { return false };
        let names = |grant: &Grant| covering(grant, privilege).any(|name| self.leaves(grant, name, privilege, object));
        self.granted.iter().any(|grant| covers_object(&grant.object, object) && names(grant))
    }

    /// Whether no partial revoke excludes a part of `object` from the grant of `name`. Only global grants have partial
    /// revokes.
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

/// Whether a revoked schema overlaps the needed object.
fn overlaps(revoked: &str, needed: &str) -> bool {
    let schema = |object: &str| object.split_once('.').map(|(schema, _)| schema.to_owned());
    needed == EVERYTHING || revoked == EVERYTHING || schema(revoked) == schema(needed)
}

fn parse_line(rest: &str, preposition: &str) -> Option<Grant> {
    let (privileges, rest) = rest.split_once(" ON ")?;
    let (object, _) = rest.split_once(preposition)?;
    // A column list covers only some columns, so its privilege does not count.
    let privileges = without_column_lists(privileges)
        .split(',')
        .map(|name| name.trim().to_ascii_uppercase())
        .filter(|name| !name.is_empty())
        .collect();
    // Database names in grants escape the wildcard _.
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
                // The privilege that the list belongs to is the last one before it.
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

/// The privileges of a grant that include the needed one.
fn covering<'g>(grant: &'g Grant, needed: &'g str) -> impl Iterator<Item = &'g str> {
    grant.privileges.iter().map(String::as_str).filter(move |name| {
        *name == needed
            || *name == "ALL PRIVILEGES"
            || *name == "ALL"
            // The name of the same privilege in another version of MariaDB.
            || (needed == "SLAVE MONITOR" && *name == "REPLICA MONITOR")
            || (needed == "BINLOG MONITOR" && *name == "REPLICATION CLIENT")
            // SELECT on everything includes seeing every schema.
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
