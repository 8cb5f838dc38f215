//! What an account may do, from `SHOW GRANTS`, in units that can be compared and left out one by one.

use std::collections::{BTreeMap, BTreeSet};

use server::{
    Account, Flavor, quote,
    sql::{Syntax, Token, TokenKind, tokens},
};

/// A privilege or role on one object, for one column if it is limited to columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grant {
    pub(super) object: Object,
    /// Whether the account may give it to others.
    pub(super) gives: bool,
    /// In upper case; empty for a role.
    pub(super) privilege: String,
    pub(super) column: Option<String>,
}

/// What a privilege is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Object {
    /// The whole server.
    Global,
    /// The tables of schemas whose names match; `\` escapes.
    Schema(String),
    /// A table or view.
    Table(String, String),
    /// A routine, with the word for its kind.
    Routine(String, String, String),
    /// A role.
    Role(Account),
    /// The right to act as this account.
    Proxy(String),
}

/// What `SHOW GRANTS` shows of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Grants {
    pub(super) given: BTreeSet<Grant>,
    /// Parts of global privileges that are revoked for a schema.
    pub(super) revoked: BTreeSet<Grant>,
    pub(super) default_roles: Vec<Account>,
    /// Lines that were not understood, by their first words.
    pub(super) unknown: Vec<String>,
}

/// All privileges on an object, as far as an object of its kind can have them.
pub(super) const ALL: &str = "ALL PRIVILEGES";
/// No privilege; shown for an account that has none, or may only give privileges to others.
const NONE: &str = "USAGE";

/// Syntax of grants: both kinds of quotes enclose names, and a backslash is an ordinary character.
const NAMES: Syntax = Syntax { ansi_quotes: true, no_backslash_escapes: true };

impl Grants {
    /// Parses the lines that concern `name`; a server also shows those of its roles. `None` takes all lines.
    pub(super) fn parse<'l>(lines: impl IntoIterator<Item = &'l str>, name: Option<&Account>) -> Self {
        let mut grants = Self::default();
        for line in lines {
            let all: Vec<_> = tokens(line, NAMES).map_while(Result::ok).collect();
            if grants.add(&all, name).is_none() {
                let words = all.iter().take(2).map(|token| token.text).collect::<Vec<_>>();
                grants.unknown.push(words.join(" "));
            }
        }
        grants
    }

    fn add(&mut self, line: &[Token<'_>], name: Option<&Account>) -> Option<()> {
        let (first, rest) = line.split_first()?;
        let concerns = |grantee: &Account| name.is_none_or(|name| name == grantee);
        if first.is_word("SET") {
            // SET DEFAULT ROLE role FOR user
            let (role, rest) = account(rest.get(2..)?)?;
            let (grantee, _) = account(rest.get(1..)?)?;
            if concerns(&grantee) {
                self.default_roles.push(role);
            }
            return Some(());
        }
        let is_revoke = first.is_word("REVOKE");
        let before = |token: &Token<'_>| token.is_word(if is_revoke { "FROM" } else { "TO" });
        let at = rest.iter().position(before)?;
        let (what, rest) = rest.split_at_checked(at)?;
        let (grantee, tail) = account(rest.get(1..)?)?;
        if !concerns(&grantee) {
            return Some(());
        }
        let has =
            |word: &str| tail.windows(2).any(|pair| matches!(pair, [a, b] if a.is_word(word) && b.is_word("OPTION")));
        let gives = has("GRANT") || has("ADMIN");
        let parsed = match what.iter().position(|token| token.is_word("ON")) {
            None => roles(what, gives)?,
            Some(on) => {
                let object = object(what.get(on.saturating_add(1)..)?)?;
                privileges(what.get(..on)?, &object, gives)?
            }
        };
        let parsed = parsed.into_iter().filter(|grant| grant.privilege != NONE || gives);
        if is_revoke {
            self.revoked.extend(parsed);
        } else {
            self.given.extend(parsed);
        }
        Some(())
    }
}

/// An account or a role at the start of these tokens, and the tokens after it. A role of MariaDB has no host.
pub(super) fn account<'t, 's>(tokens: &'t [Token<'s>]) -> Option<(Account, &'t [Token<'s>])> {
    let (user, rest) = tokens.split_first()?;
    if matches!(user.kind, TokenKind::Symbol | TokenKind::VersionStart | TokenKind::VersionEnd) {
        return None;
    }
    let user = name_of(user);
    match rest {
        [at, host, rest @ ..] if at.is_symbol("@") => Some((Account { user, host: name_of(host) }, rest)),
        _ => Some((Account { user, host: String::new() }, rest)),
    }
}

/// The name in a token. MySQL 5.7 shows names of accounts as texts.
fn name_of(token: &Token<'_>) -> String {
    match token.kind {
        TokenKind::Text => token.unquoted().replace("''", "'"),
        _ => token.unquoted(),
    }
}

fn roles(tokens: &[Token<'_>], gives: bool) -> Option<Vec<Grant>> {
    let mut left = tokens;
    let mut found = Vec::new();
    while let Some((role, rest)) = account(left) {
        found.push(Grant { object: Object::Role(role), gives, privilege: String::new(), column: None });
        left = match rest.split_first() {
            None => return Some(found),
            Some((comma, rest)) if comma.is_symbol(",") => rest,
            Some(_) => return None,
        };
    }
    None
}

fn object(tokens: &[Token<'_>]) -> Option<Object> {
    match tokens {
        [schema, point, table] if point.is_symbol(".") => Some(match (schema.is_symbol("*"), table.is_symbol("*")) {
            (true, true) => Object::Global,
            (false, true) => Object::Schema(name_of(schema)),
            (false, false) => Object::Table(name_of(schema), name_of(table)),
            (true, false) => return None,
        }),
        [kind @ .., schema, point, name] if point.is_symbol(".") => {
            let kind: Vec<_> = kind.iter().map(|word| word.text.to_ascii_uppercase()).collect();
            Some(match kind.join(" ").as_str() {
                "TABLE" => Object::Table(name_of(schema), name_of(name)),
                kind => Object::Routine(kind.to_owned(), name_of(schema), name_of(name)),
            })
        }
        proxied => account(proxied).map(|(name, _)| Object::Proxy(name.quoted())),
    }
}

/// The privileges before `ON`, each with its columns.
fn privileges(tokens: &[Token<'_>], object: &Object, gives: bool) -> Option<Vec<Grant>> {
    let grant =
        |privilege: &str, column| Grant { object: object.clone(), gives, privilege: privilege.to_owned(), column };
    let (mut found, mut words, mut columns) = (Vec::new(), Vec::new(), None::<Vec<String>>);
    let mut inside = false;
    for token in tokens.iter().map(Some).chain([None]) {
        match token {
            Some(token) if token.is_symbol("(") => {
                inside = true;
                columns = Some(Vec::new());
            }
            Some(token) if token.is_symbol(")") => inside = false,
            Some(token) if inside => {
                if !token.is_symbol(",") {
                    columns.as_mut()?.push(name_of(token));
                }
            }
            Some(token) if !token.is_symbol(",") => words.push(token.text.to_ascii_uppercase()),
            // A comma, or the end.
            _ => {
                let privilege = std::mem::take(&mut words).join(" ");
                match columns.take() {
                    None => found.push(grant(if privilege == "ALL" { ALL } else { &privilege }, None)),
                    Some(columns) => found.extend(columns.into_iter().map(|column| grant(&privilege, Some(column)))),
                }
            }
        }
    }
    Some(found)
}

/// An account, or a role of MariaDB.
pub(super) fn quoted(name: &Account) -> String {
    if name.host.is_empty() { quote::identifier(&name.user) } else { name.quoted() }
}

impl Object {
    /// The object in a statement.
    fn text(&self) -> String {
        match self {
            Self::Global => "*.*".to_owned(),
            Self::Schema(pattern) => format!("{}.*", quote::identifier(pattern)),
            Self::Table(schema, name) => quote::table(schema, name),
            Self::Routine(kind, schema, name) => format!("{kind} {}", quote::table(schema, name)),
            Self::Role(role) => quoted(role),
            Self::Proxy(name) => name.clone(),
        }
    }
}

/// A grant, as people read it: `SELECT (a) ON shop.orders`.
impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let column = self.column.as_ref().map(|column| format!(" ({})", quote::identifier(column)));
        match &self.object {
            Object::Role(role) => write!(f, "role {}", quoted(role)),
            object => write!(f, "{}{} ON {}", self.privilege, column.unwrap_or_default(), object.text()),
        }
    }
}

/// The statements that give these grants.
pub(super) fn statements(grants: &BTreeSet<Grant>, to: &Account) -> Vec<String> {
    each(grants).map(|(object, gives, what)| statement(object, gives, &what, &quoted(to))).collect()
}

/// The statement that gives the grants that an account needs to give them to others.
pub(super) fn needed(object: &Object, privileges: &[String], to: &str) -> String {
    statement(object, true, privileges, to)
}

/// The statements that revoke parts of global privileges.
pub(super) fn revocations(grants: &BTreeSet<Grant>, from: &Account) -> Vec<String> {
    let revoke = |(object, _, what): (&Object, bool, Vec<String>)| {
        format!("REVOKE {} ON {} FROM {}", what.join(", "), object.text(), quoted(from))
    };
    each(grants).map(revoke).collect()
}

/// The privileges of each object: roles one by one, because MariaDB takes one in a statement.
fn each(grants: &BTreeSet<Grant>) -> impl Iterator<Item = (&Object, bool, Vec<String>)> {
    let mut objects = BTreeMap::<(&Object, bool), BTreeMap<&str, Vec<&str>>>::new();
    for grant in grants {
        let privileges = objects.entry((&grant.object, grant.gives)).or_default();
        privileges.entry(&grant.privilege).or_default().extend(grant.column.as_deref());
    }
    objects.into_iter().map(|((object, gives), privileges)| {
        let each = privileges.into_iter().map(|(name, columns)| {
            let columns: Vec<_> = columns.into_iter().map(quote::identifier).collect();
            if columns.is_empty() { name.to_owned() } else { format!("{name} ({})", columns.join(", ")) }
        });
        (object, gives, each.collect())
    })
}

fn statement(object: &Object, gives: bool, privileges: &[String], to: &str) -> String {
    match object {
        Object::Role(role) => {
            format!("GRANT {} TO {to}{}", quoted(role), if gives { " WITH ADMIN OPTION" } else { "" })
        }
        object => {
            let option = if gives { " WITH GRANT OPTION" } else { "" };
            format!("GRANT {} ON {} TO {to}{option}", privileges.join(", "), object.text())
        }
    }
}

/// The statement that makes these roles the default of an account.
pub(super) fn default_roles(roles: &[Account], of: &Account, flavor: Flavor) -> Option<String> {
    let names: Vec<_> = roles.iter().map(quoted).collect();
    let (first, of) = (names.first()?, quoted(of));
    Some(match flavor {
        Flavor::MariaDb => format!("SET DEFAULT ROLE {first} FOR {of}"),
        Flavor::MySql | Flavor::Percona => format!("ALTER USER {of} DEFAULT ROLE {}", names.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app() -> Account {
        Account { user: "app".to_owned(), host: "%".to_owned() }
    }

    #[test]
    fn grants_are_written_as_they_were_read() {
        let lines = [
            "GRANT SELECT, CREATE TEMPORARY TABLES ON *.* TO `app`@`%`",
            "GRANT BACKUP_ADMIN ON *.* TO `app`@`%` WITH GRANT OPTION",
            "GRANT ALL PRIVILEGES ON `sh\\_op`.* TO `app`@`%`",
            "GRANT INSERT, SELECT (`a`, `b`) ON `shop`.`to` TO `app`@`%` WITH GRANT OPTION",
            "GRANT EXECUTE ON PROCEDURE `shop`.`p` TO `app`@`%`",
            "GRANT `r`@`%` TO `app`@`%` WITH ADMIN OPTION",
        ];
        let more = ["GRANT SELECT ON `x`.* TO `other`@`%`", "GRANT USAGE ON *.* TO `app`@`%`"];
        let found = Grants::parse(lines.into_iter().chain(more), Some(&app()));
        let mut written = statements(&found.given, &app());
        let mut expected = lines
            .map(|line| line.replace("SELECT, CREATE TEMPORARY TABLES", "CREATE TEMPORARY TABLES, SELECT"))
            .to_vec();
        written.sort();
        expected.sort();
        assert_eq!(written, expected);
        assert_eq!(found.unknown, [""; 0]);
    }

    #[test]
    fn grants_of_mariadb_have_credentials_that_are_not_kept() {
        let found = Grants::parse(
            [
                "GRANT SELECT ON *.* TO `app`@`%` IDENTIFIED BY PASSWORD '*03433C' REQUIRE SSL WITH GRANT OPTION",
                "GRANT `r1` TO `app`@`%`",
                "SET DEFAULT ROLE `r1` FOR `app`@`%`",
                "GRANT PROXY ON ''@'%' TO 'app'@'%' WITH GRANT OPTION",
                "REVOKE INSERT ON `mysql`.* FROM `app`@`%`",
                "CHANGED",
            ],
            Some(&app()),
        );
        let role = Account { user: "r1".to_owned(), host: String::new() };
        assert_eq!(found.default_roles, [role]);
        assert!(!format!("{found:?}").contains("03433C"));
        let shown: Vec<_> = found.given.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["SELECT ON *.*", "role `r1`", "PROXY ON ``@`%`"]);
        assert_eq!(revocations(&found.revoked, &app()), ["REVOKE INSERT ON `mysql`.* FROM `app`@`%`"]);
        assert_eq!(found.unknown, ["CHANGED"]);
    }
}
