//! Privileges of an account, from its own `SHOW GRANTS`.
//!
//! Some views silently omit rows for which the account has no privilege: an empty result then proves nothing. See
//! [`crate::dialect::Query::filtered`].

use crate::{
    connect::Connection,
    dialect::{accounts::has_partial_revokes, catalog::is_system_schema, statement::SHOW_GRANTS},
    error::Error,
    sql::{Syntax, Token, TokenKind, tokens},
};

/// The grants of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    granted: Vec<Grant>,
    /// Schemas that MySQL's `partial_revokes` excludes from global grants.
    revoked: Vec<Grant>,
    /// Whether a line grants a role, or a schema by a pattern, or was not understood.
    is_incomplete: bool,
    /// See [`Self::names_are_literal`].
    names_are_literal: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    /// In upper case, without column lists.
    privileges: Vec<String>,
    /// As in `mysql.user`, without quotes; `*.*` for everything.
    object: String,
    /// Whether the schema is a pattern with `_` or `%`.
    is_pattern: bool,
}

impl Grants {
    /// Reads the grants of a session's account and of its active roles: `SHOW GRANTS` of both families lists both. Its
    /// clause `USING` would only name other roles. Source: `Sql_cmd_show_grants` of MySQL, `mysql_show_grants` of
    /// MariaDB; seen on MySQL 8.0 and 9.7 and MariaDB 10.11.
    ///
    /// # Errors
    /// Those of [`Connection::query`].
    pub fn of_session(connection: &mut Connection) -> Result<Self, Error> {
        let rows = connection.query(SHOW_GRANTS)?;
        let names_are_literal = has_partial_revokes(connection)?;
        Ok(Self::read(rows.rows.iter().filter_map(|row| row.first()?.as_deref()), names_are_literal))
    }

    /// Parses the lines of `SHOW GRANTS` (the logical query `grants`).
    ///
    /// Ignores lines that grant roles and lines that it does not understand. A revoke that it does not understand
    /// counts as a revoke of everything: [`Self::cover`] then errs on the cautious side.
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        Self::read(lines, false)
    }

    fn read<'a>(lines: impl IntoIterator<Item = &'a str>, names_are_literal: bool) -> Self {
        let mut grants = Self { names_are_literal, ..Self::default() };
        for line in lines {
            if let Some(rest) = line.strip_prefix("GRANT ") {
                let grant = parse_line(rest, "TO", names_are_literal);
                grants.is_incomplete |= grant.as_ref().is_none_or(|grant| grant.is_pattern);
                grants.granted.extend(grant);
            } else if let Some(rest) = line.strip_prefix("REVOKE ") {
                grants.revoked.push(parse_line(rest, "FROM", names_are_literal).unwrap_or_else(Grant::of_everything));
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
        let excludes = |revoked: &str| overlaps(revoked, object);
        let names =
            |grant: &Grant| covering(grant, privilege).any(|name| self.leaves(grant, name, privilege, excludes));
        self.granted.iter().any(|grant| covers_object(&grant.object, object) && names(grant))
    }

    /// Whether a global grant includes a privilege for all schemas of users. Managed services revoke parts of global
    /// privileges for the server's own schemas, whose tables are none of the users' business.
    #[must_use]
    pub fn cover_user_schemas(&self, privilege: &str) -> bool {
        let excludes = |revoked: &str| !revoked.strip_suffix(".*").is_some_and(is_system_schema);
        let names =
            |grant: &Grant| covering(grant, privilege).any(|name| self.leaves(grant, name, privilege, excludes));
        self.granted.iter().any(|grant| grant.object == EVERYTHING && names(grant))
    }

    /// Whether what [`Self::cover`] denies is surely not granted: there are no roles, patterns of schema names, partial
    /// revokes, and lines that were not understood.
    #[must_use]
    pub fn are_complete(&self) -> bool {
        !self.is_incomplete && self.revoked.is_empty()
    }

    /// Whether the name of a schema in a grant is that name, and no pattern: with MySQL's `partial_revokes = ON` a grant on
    /// `` `a\_b`.* `` is not one on `a_b`. Source: `acl_get` of MySQL's `sql_auth_cache.cc`.
    #[must_use]
    pub const fn names_are_literal(&self) -> bool {
        self.names_are_literal
    }

    /// Whether any grant mentions a privilege, on whatever object.
    #[must_use]
    pub fn mention(&self, privilege: &str) -> bool {
        self.granted.iter().any(|grant| covering(grant, privilege).next().is_some())
    }

    /// Whether no partial revoke of an object that `excludes` names takes a part of the grant of `name`. Only global
    /// grants have partial revokes.
    fn leaves(&self, grant: &Grant, name: &str, needed: &str, excludes: impl Fn(&str) -> bool) -> bool {
        let taken = if name.starts_with("ALL") { needed } else { name };
        let takes = |revoke: &Grant| excludes(&revoke.object) && covering(revoke, taken).next().is_some();
        grant.object != EVERYTHING || !self.revoked.iter().any(takes)
    }
}

const EVERYTHING: &str = "*.*";

impl Grant {
    fn of_everything() -> Self {
        Self { privileges: vec!["ALL".to_owned()], object: EVERYTHING.to_owned(), is_pattern: false }
    }
}

/// Whether a revoked schema overlaps the needed object.
fn overlaps(revoked: &str, needed: &str) -> bool {
    let schema = |object: &str| object.split_once('.').map(|(schema, _)| schema.to_owned());
    needed == EVERYTHING || revoked == EVERYTHING || schema(revoked) == schema(needed)
}

/// Syntax of the names in a grant: both kinds of quotes may enclose a name, and a backslash is an ordinary character.
const NAMES: Syntax = Syntax { ansi_quotes: true, no_backslash_escapes: true };

/// Parses one grant or revoke up to `preposition`. A quoted name may contain any text, such as ` ON *.* TO `, chosen by
/// anyone who may create a schema or role.
fn parse_line(rest: &str, preposition: &str, names_are_literal: bool) -> Option<Grant> {
    let mut tokens = tokens(rest, NAMES);
    let mut until = |word: &str| -> Option<Vec<Token<'_>>> {
        let mut before = Vec::new();
        loop {
            let token = tokens.next()?.ok()?;
            if token.is_word(word) {
                return Some(before);
            }
            before.push(token);
        }
    };
    let privileges = until("ON")?;
    let object = until(preposition)?;
    let is_pattern = !names_are_literal
        && matches!(&object[..], [schema, _, table] if table.is_symbol("*") && has_wildcard(schema.text));
    let object = object_name(&object, names_are_literal)?;
    let mut depth = 0_usize;
    let each = privileges.split(|token| {
        match token.text {
            "(" => depth = depth.saturating_add(1),
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.is_symbol(",")
    });
    Some(Grant { privileges: each.filter_map(privilege_name).collect(), object, is_pattern })
}

/// Name of a privilege, such as `REPLICATION CLIENT`. `None` for a privilege with a list of columns, because it covers
/// only these columns.
fn privilege_name(tokens: &[Token<'_>]) -> Option<String> {
    let words = tokens.iter().map(|token| (token.kind == TokenKind::Word).then_some(token.text));
    let words: Vec<&str> = words.collect::<Option<_>>()?;
    (!words.is_empty()).then(|| words.join(" ").to_ascii_uppercase())
}

/// The object of a grant without quotes, such as `mysql.user`. `None` for names that would be ambiguous without quotes.
fn object_name(tokens: &[Token<'_>], names_are_literal: bool) -> Option<String> {
    let (schema, point, table) = match tokens {
        [schema, point, table] => (schema, point, table),
        // The privileges on routines are others than those on tables.
        [kind, schema, point, name] if kind.is_word("PROCEDURE") || kind.is_word("FUNCTION") => (schema, point, name),
        _ => return None,
    };
    let is_any = |token: &Token<'_>| token.is_symbol("*");
    match (point.is_symbol("."), is_any(schema), is_any(table)) {
        (true, true, true) => Some(EVERYTHING.to_owned()),
        // Database names escape the wildcard _ in grants.
        (true, false, true) if !names_are_literal => Some(format!("{}.*", plain_name(schema)?.replace("\\_", "_"))),
        (true, false, true) => Some(format!("{}.*", plain_name(schema)?)),
        (true, false, false) => Some(format!("{}.{}", plain_name(schema)?, plain_name(table)?)),
        _ => None,
    }
}

/// Whether a schema's name in a grant has a wildcard that is not escaped.
fn has_wildcard(schema: &str) -> bool {
    schema.replace("\\_", "").replace("\\%", "").contains(['_', '%'])
}

fn plain_name(token: &Token<'_>) -> Option<String> {
    let inner = match token.kind {
        TokenKind::Word => token.text,
        TokenKind::QuotedName | TokenKind::Text => token.text.get(1..token.text.len().saturating_sub(1))?,
        _ => return None,
    };
    let is_plain = !inner.contains(['.', '*', '`', '"', '\'']);
    is_plain.then(|| inner.to_owned())
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
            // This privilege has another name in other versions of MariaDB.
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
        // MySQL 5.7 shows names of columns without quotes.
        let columns = Grants::parse(["GRANT INSERT (a, SELECT, b) ON *.* TO 'audit'@'%'"]);
        assert!(!columns.cover("SELECT ON *.*") && !columns.cover("INSERT ON *.*"));
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

    #[test]
    fn a_name_is_no_pattern_where_parts_of_privileges_can_be_revoked() {
        let escaped = ["GRANT SELECT ON `a\\_b`.* TO `audit`@`%`"];
        assert!(Grants::read(escaped, false).cover("SELECT ON a_b.t"));
        assert!(!Grants::read(escaped, true).cover("SELECT ON a_b.t"));
        let plain = Grants::read(["GRANT SELECT ON `a_b`.* TO `audit`@`%`"], true);
        assert!(plain.cover("SELECT ON a_b.t") && plain.are_complete() && plain.names_are_literal());
    }

    /// As HeatWave and Aiven for MySQL show their administrators.
    #[test]
    fn revokes_of_the_servers_own_schemas_leave_those_of_users() {
        let granted = [
            "GRANT SELECT, PROCESS, LOCK TABLES, EVENT, TRIGGER, SHOW VIEW ON *.* TO `admin`@`%` WITH GRANT OPTION",
            "GRANT REPLICATION_APPLIER,ROLE_ADMIN ON *.* TO `admin`@`%` WITH GRANT OPTION",
            "REVOKE LOCK TABLES, EVENT, TRIGGER, SHOW VIEW ON `mysql`.* FROM `admin`@`%`",
            "REVOKE LOCK TABLES, EVENT, TRIGGER ON `sys`.* FROM `admin`@`%`",
        ];
        let grants = Grants::parse(granted);
        for privilege in ["SELECT", "PROCESS", "LOCK TABLES", "EVENT", "TRIGGER", "SHOW VIEW", "ROLE_ADMIN"] {
            assert!(grants.cover_user_schemas(privilege), "{privilege}");
        }
        assert!(!grants.cover("EVENT ON *.*") && !grants.cover_user_schemas("INSERT"));
        for revoked in ["`shop`.*", "`a``b`.*"] {
            let line = format!("REVOKE EVENT ON {revoked} FROM `admin`@`%`");
            let grants = Grants::parse(granted.into_iter().chain([line.as_str()]));
            assert!(!grants.cover_user_schemas("EVENT"), "{revoked}");
        }
        let of_a_procedure = Grants::parse(["GRANT EXECUTE ON PROCEDURE `mysql`.`rds_kill` TO `admin`@`%`"]);
        assert!(of_a_procedure.cover("EXECUTE ON mysql.rds_kill") && !of_a_procedure.cover("EXECUTE ON mysql.az_kill"));
        let of_a_schema = Grants::parse(["GRANT EVENT ON `shop`.* TO `admin`@`%`"]);
        assert!(!of_a_schema.cover_user_schemas("EVENT"));
    }

    #[test]
    fn a_list_is_complete_without_roles_patterns_and_revokes() {
        let plain = "GRANT PROCESS ON *.* TO `a`@`%`";
        let complete = |line: &str| Grants::parse([plain, line]).are_complete();
        for line in ["GRANT SELECT ON `my\\_shop`.* TO `a`@`%`", "GRANT SELECT ON `my_shop`.`t` TO `a`@`%`"] {
            assert!(complete(line), "{line}");
        }
        for line in [
            "GRANT `r`@`%` TO `a`@`%`",
            "GRANT SELECT ON `shop%`.* TO `a`@`%`",
            "GRANT SELECT ON `my_shop`.* TO `a`@`%`",
            "GRANT SELECT ON `a``b`.* TO `a`@`%`",
            "REVOKE SELECT ON `mysql`.* FROM `a`@`%`",
        ] {
            assert!(!complete(line), "{line}");
        }
        let one = Grants::parse(["GRANT ALTER ON `shop`.`t` TO `a`@`%`"]);
        assert!(one.mention("ALTER") && !one.mention("DROP"));
    }

    #[test]
    fn a_name_in_quotes_cannot_pose_as_a_grant() {
        for line in [
            "GRANT SELECT ON `*.* TO x`.* TO `audit`@`%`",
            "GRANT SELECT ON `mysql.user TO x`.* TO `audit`@`%`",
            "GRANT SELECT ON `my``sql`.* TO `audit`@`%`",
            "GRANT SELECT ON `*`.* TO `audit`@`%`",
            "GRANT SELECT ON `mysql.user`.`*` TO `audit`@`%`",
            "GRANT `a,SELECT ON *.* TO x`@`%` TO `audit`@`%`",
            "GRANT \"a\",'SELECT, b' ON \"x\".* TO `audit`@`%`",
            "GRANT SELECT (`a), SELECT, b (c`) ON *.* TO `audit`@`%`",
        ] {
            for needs in ["SELECT ON *.*", "SELECT ON mysql.user", "SELECT ON mysql.*"] {
                assert!(!Grants::parse([line]).cover(needs), "{line}: {needs}");
            }
        }
        let revoked = ["GRANT SELECT ON *.* TO `audit`@`%`", "REVOKE SELECT ON `x FROM y`.* FROM `audit`@`%`"];
        assert!(!Grants::parse(revoked).cover("SELECT ON *.*"));
        let not_read = ["GRANT SELECT ON *.* TO `audit`@`%`", "REVOKE SELECT ON `a``b`.* FROM `audit`@`%`"];
        assert!(!Grants::parse(not_read).cover("SELECT ON mysql.user"));
        // The account's own grants always count.
        let own = ["GRANT SELECT ON \"mysql\".\"user\" TO 'audit'@'%'"];
        assert!(Grants::parse(own).cover("SELECT ON mysql.user"));
    }

    proptest! {
        #[test]
        fn any_line_is_read(line: String, needs: String) {
            let lines = [line.clone(), format!("GRANT {line} ON {line} TO x"), format!("REVOKE {line} ON {line} FROM x")];
            let _ = Grants::parse(lines.iter().map(String::as_str)).cover(&needs);
        }
    }
}
